/** Compartments of containers that are in no namespace. */
import type { ServiceContext } from "../service-context.ts";

/** The compartment of a container without a namespace. */
export function compartmentOf(context: ServiceContext, containerId: string): number {
  const system = context.computeSystems.require(containerId);
  if (system.compartmentId !== undefined) return system.compartmentId;
  const compartmentId = context.datapath.createCompartment(`container ${containerId.slice(0, 12)}`);
  context.computeSystems.set({ ...system, compartmentId });
  return compartmentId;
}

/** Removes the compartment of containers that are gone when nothing is in it any more. */
export function releaseCompartment(context: ServiceContext, compartmentId: number): void {
  const isOwned = context.computeSystems.list().some((system) => system.compartmentId === compartmentId);
  if (isOwned) return;
  for (const endpoint of context.state.localEndpoints()) {
    const { attachment } = endpoint;
    if (attachment?.kind === "container" && attachment.compartmentId === compartmentId) return;
  }
  context.datapath.removeCompartment(compartmentId);
}
