/**
 * What of an input can show which network a cluster has: Nodes, ConfigMaps, containers of DaemonSets, CNI configuration;
 * each with the place that an answer names.
 */
import { type Fields, isFields, mappingOf, mappingsIn, textOf } from "#core/base/json.ts";
import { labelsAskedFor } from "#contracts/kubernetes/node-labels.ts";
import type { ConfigMap, DaemonSet, KubeObject, Node, Pod } from "#contracts/kubernetes/objects.ts";
import { type Prefix, parseInterfaceAddress, prefixOf } from "#core/net/ip.ts";
import { readYaml } from "#contracts/kubernetes/text/yaml-value.ts";
import { nodeOs } from "#control-plane/controllers/kubelet-admission.ts";
import { podSpecOf } from "#contracts/kubernetes/runtime-class.ts";
import { cloudOfAnnotations, definedVersion } from "#control-plane/load/cluster-definitions.ts";
import { isConfiguration } from "#control-plane/load/further-kinds.ts";
import type { LoadedConfiguration, LoadedObject } from "#control-plane/load/manifests.ts";
import type { NodeOs } from "../file/cluster-file.ts";
import type { InputText, ProblemPlace } from "../session/session.ts";

/** Where something is said. */
export interface EvidencePlace {
  /** `configmap/kube-system/kube-proxy`, or the name of a file. */
  readonly source: string;
  readonly where: ProblemPlace | undefined;
}

export interface NodeEvidence extends EvidencePlace {
  readonly name: string;
  readonly os: NodeOs;
  readonly annotations: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: Readonly<Record<string, string>>;
  readonly provider: string;
  /** `spec.podCIDR`. */
  readonly hasPodRange: boolean;
  readonly version: string;
}

/** A text in a ConfigMap. */
export interface ConfigEvidence extends EvidencePlace {
  readonly name: string;
  readonly namespace: string;
  readonly key: string;
  readonly text: string;
  /** A file that the user named. */
  readonly isFile: boolean;
}

/** `Installation` of Calico's operator. */
export interface InstallationEvidence extends EvidencePlace {
  /** What the operator made of it, where it says so, else what is asked for. */
  readonly spec: Fields;
}

/** `NodeNetworkConfig`: what CNS of a node has for its pods. */
export interface NodeNetworkEvidence extends EvidencePlace {
  readonly node: string;
  /** Blocks of either family. */
  readonly ranges: readonly Prefix[];
}

/** A document from which a whole cluster is made, or one of a kind that OpenShift alone has. */
export interface DefinitionEvidence extends EvidencePlace {
  readonly group: string;
  readonly kind: string;
  readonly fields: Fields;
  /** Of Kubernetes, as it is written; empty: not said. */
  readonly version: string;
  /** It asks for nothing, and only shows where the cluster runs. */
  readonly isSign: boolean;
}

/** What pods ask of their nodes, or a RuntimeClass for them; or an object that is written for one cloud. */
export interface PlacementEvidence extends EvidencePlace {
  readonly labels: readonly string[];
  readonly cloud: ReturnType<typeof cloudOfAnnotations>;
}

/** The key of kubeadm's ConfigMap; a file of the user's is taken for one. */
export const KUBEADM_KEY = "ClusterConfiguration";

/** A container of a DaemonSet, or of a pod that no object brings up. */
export interface ContainerEvidence extends EvidencePlace {
  /** Of the DaemonSet or pod. */
  readonly owner: string;
  readonly isForWindows: boolean;
  readonly image: string;
  /** Command and arguments, with blanks between them. */
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A CNI configuration: in a ConfigMap, or a file beside the manifests. */
export interface CniEvidence extends EvidencePlace {
  readonly network: string;
  readonly type: string;
  /** flannel's delegate. */
  readonly delegate: string;
  /** The first plugin with all its fields; empty where its text is a template that is no JSON. */
  readonly plugin: Fields;
  /** A file that the user named, which no program has still to change. */
  readonly isFile: boolean;
}

export interface Evidence {
  /** Windows nodes first, as they decide. */
  readonly nodes: readonly NodeEvidence[];
  readonly configs: readonly ConfigEvidence[];
  /** Those of DaemonSets first. */
  readonly containers: readonly ContainerEvidence[];
  readonly cni: readonly CniEvidence[];
  readonly installations: readonly InstallationEvidence[];
  readonly nodeNetworks: readonly NodeNetworkEvidence[];
  readonly definitions: readonly DefinitionEvidence[];
  /** Empty where there are Nodes, which have the labels themselves. */
  readonly placements: readonly PlacementEvidence[];
  readonly pods: readonly (EvidencePlace & { readonly pod: Pod })[];
}

/** Longer texts are no configuration of a network. */
const TEXT_LENGTH_MAX = 65_536;
const CNI_TYPE = /"type"\s*:\s*"([\w-]+)"/;

/** Where an object stands. */
export function placeOfObject({ object, origin }: LoadedObject): EvidencePlace {
  const { namespace, name } = object.metadata;
  const source = [object.kind.toLowerCase(), namespace, name].filter((part) => part !== "").join("/");
  if (origin === undefined) return { source, where: undefined };
  const { file, line, column } = origin;
  return { source, where: { file, line, column, field: "" } };
}

export function textAt(value: unknown, ...path: readonly string[]): string {
  return textOf(path.reduce<unknown>((at, step) => mappingOf(at)[step], value));
}

/** The mapping that a text of JSON or YAML holds; undefined for everything else. */
export function mappingIn(text: string): Fields | undefined {
  const read = readYaml(text);
  const [value] = "values" in read ? read.values : [];
  return isFields(value) ? value : undefined;
}

/** The configuration that a text holds, if it is one of CNI. */
function cniIn(text: string, place: EvidencePlace, isFile: boolean): CniEvidence | undefined {
  if (text.length > TEXT_LENGTH_MAX || !/^[\s\u00a0\uFEFF]*\{/.test(text) || !CNI_TYPE.test(text))
    return undefined;
  const value = mappingIn(text.replaceAll("\u00a0", " "));
  if (value === undefined) {
    // Installers fill in templates such as "mtu": __CNI_MTU__, which are no JSON before.
    const type = CNI_TYPE.exec(text)?.[1] ?? "";
    return { ...place, network: "", type, delegate: "", plugin: {}, isFile };
  }
  const list: unknown = value["plugins"];
  const first: unknown = Array.isArray(list) ? list[0] : value;
  if (!isFields(first) || typeof first["type"] !== "string" || "kind" in value) return undefined;
  return {
    ...place,
    network: textOf(value["name"]),
    type: first["type"],
    delegate: textAt(first, "delegate", "type"),
    plugin: first,
    isFile,
  };
}

/** True for a text that configures a network (CNI, or flanneld's net-conf.json): no manifest, and no cluster file. */
export function isNetworkText({ text }: InputText): boolean {
  if (!/^[\s\u00a0\uFEFF]*\{/.test(text) || text.length > TEXT_LENGTH_MAX) return false;
  if (isNetConfText(text)) return true;
  if (!CNI_TYPE.test(text) || /"(?:apiVersion|kind)"\s*:\s*"/.test(text)) return false;
  return /"(?:cniVersion|plugins|ipam|delegate)"\s*:/.test(text);
}

/** flanneld's configuration, whatever its file is called. */
function isNetConfText(text: string): boolean {
  return (
    /"Network"\s*:\s*"[\d.]+\/\d+"/i.test(text) && !/"(?:kind|apiVersion|cniVersion)"\s*:\s*"/.test(text)
  );
}

function nodeEvidence(loaded: LoadedObject, node: Node): NodeEvidence {
  const { metadata, spec, status } = node;
  return {
    ...placeOfObject(loaded),
    name: metadata.name,
    os: nodeOs(node) === "windows" ? "windows" : "linux",
    annotations: metadata.annotations ?? {},
    labels: metadata.labels ?? {},
    capacity: status?.capacity ?? {},
    provider: /^([\w-]+):\/\//.exec(spec?.providerID ?? "")?.[1] ?? "",
    hasPodRange: (spec?.podCIDR ?? "") !== "",
    version: status?.nodeInfo?.kubeletVersion ?? "",
  };
}

function configEvidence(loaded: LoadedObject, { metadata, data = {} }: ConfigMap): readonly ConfigEvidence[] {
  const { name, namespace } = metadata;
  const place = placeOfObject(loaded);
  return Object.entries(data).flatMap(([key, text]) =>
    text.length > TEXT_LENGTH_MAX ? [] : [{ ...place, name, namespace, key, text, isFile: false }],
  );
}

/** Keys under which ConfigMaps hold what files may hold as well. */
const KEYS: Readonly<Record<string, string>> = {
  KubeProxyConfiguration: "config.conf",
  ClusterConfiguration: KUBEADM_KEY,
};

function ofConfigurations(
  configurations: readonly LoadedConfiguration[],
): Pick<Evidence, "configs" | "definitions" | "installations" | "nodeNetworks"> {
  const configs: ConfigEvidence[] = [];
  const installations: InstallationEvidence[] = [];
  const nodeNetworks: NodeNetworkEvidence[] = [];
  const definitions: DefinitionEvidence[] = [];
  for (const { file, line, column, apiVersion, kind, fields, isSign } of configurations) {
    const place = { source: file, where: { file, line, column, field: "" } };
    if (KEYS[kind] === undefined && !isConfiguration(apiVersion, kind)) {
      const [group = ""] = apiVersion.split("/");
      const version = definedVersion(apiVersion, kind, fields);
      definitions.push({ ...place, group, kind, fields, version, isSign });
      continue;
    }
    if (kind === "NodeNetworkConfig") {
      nodeNetworks.push(nodeNetworkOf(place, fields));
      continue;
    }
    const key = KEYS[kind];
    if (key !== undefined)
      configs.push({ ...place, name: file, namespace: "", key, text: JSON.stringify(fields), isFile: true });
    const { spec, status } = fields;
    const computed = mappingOf(status)["computed"];
    if (key === undefined)
      installations.push({ ...place, spec: isFields(computed) ? computed : mappingOf(spec) });
  }
  return { configs, definitions, installations, nodeNetworks };
}

/** A range that a container of the network names by an address of it and a length; undefined: a single address. */
function blockOf(address: unknown, range: unknown): Prefix | undefined {
  if (typeof address !== "string") return undefined;
  const length = typeof range === "string" && !address.includes("/") ? `/${range.split("/")[1] ?? ""}` : "";
  const found = parseInterfaceAddress(`${address}${length}`);
  return found === undefined ? undefined : prefixOf(found.ip, found.length);
}

/**
 * What CNS of a node has in an overlay: a block for each family, in containers of their own or in one
 * (Azure/azure-container-networking, crd/nodenetworkconfig/api/v1alpha/nodenetworkconfig.go).
 */
function nodeNetworkOf(place: EvidencePlace, { metadata, status }: Fields): NodeNetworkEvidence {
  const ranges = mappingsIn(mappingOf(status)["networkContainers"])
    .filter(({ type }) => type === "overlay")
    .flatMap(({ primaryIP, primaryIPV6, subnetAddressSpaceV6 }) => [
      blockOf(primaryIP, undefined),
      blockOf(primaryIPV6, subnetAddressSpaceV6),
    ])
    .filter((range) => range !== undefined);
  return { ...place, node: textOf(mappingOf(metadata)["name"]), ranges };
}

function containerEvidence(
  loaded: LoadedObject,
  spec: NonNullable<Pod["spec"]>,
): readonly ContainerEvidence[] {
  const selected = [
    spec.nodeSelector?.["kubernetes.io/os"],
    spec.nodeSelector?.["beta.kubernetes.io/os"],
    spec.os?.name,
    JSON.stringify(spec.affinity?.nodeAffinity ?? "").includes('"windows"') ? "windows" : undefined,
  ];
  const isForWindows =
    selected.includes("windows") || spec.securityContext?.windowsOptions?.hostProcess === true;
  const place = placeOfObject(loaded);
  return [...(spec.initContainers ?? []), ...spec.containers].map(({ image, command, args, env }) => ({
    ...place,
    owner: loaded.object.metadata.name,
    isForWindows,
    image: image ?? "",
    command: [...(command ?? []), ...(args ?? [])].join(" "),
    env: Object.fromEntries((env ?? []).map(({ name, value = "" }) => [name, value])),
  }));
}

function workloadOf(object: DaemonSet | Pod): NonNullable<Pod["spec"]> | undefined {
  return object.kind === "Pod" ? object.spec : object.spec?.template.spec;
}

/** Pods of programs of the node that no DaemonSet brings up: static ones, `kube-proxy-gke-…`. */
function isProxyPod(object: Pod): boolean {
  return object.metadata.namespace === "kube-system" && object.metadata.name.startsWith("kube-proxy");
}

/** Labels that nodes must have: those of a pod's own wishes, and what a RuntimeClass adds. */
function labelsOfPlacement(object: KubeObject): readonly string[] {
  if (object.kind === "RuntimeClass") return Object.keys(object.scheduling?.nodeSelector ?? {});
  const spec = podSpecOf(object);
  return spec === undefined ? [] : [...labelsAskedFor(spec).keys()];
}

/** What shows a network: objects, CNI configuration that was named beside them, and configurations among them. */
export interface EvidenceInput {
  readonly objects: readonly LoadedObject[];
  readonly files: readonly InputText[];
  readonly configurations: readonly LoadedConfiguration[];
}

/** Collects what can show a network. */
export function collectEvidence({ objects, files, configurations }: EvidenceInput): Evidence {
  const nodes: NodeEvidence[] = [];
  const configs: ConfigEvidence[] = [];
  const containers: ContainerEvidence[] = [];
  const pods: (EvidencePlace & { readonly pod: Pod })[] = [];
  const placements: PlacementEvidence[] = [];
  for (const loaded of objects) {
    const { object } = loaded;
    const labels = labelsOfPlacement(object);
    const cloud = cloudOfAnnotations({ metadata: object.metadata });
    if (labels.length > 0 || cloud !== undefined)
      placements.push({ ...placeOfObject(loaded), labels, cloud });
    if (object.kind === "Node") nodes.push(nodeEvidence(loaded, object));
    else if (object.kind === "ConfigMap") configs.push(...configEvidence(loaded, object));
    else if (object.kind === "Pod") pods.push({ ...placeOfObject(loaded), pod: object });
    if (object.kind !== "DaemonSet" && !(object.kind === "Pod" && isProxyPod(object))) continue;
    const spec = workloadOf(object);
    if (spec !== undefined) containers.push(...containerEvidence(loaded, spec));
  }
  const named = files.flatMap(({ name, text }) => {
    const where = { file: name, line: 1, column: 1, field: "" };
    return cniIn(text, { source: name, where }, true) ?? [];
  });
  configs.unshift(
    ...files
      .filter(({ text }) => isNetConfText(text))
      .map(({ name, text }) => {
        const where = { file: name, line: 1, column: 1, field: "" };
        return { source: name, where, name, namespace: "", key: "net-conf.json", text, isFile: true };
      }),
  );
  const written = ofConfigurations(configurations);
  configs.unshift(...written.configs);
  const inConfigs = configs.flatMap(({ source, where, text }) => cniIn(text, { source, where }, false) ?? []);
  return {
    nodes: nodes.toSorted((a, b) => Number(b.os === "windows") - Number(a.os === "windows")),
    configs,
    containers: containers.toSorted(
      (a, b) => Number(a.source.startsWith("pod/")) - Number(b.source.startsWith("pod/")),
    ),
    cni: [...named, ...inConfigs],
    installations: written.installations,
    nodeNetworks: written.nodeNetworks,
    definitions: written.definitions,
    placements: nodes.length > 0 ? [] : placements,
    pods,
  };
}
