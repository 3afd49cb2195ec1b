/** Cells that are answered by looking: pods that ask for the network of their node. */
import { type Cell, makeCell } from "./cell.ts";
import { hostNetworkFacts } from "./facts.ts";
import type { VerifyModel } from "./model.ts";
import type { Observation } from "./observation.ts";

export function stateCells(model: VerifyModel): readonly Cell[] {
  return model.hostNetworkPods.map((pod) =>
    makeCell({
      facts: hostNetworkFacts(model, pod),
      source: pod.node,
      sourceReference: pod.reference,
      target: {
        reference: pod.node.reference,
        address: pod.node.address,
        name: undefined,
        port: 0,
        answerers: undefined,
      },
      probe: "state",
    }),
  );
}

/** What came of the pod that such a cell is about. */
export function observeState(cell: Cell, model: VerifyModel): Observation | undefined {
  const pod = model.hostNetworkPods.find(({ reference }) => reference === cell.sourceReference);
  if (pod === undefined) return undefined;
  const outcome = pod.isInHostNetwork ? "answered" : "refused";
  return {
    attempts: [
      { outcome, answeredBy: undefined, seen: undefined, detail: pod.detail, sourcePort: undefined },
    ],
  };
}
