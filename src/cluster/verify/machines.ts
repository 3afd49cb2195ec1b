/** Whether machines of one class are equal: part of what a verification finds out, shard by shard. */
import type { ValueOf } from "#core/base/shape.ts";
import type { SessionProblem } from "../session/session.ts";
import type { VerifyMachines } from "./report.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

/** A machine that was held against another of its class. */
export const MACHINE_OUTCOME = {
  text: "A machine that was compared whole with another of its class.",
  fields: { node: "text", like: { is: "text", text: "The node that stands for the class." } },
  optional: {
    difference: {
      is: {
        text: "Absent when they are equal.",
        fields: {
          path: { is: "text", text: "Where in the machine." },
          one: { is: "text", text: "What is there on the node." },
          other: { is: "text", text: "What is there on the node that stands for the class." },
        },
      },
      text: "The first value that differs.",
    },
  },
} as const;

export const SHARD_MACHINES = {
  text: "Machines of nodes that are alike.",
  fields: {
    classes: { is: "count", text: (): string => WORDS.shardMachinesClasses },
    chosen: { is: "count", text: "Machines that all shards together compare." },
    seed: { is: "text", text: (): string => WORDS.shardMachinesSeed },
    compared: { list: (): typeof MACHINE_OUTCOME => MACHINE_OUTCOME, text: "Those of this shard." },
  },
} as const;
export type ShardMachines = ValueOf<typeof SHARD_MACHINES>;

/** Of all shards that have compared; undefined when nothing was to be compared. */
export function machinesOf(parts: readonly (ShardMachines | undefined)[]): VerifyMachines | undefined {
  const known = parts.filter((each) => each !== undefined);
  const [first] = known;
  if (first === undefined || first.chosen === 0) return undefined;
  const compared = known.flatMap((each) => each.compared);
  return {
    classes: first.classes,
    compared: compared.length,
    equal: compared.filter(({ difference }) => difference === undefined).length,
    seed: first.seed,
  };
}

type MachineOutcome = ShardMachines["compared"][number];

const CODE = "machines-of-class-differ" as const;
const ADVICE = WORDS.adviceReportMachineDifference;

function noteOf(difference: string): SessionProblem {
  return {
    code: CODE,
    message: WORDS.machinesDiffer({ difference }),
    advice: ADVICE,
  };
}

/** Where all that were compared with a node differ from it, it is the one that differs, and is told of once. */
function notesOfClass(outcomes: readonly MachineOutcome[]): readonly SessionProblem[] {
  const differing = outcomes.filter(({ difference }) => difference !== undefined);
  const [first] = differing;
  if (first?.difference === undefined) return [];
  if (differing.length === outcomes.length && differing.length > 1) {
    const others = differing.map(({ node }) => `node/${node}`);
    const { path, one, other } = first.difference;
    return [
      noteOf(
        WORDS.machineDiffersFromClass({
          like: first.like,
          path,
          other,
          one,
          node: first.node,
          others: others.join(", "),
        }),
      ),
    ];
  }
  return differing.flatMap(({ node, like, difference }) => {
    if (difference === undefined) return [];
    const { path, one, other } = difference;
    return noteOf(WORDS.machineDiffersFromNode({ node, path, one, other, like }));
  });
}

/**
 * Machines that are not equal, by name of the node. Each flow is tried whatever is said here, so it is worth knowing and no
 * finding.
 */
export function machineNotes(parts: readonly (ShardMachines | undefined)[]): readonly SessionProblem[] {
  const compared = parts.flatMap((each) => each?.compared ?? []);
  const sorted = compared.toSorted((a, b) => (a.node < b.node ? -1 : 1));
  return [...Map.groupBy(sorted, ({ like }) => like).values()].flatMap(notesOfClass);
}
