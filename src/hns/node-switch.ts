/** The simulated switches of a node, by kind (hcn.md §4.1): what stands behind them, and how they come and go. */
import type { Environment } from "../base/environment.ts";
import { type MemoryDevice, memoryPair } from "../device/memory-pair.ts";
import type { Compartment } from "../host/compartment.ts";
import type { Host } from "../host/host.ts";
import type { Interface } from "../host/interface.ts";
import type { PortBlockSource } from "../vfp/nat-pool.ts";
import type { SwitchPort } from "../vswitch/switch-port.ts";
import { VirtualSwitch } from "../vswitch/virtual-switch.ts";
import { HOST_LAYERS } from "./compile/layers.ts";
import type { SwitchDefinition } from "./datapath.ts";
import { HostPort } from "./host-port.ts";
import { NodePortBlocks } from "./node-port-blocks.ts";
import type { PhysicalAdapter } from "./physical-adapter.ts";

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
}

export function portBlocksFor(host: Host, virtualSwitch: VirtualSwitch, port: SwitchPort): PortBlockSource {
  return new NodePortBlocks(virtualSwitch.portBlocksFor(port), host.root);
}

/** A cable between a switch and whoever is behind one of its ports. */
export function cableOf(env: Environment, { adapter }: NodeSwitch): readonly [MemoryDevice, MemoryDevice] {
  return memoryPair(env.clock, { delayMs: 0, mtuBytes: adapter?.device.mtuBytes ?? MTU_DEFAULT });
}

/** Moves addresses and static routes from one interface of a compartment to another, then drops the old one. */
function moveInterface(compartment: Compartment, from: Interface, to: Interface): void {
  const addresses = from.addresses.slice();
  const routes = compartment
    .listRoutes()
    .filter((route) => route.interface === from && route.origin === "static");
  compartment.removeInterface(from);
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

/**
 * The host's vNIC takes the MAC, addresses and routes of the adapter (hcn.md §4.1). Connections through it live on;
 * Inferred: the moment of interruption that Windows has is not acted out.
 */
function createExternal(env: Environment, host: Host, { id, adapter }: Definition<"external">): NodeSwitch {
  const { root } = host;
  const prng = env.prng.derive(`hns-switch/${id}`);
  const virtualSwitch = new VirtualSwitch(env, { node: host.name, id, name: adapter.name });
  const before = root.getInterface(adapter.name);
  const name = `vEthernet (${adapter.name})`;
  const [switchEnd, hostEnd] = memoryPair(env.clock, { delayMs: 0, mtuBytes: adapter.device.mtuBytes });
  const hostInterface = root.addInterface({
    name,
    mac: adapter.mac,
    device: hostEnd,
    ...(before !== undefined && { isForwarding: before.isForwarding, metric: before.metric }),
  });
  virtualSwitch.addPort({
    id: prng.guid(),
    name: `${adapter.name} (uplink)`,
    kind: "external",
    mac: adapter.mac,
    device: adapter.device,
    layers: [],
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
  if (before === undefined) for (const address of adapter.addresses) root.addAddress(hostInterface, address);
  else moveInterface(root, before, hostInterface);
  port.setIps(hostInterface.addresses.map((address) => address.ip));
  const hostPort = new HostPort(port, portBlocksFor(host, virtualSwitch, port), root);
  return { virtualSwitch, adapter, hostInterface, hostPort };
}

/** The host's vNIC has the gateway's address. Inferred: its port has no layers, since no type on it needs VFP. */
function createInternal(env: Environment, host: Host, definition: Definition<"internal">): NodeSwitch {
  const { id, name, hostMac, hostAddresses } = definition;
  const virtualSwitch = new VirtualSwitch(env, { node: host.name, id, name });
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
  port.setIps(hostAddresses.map((address) => address.ip));
  return { virtualSwitch, adapter: undefined, hostInterface, hostPort: undefined };
}

/** Makes a switch and what stands behind its first ports. */
export function createNodeSwitch(env: Environment, host: Host, definition: SwitchDefinition): NodeSwitch {
  if (definition.kind === "external") return createExternal(env, host, definition);
  if (definition.kind === "internal") return createInternal(env, host, definition);
  const { id, name } = definition;
  const virtualSwitch = new VirtualSwitch(env, { node: host.name, id, name });
  return { virtualSwitch, adapter: undefined, hostInterface: undefined, hostPort: undefined };
}

/** Takes a switch away; what was on an adapter goes back to it. */
export function removeNodeSwitch(host: Host, { virtualSwitch, adapter, hostInterface }: NodeSwitch): void {
  const { root } = host;
  if (hostInterface !== undefined && adapter === undefined) root.removeInterface(hostInterface);
  if (hostInterface !== undefined && adapter !== undefined) {
    const restored = root.addInterface({
      name: adapter.name,
      mac: adapter.mac,
      device: adapter.device,
      isForwarding: hostInterface.isForwarding,
      metric: hostInterface.metric,
    });
    moveInterface(root, hostInterface, restored);
  }
  for (const port of virtualSwitch.listPorts()) virtualSwitch.removePort(port.id);
}
