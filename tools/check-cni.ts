/**
 * Real configurations of CNI for `npm run check:real`: each runs on a node of its own, with HNS, all plugins in process and
 * the network that it wants: ADD, CHECK and DEL, in both modes. What cannot run has to be refused by name.
 */
import { basename } from "node:path";
import type { Compat } from "#core/base/compat.ts";
import { SourceText } from "#core/base/source-text.ts";
import {
  type NetworkList,
  type NetworkPlugin,
  parseNetworkList,
  parseSinglePlugin,
} from "#contracts/cni/conflist.ts";
import { StructReader } from "#contracts/cni/json.ts";
import { type JsonObject, isJsonObject } from "#core/base/json.ts";
import { RunnerDelegate, InProcessRunner } from "#contracts/cni/plugin-runner.ts";
import { CniError } from "#contracts/cni/error.ts";
import type { CniPlugin } from "#contracts/cni/plugin.ts";
import { MemoryResultCache, type CniAttachment, CniRuntime } from "#contracts/cni/runtime.ts";
import { isAtLeast } from "#contracts/cni/version.ts";
import type { InProcessHcnClient } from "#hns/service/in-process-client.ts";
import type { HostComputeNetwork, Subnet } from "#contracts/hcn/documents/network.ts";
import { createNamespace, createNetwork, listEndpoints } from "#contracts/hcn/operations.ts";
import { lint } from "#diagnose/lint/mod.ts";
import { AzureVnet } from "#programs/plugins/azure-vnet/plugin.ts";
import { MemoryStateStore } from "#programs/plugins/azure-vnet/memory.ts";
import { AzureVnetIpam } from "#programs/plugins/azure-vnet-ipam/plugin.ts";

import { transportTo, CnsService } from "#programs/plugins/cns/service.ts";
import type { HttpTransport } from "#programs/plugins/cns/client.ts";
import { Flannel } from "#programs/plugins/flannel/plugin.ts";
import { MemoryScratchStore } from "#programs/plugins/flannel/scratch-files.ts";
import { MemoryLeaseStore } from "#programs/plugins/host-local/leases.ts";
import { HostLocal } from "#programs/plugins/host-local/plugin.ts";
import { SDN_TYPES, type SdnName } from "#programs/plugins/sdn/conf.ts";
import { SdnPlugin } from "#programs/plugins/sdn/plugin.ts";
import { WinBridge } from "#programs/plugins/win-bridge/plugin.ts";
import { WinOverlay } from "#programs/plugins/win-overlay/plugin.ts";
import { CNS_HOST, pool } from "#test/support/cni/cns-node.ts";
import { hnsNode } from "#test/support/hns/hns-node.ts";
import { azureHost } from "#test/support/cni/windows-plugin-node.ts";

const MODES = ["upstream", "hardened"] as const;
/** Where kubelet of the SDN scripts looks. */
const CNI_PATH = String.raw`C:\k\cni`;
/** The node's own address; Azure's templates leave the network to the node. */
const NODE_ADDRESS = "10.240.0.4/16";
const NODE_MAC = "00-0D-3A-01-02-03";
/** What flanneld has leased. */
const POD_SUBNET = "10.244.3.0/24";
const POD_GATEWAY = "10.244.3.1";
const SUBNET_ENV = `FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=${POD_GATEWAY}/24\nFLANNEL_MTU=1500\nFLANNEL_IPMASQ=true\n`;
/** What Azure's wire server says of the node. */
const WIRE = `<Interfaces><Interface MacAddress="000D3A010203" IsPrimary="true"><IPSubnet Prefix="10.240.0.0/16">
  <IPAddress Address="10.240.0.4" IsPrimary="true" /><IPAddress Address="10.240.0.35" IsPrimary="false" />
</IPSubnet></Interface></Interfaces>`;
/** CHECK came with this version; older files are run with it for CHECK alone. */
const CHECK_VERSION = "0.4.0";
const CONTAINER = "7c5e1f0a9b3d4e6f";
/** As kubelet calls plugins. */
const POD_ARGS = [
  ["IgnoreUnknown", "1"],
  ["K8S_POD_NAMESPACE", "default"],
  ["K8S_POD_NAME", "web-0"],
] as const;

/** The plugin that talks to HNS: flannel's delegate stands for flannel. */
interface Talker {
  readonly type: string;
  readonly reader: StructReader;
}

function talkerOf({ type, document }: NetworkPlugin): Talker {
  const reader = new StructReader(document);
  const delegate = reader.raw("delegate");
  if (type !== "flannel" || !isJsonObject(delegate)) return { type, reader };
  const inner = new StructReader(delegate);
  return { type: inner.text("type") || "win-bridge", reader: inner };
}

function subnet(prefix: string, gateway: string, policies: Subnet["Policies"] = []): Subnet {
  const destination = gateway.includes(":") ? "::/0" : "0.0.0.0/0";
  const route = { NextHop: gateway, DestinationPrefix: destination };
  return { IpAddressPrefix: prefix, Routes: [route], ...(policies.length > 0 && { Policies: policies }) };
}

function textOf(range: JsonObject, field: string): string {
  return new StructReader(range).text(field);
}

/** The network that has to be there, as flanneld or a script has made it; undefined when the plugin makes its own. */
function wantedNetwork(name: string, { type, reader }: Talker): HostComputeNetwork | undefined {
  const make = (networkType: "L2Bridge" | "Overlay", ...subnets: readonly Subnet[]): HostComputeNetwork => ({
    Name: name,
    Type: networkType,
    Ipams: [{ Type: "Static", Subnets: subnets }],
    SchemaVersion: { Major: 2, Minor: 0 },
  });
  if (type === "win-bridge") return make("L2Bridge", subnet(POD_SUBNET, POD_GATEWAY));
  if (type === "win-overlay" || type === "sdnoverlay") {
    const vni = { Type: "VSID", Settings: { IsolationId: 4096 } };
    return make("Overlay", subnet(POD_SUBNET, POD_GATEWAY, [vni]));
  }
  const flags = reader.raw("optionalFlags");
  const isDual = isJsonObject(flags) && new StructReader(flags).raw("enableDualStack") === true;
  if (!isDual) return undefined;
  // The ranges of the file, with the gateways that its author has given the host.
  const ipam = reader.raw("ipam");
  const ranges = (isJsonObject(ipam) ? new StructReader(ipam).list("ranges") : [])
    .flat()
    .filter(isJsonObject);
  return make(
    "L2Bridge",
    ...ranges.map((range) => subnet(textOf(range, "subnet"), textOf(range, "gateway"))),
  );
}

interface Node {
  readonly client: InProcessHcnClient;
  readonly runtime: CniRuntime;
  readonly leases: MemoryLeaseStore;
}

/** What answers azure-vnet over HTTP: CNS with a pool of each kind, by the mode of the file, and the wire server. */
function azureNetwork({ reader }: Talker): HttpTransport {
  const ipam = reader.raw("ipam");
  const isOverlay = isJsonObject(ipam) && textOf(ipam, "mode") === "overlay";
  const cns = new CnsService({ host: CNS_HOST });
  if (isOverlay) {
    cns.pool.add(pool("10.244.1.0/24", "", "10.244.1.5"));
    cns.pool.add(pool("fd12:1::/64", "", "fd12:1::5"));
  } else cns.pool.add(pool("10.241.0.4/16", "10.241.0.1", "10.241.0.9"));
  const toCns = transportTo(cns);
  return async (request) =>
    request.url.includes("168.63.129.16") ? { status: 200, text: "" } : toCns(request);
}

/** A node with every plugin of this project. */
function makeNode(compat: Compat, talker: Talker): Node {
  const adapter = { name: "Ethernet", address: NODE_ADDRESS, mac: NODE_MAC } as never;
  const { client } = hnsNode({ adapters: [adapter] });
  const plugins = new Map<string, CniPlugin>();
  const runner = new InProcessRunner(plugins, "win32");
  const options = { client, delegate: new RunnerDelegate(runner), compat };
  const leases = new MemoryLeaseStore();
  const files = { readText: async () => SUBNET_ENV };
  const azure = azureHost(azureNetwork(talker));
  const sources = {
    interfaces: () => azure.interfaces(),
    queryWireServer: async () => WIRE,
    readInterfaces: async () => Promise.reject(new Error("no such file")),
    now: () => azure.now(),
  };
  const all: readonly CniPlugin[] = [
    new WinBridge(options),
    new WinOverlay(options),
    ...(Object.keys(SDN_TYPES) as SdnName[]).map((name) => new SdnPlugin({ ...options, name })),
    new Flannel({ ...options, files, scratch: new MemoryScratchStore() }),
    new AzureVnet({ ...options, store: new MemoryStateStore(), host: azure }),
    new AzureVnetIpam({ store: new MemoryStateStore(), sources, compat }),
    new HostLocal({ store: leases, compat }),
  ];
  for (const plugin of all) plugins.set(plugin.name, plugin);
  return {
    client,
    leases,
    runtime: new CniRuntime({ runner, cache: new MemoryResultCache(), env: { CNI_PATH } }),
  };
}

function parse(source: SourceText): NetworkList {
  return /"plugins"\s*:/.test(source.text) ? parseNetworkList(source.text) : parseSinglePlugin(source.text);
}

/** What a verb came to: `good`, or how it was refused. */
async function outcome(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return "good";
  } catch (error) {
    if (!(error instanceof CniError)) throw error;
    const { code, message, knowledge } = error;
    return `${code}: ${message}${knowledge === undefined ? "" : ` (${knowledge})`}`;
  }
}

/** The life of one pod. */
export interface CniRun {
  readonly compat: Compat;
  /** The sandbox: of containerd, or of dockershim, for which files without `apiVersion` 2 were written. */
  readonly sandbox: "namespace" | "none";
  readonly add: string;
  readonly check: string;
  readonly del: string;
  /** Endpoints and addresses that DEL has left. */
  readonly left: number;
}

function countLeases(leases: MemoryLeaseStore, list: NetworkList): Promise<number> {
  const network = { dataDir: "/var/lib/cni/networks", name: list.name };
  return leases.withLeases(network, "existing", (held) => held.list().length);
}

async function runPod(list: NetworkList, compat: Compat): Promise<CniRun> {
  const [plugin] = list.plugins;
  if (plugin === undefined) throw new Error("a list without plugins");
  const talker = talkerOf(plugin);
  const { client, runtime, leases } = makeNode(compat, talker);
  const network = wantedNetwork(list.name, talker);
  if (network !== undefined) await createNetwork(client, network);
  const isUpstream = talker.type === "win-bridge" || talker.type === "win-overlay";
  const sandbox = isUpstream && talker.reader.raw("apiVersion") !== 2 ? "none" : "namespace";
  const netns = sandbox === "none" ? "none" : ((await createNamespace(client)).ID ?? "");
  // What dockershim's sandbox is for HNS: a container.
  if (sandbox === "none") await client.computeSystems.create(CONTAINER, { SystemType: "Container" });
  const pod: CniAttachment = { containerId: CONTAINER, netns, ifName: "eth0", args: POD_ARGS };
  const add = await outcome(() => runtime.add(list, pod));
  const checked = isAtLeast(list.cniVersion, CHECK_VERSION) ? list : { ...list, cniVersion: CHECK_VERSION };
  const check = add === "good" ? await outcome(() => runtime.check(checked, pod)) : "";
  const del = await outcome(() => runtime.del(list, pod));
  const left = (await listEndpoints(client)).length + (await countLeases(leases, list));
  return { compat, sandbox, add, check, del, left };
}

/** What became of one file. */
export interface CniVerdict {
  readonly file: string;
  /** Why it is no configuration; undefined when it is one. */
  readonly refusal: string | undefined;
  readonly runs: readonly CniRun[];
  /** Codes that lint finds. */
  readonly causes: readonly string[];
  /** What is not as it has to be. */
  readonly findings: readonly string[];
}

/** A refusal says which field, key or value it means; what HNS refuses says so with a code of the catalogue. */
const NAMES_FIELD = /"[^"]+"|'[^']+'|line \d+|field |(?<!\w)[A-Z]\w*\[\d+\]\.\w|\([a-z]+(?:-[a-z]+)+\)/;
/** HNS refused, in the words that upstream's program has for it: they are not ours to change, and lint names the cause. */
const OF_HNS = /\(0x803b[0-9a-f]{4}\)/;
/** What HNS answers, whatever is wrong. */
const RECORD = /\{"Success":false[^{}]*\}/;
/** In front of each refusal of a plugin. */
const OF_PLUGIN = /^\d+: plugin type="[^"]*"(?: name="[^"]*")? failed \(\w+\): /;

function namesField(refusal: string): boolean {
  return NAMES_FIELD.test(refusal.replace(OF_PLUGIN, "").replace(RECORD, ""));
}

function findingsOf(verdict: Omit<CniVerdict, "findings">, isKnown: boolean): readonly string[] {
  const { refusal, runs, causes } = verdict;
  const found: string[] = [];
  if (isKnown && causes.length === 0) found.push("its fault is known, and nothing names it");
  if (refusal !== undefined && !namesField(refusal)) found.push(`the refusal names nothing: ${refusal}`);
  for (const { compat, add, check, del, left } of runs) {
    const isNamed = namesField(add) || (compat === "upstream" && OF_HNS.test(add) && causes.length > 0);
    if (add !== "good" && !isNamed) found.push(`${compat}: the refusal of ADD names nothing: ${add}`);
    if (add === "good" && check !== "good") found.push(`${compat}: CHECK after a good ADD: ${check}`);
    if (add === "good" && del !== "good") found.push(`${compat}: DEL after a good ADD: ${del}`);
    if (left > 0) found.push(`${compat}: DEL has left ${left} endpoints and addresses`);
  }
  return found;
}

async function runFile(file: string, source: SourceText, isKnown: boolean): Promise<CniVerdict> {
  const { findings } = lint({ sources: [source] });
  const causes = [...new Set(findings.map(({ code }) => code))];
  let verdict: Omit<CniVerdict, "findings">;
  try {
    const list = parse(source);
    const runs: CniRun[] = [];
    for (const compat of MODES) runs.push(await runPod(list, compat));
    verdict = { file, refusal: undefined, runs, causes };
  } catch (error) {
    if (!(error instanceof CniError)) throw error;
    verdict = { file, refusal: `${error.code}: ${error.message}`, runs: [], causes };
  }
  return { ...verdict, findings: findingsOf(verdict, isKnown) };
}

const NO_BREAK_SPACE = /\u00a0/g;
const OLD_NAME = /"type":\s*"l2bridge"/;

/** What becomes of a file when the advice of lint is followed; for what it would be refused for at once. */
function repairedTexts({ text }: SourceText): readonly (readonly [how: string, text: string])[] {
  const repaired: (readonly [string, string])[] = [];
  if (NO_BREAK_SPACE.test(text)) repaired.push(["with plain spaces", text.replaceAll(NO_BREAK_SPACE, " ")]);
  if (OLD_NAME.test(text)) repaired.push(["as sdnbridge", text.replace(OLD_NAME, '"type": "sdnbridge"')]);
  return repaired;
}

/** The file as it is, and repaired. @param isKnown the fault of the file is known and visible in it. */
export async function checkCniFile(source: SourceText, isKnown: boolean): Promise<readonly CniVerdict[]> {
  const file = basename(source.file);
  const verdicts = [await runFile(file, source, isKnown)];
  for (const [how, text] of repairedTexts(source))
    verdicts.push(await runFile(`${file}, ${how}`, new SourceText(source.file, text), false));
  return verdicts;
}

/** The rows of a table: one for each mode, or one for a refusal. */
export function cniTableRows({ file, refusal, runs, causes }: CniVerdict): readonly (readonly string[])[] {
  const names = causes.join(", ");
  if (refusal !== undefined) return [[file, "", "", `refused: ${refusal}`, "", "", "", names]];
  return runs.map(({ compat, sandbox, add, check, del, left }, index) => {
    const [name, why] = index === 0 ? [file, names] : ["", ""];
    return [name, compat, sandbox, add, check, del, String(left), why];
  });
}

export const CNI_TABLE_TITLES: readonly string[] = [
  "file",
  "mode",
  "sandbox",
  "ADD",
  "CHECK",
  "DEL",
  "left",
  "lint",
];
