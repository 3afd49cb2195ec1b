/**
 * Which findings about flows have one cause. What is wrong on one machine shows in many cells; a reader wants to hear of it
 * once. Nothing is taken away: a finding names the one that stands for its cause.
 */
import { ALL_SERVICE_FLOWS, NAME_FLOWS } from "#core/catalogue/expectation-table.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { CellOutcome, VerifyCell, VerifyFinding } from "./report.ts";

/** Flows that need a load balancer of the node: names are asked at a Service, too. */
const OF_SERVICES: ReadonlySet<string> = new Set([...NAME_FLOWS, ...ALL_SERVICE_FLOWS]);

/** A program of a node that does not run takes flows of the node along. */
interface Follows {
  /** How codes of the program begin. */
  readonly program: string;
  readonly flows: ReadonlySet<string> | "all";
}

const FOLLOWS: readonly Follows[] = [
  { program: "flannel-", flows: "all" },
  { program: "kube-proxy-", flows: OF_SERVICES },
];

/** A finding about a flow, with its position among all. */
interface Sighting {
  readonly position: number;
  readonly code: KnowledgeCode | undefined;
  readonly cell: VerifyCell;
  readonly at: string;
  readonly sender: string;
  /** The node that is asked, or has the pod that is. */
  readonly receiver: string;
}

function sightingsOf(
  findings: readonly VerifyFinding[],
  outcomes: readonly CellOutcome[],
): readonly Sighting[] {
  return findings.flatMap(({ cell: index, code }, position) => {
    const { cell, disagreement } = (index === undefined ? undefined : outcomes[index]) ?? {};
    if (cell === undefined || disagreement === undefined) return [];
    const { at = "", sender, receiver } = disagreement;
    return [{ position, code, cell, at, sender, receiver }];
  });
}

function isBringUp({ cell }: Sighting): boolean {
  return cell.flow === "bring-up";
}

/** The program of a node that did not come up, and that the flow needs. */
function programBehind(own: Sighting, programs: readonly Sighting[]): Sighting | undefined {
  return FOLLOWS.flatMap(({ program, flows }) =>
    programs.filter(
      (other) =>
        other !== own &&
        other.code?.startsWith(program) === true &&
        (flows === "all" || flows.has(own.cell.flow)) &&
        (other.sender === own.sender || other.sender === own.receiver),
    ),
  )[0];
}

/** Findings that end alike share what they have in common: the sender's node, or who is asked. */
function partsOf(alike: readonly Sighting[]): readonly (readonly Sighting[])[] {
  const bySender = [...Map.groupBy(alike, ({ sender }) => sender).values()];
  const byTarget = [...Map.groupBy(alike, ({ cell }) => cell.to).values()];
  return bySender.length <= byTarget.length ? bySender : byTarget;
}

function endOf({ code, cell, at }: Sighting): string {
  return [code, cell.expected, at].join(" ");
}

/** Positions of findings about the input that say the same of several objects. */
function alikeOfInput(findings: readonly VerifyFinding[]): ReadonlyMap<string, readonly number[]> {
  const positions = [...findings.keys()].filter(
    (position) => findings[position]?.cell === undefined && findings[position]?.limit === undefined,
  );
  return Map.groupBy(positions, (position) => {
    const { code = "", observed = "" } = findings[position] ?? {};
    return `${code} ${observed}`;
  });
}

/** Findings with the position of the one that stands for the cause, where that is another one. */
export function withCauses(
  findings: readonly VerifyFinding[],
  outcomes: readonly CellOutcome[],
): readonly VerifyFinding[] {
  const sightings = sightingsOf(findings, outcomes);
  const programs = sightings.filter((own) => isBringUp(own) && own.cell.from.startsWith("node/"));
  const causes = new Map<number, number>();
  const others: Sighting[] = [];
  for (const own of sightings) {
    const program = programs.includes(own) ? undefined : programBehind(own, programs);
    if (program !== undefined) causes.set(own.position, program.position);
    else if (own.code !== undefined && !isBringUp(own)) others.push(own);
  }
  for (const alike of Map.groupBy(others, endOf).values())
    for (const [first, ...rest] of partsOf(alike))
      for (const own of rest) if (first !== undefined) causes.set(own.position, first.position);
  for (const [first, ...rest] of alikeOfInput(findings).values())
    for (const own of rest) if (first !== undefined) causes.set(own, first);
  return findings.map((finding, position) => {
    const cause = causes.get(position);
    return cause === undefined ? finding : { ...finding, cause };
  });
}
