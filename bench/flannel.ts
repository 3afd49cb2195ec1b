/**
 * What does it cost to bring a cluster up with flannel, where each node learns of every other, and what does one more node
 * cost the others? Per pair of nodes and per other node, against the size before: a ratio near 1 says that a lease costs
 * what a lease costs. Sizes of minutes with BENCH_LARGE=1.
 */
import { defined } from "#core/base/assert.ts";
import { builtInObjects } from "#cluster/session/built-in-objects.ts";
import type { Cluster } from "#cluster/cluster.ts";
import { parseClusterFile } from "#cluster/file/parse-cluster-file.ts";
import { FlannelDaemons } from "#cluster/flannel/flannel-daemons.ts";
import { raiseMachines } from "#cluster/machines/raise-machines.ts";
import { hcnClientOf } from "#cluster/machines/windows-node.ts";
import { getNetworkByName } from "#contracts/hcn/operations.ts";
import { MemoryKubeSource } from "#control-plane/memory/memory-kube-source.ts";
import { publishFigure } from "./measure.ts";
import { MemoryKube } from "#control-plane/memory/memory-kube.ts";

const SIZES = process.env["BENCH_LARGE"] === "1" ? [2, 100, 200, 500] : [2, 50, 100];

function clusterText(nodes: number, backend: string): string {
  const lines = Array.from({ length: nodes }, (_, index) => {
    const os = index % 2 === 0 ? "os: windows, build: ws2022" : "os: linux";
    return `  - {name: n${index}, ${os}, address: 10.0.${Math.floor(index / 200)}.${(index % 200) + 1}}`;
  });
  return `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: flannel}
underlay: {subnet: 10.0.0.0/16, router: 10.0.255.254}
network: {plugin: flannel, backend: ${backend}, clusterCIDR: 10.128.0.0/9}
nodes:
${lines.join("\n")}
`;
}

/** Processor time of this process in milliseconds. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

async function timed(work: () => Promise<void>): Promise<number> {
  const before = processorMs();
  await work();
  return processorMs() - before;
}

/** The ways to other nodes that the first node, a Windows one, has. */
async function waysOf(cluster: Cluster): Promise<number> {
  const [node] = cluster.nodes;
  const first = defined(node, "there are nodes");
  const { network } = cluster.file;
  if (network.backend === "host-gw")
    return first.host.root
      .listRoutes()
      .filter(({ prefix, nextHop }) => prefix.length === 24 && nextHop !== undefined).length;
  const { Policies = [] } = await getNetworkByName(hcnClientOf(first), network.name);
  return Policies.filter(({ Type }) => Type === "RemoteSubnetRoute").length;
}

async function expectWays(cluster: Cluster, wanted: number): Promise<void> {
  const found = await waysOf(cluster);
  if (found !== wanted) throw new Error(`the first node has ${found} ways to others, not ${wanted}`);
}

interface Figures {
  readonly size: number;
  readonly bringUpMs: number;
  readonly joinMs: number;
}

async function measure(size: number, backend: string): Promise<Figures> {
  const parsed = parseClusterFile(clusterText(size, backend), "bench.yaml");
  if (!("cluster" in parsed)) throw new Error(parsed.problems[0]?.message);
  const { cluster, files } = await raiseMachines(parsed.cluster);
  const kube = new MemoryKube(cluster.env.prng.derive("kubernetes"), { clusterCIDRs: [], serviceCIDRs: [] });
  kube.apply(builtInObjects(parsed.cluster, []));
  const source = new MemoryKubeSource(kube);
  const daemons = new FlannelDaemons(cluster, source, files);
  const bringUpMs = await timed(() => daemons.start());
  await expectWays(cluster, size - 1);
  const last = { namespace: "", name: `n${size - 1}` };
  const { metadata, spec = {}, status = {} } = await source.get("Node", last);
  await source.delete("Node", last);
  await daemons.sync();
  await expectWays(cluster, size - 2);
  const { name, labels, annotations } = metadata;
  const joinMs = await timed(async () => {
    await source.create("Node", { metadata: { name, labels, annotations } as object, spec, status });
    await daemons.sync();
  });
  await expectWays(cluster, size - 1);
  return { size, bringUpMs, joinMs };
}

export async function run(): Promise<void> {
  for (const backend of ["vxlan", "host-gw"]) {
    process.stdout.write(`\nflannel, backend ${backend}: half Windows, half Linux\n`);
    let before: Figures | undefined;
    for (const size of SIZES) {
      const figures = await measure(size, backend);
      const pairUs = (of: Figures): number => (of.bringUpMs * 1_000) / (of.size * (of.size - 1));
      const joinUs = (of: Figures): number => (of.joinMs * 1_000) / (of.size - 1);
      if (before !== undefined && before.size >= 10) {
        publishFigure(`flannel, ${backend}, ${size} nodes`, "a pair", pairUs(figures) / pairUs(before));
        publishFigure(`flannel, ${backend}, ${size} nodes`, "one joins", joinUs(figures) / joinUs(before));
      }
      const ratio = (of: (figures: Figures) => number): string =>
        before === undefined || before.size < 10 ? "" : `${(of(figures) / of(before)).toFixed(2)} ×`;
      process.stdout.write(
        `  ${String(size).padStart(4)} nodes  bring-up ${figures.bringUpMs.toFixed(0).padStart(7)} ms, ${pairUs(figures).toFixed(0).padStart(6)} µs a pair ${ratio(pairUs).padStart(8)}   ` +
          `one node joins ${figures.joinMs.toFixed(1).padStart(7)} ms, ${joinUs(figures).toFixed(0).padStart(6)} µs for each other ${ratio(joinUs).padStart(8)}\n`,
      );
      before = figures;
    }
  }
}
