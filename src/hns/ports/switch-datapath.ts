/** The datapath of a simulated node: its Hyper-V switches, the host's stack, a cable per vNIC. */
import { assert, defined } from "#core/base/assert.ts";
import type { Task } from "#core/base/clock.ts";
import type { Environment } from "#core/base/environment.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { DhcpClient } from "#dataplane/host/dhcp/dhcp-client.ts";
import { isLinkLocal } from "#dataplane/host/ip/address-scope.ts";
import type { Host } from "#dataplane/host/host.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import { DnsRelay } from "#dataplane/host/services/dns-relay.ts";
import type { FilterProgram } from "#dataplane/host/windows-filtering/filter-program.ts";
import type { InterfaceAddress, Ip } from "#core/net/ip.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import { NatPool, type PortBlockSource } from "#dataplane/vfp/actions/nat-pool.ts";
import type { SwitchPort } from "#dataplane/switch/switch-port.ts";
import type { VirtualSwitch } from "#dataplane/switch/virtual-switch.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { type LayerName, OPTIONAL_LAYERS, PLAIN_STACK } from "../compile/layers.ts";
import type {
  Datapath,
  HostPoolDefinition,
  HostProgram,
  NatPoolDefinition,
  PortClaimDefinition,
  PortPoolAllocation,
  PortProgram,
  PortStatistics,
  RouterProgram,
  StaticBindingDefinition,
  SwitchDefinition,
  TranslationDefinition,
  VnicDefinition,
} from "./datapath.ts";
import { LateGroups, RebuiltLayer, SwitchDefects } from "../failures/defects/switch-defects.ts";
import {
  type NodeSwitch,
  cableOf,
  createNodeSwitch,
  portBlocksFor,
  removeNodeSwitch,
  setHostAddresses,
} from "./node-switch.ts";
import type { PhysicalAdapter } from "./adapter-description.ts";
import type { QuirkSet } from "../failures/quirk-set.ts";

/** One endpoint's vNIC. */
interface Vnic {
  readonly port: SwitchPort;
  readonly compartment: Compartment;
  readonly netInterface: Interface;
  program: PortProgram;
  readonly dhcp: DhcpClient | undefined;
}

/** The distributed router of an overlay network. */
export class Router {
  readonly port: SwitchPort;
  readonly compartment: Compartment;
  program: PortProgram;
  /** How often it was programmed otherwise. */
  changes = 0;

  constructor(port: SwitchPort, compartment: Compartment, program: PortProgram) {
    this.port = port;
    this.compartment = compartment;
    this.program = program;
  }
}

/** A router that outlives its network. */
class LateRemoval implements Task {
  private readonly datapath: SwitchDatapath;
  private readonly switchId: Guid;
  private readonly networkId: Guid;

  constructor(datapath: SwitchDatapath, switchId: Guid, networkId: Guid) {
    this.datapath = datapath;
    this.switchId = switchId;
    this.networkId = networkId;
  }

  run(): void {
    this.datapath.removeRouter(this.switchId, this.networkId);
  }
}

export class SwitchDatapath implements Datapath {
  private readonly env: Environment;
  private readonly host: Host;
  private readonly switches = new Map<Guid, NodeSwitch>();
  /** DNS proxies by network. */
  private readonly relays = new Map<Guid, DnsRelay>();
  private readonly vnics = new Map<Guid, Vnic>();
  /** By network. */
  private readonly routers = new Map<Guid, Router>();
  /** Switches of L2Bridge networks. */
  private readonly bridges = new Set<Guid>();
  private defects: SwitchDefects | undefined;

  constructor(env: Environment, host: Host) {
    this.env = env;
    this.host = host;
  }

  followDefects(quirks: QuirkSet): void {
    this.defects = new SwitchDefects(quirks);
    for (const [id, { virtualSwitch }] of this.switches)
      for (const port of virtualSwitch.listPorts()) this.defects.settlePort(port, this.bridges.has(id));
    for (const { compartment, netInterface, port } of this.vnics.values())
      if (compartment === this.host.root) this.defects.settleRouting(netInterface, port.id);
      else this.defects.settleSockets(compartment);
  }

  createCompartment(name: string, wantedId?: number): number {
    return this.host.createCompartment(name, wantedId).id;
  }

  removeCompartment(id: number): void {
    this.host.removeCompartment(id);
  }

  createSwitch(definition: SwitchDefinition): void {
    const made = createNodeSwitch(this.env, this.host, definition);
    this.switches.set(definition.id, made);
    const isBridge = definition.kind === "external" && definition.isBridge === true;
    if (isBridge) this.bridges.add(definition.id);
    for (const port of made.virtualSwitch.listPorts()) this.defects?.settlePort(port, isBridge);
  }

  removeSwitch(id: Guid): void {
    removeNodeSwitch(this.host, this.requireSwitch(id));
    this.switches.delete(id);
    this.bridges.delete(id);
  }

  setHostAddresses(switchId: Guid, addresses: readonly InterfaceAddress[]): void {
    setHostAddresses(this.host, this.requireSwitch(switchId), addresses);
  }

  addressesOf(adapter: PhysicalAdapter): readonly InterfaceAddress[] {
    for (const each of this.switches.values())
      if (each.adapter?.name === adapter.name) return given(each.hostInterface?.addresses ?? []);
    return given(this.host.root.getInterface(adapter.name)?.addresses ?? adapter.addresses);
  }

  attach(vnic: VnicDefinition): void {
    const nodeSwitch = this.requireSwitch(vnic.switchId);
    const { virtualSwitch } = nodeSwitch;
    const compartment = this.host.getCompartment(vnic.compartmentId);
    assert(compartment !== undefined, "a vNIC goes to a compartment that exists");
    const [switchEnd, stackEnd] = cableOf(this.env, nodeSwitch);
    const { program } = vnic;
    const port = virtualSwitch.addPort({
      id: vnic.portId,
      name: vnic.portName,
      description: vnic.portDescription,
      kind: "container",
      mac: vnic.mac,
      device: switchEnd,
      layers: (program?.stack ?? PLAIN_STACK).definitions,
      virtualSubnets: program?.tunnel?.virtualSubnets ?? [],
      nextHopResolver: this.host.root,
      usesHostMac: program !== undefined && program.tunnel === undefined,
      leadsToHost: compartment === this.host.root,
      vlan: vnic.vlan,
      sendsToFabric: vnic.sendsToFabric,
    });
    const netInterface = compartment.addInterface({
      name: vnic.interfaceName,
      mac: vnic.mac,
      device: stackEnd,
      ...(vnic.mtuBytes !== undefined && { mtuBytes: vnic.mtuBytes }),
      ...(vnic.interfaceMetric !== undefined && { metric: vnic.interfaceMetric }),
    });
    const dhcp = vnic.asksDhcp ? new DhcpClient(compartment, netInterface) : undefined;
    const record: Vnic = { port, compartment, netInterface, program: program ?? emptied(undefined), dhcp };
    this.vnics.set(vnic.portId, record);
    if (program === undefined) {
      port.deliversByAddress = true;
      setBandwidth(port, vnic.bandwidth);
    } else {
      applyProgram(this.host, virtualSwitch, port, emptied(program), program);
      this.applyClaims([], program.claims);
    }
    this.defects?.settlePort(port);
    if (compartment === this.host.root) this.defects?.settleRouting(netInterface, port.id);
    else this.defects?.settleNewPod(compartment, port.id);
    const ips = vnic.addresses.map((address) => address.ip);
    virtualSwitch.setAddresses(port, ips);
    if (vnic.filters !== undefined) compartment.setFilters(netInterface, vnic.filters);
    configureStack(compartment, netInterface, vnic);
    dhcp?.start();
    // On a link without IPv6 nobody would answer: an interface is silent there (see `Ipv6Link`).
    const hasIpv6 = nodeSwitch.hostInterface?.ipv6.isEnabled === true;
    if (vnic.discoversRouters && hasIpv6) compartment.discoverRouters(netInterface);
  }

  detach(switchId: Guid, portId: Guid): void {
    const vnic = this.vnics.get(portId);
    if (vnic === undefined) return;
    vnic.dhcp?.stop();
    this.applyClaims(vnic.program.claims, []);
    // The compartment of a container may be gone already, and its interfaces with it.
    if (vnic.netInterface.isAttached) vnic.compartment.removeInterface(vnic.netInterface);
    this.requireSwitch(switchId).virtualSwitch.removePort(portId);
    this.vnics.delete(portId);
  }

  setMtu(portId: Guid, mtuBytes: number | undefined): void {
    const netInterface = this.vnics.get(portId)?.netInterface;
    if (netInterface !== undefined) netInterface.mtuBytes = mtuBytes ?? netInterface.device.mtuBytes;
  }

  setVlan(portId: Guid, vlan: number): void {
    const port = this.vnics.get(portId)?.port;
    if (port !== undefined) port.vlan = vlan;
  }

  setBandwidth(portId: Guid, groups: readonly Group[]): void {
    const port = this.vnics.get(portId)?.port;
    if (port !== undefined) setBandwidth(port, groups);
  }

  hostDnsServers(): readonly Ip[] {
    return this.host.root.dns.servers;
  }

  setFilters(portId: Guid, filters: FilterProgram | undefined): void {
    const vnic = this.vnics.get(portId);
    if (vnic !== undefined && vnic.netInterface.filters !== filters)
      vnic.compartment.setFilters(vnic.netInterface, filters);
  }

  program(switchId: Guid, portId: Guid, program: PortProgram): void {
    const vnic = this.vnics.get(portId);
    assert(vnic !== undefined, "only attached ports are programmed");
    const { virtualSwitch } = this.requireSwitch(switchId);
    const before = vnic.program;
    const settled = this.withoutLate(vnic.port, before, program);
    applyProgram(this.host, virtualSwitch, vnic.port, before, settled);
    this.applyClaims(before.claims, program.claims);
    vnic.program = program;
    const { defects } = this;
    if (defects === undefined) return;
    defects.settlePort(vnic.port);
    if (before.groups.ACL_ENDPOINT_LAYER !== program.groups.ACL_ENDPOINT_LAYER)
      if (defects.endsFlowsOnAclChange(portId))
        for (const layer of STATEFUL_LAYERS)
          if (vnic.port.vfp.getLayer(layer)) vnic.port.vfp.forgetFlows(layer);
  }

  /** What comes late stays as it is on the port, and a task brings it. */
  private withoutLate(port: SwitchPort, before: PortProgram, after: PortProgram): PortProgram {
    let groups = after.groups;
    for (const layer of after.stack.names) {
      const wanted = groups[layer] ?? [];
      if (wanted === before.groups[layer]) continue;
      const lateMs = this.defects?.lateMs(layer, port.id) ?? 0;
      if (lateMs === 0) continue;
      this.env.clock.schedule(lateMs, new LateGroups(port, layer, wanted));
      groups = { ...groups, [layer]: port.vfp.getLayer(layer)?.groups ?? [] };
    }
    return groups === after.groups ? after : { ...after, groups };
  }

  programRouter(switchId: Guid, networkId: Guid, router: RouterProgram): void {
    const present = this.routers.get(networkId);
    if (present?.program === router.program && present.port.neighbors === router.neighbors) return;
    const { virtualSwitch } = this.requireSwitch(switchId);
    const known = present ?? this.makeRouter(switchId, networkId, router);
    applyProgram(this.host, virtualSwitch, known.port, known.program, router.program);
    if (known.program !== router.program) this.rebuild(known, networkId);
    known.program = router.program;
    known.port.neighbors = router.neighbors;
  }

  followNetwork(networkId: Guid): void {
    const router = this.routers.get(networkId);
    if (router !== undefined) this.rebuild(router, networkId);
  }

  /** The layer goes and comes back, where the node has that defect; a new router's is there from the start. */
  private rebuild(router: Router, networkId: Guid): void {
    const gapMs = router.changes++ === 0 ? 0 : (this.defects?.gapMs(networkId, router.changes) ?? 0);
    if (gapMs === 0) return;
    const rebuilt = new RebuiltLayer(router.port);
    rebuilt.begin();
    this.env.clock.schedule(gapMs, rebuilt);
  }

  removeRouter(switchId: Guid, networkId: Guid, afterMs = 0): void {
    const router = this.routers.get(networkId);
    if (router === undefined) return;
    if (afterMs > 0) {
      this.env.clock.schedule(afterMs, new LateRemoval(this, switchId, networkId));
      return;
    }
    this.routers.delete(networkId);
    this.switches.get(switchId)?.virtualSwitch.removePort(router.port.id);
    this.host.removeCompartment(router.compartment.id);
  }

  /** The router's stack has no address: it sees only what no rule has turned round, and takes nothing of it. */
  private makeRouter(switchId: Guid, networkId: Guid, { mac, portName, program }: RouterProgram): Router {
    const nodeSwitch = this.requireSwitch(switchId);
    const compartment = this.host.createCompartment(`distributed router ${networkId}`);
    const [switchEnd, stackEnd] = cableOf(this.env, nodeSwitch);
    const port = nodeSwitch.virtualSwitch.addPort({
      id: this.env.prng.derive(`hns-router/${networkId}`).guid(),
      name: portName,
      kind: "router",
      mac,
      device: switchEnd,
      layers: program.stack.definitions,
      nextHopResolver: this.host.root,
      virtualSubnets: program.tunnel?.virtualSubnets ?? [],
    });
    compartment.addInterface({ name: portName, mac, device: stackEnd });
    this.defects?.settlePort(port);
    const router = new Router(port, compartment, emptied(program));
    this.routers.set(networkId, router);
    return router;
  }

  reserveHostPools(switchId: Guid, pools: readonly HostPoolDefinition[]): boolean {
    return this.requireSwitch(switchId).hostPort?.reserve(pools) ?? true;
  }

  programHost(switchId: Guid, networkId: Guid, program: HostProgram): void {
    this.requireSwitch(switchId).hostPort?.program(networkId, program);
  }

  /** Inferred: the host's vNIC forwards for what is translated, so the node's other addresses answer there, too. */
  programTranslation(switchId: Guid, networkId: Guid, translation: TranslationDefinition | undefined): void {
    const { root } = this.host;
    const hostInterface = this.switches.get(switchId)?.hostInterface;
    if (translation === undefined || hostInterface === undefined) {
      root.winNat?.program(networkId, undefined);
      this.relays.get(networkId)?.close();
      this.relays.delete(networkId);
      return;
    }
    const { dnsProxies, ...program } = translation;
    hostInterface.isForwarding = true;
    root.enableWinNat().program(networkId, { ...program, interfaceName: hostInterface.name });
    const relay = this.relays.get(networkId) ?? new DnsRelay(root);
    this.relays.set(networkId, relay);
    // Where a server of the node has the port it answers in place of the proxy.
    relay.listen(dnsProxies);
  }

  statisticsOf(switchId: Guid, portId: Guid): PortStatistics | undefined {
    const counters = this.switches.get(switchId)?.virtualSwitch.getPort(portId)?.counters;
    if (counters === undefined) return undefined;
    return {
      packetsReceived: counters.in.packets,
      bytesReceived: counters.in.bytes,
      droppedIncoming: counters.in.drops,
      packetsSent: counters.out.packets,
      bytesSent: counters.out.bytes,
      droppedOutgoing: counters.out.drops,
    };
  }

  isListening(protocol: number, port: number): boolean {
    const { tcp, udp } = this.host.root;
    if (protocol === IpProtocol.tcp) return tcp.listListeners().some((listener) => listener.port === port);
    return protocol === IpProtocol.udp && udp.listSockets().some((socket) => socket.port === port);
  }

  listPortPools(): readonly PortPoolAllocation[] {
    return [...this.switches].flatMap(([switchId, { virtualSwitch }]) =>
      virtualSwitch.portBlocks
        .list()
        .map(({ ip, protocol, range, owner }) => ({ switchId, portId: owner, ip, protocol, range })),
    );
  }

  /** What the host's stack leaves to the switch from now on. */
  private applyClaims(before: readonly PortClaimDefinition[], after: readonly PortClaimDefinition[]): void {
    if (before === after) return;
    const { portClaims } = this.host.root;
    for (const claim of before) portClaims.remove(claim);
    for (const claim of after) portClaims.set(claim, claim.code ?? "switched");
  }

  getSwitch(id: Guid): VirtualSwitch | undefined {
    return this.switches.get(id)?.virtualSwitch;
  }

  listVirtualSwitches(): readonly VirtualSwitch[] {
    return this.listSwitches();
  }

  listSwitches(): readonly VirtualSwitch[] {
    return [...this.switches.values()].map((each) => each.virtualSwitch);
  }

  private requireSwitch(id: Guid): NodeSwitch {
    return defined(this.switches.get(id), "the switch of a network exists as long as the network");
  }
}

const OPTIONAL: ReadonlySet<LayerName> = new Set(OPTIONAL_LAYERS);

/** What a port has before it gets `program`. */
function emptied(program: PortProgram | undefined): PortProgram {
  return {
    stack: program?.stack ?? PLAIN_STACK,
    groups: {},
    tunnel: undefined,
    natPools: [],
    staticBindings: [],
    claims: [],
    deliversByAddress: false,
  };
}

/** Whose flows a change of ACLs ends, where the node has that defect. */
const STATEFUL_LAYERS: readonly LayerName[] = ["LB_DSR", "ACL_ENDPOINT_LAYER", "SLB_NAT_LAYER"];

function setBandwidth(port: SwitchPort, groups: readonly Group[]): void {
  port.vfp.setGroups("QOS_LAYER", groups);
  port.vfp.setLayerPresent("QOS_LAYER", groups.length > 0);
}

function isSameBinding(a: StaticBindingDefinition, b: StaticBindingDefinition): boolean {
  return a.ip === b.ip && a.protocol === b.protocol && a.port === b.port;
}

/** Replaces what is programmed into a port; parts that are the same object are left alone. */
function applyProgram(
  host: Host,
  virtualSwitch: VirtualSwitch,
  port: SwitchPort,
  before: PortProgram,
  after: PortProgram,
): void {
  const arePoolsNew = before.natPools !== after.natPools;
  // Pools are there before rules name them, and go after no rule does.
  if (arePoolsNew) addPools(portBlocksFor(host, virtualSwitch, port), port, before.natPools, after.natPools);
  if (after.tunnel !== undefined && after.tunnel !== before.tunnel) {
    port.vfp.address = after.tunnel.address;
    port.lease = after.tunnel.lease;
    virtualSwitch.setVxlanPort(port, after.tunnel.vxlanPort);
  }
  for (const layer of after.stack.names) {
    const groups = after.groups[layer] ?? [];
    if (groups === before.groups[layer]) continue;
    port.vfp.setGroups(layer, groups);
    if (OPTIONAL.has(layer)) port.vfp.setLayerPresent(layer, groups.length > 0);
  }
  if (arePoolsNew) removePools(port, before.natPools, after.natPools);
  if (before.staticBindings !== after.staticBindings)
    applyBindings(virtualSwitch, port, before.staticBindings, after.staticBindings);
  port.deliversByAddress = after.deliversByAddress;
  port.vfp.isBlocked = after.isBlocked === true;
}

function addPools(
  blocks: PortBlockSource,
  port: SwitchPort,
  before: readonly NatPoolDefinition[],
  after: readonly NatPoolDefinition[],
): void {
  for (const { name, ip, protocol, portsMax } of after) {
    const known = before.find((pool) => pool.name === name);
    if (known?.portsMax === portsMax && known !== undefined) continue;
    port.vfp.removeNatPool(name);
    port.vfp.addNatPool(
      new NatPool({ name, ip, protocol, blocks, ...(portsMax !== undefined && { portsMax }) }),
    );
  }
}

function removePools(
  port: SwitchPort,
  before: readonly NatPoolDefinition[],
  after: readonly NatPoolDefinition[],
): void {
  for (const { name } of before) if (!after.some((pool) => pool.name === name)) port.vfp.removeNatPool(name);
}

function applyBindings(
  virtualSwitch: VirtualSwitch,
  port: SwitchPort,
  before: readonly StaticBindingDefinition[],
  after: readonly StaticBindingDefinition[],
): void {
  for (const binding of before)
    if (!after.some((other) => isSameBinding(binding, other)))
      virtualSwitch.removeStaticBinding(port, binding);
  for (const binding of after)
    if (!before.some((other) => isSameBinding(binding, other))) virtualSwitch.addStaticBinding(port, binding);
}

function configureStack(compartment: Compartment, netInterface: Interface, vnic: VnicDefinition): void {
  for (const address of vnic.addresses) compartment.addAddress(netInterface, address);
  for (const { destination, nextHop, metric } of vnic.routes) {
    compartment.addRoute({
      prefix: destination,
      interface: netInterface,
      metric,
      ...(nextHop !== undefined && { nextHop }),
    });
  }
  // The key of the interface in the compartment's registry.
  if (vnic.dns !== undefined) netInterface.names = { configured: { ...vnic.dns }, learned: [] };
}

/** Without those that interfaces give themselves: nobody manages a node by its link-local address. */
function given(addresses: readonly InterfaceAddress[]): readonly InterfaceAddress[] {
  return addresses.filter(({ ip }) => !isLinkLocal(ip));
}
