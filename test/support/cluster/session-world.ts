/** Running clusters for tests: texts in, objects applied and deleted, flows asked in copies, state as plain values. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defined } from "#core/base/assert.ts";
import { type Cluster, forkCluster } from "#cluster/cluster.ts";
import { findTraceEnd } from "#cluster/trace/find-trace-end.ts";
import { readInput } from "#cluster/input/read-input.ts";
import { inventoryEndpoints, inventoryLoadBalancers, inventoryNamespaces } from "#cluster/views/inventory.ts";
import { runAttempt } from "#cluster/trace/attempts.ts";
import { raiseMachines } from "#cluster/machines/raise-machines.ts";
import { type BeginReport, RunningCluster } from "#cluster/session/running-cluster.ts";
import type { ApplyReport, DeleteReport } from "#cluster/session/session.ts";
import type { ProbeProtocol } from "#cluster/trace/trace-report.ts";
import { WindowsKubelet } from "#cluster/machines/windows-pods.ts";
import { LinuxBridge } from "#dataplane/fabric/linux-bridge.ts";
import { LAYER_NAMES } from "#hns/compile/layers.ts";
import { ServiceContext } from "#hns/service/service-context.ts";
import { SwitchDatapath } from "#hns/ports/switch-datapath.ts";
import { NameProbe } from "../dataplane/name-probe.ts";
import type { ProbeResult } from "#dataplane/host/probes/probe.ts";
import { parseIdentification } from "#dataplane/host/services/identification-server.ts";
import type { FileProblem } from "#core/catalogue/file-problem.ts";
import { KUBE_KINDS, findKind } from "#contracts/kubernetes/kinds.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import { formatIp, formatPrefix, parseIp } from "#core/net/ip.ts";
import { DEFAULT_DATA_DIR } from "#programs/plugins/host-local/plugin.ts";

/** A dump of a cluster among `dumps/`. */
export function dumpText(name: string): string {
  return readFileSync(join(import.meta.dirname, "dumps", `${name}.yaml`), "utf8");
}

export interface SessionWorld {
  readonly session: RunningCluster;
  readonly begun: BeginReport;
  /** Notes of reading the texts. */
  readonly read: readonly FileProblem[];
  /** Addresses that IPAM has given to pods, by Windows node. */
  leases(): Promise<Readonly<Record<string, readonly string[]>>>;
}

/** Two Windows nodes and a Linux node, with a pool for load balancers. */
export function clusterText(fields = "", build = "ws2022"): string {
  return `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: test }
nodes:
  - { name: win-1, os: windows, build: ${build}, address: 10.0.0.11 }
  - { name: win-2, os: windows, build: ${build}, address: 10.0.0.12 }
  - { name: linux-1, os: linux, address: 10.0.0.21 }
loadBalancers: { pool: 198.51.100.0/28 }
${fields}
`;
}

/** A Deployment of pods that answer on `ports` (`8080`, `5353/UDP`), on the nodes of one system. */
export function deployment(
  name: string,
  os: "windows" | "linux",
  replicas: number,
  options: { readonly ports?: readonly string[]; readonly pod?: string } = {},
): string {
  const { ports = ["8080", "8080/UDP"], pod = "" } = options;
  const written = ports.map((text) => {
    const [port = "", protocol = "TCP"] = text.split("/");
    return `{ containerPort: ${port}, protocol: ${protocol} }`;
  });
  return `
apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name} }
spec:
  replicas: ${replicas}
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} } }
    spec:
      nodeSelector: { kubernetes.io/os: ${os} }
      containers: [{ name: c, image: server, ports: [${written.join(", ")}] }]
      ${pod}
---`;
}

/** A Service; `spec` is the inside of a flow mapping. */
export function service(name: string, spec: string): string {
  return `
apiVersion: v1
kind: Service
metadata: { name: ${name} }
spec: { ${spec} }
---`;
}

/** Opens the cluster that the texts describe; fails when nothing can be built of them. */
export async function openSessionWorld(...texts: readonly string[]): Promise<SessionWorld> {
  const result = readInput(texts.map((text, index) => ({ name: `${index + 1}.yaml`, text })));
  if (!("input" in result)) throw new Error(result.problems.map(({ message }) => message).join("\n"));
  const { file, objects, notes, problems } = result.input;
  const machines = await raiseMachines(file);
  const session = new RunningCluster(machines);
  const begun = await session.begin(objects);
  const leases: SessionWorld["leases"] = async () => {
    const rows: Record<string, readonly string[]> = {};
    for (const [name, kubelet] of machines.kubelets) {
      if (!(kubelet instanceof WindowsKubelet)) continue;
      const network = { name: file.network.name, dataDir: DEFAULT_DATA_DIR };
      rows[name] = await kubelet.leases.withLeases(network, "existing", (held) =>
        held.list().map(({ ip }) => formatIp(ip)),
      );
    }
    return rows;
  };
  return { session, begun, read: [...problems, ...notes], leases };
}

/** Applies manifests; fails when the reader has a problem with them. */
export async function apply({ session }: SessionWorld, text: string): Promise<ApplyReport> {
  const { objects, problems } = loadManifests([{ name: "applied.yaml", text }]);
  if (problems.length > 0) throw new Error(problems.map(({ message }) => message).join("\n"));
  return session.apply(objects);
}

/** Deletes objects named as `deployment/web`, `pod/shop/web`. */
export async function remove({ session }: SessionWorld, ...names: readonly string[]): Promise<DeleteReport> {
  return session.delete(
    names.map((text) => {
      const parts = text.split("/");
      const kind = defined(findKind(parts[0] ?? ""), `a kind ${text}`);
      const name = defined(parts.at(-1), "a name");
      const isNamespaced = kind !== "Node" && kind !== "Namespace";
      return { kind, namespace: isNamespaced ? (parts.length > 2 ? (parts[1] ?? "") : "default") : "", name };
    }),
  );
}

/** Pods whose name begins with `prefix`, by name. */
export function podsOf({ session }: SessionWorld, prefix: string): readonly Pod[] {
  return session.cluster.objects.Pod.filter(({ metadata }) => metadata.name.startsWith(prefix));
}

/** `pod/default/NAME` of the first pod with that prefix, on `node` if given. */
export function podOf(world: SessionWorld, prefix: string, node?: string): string {
  const found = podsOf(world, prefix).find(({ spec }) => node === undefined || spec?.nodeName === node);
  const { metadata } = defined(found, `a pod ${prefix} on ${node ?? "any node"}`);
  return `pod/${metadata.namespace}/${metadata.name}`;
}

/** How an attempt ended: who answered (pods without the generated end of their names) and whom they saw. */
export function describe(result: ProbeResult): string {
  if (result.outcome !== "answered") return result.outcome;
  const said = parseIdentification(result.answer);
  return said === undefined
    ? "answered"
    : `${said.name.replace(/-[a-z0-9]{7,10}-[a-z0-9]{5}$/, "")} saw ${formatIp(said.clientIp)}`;
}

export interface Question {
  readonly protocol?: ProbeProtocol;
  readonly port?: number;
}

/** One attempt in a copy of the cluster; `to` is a name as `trace` takes it, or an address. */
export function ask(world: SessionWorld, from: string, to: string, question: Question = {}): string {
  return describe(attempt(forkCluster(world.session.cluster), from, to, question));
}

/** One attempt in `cluster` itself. */
export function attempt(cluster: Cluster, from: string, to: string, question: Question = {}): ProbeResult {
  const { protocol = "tcp", port = 80 } = question;
  const sender = defined(findTraceEnd(cluster, from).compartment, `${from} sends`);
  const target = parseIp(to) ?? findTraceEnd(cluster, to).ip;
  return runAttempt(cluster, { from: sender, to: target, protocol, port, isFollowed: false });
}

/** Names of the servers that answer `count` attempts, made one after the other in one copy: `web-….` and `x2`. */
export function askMany(
  world: SessionWorld,
  from: string,
  to: string,
  count: number,
  question: Question = {},
): readonly string[] {
  const copy = forkCluster(world.session.cluster);
  const names = new Set<string>();
  for (let index = 0; index < count; index++) {
    const result = attempt(copy, from, to, question);
    const said = result.outcome === "answered" ? parseIdentification(result.answer) : undefined;
    names.add(said?.name ?? result.outcome);
  }
  return [...names].toSorted();
}

/** Resolves `name` and asks its first address, in a copy: `web saw …`, or why the name does not resolve. */
export function askName(world: SessionWorld, from: string, name: string, question: Question = {}): string {
  return attemptName(forkCluster(world.session.cluster), from, name, question);
}

/** The same in this cluster, which remembers it. */
export function attemptName(cluster: Cluster, from: string, name: string, question: Question = {}): string {
  const { protocol = "tcp", port = 80 } = question;
  const compartment = defined(findTraceEnd(cluster, from).compartment, `${from} sends`);
  const probe = new NameProbe({ compartment, name, protocol, port });
  probe.start();
  const endMs = cluster.clock.nowMs + 120_000;
  while (probe.result === undefined && cluster.clock.nowMs < endMs && cluster.clock.step());
  const { resolution, result } = probe;
  if (resolution?.outcome === "failed") return `no such name: ${resolution.code}`;
  return describe(defined(result, "a probe ends"));
}

/** What a cluster holds beyond what every fresh one has; two clusters with equal objects have equal states. */
export async function stateOf(world: SessionWorld): Promise<unknown> {
  const { cluster } = world.session;
  const endpoints = await inventoryEndpoints(cluster);
  const namespaces = await inventoryNamespaces(cluster);
  const loadBalancers = await inventoryLoadBalancers(cluster);
  return {
    objects: KUBE_KINDS.map((kind) => [
      kind,
      cluster.objects[kind].map(({ metadata: { namespace, name } }) => `${namespace}/${name}`),
    ]),
    pods: cluster.pods.map(({ spec }) => `${spec.namespace}/${spec.name}`).toSorted(),
    endpoints: endpoints
      .map(({ node, object }) => `${node} ${object.Name} ${object.IpConfigurations?.[0]?.IpAddress}`)
      .toSorted(),
    namespaces: namespaces.length,
    loadBalancers: loadBalancers
      .map(({ node, object }) => `${node} ${JSON.stringify(object.FrontendVIPs)}`)
      .toSorted(),
    leases: await world.leases(),
    routes: cluster.underlay.router.compartment
      .listRoutes()
      .map(
        ({ prefix, nextHop }) => `${formatPrefix(prefix)} ${nextHop === undefined ? "" : formatIp(nextHop)}`,
      ),
    machines: cluster.nodes.map(({ spec, host, hns }) => ({
      name: spec.name,
      compartments: host.listCompartments().map(({ name }) => name),
      bridges: host.root
        .listInterfaces()
        .map((each) => [each.name, each.bridge instanceof LinuxBridge ? each.bridge.switch.listPorts() : []]),
      rules: host.root.netfilter?.listRuleOwners().toSorted() ?? [],
      ports: Object.values(hns ?? {}).flatMap(switchPortsOf),
    })),
  };
}

/** Ports of the switches of a service's context, with the number of rules in each layer. */
function switchPortsOf(context: unknown): readonly string[] {
  if (!(context instanceof ServiceContext) || !(context.datapath instanceof SwitchDatapath)) return [];
  return context.datapath.listSwitches().flatMap((each) =>
    each.listPorts().map(({ kind, vfp }) => {
      const counts = LAYER_NAMES.map((name) => {
        const groups = vfp.getLayer(name)?.groups ?? [];
        return groups.reduce((sum, { rules }) => sum + rules.length, 0);
      });
      return `${kind}: ${counts.join(" ")}`;
    }),
  );
}
