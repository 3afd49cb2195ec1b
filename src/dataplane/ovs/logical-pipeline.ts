/**
 * A packet's way through a logical network: the ingress pipeline of its datapath, the egress pipeline towards each port that
 * it goes to, and through patch ports into the next datapath (ovn-sb(5); ovn-architecture(7), "Life of a packet").
 *
 * Nothing is guessed: a flow whose action is not carried out ends the packet and is named, and so does a loop.
 */
import type { Packet } from "#core/wire/packet.ts";
import type { OvnTunnelKeys } from "#core/wire/tunnels/ovn-metadata.ts";
import type { Chassis } from "./chassis.ts";
import { formatState } from "./connection-tracking.ts";
import type { Action, Pipeline } from "./language/actions.ts";
import { optionsIn, textOfArgument } from "./language/call-options.ts";
import { keptBackEnd, placeByHash } from "./load-balancing.ts";
import { callFunction } from "./logical-functions.ts";
import type { CompiledFlow } from "./compile-flow.ts";
import type { LogicalNetwork } from "./logical-network.ts";
import { makePacket } from "./made-packets.ts";
import { matches } from "./match-packet.ts";
import type { Microflow } from "./microflow.ts";
import { PacketState } from "./packet-state.ts";
import { PassageConditions } from "./passage-conditions.ts";
import type { LogicalFlowRow, PortBinding } from "./southbound.ts";
import { type TrackingAction, describeTracking, isTracking, planTracking } from "./tracked-actions.ts";

/** Flows that one packet may match, copies included: more is a loop. */
const STEPS_MAX = 4_096;
/** Tables that one packet may be in, one from within the other: those of 14 datapaths. */
const DEPTH_MAX = 512;

/** What happened to a packet, in order. */
export type Step =
  | {
      readonly kind: "pipeline";
      readonly pipeline: Pipeline;
      readonly datapath: string;
      readonly inport: string;
      readonly outport: string;
      /** As it was there. */
      readonly frame: Uint8Array;
      /** A flow sent it here, with its registers; else it begins with nothing but its bytes, or comes from the ingress. */
      readonly isJump: boolean;
      /** Tables that it is within: those of what led to it are fewer. */
      readonly depth: number;
    }
  | { readonly kind: "flow"; readonly datapath: string; readonly flow: CompiledFlow }
  /** A new table, with what connection tracking knows of the packet from there on. */
  | {
      readonly kind: "tracked";
      readonly action: string;
      /** As ovn-trace takes it: `est|trk`. */
      readonly state: string;
      readonly mark: bigint;
      readonly label: bigint;
      /** Where the packet goes when its connection has a back end. */
      readonly backEnd: string | undefined;
    }
  /** A copy, or a packet that the chassis makes. */
  | { readonly kind: "made"; readonly name: string }
  | { readonly kind: "output"; readonly port: string; readonly type: string };

/** A way in which a packet ended. */
export type Ending =
  | { readonly kind: "output"; readonly port: string; readonly packet: Packet }
  /** To another chassis, which goes on with the egress pipeline. */
  | {
      readonly kind: "tunnel";
      readonly chassis: string;
      readonly keys: OvnTunnelKeys;
      readonly packet: Packet;
    }
  | { readonly kind: "drop"; readonly text: string }
  /** A flow that is not carried out. */
  | { readonly kind: "refused"; readonly text: string }
  | { readonly kind: "loop"; readonly text: string };

export interface Passage {
  readonly steps: readonly Step[];
  readonly endings: readonly Ending[];
  /** When the next packet with the same headers goes the same way. */
  readonly conditions: PassageConditions;
}

interface Run {
  readonly pipeline: Pipeline;
  readonly table: number;
  readonly depth: number;
}

/** A flow in words: stage, priority, first digits of the UUID, and the object that it was written for. */
export function nameOf(row: LogicalFlowRow): string {
  const flow = `${row.stage === "" ? `table ${row.table}` : row.stage}, priority ${row.priority}, uuid ${row.id.slice(0, 8)}`;
  return row.object === undefined ? flow : `${flow} (${row.object})`;
}

class LogicalRun {
  readonly steps: Step[] = [];
  readonly endings: Ending[] = [];
  readonly conditions: PassageConditions = new PassageConditions();
  private readonly network: LogicalNetwork;
  private readonly chassis: Chassis;
  /** The chassis whose variables count. */
  private readonly home: string;
  private isLoop = false;

  constructor(network: LogicalNetwork, chassis: Chassis, home: string) {
    this.network = network;
    this.chassis = chassis;
    this.home = home;
  }

  /** Begins a pipeline at its first table. */
  begin(state: PacketState, pipeline: Pipeline, depth: number): void {
    this.enter(state, pipeline, false, depth);
    this.table(state, { pipeline, table: 0, depth });
  }

  private enter(state: PacketState, pipeline: Pipeline, isJump: boolean, depth: number): void {
    const { datapath, inport, outport } = state;
    const frame = state.fields.packet.frame.slice();
    this.steps.push({ kind: "pipeline", pipeline, datapath, inport, outport, frame, isJump, depth });
  }

  private end(kind: "drop" | "refused" | "loop", text: string): void {
    if (kind === "loop") {
      if (this.isLoop) return;
      this.isLoop = true;
    }
    this.endings.push({ kind, text });
  }

  table(state: PacketState, run: Run): void {
    if (this.isLoop) return;
    if (this.steps.length >= STEPS_MAX || run.depth > DEPTH_MAX) {
      this.end("loop", `the packet goes round between logical datapaths, last at ${state.inport}`);
      return;
    }
    const flow = this.firstMatch(state, run);
    if (flow === undefined) {
      this.end("drop", `no flow of ${run.pipeline} table ${run.table} matches`);
      return;
    }
    this.steps.push({ kind: "flow", datapath: state.datapath, flow });
    if (flow.refusal !== undefined) {
      this.end("refused", `${nameOf(flow.row)}: ${flow.refusal}`);
      return;
    }
    const { length } = this.endings;
    this.actions(flow.actions, state, run);
    // Without an output, and without a further table, the packet ends where it is.
    if (this.endings.length === length)
      this.end("drop", `${nameOf(flow.row)}${this.securityOf(flow, state)}`);
  }

  private firstMatch(state: PacketState, { pipeline, table }: Run): CompiledFlow | undefined {
    for (const each of this.network.flowsOf(state.datapath, pipeline, table)) {
      const flow = each.byChassis === undefined ? each : each.byChassis.get(this.home);
      if (flow === undefined || "problem" in flow) continue;
      if (matches(flow.match, state, this.network, this.chassis.residents)) return flow;
    }
    return undefined;
  }

  /** What port security allows, where that is what dropped the packet: the flow says only that the port's check has failed. */
  private securityOf({ row }: CompiledFlow, { inport, outport }: PacketState): string {
    if (!row.stage.endsWith("_apply_port_sec")) return "";
    const name = row.pipeline === "ingress" ? inport : outport;
    const allowed = this.network.ports.get(name)?.portSecurity ?? [];
    return allowed.length === 0 ? "" : `: port security of "${name}" allows ${allowed.join(", ")} alone`;
  }

  private actions(actions: readonly Action[], state: PacketState, run: Run): void {
    for (const action of actions) {
      // The packet itself goes on where nothing behind is done with it.
      const going = (): PacketState => (action === actions.at(-1) ? state : state.copy());
      if (action.kind === "next") this.goOn(action, going(), run);
      else if (action.kind === "output")
        if (run.pipeline === "ingress") this.toEgress(going(), run);
        else this.leave(going(), run);
      else if (action.kind !== "decrement-ttl") this.act(action, state, run);
      // No further action is carried out (ovn-sb(5), `ip.ttl--`).
      else if (!state.fields.decrementTtl()) return this.end("drop", "the time to live is over");
    }
  }

  private goOn({ pipeline, table }: Extract<Action, { kind: "next" }>, state: PacketState, run: Run): void {
    const to = pipeline ?? run.pipeline;
    const depth = run.depth + 1;
    if (to !== run.pipeline) this.enter(state, to, true, depth);
    this.table(state, { pipeline: to, table: table ?? run.table + 1, depth });
  }

  private act(
    action: Exclude<Action, { kind: "decrement-ttl" | "next" | "output" }>,
    state: PacketState,
    run: Run,
  ): void {
    switch (action.kind) {
      case "load": {
        const before = state.read(action.to);
        state.write(action.to, (before & ~action.mask) | action.value);
        return undefined;
      }
      case "load-port":
        state[action.to] = action.name;
        return undefined;
      case "move":
        state.writePlace(action.to, state.readPlace(action.from));
        return undefined;
      case "exchange": {
        const to = state.readPlace(action.to);
        state.writePlace(action.to, state.readPlace(action.from));
        state.writePlace(action.from, to);
        return undefined;
      }
      case "nested":
        return isTracking(action.name)
          ? this.track(action, state, run)
          : this.nested(action.name, action.actions, state.copy(), run);
      case "call":
        if (isTracking(action.name)) return this.track(action, state, run);
        if (action.name === "select") return this.select(action, state.copy(), run);
        if (action.name === "igmp") return this.snoop(state.copy(), run);
        if (action.name === "fwd_group") return this.toGroupMember(action, state.copy(), run);
        this.conditions.noteCall(action, state);
        return callFunction(action, state, this.network, this.chassis);
    }
  }

  private nested(name: string, actions: readonly Action[], state: PacketState, run: Run): void {
    this.conditions.isRepeatable = false;
    if (name !== "clone") {
      const packet = makePacket(name, state.fields);
      // Nothing is sent about an error or a reset.
      if (packet === undefined) return;
      state.become(packet);
    }
    this.steps.push({ kind: "made", name });
    this.actions(actions, state, run);
  }

  private track(action: TrackingAction, state: PacketState, run: Run): void {
    const planned = planTracking(action, state, this.network, run.pipeline);
    if (planned === undefined) return;
    const { request, goesOn, backEnd } = planned;
    // A packet that goes on in another table is a copy; what stands behind the action is done with the packet itself.
    const tracked = goesOn ? state.copy() : state;
    const before = tracked.tracking;
    const failure = this.chassis.zones.track(tracked, request, this.chassis.nowMs);
    this.conditions.noteLookup(before, tracked.tracking);
    if (failure !== undefined) return this.end("drop", `${action.name}: ${failure}`);
    if (!goesOn) return undefined;
    const given = this.chassis.nextState();
    if (given !== undefined) this.conditions.isRepeatable = false;
    tracked.showConnection(given);
    this.steps.push({
      kind: "tracked",
      action: describeTracking(action, request.translation),
      state: formatState(given ?? tracked.tracking?.bits ?? 0),
      mark: tracked.tracking?.tracked.connection?.mark ?? 0n,
      label: tracked.tracking?.tracked.connection?.label ?? 0n,
      backEnd: backEnd ?? keptBackEnd(tracked),
    });
    return this.table(tracked, { ...run, table: run.table + 1, depth: run.depth + 1 });
  }

  /** Chooses one of several numbers, always the same for a connection, and goes on in the next table. */
  private select(
    { arguments: given, to }: Extract<Action, { kind: "call" }>,
    state: PacketState,
    run: Run,
  ): void {
    const choices = given.flatMap((each) =>
      each.kind === "constant" ? [each.value] : each.kind === "option" ? [BigInt(each.name)] : [],
    );
    const chosen = choices[placeByHash(state, choices.length || 1)];
    if (chosen !== undefined && to !== undefined) state.writePlace(to, chosen);
    return this.table(state, { ...run, table: run.table + 1, depth: run.depth + 1 });
  }

  /** Goes out at one of several ports, always the same for a connection (ovn-sb(5), `fwd_group`). */
  private toGroupMember(
    { arguments: given }: Extract<Action, { kind: "call" }>,
    state: PacketState,
    run: Run,
  ): void {
    const ports = optionsIn(given)
      .filter(({ name }) => name === "childports")
      .flatMap(({ values }) => values.flatMap((value) => textOfArgument(value) ?? []))
      .filter((port) => this.network.ports.has(port));
    const chosen = ports[placeByHash(state, ports.length || 1)];
    if (chosen === undefined) return this.end("drop", "no port of the forwarding group exists");
    state.outport = chosen;
    return this.toEgress(state, run);
  }

  /** The chassis learns from a message of IGMP or MLD, and sends it on to who is to hear it (ovn-sb(5), `igmp`). */
  private snoop(state: PacketState, run: Run): void {
    this.conditions.isRepeatable = false;
    const { network, chassis } = this;
    const settings = network.multicast.get(state.datapath);
    const group = chassis.multicast.hear(settings, state.inport, state.fields, chassis.nowMs);
    if (group === undefined || network.groupOf(state.datapath, group) === undefined) return;
    state.outport = group;
    this.toEgress(state, run);
  }

  private toEgress(state: PacketState, { depth }: Run): void {
    state.clearRegisters();
    const group = this.network.groupOf(state.datapath, state.outport);
    if (group === undefined) {
      const remote = this.remoteOf(state.outport);
      if (remote !== undefined) this.toTunnel(state, remote, this.network.ports.get(state.outport)?.key ?? 0);
      else this.toLocal(state, state.outport, false, depth);
      return;
    }
    this.toLocalMembers(state, group.members, depth);
    const remotes = new Set(group.members.flatMap((port) => this.remoteOf(port) ?? []));
    for (const remote of remotes) this.toTunnel(state.copy(), remote, group.key);
  }

  private toLocalMembers(state: PacketState, members: readonly string[], depth: number): void {
    for (const port of members)
      if (this.remoteOf(port) === undefined) this.toLocal(state.copy(), port, true, depth);
  }

  private toLocal(state: PacketState, port: string, isMember: boolean, depth: number): void {
    state.outport = this.distributedPort(port);
    if (!this.network.ports.has(state.outport)) this.end("drop", `the logical port "${port}" does not exist`);
    else if (state.outport !== state.inport || state.read({ base: "flags", low: 0, width: 1 }) === 1n)
      this.begin(state, "egress", depth + 1);
    else if (!isMember) this.end("drop", `it would go out where it came in, at ${port}`);
  }

  /** The other chassis that has a port. */
  private remoteOf(port: string): string | undefined {
    const { name } = this.chassis;
    const at = this.network.chassisOf(port);
    return name === undefined || at === "" || at === name ? undefined : at;
  }

  private toTunnel(state: PacketState, chassis: string, egressPort: number): void {
    const datapath = this.network.datapaths.get(state.datapath)?.key ?? 0;
    const ingressPort = this.network.ports.get(state.inport)?.key ?? 0;
    const keys = { datapath, ingressPort, egressPort };
    this.endings.push({ kind: "tunnel", chassis, keys, packet: state.fields.packet });
  }

  /** What came through a tunnel goes on at its egress pipeline. */
  receive(keys: OvnTunnelKeys, packet: Packet): void {
    const names = this.network.namesOf(keys);
    if (names === undefined) {
      const { datapath, egressPort } = keys;
      return this.end("drop", `a tunnel names an unknown port ${egressPort} of datapath ${datapath}`);
    }
    const state = new PacketState(names.datapath, names.inport, packet);
    state.outport = names.outport;
    const group = this.network.groupOf(names.datapath, names.outport);
    if (group === undefined) this.toLocal(state, names.outport, false, 0);
    else this.toLocalMembers(state, group.members, 0);
  }

  /** A `chassisredirect` port stands for the distributed port of its gateway, where the chassis has it. */
  private distributedPort(name: string): string {
    const port = this.network.ports.get(name);
    if (port?.type !== "chassisredirect" || !this.chassis.residents.has(name)) return name;
    return port.options.get("distributed-port") ?? name;
  }

  /** A gateway router is on the chassis that has its ports; elsewhere nothing leads into it (controller/physical.c of OVN). */
  private leadsOn({ type, name }: PortBinding): boolean {
    if (type === "patch") return true;
    return type === "l3gateway" && (this.chassis.name === undefined || this.chassis.residents.has(name));
  }

  private leave(state: PacketState, { depth }: Run): void {
    const port = this.network.ports.get(state.outport);
    const peer = this.network.ports.get(port?.options.get("peer") ?? "");
    this.steps.push({ kind: "output", port: state.outport, type: port?.type ?? "" });
    if (port === undefined || peer === undefined || !this.leadsOn(port)) {
      this.endings.push({ kind: "output", port: state.outport, packet: state.fields.packet });
      return;
    }
    state.enter(peer.datapath, peer.name);
    this.begin(state, "ingress", depth + 1);
  }
}

/** Takes a packet that another chassis sent through a tunnel on from there. The frame that is given stays as it is. */
export function receiveFromTunnel(
  network: LogicalNetwork,
  chassis: Chassis,
  keys: OvnTunnelKeys,
  packet: Packet,
): Passage {
  const run = new LogicalRun(network, chassis, chassis.name ?? "");
  run.receive(keys, packet.copy());
  return run;
}

/** Takes a packet that came in at a logical port through the network. The frame that is given stays as it is. */
export function runLogicalFlows(
  network: LogicalNetwork,
  chassis: Chassis,
  inport: string,
  packet: Packet,
  metadata: Microflow["metadata"] = [],
): Passage {
  // One that has every port is the chassis that the packet comes in at.
  const run = new LogicalRun(network, chassis, chassis.name ?? network.chassisOf(inport));
  const port = network.ports.get(inport);
  if (port === undefined) {
    run.endings.push({ kind: "drop", text: `the logical port "${inport}" does not exist` });
    return run;
  }
  const state = new PacketState(port.datapath, inport, packet.copy());
  for (const { field, value } of metadata) state.write(field, value);
  run.begin(state, "ingress", 0);
  return run;
}
