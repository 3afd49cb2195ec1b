/**
 * What people do wrong, line by line, to every plugin that makes endpoints in HNS: the error of the specification, a message
 * with the field, nothing left behind; and DEL of what is gone succeeds. A kill between two calls is a long test of its own.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { type Server, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { pathRulesOf } from "#core/base/path-rules.ts";
import { RunnerDelegate, InProcessRunner } from "#contracts/cni/plugin-runner.ts";
import type { CniPlugin } from "#contracts/cni/plugin.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { HttpHcnClient } from "#contracts/hcn/http/http-client.node.ts";
import {
  createNamespace,
  createNetwork,
  getNamespaceEndpointIds,
  listEndpoints,
} from "#contracts/hcn/operations.ts";
import { SerialExchange } from "#contracts/hcn/http/serial-exchange.node.ts";
import { type PluginRun, errorOf, runWithTexts } from "#test/support/cni/cni-process.ts";
import { CBR0, hnsNode } from "#test/support/hns/hns-node.ts";
import { Flannel } from "./flannel/plugin.ts";
import { MemoryScratchStore } from "./flannel/scratch-files.ts";
import { FileLeaseStore } from "./host-local/file-lease-store.node.ts";
import type { LeaseStore } from "./host-local/leases.ts";
import { DEFAULT_DATA_DIR, HostLocal } from "./host-local/plugin.ts";
import { MullionNetns } from "./mullion-netns/plugin.ts";
import { SdnPlugin } from "./sdn/plugin.ts";
import { WinBridge } from "./win-bridge/plugin.ts";
import { WinOverlay } from "./win-overlay/plugin.ts";

const PLUGINS = [
  "win-bridge",
  "win-overlay",
  "flannel",
  "mullion-netns",
  "nat",
  "sdnbridge",
  "sdnoverlay",
] as const;
type Name = (typeof PLUGINS)[number];
/** Those that call an IPAM plugin of the configuration. */
const WITH_IPAM = PLUGINS.filter((name) => name !== "flannel" && name !== "mullion-netns");

const SUBNET = "10.244.2.0/24";
const SUBNET_ENV = `FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.2.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n`;
/** The scratch files of the two meta plugins lie in memory. */
const SUBNETS = [
  {
    IpAddressPrefix: SUBNET,
    Routes: [{ NextHop: "10.244.2.1", DestinationPrefix: "0.0.0.0/0" }],
    Policies: [{ Type: "VSID", Settings: { IsolationId: 4096 } }],
  },
];

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mullion-bad-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A node with the network that the plugin wants, and a pod's namespace. */
class Node {
  readonly hns: HcnClient = hnsNode().client;
  netns = "";
  private readonly name: Name;
  private readonly plugin: CniPlugin;
  private readonly scratch = new MemoryScratchStore();

  private constructor(name: Name, client: HcnClient | undefined, lockWaitMs: number) {
    this.name = name;
    const plugins = new Map<string, CniPlugin>();
    const delegate = new RunnerDelegate(new InProcessRunner(plugins, "win32"));
    const options = { client: client ?? this.hns, delegate, compat: "hardened" } as const;
    const files = { readText: async () => SUBNET_ENV };
    const store = this.leaseStore(lockWaitMs);
    const digest = (text: string): string => Buffer.from(text).toString("hex").padEnd(64, "0").slice(0, 64);
    const all: readonly CniPlugin[] = [
      new WinBridge(options),
      new WinOverlay(options),
      new Flannel({ ...options, files, scratch: this.scratch }),
      new MullionNetns({ ...options, store: this.scratch, digest }),
      ...(["nat", "sdnbridge", "sdnoverlay"] as const).map(
        (each) => new SdnPlugin({ ...options, name: each }),
      ),
      new HostLocal({ store, compat: "hardened", files }),
    ];
    for (const each of all) plugins.set(each.name, each);
    this.plugin = plugins.get(name)!;
  }

  /** What has no folder of its own, as flannel's leases have not, is kept in the test's, not in the machine's. */
  private leaseStore(waitMs: number): LeaseStore {
    const files = new FileLeaseStore({ paths: pathRulesOf("linux"), waitMs, flockProgram: "" });
    return {
      withLeases: (network, access, work) => {
        const isDefault = network.dataDir === DEFAULT_DATA_DIR;
        return files.withLeases(isDefault ? { ...network, dataDir: this.leases } : network, access, work);
      },
    };
  }

  /** @param client another way to HNS. */
  static async make(name: Name, client?: HcnClient, lockWaitMs = 50): Promise<Node> {
    const node = new Node(name, client, lockWaitMs);
    const isOverlay = name === "win-overlay" || name === "sdnoverlay";
    const type = name === "nat" ? "NAT" : isOverlay ? "Overlay" : "L2Bridge";
    const subnets = isOverlay ? SUBNETS : SUBNETS.map(({ Policies: _none, ...subnet }) => subnet);
    const Ipams = [{ Type: "Static" as const, Subnets: subnets }];
    await createNetwork(node.hns, { ...CBR0, Name: "cbr0", Type: type, Ipams });
    node.netns = (await createNamespace(node.hns)).ID ?? "";
    return node;
  }

  /** A configuration that works; flannel's has no `ipam`, mullion-netns hands on to win-bridge. */
  configuration(ipam: object = {}): Record<string, unknown> {
    const own = {
      apiVersion: 2,
      ipam: { type: "host-local", subnet: SUBNET, dataDir: this.leases, ...ipam },
    };
    const base = { cniVersion: "1.0.0", name: "cbr0", type: this.name };
    if (this.name === "flannel") return { ...base, delegate: { type: "win-bridge", apiVersion: 2 } };
    if (this.name === "mullion-netns") return { ...base, delegate: { type: "win-bridge", ...own } };
    return { ...base, ...own };
  }

  get leases(): string {
    return join(folder, "leases");
  }

  run(verb: string, stdin: unknown, env: Readonly<Record<string, string>> = {}): Promise<PluginRun> {
    return runWithTexts(this.plugin, { env: { CNI_COMMAND: verb, CNI_NETNS: this.netns, ...env }, stdin });
  }

  /** Endpoints, addresses, scratch files, members of the namespace. */
  async leftovers(): Promise<readonly string[]> {
    const endpoints = (await listEndpoints(this.hns)).map(({ Name = "" }) => Name);
    const members = await getNamespaceEndpointIds(this.hns, this.netns);
    return [...endpoints, ...members, ...leasesIn(join(this.leases, "cbr0"))];
  }
}

function leasesIn(path: string): readonly string[] {
  try {
    return readdirSync(path).filter((name) => /^[\d.]+$/.test(name));
  } catch {
    return [];
  }
}

/** How a call was refused, and what it has left. */
async function refusalOf(node: Node, run: PluginRun): Promise<object> {
  const { code, msg, details = "" } = errorOf(run);
  return { status: run.status, code, text: `${msg} ${details}`, left: await node.leftovers() };
}

/** A refusal with this code that names this, and leaves nothing. */
function refused(code: number, named: string | RegExp): object {
  return { status: 1, code, text: expect.stringMatching(named) as string, left: [] };
}

describe.each(PLUGINS)("%s", (name) => {
  it("a configuration that is not JSON", async () => {
    const node = await Node.make(name);
    for (const verb of ["ADD", "DEL", "CHECK"])
      expect(await refusalOf(node, await node.run(verb, '{"name":\u00a0"cbr0"}'))).toEqual(
        refused(6, "no-break space"),
      );
    expect(await refusalOf(node, await node.run("ADD", '{"name": "cbr0", // the network\n}'))).toEqual(
      refused(6, "comment"),
    );
  });

  it("a cniVersion that there is not", async () => {
    const node = await Node.make(name);
    const run = await node.run("ADD", { ...node.configuration(), cniVersion: "1.2.0" });
    expect(await refusalOf(node, run)).toEqual(refused(1, 'config is "1.2.0"'));
  });

  it("a namespace that is no GUID", async () => {
    const node = await Node.make(name);
    const run = await node.run("ADD", node.configuration(), { CNI_NETNS: "not-a-guid" });
    expect(await refusalOf(node, run)).toEqual(refused(999, /not-a-guid/));
  });

  it("a namespace that there is not", async () => {
    const node = await Node.make(name);
    const gone = "99999999-0000-4000-8000-000000000000";
    expect(await refusalOf(node, await node.run("ADD", node.configuration(), { CNI_NETNS: gone }))).toEqual(
      refused(999, gone),
    );
  });

  it("DEL of what is gone, and of what never was", async () => {
    const node = await Node.make(name);
    expect(await node.run("DEL", node.configuration())).toMatchObject({ status: 0, stdout: "" });
    expect(await node.run("ADD", node.configuration())).toMatchObject({ status: 0 });
    for (const env of [{}, { CNI_NETNS: "" }, {}])
      expect(await node.run("DEL", node.configuration(), env)).toMatchObject({ status: 0, stdout: "" });
    expect(await node.leftovers()).toEqual([]);
  });

  it("HNS that is down: who does not answer, and where", async () => {
    const address = { socketPath: join(folder, "nobody.sock") };
    const client = new HttpHcnClient({ address, exchange: new SerialExchange(address) });
    const node = await Node.make(name, client);
    expect(await refusalOf(node, await node.run("ADD", node.configuration()))).toEqual(
      refused(999, "nobody.sock"),
    );
  });
});

describe.each(PLUGINS)("%s and an HNS that hangs", (name) => {
  let silent: Server;
  beforeEach(async () => {
    silent = createServer();
    await new Promise<void>((resolve) => {
      silent.listen(join(folder, "hns.sock"), resolve);
    });
  });
  afterEach(() => silent.close());

  // Calls that were made one after the other would each wait, so the whole is bounded as well.
  it("waits no longer than a call may take, and says so", { timeout: 5_000 }, async () => {
    const address = { socketPath: join(folder, "hns.sock") };
    const client = new HttpHcnClient({ address, timeoutMs: 50, exchange: new SerialExchange(address) });
    const node = await Node.make(name, client);
    expect(await refusalOf(node, await node.run("ADD", node.configuration()))).toEqual(
      refused(999, "no answer within 0.05 s"),
    );
    await client.close();
  });
});

describe.each(WITH_IPAM)("%s with host-local", (name) => {
  it.each([
    ["host bits", { subnet: "10.244.2.5/24" }, 7, /Network has host bits set.*10\.244\.2\.0/],
    ["no range", { subnet: undefined }, 7, /no IP ranges specified/],
    [
      "ranges that overlap",
      { subnet: undefined, ranges: [[{ subnet: "10.244.2.0/24" }], [{ subnet: "10.244.2.0/25" }]] },
      7,
      /range set 0 overlaps with 1/,
    ],
    ["a subnet of a wrong type", { subnet: 7 }, 7, /"ipam\.subnet"|subnet/],
  ])("%s", async (_, ipam, code, named) => {
    const node = await Node.make(name);
    const run = await node.run("ADD", node.configuration(ipam));
    expect(errorOf(run).msg).toMatch(named);
    expect([run.status, errorOf(run).code]).toEqual([1, code]);
    expect(await node.leftovers()).toEqual([]);
  });

  it("a range that is exhausted", async () => {
    const node = await Node.make(name);
    const range = { rangeStart: "10.244.2.9", rangeEnd: "10.244.2.9" };
    expect(await node.run("ADD", node.configuration(range))).toMatchObject({ status: 0 });
    const held = await node.leftovers();
    const netns = (await createNamespace(node.hns)).ID ?? "";
    const run = await node.run("ADD", node.configuration(range), {
      CNI_CONTAINERID: "SBY",
      CNI_NETNS: netns,
    });
    expect(errorOf(run)).toMatchObject({
      msg: expect.stringContaining("no IP addresses available") as string,
    });
    expect(run.explained).toBe("ipam-range-exhausted");
    expect(await node.leftovers()).toEqual(held);
    expect(await node.run("DEL", node.configuration(range))).toMatchObject({ status: 0 });
    expect(await node.leftovers()).toEqual([]);
  });

  it("a lock whose holder died is taken; one whose holder lives is waited for, and named", async () => {
    const node = await Node.make(name);
    const lock = join(node.leases, "cbr0", "lock.mullion");
    mkdirSync(join(node.leases, "cbr0"), { recursive: true });
    writeFileSync(lock, `${process.pid}`);
    expect(await refusalOf(node, await node.run("ADD", node.configuration()))).toEqual(
      refused(11, "lock.mullion is held"),
    );
    writeFileSync(lock, `${spawnSync("true").pid}`);
    expect(await node.run("ADD", node.configuration())).toMatchObject({ status: 0 });
  });

  it("a folder of leases that cannot be used", async () => {
    const node = await Node.make(name);
    writeFileSync(node.leases, "no folder");
    expect(await refusalOf(node, await node.run("ADD", node.configuration()))).toEqual(
      refused(5, /leases.*not a directory/),
    );
  });
});

describe.each(["win-bridge", "nat", "sdnbridge", "sdnoverlay"] as const)("%s", (name) => {
  it("no ipam: HNS chooses the address, and gets it back", async () => {
    const node = await Node.make(name);
    const { ipam: _none, ...configuration } = node.configuration();
    const run = await node.run("ADD", configuration);
    expect(run.status, run.stdout).toBe(0);
    expect((JSON.parse(run.stdout) as { ips: unknown[] }).ips).toHaveLength(1);
    expect(await node.run("DEL", configuration)).toMatchObject({ status: 0 });
    expect(await node.leftovers()).toEqual([]);
  });
});
