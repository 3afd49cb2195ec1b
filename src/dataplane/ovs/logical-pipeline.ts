/**
 * A packet's way through a logical network: the ingress pipeline of its datapath, the egress pipeline towards each port that
 * it goes to, and through patch ports into the next datapath (ovn-sb(5); ovn-architecture(7), "Life of a packet").
 *
 * Nothing is guessed: a flow whose action is not carried out ends the packet and is named, and so does a loop.
 */
import { formatIp, type Ip } from "#core/net/ip.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { Action, Argument, Pipeline } from "./language/actions.ts";
import type { CompiledFlow, LogicalNetwork } from "./logical-network.ts";
import { PacketState, matches } from "./packet-state.ts";
import { breaksInPortSecurity, breaksOutPortSecurity } from "./port-security.ts";

/** Flows that one packet may match, copies included: more is a loop. */
const STEPS_MAX = 4_096;
/** Tables that one packet may be in, one from within the other: those of 14 datapaths. */
const DEPTH_MAX = 512;

/** A flow that a packet matched. */
export interface FlowStep {
  readonly datapath: string;
  readonly flow: CompiledFlow;
}

/** A way in which a packet ended. */
export type Ending =
  | { readonly kind: "output"; readonly port: string; readonly packet: Packet }
  | { readonly kind: "drop"; readonly text: string }
  /** A flow that is not carried out. */
  | { readonly kind: "refused"; readonly text: string }
  | { readonly kind: "loop"; readonly text: string };

export interface Passage {
  readonly steps: readonly FlowStep[];
  readonly endings: readonly Ending[];
}

interface Run {
  readonly pipeline: Pipeline;
  readonly table: number;
  readonly depth: number;
}

function nameOf({ row }: CompiledFlow): string {
  return `${row.stage === "" ? `table ${row.table}` : row.stage}, priority ${row.priority}, uuid ${row.id.slice(0, 8)}`;
}

class LogicalRun {
  readonly steps: FlowStep[] = [];
  readonly endings: Ending[] = [];
  private readonly network: LogicalNetwork;
  private readonly residents: ReadonlySet<string>;
  private isLoop = false;

  constructor(network: LogicalNetwork, residents: ReadonlySet<string>) {
    this.network = network;
    this.residents = residents;
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
    const flow = this.network
      .flowsOf(state.datapath, run.pipeline, run.table)
      .find(({ match }) => matches(match, state, this.network, this.residents));
    if (flow === undefined) {
      this.end("drop", `no flow of ${run.pipeline} table ${run.table} matches`);
      return;
    }
    this.steps.push({ datapath: state.datapath, flow });
    if (flow.refusal !== undefined) {
      this.end("refused", `${nameOf(flow)}: ${flow.refusal}`);
      return;
    }
    if (flow.actions.length === 0) this.end("drop", nameOf(flow));
    this.actions(flow.actions, state, run);
  }

  private actions(actions: readonly Action[], state: PacketState, run: Run): void {
    for (const action of actions) {
      if (action.kind !== "decrement-ttl") this.act(action, state, run);
      // No further action is carried out (ovn-sb(5), `ip.ttl--`).
      else if (!state.fields.decrementTtl()) return this.end("drop", "the time to live is over");
    }
  }

  private act(action: Exclude<Action, { kind: "decrement-ttl" }>, state: PacketState, run: Run): void {
    switch (action.kind) {
      case "next":
        return this.table(state.copy(), {
          pipeline: action.pipeline ?? run.pipeline,
          table: action.table ?? run.table + 1,
          depth: run.depth + 1,
        });
      case "output":
        return run.pipeline === "ingress" ? this.toEgress(state.copy(), run) : this.leave(state.copy(), run);
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
        return this.nested(action.name, action.actions, state.copy(), run);
      case "call":
        return this.call(action, state);
    }
  }

  private nested(name: string, actions: readonly Action[], state: PacketState, run: Run): void {
    if (name === "arp") state.becomeArp();
    this.actions(actions, state, run);
  }

  private call(action: Extract<Action, { kind: "call" }>, state: PacketState): void {
    const [port, ip, mac] = action.arguments.map((argument) => valueOf(argument, state));
    const result = this.result(action.name, state, { port, ip, mac });
    if (result !== undefined && action.to !== undefined) state.writePlace(action.to, result ? 1n : 0n);
  }

  private result(
    name: string,
    state: PacketState,
    { port, ip, mac }: Readonly<Record<"port" | "ip" | "mac", bigint | string | undefined>>,
  ): boolean | undefined {
    const { network } = this;
    const known = network.macOf(String(port), ipText(ip));
    switch (name) {
      case "check_in_port_sec":
        return breaksInPortSecurity(state, network.ports.get(state.inport));
      case "check_out_port_sec":
        return breaksOutPortSecurity(state, network.ports.get(state.outport));
      case "get_arp":
        state.write({ base: "eth.dst", low: 0, width: 48 }, known ?? 0n);
        return undefined;
      case "lookup_arp":
        return known !== undefined && known === mac;
      case "lookup_arp_ip":
        return known !== undefined;
      case "put_arp":
        if (typeof mac === "bigint") network.learn(String(port), ipText(ip), mac);
        return undefined;
      case "ct_clear":
        state.clearConnection();
        return undefined;
      default:
        // `log` and `set_meter` change no packet.
        return undefined;
    }
  }

  private toEgress(state: PacketState, { depth }: Run): void {
    const { outport } = state;
    const group = this.network.groupOf(state.datapath, outport);
    state.clearRegisters();
    for (const port of group ?? [outport]) {
      const copy = group === undefined ? state : state.copy();
      copy.outport = this.distributedPort(port);
      if (!this.network.ports.has(copy.outport))
        this.end("drop", `the logical port "${port}" does not exist`);
      else if (copy.outport !== copy.inport || copy.read({ base: "flags", low: 0, width: 1 }) === 1n) {
        this.table(copy, { pipeline: "egress", table: 0, depth: depth + 1 });
      } else if (group === undefined) this.end("drop", `it would go out where it came in, at ${port}`);
    }
  }

  /** A `chassisredirect` port stands for the distributed port of its gateway, where the chassis has it. */
  private distributedPort(name: string): string {
    const port = this.network.ports.get(name);
    if (port?.type !== "chassisredirect" || !this.residents.has(name)) return name;
    return port.options.get("distributed-port") ?? name;
  }

  private leave(state: PacketState, { depth }: Run): void {
    const port = this.network.ports.get(state.outport);
    const peer = this.network.ports.get(port?.options.get("peer") ?? "");
    if (port === undefined || (port.type !== "patch" && port.type !== "l3gateway") || peer === undefined) {
      this.endings.push({ kind: "output", port: state.outport, packet: state.fields.packet });
      return;
    }
    state.enter(peer.datapath, peer.name);
    this.table(state, { pipeline: "ingress", table: 0, depth: depth + 1 });
  }
}

function valueOf(argument: Argument, state: PacketState): bigint | string | undefined {
  switch (argument.kind) {
    case "field":
    case "port":
      return state.readPlace(argument);
    case "constant":
      return argument.value;
    case "text":
      return argument.text;
    case "option":
      return undefined;
  }
}

/** Registers hold IPv4 addresses in 32 bits. */
function ipText(value: bigint | string | undefined): string {
  return typeof value === "bigint" && value <= 0xffff_ffffn ? formatIp(Number(value) as Ip) : "";
}

/** Takes a packet that came in at a logical port through the network. The frame that is given stays as it is. */
export function runLogicalFlows(
  network: LogicalNetwork,
  residents: ReadonlySet<string>,
  inport: string,
  packet: Packet,
): Passage {
  const run = new LogicalRun(network, residents);
  const port = network.ports.get(inport);
  if (port === undefined)
    return { steps: [], endings: [{ kind: "drop", text: `the logical port "${inport}" does not exist` }] };
  const state = new PacketState(port.datapath, inport, packet.copy());
  run.table(state, { pipeline: "ingress", table: 0, depth: 0 });
  return run;
}
