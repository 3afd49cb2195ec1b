/** The program `kube-proxy` in this process: an HNS in memory, manifests in memory, sockets and a clock that stand still. */
import { VirtualClock } from "#core/base/clock.ts";
import { openFeed } from "#cli/kube-proxy/open-feed.ts";
import { type ProgramProcess, runKubeProxy } from "#cli/kube-proxy/program.ts";
import {
  createEndpoint,
  createNetwork,
  listEndpoints,
  listLoadBalancers,
} from "#contracts/hcn/operations.ts";
import { type LocalHns, createHns } from "#hns/local-hns.ts";
import type { ObjectFeed } from "#programs/kube-proxy/daemon/object-feed.ts";
import type { HttpAnswer, HttpHandler } from "#programs/kube-proxy/daemon/health/http-answer.ts";
import { MemoryTerminal } from "../cli/memory-terminal.ts";

/** The HNS network of this node. */
export const NETWORK = "cbr0";

const ADAPTER = { name: "Ethernet", addresses: ["10.0.0.11/24"] };
const POD_RANGE = "10.244.1.0/24";

export interface ProgramSettings {
  readonly argv: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
  readonly variables?: Readonly<Record<string, string>>;
  /** Default: one with the network `cbr0` and a pod 10.244.1.4. */
  readonly hns?: LocalHns;
  /** In place of files, or of the API server that a kubeconfig names. */
  readonly feed?: (clock: VirtualClock) => ObjectFeed;
  /** Addresses that are taken. */
  readonly taken?: ReadonlySet<string>;
}

/** An HNS on L2Bridge with one pod of this node. */
export async function nodeWithPod(): Promise<LocalHns> {
  const hns = createHns({ adapters: [ADAPTER] });
  await addNetwork(hns);
  return hns;
}

/** The same with both families: the pod is fd00:1::4, too. */
export async function nodeWithDualPod(): Promise<LocalHns> {
  const hns = createHns({ adapters: [ADAPTER] });
  await addNetwork(hns, [IPV4, { range: "fd00:1::/64", hop: "fd00:1::1", others: "::/0", pod: "fd00:1::4" }]);
  return hns;
}

/** One family of the network, with the address of its pod. */
interface PodFamily {
  readonly range: string;
  readonly hop: string;
  readonly others: string;
  readonly pod: string;
}

const IPV4: PodFamily = { range: POD_RANGE, hop: "10.244.1.1", others: "0.0.0.0/0", pod: "10.244.1.4" };

export async function addNetwork(hns: LocalHns, families: readonly PodFamily[] = [IPV4]): Promise<void> {
  const network = await createNetwork(hns.client, {
    Name: NETWORK,
    Type: "L2Bridge",
    Policies: [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: ADAPTER.name } }],
    Ipams: [
      {
        Type: "Static",
        Subnets: families.map(({ range, hop, others }) => ({
          IpAddressPrefix: range,
          Routes: [{ NextHop: hop, DestinationPrefix: others }],
        })),
      },
    ],
    SchemaVersion: { Major: 2, Minor: 0 },
  });
  await createEndpoint(hns.client, network.ID ?? "", {
    Name: "pod",
    IpConfigurations: families.map(({ pod, range }) => ({
      IpAddress: pod,
      PrefixLength: Number(range.split("/")[1]),
    })),
    SchemaVersion: { Major: 2, Minor: 0 },
  });
}

function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** One run of the program. */
export class ProgramRun {
  readonly clock: VirtualClock = new VirtualClock();
  readonly terminal: MemoryTerminal;
  /** Open servers by address. */
  readonly servers: Map<string, HttpHandler> = new Map();
  /** Set when the program has ended. */
  exitCode: 0 | 1 | undefined;
  readonly ended: Promise<0 | 1>;
  readonly hns: LocalHns | undefined;
  private readonly watched = new Map<string, () => void>();

  constructor({ argv, files = {}, variables = {}, hns, feed, taken = new Set() }: ProgramSettings) {
    this.terminal = new MemoryTerminal(files);
    this.hns = hns;
    const { terminal, clock } = this;
    const watchFile: ProgramProcess["watchFile"] = (path, changed) => {
      this.watched.set(path, changed);
      return () => void this.watched.delete(path);
    };
    this.ended = runKubeProxy({
      argv,
      variables,
      pid: 42,
      machineName: " Win-1\n",
      version: "0.0.0",
      terminal,
      clock,
      wallMs: () => Date.UTC(2026, 10, 22) + clock.nowMs,
      listen: async (address, handler) => {
        if (taken.has(address)) throw new Error("another program listens there already (EADDRINUSE)");
        this.servers.set(address, handler);
        return Promise.resolve({
          address,
          close: async () => {
            this.servers.delete(address);
            return Promise.resolve();
          },
        });
      },
      hostInterfaces: () => [{ mac: "00-15-5D-00-00-11", addresses: ["10.0.0.11"] }],
      watchFile,
      openHns: () => {
        if (hns === undefined) throw new Error("this test needs no HNS");
        return hns.client;
      },
      openFeed: (settings, name, log) =>
        feed === undefined
          ? openFeed(settings, name, log, { terminal, clock, variables, watchFile })
          : Promise.resolve(feed(clock)),
    }).then((code) => {
      this.exitCode = code;
      return code;
    });
  }

  /** Lets seconds pass, with all that happens in them. */
  async pass(seconds: number): Promise<void> {
    const endMs = this.clock.nowMs + seconds * 1_000;
    await this.rest();
    for (
      let atMs = this.clock.nextAtMs();
      atMs !== undefined && atMs <= endMs;
      atMs = this.clock.nextAtMs()
    ) {
      this.clock.step();
      await this.rest();
    }
    this.clock.runUntil(endMs);
  }

  /** Writes a file again, and tells those who watch it. */
  async rewrite(path: string, text: string): Promise<void> {
    await this.terminal.writeFile(path, text);
    this.watched.get(path)?.();
    await this.rest();
  }

  /** What a server answers. */
  async get(address: string, path: string): Promise<HttpAnswer | undefined> {
    return this.servers.get(address)?.(path);
  }

  async stop(): Promise<0 | 1> {
    this.terminal.interrupt();
    return this.ended;
  }

  /** Load balancers as `VIP:ext→int [addresses]`, sorted. */
  async loadBalancers(): Promise<readonly string[]> {
    if (this.hns === undefined) return [];
    const { client } = this.hns;
    const addresses = new Map(
      (await listEndpoints(client)).map(({ ID, IpConfigurations }) => [
        (ID ?? "").toLowerCase(),
        IpConfigurations?.[0]?.IpAddress ?? "",
      ]),
    );
    const shown = (await listLoadBalancers(client)).map((each) => {
      const { InternalPort, ExternalPort } = each.PortMappings?.[0] ?? {};
      const backEnds = (each.HostComputeEndpoints ?? [])
        .map((id) => addresses.get(id.toLowerCase()) ?? id)
        .toSorted();
      return `${each.FrontendVIPs?.[0] ?? ""}:${ExternalPort}→${InternalPort} [${backEnds.join()}]`;
    });
    return shown.toSorted();
  }

  private async rest(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await settle();
  }
}
