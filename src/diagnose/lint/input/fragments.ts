/**
 * Parts of documents, as people keep and paste them: a list of HNS policies, the `spec` of an object, a Node's
 * annotations, a part of an operator's object. A fragment is put into the document that it is a part of.
 */
import { type Fields, isFields, listOf } from "#core/base/json.ts";
import type { DocumentKind, Locate } from "./document.ts";
import { type LintPath, keyOf, listAt, textAt, valueAt } from "./fields.ts";

/** A document made around a fragment. */
export interface Fragment {
  readonly kind: DocumentKind;
  readonly value: Fields;
  /** Where in `value` the fragment stands. */
  readonly at: LintPath;
  readonly title: string;
  /** Where in the text it stands, when that is not its beginning. */
  readonly below?: LintPath;
}

/** Types of HNS policies, of both interfaces (hcn.md §3), that no network has for its own. */
const POLICY_TYPES =
  /^(?:acl|outboundnat|route|sdnroute|pa|provideraddress|l2driver|l4proxy|l4wfpproxy|layer4proxy|portmapping|elb|qos|vsid|vlan|interfaceparameters|endpointpolicy|remotesubnetroute|hostroute|drmacaddress|automaticdns|setpolicy|tieraclpolicy|portname|encapoverhead|iov|proxy)$/i;

function isPolicy(value: unknown): value is Fields {
  return isFields(value) && POLICY_TYPES.test(textAt(value, keyOf(value, "Type") ?? "") ?? "");
}

function policies(value: unknown): Fragment | undefined {
  const isList = Array.isArray(value);
  const list: readonly unknown[] = isList ? value : [value];
  if (list.length === 0 || !list.every(isPolicy)) return undefined;
  const isV2 = list.some((policy) => keyOf(policy, "Settings") !== undefined);
  return {
    kind: "hns",
    value: { Policies: list, ...(isV2 && { SchemaVersion: { Major: 2, Minor: 0 } }) },
    at: isList ? ["Policies"] : ["Policies", 0],
    title: isList ? "a list of HNS policies" : "an HNS policy",
  };
}

/** The policies of a CNI configuration: `{"Name": "EndpointPolicy", "Value": {…}}`. */
function additionalArguments(value: unknown): Fragment | undefined {
  const list: readonly unknown[] = listOf(value);
  const inner = list.map((item) => valueAt(item, keyOf(item, "Value") ?? ""));
  if (!list.every((item) => isFields(item) && keyOf(item, "Name") !== undefined)) return undefined;
  const found = policies(inner);
  return found && { ...found, title: "policies of a CNI configuration" };
}

interface SpecShape {
  readonly apiVersion: string;
  readonly kind: string;
  /** Where in the object the fragment stands. */
  readonly at: LintPath;
  readonly isSpec: (value: Fields) => boolean;
}

function hasList(value: Fields, name: string, ...fields: readonly string[]): boolean {
  const items = listAt(value, name);
  return (
    items.length > 0 &&
    items.every((item) => isFields(item) && fields.every((field) => item[field] !== undefined))
  );
}

/** By what only this `spec` has. */
const SPECS: readonly SpecShape[] = [
  {
    apiVersion: "v1",
    kind: "Pod",
    at: ["spec"],
    isSpec: (value) => hasList(value, "containers", "name", "image"),
  },
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    at: ["spec"],
    isSpec: (value) => isFields(value["selector"]) && isFields(valueAt(value, "template", "spec")),
  },
  {
    apiVersion: "v1",
    kind: "Service",
    at: ["spec"],
    isSpec: (value) =>
      hasList(value, "ports", "port") &&
      ["selector", "clusterIP", "clusterIPs"].some((name) => name in value),
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    at: ["spec"],
    isSpec: (value) =>
      isFields(value["podSelector"]) && ["ingress", "egress", "policyTypes"].some((name) => name in value),
  },
  { apiVersion: "v1", kind: "Node", at: ["spec"], isSpec: (value) => textAt(value, "podCIDR") !== undefined },
  {
    apiVersion: "operator.tigera.io/v1",
    kind: "Installation",
    at: ["spec"],
    isSpec: (value) => isFields(value["calicoNetwork"]),
  },
  {
    apiVersion: "operator.openshift.io/v1",
    kind: "Network",
    at: ["spec"],
    isSpec: (value) => isFields(value["defaultNetwork"]),
  },
  {
    apiVersion: "operator.openshift.io/v1",
    kind: "Network",
    at: ["spec", "defaultNetwork"],
    isSpec: (value) => isFields(value["ovnKubernetesConfig"]),
  },
];

function around(path: LintPath, value: Fields): Fields {
  return path.reduceRight<Fields>((inner, name) => ({ [String(name)]: inner }), value);
}

function specOf(value: Fields): Fragment | undefined {
  const shape = SPECS.find(({ isSpec }) => isSpec(value));
  if (shape === undefined) return undefined;
  const { apiVersion, kind, at } = shape;
  return {
    kind: "kubernetes",
    value: { apiVersion, kind, metadata: { name: "" }, ...around(at, value) },
    at,
    title: `${at.join(".")} of ${/^[AEIOU]/.test(kind) ? "an" : "a"} ${kind}`,
  };
}

/** Annotations that network providers write into Nodes. */
const NODE_ANNOTATION =
  /^(?:flannel\.alpha\.coreos\.com|projectcalico\.org|k8s\.ovn\.org|node\.antrea\.io)\//;

function annotationsOf(value: Fields): Fragment | undefined {
  const names = Object.keys(value);
  if (names.length === 0 || !names.some((name) => NODE_ANNOTATION.test(name))) return undefined;
  if (!names.every((name) => /^[\w.-]+\.[a-z]+\/[\w.-]+$/.test(name))) return undefined;
  // In a paste the JSON of an annotation stands without its quotation marks, and reads as YAML.
  const texts = Object.entries(value).map(([name, text]) => [
    name,
    typeof text === "string" ? text : JSON.stringify(text),
  ]);
  const annotations = Object.fromEntries(texts) as Fields;
  const at = ["metadata", "annotations"];
  return {
    kind: "kubernetes",
    value: { apiVersion: "v1", kind: "Node", ...around(at, annotations) },
    at,
    title: "annotations of a Node",
  };
}

/** Names under which a part was copied, and stands alone. */
const NAMES_OF_PARTS = /^(?:metadata|annotations|spec|defaultNetwork|policies|value)$/i;

/** What a value without apiVersion and kind is a part of. */
export function fragmentOf(value: unknown): Fragment | undefined {
  const found = policies(value) ?? additionalArguments(value);
  if (found !== undefined || !isFields(value)) return found;
  const whole = annotationsOf(value) ?? specOf(value);
  const [name, ...others] = Object.keys(value);
  if (whole !== undefined || name === undefined || others.length > 0 || !NAMES_OF_PARTS.test(name))
    return whole;
  const inner = fragmentOf(value[name]);
  return inner && { ...inner, below: [name, ...(inner.below ?? [])] };
}

/** Places of the document in the text of the fragment; what the text does not have is its beginning. */
export function locateFragment({ at, below = [] }: Fragment, locate: Locate): Locate {
  return (places) =>
    locate(
      places.map((place) => {
        if (!("path" in place)) return place;
        const isInside = at.every((name, index) => place.path[index] === name);
        return isInside ? { ...place, path: [...below, ...place.path.slice(at.length)] } : { path: [] };
      }),
    );
}

/** True for a text that begins with an annotation of a Node: YAML, whatever its file is called. */
export function beginsWithAnnotation(text: string): boolean {
  const [line = ""] = text.trimStart().split("\n", 1);
  return NODE_ANNOTATION.test(line.replace(/^["']/, ""));
}
