/** What each action of connection tracking asks for: its zone, whether it commits, how it translates, where it goes on. */
import { formatIp, type Ip } from "#core/net/ip.ts";
import type { TrackRequest, Translation } from "./connection-tracking.ts";
import type { Action, Argument, Pipeline } from "./language/actions.ts";
import type { FieldBits } from "./language/match.ts";
import { SYMBOLS } from "./language/symbols.ts";
import { chooseBackEnd, snatToVip } from "./load-balancing.ts";
import type { LogicalNetwork } from "./logical-network.ts";
import type { PacketState } from "./packet-state.ts";

/** Whose zone: the port's on a switch, for destinations or for sources of a datapath, or the common one of both. */
type Zone = "port" | "destinations" | "sources" | "common";

interface Plan {
  readonly zone: Zone;
  /** `given`: when an address is given with it. */
  readonly commits: boolean | "given";
  readonly translates: "source" | "destination" | "existing" | "back-end" | "service" | undefined;
  /** The packet goes on in the next table, not behind the action. */
  readonly goesOn: boolean;
}

const PLANS: Readonly<Record<string, Plan>> = {
  ct_next: { zone: "port", commits: false, translates: undefined, goesOn: true },
  ct_commit: { zone: "port", commits: true, translates: undefined, goesOn: false },
  ct_commit_to_zone: { zone: "port", commits: true, translates: undefined, goesOn: false },
  ct_commit_nat: { zone: "port", commits: true, translates: "existing", goesOn: true },
  ct_lb: { zone: "port", commits: "given", translates: "back-end", goesOn: true },
  ct_lb_mark: { zone: "port", commits: "given", translates: "back-end", goesOn: true },
  ct_dnat: { zone: "destinations", commits: "given", translates: "destination", goesOn: true },
  ct_snat: { zone: "sources", commits: "given", translates: "source", goesOn: true },
  ct_dnat_in_czone: { zone: "common", commits: "given", translates: "destination", goesOn: true },
  ct_snat_in_czone: { zone: "common", commits: "given", translates: "source", goesOn: true },
  ct_snat_to_vip: { zone: "sources", commits: true, translates: "service", goesOn: false },
};

/** Zones that an argument names, in OVN of 2024 and later: `ct_next(snat)`. */
const NAMED_ZONES: Readonly<Record<string, Zone>> = { dnat: "destinations", snat: "sources" };

export type TrackingAction = Extract<Action, { kind: "call" | "nested" }>;

export function isTracking(name: string): boolean {
  return PLANS[name] !== undefined;
}

/** A request, with what a trace says of it. */
export interface PlannedTracking {
  readonly request: TrackRequest;
  readonly goesOn: boolean;
  readonly backEnd: string | undefined;
}

function zoneName(zone: Zone, state: PacketState, network: LogicalNetwork, pipeline: Pipeline): string {
  const datapath = network.datapaths.get(state.datapath);
  if (zone === "port" && datapath?.kind !== "router")
    return `port ${pipeline === "ingress" ? state.inport : state.outport}`;
  const isSource = zone === "sources" || (zone === "common" && datapath?.hasSourceZone === true);
  return `${isSource ? "snat" : "dnat"} ${state.datapath}`;
}

function addressOf(argument: Argument | undefined, state: PacketState): Ip | undefined {
  if (argument?.kind !== "constant" || argument.mask !== undefined) return undefined;
  return (state.fields.family === 4 ? Number(argument.value) : argument.value) as Ip;
}

function flagWrites(name: string, flags: readonly string[]): TrackRequest["writes"] {
  const base = name === "ct_lb_mark" ? "ct_mark" : "ct_label";
  return flags.flatMap((flag) => {
    const symbol = SYMBOLS.get(`${base}.${flag}`);
    if (symbol?.kind !== "field") return [];
    const field: FieldBits = { base: symbol.base, low: symbol.low, width: symbol.width };
    return [{ field, value: 1n }];
  });
}

/** What `ct_commit { … }` writes beside the connection. */
function nestedWrites(actions: readonly Action[], state: PacketState): TrackRequest["writes"] {
  return actions.flatMap((action) => {
    if (action.kind === "load") {
      // A mask writes some bits and leaves the others; northd writes whole fields.
      return [{ field: action.to, value: action.value }];
    }
    if (action.kind !== "move" || action.to.kind !== "field") return [];
    const value = state.readPlace(action.from);
    return typeof value === "bigint" ? [{ field: action.to.field, value }] : [];
  });
}

/** What `action` asks of connection tracking for this packet. */
export function planTracking(
  action: TrackingAction,
  state: PacketState,
  network: LogicalNetwork,
  pipeline: Pipeline,
): PlannedTracking | undefined {
  const plan = PLANS[action.name];
  if (plan === undefined) return undefined;
  const args = action.kind === "call" ? action.arguments : [];
  const [first] = args;
  const named = first?.kind === "text" ? NAMED_ZONES[first.text] : undefined;
  const zone = zoneName(named ?? plan.zone, state, network, pipeline);
  let translation: Translation | "existing" | undefined;
  let writes = action.kind === "nested" ? nestedWrites(action.actions, state) : [];
  let backEnd: string | undefined;
  if (plan.translates === "back-end" && args.length > 0) {
    const chosen = chooseBackEnd(state, args);
    ({ translation, backEnd } = chosen);
    if (translation !== undefined) writes = flagWrites(action.name, chosen.flags);
  } else if (plan.translates === "service") translation = snatToVip(network, state);
  else if (plan.translates === "source" || plan.translates === "destination") {
    const ip = addressOf(first, state);
    translation = ip === undefined ? "existing" : { side: plan.translates, ip, port: undefined };
  } else if (plan.translates !== undefined) translation = "existing";
  const commits = plan.commits === "given" ? typeof translation === "object" : plan.commits;
  return { request: { zone, commits, translation, writes }, goesOn: plan.goesOn, backEnd };
}

/** `ct_snat(ip4.src=10.0.0.1)`: the action with what it did, as ovn-trace heads the table behind it. */
export function describeTracking(action: TrackingAction, translation: TrackRequest["translation"]): string {
  if (translation === undefined || typeof translation === "string") return action.name;
  const { ip, side } = translation;
  const family = typeof ip === "number" ? "ip4" : "ip6";
  return `${action.name}(${family}.${side === "source" ? "src" : "dst"}=${formatIp(ip)})`;
}
