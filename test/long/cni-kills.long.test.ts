/**
 * flannel → win-overlay → host-local brings up and takes down a hundred pods while its processes are killed: at random
 * moments, and at each of their calls of HNS. Afterwards HNS, the folder of leases, flannel's scratch files and the
 * runtime's cache agree, and after GC nothing is left of what nobody wants any more.
 */
import { randomInt } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import { type NetworkList, parseNetworkList } from "#contracts/cni/conflist.ts";
import { FileResultCache } from "#contracts/cni/file-result-cache.node.ts";
import { type CniAttachment, CniRuntime } from "#contracts/cni/runtime.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import {
  createNamespace,
  createNetwork,
  deleteNamespace,
  listEndpoints,
  namespaceOf,
} from "#contracts/hcn/operations.ts";
import { CBR0, hnsNode } from "../support/hns/hns-node.ts";
import { thisInstallation, writeLauncher } from "#cli/programs/launchers.ts";
import { PROGRAMS } from "#cli/programs/table.ts";
import { bundlePrograms } from "../../tools/bundle-programs.ts";
import { type Fate, LIVES, MortalRunner, drawFate } from "./mortal-plugins.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SEED = Number(process.env["MULLION_SEED"] ?? randomInt(1_000_000));
const PODS = 100;
const WORKERS = 4;
const NETWORK = "vxlan0";
const IF_NAME = "eth0";
/** Every time a pod is not attached, it is one sandbox more. */
const TRIES_MAX = 50;

let folder = "";
/** Two copies of the package: a delegate of the other copy runs as a process of its own. */
let bins: readonly [string, string] = ["", ""];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mullion-kills-"));
  const copies = ["one", "two"].map((name) => join(folder, name));
  for (const copy of copies) {
    mkdirSync(join(copy, "dist"), { recursive: true });
    cpSync(join(ROOT, "bin"), join(copy, "bin"), { recursive: true });
    cpSync(join(ROOT, "package.json"), join(copy, "package.json"));
  }
  await bundlePrograms(ROOT, join(copies[0]!, "dist", "programs"));
  cpSync(join(copies[0]!, "dist"), join(copies[1]!, "dist"), { recursive: true });
  const [one = "", two = ""] = copies.map((root) => {
    const plugins = join(root, "plugins");
    mkdirSync(plugins);
    for (const { name } of PROGRAMS)
      writeLauncher(plugins, name, { ...thisInstallation(), executable: undefined, root });
    return plugins;
  });
  bins = [one, two];
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** As flanneld makes it. */
const VXLAN0 = {
  ...CBR0,
  Name: NETWORK,
  Type: "Overlay" as const,
  Ipams: [
    {
      Type: "Static" as const,
      Subnets: [
        {
          IpAddressPrefix: "10.244.4.0/22",
          Routes: [{ NextHop: "10.244.4.1", DestinationPrefix: "0.0.0.0/0" }],
          Policies: [{ Type: "VSID", Settings: { IsolationId: 4096 } }],
        },
      ],
    },
  ],
};

/** A node with its files, in a folder of its own. */
class Node {
  readonly client: HcnClient = hnsNode().client;
  readonly list: NetworkList;
  readonly leases: string;
  readonly scratch: string;
  readonly results: string;
  private readonly cache: FileResultCache;

  constructor(name: string) {
    const home = join(folder, name);
    this.scratch = join(home, "flannel");
    this.results = join(home, "cache", "results");
    const leases = join(home, "leases");
    this.leases = join(leases, NETWORK);
    mkdirSync(home);
    const subnetFile = join(home, "subnet.env");
    writeFileSync(
      subnetFile,
      "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.4.1/22\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n",
    );
    const policy = { Type: "SDNRoute", Settings: { DestinationPrefix: "10.96.0.0/12", NeedEncap: true } };
    const delegate = {
      type: "win-overlay",
      apiVersion: 2,
      policies: [{ name: "EndpointPolicy", value: policy }],
    };
    const plugin = {
      type: "flannel",
      subnetFile,
      dataDir: this.scratch,
      ipam: { dataDir: leases },
      delegate,
    };
    this.list = parseNetworkList(JSON.stringify({ cniVersion: "1.1.0", name: NETWORK, plugins: [plugin] }));
    const warn = (text: string): never => {
      throw new Error(text);
    };
    this.cache = new FileResultCache({ folder: join(home, "cache"), warn });
  }

  runtime(runner: MortalRunner, cniPath: string): CniRuntime {
    const PATH = [join(ROOT, "node_modules", ".bin"), process.env["PATH"] ?? ""].join(delimiter);
    // On Windows flannel takes no folder for leases from the configuration: they would be this machine's.
    const env = { PATH, CNI_PATH: cniPath, MULLION_OS: "linux" };
    return new CniRuntime({ runner, cache: this.cache, env });
  }

  /** Container IDs by address, as the leases say. */
  leaseOwners(): ReadonlyMap<string, string> {
    const names = existsSync(this.leases) ? readdirSync(this.leases) : [];
    const addresses = names.filter((name) => /^[\d.]+$/.test(name));
    return new Map(
      addresses.map((name) => [name, readFileSync(join(this.leases, name), "utf8").split("\r\n")[0] ?? ""]),
    );
  }

  /** As the cache of the runtime says. */
  async cachedOwners(): Promise<ReadonlyMap<string, string>> {
    const owners = (await this.cache.list()).map(({ containerId, result }) => {
      const [ip] = result["ips"] as readonly { readonly address: string }[];
      return [ip?.address.split("/")[0] ?? "", containerId] as const;
    });
    return new Map(owners);
  }

  /** As HNS says, of endpoints in a namespace. */
  async endpointOwners(): Promise<ReadonlyMap<string, string>> {
    const endpoints = await listEndpoints(this.client);
    return new Map(
      endpoints
        .filter((endpoint) => namespaceOf(endpoint) !== undefined)
        .map(({ Name = "", IpConfigurations = [] }) => [
          IpConfigurations[0]?.IpAddress ?? "",
          Name.slice(0, -`_${NETWORK}`.length),
        ]),
    );
  }

  scratchFiles(): readonly string[] {
    return existsSync(this.scratch) ? readdirSync(this.scratch).toSorted() : [];
  }
}

/** What a kubelet does about one pod at a time, over one runner. */
class Worker {
  readonly runner: MortalRunner;
  private readonly node: Node;
  private readonly prng: Prng;

  constructor(node: Node, prng: Prng, name: string) {
    this.node = node;
    this.prng = prng;
    this.runner = new MortalRunner(join(folder, `${name}.sock`));
  }

  private runtime(): CniRuntime {
    const [own, other] = bins;
    // With the other copy first, host-local is a process of its own, which may live on when its caller is killed.
    return this.node.runtime(this.runner, this.prng.below(3) === 0 ? `${other}:${own}` : own);
  }

  /** @returns whether it worked; anything but a killed process that makes it fail is a fault. */
  private async attempt(what: string, work: (runtime: CniRuntime) => Promise<unknown>): Promise<boolean> {
    const { kills } = this.runner;
    try {
      await work(this.runtime());
      return true;
    } catch (error) {
      if (this.runner.kills > kills) return false;
      throw new Error(`${what} failed, and nobody was killed`, { cause: error });
    }
  }

  /** Attaches; a sandbox that was not attached is taken down, or forgotten. */
  async bringUp(pod: number): Promise<CniAttachment> {
    for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
      const netns = (await createNamespace(this.node.client)).ID ?? "";
      const attachment = { containerId: `pod${pod}-${attempt}`, netns, ifName: IF_NAME };
      if (await this.attempt("ADD", (runtime) => runtime.add(this.node.list, attachment))) return attachment;
      const isForgotten = this.prng.below(5) === 0;
      if (isForgotten) await deleteNamespace(this.node.client, netns);
      else await this.takeDown(attachment);
    }
    throw new Error(`pod ${pod} did not come up`);
  }

  async takeDown(attachment: CniAttachment, isNamespaceFirst = this.prng.below(2) === 0): Promise<void> {
    if (isNamespaceFirst) await deleteNamespace(this.node.client, attachment.netns);
    const last = isNamespaceFirst ? { ...attachment, netns: "" } : attachment;
    for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
      if (!(await this.attempt("DEL", (runtime) => runtime.del(this.node.list, last)))) continue;
      if (!isNamespaceFirst) await deleteNamespace(this.node.client, attachment.netns);
      return;
    }
    throw new Error(`${attachment.containerId} did not go away`);
  }

  async collectGarbage(valid: readonly CniAttachment[]): Promise<void> {
    for (let attempt = 0; attempt < TRIES_MAX; attempt++)
      if (await this.attempt("GC", (runtime) => runtime.gc(this.node.list, valid))) return;
    throw new Error("GC did not end");
  }
}

async function makeNode(name: string, prng: Prng): Promise<{ node: Node; workers: readonly Worker[] }> {
  const node = new Node(name);
  await createNetwork(node.client, VXLAN0);
  const workers = Array.from(
    { length: WORKERS },
    (_, i) => new Worker(node, prng.derive(`worker ${i}`), `${name}-${i}`),
  );
  for (const { runner } of workers) await runner.open(node.client);
  return { node, workers };
}

/** Shares out work; each worker does one thing at a time. */
async function share<T>(
  workers: readonly Worker[],
  work: readonly T[],
  run: (worker: Worker, item: T) => Promise<void>,
): Promise<void> {
  const rest = work.toReversed();
  await Promise.all(
    workers.map(async (worker) => {
      for (let item = rest.pop(); item !== undefined; item = rest.pop()) await run(worker, item);
    }),
  );
}

/** A host-local whose caller was killed may still be at work. */
async function noneAtWork(): Promise<void> {
  const commands = (): readonly string[] =>
    readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, "utf8");
        } catch {
          return "";
        }
      })
      .filter((line) => line.includes(folder));
  await expect.poll(commands, { timeout: 30_000 }).toEqual([]);
}

/** Everybody says the same: these and no others are attached. */
async function expectOnly(node: Node, attached: readonly CniAttachment[]): Promise<void> {
  const ids = attached.map(({ containerId }) => containerId).toSorted();
  const leases = node.leaseOwners();
  expect([...leases.values()].toSorted()).toEqual(ids);
  expect(await node.cachedOwners()).toEqual(leases);
  expect(await node.endpointOwners()).toEqual(leases);
  expect(await listEndpoints(node.client)).toHaveLength(ids.length);
  expect(node.scratchFiles()).toEqual(ids.map((id) => `${id}_${NETWORK}_${IF_NAME}`).toSorted());
  const drafts = existsSync(node.leases) ? readdirSync(node.leases) : [];
  expect(drafts.filter((name) => !/^[\d.]+$/.test(name)).toSorted()).toEqual(["last_reserved_ip.0", "lock"]);
}

it("killed at each of its calls of HNS, before and after it: a DEL takes everything away", async () => {
  const { node, workers } = await makeNode("each-call", new Prng(1));
  const [worker] = workers;
  const { runner } = worker!;
  const first = await worker!.bringUp(0);
  const calls = { ADD: runner.calls, DEL: 0 };
  await worker!.takeDown(first, false);
  calls.DEL = runner.calls;
  expect(calls.ADD).toBeGreaterThanOrEqual(5);
  expect(calls.DEL).toBeGreaterThanOrEqual(4);
  let pod = 1;
  for (const verb of ["ADD", "DEL"] as const)
    for (let call = 1; call <= calls[verb]; call++)
      for (const moment of ["before", "after"] as const) {
        const fates: Fate[] = [...(verb === "DEL" ? [LIVES] : []), { kind: "at-call", call, moment }];
        const { kills } = runner;
        runner.fate = () => fates.shift() ?? LIVES;
        await worker!.takeDown(await worker!.bringUp(pod++), false);
        expect(runner.kills - kills, `${verb} at call ${call}`).toBe(1);
      }
  runner.fate = () => LIVES;
  await noneAtWork();
  // What was forgotten on the way, and nothing else, is for GC.
  await worker!.collectGarbage([]);
  await expectOnly(node, []);
  for (const each of workers) await each.runner.close();
});

it(`${PODS} pods come and go under kills; seed ${SEED}`, async () => {
  const prng = new Prng(SEED);
  const { node, workers } = await makeNode("random", prng);
  for (const [index, { runner }] of workers.entries()) {
    const own = prng.derive(`fates ${index}`);
    runner.fate = () => drawFate(own);
  }
  const attached: CniAttachment[] = [];
  const pods = Array.from({ length: PODS }, (_, pod) => pod);
  await share(workers, pods, async (worker, pod) => {
    attached.push(await worker.bringUp(pod));
  });
  expect(attached).toHaveLength(PODS);
  await noneAtWork();
  await workers[0]!.collectGarbage(attached);
  await noneAtWork();
  await workers[0]!.collectGarbage(attached);
  await expectOnly(node, attached);
  const half = attached.slice(0, PODS / 2);
  await share(workers, half, async (worker, attachment) => worker.takeDown(attachment));
  // The other half is gone with its node's runtime: only the cache and GC know of it.
  for (const { netns } of attached.slice(PODS / 2)) await deleteNamespace(node.client, netns);
  await noneAtWork();
  await workers[0]!.collectGarbage([]);
  await noneAtWork();
  await workers[0]!.collectGarbage([]);
  await expectOnly(node, []);
  for (const { runner } of workers) await runner.close();
});
