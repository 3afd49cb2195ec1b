/** What a verification will try: every question of the matrix, and the batches in which they are asked. */
import { FLOWS } from "#core/catalogue/expectations.ts";
import { type Ip, prefixContains } from "#core/net/ip.ts";
import type { ComparisonPlan } from "../classes/node-classes.ts";
import type { Cluster } from "../cluster.ts";
import { FlowEnds } from "../limits/flow-ends.ts";
import { type FlowLimit, type LimitReason, type LimitedFlow, reasonOf } from "../session/flow-limit.ts";
import type { ClusterTrouble, InputRemarks } from "../session/session.ts";
import { type CellBatch, batchesOf, isTried } from "./batches.ts";
import { type Cell, asIpv6 } from "./cells/cell.ts";
import type { VerifyModel, VerifyNode } from "./model.ts";
import { readModel } from "./model-of-cluster.ts";
import type { Observation } from "./observation.ts";
import { ownCells } from "./cells/own-cells.ts";
import { podCells } from "./cells/pod-cells.ts";
import { PolicyCells } from "./policy-cells.ts";
import type { CellLimit } from "./report.ts";
import { NONE_REST, type RestingCells, restingCells } from "./resting-cells.ts";
import { serviceCells } from "./cells/service-cells.ts";
import { stateCells } from "./cells/state-cells.ts";

const NONE: readonly CellLimit[] = Object.freeze([]);

/** The limits of a cluster, asked about cells. */
export class CellLimits {
  private readonly limits: readonly FlowLimit[];
  private readonly flowEnds: FlowEnds | undefined;

  constructor(cluster: Cluster, limits: readonly FlowLimit[]) {
    this.limits = limits;
    this.flowEnds = limits.length === 0 ? undefined : new FlowEnds(cluster);
  }

  /** As they are said, in their order. */
  get reasons(): readonly LimitReason[] {
    return this.limits.map(({ code, message, where }) => ({
      code,
      message,
      ...(where === undefined ? {} : { where }),
    }));
  }

  /** What limits ask of a pod or node besides what classes of pods and nodes have in common. */
  kindOf(reference: string): string {
    const flowEnd = this.flowEnds?.endOf(reference);
    if (flowEnd === undefined) return "";
    return this.limits
      .map((limit, index) => [index, limit.kindOf?.(flowEnd) ?? ""] as const)
      .filter(([, kind]) => kind !== "")
      .map(([index, kind]) => `${index}:${kind}`)
      .join(" ");
  }

  /** The cells as NetworkPolicies have them, where these are enforced or known not to be. */
  withPolicies(cells: readonly Cell[], policies: PolicyCells): readonly Cell[] {
    const { flowEnds } = this;
    if (flowEnds === undefined) return cells;
    return cells.map((cell) => {
      const { source } = cell;
      if (source === undefined || cell.probe === "state") return cell;
      return policies.of(cell, () => this.flowOf(flowEnds, cell, source.reference));
    });
  }

  /** Why a cell that was tried is not judged; empty when it is. */
  of(cell: Cell): readonly CellLimit[] {
    if (this.flowEnds === undefined || cell.source === undefined) return NONE;
    const flow = this.flowOf(this.flowEnds, cell, cell.source.reference);
    return this.limits.flatMap((limit, index) => {
      if (!limit.covers(flow)) return [];
      return { limit: index, ...reasonOf(limit, flow) };
    });
  }

  private flowOf(flowEnds: FlowEnds, { target, protocol }: Cell, from: string): LimitedFlow {
    const { reference: to, address, port, name } = target;
    return flowEnds.flowOf({ from, to, address, protocol, port, isByName: name !== undefined });
  }
}

/** The question of a cell without what it is called: the user's expectation of it replaces the table's. */
function questionOf(cell: Cell): string {
  const { target, protocol, sourceReference, probe } = cell;
  return `${cell.family} ${protocol} ${sourceReference} ${target.reference} ${target.name ?? ""} ${target.port} ${probe}`;
}

/** Each question once; who comes first is kept and stands for the others' pairs as well. */
function withoutRepetitions(cells: readonly Cell[]): readonly Cell[] {
  const kept = new Map<string, Cell>();
  for (const cell of cells) {
    const first = kept.get(cell.id);
    if (first === undefined) kept.set(cell.id, cell);
    else if (first.standsFor < cell.standsFor) kept.set(cell.id, { ...first, standsFor: cell.standsFor });
  }
  return [...kept.values()];
}

const FLOW_ORDER: ReadonlyMap<string, number> = new Map(FLOWS.map((flow, index) => [flow, index]));

function inOrder(cells: readonly Cell[]): readonly Cell[] {
  const last = FLOWS.length;
  const rank = ({ flow, family }: Cell): number =>
    (FLOW_ORDER.get(flow) ?? last) + (family === 6 ? last + 1 : 0);
  return cells.toSorted((a, b) => rank(a) - rank(b));
}

/** Flows that begin with a name, which is asked for by IPv4 alone. */
function isByName({ flow, target }: Cell): boolean {
  return target.name !== undefined || flow.endsWith("-name");
}

/** The same questions by IPv6: none in a cluster of IPv4 alone. */
function ipv6Cells(cluster: Cluster, limits: CellLimits): readonly Cell[] {
  if (cluster.file.ipv6 === undefined) return [];
  const model = readModel(cluster, 6, limits);
  const cells = [...podCells(model), ...serviceCells(model, nodeBehind(cluster, model))];
  return cells.filter((cell) => !isByName(cell)).map(asIpv6);
}

/** The node whose own an address is, or to which the router leads it: where the address of a load balancer comes out. */
export function nodeBehind(cluster: Cluster, model: VerifyModel): (address: Ip) => VerifyNode | undefined {
  const { compartment } = cluster.underlay.router;
  return (address) => {
    const owner = model.nodes.find((node) => node.address === address);
    if (owner !== undefined) return owner;
    const nextHop = compartment
      .listRoutes()
      .find((route) => route.nextHop !== undefined && prefixContains(route.prefix, address));
    return model.nodes.find((node) => node.address === nextHop?.nextHop);
  };
}

/**
 * All cells of the matrix, each question once. `states` are those that are answered by looking, `own` those of the cluster
 * file.
 */
export function listCells(
  cluster: Cluster,
  model: VerifyModel,
  limits: CellLimits,
  states: Iterable<Cell>,
  own: readonly Cell[] = [],
): readonly Cell[] {
  const replaced = new Set(own.map(questionOf));
  const table = [
    ...podCells(model),
    ...serviceCells(model, nodeBehind(cluster, model)),
    ...ipv6Cells(cluster, limits),
    ...states,
  ];
  const listed = inOrder(
    withoutRepetitions([...own, ...table.filter((cell) => !replaced.has(questionOf(cell)))]),
  );
  return limits.withPolicies(listed, new PolicyCells(cluster));
}

export interface VerifyOptions {
  /** What did not come up. */
  readonly troubles?: readonly ClusterTrouble[];
  /** What was said about the input when it was read and applied. */
  readonly input?: InputRemarks;
  /** What keeps flows from being judged. */
  readonly limits?: readonly FlowLimit[];
  /** Machines that will be compared, where flows may rest on those of equal nodes. */
  readonly comparisons?: ComparisonPlan;
}

/** Everything that will be asked. It is a function of the input alone, whoever runs it, and on however many machines. */
export interface VerifyPlan {
  readonly cluster: Cluster;
  readonly model: VerifyModel;
  readonly limits: CellLimits;
  readonly options: VerifyOptions;
  /** In the order of the report. */
  readonly cells: readonly Cell[];
  /** Those that somebody sends for. */
  readonly tried: readonly Cell[];
  /** What is seen of a cell by looking. */
  readonly states: ReadonlyMap<Cell, Observation>;
  /** Of those that somebody sends for: which rest on others, and are in no batch. */
  readonly resting: RestingCells;
  /** Of all that are tried, and first those that are not, in a batch that needs no copy. */
  readonly batches: readonly CellBatch[];
}

function restingIn(
  cluster: Cluster,
  model: VerifyModel,
  { comparisons, troubles = [] }: VerifyOptions,
  { limits, cells, tried }: Pick<VerifyPlan, "limits" | "cells" | "tried">,
): RestingCells {
  if (comparisons === undefined) return NONE_REST;
  const apart = new Set(troubles.map(({ node }) => node));
  const limitsOf = (cell: Cell): readonly CellLimit[] => limits.of(cell);
  return restingCells({ cluster, model, cells, limitsOf, comparisons, apart }, new Set(tried));
}

/**
 * Lists the questions. Without `given` the cluster is read here, with pods apart that the limits tell apart.
 * @throws RequestError for an expectation of the cluster file about somebody who does not exist.
 */
export function planVerification(
  cluster: Cluster,
  given?: VerifyModel,
  options: VerifyOptions = {},
): VerifyPlan {
  const limits = new CellLimits(cluster, options.limits ?? []);
  const model = given ?? readModel(cluster, 4, limits);
  const { troubles = [] } = options;
  const own = ownCells(cluster, model, troubles);
  const states = new Map(
    [...own.states, ...stateCells(model, troubles)].map(({ cell, observation }) => [cell, observation]),
  );
  const cells = listCells(cluster, model, limits, states.keys(), own.cells);
  const tried = cells.filter(isTried);
  const resting = restingIn(cluster, model, options, { limits, cells, tried });
  const asked = [...cells.keys()].filter((position) => !resting.on.has(position));
  return {
    cluster,
    model,
    limits,
    options,
    cells,
    tried,
    states,
    resting,
    batches: batchesOf(cells, model, asked),
  };
}
