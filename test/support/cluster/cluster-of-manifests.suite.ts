// Whatever addresses a dump shows, the cluster that is read off it can be built.
import fc from "fast-check";
import { expect } from "vitest";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import type { KubeObject } from "#contracts/kubernetes/objects.ts";
import { parseClusterFile } from "#cluster/file/parse-cluster-file.ts";
import type { JsonObject } from "#core/base/json.ts";
import { NOTHING_SHOWN, clusterOfManifests } from "#cluster/input/cluster-of-manifests.ts";

/** Addresses from a few networks, near each other and far apart, as they meet in practice. */
const ADDRESS = fc
  .tuple(
    fc.constantFrom("10.0", "10.1", "10.96", "10.100", "10.244", "172.16", "192.168"),
    fc.nat(255),
    fc.nat(255),
  )
  .map(([network, third, fourth]) => `${network}.${third % 4 === 0 ? third : third % 3}.${fourth}`);
const RANGE = fc
  .tuple(ADDRESS, fc.constantFrom(16, 20, 24, 26, 28, 30, 32))
  .map(([address, length]) => `${address}/${length}`);

/** The same for IPv6: on one link and on others, with pods near them and far apart. */
const ADDRESS6 = fc
  .tuple(fc.constantFrom("fd00:10::", "fd00:10:244::", "fd00:10:96::", "2001:db8:1::", "fe80::"), fc.nat(300))
  .map(([network, host]) => `${network}${host.toString(16)}`);
const RANGE6 = fc
  .tuple(
    fc.constantFrom("fd00:10::", "fd00:10:244::", "fd00:10:244:1::", "fd00:10:96::"),
    fc.constantFrom(48, 64, 112, 120),
  )
  .map(([address, length]) => `${address}/${length}`);

const NODE = fc.record({
  address6: fc.option(ADDRESS6),
  podCIDR6: fc.option(RANGE6),
  address: fc.option(ADDRESS),
  podCIDR: fc.option(RANGE),
  os: fc.constantFrom("windows", "linux"),
  pods: fc.array(ADDRESS, { maxLength: 5 }),
});

function objectsOf(
  nodes: readonly {
    readonly address: string | null;
    readonly podCIDR: string | null;
    readonly os: string;
    readonly pods: readonly string[];
    readonly address6: string | null;
    readonly podCIDR6: string | null;
  }[],
  services: readonly string[],
): readonly KubeObject[] {
  const documents: object[] = [];
  const seen = new Set<string>();
  for (const [index, { address, address6, podCIDR, podCIDR6, os, pods }] of nodes.entries()) {
    const name = `node-${index}`;
    const isNew = address !== null && !seen.has(address);
    if (isNew) seen.add(address);
    documents.push({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name },
      spec: {
        ...(podCIDR === null ? {} : { podCIDR }),
        podCIDRs: [podCIDR, podCIDR6].filter((each) => each !== null),
      },
      status: {
        addresses: [isNew ? address : null, address6].flatMap((each) =>
          each === null ? [] : { type: "InternalIP", address: each },
        ),
        nodeInfo: { operatingSystem: os, kernelVersion: os === "windows" ? "10.0.20348.2582" : "6.1.0" },
      },
    });
    for (const [number, podIP] of pods.entries())
      documents.push({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: `pod-${index}-${number}` },
        spec: { nodeName: name, containers: [{ name: "c", image: "x" }] },
        status: { phase: "Running", podIP },
      });
  }
  for (const [index, clusterIP] of services.entries())
    documents.push({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: `service-${index}` },
      spec: { clusterIP, ports: [{ port: 80 }] },
    });
  const text = documents.map((document) => JSON.stringify(document)).join("\n---\n");
  return loadManifests([{ name: "dump.yaml", text }]).objects.map(({ object }) => object);
}

/** What objects may show of the network, as fields of a cluster file. */
const SHOWN: readonly JsonObject[] = [
  {},
  { plugin: "flannel", backend: "vxlan", vni: 4_096, name: "flannel.4096" },
  { plugin: "flannel", backend: "host-gw" },
  { driver: "Overlay", plugin: "hns", name: "Calico", vni: 4_096 },
  { driver: "Overlay", plugin: "win-overlay" },
];

/** Draws that many dumps. */
export function buildClustersOfDumps(numRuns: number): void {
  fc.assert(
    fc.property(
      fc.array(NODE, { minLength: 1, maxLength: 6 }),
      fc.array(fc.oneof(ADDRESS, ADDRESS6), { maxLength: 4 }),
      fc.constantFrom(...SHOWN),
      (nodes, services, fields) => {
        const shown = { ...NOTHING_SHOWN, fields };
        const { document } = clusterOfManifests(objectsOf(nodes, services), shown);
        const parsed = parseClusterFile(JSON.stringify(document), "derived");
        expect(
          "problems" in parsed ? parsed.problems.map(({ path, message }) => `${path}: ${message}`) : [],
        ).toEqual([]);
      },
    ),
    { numRuns },
  );
}
