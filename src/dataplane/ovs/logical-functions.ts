/** The functions of logical flows that look something up or remember it, without a way of their own through the tables. */
import type { FiveTuple } from "#core/net/five-tuple.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import type { Chassis } from "./chassis.ts";
import { putDhcpOptions } from "./dhcp-options.ts";
import type { Argument, Place } from "./language/actions.ts";
import { optionText } from "./language/call-options.ts";
import { putDhcpv6Options } from "./dhcpv6-options.ts";
import { answerDns } from "./dns-answers.ts";
import { checkAffinity, checkHairpin, checkHairpinReply, commitAffinity } from "./load-balancing.ts";
import type { LogicalNetwork } from "./logical-network.ts";
import type { PacketState } from "./packet-state.ts";
import { breaksInPortSecurity, breaksOutPortSecurity } from "./port-security.ts";
import { putRouterAdvertisement } from "./router-advertisements.ts";

type Value = bigint | string;

/** A call, with the values that its arguments have for this packet. */
interface Call {
  readonly network: LogicalNetwork;
  readonly chassis: Chassis;
  readonly state: PacketState;
  readonly arguments: readonly Argument[];
  readonly values: readonly (Value | undefined)[];
}

const ETHERNET_DESTINATION = { base: "eth.dst", low: 0, width: 48 } as const;

/** Registers hold IPv4 addresses in 32 bits, IPv6 addresses in 128. */
function bindingOf({ network, values }: Call, family: 4 | 6): bigint | undefined {
  const [port, ip] = values;
  return network.macOf(String(port), addressText(ip, family));
}

function addressText(value: Value | undefined, family: 4 | 6): string {
  if (typeof value !== "bigint" || (family === 4 && value > 0xffff_ffffn)) return "";
  return formatIp((family === 4 ? Number(value) : value) as Ip);
}

function getBinding(call: Call, family: 4 | 6): undefined {
  call.state.write(ETHERNET_DESTINATION, bindingOf(call, family) ?? 0n);
  return undefined;
}

function putBinding(call: Call, family: 4 | 6): undefined {
  const [port, ip, mac] = call.values;
  if (typeof mac === "bigint") call.network.learn(String(port), addressText(ip, family), mac);
  return undefined;
}

function isBound(call: Call, family: 4 | 6): boolean {
  const known = bindingOf(call, family);
  return known !== undefined && known === call.values[2];
}

function putFdb({ network, state, values: [port, mac] }: Call): undefined {
  if (typeof mac === "bigint") network.learnPort(state.datapath, mac, String(port));
  return undefined;
}

function getFdb({ network, state, values: [mac] }: Call): string {
  return typeof mac === "bigint" ? (network.portOf(state.datapath, mac) ?? "") : "";
}

function isBehind({ network, state, values: [port, mac] }: Call): boolean {
  return typeof mac === "bigint" && network.portOf(state.datapath, mac) === port;
}

function isLarger({ state, values: [bytes] }: Call): boolean {
  return typeof bytes === "bigint" && BigInt(state.fields.packet.length) > bytes;
}

function pushField({ state, values: [value] }: Call): undefined {
  if (value !== undefined) state.stack.push(value);
  return undefined;
}

/** From an empty stack nothing comes, as in Open vSwitch (ovs-actions(7)). */
function popField({ state, arguments: [place] }: Call): undefined {
  const value = state.stack.pop();
  if (value !== undefined && (place?.kind === "field" || place?.kind === "port"))
    state.writePlace(place, value);
  return undefined;
}

/** What the packet's connection was made to, before any translation. */
function originalOf({ state }: Call): FiveTuple | undefined {
  return state.tracking?.tracked.connection?.original;
}

/** Only a virtual port is bound, and to a port of its own switch (controller/pinctrl.c, `run_put_vport_binding`). */
function bindVirtual({ network, chassis, values: [port, parent] }: Call): undefined {
  if (typeof port !== "string" || typeof parent !== "string") return undefined;
  const row = network.ports.get(port);
  if (row?.type === "virtual" && row.datapath === network.ports.get(parent)?.datapath)
    chassis.bindVirtual(port, parent);
  return undefined;
}

/** Of the events of OVN 23.03 there is one; one that lacks a value is not reported. */
function triggerEvent({ chassis, arguments: given }: Call): undefined {
  const [vip, protocol, loadBalancer] = ["vip", "protocol", "load_balancer"].map((name) =>
    optionText(given, name),
  );
  if (vip !== undefined && protocol !== undefined && loadBalancer !== undefined)
    chassis.trigger({ vip, protocol, loadBalancer });
  return undefined;
}

type LogicalFunction = (call: Call) => boolean | bigint | string | undefined;

const FUNCTIONS: ReadonlyMap<string, LogicalFunction> = new Map<string, LogicalFunction>([
  ["check_in_port_sec", ({ state, network }) => breaksInPortSecurity(state, network.ports.get(state.inport))],
  [
    "check_out_port_sec",
    ({ state, network }) => breaksOutPortSecurity(state, network.ports.get(state.outport)),
  ],
  ["get_arp", (call) => getBinding(call, 4)],
  ["get_nd", (call) => getBinding(call, 6)],
  ["put_arp", (call) => putBinding(call, 4)],
  ["put_nd", (call) => putBinding(call, 6)],
  ["lookup_arp", (call) => isBound(call, 4)],
  ["lookup_nd", (call) => isBound(call, 6)],
  ["lookup_arp_ip", (call) => bindingOf(call, 4) !== undefined],
  ["lookup_nd_ip", (call) => bindingOf(call, 6) !== undefined],
  ["put_fdb", putFdb],
  ["get_fdb", getFdb],
  ["lookup_fdb", isBehind],
  ["check_pkt_larger", isLarger],
  ["ct_nw_dst", (call) => BigInt(originalOf(call)?.destination ?? 0)],
  ["ct_ip6_dst", (call) => BigInt(originalOf(call)?.destination ?? 0)],
  ["ct_tp_dst", (call) => BigInt(originalOf(call)?.destinationPort ?? 0)],
  ["ct_proto", (call) => BigInt(originalOf(call)?.protocol ?? 0)],
  ["ct_state_save", ({ state }) => state.read({ base: "ct_state", low: 0, width: 8 })],
  ["chk_lb_hairpin", ({ network, chassis, state }) => checkHairpin(network, chassis, state)],
  ["chk_lb_hairpin_reply", ({ chassis, state }) => checkHairpinReply(chassis, state)],
  ["chk_lb_aff", ({ network, chassis, state }) => checkAffinity(network, chassis, state)],
  [
    "commit_lb_aff",
    (call) => {
      commitAffinity(call.chassis, call.state, call.arguments);
      return undefined;
    },
  ],
  ["put_dhcp_opts", ({ state, arguments: given }) => putDhcpOptions(state, given)],
  ["put_dhcpv6_opts", ({ state, arguments: given }) => putDhcpv6Options(state, given)],
  ["put_nd_ra_opts", ({ state, arguments: given }) => putRouterAdvertisement(state, given)],
  ["dns_lookup", ({ state, network }) => answerDns(state, network)],
  ["chk_ecmp_nh", ({ state, chassis }) => chassis.nextHops.isAnswer(state, chassis.nowMs)],
  ["chk_ecmp_nh_mac", ({ state, chassis }) => chassis.nextHops.isFromNextHop(state, chassis.nowMs)],
  [
    "commit_ecmp_nh",
    ({ state, chassis }) => {
      chassis.nextHops.commit(state, chassis.nowMs);
      return undefined;
    },
  ],
  ["bind_vport", bindVirtual],
  ["trigger_event", triggerEvent],
  ["push", pushField],
  ["pop", popField],
  [
    "ct_clear",
    ({ state }) => {
      state.clearConnection();
      return undefined;
    },
  ],
]);

function valueOf(argument: Argument, state: PacketState): Value | undefined {
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

/** Carries a function out, and writes its result. `log`, `set_meter` and others that change no packet do nothing. */
export function callFunction(
  {
    name,
    arguments: given,
    to,
  }: { readonly name: string; readonly arguments: readonly Argument[]; readonly to: Place | undefined },
  state: PacketState,
  network: LogicalNetwork,
  chassis: Chassis,
): void {
  const values = given.map((argument) => valueOf(argument, state));
  const result = FUNCTIONS.get(name)?.({ network, chassis, state, arguments: given, values });
  if (result === undefined || to === undefined) return;
  state.writePlace(to, typeof result === "boolean" ? (result ? 1n : 0n) : result);
}
