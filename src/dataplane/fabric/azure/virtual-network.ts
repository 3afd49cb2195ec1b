/**
 * A virtual network of Azure as packets meet it: no layer 2, security groups at each adapter and subnet, and routes of the
 * sender's subnet (control-planes.md §6.2 to §6.4). It decides; the switch of the physical host acts.
 */
import { assert } from "#core/base/assert.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { FiveTuple } from "#core/net/five-tuple.ts";
import {
  type Ip,
  type Ipv4,
  type Prefix,
  formatIp,
  formatPrefix,
  isMulticastIp,
  prefixContains,
} from "#core/net/ip.ts";
import { Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import { AddressSet } from "../../vfp/matching/condition.ts";
import { isErrorMessage } from "../../vfp/actions/icmp-error.ts";
import { invertTuple, readTuple, tupleKey } from "../../host/netfilter/tuple.ts";
import { FragmentCache, identificationOf } from "../../vfp/flows/fragment-cache.ts";
import {
  type FabricDecision,
  type FabricMachine,
  type FabricMachines,
  type FabricRules,
  hasAddress,
} from "../fabric-rules.ts";
import {
  type AddressSpaces,
  type EffectiveRoute,
  type UserRoute,
  RouteLookup,
  effectiveRoutes,
} from "./effective-routes.ts";
import {
  METADATA_ADDRESS,
  PLATFORM_ADDRESS,
  type SecurityDirection,
  type SecurityGroup,
  type SecurityNames,
  type SecurityRule,
  RuleOrder,
} from "./security-group.ts";

export interface VirtualSubnet {
  readonly name: string;
  readonly prefix: Prefix;
  readonly securityGroup: SecurityGroup | undefined;
  /** The name of its route table. */
  readonly routeTable: string | undefined;
  /** Of that table. */
  readonly routes: readonly UserRoute[];
}

/** The adapter of a machine. */
export interface VirtualNic {
  /** The machine, as the fabric calls it. */
  readonly machine: string;
  /** The first one, which says in which subnet it is. */
  readonly address: Ipv4;
  readonly securityGroup: SecurityGroup | undefined;
  /** May take and send packets of addresses that it does not have ("IP forwarding"). */
  readonly isForwarding: boolean;
  readonly applicationGroups: readonly string[];
}

/** A security group, and where it is. */
export interface LevelGroup {
  readonly level: "NetworkInterface" | "Subnet";
  readonly group: RuleOrder;
}

export interface VirtualNetworkSpec {
  readonly spaces: AddressSpaces;
  readonly subnets: readonly VirtualSubnet[];
  readonly nics: readonly VirtualNic[];
}

/** Inferred: an idle flow is forgotten as the platform's other flows are (control-planes.md §6.3 gives no time). */
const FLOW_IDLE_MS = 240_000;
/** Of one adapter (control-planes.md §6.2). */
const FLOWS_MAX = 500_000;

/** Which rule, at which level, refused a flow. */
interface Refusal {
  readonly group: string;
  readonly level: string;
  readonly rule: SecurityRule;
}

function flowKey(direction: SecurityDirection, flow: FiveTuple): string {
  return `${direction}/${tupleKey(flow)}`;
}

/** When each flow of an adapter was last seen, by the direction and the tuple of its first packet. */
class FlowTable {
  private readonly lastSeenMs = new Map<string, number>();

  /** True for a packet of a known flow: a later one, or an answer. */
  touch(direction: SecurityDirection, flow: FiveTuple, nowMs: number): boolean {
    const reverse = direction === "Inbound" ? "Outbound" : "Inbound";
    for (const key of [flowKey(direction, flow), flowKey(reverse, invertTuple(flow))]) {
      const seenMs = this.lastSeenMs.get(key);
      if (seenMs === undefined || nowMs - seenMs >= FLOW_IDLE_MS) continue;
      // The oldest stand first.
      this.lastSeenMs.delete(key);
      this.lastSeenMs.set(key, nowMs);
      return true;
    }
    return false;
  }

  /** @returns false when there are too many. */
  add(direction: SecurityDirection, flow: FiveTuple, nowMs: number): boolean {
    for (const [key, seenMs] of this.lastSeenMs) {
      if (nowMs - seenMs < FLOW_IDLE_MS) break;
      this.lastSeenMs.delete(key);
    }
    if (this.lastSeenMs.size >= FLOWS_MAX) return false;
    this.lastSeenMs.set(flowKey(direction, flow), nowMs);
    return true;
  }

  /** An error that comes back about a packet of a known flow. */
  isAbout(direction: SecurityDirection, quoted: FiveTuple, nowMs: number): boolean {
    return this.touch(direction, invertTuple(quoted), nowMs);
  }
}

/** What is looked at: a packet's flow, or that of the packet which an error quotes. */
interface Asked {
  readonly source: Ip;
  readonly destination: Ip;
  /** What rules are asked about. */
  readonly flow: FiveTuple;
  /** The flow to which an error belongs; undefined for other packets. */
  readonly quoted: FiveTuple | undefined;
}

function quotedBy(bytes: Uint8Array, headers: Headers): FiveTuple | undefined {
  if (!isErrorMessage(bytes, headers)) return undefined;
  const inner = new Headers();
  const isBroken = inner.parseEmbedded(bytes, headers.payload, headers.end) !== undefined;
  return isBroken ? undefined : readTuple(bytes, inner);
}

/** What all fragments of one datagram share. */
function trainOf(bytes: Uint8Array, headers: Headers): string {
  const ends = `${sourceIp(bytes, headers)}|${destinationIp(bytes, headers)}`;
  return `${ends}|${headers.protocol}|${identificationOf(bytes, headers)}`;
}

type Drop = Extract<FabricDecision, { readonly kind: "drop" }>;

export class VirtualNetwork implements FabricRules {
  private readonly spec: VirtualNetworkSpec;
  /** Of each subnet. */
  private readonly routesOf = new Map<string, RouteLookup>();
  /** What the tag VirtualNetwork stands for in each subnet. */
  private readonly insideOf = new Map<string, AddressSet>();
  private readonly groupOf = new Map<string, RuleOrder>();
  /** Of each machine's adapter. */
  private readonly ownGroupOf = new Map<string, RuleOrder>();
  private readonly flowsOf = new Map<string, FlowTable>();
  /** The flow of each datagram whose first fragment, which alone has the ports, was seen. */
  private readonly trains = new FragmentCache<{ readonly flow: FiveTuple }>();

  constructor(spec: VirtualNetworkSpec) {
    this.spec = spec;
    for (const { name, routes, securityGroup } of spec.subnets) {
      this.setRoutes(name, routes);
      this.setSecurityGroup(name, securityGroup);
    }
    for (const { machine, securityGroup } of spec.nics) {
      this.flowsOf.set(machine, new FlowTable());
      if (securityGroup !== undefined) this.ownGroupOf.set(machine, new RuleOrder(securityGroup));
    }
  }

  /** The table of a subnet has other routes now. Flows go on. */
  setRoutes(subnet: string, routes: readonly UserRoute[]): void {
    const { spaces } = this.spec;
    this.routesOf.set(subnet, new RouteLookup(effectiveRoutes(spaces, routes)));
    const inside = [
      ...spaces.own,
      ...spaces.peered,
      ...spaces.learned,
      ...routes.map(({ prefix }) => prefix),
    ];
    this.insideOf.set(subnet, new AddressSet(subnet, inside));
  }

  /** A subnet has other rules now. Flows that were allowed go on; new ones are asked. */
  setSecurityGroup(subnet: string, group: SecurityGroup | undefined): void {
    if (group === undefined) this.groupOf.delete(subnet);
    else this.groupOf.set(subnet, new RuleOrder(group));
  }

  /** As the portal lists them for the adapter of a machine. */
  effectiveRoutes(machine: string): readonly EffectiveRoute[] {
    const nic = this.nicOf(machine);
    return this.routesOf.get((nic && this.subnetOf(nic)?.name) ?? "")?.routes ?? [];
  }

  /** The groups of both levels that packets of a machine's adapter meet, in the order in which they are asked. */
  groupsOf(machine: string, direction: SecurityDirection): readonly LevelGroup[] {
    const nic = this.nicOf(machine);
    if (nic === undefined) return [];
    const levels = [
      { level: "NetworkInterface", group: this.ownGroupOf.get(machine) },
      { level: "Subnet", group: this.groupOf.get(this.subnetOf(nic)?.name ?? "") },
    ] as const;
    const asked = direction === "Inbound" ? levels.toReversed() : levels;
    return asked.flatMap(({ level, group }) => (group === undefined ? [] : { level, group }));
  }

  decide(
    from: FabricMachine,
    bytes: Uint8Array,
    headers: Headers,
    machines: FabricMachines,
    nowMs: number,
  ): FabricDecision {
    const steps: string[] = [];
    const drop = (code: KnowledgeCode, text: string): Drop => ({ kind: "drop", code, text, steps });
    if (isMulticastIp(destinationIp(bytes, headers)))
      return drop("broadcast-not-delivered", "a virtual network has no multicast");
    const asked = this.askedBy(bytes, headers, nowMs);
    if (asked === undefined)
      return drop("fragment-without-first", "the first fragment of the datagram is missing");
    const sender = this.nicOf(from.name);
    const refused = sender && this.refuseSender(sender, from, asked, steps, nowMs);
    if (refused !== undefined) return refused;
    const next = this.nextMachine(sender, asked, machines, steps);
    if ("kind" in next) return next;
    const receiver = this.nicOf(next.name);
    return (
      (receiver && this.refuse(receiver, "Inbound", asked, steps, nowMs)) ?? {
        kind: "to",
        machine: next,
        steps,
      }
    );
  }

  /** Undefined for a fragment of whose datagram the first one was not seen. */
  private askedBy(bytes: Uint8Array, headers: Headers, nowMs: number): Asked | undefined {
    const [source, destination] = [sourceIp(bytes, headers), destinationIp(bytes, headers)];
    const plain = { protocol: headers.protocol, source, sourcePort: 0, destination, destinationPort: 0 };
    if (headers.isFragment && headers.fragmentOffset !== 0) {
      const known = this.trains.find(trainOf(bytes, headers), nowMs);
      return known && { source, destination, flow: known.flow, quoted: undefined };
    }
    const flow = readTuple(bytes, headers) ?? plain;
    if (headers.isFragment) this.trains.remember(trainOf(bytes, headers), { flow }, nowMs);
    return { source, destination, flow, quoted: quotedBy(bytes, headers) };
  }

  private nicOf(machine: string): VirtualNic | undefined {
    return this.spec.nics.find((nic) => nic.machine === machine);
  }

  private subnetOf({ address }: VirtualNic): VirtualSubnet | undefined {
    return this.spec.subnets.find(({ prefix }) => prefixContains(prefix, address));
  }

  private refuseSender(
    nic: VirtualNic,
    machine: FabricMachine,
    asked: Asked,
    steps: string[],
    nowMs: number,
  ): FabricDecision | undefined {
    if (!nic.isForwarding && !hasAddress(machine, asked.source)) {
      const text = `${nic.machine} has no ${formatIp(asked.source)} and no IP forwarding`;
      return { kind: "drop", code: "azure-ip-forwarding-off", text, steps };
    }
    return this.refuse(nic, "Outbound", asked, steps, nowMs);
  }

  /** The rules of both levels; undefined: they let the packet pass. */
  private refuse(
    nic: VirtualNic,
    direction: SecurityDirection,
    asked: Asked,
    steps: string[],
    nowMs: number,
  ): FabricDecision | undefined {
    const { flow, quoted, source, destination } = asked;
    if ([source, destination].some((ip) => ip === PLATFORM_ADDRESS || ip === METADATA_ADDRESS)) {
      const refusal = this.findPlatformRefusal(nic, direction, flow);
      return refusal === undefined ? undefined : deny(refusal, direction, steps);
    }
    const flows = this.flowsOf.get(nic.machine);
    assert(flows !== undefined, "each adapter has a table of flows");
    const isKnown =
      quoted === undefined ? flows.touch(direction, flow, nowMs) : flows.isAbout(direction, quoted, nowMs);
    if (isKnown) {
      steps.push(`${nic.machine}: ${direction.toLowerCase()} packet of a flow that was allowed`);
      return undefined;
    }
    const refusal = this.findRefusal(nic, direction, flow, steps);
    if (refusal !== undefined) return deny(refusal, direction, steps);
    if (flows.add(direction, flow, nowMs)) return undefined;
    const text = `the adapter of ${nic.machine} has ${FLOWS_MAX} flows`;
    return { kind: "drop", code: "flow-limit-reached", text, steps };
  }

  private findPlatformRefusal(
    nic: VirtualNic,
    direction: SecurityDirection,
    flow: FiveTuple,
  ): Refusal | undefined {
    const subnet = this.subnetOf(nic);
    for (const { level, group } of this.groupsOf(nic.machine, direction)) {
      const rule = group.decidePlatform(direction, flow, this.namesIn(subnet));
      const where = level === "Subnet" ? `subnet ${subnet?.name ?? ""}` : `adapter of ${nic.machine}`;
      if (rule?.access === "Deny") return { group: group.name, level: where, rule };
    }
    return undefined;
  }

  private findRefusal(
    nic: VirtualNic,
    direction: SecurityDirection,
    flow: FiveTuple,
    steps: string[],
  ): Refusal | undefined {
    const subnet = this.subnetOf(nic);
    const names = this.namesIn(subnet);
    for (const { level, group } of this.groupsOf(nic.machine, direction)) {
      const where = level === "Subnet" ? `subnet ${subnet?.name ?? ""}` : `adapter of ${nic.machine}`;
      const rule = group.decide(direction, flow, names);
      if (rule.access === "Deny") return { group: group.name, level: where, rule };
      steps.push(`${where}: rule ${rule.priority} ${rule.name} of ${group.name} allows`);
    }
    return undefined;
  }

  private namesIn(subnet: VirtualSubnet | undefined): SecurityNames {
    const inside = this.insideOf.get(subnet?.name ?? "");
    return {
      isVirtualNetwork: (ip) => inside?.hasAddress(ip) === true,
      isMember: (group, ip) =>
        this.spec.nics.some((nic) => nic.address === ip && nic.applicationGroups.includes(group)),
    };
  }

  /** Where the routes of the sender's subnet lead; from elsewhere a packet goes to whom it is for. */
  private nextMachine(
    sender: VirtualNic | undefined,
    { destination }: Asked,
    machines: FabricMachines,
    steps: string[],
  ): FabricMachine | Drop {
    const owner = machines.ownerOf(destination);
    const nobody = `no adapter of the virtual network has ${formatIp(destination)}`;
    const noRoute = { kind: "drop", code: "no-route", text: nobody, steps } as const;
    const subnet = sender === undefined ? undefined : this.subnetOf(sender);
    const route = this.routesOf.get(subnet?.name ?? "")?.find(destination);
    if (route === undefined) return owner ?? noRoute;
    const name = route.name === undefined ? "" : ` ${route.name}`;
    const words = `route ${formatPrefix(route.prefix)}${name} of subnet ${subnet?.name ?? ""} (${route.source})`;
    steps.push(
      `${words}: ${route.nextHopType}${route.nextHop === undefined ? "" : ` ${formatIp(route.nextHop)}`}`,
    );
    switch (route.nextHopType) {
      case "VnetLocal":
        return owner ?? noRoute;
      case "None":
        return { kind: "drop", code: "azure-route-none", text: `${words} has no next hop`, steps };
      case "VirtualAppliance":
        return this.appliance(route, words, machines, destination, steps);
      case "Internet":
      case "VirtualNetworkGateway":
      case "VNetPeering":
      case "VirtualNetworkServiceEndpoint":
        return machines.router ?? noRoute;
    }
  }

  private appliance(
    { nextHop }: EffectiveRoute,
    words: string,
    machines: FabricMachines,
    destination: Ip,
    steps: string[],
  ): FabricMachine | Drop {
    const drop = (code: KnowledgeCode, text: string): Drop => ({ kind: "drop", code, text, steps });
    const machine = nextHop === undefined ? undefined : machines.ownerOf(nextHop);
    if (machine === undefined) return drop("azure-next-hop-missing", `nobody has the next hop of ${words}`);
    const nic = this.nicOf(machine.name);
    if (nic?.isForwarding === false && !hasAddress(machine, destination))
      return drop("azure-ip-forwarding-off", `the adapter of ${machine.name} has no IP forwarding`);
    return machine;
  }
}

function deny(
  { group, level, rule }: Refusal,
  direction: SecurityDirection,
  steps: string[],
): FabricDecision {
  const text = `rule ${rule.priority} ${rule.name} of security group ${group} (${level}, ${direction.toLowerCase()})`;
  return { kind: "drop", code: "azure-security-rule-denied", text: `${text} denies the flow`, steps };
}
