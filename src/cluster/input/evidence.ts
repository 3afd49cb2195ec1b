/**
 * What of an input can show which network a cluster has: Nodes, ConfigMaps, containers of DaemonSets, CNI configuration;
 * each with the place that an answer names.
 */
import { type Fields, isFields } from "#core/base/json.ts";
import type { ConfigMap, DaemonSet, Node, Pod } from "#contracts/kubernetes/objects.ts";
import { readYaml } from "#contracts/kubernetes/text/yaml-value.ts";
import { nodeOs } from "#control-plane/controllers/kubelet-admission.ts";
import type { LoadedObject } from "#control-plane/load/manifests.ts";
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
  readonly version: string;
}

/** A text in a ConfigMap. */
export interface ConfigEvidence extends EvidencePlace {
  readonly name: string;
  readonly namespace: string;
  readonly key: string;
  readonly text: string;
}

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
  readonly pods: readonly (EvidencePlace & { readonly pod: Pod })[];
}

/** Longer texts are no configuration of a network. */
const TEXT_LENGTH_MAX = 65_536;
const CNI_TYPE = /"type"\s*:\s*"([\w-]+)"/;

/** Where an object stands. */
function placeOf({ object, origin }: LoadedObject): EvidencePlace {
  const { namespace, name } = object.metadata;
  const source = [object.kind.toLowerCase(), namespace, name].filter((part) => part !== "").join("/");
  if (origin === undefined) return { source, where: undefined };
  const { file, line, column } = origin;
  return { source, where: { file, line, column, field: "" } };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function textAt(value: unknown, ...path: readonly string[]): string {
  return textOf(path.reduce<unknown>((at, step) => (isFields(at) ? at[step] : undefined), value));
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
  return /"Network"\s*:\s*"/i.test(text) && /"Backend"\s*:\s*\{/i.test(text) && !/"kind"\s*:\s*"/.test(text);
}

function nodeEvidence(loaded: LoadedObject, node: Node): NodeEvidence {
  const { metadata, spec, status } = node;
  return {
    ...placeOf(loaded),
    name: metadata.name,
    os: nodeOs(node) === "windows" ? "windows" : "linux",
    annotations: metadata.annotations ?? {},
    labels: metadata.labels ?? {},
    capacity: status?.capacity ?? {},
    provider: /^([\w-]+):\/\//.exec(spec?.providerID ?? "")?.[1] ?? "",
    version: status?.nodeInfo?.kubeletVersion ?? "",
  };
}

function configEvidence(loaded: LoadedObject, { metadata, data = {} }: ConfigMap): readonly ConfigEvidence[] {
  const { name, namespace } = metadata;
  const place = placeOf(loaded);
  return Object.entries(data).flatMap(([key, text]) =>
    text.length > TEXT_LENGTH_MAX ? [] : [{ ...place, name, namespace, key, text }],
  );
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
  const place = placeOf(loaded);
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

/** Collects what can show a network. `files`: CNI configuration that was named beside the manifests. */
export function collectEvidence(objects: readonly LoadedObject[], files: readonly InputText[]): Evidence {
  const nodes: NodeEvidence[] = [];
  const configs: ConfigEvidence[] = [];
  const containers: ContainerEvidence[] = [];
  const pods: (EvidencePlace & { readonly pod: Pod })[] = [];
  for (const loaded of objects) {
    const { object } = loaded;
    if (object.kind === "Node") nodes.push(nodeEvidence(loaded, object));
    else if (object.kind === "ConfigMap") configs.push(...configEvidence(loaded, object));
    else if (object.kind === "Pod") pods.push({ ...placeOf(loaded), pod: object });
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
        return { source: name, where, name, namespace: "", key: "net-conf.json", text };
      }),
  );
  const inConfigs = configs.flatMap(({ source, where, text }) => cniIn(text, { source, where }, false) ?? []);
  return {
    nodes: nodes.toSorted((a, b) => Number(b.os === "windows") - Number(a.os === "windows")),
    configs,
    containers: containers.toSorted(
      (a, b) => Number(a.source.startsWith("pod/")) - Number(b.source.startsWith("pod/")),
    ),
    cni: [...named, ...inConfigs],
    pods,
  };
}
