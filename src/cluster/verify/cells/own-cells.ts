/** Cells of the expectations that stand in the cluster file. */
import type { Expectation } from "#core/catalogue/expectations.ts";
import { defined } from "#core/base/assert.ts";
import { parseIp } from "#core/net/ip.ts";
import type { Cluster } from "../../cluster.ts";
import type { ExpectationSpec } from "../../file/cluster-file.ts";
import { findTraceEnd, podWithoutNetwork } from "../../trace/find-trace-end.ts";
import { RequestError } from "../../request-error.ts";
import type { ClusterTrouble } from "../../session/session.ts";
import { type Cell, type CellTarget, cellId } from "./cell.ts";
import { type StateCell, attemptOf } from "./state-cells.ts";
import { nodeOf, relationOf } from "../facts.ts";
import type { VerifyModel, VerifySender } from "../model.ts";
import { targetOf } from "./pod-cells.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** Somebody of the model by the reference that the command line knows. */
function senderBy(model: VerifyModel, reference: string): VerifySender | undefined {
  return [...model.pods, ...model.nodes, ...model.outside].find((each) => each.reference === reference);
}

function findSender(cluster: Cluster, model: VerifyModel, spec: ExpectationSpec): VerifySender {
  const { reference } = findTraceEnd(cluster, spec.from).description;
  const sender = senderBy(model, reference);
  if (sender !== undefined) return sender;
  throw new RequestError(
    "unknown-object",
    WORDS.expectationSourceUnknown({ from: spec.from }),
    WORDS.adviceSender,
  );
}

function noPort(spec: ExpectationSpec): RequestError {
  return new RequestError(
    "bad-usage",
    WORDS.expectationWithoutPort({ from: spec.from, to: spec.to }),
    "Add port to the expectation, or write protocol: icmp.",
  );
}

/** `service/NAMESPACE/NAME`, or `service/NAME` of the namespace default. */
function serviceTarget(model: VerifyModel, spec: ExpectationSpec): CellTarget | undefined {
  const [kind, first = "", second] = spec.to.split("/");
  if (kind !== "service" && kind !== "svc") return undefined;
  const [namespace, name] = second === undefined ? ["default", first] : [first, second];
  const service = model.services.find((each) => each.namespace === namespace && each.name === name);
  if (service === undefined) {
    throw new RequestError(
      "unknown-object",
      `an expectation names ${spec.to}, and there is no such Service`,
      `Services are: ${model.services.map((each) => each.reference).join(", ")}.`,
    );
  }
  const port = spec.port ?? service.ports.find(({ protocol }) => protocol === spec.protocol)?.port;
  if (port === undefined && spec.protocol !== "icmp") throw noPort(spec);
  return {
    reference: service.reference,
    address: service.clusterIp,
    name: undefined,
    port: port ?? 0,
    answerers: undefined,
  };
}

function traceEndTarget(cluster: Cluster, model: VerifyModel, spec: ExpectationSpec): CellTarget {
  const traceEnd = findTraceEnd(cluster, spec.to);
  const known = senderBy(model, traceEnd.description.reference);
  if (known === undefined) {
    const address = defined(parseIp(traceEnd.description.address), "a party has an address");
    if (spec.port === undefined && spec.protocol !== "icmp") throw noPort(spec);
    return { reference: spec.to, address, name: undefined, port: spec.port ?? 0, answerers: undefined };
  }
  const target = targetOf(known, spec.protocol);
  if (spec.protocol === "icmp" || spec.port === undefined) return target;
  return { ...target, port: spec.port, answerers: undefined };
}

function expectationOf(spec: ExpectationSpec): Expectation {
  if (spec.expect === "works") return { outcome: "works", sees: "any" };
  return {
    outcome: "denied",
    code: spec.code ?? "no-answer",
    proof: spec.code === undefined ? "any-failure" : "drop",
  };
}

/** The part that all cells of the cluster file share. */
function ownCell(
  cluster: Cluster,
  [spec, index]: readonly [ExpectationSpec, number],
  {
    source,
    sourceReference,
    target,
    receiver,
  }: Pick<Cell, "source" | "sourceReference" | "target"> & {
    readonly receiver: VerifySender | undefined;
  },
): Cell {
  return {
    id: cellId(`cluster-file ${index}`, spec.protocol, sourceReference, target),
    flow: "cluster-file",
    protocol: spec.protocol,
    relation: source === undefined || receiver === undefined ? "service" : relationOf(source, receiver),
    source,
    sourceReference,
    sourceOs: (source === undefined ? undefined : nodeOf(source)?.os) ?? "outside",
    target,
    targetOs: (receiver === undefined ? undefined : nodeOf(receiver)?.os) ?? "outside",
    probe: "once",
    waitS: 0,
    among: 1,
    row: `expectations[${index}]`,
    documentedIn: cluster.file.fileName,
    page: undefined,
    expected: expectationOf(spec),
    standsFor: 1,
    family: 4,
  };
}

/** An expectation about a pod that did not start: nothing can be sent, which proves no denial either. */
function unanswerable(
  cluster: Cluster,
  troubles: readonly ClusterTrouble[],
  numbered: readonly [ExpectationSpec, number],
): StateCell | undefined {
  const [spec] = numbered;
  const [from, to] = [podWithoutNetwork(cluster, spec.from), podWithoutNetwork(cluster, spec.to)];
  const waiting = from ?? to;
  if (waiting === undefined) return undefined;
  const cell = ownCell(cluster, numbered, {
    source: undefined,
    sourceReference: from?.reference ?? spec.from,
    target: {
      reference: to?.reference ?? spec.to,
      address: undefined,
      name: undefined,
      port: spec.port ?? 0,
      answerers: undefined,
    },
    receiver: undefined,
  });
  const code = troubles.find(({ reference }) => reference === waiting.reference)?.code;
  const expected =
    cell.expected.outcome === "denied" ? { ...cell.expected, proof: "drop" as const } : cell.expected;
  return {
    cell: { ...cell, expected, probe: "state" },
    observation: {
      attempts: [{ ...attemptOf("unreachable", waiting.why), ...(code === undefined ? {} : { code }) }],
    },
  };
}

/** What the cluster file asks: flows to try, and flows of pods that did not start. */
interface OwnCells {
  readonly cells: readonly Cell[];
  readonly states: readonly StateCell[];
}

/** @throws RequestError when an expectation names somebody who does not exist, or no port. */
export function ownCells(
  cluster: Cluster,
  model: VerifyModel,
  troubles: readonly ClusterTrouble[],
): OwnCells {
  const cells: Cell[] = [];
  const states: StateCell[] = [];
  for (const [index, spec] of cluster.file.expectations.entries()) {
    const state = unanswerable(cluster, troubles, [spec, index]);
    if (state !== undefined) {
      states.push(state);
      continue;
    }
    const source = findSender(cluster, model, spec);
    const target = serviceTarget(model, spec) ?? traceEndTarget(cluster, model, spec);
    const receiver = senderBy(model, target.reference);
    const sourceReference = source.reference;
    cells.push(ownCell(cluster, [spec, index], { source, sourceReference, target, receiver }));
  }
  return { cells, states };
}
