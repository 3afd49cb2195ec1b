/** What `get` lists and `delete` takes: kinds by the names that people write. */
import { nearestNames } from "#core/base/nearest-name.ts";
import { HNS_KINDS, type HnsKind, STACK_KINDS, type StackKind } from "#cluster/api/client.ts";
import { KUBE_KIND_TABLE, type KubeKindNames, findKubeKind } from "#cluster/api/kube-kinds.ts";
import { Failure } from "../failure.ts";
import { OVN_KINDS, type OvnKind } from "./listings-ovn.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** A kind of Kubernetes, one of HNS, one of OVN, or a part of machines. kubectl's names belong to Kubernetes; those of HNS begin with hns. */
export type Kind =
  | { readonly of: "kubernetes"; readonly names: KubeKindNames }
  | { readonly of: "hns"; readonly hns: HnsKind }
  | { readonly of: "ovn"; readonly ovn: OvnKind }
  | { readonly of: "stack"; readonly stack: StackKind };

/** `hnsnetworks` as in Get-HnsNetwork; the short forms are those that Kubernetes does not use. */
const HNS_NAMES: Readonly<Record<HnsKind, readonly string[]>> = {
  networks: ["hnsnetworks", "hnsnetwork", "hnsnet", "networks", "network"],
  endpoints: ["hnsendpoints", "hnsendpoint", "hnsep"],
  namespaces: ["hnsnamespaces", "hnsnamespace", "hnsns"],
  loadbalancers: ["hnsloadbalancers", "hnsloadbalancer", "hnslb", "loadbalancers", "loadbalancer"],
};

/** As the tables of OVN's databases are called; the short forms are those of ovn-nbctl. */
const OVN_NAMES: Readonly<Record<OvnKind, readonly string[]>> = {
  logicalswitches: ["logicalswitches", "logicalswitch", "ls"],
  logicalrouters: ["logicalrouters", "logicalrouter", "lr"],
  logicalswitchports: ["logicalswitchports", "logicalswitchport", "lsp"],
  logicalrouterports: ["logicalrouterports", "logicalrouterport", "lrp"],
  ovnloadbalancers: ["ovnloadbalancers", "ovnloadbalancer", "ovnlb"],
  acls: ["acls", "acl"],
  chassis: ["chassis"],
};

const STACK_NAMES: Readonly<Record<StackKind, readonly string[]>> = {
  computesystems: ["computesystems", "computesystem"],
  compartments: ["compartments", "compartment"],
  adapters: ["adapters", "adapter", "netadapters", "netadapter"],
  routes: ["routes", "route", "netroutes", "netroute"],
  effectiveroutes: ["effectiveroutes", "effectiveroute"],
  effectiverules: ["effectiverules", "effectiverule"],
  dockernetworks: ["dockernetworks", "dockernetwork"],
  dhcpleases: ["dhcpleases", "dhcplease"],
  quirks: ["quirks", "quirk"],
};

/** The names that help texts show. */
export const KUBE_KIND_NAMES: readonly string[] = KUBE_KIND_TABLE.map(({ plural, short }) =>
  short[0] === undefined ? plural : `${plural} (${short[0]})`,
);
export const HNS_KIND_NAMES: readonly string[] = HNS_KINDS.map((kind) => `hns${kind}`);

function allNames(): readonly string[] {
  return [
    ...KUBE_KIND_TABLE.flatMap(({ plural, singular }) => [plural, singular]),
    ...Object.values(HNS_NAMES).flat(),
    ...Object.values(OVN_NAMES).flat(),
    ...Object.values(STACK_NAMES).flat(),
  ];
}

function findKind(text: string): Kind | undefined {
  const names = findKubeKind(text);
  if (names !== undefined) return { of: "kubernetes", names };
  const wanted = text.toLowerCase().replaceAll(/[-_]/g, "");
  const hns = HNS_KINDS.find((kind) => HNS_NAMES[kind].includes(wanted));
  if (hns !== undefined) return { of: "hns", hns };
  const ovn = OVN_KINDS.find((kind) => OVN_NAMES[kind].includes(wanted));
  if (ovn !== undefined) return { of: "ovn", ovn };
  const stack = STACK_KINDS.find((kind) => STACK_NAMES[kind].includes(wanted));
  return stack === undefined ? undefined : { of: "stack", stack };
}

/** @throws Failure for what is no kind, with the nearest one. */
export function parseKind(text: string): Kind {
  // kubectl takes deployments.apps, too.
  const found = findKind(text.split(".")[0] ?? text);
  if (found !== undefined) return found;
  const [near] = nearestNames(text, allNames(), 1);
  const advice = near === undefined ? "" : `Did you mean ${near}? `;
  const plurals = KUBE_KIND_TABLE.map(({ plural }) => plural);
  throw new Failure(
    "bad-usage",
    `there is no kind ${JSON.stringify(text)}`,
    `${advice}Kinds are: ${[...plurals, ...HNS_KIND_NAMES, ...OVN_KINDS, ...STACK_KINDS].join(", ")}.`,
  );
}

/** One kind with the names of its objects; none stands for all. */
export interface KindSelection {
  readonly kind: Kind;
  readonly objects: readonly string[];
}

/** What `kubectl get all` shows: what runs, and what makes it run. */
const ALL: readonly string[] = [
  "pods",
  "services",
  "daemonsets",
  "deployments",
  "replicasets",
  "statefulsets",
  "cronjobs",
  "jobs",
];

/** `pods`, `pods,svc`, `pod NAME…`, `pod/NAME svc/NAME`. @throws Failure for anything else. */
export function parseSelections(words: readonly string[]): readonly KindSelection[] {
  const [first = "", ...rest] = words;
  if (words.some((word) => word.includes("/"))) return words.map(parseSlashed);
  const kinds = first.split(",").flatMap((text) => (text === "all" ? ALL : text === "" ? [] : [text]));
  if (kinds.length === 0)
    throw new Failure("bad-usage", "no kind is given", "Name one, such as pods, svc or nodes.");
  return kinds.map((text) => ({ kind: parseKind(text), objects: rest }));
}

function parseSlashed(word: string): KindSelection {
  const [kind, name, ...rest] = word.split("/");
  if (kind === undefined || name === undefined || name === "" || rest.length > 0) {
    throw new Failure(
      "bad-usage",
      `${JSON.stringify(word)} is not of the form KIND/NAME`,
      WORDS.adviceKindAndName,
    );
  }
  return { kind: parseKind(kind), objects: [name] };
}
