/** A datapath that moves no packets: it keeps what it was told. For a service without a network, and for tests. */
import { assert } from "#core/base/assert.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type { FilterProgram } from "#dataplane/host/windows-filtering/filter-program.ts";
import type { InterfaceAddress, Ip } from "#core/net/ip.ts";
import type { PortRange } from "#core/net/port-range.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import { PortBlockTable } from "#dataplane/switch/port-blocks.ts";
import {
  type Datapath,
  type HostPoolDefinition,
  type HostProgram,
  type PortPoolAllocation,
  type PortProgram,
  type PortStatistics,
  type SwitchDefinition,
  type TranslationDefinition,
  type VnicDefinition,
  NOTHING_PASSED,
} from "./ports/datapath.ts";
import { HOST_COMPARTMENT } from "./service/records.ts";
import type { PhysicalAdapter } from "./ports/adapter-description.ts";

interface ReservedPool {
  readonly pool: HostPoolDefinition;
  readonly block: PortRange;
}

export class RecordingDatapath implements Datapath {
  private readonly switches = new Map<Guid, SwitchDefinition>();
  private readonly vnics = new Map<Guid, VnicDefinition>();
  private readonly compartments = new Set<number>();
  private readonly hostPools = new Map<Guid, Map<string, ReservedPool>>();
  private readonly translations = new Map<Guid, TranslationDefinition>();
  private readonly blocks = new PortBlockTable();
  private lastCompartment = HOST_COMPARTMENT;

  /** Nothing moves here that could go wrong. */
  followDefects(): void {}

  createCompartment(_name: string, wantedId?: number): number {
    const isFree = wantedId !== undefined && wantedId > HOST_COMPARTMENT && !this.compartments.has(wantedId);
    const id = isFree ? wantedId : this.lastCompartment + 1;
    this.lastCompartment = Math.max(this.lastCompartment, id);
    this.compartments.add(id);
    return id;
  }

  removeCompartment(id: number): void {
    this.compartments.delete(id);
  }

  createSwitch(definition: SwitchDefinition): void {
    this.switches.set(definition.id, definition);
  }

  removeSwitch(id: Guid): void {
    for (const name of this.reservedOn(id).keys()) this.releasePool(id, name);
    this.hostPools.delete(id);
    this.switches.delete(id);
  }

  setHostAddresses(switchId: Guid, hostAddresses: readonly InterfaceAddress[]): void {
    const definition = this.switches.get(switchId);
    if (definition?.kind === "internal") this.switches.set(switchId, { ...definition, hostAddresses });
  }

  addressesOf(adapter: PhysicalAdapter): readonly InterfaceAddress[] {
    for (const each of this.switches.values())
      if (each.kind === "external" && each.adapter.name === adapter.name && !each.hasHostPort) return [];
    return adapter.addresses;
  }

  attach(vnic: VnicDefinition): void {
    assert(this.switches.has(vnic.switchId), "a vNIC goes to a switch that exists");
    this.vnics.set(vnic.portId, vnic);
  }

  detach(_switchId: Guid, portId: Guid): void {
    this.vnics.delete(portId);
  }

  program(_switchId: Guid, portId: Guid, program: PortProgram): void {
    const vnic = this.vnics.get(portId);
    assert(vnic !== undefined, "only attached ports are programmed");
    this.vnics.set(portId, { ...vnic, program });
  }

  setMtu(portId: Guid, mtuBytes: number | undefined): void {
    this.change(portId, { mtuBytes });
  }

  setVlan(portId: Guid, vlan: number): void {
    this.change(portId, { vlan });
  }

  setBandwidth(portId: Guid, bandwidth: readonly Group[]): void {
    this.change(portId, { bandwidth });
  }

  hostDnsServers(): readonly Ip[] {
    return [];
  }

  setFilters(portId: Guid, filters: FilterProgram | undefined): void {
    this.change(portId, { filters });
  }

  reserveHostPools(switchId: Guid, pools: readonly HostPoolDefinition[]): boolean {
    const reserved = this.reservedOn(switchId);
    const missing = pools.filter((pool) => !reserved.has(pool.name));
    const taken: HostPoolDefinition[] = [];
    for (const pool of missing) {
      const block = this.blocks.acquire(pool.name, pool.ip, pool.protocol);
      if (block === undefined) {
        for (const { name } of taken) this.releasePool(switchId, name);
        return false;
      }
      reserved.set(pool.name, { pool, block });
      taken.push(pool);
    }
    return true;
  }

  programHost(switchId: Guid, _networkId: Guid, program: HostProgram): void {
    for (const { name } of program.pools.removed) this.releasePool(switchId, name);
  }

  /** A router moves packets and keeps no books. */
  programRouter(): void {}

  followNetwork(): void {}

  removeRouter(): void {}

  programTranslation(_switchId: Guid, networkId: Guid, translation: TranslationDefinition | undefined): void {
    if (translation === undefined) this.translations.delete(networkId);
    else this.translations.set(networkId, translation);
  }

  getTranslation(networkId: Guid): TranslationDefinition | undefined {
    return this.translations.get(networkId);
  }

  /** Nothing passes here. */
  statisticsOf(_switchId: Guid, portId: Guid): PortStatistics | undefined {
    return this.vnics.has(portId) ? NOTHING_PASSED : undefined;
  }

  /** No program runs here. */
  isListening(): boolean {
    return false;
  }

  listVirtualSwitches(): readonly [] {
    return [];
  }

  listPortPools(): readonly PortPoolAllocation[] {
    return [...this.hostPools].flatMap(([switchId, pools]) =>
      [...pools.values()].map(({ pool, block }) => ({
        switchId,
        portId: switchId,
        ip: pool.ip,
        protocol: pool.protocol,
        range: block,
      })),
    );
  }

  private change(portId: Guid, fields: Partial<VnicDefinition>): void {
    const vnic = this.vnics.get(portId);
    if (vnic !== undefined) this.vnics.set(portId, { ...vnic, ...fields });
  }

  private reservedOn(switchId: Guid): Map<string, ReservedPool> {
    const known = this.hostPools.get(switchId) ?? new Map<string, ReservedPool>();
    this.hostPools.set(switchId, known);
    return known;
  }

  private releasePool(switchId: Guid, name: string): void {
    const reserved = this.reservedOn(switchId).get(name);
    if (reserved === undefined) return;
    this.blocks.release(reserved.pool.ip, reserved.pool.protocol, reserved.block);
    this.reservedOn(switchId).delete(name);
  }

  getVnic(portId: Guid): VnicDefinition | undefined {
    return this.vnics.get(portId);
  }

  listVnics(): readonly VnicDefinition[] {
    return [...this.vnics.values()];
  }

  getSwitch(id: Guid): SwitchDefinition | undefined {
    return this.switches.get(id);
  }

  listSwitches(): readonly Guid[] {
    return [...this.switches.keys()];
  }

  listCompartments(): readonly number[] {
    return [...this.compartments];
  }
}
