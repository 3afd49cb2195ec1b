/**
 * The containers of a Windows pod as the Host Compute Service has them. containerd's shim starts the pause container in the HCN
 * namespace, after the plugins have put an endpoint there, and each container of the pod in the same namespace (hcsshim,
 * internal/hcsoci/hcsdoc_wcow.go; cni.md §7): they share its endpoints and its compartment.
 */
import type { HcnClient } from "#contracts/hcn/client.ts";
import { containerDocument, requireComputeSystems } from "#contracts/hcn/compute-systems.ts";
import { equalGuids } from "#contracts/hcn/guid.ts";

export interface PodContainers {
  /** The pause container's id. */
  readonly sandbox: string;
  /** Of the containers that run. */
  readonly names: readonly string[];
}

/** @throws HcnError where one cannot start in the namespace. */
export async function startContainers(
  client: HcnClient,
  namespaceId: string,
  { sandbox, names }: PodContainers,
): Promise<void> {
  const systems = requireComputeSystems(client);
  const document = containerDocument(namespaceId);
  // Names hold no underscore, so that no two ids are equal.
  for (const id of [sandbox, ...names.map((name) => `${sandbox}_${name}`)])
    await systems.create(id, document);
}

/** Ends all compute systems of a namespace, the pause container last; without any there is nothing to do. */
export async function stopContainers(client: HcnClient, namespaceId: string): Promise<void> {
  const systems = requireComputeSystems(client);
  const own = (await systems.list()).filter(
    ({ Namespace }) => Namespace !== undefined && equalGuids(Namespace, namespaceId),
  );
  for (const { Id } of own.toReversed()) await systems.terminate(Id);
}
