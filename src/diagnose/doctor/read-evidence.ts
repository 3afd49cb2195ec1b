/** From files to evidence: each is recognised by what it holds, whatever it is called. */
import { textOf } from "#core/base/json.ts";
import { plural } from "#core/base/text-layout.ts";
import { addToList } from "#core/base/keyed-lists.ts";
import { SourceText } from "#core/base/source-text.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import type { KnownFile } from "#control-plane/load/known-manifests.ts";
import type { LoadedObject, Manifests } from "#control-plane/load/manifests.ts";
import type { KubeKind, KubeObject } from "#contracts/kubernetes/objects.ts";
import { dumpItems } from "#hns/dump/dump-items.ts";
import type { DumpedObject } from "#hns/dump/dumped-object.ts";
import { readDump } from "#hns/dump/read-dump.ts";
import { parseRules } from "../vfp-text/parse-rules.ts";
import type { LintDocument } from "../lint/input/document.ts";
import { recognize } from "../lint/input/recognize.ts";
import type { LogFinding } from "../catalogue/log/findings.ts";
import {
  type ClusterEvidence,
  type ConfigurationRecord,
  type EndpointRecord,
  type Evidence,
  type HnsRecord,
  type KindOfEvidence,
  type KubeRecord,
  type NodeEvidence,
  type RuleListing,
  addressesOfNode,
  endpointOf,
  isWindowsNode,
  listedEndpoints,
  loadBalancerOf,
  managementAddressOf,
  recordOf,
  subnetsOf,
} from "./evidence.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import { readLinks } from "./host-addresses.ts";
import {
  HOST_READERS,
  type HostFacts,
  KINDS_OF_HOST_FACTS,
  WITHIN_LOG_LINES,
  joinHostFacts,
  readHostFacts,
} from "./host-facts.ts";
import { cutOf } from "./cut-listing.ts";
import { withPlainLines } from "./json-log.ts";
import { type ListedNode, type ListedObjects, isDescription, readListed } from "./listed-objects.ts";
import { hasLogLines, type ShortText, withPlainText, withoutRuns } from "./log-runs.ts";
import type { Place } from "./place.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

/** What a file was taken for; empty: nothing in it was recognised. */
export interface ReadFile {
  readonly file: string;
  readonly holds: readonly string[];
}

/** A log that was scanned while it was read. */
export interface ScannedLog {
  readonly file: string;
  readonly findings: readonly LogFinding[];
  /** The container that wrote it, where the file has logs of several. */
  readonly of?: { readonly container: string; readonly namespace: string; readonly pod: string };
}

/** The nodes that logs of containers are of; a log of which no object has the pod is not among them. */
function nodesOfLogs(
  logs: readonly ScannedLog[],
  { pods }: ClusterEvidence,
): ReadonlyMap<ScannedLog, string> {
  const nodes = new Map(
    pods.map(({ object: { metadata, spec } }) => [`${metadata.namespace}/${metadata.name}`, spec?.nodeName]),
  );
  return new Map(
    logs.flatMap((log) => {
      const node = log.of && nodes.get(`${log.of.namespace}/${log.of.pod}`);
      return node === undefined ? [] : [[log, node] as const];
    }),
  );
}

export interface ReadEvidence {
  readonly evidence: Evidence;
  /** What a twin is made of. */
  readonly manifests: readonly KnownFile[];
  readonly files: readonly ReadFile[];
  /** What of a file could not be read, or is cut. */
  readonly problems: readonly Problem[];
}

interface Problem {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

const KUBERNETES = /^[ \t{[-]*["']?(?:apiVersion|kind)["']?[ \t]*:/mu;

/** How a line begins on which somebody gave a command; what follows `>` is the command. */
const PROMPT = /^\s{0,4}(?:PS\s)?[A-Za-z]:\\/u;
const PROMPT_LENGTH_MAX = 210;

function hasCommand(line: string): boolean {
  if (!PROMPT.test(line)) return false;
  const end = line.indexOf(">");
  return end > 0 && end <= PROMPT_LENGTH_MAX && line.slice(end + 1).trim() !== "";
}

/** What collectors call what Get-HnsLoadBalancer or Get-HnsPolicyList printed. */
const LIST_OF_LOAD_BALANCERS = /(?:^|[\\/])(?:policy|policylist|loadbalancers?)\.(?:txt|json)$/iu;

/** What hcsshim says of a call that HNS refused, in a line that somebody copied without its time. */
const HNS_ERROR = /\b(?:hnsCall|hcn[A-Z][A-Za-z]{1,40}) failed in Win32:/u;

const INDENT_MAX = 16;

/** Lines as they were before somebody quoted them (`> Networks:`), or moved them to the right as code is. */
function withoutQuoteMarks(source: SourceText): SourceText {
  // Most files, and all long ones, are told by their first line.
  if (/^[^>\s]/u.test(source.text)) return source;
  const lines = source.text.split("\n");
  const written = lines.filter((line) => line.trim() !== "");
  if (written.length < 2) return source;
  if (written.every((line) => line.startsWith(">")))
    return new SourceText(source.file, lines.map((line) => line.replace(/^> ?/u, "")).join("\n"));
  const indent = written.reduce((least, line) => Math.min(least, line.search(/[^ ]/u)), INDENT_MAX);
  if (indent <= 0) return source;
  return new SourceText(source.file, lines.map((line) => line.slice(indent)).join("\n"));
}

/** How many lines a text has; its last break ends one. */
function linesIn(text: string): number {
  return text.trimEnd().split("\n").length;
}

/** What a reader finds in a text, and in the whole of it where there is something to find. */
function wholly<Found>(
  short: ShortText,
  whole: () => SourceText,
  read: (source: SourceText) => readonly Found[],
): readonly Found[] {
  const found = read(short.source);
  return found.length === 0 || short.isWhole ? found : read(whole());
}

function listingsIn({ file, text }: SourceText): readonly RuleListing[] {
  return parseRules(text).ports.map((port) => ({
    port,
    place: { file, line: port.layers[0]?.groups[0]?.rules[0]?.line ?? 1 },
  }));
}

/** Configurations of programs, as data alone. */
function documentsIn(source: SourceText): readonly Pick<LintDocument, "kind" | "value" | "text">[] {
  return recognize(source)
    .documents.filter(({ kind }) => kind !== "hns")
    .map(({ kind, value, text }) => ({ kind, value, text }));
}

/** One list as `kubectl get -o yaml` prints it, from the first line to the last. */
function isListOfYaml(text: string): boolean {
  return (
    text.startsWith("apiVersion: v1\nitems:\n") &&
    /\nkind: List\nmetadata:\n {2}[^\n]*\n*$/u.test(text.slice(-200))
  );
}

/** What one file holds. */
export class FileReading {
  readonly source: SourceText;
  private readonly placeOf: ((object: KubeObject) => string) | undefined;
  readonly holds: string[] = [];
  problems: readonly Problem[] = [];
  /** Something of it could not be read: there is more in it than was found. */
  isPartial = false;
  readonly objects: readonly LoadedObject[];
  /** All that was read of objects of Kubernetes, where there are some. */
  private manifests: Manifests | undefined;
  readonly hns: readonly DumpedObject[];
  readonly listings: readonly RuleListing[];
  /** The listing ends before its end. */
  readonly isListingCut: boolean;
  /** Where a list of load balancers stands that has none. */
  readonly emptyList: Place | undefined;
  readonly host: HostFacts;
  readonly links: ClusterEvidence["links"];
  /** What kubectl printed for people. */
  readonly listed: ListedObjects;
  /** What `kubectl describe` prints: it looks like YAML and is none. */
  readonly isDescription: boolean;
  /** Objects of HNS and nothing else: HNS has taken them, so lint has nothing to say of them. */
  readonly isDump: boolean;
  /** Data alone, so that a reading goes from thread to thread. */
  private readonly documents: readonly Pick<LintDocument, "kind" | "value" | "text">[];

  /** @param placeOf where an object stands that no file has; else in `source`. */
  constructor(given: SourceText, placeOf?: (object: KubeObject) => string) {
    const source = withoutQuoteMarks(given);
    this.placeOf = placeOf;
    const short = withPlainText(withoutRuns(source, WITHIN_LOG_LINES));
    const whole = (): SourceText => withPlainLines(source);
    this.objects = wholly(short, whole, (each) => this.readObjects(each));
    this.hns = this.objects.length > 0 ? [] : wholly(short, whole, (each) => this.readHns(each));
    this.emptyList = wholly(short, whole, (each) => this.findEmptyList(each)).at(0);
    this.listings = wholly(short, whole, listingsIn);
    const cut = cutOf(source.text, this.listings);
    this.isListingCut = cut !== undefined;
    // A document of objects is nothing else; it may be long.
    const isJson = /^\s*[[{]/u.test(source.text) && this.objects.length + this.hns.length > 0;
    this.isDump = isJson && this.hns.length > 0;
    const isDocument = isJson || (this.objects.length > 0 && !this.isPartial && isListOfYaml(source.text));
    if (cut !== undefined)
      this.problems = [...this.problems, { file: source.file, line: linesIn(source.text), message: cut }];
    const lines = isDocument ? [] : short.lines();
    this.host = readHostFacts(lines);
    this.links = readLinks(lines);
    this.listed = readListed(lines);
    this.isDescription = this.objects.length === 0 && isDescription(short.source.text);
    this.count(this.objects.length, "objects of Kubernetes");
    this.count(this.hns.length, "objects of HNS");
    this.count(this.emptyList === undefined ? 0 : 1, "a list without load balancers");
    this.count(this.listings.length, "ports of vfpctrl");
    for (const kind of KINDS_OF_HOST_FACTS) this.count(this.host[kind].length, HOST_READERS[kind].holds);
    this.count(this.links.length, "network devices of Linux");
    this.count(this.listed.nodes.length, "nodes as kubectl prints them");
    this.count(this.listed.pods.length, "pods as kubectl prints them");
    this.documents =
      this.objects.length > 0 || this.isDump || this.isDescription ? [] : wholly(short, whole, documentsIn);
    for (const { kind } of this.documents) this.count(1, `a document (${kind})`);
    // What nothing is recognised in is scanned as it is.
    this.source = this.holds.length > 0 ? whole() : source;
  }

  /** A reading that came from another thread, where only its data was left of it. */
  static from(data: FileReading): FileReading {
    const { file, text, encoding, hasByteOrderMark } = data.source;
    const source = new SourceText(file, text, encoding, hasByteOrderMark);
    return Object.assign(Object.create(FileReading.prototype) as FileReading, data, { source });
  }

  /**
   * Errors that it shows count, whatever else it holds: a session in which somebody looked for the fault, or what a program
   * logged, of a clock for one. An object of an API is neither, whatever texts are in it.
   */
  get showsErrors(): boolean {
    if (this.host.clocks.some(({ kind }) => kind === "early" || kind === "late")) return true;
    if (this.objects.length > 0 || this.isDump) return false;
    const { text } = this.source;
    return (
      this.isDescription ||
      this.listed.nodes.length + this.listed.pods.length > 0 ||
      hasLogLines(text) ||
      HNS_ERROR.test(text) ||
      (text.includes(":\\") && text.split("\n").some(hasCommand))
    );
  }

  /** Its objects, so that no one reads them again. */
  known(): readonly KnownFile[] {
    const { file, text } = this.source;
    return this.manifests === undefined ? [] : [{ name: file, text, manifests: this.manifests }];
  }

  /** Configurations of programs. */
  configurations(...kinds: readonly LintDocument["kind"][]): readonly ConfigurationRecord[] {
    const { file, text } = this.source;
    return this.documents
      .filter(({ kind }) => kinds.includes(kind))
      .map((document) => {
        const { line } = this.source.positionOf(Math.max(0, text.indexOf(document.text)));
        return { value: document.value, place: { file, line } };
      });
  }

  /** The heading of hnsdiag without a row, or the file of a collector without an object. */
  private findEmptyList({ file, text }: SourceText): readonly Place[] {
    if (this.objects.length > 0 || this.hns.some(({ kind }) => kind === "LoadBalancer")) return [];
    const heading = text.includes("LoadBalancers:")
      ? text.split("\n").findIndex((line) => /^\s{0,8}LoadBalancers:\s*$/u.test(line))
      : -1;
    if (heading >= 0) return [{ file, line: heading + 1 }];
    const isNone = /^(?:\[\s*\])?$/u.test(text.trim());
    return isNone && LIST_OF_LOAD_BALANCERS.test(file) ? [{ file, line: 1 }] : [];
  }

  private readObjects({ file: name, text }: SourceText): readonly LoadedObject[] {
    if (!KUBERNETES.test(text)) return [];
    const manifests = loadManifests([{ name, text }]);
    const { objects, problems } = manifests;
    if (objects.length === 0) return [];
    this.manifests = manifests;
    this.tell(
      problems.map(({ file, line, message }) => ({ file, line, message })),
      problems.length > 0,
    );
    const { placeOf } = this;
    if (placeOf === undefined) return objects;
    return objects.map(({ object }) => ({
      object,
      origin: { file: placeOf(object), line: 1, column: 1, fields: {} },
    }));
  }

  private readHns(source: SourceText): readonly DumpedObject[] {
    const { objects, problems, notes } = readDump(source);
    if (objects.length === 0) return [];
    this.tell(
      [...problems, ...notes].map(({ where: { file, line }, message }) => ({ file, line, message })),
      problems.length > 0,
    );
    return objects;
  }

  /** What a text has that is read once more is told once. */
  private tell(problems: readonly Problem[], isPartial: boolean): void {
    this.problems = problems;
    this.isPartial = isPartial;
  }

  private count(count: number, what: string): void {
    if (count > 0) this.holds.push(count === 1 ? what : `${count} ${what}`);
  }
}

/** The objects of a node by their kind. */
function recordsOf(objects: readonly DumpedObject[]): (kind: string) => readonly HnsRecord[] {
  const places = new Map<string, DumpedObject["where"]>();
  for (const { document, where } of objects) {
    const id = textOf(document["ID"]).toLowerCase();
    if (!places.has(id)) places.set(id, where);
  }
  const byKind = Map.groupBy(dumpItems(objects), ({ kind }) => kind as string);
  return (kind) =>
    (byKind.get(kind) ?? []).flatMap((item) => {
      const where = places.get(item.id.toLowerCase());
      return where === undefined ? [] : [recordOf(item, { file: where.file, line: where.line })];
    });
}

function kubeRecords<Kind extends KubeKind>(
  objects: readonly LoadedObject[],
  kind: Kind,
): readonly KubeRecord<Kind>[] {
  return objects.flatMap(({ object, origin }) =>
    object.kind === kind
      ? [{ object, place: { file: origin?.file ?? "", line: origin?.line ?? 1 } } as KubeRecord<Kind>]
      : [],
  );
}

/** The folder of a file as reports name it. */
function folderOf(file: string): string {
  const path = file.replaceAll("\\", "/");
  const end = path.lastIndexOf("/");
  return end < 0 ? "." : path.slice(0, end);
}

/** What of HNS tells whose it is. */
interface Identity {
  readonly networks: readonly HnsRecord[];
  readonly endpoints: readonly EndpointRecord[];
}

/** The Node that files are of: by its address, by its pods, by its range of pods, or because there is no other. */
function nodeOf(
  { networks, endpoints }: Identity,
  { nodes, pods }: ClusterEvidence,
  isOnlyGroup: boolean,
): KubeRecord<"Node"> | undefined {
  const windows = nodes.filter(isWindowsNode);
  const addresses = new Set(networks.map(managementAddressOf));
  const local = new Set(
    endpoints.filter(({ isRemote }) => !isRemote).flatMap((each) => each.addresses.map(formatIp)),
  );
  const subnets = new Set(networks.flatMap(subnetsOf));
  const byPods = pods.find(
    ({ object: { spec, status } }) =>
      spec?.hostNetwork !== true && status?.podIP !== undefined && local.has(status.podIP),
  )?.object.spec?.nodeName;
  return (
    windows.find((node) => addressesOfNode(node).some((address) => addresses.has(address))) ??
    windows.find(({ object }) => object.metadata.name === byPods) ??
    windows.find(({ object }) => subnets.has(object.spec?.podCIDR ?? "")) ??
    (isOnlyGroup && windows.length === 1 ? windows[0] : undefined)
  );
}

const KINDS: Readonly<Record<string, KindOfEvidence>> = {
  Network: "networks",
  Endpoint: "endpoints",
  Namespace: "namespaces",
  LoadBalancer: "load balancers",
};

/** Kinds of which a file that is cut holds some. */
function partialOf(readings: readonly FileReading[]): ReadonlySet<KindOfEvidence> {
  const cut = readings.filter(({ isPartial }) => isPartial).flatMap(({ hns }) => hns);
  const isListingCut = readings.some(({ isListingCut: isIt }) => isIt);
  return new Set([
    ...cut.flatMap(({ kind }) => KINDS[kind] ?? []),
    ...(isListingCut ? ["rules" as const] : []),
  ]);
}

/**
 * Networks that were made on addresses of several Nodes, or of one name on several addresses, are files of several nodes in one
 * folder. Each on its own may be sound; together one has load balancers too many, and another's back ends.
 */
function mixedNodes(networks: readonly HnsRecord[], { nodes }: ClusterEvidence): readonly Problem[] {
  const made = networks.flatMap((network) => {
    const address = managementAddressOf(network);
    return address === undefined ? [] : [{ network, address }];
  });
  const ofNodes = nodes.flatMap((node) => {
    const own = made.find(({ address }) => addressesOfNode(node).includes(address));
    return own === undefined ? [] : [own];
  });
  const ofOneName = [...Map.groupBy(made, ({ network }) => network.name).values()].find(
    (all) => new Set(all.map(({ address }) => address)).size > 1,
  );
  const found = ofNodes.length > 1 ? ofNodes : (ofOneName ?? []);
  const [, second] = found;
  if (second === undefined) return [];
  const names = [...new Set(found.map(({ address }) => nameOfAddress(address, nodes)))].join(", ");
  return [{ ...second.network.place, message: WORDS.mixedNodes({ names }) }];
}

function nameOfAddress(address: Ip, nodes: ClusterEvidence["nodes"]): string {
  const node = nodes.find((each) => addressesOfNode(each).includes(address));
  return node?.object.metadata.name ?? formatIp(address);
}

function isOfNode(reading: FileReading): boolean {
  const { hns, emptyList, listings, host } = reading;
  const configurations = reading.configurations("kube-proxy", "kube-proxy-flags", "cni");
  const lists = [hns, listings, configurations, ...KINDS_OF_HOST_FACTS.map((kind) => host[kind])];
  return emptyList !== undefined || lists.some((each) => each.length > 0);
}

/** The first folders of a path that no other one of them lies below. */
function outermost(folders: readonly string[]): readonly string[] {
  return folders.filter(
    (each) => !folders.some((other) => other !== each && `${each}/`.startsWith(`${other}/`)),
  );
}

/** The folder that all of these lie in. */
function commonFolder(folders: readonly string[]): string {
  const [first = ".", ...others] = folders.map((each) => each.split("/"));
  const parts = typeof first === "string" ? [first] : first;
  const end = parts.findIndex((part, index) => others.some((each) => each[index] !== part));
  return parts.slice(0, end < 0 ? parts.length : end).join("/") || ".";
}

/**
 * The folders that are a node each: those with networks of HNS. In half a folder these are missing: then other objects of
 * HNS tell it, or `ipconfig` with the machine's name. Where nothing does, one folder is one node, with all below it, and
 * several are several where the cluster has several Windows nodes.
 */
function rootsOf(readings: readonly FileReading[], cluster: ClusterEvidence): readonly string[] {
  const foldersWith = (has: (reading: FileReading) => boolean): readonly string[] => [
    ...new Set(readings.filter(has).map(({ source }) => folderOf(source.file))),
  ];
  const ofNetworks = foldersWith(({ hns }) => hns.some(({ kind }) => kind === "Network"));
  if (ofNetworks.length > 0) return ofNetworks;
  const ofHns = outermost(foldersWith(({ hns, emptyList }) => hns.length > 0 || emptyList !== undefined));
  if (ofHns.length > 0) return ofHns;
  const named = outermost(foldersWith(({ host }) => host.interfaces.some((each) => each.host !== "")));
  if (named.length > 0) return named;
  const all = outermost(foldersWith(isOfNode));
  const isOne = all.length > 0 && cluster.nodes.filter(isWindowsNode).length <= 1;
  return isOne ? [commonFolder(all)] : all;
}

/** A network that two folders have is of one node, of which two collectors wrote. */
function keysOfNode(readings: readonly FileReading[]): ReadonlySet<string> {
  return new Set(
    recordsOf(readings.flatMap((each) => each.hns))("Network").flatMap((network) => {
      const address = managementAddressOf(network);
      return address === undefined ? [] : [`${network.id.toLowerCase()} ${formatIp(address)}`];
    }),
  );
}

function joinOfOneNode(groups: Map<string, FileReading[]>): void {
  const known: { readonly folder: string; readonly keys: ReadonlySet<string> }[] = [];
  for (const [folder, own] of groups) {
    const keys = keysOfNode(own);
    const same = known.find((each) => [...keys].some((key) => each.keys.has(key)));
    if (same === undefined) known.push({ folder, keys });
    else {
      groups.get(same.folder)?.push(...own);
      groups.delete(folder);
    }
  }
}

/** Files by the node that they are of; files of other folders belong to the one node that there is. */
function groupsOf(
  readings: readonly FileReading[],
  logs: readonly ScannedLog[],
  cluster: ClusterEvidence,
): Map<string, FileReading[]> {
  const roots = rootsOf(readings, cluster);
  const groups = new Map<string, FileReading[]>(roots.map((folder) => [folder, []]));
  const [only] = roots.length === 1 ? roots : [];
  for (const reading of readings.filter(isOfNode)) {
    const folder = folderOf(reading.source.file);
    const nearest = roots
      .filter((each) => `${folder}/`.startsWith(`${each}/`))
      .toSorted()
      .at(-1);
    addToList(groups, nearest ?? only ?? folder, reading);
  }
  joinOfOneNode(groups);
  const [firstLog] = logs;
  if (groups.size === 0 && firstLog !== undefined) groups.set(folderOf(firstLog.file), []);
  return groups;
}

/** What files of one node show. */
function evidenceOf(
  own: readonly FileReading[],
  { name, node, row }: Pick<NodeEvidence, "name" | "node" | "row">,
): Omit<NodeEvidence, "logs"> {
  const recordsOfKind = recordsOf(own.flatMap((each) => each.hns));
  const endpoints = recordsOfKind("Endpoint").map(endpointOf);
  return {
    name,
    node,
    row,
    partial: partialOf(own),
    none: new Map(
      own.flatMap(({ emptyList }) =>
        emptyList === undefined ? [] : [["load balancers", emptyList] as const],
      ),
    ),
    networks: recordsOfKind("Network"),
    endpoints,
    namespaces: recordsOfKind("Namespace"),
    loadBalancers: recordsOfKind("LoadBalancer").map(loadBalancerOf),
    listed: listedEndpoints(
      endpoints,
      own.flatMap((each) => each.listings),
    ),
    kubeProxy: own.flatMap((each) => each.configurations("kube-proxy", "kube-proxy-flags")),
    cni: own.flatMap((each) => each.configurations("cni")),
    host: joinHostFacts(own.map((each) => each.host)),
  };
}

function clusterOf(readings: readonly FileReading[]): ClusterEvidence {
  const objects = readings.flatMap((each) => each.objects);
  return {
    isPartial: readings.some((each) => each.isPartial && each.objects.length > 0),
    nodes: kubeRecords(objects, "Node"),
    pods: kubeRecords(objects, "Pod"),
    services: kubeRecords(objects, "Service"),
    slices: kubeRecords(objects, "EndpointSlice"),
    links: readings.flatMap((each) => each.links),
    listed: {
      nodes: readings.flatMap(({ listed }) => listed.nodes),
      pods: readings.flatMap(({ listed }) => listed.pods),
      cut: readings.flatMap(({ listed }) => listed.cut),
    },
  };
}

/** Rows of Windows nodes, each name once: a description says more than a table, and stands behind it. */
function windowsRows({ listed }: ClusterEvidence): readonly ListedNode[] {
  const rows = new Map(listed.nodes.map((row) => [row.name, row]));
  const windows = new Set(listed.nodes.filter(({ isWindows }) => isWindows).map(({ name }) => name));
  return [...rows.values()].filter(({ name }) => windows.has(name));
}

/** The row of a node: by its name, by an address of its networks or adapters, or because there is no other. */
function rowOf(
  { node, networks, host }: Pick<NodeEvidence, "node" | "networks" | "host">,
  cluster: ClusterEvidence,
  isOnlyGroup: boolean,
): ListedNode | undefined {
  const rows = windowsRows(cluster);
  if (node !== undefined) return rows.find(({ name }) => name === node.object.metadata.name);
  const addresses = new Set([
    ...networks.map(managementAddressOf),
    ...host.interfaces.flatMap((each) => each.addresses),
  ]);
  const machines = new Set(host.interfaces.map((each) => each.host.toLowerCase()));
  return (
    rows.find(({ address }) => address !== undefined && addresses.has(address)) ??
    rows.find(({ name }) => machines.has(name.toLowerCase())) ??
    (isOnlyGroup && rows.length === 1 ? rows[0] : undefined)
  );
}

/** Without files of a node what the cluster says of each Windows node is checked. */
function nodesWithoutFiles(
  cluster: ClusterEvidence,
  logsOf: (name: string) => readonly ScannedLog[],
): readonly NodeEvidence[] {
  const rows = windowsRows(cluster);
  const nodes = cluster.nodes.filter(isWindowsNode).map((node) => {
    const { name } = node.object.metadata;
    const row = rows.find((each) => each.name === name);
    return { ...evidenceOf([], { name, node, row }), logs: logsOf(name) };
  });
  return cluster.nodes.length > 0 ? nodes : rows.map(nodeOfRow);
}

/** A node of which a row is all that is known. */
function nodeOfRow(row: ListedNode): NodeEvidence {
  return { ...evidenceOf([], { name: row.name, node: undefined, row }), logs: [] };
}

/** Nodes that tables show to be unwell, beside those whose files were read. */
function unreadyRows(examined: readonly NodeEvidence[], cluster: ClusterEvidence): readonly NodeEvidence[] {
  if (cluster.nodes.length > 0) return [];
  return windowsRows(cluster)
    .filter((row) => !row.isReady && examined.every((each) => each.row !== row))
    .map(nodeOfRow);
}

/** Tables without the columns of `-o wide` do not tell which nodes are Windows; rows may be cut. */
function faultsOfTables({ nodes, listed }: ClusterEvidence): readonly Problem[] {
  const [first] = [...listed.nodes, ...listed.pods];
  const isTold = nodes.length > 0 || listed.nodes.some(({ isWindows }) => isWindows !== undefined);
  const untold =
    first === undefined || isTold ? [] : [{ ...first.place, message: WORDS.tablesWithoutSystem }];
  return [...untold, ...listed.cut.map((place) => ({ ...place, message: WORDS.rowIsCut }))];
}

function isBelow(file: string, folder: string): boolean {
  return `${folderOf(file)}/`.startsWith(`${folder}/`);
}

/** Puts together what files hold. */
export function readEvidence(readings: readonly FileReading[], logs: readonly ScannedLog[]): ReadEvidence {
  const cluster = clusterOf(readings);
  const nodeOfLog = nodesOfLogs(logs, cluster);
  const logsOf = (name: string): readonly ScannedLog[] => logs.filter((each) => nodeOfLog.get(each) === name);
  const unplaced = logs.filter((each) => !nodeOfLog.has(each));
  const groups = groupsOf(readings, unplaced, cluster);
  const mixed: Problem[] = [];
  const nodes = Array.from(groups).flatMap(([folder, own]): readonly NodeEvidence[] => {
    const unnamed = evidenceOf(own, { name: folder, node: undefined, row: undefined });
    const problems = mixedNodes(unnamed.networks, cluster);
    mixed.push(...problems);
    if (problems.length > 0) return [];
    const node = nodeOf(unnamed, cluster, groups.size === 1);
    const row = rowOf({ ...unnamed, node }, cluster, groups.size === 1);
    const found = {
      ...unnamed,
      name: node?.object.metadata.name ?? row?.name ?? (folder === "." ? WORDS.unnamedNode : folder),
      node,
      row,
      logs: [
        ...unplaced.filter(({ file }) => groups.size === 1 || isBelow(file, folder)),
        ...(node === undefined ? [] : logsOf(node.object.metadata.name)),
      ],
    };
    return [found];
  });
  const hasNoFiles = nodes.length === 0 && mixed.length === 0;
  const holds = new Map(readings.map((each) => [each.source.file, Array.from(each.holds)]));
  // A log may hold more than its lines: a paste of what commands printed below it.
  const containers = Map.groupBy(
    logs.filter(({ of }) => of !== undefined),
    ({ file }) => file,
  );
  for (const { file, of } of logs) if (of === undefined) addToList(holds, file, "a log");
  for (const [file, own] of containers) addToList(holds, file, plural(own.length, "container log"));
  return {
    evidence: {
      cluster,
      nodes: hasNoFiles ? nodesWithoutFiles(cluster, logsOf) : [...nodes, ...unreadyRows(nodes, cluster)],
      sources: readings
        .filter(({ isDump, isDescription: isIt }) => !isDump && !isIt)
        .map(({ source }) => source),
    },
    manifests: readings.flatMap((each) => each.known()),
    files: Array.from(holds, ([file, each]) => ({ file, holds: each })),
    problems: [...mixed, ...faultsOfTables(cluster), ...readings.flatMap((each) => each.problems)],
  };
}
