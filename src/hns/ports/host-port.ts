/** The host's vNIC port of a switch, as networks program it. */
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { NatPool, type PortBlockSource } from "#dataplane/vfp/actions/nat-pool.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { SwitchPort } from "#dataplane/switch/switch-port.ts";
import type { VirtualSwitch } from "#dataplane/switch/virtual-switch.ts";
import { HOST_LAYER_NAMES, HOST_TUNNEL_LAYERS } from "../compile/layers.ts";
import type { HostPoolDefinition, HostProgram, TunnelSettings } from "./datapath.ts";

/** One per switch. Networks on the same switch share the port; each has its own groups. */
export class HostPort {
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
