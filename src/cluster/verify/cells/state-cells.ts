/**
 * Cells that are answered by looking: what did not come up, pods that ask for the network of their node, and what Services
 * lack.
 */
import type { ClusterTrouble } from "../../session/session.ts";
import { type Cell, type CellTarget, makeCell } from "./cell.ts";
import { bringUpFacts, hostNetworkFacts, serviceStateFacts } from "../facts.ts";
import type { VerifyModel, VerifyNode, VerifyService } from "../model.ts";
import type { CellAttempt, Observation } from "../observation.ts";

/** A cell with what came of it. */
export interface StateCell {
  readonly cell: Cell;
  readonly observation: Observation;
}

function onNode({ reference, address }: VerifyNode): CellTarget {
  return { reference, address, name: undefined, port: 0, answerers: undefined };
}

/** An attempt at which nothing was sent. */
export function attemptOf(outcome: CellAttempt["outcome"], detail: string): CellAttempt {
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
  const byReference = [...Map.groupBy(troubles, ({ reference }) => reference)];
  return byReference.flatMap(([sourceReference, [first, ...others]]) => {
    const source = nodes.get(first?.node ?? "");
    if (first === undefined || source === undefined) return [];
    const facts = bringUpFacts(model, source);
    const codes = [first, ...others].map(({ code }) => code);
    return {
      cell: makeCell({
        facts,
        source,
        sourceReference,
        target: onNode(source),
        probe: "state",
        troubles: codes,
      }),
      observation: { attempts: [failureOf([first, ...others])] },
    };
  });
}

function serviceTarget({ reference }: VerifyService, port: number): CellTarget {
  return { reference, address: undefined, name: undefined, port, answerers: undefined };
}

/** What Services lack, as their objects show it: with Windows nodes, ports of SCTP; an address of a load balancer. */
function serviceStateCells(model: VerifyModel): readonly StateCell[] {
  const windows = model.nodes.find(({ os }) => os === "windows");
  const [first] = model.nodes;
  const cellOf = (
    source: VerifyNode,
    service: VerifyService,
    port: number,
    state: "sctp" | "without-address",
    detail: string,
  ): StateCell => ({
    cell: makeCell({
      facts: serviceStateFacts(model, source, state),
      source,
      sourceReference: service.reference,
      target: serviceTarget(service, port),
      probe: "state",
    }),
    observation: { attempts: [attemptOf("refused", detail)] },
  });
  return model.services.flatMap((service) => [
    ...(windows === undefined ? [] : service.sctpPorts).flatMap((port) =>
      windows === undefined
        ? []
        : [cellOf(windows, service, port, "sctp", `kube-proxy on Windows has no SCTP for port ${port}`)],
    ),
    ...(service.waitsForAddress && first !== undefined
      ? [cellOf(first, service, 0, "without-address", "status.loadBalancer has no address")]
      : []),
  ]);
}

export function stateCells(model: VerifyModel, troubles: readonly ClusterTrouble[]): readonly StateCell[] {
  return [...bringUpCells(model, troubles), ...hostNetworkCells(model), ...serviceStateCells(model)];
}
