/** A Windows node as scripts see it: cards, files, variables, HNS, the API server, time, and programs that run. */
import type { VirtualClock } from "#core/base/clock.ts";
import { defined } from "#core/base/assert.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { ForwardingHcnClient } from "#contracts/hcn/forwarding-client.ts";
import { SimulatedWindowsHost } from "../flannel/simulated-hosts.ts";
import type { NodeFiles } from "../flannel/node-files.ts";
import type { HcnClient, HcnObjectKind } from "#contracts/hcn/client.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { type StoredHnsNetwork, listHnsNetworks } from "#contracts/hcn/v1-operations.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import type { Node } from "#contracts/kubernetes/objects.ts";
import type { KubeSource } from "#contracts/kubernetes/source.ts";
import { formatIp, formatPrefix, prefixOf } from "#core/net/ip.ts";
import { MemoryLeaseStore } from "#programs/plugins/host-local/leases.ts";
import type { ClusterNode } from "../cluster.ts";
import type { ClusterFile } from "../file/cluster-file.ts";
import { hcnClientOf } from "../machines/windows-node.ts";
import type { Lookout } from "./changes.ts";
import type { NodeProcess } from "./node-process.ts";
import { type BringUpOptions, scriptNetworkName } from "./options.ts";
import { proxyFor } from "./proxy-environment.ts";
import type { BringUpFinding } from "./report.ts";
import { KUBECONFIG, type Management } from "./script-files.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** Inferred: what callers get is ERROR_SERVICE_DISABLED (winerror.h 1058): nobody can start the service on demand. */
const DISABLED = {
  Error: `${WORDS.serviceDisabled} `,
  ErrorCode: 0x8007_0422,
};

function refuse(): Promise<never> {
  return Promise.reject(
    new HcnError("unknown", { reported: DISABLED, explanation: "hns-service-not-running" }),
  );
}

/** HNS as programs meet it while its service does not run. */
class StoppedHns extends ForwardingHcnClient {
  override enumerate(): Promise<readonly Guid[]> {
    return refuse();
  }

  override create(): Promise<Guid> {
    return refuse();
  }

  override query(): Promise<JsonObject> {
    return refuse();
  }

  override modify(): Promise<void> {
    return refuse();
  }

  override delete(_kind: HcnObjectKind, _id: Guid): Promise<void> {
    return refuse();
  }

  override call(): Promise<JsonObject> {
    return refuse();
  }
}

/** Where the scripts let host-local keep its book. */
const RESERVATIONS = { dataDir: "/var/lib/cni/networks", name: "vxlan0" } as const;

export interface ScriptNodeParts {
  readonly file: ClusterFile;
  readonly node: ClusterNode;
  readonly clock: VirtualClock;
  readonly source: KubeSource;
  readonly files: NodeFiles;
  readonly options: BringUpOptions;
}

export class ScriptNode {
  readonly file: ClusterFile;
  readonly node: ClusterNode;
  readonly clock: VirtualClock;
  readonly source: KubeSource;
  readonly files: NodeFiles;
  readonly options: BringUpOptions;
  /** HNS as programs meet it. */
  readonly client: HcnClient;
  readonly host: SimulatedWindowsHost;
  readonly leases: MemoryLeaseStore = new MemoryLeaseStore();
  readonly firewallRules: Set<string> = new Set();
  readonly processes: NodeProcess[] = [];
  /** Of this step: each line, and how often it was printed. */
  private printed = new Map<string, number>();
  found: BringUpFinding[] = [];
  private readonly hns: HcnClient;

  constructor({ file, node, clock, source, files, options }: ScriptNodeParts) {
    this.file = file;
    this.node = node;
    this.clock = clock;
    this.source = source;
    this.files = files;
    this.options = options;
    this.hns = hcnClientOf(node);
    this.client = options.faults.has("hns-not-running") ? new StoppedHns(this.hns) : this.hns;
    this.host = new SimulatedWindowsHost(node.host.root);
  }

  get hostname(): string {
    return this.node.spec.name;
  }

  get networkName(): string {
    return scriptNetworkName(this.options.parameters.networkMode);
  }

  /** A new step begins. */
  beginStep(): void {
    this.printed = new Map();
    this.found = [];
  }

  print(line: string): void {
    this.printed.set(line, (this.printed.get(line) ?? 0) + 1);
  }

  /** What the step has printed; what a loop repeats stands there once. */
  output(): readonly string[] {
    return [...this.printed].map(([line, count]) => (count === 1 ? line : `${line} (${count} times)`));
  }

  /** Something is wrong, and the script goes on. */
  find(code: KnowledgeCode, message: string): void {
    this.found.push({ code, message });
  }

  hasEdit(edit: Parameters<BringUpOptions["edits"]["has"]>[0]): boolean {
    return this.options.edits.has(edit);
  }

  hasFault(fault: Parameters<BringUpOptions["faults"]["has"]>[0]): boolean {
    return this.options.faults.has(fault);
  }

  /** `Get-HnsNetwork | ? Name -EQ`. @throws HcnError when HNS does not answer. */
  async findNetwork(name: string): Promise<StoredHnsNetwork | undefined> {
    const networks = await listHnsNetworks(this.client);
    return networks.find(({ Name = "" }) => Name.toLowerCase() === name.toLowerCase());
  }

  /** `Get-NetAdapter | ? Name -Like "vEthernet (NAME*"` with its addresses. */
  findVirtualAdapters(name: string): readonly Management[] {
    return this.findAdapters((each) => each.startsWith(`vethernet (${name.toLowerCase()}`));
  }

  /** `Get-NetAdapter -InterfaceAlias NAME`. */
  findAdapter(name: string): Management | undefined {
    return this.findAdapters((each) => each === name.toLowerCase())[0];
  }

  private findAdapters(isMeant: (name: string) => boolean): readonly Management[] {
    return this.node.host.root
      .listInterfaces()
      .filter(({ name }) => isMeant(name.toLowerCase()))
      .flatMap(({ addresses }) =>
        addresses
          .filter(({ ip }) => typeof ip === "number")
          .slice(0, 1)
          .map(({ ip, length }) => ({
            address: formatIp(ip),
            subnet: formatPrefix(prefixOf(ip, length)),
          })),
      );
  }

  /**
   * Why kubectl and kubelet do not get through to the API server; undefined: they do. Inferred (Microsoft's page on common
   * problems): a proxy for the internet does not lead into the cluster.
   */
  apiObstacle(): BringUpFinding | undefined {
    if (!this.files.has(KUBECONFIG))
      return {
        code: "start-script-kubeconfig-missing",
        message: `error: CreateFile ${KUBECONFIG}: The system cannot find the file specified.`,
      };
    const { apiServer, environment } = this.options;
    const proxy = proxyFor(apiServer, environment);
    if (proxy === undefined) return undefined;
    return {
      code: "proxy-takes-api-requests",
      message: WORDS.kubectlProxyUnreachable({ apiServer, proxy }),
    };
  }

  /** The Node object; undefined: there is none. */
  async readNode(): Promise<Node | undefined> {
    try {
      return await this.source.get("Node", { namespace: "", name: this.hostname });
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return undefined;
      throw error;
    }
  }

  start(process: NodeProcess): void {
    this.processes.push(process);
  }

  /** The last one of that name that was started. */
  running(name: string): NodeProcess | undefined {
    return this.processes.findLast((each) => each.name === name && each.isRunning);
  }

  /** Time passes for everybody on the node. */
  async sleep(ms: number): Promise<void> {
    const endMs = this.clock.nowMs + ms;
    for (;;) {
      await this.work();
      const due = this.processes.map(({ dueAtMs }) => dueAtMs).filter((atMs) => atMs !== undefined);
      const next = Math.min(endMs, ...due);
      if (next >= endMs) break;
      this.clock.runUntil(Math.max(next, this.clock.nowMs + 1));
    }
    this.clock.runUntil(endMs);
    await this.work();
  }

  /** Lets programs do what is due, until none has anything left. */
  async work(): Promise<void> {
    for (;;) {
      // A watch tells in turns of its own.
      for (let turn = 0; turn < WATCH_TURNS; turn++) await Promise.resolve();
      const due = this.processes.filter(
        ({ dueAtMs, isRunning }) => isRunning && dueAtMs !== undefined && dueAtMs <= this.clock.nowMs,
      );
      if (due.length === 0) break;
      for (const process of due) await process.advance(this.clock.nowMs);
    }
    for (const process of this.processes)
      for (const line of process.takeLines()) this.print(`${process.name}: ${line}`);
  }

  /** What a report compares. */
  lookout(): Lookout {
    const { hns, files, firewallRules, leases, node } = this;
    return {
      hns,
      root: node.host.root,
      files,
      firewallRules,
      reservations: () =>
        leases.withLeases(RESERVATIONS, "existing", (each) =>
          each.list().map(({ ip, containerId }) => {
            const folder = String.raw`C:\var\lib\cni\networks\vxlan0`;
            return `${folder}\\${formatIp(ip)} of ${containerId}`;
          }),
        ),
      node: async () => {
        const object = await this.readNode();
        if (object === undefined) return undefined;
        const annotations = Object.entries(object.metadata.annotations ?? {});
        const up = object.status?.conditions?.find(({ type }) => type === "NetworkUnavailable");
        return {
          name: object.metadata.name,
          range: `podCIDR ${object.spec?.podCIDR ?? "none"}`,
          fields: {
            ...Object.fromEntries(annotations.filter(([name]) => name.startsWith("flannel."))),
            ...(up !== undefined && { "condition NetworkUnavailable": up.status }),
          },
        };
      },
    };
  }

  /** The node's own subnet of pods in HNS; undefined while there is no network. */
  async podSubnet(): Promise<string | undefined> {
    const network = await this.findNetwork(this.networkName);
    return network?.Subnets?.[0]?.AddressPrefix;
  }

  /** An own address of the node as text. */
  get address(): string {
    return formatIp(defined(this.node.spec.address, "a node has an address"));
  }
}

/** How many turns a watch may need until it has told. */
const WATCH_TURNS = 20;
