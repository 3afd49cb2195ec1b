/**
 * What rules know besides the document in hand: the builds of Windows and the Kubernetes that it is for, address ranges,
 * how kube-proxy runs, which CNI plugins there are, and all other documents of the input.
 */
import { addToList } from "#core/base/keyed-lists.ts";
import type { KnownRanges, KnownRange } from "./views/address-ranges.ts";
import { type WindowsBuild, getProfile, parseNodeBuild, parseProfile } from "#core/catalogue/profiles.ts";
import { hostPrefix, parseIp, parsePrefix } from "#core/net/ip.ts";
import { SERVICE_NAME_LABEL } from "#contracts/kubernetes/labels.ts";
import { profilesAskedFor } from "#contracts/kubernetes/container-image.ts";
import { flannelRange, pluginTypeOf } from "./views/cluster-view.ts";
import type { DocumentKind, LintDocument } from "./input/document.ts";
import { type Fields, isFields, textOf } from "#core/base/json.ts";
import { fieldsAt, isTrueAt, keyOf, listAt, numberAt, textAt, valueAt } from "./input/fields.ts";
import { type ClassesOfPods, type PodView, classesOfPods, podView, podsOfCluster } from "./views/pods.ts";
import { DEFINITION_TYPES, definedBuilds, definedVersion } from "#control-plane/load/cluster-definitions.ts";
import { objectTypeOf } from "./input/recognize.ts";

function meets(expression: unknown, labels: Fields): boolean {
  const key = textAt(expression, "key") ?? "";
  const value = labels[key];
  const values = listAt(expression, "values");
  switch (textAt(expression, "operator") ?? "") {
    case "In":
      return values.includes(value);
    case "NotIn":
      return !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      return false;
  }
}

/** True when a LabelSelector, whose shape is not checked, selects these labels. An empty one selects everything, an absent one nothing. */
function selects(selector: unknown, labels: Fields): boolean {
  if (!isFields(selector)) return false;
  const isEqual = Object.entries(fieldsAt(selector, "matchLabels")).every(
    ([key, value]) => labels[key] === value,
  );
  return isEqual && listAt(selector, "matchExpressions").every((expression) => meets(expression, labels));
}

/**
 * Where a fact comes from. `pods`: no Node is in the input, and pods ask for it. `assumed`: no part of the input has it;
 * rules may still use it.
 */
export type FactOrigin = "flag" | "nodes" | "cluster-file" | "definition" | "pods" | "assumed";

export interface KnownWindows {
  /** At least one. */
  readonly builds: readonly WindowsBuild[];
  readonly origin: FactOrigin;
}

export interface KnownKubernetes {
  readonly minor: number;
  readonly patch: number | undefined;
  readonly origin: FactOrigin;
}

/** How kube-proxy runs on Windows nodes; undefined: not known. */
export interface KnownKubeProxy {
  readonly enableDSR: boolean | undefined;
  readonly networkName: string | undefined;
}

/** What the flags of `mullion lint` say. */
export interface LintOptions {
  readonly profile?: WindowsBuild;
  readonly kubernetes?: { readonly minor: number; readonly patch: number | undefined };
  /** Pods that do not say otherwise are for Windows. */
  readonly isWindows?: boolean;
}

/** The newest version that the project knows (docs/reference/cluster-file.md). */
const KUBERNETES_NEWEST = 37;

const NO_PODS: readonly PodView[] = Object.freeze([]);

export class LintContext {
  readonly documents: readonly LintDocument[];
  readonly windows: KnownWindows;
  readonly kubernetes: KnownKubernetes;
  readonly ranges: KnownRanges;
  readonly kubeProxy: KnownKubeProxy;
  /** Types of CNI plugins of the input, in lower case: `win-overlay`, `sdnoverlay`, `flannel`. */
  readonly plugins: ReadonlySet<string>;
  /** Something says that the cluster has Windows nodes: a flag, a Node, a cluster file, or a pod for Windows. */
  readonly hasWindows: boolean;
  /** Pods in networks of Windows nodes are in the input: they are clients of Services. */
  readonly hasWindowsPods: boolean;
  /** A flag says that what names no operating system is for Windows. */
  readonly isKnownWindows: boolean;
  private readonly types = new Map<string, LintDocument[]>();
  private readonly kinds = new Map<DocumentKind, LintDocument[]>();
  private readonly pods = new Map<LintDocument, PodView>();
  private readonly podsByNamespace = new Map<string, PodView[]>();
  private services: ReadonlyMap<string, LintDocument> | undefined;
  private slices: ReadonlyMap<string, readonly LintDocument[]> | undefined;
  private portOwners: readonly LintDocument[] | undefined;
  private readonly podsByLabel = new Map<string, PodView[]>();
  private readonly behind = new Map<LintDocument, readonly PodView[]>();
  private readonly workloads = new Set<string>();
  private readonly nodeOs = new Map<string, string>();
  private readonly found = new Map<(context: LintContext) => unknown, unknown>();

  constructor(documents: readonly LintDocument[], options: LintOptions) {
    this.documents = documents;
    this.isKnownWindows = options.isWindows === true;
    const classes = classesOfPods(documents);
    for (const document of documents) this.index(document, classes);
    for (const { value } of this.ofKind("cluster"))
      for (const node of listAt(value, "nodes")) {
        const [name, os] = [textAt(node, "name"), textAt(node, "os")];
        if (name !== undefined && os !== undefined && !this.nodeOs.has(name)) this.nodeOs.set(name, os);
      }
    for (const document of this.ofKind("cluster"))
      for (const pod of podsOfCluster(document, this.nodeOs)) this.addPod(pod);
    this.windows = this.findWindows(options);
    this.kubernetes = this.findKubernetes(options);
    this.ranges = this.findRanges();
    this.plugins = new Set(this.ofKind("cni").flatMap(({ value }) => pluginTypes(value)));
    this.kubeProxy = this.findKubeProxy();
    this.hasWindows =
      this.isKnownWindows ||
      this.windows.origin !== "assumed" ||
      [...this.pods.values()].some((pod) => pod.os === "windows");
    this.hasWindowsPods = [...this.pods.values()].some((pod) => this.isForWindows(pod) && !pod.isHostProcess);
  }

  private index(document: LintDocument, classes: ClassesOfPods): void {
    addToList(this.kinds, document.kind, document);
    if (document.kind !== "kubernetes") return;
    const type = objectTypeOf(document.value);
    addToList(this.types, type, document);
    const pod = podView(document, classes);
    if (pod !== undefined) {
      this.pods.set(document, pod);
      this.workloads.add(`${type} ${nameOf(document.value)}`);
      this.addPod(pod);
    }
    if (type === "Node") {
      const os = osOfNode(document.value);
      const name = textAt(document.value, "metadata", "name");
      if (os !== undefined && name !== undefined) this.nodeOs.set(name, os);
    }
  }

  /** A pod that Services select. */
  private addPod(pod: PodView): void {
    for (const label of Object.entries(pod.labels))
      addToList(this.podsByLabel, labelKey(pod.namespace, ...label), pod);
    addToList(this.podsByNamespace, pod.namespace, pod);
  }

  /** What `find` finds in the whole input; it looks once. */
  once<T>(find: (context: LintContext) => T): T {
    if (!this.found.has(find)) this.found.set(find, find(this));
    return this.found.get(find) as T;
  }

  ofKind(kind: DocumentKind): readonly LintDocument[] {
    return this.kinds.get(kind) ?? [];
  }

  /** Kubernetes objects of one type: `Service`, `FelixConfiguration.crd.projectcalico.org`. */
  objects(type: string): readonly LintDocument[] {
    return this.types.get(type) ?? [];
  }

  /** The pods of a document, or those that it is a template for. */
  podOf(document: LintDocument): PodView | undefined {
    return this.pods.get(document);
  }

  /** True for pods, and templates of pods, that a workload of the input has made: what is wrong is wrong there. */
  isMadeHere(document: LintDocument): boolean {
    if (!this.pods.has(document)) return false;
    const namespace = textAt(document.value, "metadata", "namespace") ?? "default";
    return listAt(document.value, "metadata", "ownerReferences").some((owner) => {
      const key = `${textAt(owner, "kind") ?? ""} ${namespace}/${textAt(owner, "name") ?? ""}`;
      return this.workloads.has(key);
    });
  }

  /** The same, when they are for Windows: by what they say, the node that they name, or by flag. */
  windowsPodOf(document: LintDocument): PodView | undefined {
    const pod = this.podOf(document);
    return pod !== undefined && this.isForWindows(pod) ? pod : undefined;
  }

  isForWindows(pod: PodView): boolean {
    if (pod.os !== "unknown") return pod.os === "windows";
    const os = this.osOfNodeOf(pod);
    return os === undefined ? this.isKnownWindows : os === "windows";
  }

  /** The operating system of the node that the pod names; undefined when it names none that the input has. */
  osOfNodeOf(pod: PodView): string | undefined {
    const node = textAt(pod.spec, "nodeName");
    return node === undefined ? undefined : this.nodeOs.get(node);
  }

  /** The pods, and templates of pods, that a Service selects. */
  podsBehind(service: LintDocument): readonly PodView[] {
    const known = this.behind.get(service);
    if (known !== undefined) return known;
    const found = this.findBehind(service);
    this.behind.set(service, found);
    return found;
  }

  private findBehind(service: LintDocument): readonly PodView[] {
    const wanted = Object.entries(fieldsAt(service.value, "spec", "selector"));
    const [first] = wanted;
    if (first === undefined) return NO_PODS;
    const namespace = textAt(service.value, "metadata", "namespace") ?? "default";
    const candidates = this.podsByLabel.get(labelKey(namespace, ...first)) ?? NO_PODS;
    return candidates.filter((pod) => wanted.every(([key, value]) => pod.labels[key] === value));
  }

  /** The pods that a selector of labels selects in a namespace. */
  podsSelectedBy(selector: unknown, namespace: string): readonly PodView[] {
    return (this.podsByNamespace.get(namespace) ?? NO_PODS).filter((pod) => selects(selector, pod.labels));
  }

  /** All pods, and templates of pods. */
  get allPods(): readonly PodView[] {
    return [...this.podsByNamespace.values()].flat();
  }

  /** True for a Service with a back end on Windows. */
  isServiceOfWindows(service: LintDocument): boolean {
    const pods = this.podsBehind(service);
    if (pods.length === 0) return this.isKnownWindows;
    return pods.some((pod) => this.isForWindows(pod));
  }

  /** A Service by its name. */
  serviceNamed(namespace: string, name: string): LintDocument | undefined {
    return this.servicesByName().get(`${namespace}/${name}`);
  }

  /** The EndpointSlices of a Service. */
  slicesOf(namespace: string, service: string): readonly LintDocument[] {
    return this.slicesByService().get(`${namespace}/${service}`) ?? [];
  }

  /** The Service to which the port behind the first `count` ports of all Services belongs. */
  serviceAt(count: number): LintDocument | undefined {
    this.portOwners ??= this.objects("Service").flatMap((service) => {
      const isHeadless = textAt(service.value, "spec", "clusterIP") === "None";
      const ports = isHeadless ? [] : listAt(service.value, "spec", "ports");
      return ports.map(() => service);
    });
    return this.portOwners[count];
  }

  /** True when something says that the Windows nodes' network is an overlay. */
  get isOverlay(): boolean {
    if (["win-overlay", "sdnoverlay"].some((type) => this.plugins.has(type))) return true;
    if (this.ofKind("cluster").some(({ value }) => pluginTypeOf(value) === "win-overlay")) return true;
    if (/^(?:vxlan0|flannel\.\d+)$/i.test(this.kubeProxy.networkName ?? "")) return true;
    return this.ofKind("flannel").some(
      ({ value }) => textAt(value, keyOf(value, "Backend") ?? "", "Type")?.toLowerCase() === "vxlan",
    );
  }

  private servicesByName(): ReadonlyMap<string, LintDocument> {
    this.services ??= new Map(this.objects("Service").map((service) => [nameOf(service.value), service]));
    return this.services;
  }

  private slicesByService(): ReadonlyMap<string, readonly LintDocument[]> {
    if (this.slices !== undefined) return this.slices;
    const slices = new Map<string, LintDocument[]>();
    for (const slice of this.objects("EndpointSlice")) {
      const service = textAt(slice.value, "metadata", "labels", SERVICE_NAME_LABEL);
      const key = `${textAt(slice.value, "metadata", "namespace") ?? "default"}/${service ?? ""}`;
      addToList(slices, key, slice);
    }
    this.slices = slices;
    return slices;
  }

  /** The first of the known builds for which `holds`; undefined when it holds for none. */
  buildWhere(holds: (build: WindowsBuild) => boolean): WindowsBuild | undefined {
    return this.windows.builds.find(holds);
  }

  private findWindows({ profile }: LintOptions): KnownWindows {
    if (profile !== undefined) return { builds: [profile], origin: "flag" };
    const nodes = this.objects("Node").flatMap((node) => buildOfNode(node.value) ?? []);
    if (nodes.length > 0) return { builds: nodes, origin: "nodes" };
    const files = this.ofKind("cluster").flatMap(({ value }) => buildsOfClusterFile(value));
    if (files.length > 0) return { builds: files, origin: "cluster-file" };
    const defined = this.definitions().flatMap(({ value }) => definedBuilds(value));
    const builds = defined.flatMap((build) => parseNodeBuild(build) ?? []);
    if (builds.length > 0) return { builds, origin: "definition" };
    const asked = profilesAskedFor([...this.pods.values()].map(({ spec }) => spec));
    if (asked.length > 0)
      return {
        builds: asked.map((each) => ({ profile: each, revision: undefined, note: undefined })),
        origin: "pods",
      };
    const assumed: WindowsBuild = { profile: getProfile("ws2022"), revision: undefined, note: undefined };
    return { builds: [assumed], origin: "assumed" };
  }

  private findKubernetes({ kubernetes }: LintOptions): KnownKubernetes {
    if (kubernetes !== undefined) return { ...kubernetes, origin: "flag" };
    for (const node of this.windowsNodesFirst()) {
      const info = fieldsAt(node.value, "status", "nodeInfo");
      const text = textAt(info, "kubeProxyVersion") || textAt(info, "kubeletVersion");
      const version = parseKubernetes(text ?? "");
      if (version !== undefined) return { ...version, origin: "nodes" };
    }
    for (const { value } of this.ofKind("cluster")) {
      const version = parseKubernetes(versionText(valueAt(value, "kubernetes", "version")));
      if (version !== undefined) return { ...version, origin: "cluster-file" };
    }
    for (const { value } of this.definitions()) {
      const [apiVersion, kind] = [textAt(value, "apiVersion") ?? "", textAt(value, "kind") ?? ""];
      const version = parseKubernetes(definedVersion(apiVersion, kind, value));
      if (version !== undefined) return { ...version, origin: "definition" };
    }
    return { minor: KUBERNETES_NEWEST, patch: undefined, origin: "assumed" };
  }

  /** Documents from which clusters are made. */
  private definitions(): readonly LintDocument[] {
    return DEFINITION_TYPES.flatMap((type) => this.objects(type));
  }

  private windowsNodesFirst(): readonly LintDocument[] {
    const nodes = this.objects("Node");
    const windows = nodes.filter(({ value }) => osOfNode(value) === "windows");
    return [...windows, ...nodes.filter((node) => !windows.includes(node))];
  }

  private findRanges(): KnownRanges {
    const pods: KnownRange[] = [];
    const services: KnownRange[] = [];
    const nodes: KnownRange[] = [];
    for (const document of this.ofKind("cluster")) {
      const { value } = document;
      addRanges(pods, flannelRange(document, "clusterCIDR"), "clusterCIDR of the cluster file", true);
      addRanges(services, flannelRange(document, "serviceCIDR"), "serviceCIDR of the cluster file");
      addRanges(nodes, valueAt(value, "underlay", "subnet"), "underlay of the cluster file");
    }
    for (const { value, title } of this.objects("Node")) {
      addRanges(pods, valueAt(value, "spec", "podCIDR"), `podCIDR of ${title}`);
      for (const range of listAt(value, "spec", "podCIDRs")) addRanges(pods, range, `podCIDR of ${title}`);
      for (const address of listAt(value, "status", "addresses"))
        if (textAt(address, "type") === "InternalIP")
          addRanges(nodes, valueAt(address, "address"), `address of ${title}`);
    }
    for (const { value } of this.ofKind("flannel")) {
      addRanges(pods, valueAt(value, keyOf(value, "Network") ?? ""), "Network of flannel's net-conf");
      addRanges(pods, valueAt(value, keyOf(value, "IPv6Network") ?? ""), "IPv6Network of flannel's net-conf");
    }
    for (const { value } of this.ofKind("kube-proxy"))
      addRanges(pods, valueAt(value, "clusterCIDR"), "clusterCIDR of kube-proxy", true);
    for (const { value } of this.ofKind("kube-proxy-flags"))
      addRanges(pods, valueAt(value, "flags", "cluster-cidr"), "--cluster-cidr of kube-proxy", true);
    for (const { value } of this.objects("ClusterConfiguration.kubeadm.k8s.io")) {
      addRanges(pods, valueAt(value, "networking", "podSubnet"), "podSubnet of kubeadm");
      addRanges(services, valueAt(value, "networking", "serviceSubnet"), "serviceSubnet of kubeadm");
    }
    return { pods, services, nodes };
  }

  private findKubeProxy(): KnownKubeProxy {
    const configurations = this.ofKind("kube-proxy").filter(({ value }) => isForWindows(value));
    const calls = this.ofKind("kube-proxy-flags").map(({ value }) => fieldsAt(value, "flags"));
    const windowsCalls = calls.filter((flags) => WINDOWS_FLAGS.some((name) => Object.hasOwn(flags, name)));
    const isDSR =
      configurations.some(({ value }) => isTrueAt(value, "winkernel", "enableDSR")) ||
      windowsCalls.some((flags) => /^(?:|true|1|t)$/i.test(textAt(flags, "enable-dsr") ?? "no"));
    const fromFile = this.ofKind("cluster").map(({ value }) => valueAt(value, "kubeProxy", "enableDSR"));
    const isKnown = configurations.length + windowsCalls.length > 0;
    return {
      enableDSR: isKnown ? isDSR : fromFile.find((value) => typeof value === "boolean"),
      networkName:
        configurations.map(({ value }) => textAt(value, "winkernel", "networkName")).find(Boolean) ??
        windowsCalls.map((flags) => textAt(flags, "network-name")).find(Boolean),
    };
  }
}

function labelKey(namespace: string, name: string, value: unknown): string {
  return `${namespace} ${name}=${typeof value === "string" ? value : JSON.stringify(value)}`;
}

/** `namespace/name` of an object. */
function nameOf(value: Fields): string {
  return `${textAt(value, "metadata", "namespace") ?? "default"}/${textAt(value, "metadata", "name") ?? ""}`;
}

/** kubeadm writes an empty `winkernel` for Linux nodes, too. */
function isForWindows(configuration: Fields): boolean {
  const { networkName, sourceVip, enableDSR } = fieldsAt(configuration, "winkernel");
  return (
    textAt(configuration, "mode") === "kernelspace" || enableDSR === true || Boolean(networkName || sourceVip)
  );
}

/** Flags that kube-proxy only has a use for on Windows. */
const WINDOWS_FLAGS: readonly string[] = [
  "network-name",
  "source-vip",
  "enable-dsr",
  "root-hnsendpoint-name",
];

function addRanges(into: KnownRange[], text: unknown, from: string, mayHoldNodes = false): void {
  if (typeof text !== "string") return;
  for (const part of text.split(",")) {
    const ip = parseIp(part.trim());
    const prefix = parsePrefix(part.trim()) ?? (ip === undefined ? undefined : hostPrefix(ip));
    if (prefix !== undefined) into.push({ prefix, from, mayHoldNodes });
  }
}

function pluginTypes(value: Fields): readonly string[] {
  const plugins = [value, ...listAt(value, "plugins")];
  return plugins.flatMap((plugin) => {
    const types = [textAt(plugin, "type"), textAt(plugin, "delegate", "type")];
    return types.flatMap((type) => type?.toLowerCase().replace(/\.exe$/, "") ?? []);
  });
}

/** The operating system that a Node says it has. */
export function osOfNode(node: Fields): string | undefined {
  return (
    textAt(node, "status", "nodeInfo", "operatingSystem") ??
    textAt(node, "metadata", "labels", "kubernetes.io/os") ??
    textAt(node, "metadata", "labels", "beta.kubernetes.io/os")
  );
}

/** The build of Windows that a Node says it has. */
export function buildOfNode(node: Fields): WindowsBuild | undefined {
  if (osOfNode(node) !== "windows") return undefined;
  const text =
    textAt(node, "status", "nodeInfo", "kernelVersion") ??
    textAt(node, "metadata", "labels", "node.kubernetes.io/windows-build");
  return text === undefined ? undefined : parseProfile(text);
}

function buildsOfClusterFile(value: Fields): readonly WindowsBuild[] {
  return listAt(value, "nodes").flatMap((node) => {
    if (textAt(node, "os") !== "windows") return [];
    const build = textAt(node, "build") ?? numberAt(node, "build")?.toString() ?? "ws2022";
    return parseNodeBuild(build) ?? [];
  });
}

/** In YAML `1.30` without quotes is the number 1.3. There is no Kubernetes 1.3 with Windows nodes. */
function versionText(value: unknown): string {
  if (typeof value === "number") return /^1\.\d$/.test(`${value}`) ? `${value}0` : `${value}`;
  return textOf(value);
}

/** `v1.30.4+k3s1`, `1.31`. */
export function parseKubernetes(
  text: string,
): { readonly minor: number; readonly patch: number | undefined } | undefined {
  const match = /^v?1\.(\d{1,3})(?:\.(\d{1,4}))?(?:[-+].*)?$/.exec(text.trim());
  if (match === null) return undefined;
  return { minor: Number(match[1]), patch: match[2] === undefined ? undefined : Number(match[2]) };
}
