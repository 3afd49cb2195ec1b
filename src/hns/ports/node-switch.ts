/** The simulated switches of a node, by kind (hcn.md §4.1): what stands behind them, and how they come and go. */
import type { Environment } from "#core/base/environment.ts";
import type { Prng } from "#core/base/prng.ts";
import { type MemoryDevice, memoryPair } from "#dataplane/device/memory-pair.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { isLinkLocal } from "#dataplane/host/ip/address-scope.ts";
import type { Host } from "#dataplane/host/host.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import type { Route } from "#dataplane/host/stack.ts";
import type { InterfaceAddress, Ip } from "#core/net/ip.ts";
import { type PortBlockSource, NatPool } from "#dataplane/vfp/actions/nat-pool.ts";
import type { SwitchPort } from "#dataplane/switch/switch-port.ts";
import { VirtualSwitch } from "#dataplane/switch/virtual-switch.ts";
import { HOST_LAYERS, HOST_LAYER_NAMES, HOST_TUNNEL_LAYERS } from "../compile/layers.ts";
import type { HostPoolDefinition, HostProgram, SwitchDefinition, TunnelSettings } from "./datapath.ts";
import type { PhysicalAdapter } from "./adapter-description.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { LocalPorts } from "#dataplane/host/local-ports.ts";
import type { PortRange } from "#core/net/port-range.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type { Group } from "#dataplane/vfp/group.ts";

// The host's vNIC port of a switch, as networks program it.

/** One per switch. Networks on the same switch share the port; each has its own groups. */
class HostPort {
  private readonly virtualSwitch: VirtualSwitch;
  private readonly port: SwitchPort;
  private readonly blocks: PortBlockSource;
  private readonly host: Compartment;
  private readonly groups = new Map<Guid, HostProgram["groups"]>();
  private readonly tunnels = new Map<Guid, TunnelSettings>();
  private hasTunnelLayers = false;

  /** VFP is off on the port until something is programmed: frames pass untouched (dataplane.md §1.2). */
  constructor(virtualSwitch: VirtualSwitch, port: SwitchPort, blocks: PortBlockSource, host: Compartment) {
    this.virtualSwitch = virtualSwitch;
    this.port = port;
    this.blocks = blocks;
    this.host = host;
    port.vfp.isEnabled = false;
    for (const layer of HOST_TUNNEL_LAYERS) port.vfp.setLayerPresent(layer, false);
  }

  /** Makes pools that are not there yet; all of them, or none. */
  reserve(pools: readonly HostPoolDefinition[]): boolean {
    const made: NatPool[] = [];
    for (const pool of pools) {
      const known = this.port.vfp.getNatPool(pool.name);
      const target = known ?? this.makePool(pool);
      if (known === undefined) made.push(target);
      if (target.reserve()) continue;
      for (const each of made) this.port.vfp.removeNatPool(each.name);
      return false;
    }
    return true;
  }

  program(networkId: Guid, program: HostProgram): void {
    const { pools, bindings, claims } = program;
    for (const pool of pools.added)
      if (this.port.vfp.getNatPool(pool.name) === undefined) this.makePool(pool);
    this.groups.set(networkId, program.groups);
    this.followTunnel(networkId, program.tunnel);
    const all = [...this.groups.values()];
    for (const layer of HOST_LAYER_NAMES) {
      const answers = layer === "ENCAP" ? this.answerGroups() : [];
      this.port.vfp.setGroups(layer, [...answers, ...all.flatMap((groups) => groups[layer])]);
    }
    for (const { name } of pools.removed) this.port.vfp.removeNatPool(name);
    for (const binding of bindings.removed) this.virtualSwitch.removeStaticBinding(this.port, binding);
    for (const binding of bindings.added) this.virtualSwitch.addStaticBinding(this.port, binding);
    for (const claim of claims.removed) this.host.portClaims.remove(claim);
    for (const claim of claims.added) this.host.portClaims.set(claim, claim.code ?? "switched");
    this.port.vfp.isEnabled = this.port.vfp.layers.some((layer) => layer.groups.length > 0);
  }

  /** With one network alone, addresses say enough. */
  private answerGroups(): readonly Group[] {
    if (this.tunnels.size < 2) return [];
    return [...this.tunnels.values()].flatMap(({ answers = [] }) => answers);
  }

  /** The port is one of the node's own, in no virtual subnet: it only sends into tunnels and takes out of them. */
  private followTunnel(networkId: Guid, tunnel: TunnelSettings | undefined): void {
    if (this.tunnels.get(networkId) === tunnel) return;
    if (tunnel === undefined) this.tunnels.delete(networkId);
    else this.tunnels.set(networkId, tunnel);
    const { vfp } = this.port;
    const isNeeded = this.tunnels.size > 0;
    if (this.hasTunnelLayers !== isNeeded) {
      for (const layer of HOST_TUNNEL_LAYERS) vfp.setLayerPresent(layer, isNeeded);
      this.hasTunnelLayers = isNeeded;
    }
    if (tunnel !== undefined) vfp.address = tunnel.address;
    // Each network's rules name its own UDP port; what comes back may have any of them.
    const [first, ...others] = new Set([...this.tunnels.values()].map(({ vxlanPort }) => vxlanPort));
    if (first !== undefined) this.virtualSwitch.setVxlanPort(this.port, first, others);
  }

  private makePool({ name, ip, protocol, portsMax }: HostPoolDefinition): NatPool {
    const pool = new NatPool({
      name,
      ip,
      protocol,
      blocks: this.blocks,
      ...(portsMax !== undefined && { portsMax }),
    });
    this.port.vfp.addNatPool(pool);
    return pool;
  }
}

/** MTU of what stands on no adapter. */
const MTU_DEFAULT = 1_500;

export interface NodeSwitch {
  readonly virtualSwitch: VirtualSwitch;
  /** Of an external switch. */
  readonly adapter: PhysicalAdapter | undefined;
  /** The host's vNIC on it; on an external switch it carries what the adapter carried. */
  readonly hostInterface: Interface | undefined;
  /** What load balancers put into the host's port; external switches only. */
  readonly hostPort: HostPort | undefined;
  /** What the adapter carried, while nothing does. */
  readonly parked: CarriedSettings | undefined;
}

export function portBlocksFor(host: Host, virtualSwitch: VirtualSwitch, port: SwitchPort): PortBlockSource {
  return new NodePortBlocks(virtualSwitch.portBlocksFor(port), host.root);
}

/** A cable between a switch and what is behind one of its ports. */
export function cableOf(env: Environment, { adapter }: NodeSwitch): readonly [MemoryDevice, MemoryDevice] {
  return memoryPair(env.clock, { delayMs: 0, mtuBytes: adapter?.device.mtuBytes ?? MTU_DEFAULT });
}

/** What an interface carried, while there is none. */
interface CarriedSettings {
  readonly addresses: readonly InterfaceAddress[];
  readonly routes: readonly Omit<Route, "interface">[];
  readonly isForwarding: boolean;
  readonly metric: number;
}

/** The metadata service of clouds. */
const METADATA_IP = 0xa9fe_a9fe;

/** What comes along where the node has the defect `metadata-route-lost`. */
function withoutMetadataRoute(carried: CarriedSettings): CarriedSettings {
  const routes = carried.routes.filter(({ prefix }) => prefix.address !== METADATA_IP);
  return { ...carried, routes };
}

/** Drops an interface; the settings are for the one that takes its place. */
function takeSettings(compartment: Compartment, from: Interface): CarriedSettings {
  const routes = compartment
    .listRoutes()
    .filter((route) => route.interface === from && route.origin === "static");
  const { isForwarding, metric } = from;
  // Each interface makes a link-local address of its own.
  const addresses = from.addresses.filter(({ ip }) => !isLinkLocal(ip));
  const carried = { addresses, routes, isForwarding, metric };
  compartment.removeInterface(from);
  return carried;
}

function restoreSettings(
  compartment: Compartment,
  to: Interface,
  { addresses, routes }: CarriedSettings,
): void {
  for (const address of addresses) compartment.addAddress(to, address);
  for (const { prefix, nextHop, metric, source } of routes) {
    compartment.addRoute({
      prefix,
      interface: to,
      metric,
      ...(nextHop !== undefined && { nextHop }),
      ...(source !== undefined && { source }),
    });
  }
}

type Definition<Kind extends SwitchDefinition["kind"]> = Extract<SwitchDefinition, { kind: Kind }>;

function makeExternalSwitch(
  env: Environment,
  host: Host,
  { id, adapter, isPlain }: Definition<"external">,
  prng: Prng,
): VirtualSwitch {
  const virtualSwitch = new VirtualSwitch(env, { node: host.name, id, name: adapter.name, isPlain });
  virtualSwitch.addPort({
    id: prng.guid(),
    name: `${adapter.name} (uplink)`,
    kind: "external",
    mac: adapter.mac,
    device: adapter.device,
    layers: [],
  });
  return virtualSwitch;
}

/**
 * The host's vNIC takes the MAC, addresses and routes of the adapter (hcn.md §4.1). Connections through it live on;
 * Inferred: the moment of interruption that Windows has is not acted out. Without a host port they are gone until the
 * switch is.
 */
function createExternal(env: Environment, host: Host, definition: Definition<"external">): NodeSwitch {
  const { root } = host;
  const { id, adapter } = definition;
  const prng = env.prng.derive(`hns-switch/${id}`);
  const before = root.getInterface(adapter.name);
  const taken = before && takeSettings(root, before);
  const carried = taken && definition.losesMetadataRoute === true ? withoutMetadataRoute(taken) : taken;
  const virtualSwitch = makeExternalSwitch(env, host, definition, prng);
  if (!definition.hasHostPort)
    return { virtualSwitch, adapter, hostInterface: undefined, hostPort: undefined, parked: carried };
  const name = `vEthernet (${adapter.name})`;
  const [switchEnd, hostEnd] = memoryPair(env.clock, { delayMs: 0, mtuBytes: adapter.device.mtuBytes });
  const hostInterface = root.addInterface({
    name,
    mac: adapter.mac,
    device: hostEnd,
    ...(carried !== undefined && { isForwarding: carried.isForwarding, metric: carried.metric }),
  });
  const port = virtualSwitch.addPort({
    id: prng.guid(),
    name,
    kind: "host",
    mac: adapter.mac,
    device: switchEnd,
    layers: HOST_LAYERS,
    nextHopResolver: root,
  });
  if (carried === undefined) for (const address of adapter.addresses) root.addAddress(hostInterface, address);
  else restoreSettings(root, hostInterface, carried);
  const ips = hostInterface.addresses.map((address) => address.ip);
  virtualSwitch.setAddresses(port, ips);
  const hostPort = new HostPort(virtualSwitch, port, portBlocksFor(host, virtualSwitch, port), root);
  return { virtualSwitch, adapter, hostInterface, hostPort, parked: undefined };
}

function withoutAdapter(virtualSwitch: VirtualSwitch): NodeSwitch {
  const [adapter, hostInterface, hostPort, parked] = [undefined, undefined, undefined, undefined];
  return { virtualSwitch, adapter, hostInterface, hostPort, parked };
}

/** The host's vNIC has the gateway's address. Inferred: its port has no layers, since no type on it needs VFP. */
function createInternal(env: Environment, host: Host, definition: Definition<"internal">): NodeSwitch {
  const { id, name, hostMac, hostAddresses } = definition;
  const virtualSwitch = new VirtualSwitch(env, { node: host.name, id, name, isPlain: true });
  const vnicName = `vEthernet (${name})`;
  const [switchEnd, hostEnd] = memoryPair(env.clock, { delayMs: 0, mtuBytes: MTU_DEFAULT });
  const hostInterface = host.root.addInterface({ name: vnicName, mac: hostMac, device: hostEnd });
  const port = virtualSwitch.addPort({
    id: env.prng.derive(`hns-switch/${id}`).guid(),
    name: vnicName,
    kind: "host",
    mac: hostMac,
    device: switchEnd,
    layers: [],
    nextHopResolver: host.root,
  });
  for (const address of hostAddresses) host.root.addAddress(hostInterface, address);
  const ips = hostAddresses.map((address) => address.ip);
  virtualSwitch.setAddresses(port, ips);
  return { ...withoutAdapter(virtualSwitch), hostInterface };
}

/** Makes a switch and what stands behind its first ports. */
export function createNodeSwitch(env: Environment, host: Host, definition: SwitchDefinition): NodeSwitch {
  if (definition.kind === "external") return createExternal(env, host, definition);
  if (definition.kind === "internal") return createInternal(env, host, definition);
  const { id, name } = definition;
  const virtualSwitch = new VirtualSwitch(env, { node: host.name, id, name, isPlain: true });
  return withoutAdapter(virtualSwitch);
}

/** Brings the host's vNIC on an internal switch to these addresses. */
export function setHostAddresses(
  host: Host,
  { virtualSwitch, hostInterface }: NodeSwitch,
  addresses: readonly InterfaceAddress[],
): void {
  if (hostInterface === undefined) return;
  const present = hostInterface.addresses.slice();
  for (const { ip } of present)
    if (!addresses.some((address) => address.ip === ip)) host.root.removeAddress(hostInterface, ip);
  for (const address of addresses) host.root.addAddress(hostInterface, address);
  const ips = addresses.map((address) => address.ip);
  if (virtualSwitch.hostPort !== undefined) virtualSwitch.setAddresses(virtualSwitch.hostPort, ips);
}

/** Takes a switch away; what was on an adapter goes back to it. */
export function removeNodeSwitch(host: Host, nodeSwitch: NodeSwitch): void {
  const { virtualSwitch, adapter, hostInterface, parked } = nodeSwitch;
  const { root } = host;
  const carried = hostInterface === undefined ? parked : takeSettings(root, hostInterface);
  if (adapter !== undefined && carried !== undefined) {
    const restored = root.addInterface({
      name: adapter.name,
      mac: adapter.mac,
      device: adapter.device,
      isForwarding: carried.isForwarding,
      metric: carried.metric,
    });
    restoreSettings(root, restored, carried);
  }
  for (const port of virtualSwitch.listPorts()) virtualSwitch.removePort(port.id);
}

// Port blocks for NAT, kept from the node's own sockets: HNS reserves them from the host's dynamic range, where they
// show as excluded ports (dataplane.md §1.8; hcn.md §4.8).

class NodePortBlocks implements PortBlockSource {
  private readonly blocks: PortBlockSource;
  private readonly host: Compartment;

  /** `blocks` is the budget as one switch port sees it; `host` the compartment whose sockets keep off. */
  constructor(blocks: PortBlockSource, host: Compartment) {
    this.blocks = blocks;
    this.host = host;
  }

  acquire(ip: Ip, protocol: number): PortRange | undefined {
    const block = this.blocks.acquire(ip, protocol);
    if (block !== undefined) this.portsOf(protocol)?.exclude(block);
    return block;
  }

  release(ip: Ip, protocol: number, block: PortRange): void {
    this.blocks.release(ip, protocol, block);
    this.portsOf(protocol)?.include(block);
  }

  private portsOf(protocol: number): LocalPorts | undefined {
    if (protocol === IpProtocol.tcp) return this.host.tcp.ports;
    return protocol === IpProtocol.udp ? this.host.udp.ports : undefined;
  }
}
