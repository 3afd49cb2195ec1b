/** A datapath that moves no packets: it keeps what it was told. For a service without a network, and for tests. */
import { assert } from "../base/assert.ts";
import type { Guid } from "../hcn/client.ts";
import type { InterfaceAddress } from "../net/prefix.ts";
import type { Datapath, PortProgram, VnicDefinition } from "./datapath.ts";
import { HOST_COMPARTMENT } from "./namespace-record.ts";
import type { PhysicalAdapter } from "./physical-adapter.ts";

export class BooksDatapath implements Datapath {
  private readonly switches = new Map<Guid, PhysicalAdapter>();
  private readonly vnics = new Map<Guid, VnicDefinition>();
  private readonly compartments = new Set<number>();
  private lastCompartment = HOST_COMPARTMENT;

  createCompartment(): number {
    this.lastCompartment++;
    this.compartments.add(this.lastCompartment);
    return this.lastCompartment;
  }

  removeCompartment(id: number): void {
    this.compartments.delete(id);
  }

  createSwitch(id: Guid, adapter: PhysicalAdapter): void {
    this.switches.set(id, adapter);
  }

  removeSwitch(id: Guid): void {
    this.switches.delete(id);
  }

  addressesOf(adapter: PhysicalAdapter): readonly InterfaceAddress[] {
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

  getVnic(portId: Guid): VnicDefinition | undefined {
    return this.vnics.get(portId);
  }

  listVnics(): readonly VnicDefinition[] {
    return [...this.vnics.values()];
  }

  listSwitches(): readonly Guid[] {
    return [...this.switches.keys()];
  }

  listCompartments(): readonly number[] {
    return [...this.compartments];
  }
}
