/** Cells that are answered by looking: what did not come up, and pods that ask for the network of their node. */
import type { ClusterTrouble } from "../../session/session.ts";
import { type Cell, type CellTarget, makeCell } from "./cell.ts";
import { groupBy } from "../classes.ts";
import { bringUpFacts, hostNetworkFacts } from "../facts.ts";
import type { VerifyModel, VerifyNode } from "../model.ts";
import type { CellAttempt, Observation } from "../observation.ts";

/** A cell with what came of it. */
export interface StateCell {
  readonly cell: Cell;
  readonly observation: Observation;
}

function onNode({ reference, address }: VerifyNode): CellTarget {
  return { reference, address, name: undefined, port: 0, answerers: undefined };
}

function attemptOf(outcome: CellAttempt["outcome"], detail: string): CellAttempt {
  return { outcome, answeredBy: undefined, seen: undefined, detail, sourcePort: undefined };
}

/** One attempt for all that is wrong with a node or a pod; its code is that of the first. */
function failureOf([first, ...others]: readonly [ClusterTrouble, ...ClusterTrouble[]]): CellAttempt {
  const more = others.map(({ code, text }) => `; ${code}: ${text}`).join("");
  return { ...attemptOf("refused", `${first.text}${more}`), code: first.code };
}

function hostNetworkCells(model: VerifyModel): readonly StateCell[] {
  return model.hostNetworkPods.map((pod) => ({
    cell: makeCell({
      facts: hostNetworkFacts(model, pod),
      source: pod.node,
      sourceReference: pod.reference,
      target: onNode(pod.node),
      probe: "state",
    }),
    observation: { attempts: [attemptOf(pod.isInHostNetwork ? "answered" : "refused", pod.detail)] },
  }));
}

/** One for each program or pod that did not come up; what came up needs no cell, for its flows show it. */
function bringUpCells(model: VerifyModel, troubles: readonly ClusterTrouble[]): readonly StateCell[] {
  const nodes = new Map(model.nodes.map((node) => [node.name, node]));
  const byReference = [...groupBy(troubles, ({ reference }) => reference)];
  return byReference.flatMap(([sourceReference, [first, ...others]]) => {
    const source = nodes.get(first?.node ?? "");
    if (first === undefined || source === undefined) return [];
    const facts = bringUpFacts(model, source);
    return {
      cell: makeCell({ facts, source, sourceReference, target: onNode(source), probe: "state" }),
      observation: { attempts: [failureOf([first, ...others])] },
    };
  });
}

export function stateCells(model: VerifyModel, troubles: readonly ClusterTrouble[]): readonly StateCell[] {
  return [...bringUpCells(model, troubles), ...hostNetworkCells(model)];
}
