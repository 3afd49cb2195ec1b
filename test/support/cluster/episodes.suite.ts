/**
 * Seeded episodes in the life of a cluster with flannel: nodes leave, join with other ranges, reboot, are off for a while
 * and lose HNS; the API server has outages, clocks jump. After each, when everybody is back, leases, policies of HNS,
 * and neighbours, forwarding entries and routes of Linux agree, and all pods run.
 */
import type { Compat } from "#core/base/compat.ts";
import { Prng } from "#core/base/prng.ts";
import { RESTART_STATES } from "#hns/failures/faults/fault.ts";
import { disagreements } from "../flannel/flannel-agreement.ts";
import {
  type SessionWorld,
  attempt,
  deployment,
  describe,
  openSessionWorld,
  podsOf,
  remove,
} from "./session-world.ts";
import { formatIp } from "#core/net/ip.ts";
import { forkCluster } from "#cluster/cluster.ts";
import { inventoryEndpoints } from "#cluster/views/inventory.ts";
import type { NodeChange } from "#cluster/life/node-change.ts";

const WINDOWS = ["win-1", "win-2", "win-3"] as const;
const LINUX = ["linux-1", "linux-2"] as const;
const NODES: readonly string[] = [...WINDOWS, ...LINUX];
const EVENTS_MAX = 6;
/** `hardened` compares once a minute, and tries again within a minute. */
const HEAL_MS = 130_000;
const DAY_MS = 86_400_000;

function clusterText(backend: string, compat: Compat, seed: number): string {
  const node = (name: string, index: number): string =>
    `  - { name: ${name}, os: ${name.startsWith("win") ? "windows, build: ws2022" : "linux"}, compat: ${compat}, address: 10.0.0.${index + 11} }`;
  return `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: episodes }
seed: ${seed}
nodes:
${NODES.map(node).join("\n")}
network: { plugin: flannel, backend: ${backend} }
`;
}

/** One cluster that lives through episode after episode. */
class Episodes {
  readonly world: SessionWorld;
  /** What has happened in this episode, for whoever has to find out why it ended badly. */
  events: string[] = [];
  private readonly prng: Prng;
  private readonly standings = new Map<string, "stopped" | "left" | "deleted">();
  private isApiUp = true;

  constructor(world: SessionWorld, seed: number) {
    this.world = world;
    this.prng = new Prng(seed);
  }

  async run(): Promise<void> {
    this.events = [];
    const count = 1 + this.prng.below(EVENTS_MAX);
    for (let index = 0; index < count; index++) await this.happen();
    await this.heal();
  }

  private choose<T>(items: readonly T[]): T {
    return items[this.prng.below(items.length)] as T;
  }

  private async happen(): Promise<void> {
    const { session } = this.world;
    const kind = this.prng.below(10);
    if (kind === 0) return this.setApi(!this.isApiUp);
    if (kind === 1) {
      const ms = 1 + this.prng.below(90_000);
      this.events.push(`${ms} ms pass`);
      await session.passTime(ms);
      return;
    }
    const node = this.choose(NODES);
    if (kind === 2 && this.isApiUp && !this.standings.has(node)) {
      this.events.push(`Node ${node} is deleted while it runs`);
      this.standings.set(node, "deleted");
      await remove(this.world, `node/${node}`);
      return;
    }
    await this.change(node, this.possible(node));
  }

  private async change(node: string, change: NodeChange): Promise<void> {
    this.events.push(`${node}: ${JSON.stringify(change)}`);
    await this.world.session.changeNode(node, change);
    if (change.do === "stop") this.standings.set(node, "stopped");
    if (change.do === "leave") this.standings.set(node, "left");
    // A kubelet that begins registers its Node.
    const isBack = change.do === "start" || change.do === "rejoin" || change.do === "reboot";
    if (isBack && this.standings.get(node) !== "left") this.standings.delete(node);
    if (change.do === "rejoin") this.standings.delete(node);
  }

  private possible(node: string): NodeChange {
    const clock: NodeChange = { do: "set-clock", byMs: this.prng.below(2 * DAY_MS) - DAY_MS };
    const hns: readonly NodeChange[] = node.startsWith("win")
      ? [{ do: "restart-hns" }, { do: "restart-hns", state: this.choose(RESTART_STATES) }]
      : [];
    const standing = this.standings.get(node);
    if (standing === "stopped") return this.choose([{ do: "start" }, clock]);
    if (standing === "left")
      return this.choose([{ do: "reboot" }, ...hns, ...(this.isApiUp ? [this.rejoin()] : [clock])]);
    const leave: readonly NodeChange[] = this.isApiUp && standing === undefined ? [{ do: "leave" }] : [];
    return this.choose([{ do: "reboot" }, { do: "stop" }, clock, ...leave, ...hns]);
  }

  /** With its range, or with a free one. */
  private rejoin(): NodeChange {
    if (this.prng.below(3) === 0) return { do: "rejoin" };
    const taken = this.world.session.cluster.file.nodes.map(
      ({ podCIDR }) => (Number(podCIDR.address) >>> 8) & 0xff,
    );
    const free = Array.from({ length: 32 }, (_, third) => third).filter((third) => !taken.includes(third));
    return { do: "rejoin", podCIDR: `10.244.${this.choose(free)}.0/24` };
  }

  private async setApi(isUp: boolean): Promise<void> {
    this.events.push(`the API server is ${isUp ? "up" : "down"}`);
    this.isApiUp = isUp;
    await this.world.session.setApiServer(isUp ? "up" : "down");
  }

  /** Everybody comes back, and time passes. */
  private async heal(): Promise<void> {
    if (!this.isApiUp) await this.setApi(true);
    const away = [...this.standings];
    for (const [node, standing] of away)
      await this.change(
        node,
        standing === "stopped" ? { do: "start" } : standing === "left" ? this.rejoin() : { do: "reboot" },
      );
    await this.world.session.passTime(HEAL_MS);
  }
}

/** What pods have, and nobody else: an endpoint of HNS, an address in host-local's book; and who does not reach whom. */
async function leftovers(world: SessionWorld): Promise<readonly string[]> {
  const { cluster } = world.session;
  const found: string[] = [];
  const pods = cluster.pods.filter(({ namespaceId }) => namespaceId !== undefined);
  const owned = new Set(pods.map(({ spec, node }) => `${node.spec.name} ${spec.namespace}_${spec.name}`));
  for (const { node, object } of await inventoryEndpoints(cluster)) {
    const { Name = "" } = object;
    const isPods = Name.startsWith("default_");
    if (isPods && !owned.has(`${node} ${Name.replace(/_[^_]+$/, "")}`))
      found.push(`${node} has endpoint ${Name}`);
  }
  for (const [node, addresses] of Object.entries(await world.leases())) {
    const own = pods.filter((pod) => pod.node.spec.name === node).map(({ address }) => formatIp(address));
    const spare = addresses.filter((address) => !own.includes(address));
    // The source VIP of kube-proxy.
    if (spare.length > (cluster.file.network.backend === "vxlan" ? 1 : 0))
      found.push(`${node} has reserved ${spare.join(", ")} for nobody`);
  }
  const copy = forkCluster(cluster);
  const linux = podsOf(world, "lin").map(({ metadata }) => `pod/default/${metadata.name}`);
  for (const { metadata } of podsOf(world, "win")) {
    const windows = `pod/default/${metadata.name}`;
    for (const other of linux)
      for (const [from, to] of [
        [windows, other],
        [other, windows],
      ] as const) {
        const answer = describe(attempt(copy, from, to, { port: 8080 }));
        if (!answer.includes(" saw ")) found.push(`${from} does not reach ${to}: ${answer}`);
      }
  }
  return found;
}

/** What upstream has left of `count` episodes: a line for each kind of it, without names, addresses and MACs. */
export async function leftByUpstream(
  backend: string,
  seed: number,
  count: number,
): Promise<readonly string[]> {
  const world = await openSessionWorld(clusterText(backend, "upstream", seed));
  const episodes = new Episodes(world, seed);
  const kinds = new Set<string>();
  for (let index = 1; index <= count; index++) {
    await episodes.run();
    for (const line of await disagreements(world))
      kinds.add(
        line
          .replace(/-[0-9]+/, "")
          .replaceAll(/([0-9a-f]{2}:){5}[0-9a-f]{2}/g, "MAC")
          .replaceAll(/[0-9]+([.][0-9]+){3}([/][0-9]+)?/g, "IP"),
      );
  }
  return [...kinds].toSorted();
}

/** `count` episodes in one cluster. @returns what is wrong after the first one that ends badly, with what happened in it. */
export async function liveThrough(backend: string, seed: number, count: number): Promise<readonly string[]> {
  const pods = deployment("win", "windows", 3) + deployment("lin", "linux", 2);
  const world = await openSessionWorld(clusterText(backend, "hardened", seed), pods);
  const episodes = new Episodes(world, seed);
  for (let index = 1; index <= count; index++) {
    await episodes.run();
    const waiting = podsOf(world, "")
      .filter(({ status }) => status?.phase !== "Running")
      .map(({ metadata }) => `pod ${metadata.name} does not run`);
    const notes = world.session.notes().map(({ message }) => message);
    const wrong = [...(await disagreements(world)), ...(await leftovers(world)), ...waiting, ...notes];
    if (wrong.length > 0)
      return [`episode ${index} of seed ${seed}, ${backend}: ${episodes.events.join("; ")}`, ...wrong];
  }
  return [];
}
