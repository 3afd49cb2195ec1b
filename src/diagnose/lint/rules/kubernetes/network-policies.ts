/** NetworkPolicies that select Windows pods. */
import { isNamedAsEngine } from "#cluster/input/policy-engine-of-input.ts";
import { type SubjectPod, subjectsOfFurtherPolicy } from "#cluster/limits/policy-subjects.ts";
import type { Labels } from "#contracts/kubernetes/labels.ts";
import { FURTHER_POLICY_TYPES, effectOfFurther, specsOfFurther } from "#control-plane/load/further-kinds.ts";
import type { Fields } from "#core/base/json.ts";
import { plural } from "#core/base/text-layout.ts";
import { parseIp, parsePrefix, prefixContains, prefixCovers } from "#core/net/ip.ts";
import type { LintContext } from "../../context.ts";
import type { LintDocument } from "../../input/document.ts";
import { type LintPath, fieldsAt, isTrueAt, listAt, numberAt, textAt, valueAt } from "../../input/fields.ts";
import { type LintRule, objectRule } from "../../rule.ts";
import type { PodView } from "../../views/pods.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

/** A rule over policies that select a Windows pod of the input. */
function policies(code: LintRule["code"], check: LintRule["check"]): LintRule {
  return objectRule(code, ["NetworkPolicy"], function* (document, context) {
    const namespace = textAt(document.value, "metadata", "namespace") ?? "default";
    const pods = context.podsSelectedBy(valueAt(document.value, "spec", "podSelector"), namespace);
    // Antrea and ovn-kubernetes have engines of their own, in which none of this is a limit.
    if (context.plugins.has("antrea")) return;
    const isForWindows =
      pods.length === 0 ? context.isKnownWindows : pods.some((pod) => context.isForWindows(pod));
    if (isForWindows) yield* check(document, context);
  });
}

/** An engine of NetworkPolicies that the cluster file names, or a DaemonSet brings to Windows nodes. */
function hasEngine(context: LintContext): boolean {
  if (context.ofKind("cluster").some(({ value }) => textAt(value, "policy") !== undefined)) return true;
  return context.objects("DaemonSet").some((set) => {
    const name = textAt(set.value, "metadata", "name") ?? "";
    return isNamedAsEngine(name) && context.podOf(set)?.os === "windows";
  });
}

/** Without an engine no answer of Mullion takes it into account. */
const NOT_ENFORCED = objectRule(
  "network-policy-not-enforced",
  ["NetworkPolicy"],
  function* (document, context) {
    const namespace = textAt(document.value, "metadata", "namespace") ?? "default";
    const selected = context.podsSelectedBy(valueAt(document.value, "spec", "podSelector"), namespace);
    const isForWindows = selected.some((pod) => context.isForWindows(pod));
    if (isForWindows && !context.once(hasEngine))
      yield {
        at: { path: ["kind"] },
        message: WORDS.networkPolicyNotJudged,
      };
  },
);

function labelsOf(fields: Fields): Labels {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, String(value)]));
}

function labelsByNamespace(context: LintContext): ReadonlyMap<string, Labels> {
  const namespaces = context.objects("Namespace");
  return new Map(
    namespaces.map(({ value }) => [
      textAt(value, "metadata", "name") ?? "",
      labelsOf(fieldsAt(value, "metadata", "labels")),
    ]),
  );
}

function asSubject({ namespace, labels, spec, isHostProcess }: PodView, context: LintContext): SubjectPod {
  const own = context.once(labelsByNamespace).get(namespace);
  return {
    namespace,
    labels: labelsOf(labels),
    namespaceLabels: { ...own, "kubernetes.io/metadata.name": namespace },
    isHostNetwork: isHostProcess || isTrueAt(spec, "hostNetwork"),
  };
}

/** Policies of other APIs, about pods on Windows: whom they select is read where verify and trace read it. */
const KIND_NOT_ENFORCED = objectRule(
  "policy-kind-not-enforced",
  FURTHER_POLICY_TYPES,
  function* ({ value }, context) {
    const [apiVersion, kind] = [textAt(value, "apiVersion") ?? "", textAt(value, "kind") ?? ""];
    const isOfNamespace = effectOfFurther(apiVersion, kind) === "policy";
    const namespace = isOfNamespace ? (textAt(value, "metadata", "namespace") ?? "default") : "";
    const specs = specsOfFurther(value);
    const subjects = subjectsOfFurtherPolicy({ apiVersion, kind, namespace, specs });
    const directions = new Set(subjects?.flatMap((subject) => subject.directions));
    const selected = context.allPods.filter(
      (pod) =>
        subjects?.some((subject) => subject.selects(asSubject(pod, context))) ??
        (namespace === "" || pod.namespace === namespace),
    );
    const count = selected.filter((pod) => context.isForWindows(pod)).length;
    const isForWindows = context.isKnownWindows && selected.length === 0;
    if ((count === 0 && !isForWindows) || (subjects !== undefined && directions.size === 0)) return;
    const whom = count === 0 ? "pods" : plural(count, "pod");
    const message =
      subjects === undefined
        ? WORDS.policyKindMayBeAbout({ whom })
        : WORDS.policyKindSelects({ whom, directions: [...directions].join(" and ") });
    yield { at: { path: ["kind"] }, message };
  },
);

interface Part {
  readonly value: unknown;
  readonly path: LintPath;
}

function* partsOf(
  policy: LintDocument,
  field: "ports" | "peers",
): Generator<Part & { readonly isEgress: boolean }> {
  for (const direction of ["ingress", "egress"])
    for (const [rule, body] of listAt(policy.value, "spec", direction).entries()) {
      const name = field === "ports" ? "ports" : direction === "ingress" ? "from" : "to";
      for (const [index, value] of listAt(body, name).entries())
        yield { value, path: ["spec", direction, rule, name, index], isEgress: direction === "egress" };
    }
}

const NAMED_PORT = policies("network-policy-named-port", function* (policy) {
  for (const { value, path } of partsOf(policy, "ports")) {
    const port = textAt(value, "port");
    if (port !== undefined && !/^\d+$/.test(port))
      yield {
        at: { path: [...path, "port"] },
        message: WORDS.networkPolicyNamedPort({ port }),
      };
  }
});

const SCTP = policies("network-policy-sctp", function* (policy) {
  for (const { value, path } of partsOf(policy, "ports"))
    if (textAt(value, "protocol") === "SCTP")
      yield {
        at: { path: [...path, "protocol"] },
        message: WORDS.networkPolicySctp,
      };
});

/** From so many ports on a list of them is worth a word. */
const PORTS_MANY = 1_000;

const PORT_RANGE = policies("network-policy-wide-port-range", function* (policy) {
  for (const { value, path } of partsOf(policy, "ports")) {
    const [first, last] = [numberAt(value, "port"), numberAt(value, "endPort")];
    if (first === undefined || last === undefined || last - first < PORTS_MANY) continue;
    yield {
      at: { path: [...path, "endPort"] },
      message: WORDS.networkPolicyPortRange({ last: last - first + 1 }),
    };
  }
});

const EXCEPT = policies("network-policy-except", function* (policy) {
  for (const { value, path } of partsOf(policy, "peers"))
    if (listAt(value, "ipBlock", "except").length > 0)
      yield {
        at: { path: [...path, "ipBlock", "except"] },
        message: WORDS.networkPolicyExcept,
      };
});

const IPV6 = policies("network-policy-ipv6", function* (policy) {
  for (const { value, path } of partsOf(policy, "peers")) {
    const cidr = textAt(value, "ipBlock", "cidr");
    if (cidr?.includes(":") === true)
      yield {
        at: { path: [...path, "ipBlock", "cidr"] },
        message: WORDS.networkPolicyIpv6({ cidr }),
      };
  }
});

/** dataplane.md §4.5. A range that is exactly a Service's address, or lies in the Services' range. */
const SERVICE_ADDRESS = policies("network-policy-service-address", function* (policy, context) {
  // Then the ACLs of the sender do see it.
  if (context.kubeProxy.enableDSR === false) return;
  for (const { value, path, isEgress } of partsOf(policy, "peers")) {
    const prefix = parsePrefix(textAt(value, "ipBlock", "cidr") ?? "");
    if (!isEgress || prefix === undefined) continue;
    const range = context.ranges.services.find((known) => prefixCovers(known.prefix, prefix));
    const service = context.objects("Service").find(({ value: each }) => {
      const ip = parseIp(textAt(each, "spec", "clusterIP") ?? "");
      return ip !== undefined && prefixContains(prefix, ip) && prefix.length === 32;
    });
    if (range === undefined && service === undefined) continue;
    const what = service === undefined ? `the range of Services (${range?.from ?? ""})` : service.title;
    yield {
      at: { path: [...path, "ipBlock", "cidr"] },
      message: WORDS.networkPolicyAddressTranslated({ what }),
    };
  }
});

export const NETWORK_POLICY_RULES: readonly LintRule[] = [
  NOT_ENFORCED,
  KIND_NOT_ENFORCED,
  NAMED_PORT,
  SCTP,
  PORT_RANGE,
  EXCEPT,
  IPV6,
  SERVICE_ADDRESS,
];
