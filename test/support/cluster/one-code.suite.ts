/**
 * One packet has one code: what `verify` says of a cell that is denied, `trace` says of its packet. Whole in `test:long`,
 * a slice in the fast tests.
 */
import { readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Cluster, forkCluster } from "#cluster/cluster.ts";
import { readInput } from "#cluster/input/read-input.ts";
import { openSession } from "#cluster/session/open-session.ts";
import { tracePacket } from "#cluster/trace/trace.ts";
import type { Cell } from "#cluster/verify/cells/cell.ts";
import { VERIFY_PORT } from "#cluster/verify/cells/pod-cells.ts";
import { traceWords } from "#cluster/verify/describe.ts";
import { readModel } from "#cluster/verify/model-of-cluster.ts";
import { stateCells } from "#cluster/verify/cells/state-cells.ts";
import { CellLimits, listCells } from "#cluster/verify/plan.ts";
import { verifyCluster } from "#cluster/verify/verify.ts";

/** A cluster file with the manifests that it names. */
async function openExample(name: string): Promise<Cluster> {
  const file = `examples/${name}/cluster.yaml`;
  const text = readFileSync(file, "utf8");
  const [, named = ""] = /^manifests:\n((?: +- .*\n?)+)/m.exec(text) ?? [];
  const manifests = [...named.matchAll(/- "?([^"\n]+)"?/g)].flatMap(([, path = ""]) => {
    const each = join(dirname(file), path);
    return statSync(each).isFile() ? [each] : readdirSync(each).map((own) => join(each, own));
  });
  const read = readInput(
    [file, ...manifests].map((each) => ({ name: each, text: readFileSync(each, "utf8") })),
  );
  if (!("input" in read)) throw new Error(read.problems.map(({ message }) => message).join("\n"));
  return (await openSession(read.input)).session.cluster;
}

/** How a cell is denied that a packet, or a question for a name, can show. */
const SHOWN_BY_PACKET: ReadonlySet<string> = new Set(["drop", "name-not-found", "not-reached"]);

interface DeniedCell {
  readonly cell: Cell;
  readonly code: string;
  readonly words: string;
}

function kindOf({ row, flow, protocol, family, relation, sourceOs, targetOs }: Cell): string {
  return [row, flow, protocol, family, relation, sourceOs, targetOs].join(" ");
}

/** What `verify` says of each cell, by its position; undefined when it is not asked. */
function codesOfVerify(cluster: Cluster): (position: number) => string | undefined {
  const report = verifyCluster(cluster);
  return (position) =>
    report.findings.find(({ cell }) => cell === position)?.code ?? report.cells[position]?.code;
}

/** The cells that are denied: of each row, flow, protocol and pair of systems the first. */
function deniedCells(cluster: Cluster, isVerified: boolean): readonly DeniedCell[] {
  const limits = new CellLimits(cluster, []);
  const model = readModel(cluster, 4, limits);
  const states = stateCells(model, []).map(({ cell }) => cell);
  const said = isVerified ? codesOfVerify(cluster) : undefined;
  const denied = new Map<string, DeniedCell>();
  for (const [position, cell] of listCells(cluster, model, limits, states).entries()) {
    const { expected, target } = cell;
    if (expected.outcome !== "denied" || !SHOWN_BY_PACKET.has(expected.proof)) continue;
    // A port that verify opens itself is not open for a trace.
    const words = target.port === VERIFY_PORT ? undefined : traceWords(cell);
    const code = said === undefined ? expected.code : said(position);
    if (words !== undefined && code !== undefined && !denied.has(kindOf(cell)))
      denied.set(kindOf(cell), { cell, code, words });
  }
  return [...denied.values()];
}

/** The code that `mullion trace` gives with these words; `isInjected`: as `--inject` does, so that time and ports go on. */
function tracedCode(cluster: Cluster, words: string, isInjected: boolean): string {
  const [from = "", to = "", ...flags] = words.split(" ");
  const valueOf = (flag: string): string | undefined =>
    flags.includes(flag) ? flags[flags.indexOf(flag) + 1] : undefined;
  const protocol = valueOf("--protocol") ?? "tcp";
  const port = valueOf("--port");
  const { report } = tracePacket(cluster, {
    from,
    to,
    protocol: protocol === "udp" || protocol === "icmp" ? protocol : "tcp",
    port: port === undefined ? undefined : Number(port),
    family: valueOf("--family") === "ipv6" ? "ipv6" : undefined,
    isInjected,
  });
  return report.code ?? report.verdict;
}

/** Connections until one of a few back ends was chosen with all but certainty. */
const CHOICES = 64;

/** A packet that only one of several back ends loses is sent until that one was chosen. */
function tracedAs(cluster: Cluster, { probe }: Cell, words: string): string {
  if (probe !== "own") return tracedCode(cluster, words, false);
  const copy = forkCluster(cluster);
  let traced = "answered";
  for (let count = 0; count < CHOICES && traced === "answered"; count++)
    traced = tracedCode(copy, words, true);
  return traced;
}

/**
 * What differs, in the words of the command; and how many cells were compared. `isVerified`: with what verify says when it
 * runs, else with what its table expects.
 */
export async function compareCodes(
  name: string,
  isVerified: boolean,
): Promise<{ readonly compared: number; readonly different: readonly string[] }> {
  const cluster = await openExample(name);
  const cells = deniedCells(cluster, isVerified);
  const different = cells.flatMap(({ cell, code, words }) => {
    const traced = tracedAs(cluster, cell, words);
    return traced === code ? [] : [`${cell.row}: trace ${words}: ${traced} instead of ${code}`];
  });
  return { compared: cells.length, different };
}
