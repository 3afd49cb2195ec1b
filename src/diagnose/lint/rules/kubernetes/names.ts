/** Names and pings in what a Windows pod is told: its environment, its command, its probes. */
import { type Ip, familyOf, parseIp, parsePrefix, prefixContains } from "#core/net/ip.ts";
import { isFields } from "#core/base/json.ts";
import type { LintContext } from "../../context.ts";
import type { LintPlace } from "../../input/document.ts";
import { type LintPath, listAt, numberAt, textAt, valueAt } from "../../input/fields.ts";
import type { ContainerView, PodView } from "../../views/pods.ts";
import { type LintRule, rule } from "../../rule.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

interface Told {
  readonly text: string;
  readonly at: LintPlace;
}

/** Texts of a container's environment and command, one by one. */
function* containerTexts({ value, path }: ContainerView): Generator<Told> {
  for (const [index, variable] of listAt(value, "env").entries()) {
    const text = textAt(variable, "value");
    // Lists of names that no proxy is asked for are patterns, not names.
    if (text !== undefined && !/no_?proxy/i.test(textAt(variable, "name") ?? ""))
      yield { text, at: { path: [...path, "env", index, "value"], part: "value" } };
  }
  for (const field of ["command", "args"])
    for (const [index, item] of listAt(value, field).entries())
      if (typeof item === "string") yield { text: item, at: { path: [...path, field, index] } };
}

const NAME =
  /(?<![\w.@/\\-])([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)\.([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)(\.svc)?(?![\w.\\-])/g;
/** A name may stand behind the scheme of an address. */
const SCHEME = /(?<![a-z0-9+])[a-z0-9+]+:\/\//g;

/** The first name of a text that Linux would complete and Windows does not. */
function shortNameIn(text: string, context: LintContext): string | undefined {
  for (const [whole, name = "", namespace = "", svc] of text.replace(SCHEME, " ").matchAll(NAME)) {
    const isService = context.serviceNamed(namespace, name) !== undefined;
    const isNumber = /^\d+$/.test(namespace);
    if ((svc !== undefined || isService) && !isNumber) return whole;
  }
  return undefined;
}

/** windows-networking-documentation.md §6. */
const DOTTED = rule("dns-name-with-dot-not-completed", "kubernetes", function* (document, context) {
  const pod = context.windowsPodOf(document);
  for (const container of pod?.containers ?? [])
    for (const { text, at } of containerTexts(container)) {
      const name = shortNameIn(text, context);
      if (name === undefined) continue;
      const full = `${name.endsWith(".svc") ? name : `${name}.svc`}.cluster.local`;
      yield {
        at,
        message: WORDS.nameNotCompleted({ name }),
        fix: `Write ${full}, with the domain of your cluster.`,
      };
    }
});

const PING =
  /(?<![\w./\\-])(?:ping(?:\.exe)?|Test-Connection)\s+(?:[-/][A-Za-z]+\s+(?:\d+\s+)?)*["']?([A-Za-z0-9][A-Za-z0-9.:-]*)/gi;

/** Commands of a container and its probes, each as one line. */
function* commands({ value, path }: ContainerView): Generator<Told> {
  const places: readonly LintPath[] = [
    ["livenessProbe", "exec", "command"],
    ["readinessProbe", "exec", "command"],
    ["startupProbe", "exec", "command"],
    ["lifecycle", "postStart", "exec", "command"],
    ["command"],
    ["args"],
  ];
  for (const place of places) {
    const items = listAt(value, ...place).filter((item) => typeof item === "string");
    if (items.length > 0) yield { text: items.join(" "), at: { path: [...path, ...place] } };
  }
}

const PRIVATE = [
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "169.254.0.0/16",
  "127.0.0.0/8",
  "100.64.0.0/10",
].map((text) => parsePrefix(text));

function isPublic(ip: Ip): boolean {
  return familyOf(ip) === 4 && !PRIVATE.some((prefix) => prefix !== undefined && prefixContains(prefix, ip));
}

type Target = "service" | "outside" | "other";

/** What a ping is for. Pods and nodes answer; what cannot be told is left alone. */
function targetOf(name: string, pod: PodView, context: LintContext): Target {
  const ip = parseIp(name);
  if (ip !== undefined) {
    if (context.ranges.services.some(({ prefix }) => prefixContains(prefix, ip))) return "service";
    return isPublic(ip) ? "outside" : "other";
  }
  const [first = "", second] = name.toLowerCase().split(".");
  if (context.serviceNamed(second ?? pod.namespace, first) !== undefined) {
    const service = context.serviceNamed(second ?? pod.namespace, first);
    return valueAt(service?.value, "spec", "clusterIP") === "None" ? "other" : "service";
  }
  return /\.(?:com|org|net|io)$/i.test(name) ? "outside" : "other";
}

function* pings(
  pod: PodView,
  context: LintContext,
  wanted: Target,
): Generator<{ name: string; at: LintPlace }> {
  if (pod.isHostProcess) return;
  for (const container of pod.containers)
    for (const { text, at } of commands(container))
      for (const [, name = ""] of text.matchAll(PING))
        if (targetOf(name, pod, context) === wanted) yield { name, at };
}

function pingRule(code: LintRule["code"], wanted: Target, say: (name: string) => string): LintRule {
  return rule(code, "kubernetes", function* (document, context) {
    const pod = context.windowsPodOf(document);
    if (pod === undefined) return;
    for (const { name, at } of pings(pod, context, wanted))
      yield {
        at,
        message: say(name),
        fix: "Try the port instead of a ping: curl.exe, or Test-NetConnection -Port.",
      };
  });
}

/** windows-networking-documentation.md §8, §9 (2); dataplane.md §2.9. */
const PING_OUTSIDE = pingRule("icmp-outbound-not-translated", "outside", (name) =>
  WORDS.pingOutsideUnanswered({ name }),
);

const PING_SERVICE = pingRule("icmp-to-service-not-balanced", "service", (name) =>
  WORDS.pingServiceUnanswered({ name }),
);

/** The names of Services of one namespace that a text asks by address or by full name. */
function asks(text: string, name: string, namespace: string, isOwnName: boolean): boolean {
  const letters = name.replace(/[^a-z0-9-]/g, "");
  const full = `${letters}\\.${namespace.replace(/[^a-z0-9-]/g, "")}\\.svc\\b`;
  // Its own name leads a pod to itself, past any Service: the kubelet writes it to the pod's hosts file.
  const short = isOwnName ? "" : `://${letters}(?=[:/]|$)|`;
  return new RegExp(`${short}(?<![\\w.-])${full}`).test(text);
}

/** What the pod calls itself; undefined for a template, whose pods get names of their own. */
function hostnameOf({ document, spec }: PodView): string | undefined {
  const isPod = textAt(document.value, "kind") === "Pod";
  return textAt(spec, "hostname") ?? (isPod ? textAt(document.value, "metadata", "name") : undefined);
}

/** dataplane.md §2.4 (B-5): only where it is certain, with one replica that asks its own Service. */
const HAIRPIN = rule("hairpin-under-dsr", "kubernetes", function* (document, context) {
  const pod = context.kubeProxy.enableDSR === true ? context.windowsPodOf(document) : undefined;
  const isAlone =
    textAt(document.value, "kind") === "Pod" || (numberAt(document.value, "spec", "replicas") ?? 1) === 1;
  if (pod === undefined || pod.isHostProcess || !isAlone || textAt(document.value, "kind") === "DaemonSet")
    return;
  const own = context.objects("Service").filter((service) => {
    const isHeadless = textAt(service.value, "spec", "clusterIP") === "None";
    const behind = isHeadless ? [] : context.podsBehind(service);
    return behind.length === 1 && behind[0] === pod;
  });
  for (const service of own)
    for (const container of pod.containers)
      for (const { text, at } of containerTexts(container)) {
        const name = textAt(service.value, "metadata", "name") ?? "";
        if (asks(text, name, pod.namespace, name === hostnameOf(pod)))
          yield {
            at,
            message: WORDS.ownServiceWithDsr({ name }),
          };
      }
});

/** The Service that gives pods names of their own, and where it is named. */
function nameGiver({ document, spec, path }: PodView): { service: string; path: LintPath } | undefined {
  const own = textAt(document.value, "kind") === "StatefulSet" ? ["spec", "serviceName"] : undefined;
  const ofSet = own === undefined ? undefined : textAt(document.value, ...own);
  if (own !== undefined && ofSet !== undefined && ofSet !== "") return { service: ofSet, path: own };
  const subdomain = textAt(spec, "subdomain") ?? "";
  const isNamed = (textAt(spec, "hostname") ?? "") !== "" && subdomain !== "";
  return isNamed ? { service: subdomain, path: [...path, "subdomain"] } : undefined;
}

/** A headless Service of another name that has these pods. */
function otherGiver(pod: PodView, context: LintContext): string | undefined {
  const other = context
    .objects("Service")
    .find(
      (service) =>
        textAt(service.value, "spec", "clusterIP") === "None" && context.podsBehind(service).includes(pod),
    );
  return textAt(other?.value, "metadata", "name");
}

/** Kubernetes documentation: StatefulSet, stable network ID; k8s.io/endpointslice, `ShouldSetHostname`. */
const NAMES_OF_PODS = rule("pod-name-service-missing", "kubernetes", function* (document, context) {
  const pod = context.hasWindows ? context.podOf(document) : undefined;
  if (pod === undefined || context.isMadeHere(document)) return;
  const asked = nameGiver(pod);
  if (asked === undefined) return;
  const { service: name, path } = asked;
  const at = { path };
  const service = context.serviceNamed(pod.namespace, name);
  if (service === undefined) {
    const other = otherGiver(pod, context);
    // Some manifests of a cluster do not show its other Services.
    const severity = other === undefined ? "info" : "warning";
    const fix = other === undefined ? WORDS.adviceNamesOfPods : `Write ${other}.`;
    yield { at, severity, message: WORDS.nameGiverMissing({ name }), fix };
    return;
  }
  const hasSelector = isFields(valueAt(service.value, "spec", "selector"));
  if (hasSelector && !context.podsBehind(service).includes(pod))
    yield { at, message: WORDS.nameGiverOfOthers({ name }), fix: WORDS.adviceNamesOfPods };
});

export const NAME_RULES: readonly LintRule[] = [DOTTED, PING_OUTSIDE, PING_SERVICE, HAIRPIN, NAMES_OF_PODS];
