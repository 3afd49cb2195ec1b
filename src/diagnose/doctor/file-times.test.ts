// Files of one folder that were written days apart: that is said, and what contradicts is less sure.
import { describe, expect, it } from "vitest";
import { SourceText } from "#core/base/source-text.ts";
import { type NodeDocuments, filesOf, healthyNode } from "#test/support/doctor/healthy-node.ts";
import { buildSignatures } from "../catalogue/log/signatures.ts";
import { findingsOf } from "../catalogue/log/findings.ts";
import { LogScanner } from "../catalogue/log/log-scanner.ts";
import { type DoctorReport, examineNodes } from "./doctor.ts";
import { FileReading, type ScannedLog } from "./read-evidence.ts";

type Json = Record<string, unknown>;

/** As Windows counts: tenths of microseconds from 1601. */
function ticks(time: string): number {
  return (Date.parse(time) + 11_644_473_600_000) * 10_000;
}

interface Times {
  /** Last change of HNS. */
  readonly dump?: string;
  /** Last report of each kubelet. */
  readonly report?: string;
  /** Start of the pods. */
  readonly start?: string;
}

/** A node whose only load balancer for DNS is gone; a younger Service is programmed, so that is certain. */
function brokenNode({ dump, report, start }: Times): NodeDocuments {
  const documents = healthyNode();
  documents.loadBalancers.splice(0, 1);
  if (dump !== undefined)
    documents.networks[0]!["Health"] = { LastErrorCode: 0, LastUpdateTime: ticks(dump) };
  for (const { kind, status } of documents.kubernetes as unknown as readonly {
    kind: string;
    status: Json;
  }[]) {
    if (kind === "Node" && report !== undefined)
      status["conditions"] = [{ type: "Ready", status: "True", lastHeartbeatTime: report }];
    if (kind === "Pod" && start !== undefined) status["startTime"] = start;
  }
  return documents;
}

async function examine(times: Times, logs: readonly ScannedLog[] = []): Promise<DoctorReport> {
  const files = Object.entries(filesOf(brokenNode(times)));
  return examineNodes(
    files.map(([name, text]) => new FileReading(new SourceText(name, text))),
    { logs },
  );
}

describe("a dump and objects", () => {
  it.each<readonly [string, Times, RegExp | undefined]>([
    ["of one time", { dump: "2026-03-04T10:00:00Z", report: "2026-03-04T10:03:00Z" }, undefined],
    [
      "of an old change, on a quiet node",
      { dump: "2026-01-04T10:00:00Z", report: "2026-03-04T10:03:00Z" },
      undefined,
    ],
    ["without times", {}, undefined],
    [
      "of which the dump is three days younger",
      { dump: "2026-03-07T10:00:00Z", report: "2026-03-04T10:03:00Z" },
      /change of HNS at 2026-03-07 10:00 UTC, and the objects a last report of a kubelet at 2026-03-04 10:03 UTC/u,
    ],
    [
      "of which the dump is older than the pods",
      { dump: "2026-03-01T10:00:00Z", start: "2026-03-04T10:03:00Z" },
      /no change of HNS after 2026-03-01 10:00 UTC, and a pod of the node started at 2026-03-04 10:03 UTC/u,
    ],
  ])("%s", async (_, times, says) => {
    const { findings, notRead } = await examine(times);
    expect(findings[0]).toMatchObject({
      code: "load-balancer-missing",
      certainty: says === undefined ? "certain" : "likely",
    });
    expect(notRead.map(({ file }) => file)).toEqual(says === undefined ? [] : ["node/network.txt"]);
    if (says !== undefined) expect(notRead[0]?.reason).toMatch(says);
  });
});

describe("a dump and a log", () => {
  const LOCKED = "cannot set feature gate IPv6DualStack to false, feature is locked to true";

  function logOf(...lines: readonly string[]): readonly ScannedLog[] {
    const scanner = new LogScanner(buildSignatures());
    scanner.push(new TextEncoder().encode(lines.map((line) => `${line}\n`).join("")));
    return [{ file: "node/kube-proxy.log", findings: findingsOf(scanner.finish()) }];
  }

  it.each<readonly [string, readonly string[], string]>([
    ["of one day", [`E0304 09:00:00.1 11 run.go:74] ${LOCKED}`], "likely"],
    ["of which the line has no date", [`run.go:74: ${LOCKED}`], "likely"],
    ["of which the line is six days older", [`E0226 09:00:00.1 11 run.go:74] ${LOCKED}`], "possible"],
    ["of which the line is of last year", [`E1226 09:00:00.1 11 run.go:74] ${LOCKED}`], "possible"],
    ["with a whole date, of before", [`2026-02-20T09:00:00Z ${LOCKED}`], "possible"],
    [
      "of which the error occurs until now",
      [`E0226 09:00:00.1 11 run.go:74] ${LOCKED}`, `E0304 09:00:00.1 11 run.go:74] ${LOCKED}`],
      "likely",
    ],
  ])("%s", async (_, lines, certainty) => {
    const { findings } = await examine({ dump: "2026-03-04T10:00:00Z" }, logOf(...lines));
    const found = findings.find(({ evidence }) => evidence[0]?.file === "node/kube-proxy.log");
    expect(found?.certainty).toBe(certainty);
    expect(found?.evidence).toHaveLength(certainty === "possible" ? 2 : 1);
  });
});
