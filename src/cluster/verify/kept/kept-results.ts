/**
 * Results that are known from an earlier verification of the same cluster. A cell that came out as expected is kept when
 * its question is the same and nothing that it can touch has changed; all others are tried again.
 */
import { defined } from "#core/base/assert.ts";
import type { Ip } from "#core/net/ip.ts";
import type { Cluster } from "../../cluster.ts";
import type { ClusterFile } from "../../file/cluster-file.ts";
import type { Cell } from "../cells/cell.ts";
import type { VerifyModel, VerifySender } from "../model.ts";
import type { CellResult } from "../observation.ts";
import type { VerifyPlan } from "../plan.ts";
import { compartmentOf } from "../stage.ts";
import { BETWEEN, type ChangedPackets, ClusterState, type StateChange } from "./cluster-state.ts";
import { FrozenState } from "./service-parts.ts";

/** What a cell can touch. */
interface Reach {
  /** Names of nodes, and `BETWEEN`. */
  readonly machines: ReadonlySet<string>;
  readonly addresses: ReadonlySet<Ip>;
  /** Those that its packets are for, or come from; without those of clients. */
  readonly ports: ReadonlySet<number>;
  /** The parts of the name that it asks for. */
  readonly labels: readonly string[];
}

/** A result that may be kept, with the question that it answers. */
interface Known {
  readonly question: string;
  /** Position apart: that is another one in another plan. */
  readonly result: Omit<CellResult, "position">;
  /** When it was tried, as the caller calls it. */
  readonly at: string;
}

/** A result that is kept. */
export interface KeptResult {
  readonly result: CellResult;
  readonly at: string;
}

/** The cells of a plan: those whose results are kept, and positions of those that are to be tried. */
export interface SortedCells {
  readonly kept: readonly KeptResult[];
  readonly open: readonly number[];
}

function withoutIntegers(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? `${value}n` : value;
}

/** Everything that a cell asks, and who may answer it. Positions are left out: they are others after a change. */
function questionOf(cell: Cell, reach: Reach): string {
  const { target, probe, waitS, among, expected, protocol, family, source } = cell;
  const asked = [target, probe, waitS, among, expected, protocol, family, source?.reference];
  return JSON.stringify([...asked, [...reach.machines], [...reach.addresses].map(String)], withoutIntegers);
}

function addressesOf(cluster: Cluster, sender: VerifySender): readonly Ip[] {
  const own = compartmentOf(cluster, sender).listInterfaces();
  return [sender.address, ...own.flatMap(({ addresses }) => addresses.map(({ ip }) => ip))];
}

/** Where names are asked for, and where flannel's tunnels end on Linux. */
const EVERYWHERE: readonly number[] = [53, 8_472];

/** Ports that any packet may be for on its way: those to which a Service or a port of a node leads, and those of tunnels. */
function portsBehind({ pods, services }: VerifyModel, { network, networks }: ClusterFile): readonly number[] {
  const ofServices = services.flatMap(({ ports }) => ports.flatMap(({ backEnds }) => backEnds));
  const served = [...ofServices, ...pods.flatMap(({ ports }) => ports)].map(({ port }) => port);
  return [...EVERYWHERE, ...[network, ...networks].map(({ vxlanPort }) => vxlanPort), ...served];
}

/** Finds what cells can touch. */
class ReachFinder {
  private readonly cluster: Cluster;
  private readonly state: ClusterState;
  private readonly servers = new Map<string, VerifySender>();
  private readonly ports: readonly number[];
  /** Of senders and servers, most of which are at an end of many cells. */
  private readonly addresses = new Map<VerifySender, readonly Ip[]>();

  constructor({ cluster, model }: VerifyPlan, state: ClusterState) {
    this.cluster = cluster;
    this.state = state;
    this.ports = [...new Set(portsBehind(model, cluster.file))];
    const { pods, nodes, outside }: VerifyModel = model;
    for (const each of outside) this.servers.set(each.reference, each);
    for (const each of nodes) this.servers.set(each.name, each);
    for (const each of pods) this.servers.set(each.serverName, each);
  }

  reachOf({ source, target }: Cell): Reach {
    const sender = defined(source, "a cell that is tried has a sender");
    const { address, answerers, port, name = target.question } = target;
    const ends = this.addressesOf(sender);
    const answering = (answerers ?? []).map((each) => this.servers.get(each));
    const answeringAt = answering.flatMap((each) => (each === undefined ? [] : this.addressesOf(each)));
    const asked = name === undefined ? [] : compartmentOf(this.cluster, sender).dns.servers;
    const owners = this.state.ownersOf([...ends, ...answeringAt]);
    const targetOwners = address === undefined ? undefined : this.state.ownersOf([address]);
    // Whoever answers for an address that is no machine's is among the answerers; who leads there is not, from outside.
    const isKnown =
      owners !== undefined &&
      !answering.includes(undefined) &&
      (targetOwners !== undefined || (answerers !== undefined && sender.kind !== "outside"));
    const machines = isKnown ? [...owners, ...(targetOwners ?? [])] : this.state.all;
    const serving = name === undefined ? [] : this.state.namesServedBy;
    return {
      machines: new Set([BETWEEN, ...machines, ...serving]),
      addresses: new Set([...ends, ...answeringAt, ...(address === undefined ? [] : [address]), ...asked]),
      ports: new Set([...this.ports, port]),
      labels: name === undefined ? [] : name.toLowerCase().split("."),
    };
  }

  private addressesOf(sender: VerifySender): readonly Ip[] {
    let known = this.addresses.get(sender);
    if (known === undefined) this.addresses.set(sender, (known = addressesOf(this.cluster, sender)));
    return known;
  }
}

/** True where a packet of the cell may be one of those. */
function mayMeet(
  { machines, addresses, ports }: Reach,
  { machine, addresses: named, ports: asked }: ChangedPackets,
): boolean {
  return (
    (machine === undefined || machines.has(machine)) &&
    (asked === undefined || asked.some((each) => ports.has(each))) &&
    (named === undefined || [...addresses].some((each) => named.has(each)))
  );
}

function isTouched(reach: Reach, change: StateChange): boolean {
  return (
    [...reach.machines].some((each) => change.machines.has(each)) ||
    change.packets.some((each) => mayMeet(reach, each)) ||
    reach.labels.some((each) => change.labels.has(each))
  );
}

/** What one cluster's last verification has found out. */
export class KeptResults {
  private readonly frozen = new FrozenState();
  private state: ClusterState | undefined;
  private reach: ReachFinder | undefined;
  private known = new Map<string, Known>();

  /** Forgets everything: the next verification tries all cells. */
  forget(): void {
    this.state = undefined;
    this.known = new Map();
  }

  /** Looks at the cluster of the plan as it is now. What is not kept then is forgotten. */
  sort(plan: VerifyPlan): SortedCells {
    const before = this.state;
    const state = new ClusterState(plan.cluster, this.frozen);
    const finder = new ReachFinder(plan, state);
    const change = before === undefined ? undefined : state.changesSince(before);
    const { known } = this;
    this.known = new Map();
    this.state = state;
    this.reach = finder;
    const kept: KeptResult[] = [];
    const open: number[] = [];
    const isTried = new Set(plan.tried);
    for (const [position, cell] of plan.cells.entries()) {
      const old = known.get(cell.id);
      if (!isTried.has(cell) || old === undefined || change === undefined) {
        open.push(position);
        continue;
      }
      const reach = finder.reachOf(cell);
      if (isTouched(reach, change) || questionOf(cell, reach) !== old.question) open.push(position);
      else {
        this.known.set(cell.id, old);
        kept.push({ result: { ...old.result, position }, at: old.at });
      }
    }
    return { kept, open };
  }

  /** Keeps what was tried since `sort`. What came out otherwise than expected is tried again each time. */
  remember(plan: VerifyPlan, results: readonly CellResult[], at: string): void {
    const finder = defined(this.reach, "cells are sorted before they are tried");
    const isTried = new Set(plan.tried);
    for (const { position, ...result } of results) {
      const cell = defined(plan.cells[position], "a result is of a cell of the plan");
      if (!isTried.has(cell) || result.disagreement !== undefined) continue;
      this.known.set(cell.id, { question: questionOf(cell, finder.reachOf(cell)), result, at });
    }
  }
}
