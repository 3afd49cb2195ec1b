/**
 * The containers and virtual machines of the node, as far as HNS asks for them. They belong to the Host Compute
 * Service, so they outlive a restart of HNS. Plain data.
 */
import type { ComputeSystemType } from "#contracts/hcn/compute-systems.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { equalGuids } from "#contracts/hcn/guid.ts";

export interface ComputeSystemRecord {
  readonly id: string;
  readonly systemType: ComputeSystemType;
  readonly owner: string;
  readonly runtimeId: Guid;
  readonly namespaceId: Guid | undefined;
  /** Compartment of a container without a namespace; made with its first endpoint. */
  readonly compartmentId: number | undefined;
}

export class ComputeSystemRegistry {
  private readonly systems = new Map<string, ComputeSystemRecord>();

  get(id: string): ComputeSystemRecord | undefined {
    return this.systems.get(id);
  }

  /** @throws HcnError HCS_E_SYSTEM_NOT_FOUND. */
  require(id: string): ComputeSystemRecord {
    const found = this.systems.get(id);
    if (found !== undefined) return found;
    throw new HcnError("HCS_E_SYSTEM_NOT_FOUND", {
      detail: `There is no compute system ${JSON.stringify(id)}`,
    });
  }

  /** A virtual machine by its id or by its runtime id. */
  findVirtualMachine(id: string): ComputeSystemRecord | undefined {
    return this.list().find(
      (system) =>
        system.systemType === "VirtualMachine" &&
        (equalGuids(system.id, id) || equalGuids(system.runtimeId, id)),
    );
  }

  /** Enters a system, or its new record in the place of the old. */
  set(system: ComputeSystemRecord): void {
    this.systems.set(system.id, Object.freeze(system));
  }

  remove(id: string): void {
    this.systems.delete(id);
  }

  /** In order of creation. */
  list(): readonly ComputeSystemRecord[] {
    return [...this.systems.values()];
  }
}
