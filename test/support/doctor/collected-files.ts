/**
 * What a collector takes from a node: the objects of its HNS as PowerShell's JSON, and those of the cluster as kubectl
 * prints them. Nothing of this is shared with what reads it.
 */
import type { SessionWorld } from "../cluster/session-world.ts";
import { hcnClientOf } from "#cluster/machines/windows-node.ts";
import { listNodePorts, viewNodePort } from "#cluster/views/vfp-ports.ts";
import { ruleListLines } from "#dataplane/vfp/listing/print-rules.ts";
import type { HcnObjectKind } from "#contracts/hcn/client.ts";

/** Texts by file name. */
export type CollectedFiles = Readonly<Record<string, string>>;

const FILES: readonly (readonly [string, HcnObjectKind])[] = [
  ["network.txt", "Network"],
  ["endpoint.txt", "Endpoint"],
  ["namespaces.txt", "Namespace"],
  ["policy.txt", "LoadBalancer"],
];

/** Objects as an API server lists them. */
export function objectsFile({ session }: SessionWorld): string {
  const { Node, Pod, Service, EndpointSlice } = session.cluster.objects;
  return JSON.stringify(
    { apiVersion: "v1", kind: "List", items: [...Node, ...Pod, ...Service, ...EndpointSlice] },
    undefined,
    1,
  );
}

/** Both forms that PowerShell and hnsdiag show objects in. */
export type CollectedDialect = "v1" | "v2";

const V2 = { SchemaVersion: { Major: 2, Minor: 0 } } as const;

/** What collectlogs.ps1 gathers of vfpctrl: the rules of each port below its GUID. */
function rulesFile({ session: { cluster } }: SessionWorld, node: string): string {
  const ports = listNodePorts(cluster, node).map(({ name }) => {
    const { listing } = viewNodePort(cluster, name, node);
    const lines = ruleListLines(listing.layers, { withLayers: true, withCounters: true });
    return `Policy for port : ${name}\n${lines.join("\n")}\n`;
  });
  return ports.join("\n");
}

/** The files of one Windows node, below `folder`. */
export async function collectedFiles(
  world: SessionWorld,
  node: string,
  {
    dialect = "v1",
    folder = "collected",
  }: { readonly dialect?: CollectedDialect; readonly folder?: string } = {},
): Promise<CollectedFiles> {
  const found = world.session.cluster.nodes.find(({ spec }) => spec.name === node);
  if (found === undefined) throw new Error(`there is no node ${node}`);
  const client = hcnClientOf(found);
  const files: Record<string, string> = {
    [`${folder}/objects.json`]: objectsFile(world),
    [`${folder}/vfpOutput.txt`]: rulesFile(world, node),
  };
  for (const [name, kind] of FILES) {
    const documents: unknown[] = [];
    for (const id of await client.enumerate(kind))
      documents.push(await client.query(kind, id, dialect === "v1" ? undefined : V2));
    files[`${folder}/${name}`] = JSON.stringify(documents, undefined, 1);
  }
  return files;
}
