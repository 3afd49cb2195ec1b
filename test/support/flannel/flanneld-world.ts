/** Flannelds of some nodes on one virtual clock, with leases in Nodes or in etcd: for tests. */
import { defined } from "#core/base/assert.ts";
import { VirtualClock } from "#core/base/clock.ts";
import type { Compat } from "#core/base/compat.ts";
import type { Environment } from "#core/base/environment.ts";
import { Prng } from "#core/base/prng.ts";
import { MemorySubnetFiles } from "#cluster/flannel/node-files.ts";
import { SimulatedLinuxHost, SimulatedWindowsHost } from "#cluster/flannel/simulated-hosts.ts";
import { memoryPair } from "#dataplane/device/memory-pair.ts";
import type { FlannelHost } from "#programs/flannel/node/flannel-host.ts";
import { KeptLog } from "#programs/flannel/reports.ts";
import { Flanneld, type FlanneldState } from "#programs/flannel/flanneld.ts";
import { DEFAULT_OPTIONS, type FlanneldOptions } from "#programs/flannel/flanneld-options.ts";
import { annotationsOf } from "#programs/flannel/kube/node-lease.ts";
import { KubeLeaseStore } from "#programs/flannel/kube/kube-lease-store.ts";
import { NodeLeases } from "#programs/flannel/kube/node-leases.ts";
import type { LeaseStore } from "#programs/flannel/leases/lease-store.ts";
import { parseNetworkConfig } from "#programs/flannel/network-config.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { getNetworkByName } from "#contracts/hcn/operations.ts";
import { HnsService } from "#hns/service/hns-service.ts";
import { InProcessHcnClient } from "#hns/service/in-process-client.ts";
import type { NetworkingOptions } from "#hns/service/service-context.ts";
import { SwitchDatapath } from "#hns/ports/switch-datapath.ts";
import { formatRoute } from "#dataplane/host/ip/route-table.ts";
import { Host } from "#dataplane/host/host.ts";
import { RuleSet } from "#dataplane/host/netfilter/rule-set.ts";
import { parseProfile } from "#core/catalogue/profiles.ts";
import { parseMac } from "#core/net/mac.ts";
import { ANY_IPV4, parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import { MemoryNodes } from "./memory-nodes.ts";

export interface FlanneldNodeOptions {
  readonly os?: "windows" | "linux";
  readonly compat?: Compat;
  /** Text, or a value that becomes JSON. */
  readonly netConf?: unknown;
  readonly address?: string;
  readonly options?: Partial<FlanneldOptions>;
  /** In place of the annotations of Nodes. */
  readonly store?: LeaseStore;
  readonly prefix?: string;
  readonly setsCondition?: boolean;
  /** Of a Windows node. */
  readonly profile?: string;
  readonly networking?: NetworkingOptions;
  /** Stands between flanneld and HNS, or the machine. */
  readonly wrapClient?: (client: HcnClient) => HcnClient;
  readonly wrapHost?: (host: FlannelHost) => FlannelHost;
  readonly files?: MemorySubnetFiles;
}

/** One machine, which outlives its flanneld. */
export interface Machine {
  readonly host: Host;
  readonly flannelHost: FlannelHost;
  readonly client: HcnClient | undefined;
  readonly files: MemorySubnetFiles;
  readonly rules: RuleSet;
}

export const VXLAN_CONF = {
  Network: "10.244.0.0/16",
  Backend: { Type: "vxlan", VNI: 4096, Port: 4789 },
} as const;
export const HOST_GW_CONF = { Network: "10.244.0.0/16", Backend: { Type: "host-gw" } } as const;

export class FlanneldNode {
  readonly name: string;
  readonly machine: Machine;
  readonly flanneld: Flanneld;
  readonly log: KeptLog = new KeptLog();
  readonly leases: NodeLeases | undefined;
  state: FlanneldState | undefined;
  dueAtMs = 0;
  private readonly world: FlanneldWorld;
  private stopFollowing: (() => void) | undefined;

  constructor(world: FlanneldWorld, name: string, machine: Machine, options: FlanneldNodeOptions) {
    this.world = world;
    this.name = name;
    this.machine = machine;
    const compat = options.compat ?? "upstream";
    const { log } = this;
    let { store } = options;
    if (store === undefined) {
      const text =
        typeof options.netConf === "string" ? options.netConf : JSON.stringify(options.netConf ?? VXLAN_CONF);
      const config = parseNetworkConfig(text);
      const annotations = annotationsOf(options.prefix ?? "flannel.alpha.coreos.com");
      const { clock, nodes: source } = world;
      this.leases = new NodeLeases({ source, clock, annotations, families: config, compat, log });
      store = new KubeLeaseStore({
        source,
        leases: this.leases,
        nodeName: name,
        annotations,
        config,
        setsCondition: options.setsCondition ?? true,
        ...(options.options?.behaviour !== undefined && {
          checksRange: options.options.behaviour.checksRange,
        }),
        compat,
        log,
        clock,
        epochMs: Date.UTC(2026, 0, 2, 3, 4, 5),
      });
    }
    this.flanneld = new Flanneld({
      store,
      host: options.wrapHost?.(machine.flannelHost) ?? machine.flannelHost,
      client:
        machine.client === undefined ? undefined : (options.wrapClient?.(machine.client) ?? machine.client),
      files: machine.files,
      log,
      options: { ...DEFAULT_OPTIONS, ...options.options, compat },
    });
  }

  /** The texts of its log, each with its mark. */
  lines(): readonly string[] {
    return this.log.lines.map(({ severity, text }) => `${severity} ${text}`);
  }

  /** One call of `advance`, and what follows from it. */
  async step(): Promise<void> {
    const { nowMs } = this.world.clock;
    this.state = await this.flanneld.advance(nowMs);
    if (this.flanneld.needsFollowing) {
      this.stopFollowing?.();
      this.stopFollowing = await this.flanneld.follow(() => {
        this.dueAtMs = 0;
      });
      this.state = await this.flanneld.advance(nowMs);
    }
    this.dueAtMs = this.due(nowMs);
  }

  /** Ends it as a signal does: nothing of what it has made is taken away. */
  stop(): void {
    this.stopFollowing?.();
    this.leases?.stop();
    this.state = undefined;
    this.dueAtMs = Number.POSITIVE_INFINITY;
  }

  private due(nowMs: number): number {
    if (this.state?.state === "waiting") return nowMs + this.state.retryAfterMs;
    if (this.state?.state === "running" && this.state.nextMs !== undefined) return nowMs + this.state.nextMs;
    return Number.POSITIVE_INFINITY;
  }
}

export class FlanneldWorld {
  readonly clock: VirtualClock = new VirtualClock();
  readonly env: Environment = { clock: this.clock, prng: new Prng(11), recorder: undefined };
  readonly nodes: MemoryNodes = new MemoryNodes();
  readonly flannelds: FlanneldNode[] = [];
  private count = 0;

  /** A machine with one adapter and a default route. */
  machine(name: string, options: FlanneldNodeOptions = {}): Machine {
    const os = options.os ?? "windows";
    const host = new Host(this.env, { name, os });
    const { root } = host;
    const mac = defined(parseMac(`00-22-48-00-00-${(0x10 + this.count++).toString(16)}`), "it is a MAC");
    const adapterName = os === "windows" ? "Ethernet" : "eth0";
    const [device] = memoryPair(this.clock, { delayMs: 0 });
    const adapter = root.addInterface({ name: adapterName, device, mac });
    const address = defined(
      parseInterfaceAddress(`${options.address ?? "10.0.0.11"}/24`),
      "it is an address",
    );
    root.addAddress(adapter, address);
    const nextHop = defined(parseIp("10.0.0.1"), "it is an address");
    root.addRoute({ prefix: ANY_IPV4, nextHop, interface: adapter, metric: 0 });
    const files = options.files ?? new MemorySubnetFiles();
    const rules = new RuleSet();
    if (os === "linux") {
      root.setForwarding(true);
      root.enableNetfilter().use(rules);
      const flannelHost = new SimulatedLinuxHost({ env: this.env, name, compartment: root, rules });
      return { host, flannelHost, client: undefined, files, rules };
    }
    const service = new HnsService(this.env, {
      node: name,
      windows: defined(parseProfile(options.profile ?? "ws2022"), "it is a profile"),
      datapath: new SwitchDatapath(this.env, host),
      adapters: [{ name: adapterName, device, mac, addresses: [address] }],
      ...(options.networking !== undefined && { networking: options.networking }),
    });
    const client = new InProcessHcnClient(service);
    return { host, flannelHost: new SimulatedWindowsHost(root), client, files, rules };
  }

  /** A flanneld on a machine of its own, or on one that is there. Its Node has to be put first. */
  flanneld(name: string, options: FlanneldNodeOptions = {}, machine?: Machine): FlanneldNode {
    const node = new FlanneldNode(this, name, machine ?? this.machine(name, options), options);
    // So that nobody has to wait a second until flanneld looks again.
    node.leases?.start();
    this.flannelds.push(node);
    return node;
  }

  /** Lets time pass, and everybody do what is due. */
  async run(ms = 0): Promise<void> {
    const endMs = this.clock.nowMs + ms;
    for (;;) {
      await this.settle();
      const next = Math.min(
        ...this.flannelds.map(({ dueAtMs }) => dueAtMs),
        this.clock.nextAtMs() ?? Infinity,
      );
      if (next > endMs) break;
      this.clock.runUntil(next);
    }
    this.clock.runUntil(endMs);
    await this.settle();
  }

  private async settle(): Promise<void> {
    for (let turns = 0; turns < 1_000; turns++) {
      // What a store does in the background has its promises behind it then.
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      const due = this.flannelds.filter(({ dueAtMs }) => dueAtMs <= this.clock.nowMs);
      if (due.length === 0) return;
      for (const node of due) await node.step();
    }
    throw new Error("flanneld does not come to rest");
  }
}

/** The annotations of a node that has taken its lease. */
export function published(
  backendType: string,
  publicIp: string,
  backendData: string,
): Readonly<Record<string, string>> {
  return {
    "flannel.alpha.coreos.com/kube-subnet-manager": "true",
    "flannel.alpha.coreos.com/backend-type": backendType,
    "flannel.alpha.coreos.com/backend-data": backendData,
    "flannel.alpha.coreos.com/public-ip": publicIp,
  };
}

/** What a node with vxlan publishes. */
export function vxlanPeer(publicIp: string, mac: string, vni = 4096): Readonly<Record<string, string>> {
  return published("vxlan", publicIp, JSON.stringify({ VNI: vni, VtepMAC: mac }));
}

/** The ways to other nodes that HNS has: `10.244.2.0/24 10.0.0.12 aa:bb:… 4096`. */
export async function remoteSubnetsOf(
  client: HcnClient | undefined,
  name: string,
): Promise<readonly string[]> {
  const network = await getNetworkByName(defined(client, "a Windows node has HNS"), name);
  return (network.Policies ?? [])
    .filter(({ Type }) => Type === "RemoteSubnetRoute")
    .map(({ Settings = {} }) => {
      const {
        DestinationPrefix: prefix,
        ProviderAddress: address,
        DistributedRouterMacAddress: mac,
        IsolationId: vni,
      } = Settings as Record<string, string | number>;
      return `${prefix} ${address} ${mac} ${vni}`;
    })
    .toSorted();
}

/** The routes of a machine by next hops: `10.244.2.0/24 via 10.0.0.12 on eth0`. */
export function routesOf({ host }: Machine): readonly string[] {
  return host.root
    .listRoutes()
    .filter(({ nextHop, prefix }) => nextHop !== undefined && prefix.length > 0)
    .map(formatRoute);
}
