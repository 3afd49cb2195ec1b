/**
 * Follows a single attempt to see why it ended as it did. A cell that is denied counts as proved only by what its trace
 * shows, and a cell that came out otherwise than expected is tried again here, alone.
 */
import { defined } from "../../base/assert.ts";
import { type KnowledgeCode, isKnowledgeCode } from "../../knowledge/codes.ts";
import { formatIp } from "../../net/ip.ts";
import type { Cluster } from "../cluster.ts";
import { followAttempt } from "../trace.ts";
import type { TraceLeg, TraceReport } from "../trace-report.ts";
import type { Cell } from "./cell.ts";
import { nodeOf } from "./facts.ts";
import type { Attempt, Evidence } from "./observation.ts";
import { compartmentOf } from "./stage.ts";

function codesOf(leg: TraceLeg | undefined): readonly KnowledgeCode[] {
  return (leg?.steps ?? []).flatMap(({ code }) => (code === undefined ? [] : [code]));
}

function evidenceOf(report: TraceReport): Evidence {
  const codes = [
    ...codesOf(report.forward),
    ...codesOf(report.reply),
    ...(report.code === undefined ? [] : [report.code]),
  ];
  return {
    code: report.code,
    codes: [...new Set(codes)].filter((code) => isKnowledgeCode(code)),
    summary: report.summary,
  };
}

/** Follows an attempt such as `failed` of `cell` in `cluster`, a copy that nobody needs afterwards. */
export function traceCell(cluster: Cluster, cell: Cell, failed: Attempt): Evidence {
  const source = defined(cell.source, "a cell that is tried has a sender");
  const address = defined(cell.target.address ?? failed.resolved, "somebody was asked");
  const node = nodeOf(source);
  const { report } = followAttempt(cluster, {
    from: {
      description: {
        reference: source.reference,
        ...(node === undefined ? {} : { node: node.name }),
        address: formatIp(source.address),
      },
      compartment: compartmentOf(cluster, source),
      ip: source.address,
    },
    to: {
      description: { reference: cell.target.reference, address: formatIp(address) },
      compartment: undefined,
      ip: address,
    },
    protocol: cell.protocol,
    port: cell.protocol === "icmp" ? undefined : cell.target.port,
    sourcePort: failed.sourcePort,
  });
  return evidenceOf(report);
}
