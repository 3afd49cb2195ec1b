/**
 * Kinds that Mullion passes by, by group, with what they could do to a flow. What is in no list here is of an API that nobody
 * here has read: it is taken to do nothing, and the answer says so.
 */
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { type Fields, listOf, mappingOf } from "#core/base/json.ts";
import { furtherKinds } from "#data/facts.js";

const EFFECTS = ["policy", "cluster-policy", "network", "source", "overlay", "nothing"] as const;
/** As `data/facts/further-kinds.yaml` says. */
export type FurtherEffect = (typeof EFFECTS)[number];

/** Those of a group; `rest`: those that are not named. */
interface Kinds {
  readonly named: Readonly<Record<string, FurtherEffect>>;
  readonly rest?: FurtherEffect | undefined;
}

function readKinds(table: CheckedFields): Readonly<Record<string, Kinds>> {
  const groups = table.names().map((group): [string, Kinds] => {
    const given = table.take(group);
    if (typeof given === "string") return [group, { named: {}, rest: table.toWord(group, given, EFFECTS) }];
    const lists = table.within(group);
    const named = EFFECTS.flatMap((effect) => lists.texts(effect).map((kind) => [kind, effect] as const));
    const rest = lists.optionalWord("rest", EFFECTS);
    lists.end();
    return [group, { named: Object.fromEntries(named), rest }];
  });
  return Object.freeze(Object.fromEntries(groups));
}

const FURTHER_KINDS = readKinds(CheckedFields.ofTable(furtherKinds()));

const KUSTOMIZE = "kustomize.config.k8s.io";

/** Kinds of policies, as `NetworkPolicy.projectcalico.org`, and of lists of them that cannot be taken apart. */
export const FURTHER_POLICY_TYPES: readonly string[] = Object.freeze(
  Object.entries(FURTHER_KINDS).flatMap(([group, { named }]) =>
    Object.keys(named)
      .filter((kind) => named[kind] === "policy" || named[kind] === "cluster-policy")
      .flatMap((kind) => [`${kind}.${group}`, `${kind}List.${group}`]),
  ),
);

/** What an object that is passed by could do to a flow; undefined: nobody knows. Of a list without items nobody knows whose it is. */
export function effectOfFurther(apiVersion: string, kind: string): FurtherEffect | undefined {
  const end = apiVersion.lastIndexOf("/");
  const group = end < 0 ? "" : apiVersion.slice(0, end);
  const known = Object.hasOwn(FURTHER_KINDS, group) ? FURTHER_KINDS[group] : undefined;
  if (known === undefined) return undefined;
  if (Object.hasOwn(known.named, kind)) return known.named[kind];
  const item = kind.replace(/List$/u, "");
  const effect = item === kind ? undefined : effectOfFurther(apiVersion, item);
  if (effect === "policy") return "cluster-policy";
  return effect ?? known.rest;
}

/** Fields of a kustomization that change nothing: https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/ */
const LISTING_FIELDS: readonly string[] = ["apiVersion", "kind", "metadata", "resources"];

/** True for a kustomization that only lists files of its own folder, which are read for themselves. */
export function onlyListsFiles(value: Fields): boolean {
  const resources: unknown = value["resources"] ?? [];
  const isOfFolder = (each: unknown): boolean =>
    typeof each === "string" && /^(?:\.\/)?[^/:]+\.ya?ml$/u.test(each);
  return (
    Object.keys(value).every((field) => LISTING_FIELDS.includes(field)) &&
    Array.isArray(resources) &&
    resources.every(isOfFolder)
  );
}

/** True for the name of a file that kustomize reads, whose apiVersion and kind may be left out. */
export function isKustomization(file: string): boolean {
  return /(?:^|[/\\])kustomization(?:\.ya?ml)?$/iu.test(file);
}

/** What renders a file that holds no object by itself: charts of Helm and kustomizations, by the file's name. */
export function rendererOf(file: string): { readonly what: string; readonly command: string } | undefined {
  const folder = /^(.*)[/\\]/u.exec(file)?.[1] ?? ".";
  if (isKustomization(file)) return { what: "a kustomization", command: `kubectl kustomize ${folder}` };
  if (!/(?:^|[/\\])(?:Chart|values[\w.-]*)\.ya?ml$/u.test(file)) return undefined;
  return { what: "a part of a Helm chart", command: `helm template ${folder}` };
}

/** A kustomization need not say what it is, but for its file's name. */
export function withKustomizeKind(file: string, value: Fields): Fields {
  if (!isKustomization(file) || value["kind"] !== undefined) return value;
  return { apiVersion: `${KUSTOMIZE}/v1beta1`, kind: "Kustomization", ...value };
}

/** The parts in which a policy says whom it is about: `spec`, or those of Cilium's list `specs`, or both. At least one. */
export function specsOfFurther({ spec, specs }: Fields): readonly Fields[] {
  const list = listOf(specs);
  const parts = spec === undefined && list.length > 0 ? list : [spec, ...list];
  return Object.freeze(parts.map((each) => mappingOf(each)));
}

/**
 * Kinds that say how programs of the network run, and are read as such: Calico's operator, kube-proxy, and the addresses
 * that CNS has for pods of a node (Azure/azure-container-networking, crd/nodenetworkconfig). That of kube-proxy is no
 * object of an API server.
 */
const CONFIGURATIONS: Readonly<Record<string, string>> = Object.freeze({
  "operator.tigera.io": "Installation",
  "kubeproxy.config.k8s.io": "KubeProxyConfiguration",
  "acn.azure.com": "NodeNetworkConfig",
});

/** True for a document that configures the network of a cluster. */
export function isConfiguration(apiVersion: string, kind: string): boolean {
  const [group = ""] = apiVersion.split("/");
  return Object.hasOwn(CONFIGURATIONS, group) && CONFIGURATIONS[group] === kind;
}
