/**
 * Clusters that do the same work again and again: what they hold afterwards must not grow. Each collection is counted
 * (`heap-census.ts`); those that may grow stand in a table, with what bounds them.
 */
import { LIMITS } from "#core/base/limits.ts";
import { hcnClientOf } from "#cluster/machines/windows-node.ts";
import { type HeapCensus, grown, takeCensus } from "../heap-census.ts";
import {
  type SessionWorld,
  apply,
  attempt,
  attemptName,
  clusterText,
  deployment,
  openSessionWorld,
  podOf,
  podsOf,
  remove,
  service,
} from "./session-world.ts";

/** What one cycle does. Everything that it makes it takes away again. */
export type Work = (world: SessionWorld, cycle: number) => Promise<void>;

interface Bound {
  /** The begin of the paths that are bounded, behind `.session`. */
  readonly path: RegExp;
  readonly why: string;
}

/** What may grow for a while, and why it ends. */
const BOUNDED: readonly Bound[] = [
  { path: /^\.kube\.plane\.births\.counts/, why: "65 536 names, then the oldest goes (control-plane.ts)" },
  {
    path: /^\.kube\.plane\.store\.histories/,
    why: `${LIMITS.watchHistoryMax} changes of a kind (object-store.ts)`,
  },
  {
    path: /^\.proxies\.objects\.trackers\{\}\.(service|endpoints)Log\.names/,
    why: "twice the Services that there are, at least 2 048 (family-tracker.ts)",
  },
  {
    path: /^\.proxies\.windows\{\}\.proxiers\[\]\.state\.counts\.counts/,
    why: "twice the endpoints that HNS has, and 64 (bound-endpoints.ts)",
  },
  {
    path: /^\.cluster\.(nodes\[\]\.host|outside\[\]).*\.neighbors\.entries/,
    why: `${LIMITS.neighborsPerInterfaceMax} neighbours of an interface (neighbor-table.ts)`,
  },
  {
    path: /^\.cluster\.(nodes\[\]\.host|outside\[\]).*\.nameCache\.answers/,
    why: `${LIMITS.dnsCacheNamesMax} names of a compartment, then the oldest goes (known-names.ts)`,
  },
  {
    path: /^\.cluster\.nodes\[\]\.hns\.context\.shared\.conditions/,
    why: "65 536 front ends, then all go (compile-cache.ts)",
  },
  { path: /^\.flannel\.daemons\{\}\.log\.lines/, why: "1 000 lines (reports.ts)" },
  {
    path: /^\.flannel\.daemons\{\}\.host\.devices\{\}\.nodes/,
    why: "flanneld leaves the MAC that a node's VTEP had before it was made anew, as upstream does",
  },
  {
    path: /^\.proxies\.windows\{\}\.proxiers\[\]\.state\.loadBalancers\.holders\.owned/,
    why: "16 384 identifiers, then the oldest goes (repairing-load-balancers.ts)",
  },
];

function isBounded(line: string): boolean {
  const path = line.replace(/^\.session/, "");
  return BOUNDED.some((bound) => bound.path.test(path));
}

/** Services and Deployments on both systems come, are used by all kinds of senders, and go. */
export async function serve(world: SessionWorld): Promise<void> {
  const ports =
    "[{ name: t, port: 80, targetPort: 8080 }, { name: u, protocol: UDP, port: 80, targetPort: 8080 }]";
  await apply(
    world,
    deployment("web", "windows", 3) +
      deployment("api", "linux", 2) +
      service("web", `type: LoadBalancer, selector: { app: web }, ports: ${ports}`) +
      service("api", `sessionAffinity: ClientIP, selector: { app: api }, ports: ${ports}`),
  );
  const { cluster } = world.session;
  for (const protocol of ["tcp", "udp", "icmp"] as const) {
    attempt(cluster, podOf(world, "web"), podOf(world, "api"), { protocol, port: 8080 });
    attempt(cluster, podOf(world, "web", "win-2"), "external", { protocol, port: 8080 });
    attempt(cluster, podOf(world, "api"), podOf(world, "web"), { protocol, port: 8080 });
  }
  for (const protocol of ["tcp", "udp"] as const) {
    attempt(cluster, podOf(world, "web"), "service/api", { protocol });
    attempt(cluster, podOf(world, "api"), "service/web", { protocol });
    attempt(cluster, "node/win-1", "service/web", { protocol });
    attempt(cluster, "external", "service/web", { protocol });
  }
  await remove(world, "deployment/web", "deployment/api", "service/web", "service/api");
}

/** Neighbours that are not there, each time others, and a long silence. */
export async function scan(world: SessionWorld, cycle: number): Promise<void> {
  await apply(world, deployment("scan", "windows", 1));
  const from = podOf(world, "scan");
  for (let host = 0; host < 8; host++)
    attempt(world.session.cluster, from, `10.0.0.${60 + ((cycle * 8 + host) % 120)}`);
  await remove(world, "deployment/scan");
}

/** HNS restarts, and machines where the network allows it. */
export async function restart(world: SessionWorld): Promise<void> {
  await world.session.changeNode("win-1", { do: "restart-hns" });
  if (world.session.cluster.file.network.plugin === "flannel")
    await world.session.changeNode("win-2", { do: "reboot" });
}

/** Pods that are killed come again under other names. */
export async function kill(world: SessionWorld): Promise<void> {
  await apply(world, deployment("short", "windows", 2) + deployment("brief", "linux", 2));
  for (const prefix of ["short-", "brief-"])
    for (const pod of podsOf(world, prefix)) await remove(world, `pod/${pod.metadata.name}`);
  await remove(world, "deployment/short", "deployment/brief");
}

/** The API server goes away for a while, and comes back. */
export async function lose(world: SessionWorld): Promise<void> {
  await world.session.setApiServer("down");
  await world.session.passTime(60_000);
  await world.session.setApiServer("up");
}

/** Names that are there and names that never are, each time others, from pods and from nodes. */
export async function resolve(world: SessionWorld, cycle: number): Promise<void> {
  const name = `web-${cycle}`;
  await apply(
    world,
    deployment(name, "windows", 1) +
      deployment("asks", "linux", 1) +
      service(name, `selector: { app: ${name} }, ports: [{ port: 80, targetPort: 8080 }]`),
  );
  const { cluster } = world.session;
  for (const from of [podOf(world, name), podOf(world, "asks"), "node/win-1"])
    for (const asked of [`${name}.default.svc.cluster.local`, `${name}.nowhere.example.com`])
      attemptName(cluster, from, asked);
  await remove(world, `deployment/${name}`, "deployment/asks", `service/${name}`);
}

/** When what is written over the API counts as written. */
const START = "2026-01-01T00:00:00Z";

/** Who watches HNS and the API server comes, hears of changes, and goes. */
export async function watch(world: SessionWorld): Promise<void> {
  const { session } = world;
  const source = session.openKubeSource({ now: () => START, inTurn: (work) => work() });
  const stops: (() => void)[] = [];
  for (const kind of ["Pod", "Service", "EndpointSlice"] as const) {
    const { resourceVersion } = await source.list(kind);
    stops.push(source.watch(kind, resourceVersion, () => undefined));
  }
  for (const node of session.cluster.nodes)
    if (node.hns !== undefined)
      for (const scope of ["service", "all"] as const)
        stops.push(hcnClientOf(node).subscribe(() => undefined, scope));
  await kill(world);
  for (const stop of stops) stop();
}

/** Flows and neighbours end with time. */
const SILENCE_MS = 600_000;

async function runCycles(
  world: SessionWorld,
  works: readonly Work[],
  from: number,
  count: number,
): Promise<HeapCensus> {
  for (let cycle = from; cycle < from + count; cycle++)
    for (const work of works) {
      await work(world, cycle);
      await world.session.passTime(SILENCE_MS);
    }
  return takeCensus({ session: world.session });
}

/**
 * Runs three times `count` cycles. @returns the collections that have grown twice and that nothing bounds.
 * `plant`: a work of a test that wants to see that it shows.
 */
export async function findLeaks(
  fields: string,
  works: readonly Work[],
  count: number,
): Promise<readonly string[]> {
  const [ofCluster, ofNodes = ""] = fields.split("|");
  const text = clusterText(ofCluster).replaceAll("os: windows,", `os: windows, ${ofNodes}`);
  const world = await openSessionWorld(text);
  const first = await runCycles(world, works, 0, count);
  const second = await runCycles(world, works, count, count);
  const third = await runCycles(world, works, 2 * count, count);
  const before = new Set(grown(first, second).map(pathOf));
  return grown(second, third).filter((line) => before.has(pathOf(line)) && !isBounded(line));
}

function pathOf(line: string): string {
  return line.slice(0, line.lastIndexOf(": "));
}

/** The networks that are soaked: fields of a cluster file, and behind `|` those of its Windows nodes. */
export const SOAKED: Readonly<Record<string, string>> = {
  L2Bridge: "",
  "L2Bridge with DSR": "kubeProxy: { enableDSR: true }",
  "flannel vxlan": "network: { plugin: flannel, backend: vxlan, vni: 4096, name: vxlan0 }",
  "flannel host-gw": "network: { plugin: flannel, backend: host-gw, name: cbr0 }",
  "flannel vxlan, hardened":
    "network: { plugin: flannel, backend: vxlan, vni: 4096, name: vxlan0 }|compat: hardened,",
};

export const WORKS: readonly Work[] = [serve, scan, kill, lose, restart, resolve, watch];
