/**
 * What keeps a Service from being reached by whom it is for: no back ends, none on a node, no address, a node that cannot
 * ask. Only said where the input decides it: a file of a few manifests does not show what else the cluster has.
 */
import { andMore } from "#core/base/text-layout.ts";
import { portsOfImages } from "#contracts/kubernetes/image-ports.ts";
import type { Fields } from "#core/base/json.ts";
import { editDistance } from "#core/base/nearest-name.ts";
import { getProfile, isEarly } from "#core/catalogue/profiles.ts";
import { type LintContext, osOfNode } from "../../context.ts";
import type { LintDocument } from "../../input/document.ts";
import { fieldsAt, listAt, numberAt, textAt, valueAt } from "../../input/fields.ts";
import type { LintRule, RuleFinding } from "../../rule.ts";
import { type PodView, lastingContainers } from "../../views/pods.ts";
import { anyServices, hasNodePorts, isLocal } from "./service-scope.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

function namespaceOf({ value }: LintDocument): string {
  return textAt(value, "metadata", "namespace") ?? "default";
}

function slicesOf(service: LintDocument, context: LintContext): readonly LintDocument[] {
  return context.slicesOf(namespaceOf(service), textAt(service.value, "metadata", "name") ?? "");
}

/** The endpoints of a Service's slices that take connections. What says nothing is ready. */
function readyEndpoints(slices: readonly LintDocument[]): readonly unknown[] {
  return slices
    .flatMap(({ value }) => listAt(value, "endpoints"))
    .filter((endpoint) => valueAt(endpoint, "conditions", "ready") !== false);
}

/** True when the input describes a cluster, not only some manifests for one. */
function isWholeCluster({ windows: { origin } }: LintContext): boolean {
  return origin === "nodes" || origin === "cluster-file";
}

/** Letters by which two values of a label differ that are meant to be one. */
const LETTERS_MAX = 2;

function mayRun({ document }: PodView): boolean {
  return numberAt(document.value, "spec", "replicas") !== 0;
}

/** Values that differ in a letter or two; those that differ in a number, `web-1` and `web-2`, are meant to. */
function isNearly(one: string, other: string): boolean {
  if (one.replace(/\d+/g, "0") === other.replace(/\d+/g, "0")) return false;
  return editDistance(one, other, LETTERS_MAX) <= LETTERS_MAX;
}

function hasService(pod: PodView, context: LintContext): boolean {
  return context.objects("Service").some((service) => context.podsBehind(service).includes(pod));
}

/**
 * Some manifests of a cluster do not show its other pods; but pods that have all labels of a selector except one, whose value
 * is spelled nearly so, are probably meant.
 */
function* nearlySelected(service: LintDocument, context: LintContext): Generator<RuleFinding> {
  if (context.podsBehind(service).length > 0 || slicesOf(service, context).length > 0) return;
  const wanted = Object.entries(fieldsAt(service.value, "spec", "selector"));
  for (const pod of context.podsSelectedBy({}, namespaceOf(service))) {
    const { labels } = pod;
    const different = wanted.filter(([key, value]) => labels[key] !== value);
    const [[key, value] = ["", ""]] = different;
    const own = labels[key];
    if (different.length !== 1 || typeof own !== "string" || typeof value !== "string") continue;
    if (!isNearly(own, value) || hasService(pod, context)) continue;
    const name = nameOf(pod);
    yield {
      at: { path: ["spec", "selector", key] },
      severity: "info",
      message: WORDS.serviceNearlySelects({ name, key, own, value }),
      fix: WORDS.adviceServiceSelector,
    };
    return;
  }
}

/** kube-proxy.md §3.9: kube-proxy on Windows makes no load balancer, and clients wait. */
const WITHOUT_BACK_ENDS = anyServices("service-without-back-ends", function* (service, context) {
  const spec = fieldsAt(service.value, "spec");
  const hasAddress = textAt(spec, "clusterIP") !== "None" && textAt(spec, "type") !== "ExternalName";
  if (!hasAddress || Object.keys(fieldsAt(spec, "selector")).length === 0) return;
  const slices = slicesOf(service, context);
  const isShown = slices.length > 0 || context.podsSelectedBy({}, namespaceOf(service)).length > 0;
  if (!isShown) return;
  if (!isWholeCluster(context)) {
    yield* nearlySelected(service, context);
    return;
  }
  const hasSome =
    slices.length > 0 ? readyEndpoints(slices).length > 0 : context.podsBehind(service).some(mayRun);
  if (hasSome) return;
  yield {
    at: { path: ["spec", "selector"] },
    message: slices.length > 0 ? WORDS.serviceEndpointsNotReady : WORDS.serviceSelectsNoPod,
    fix: WORDS.adviceServiceSelector,
  };
});

interface DeclaredPort {
  readonly number: number;
  readonly name: string;
  readonly protocol: string;
}

function lasting(pod: PodView): readonly Fields[] {
  return lastingContainers(pod).map(({ value }) => value);
}

function declaredPorts(pod: PodView): readonly DeclaredPort[] {
  return lasting(pod)
    .flatMap((value) => listAt(value, "ports"))
    .map((port) => ({
      number: numberAt(port, "containerPort") ?? 0,
      name: textAt(port, "name") ?? "",
      protocol: protocolOf(port),
    }));
}

function protocolOf(port: unknown): string {
  const protocol = textAt(port, "protocol") ?? "";
  return protocol === "" ? "TCP" : protocol;
}

function nameOf({ document }: PodView): string {
  return `${textAt(document.value, "kind") ?? ""} ${textAt(document.value, "metadata", "name") ?? ""}`;
}

/** What slices, or Endpoints, say of their ports; only where they have endpoints. */
function endpointPorts(service: LintDocument, context: LintContext): readonly unknown[] {
  const name = textAt(service.value, "metadata", "name");
  const subsets = context
    .objects("Endpoints")
    .filter(
      (each) => namespaceOf(each) === namespaceOf(service) && textAt(each.value, "metadata", "name") === name,
    )
    .flatMap(({ value }) => listAt(value, "subsets"))
    .filter((subset) => listAt(subset, "addresses").length > 0);
  const slices = slicesOf(service, context).filter(({ value }) => listAt(value, "endpoints").length > 0);
  return [...subsets, ...slices.map(({ value }) => value)];
}

/** Endpoints are found by the name and the protocol of their port (k8s.io/kubernetes, `pkg/proxy/endpointslicecache.go`). */
function* unlikeEndpoints(service: LintDocument, context: LintContext): Generator<RuleFinding> {
  const behind = endpointPorts(service, context);
  if (behind.length === 0 || textAt(service.value, "spec", "clusterIP") === "None") return;
  const titled = (port: unknown): string => `${protocolOf(port)} ${textAt(port, "name") || "without a name"}`;
  const known = new Set(behind.flatMap((each) => listAt(each, "ports")).map(titled));
  for (const [index, port] of listAt(service.value, "spec", "ports").entries()) {
    if (known.has(titled(port))) continue;
    const names = [...known].join(", ") || "none";
    yield {
      at: { path: ["spec", "ports", index, textAt(port, "name") === undefined ? "port" : "name"] },
      severity: "error",
      message: WORDS.serviceEndpointPortMissing({ wanted: titled(port), names }),
      fix: WORDS.adviceServiceEndpointPort,
    };
  }
}

/** A name that no container has (k8s.io/endpointslice, `FindPort`), or a number that nobody declares, of pods which declare others. */
const TARGET_PORT = anyServices("service-target-port-undeclared", function* (service, context) {
  yield* unlikeEndpoints(service, context);
  const pods = context.podsBehind(service).filter(({ containers }) => containers.length > 0);
  const [pod] = pods;
  if (pod === undefined || slicesOf(service, context).length > 0) return;
  const ports = pods.flatMap(declaredPorts);
  for (const [index, port] of listAt(service.value, "spec", "ports").entries()) {
    const at = { path: ["spec", "ports", index, "targetPort"] };
    const atNumber =
      valueAt(port, "targetPort") === undefined ? { path: ["spec", "ports", index, "port"] } : at;
    const protocol = protocolOf(port);
    const ofProtocol = ports.filter((each) => each.protocol === protocol);
    const number = numberAt(port, "targetPort") ?? numberAt(port, "port");
    const name = textAt(port, "targetPort");
    if (name !== undefined && name !== "") {
      if (ofProtocol.some((each) => each.name === name)) continue;
      const names = [
        ...new Set(ofProtocol.map((each) => (each.name === "" ? String(each.number) : each.name))),
      ];
      const message = WORDS.serviceTargetPortNameMissing({
        pod: nameOf(pod),
        name,
        protocol,
        port: numberAt(port, "port") ?? 0,
      });
      const fix =
        names.length === 0
          ? WORDS.adviceServiceTargetPort
          : WORDS.adviceServiceTargetPortOf({ ports: names.join(", ") });
      yield { at, severity: "error", message, fix };
    } else if (number !== undefined && number > 0 && ofProtocol.length > 0) {
      if (ofProtocol.some((each) => each.number === number)) continue;
      const declared = [...new Set(ofProtocol.map((each) => `${each.protocol} ${each.number}`))].join(", ");
      const wanted = `${protocol} ${number}`;
      yield {
        at: atNumber,
        message: WORDS.serviceTargetPortUndeclared({ pod: nameOf(pod), declared, wanted }),
        fix: WORDS.adviceServiceTargetPort,
      };
    } else if (number !== undefined && ofProtocol.length === 0) {
      const listening = portsOfImages(pods.flatMap(lasting));
      if (listening === undefined || (protocol === "TCP" && listening.includes(number))) continue;
      const listens = listening.map((each) => `TCP ${each}`).join(" or ");
      const message = WORDS.serviceTargetPortOfImage({
        pod: nameOf(pod),
        listens,
        wanted: `${protocol} ${number}`,
      });
      yield { at: atNumber, severity: "warning", message, fix: WORDS.adviceServiceTargetPort };
    }
  }
});

/** What has a Service's port, and at which number. */
interface PortOwner {
  readonly owner: string;
  readonly number: number;
}

function ownersOfPort(service: LintDocument, port: unknown, context: LintContext): readonly PortOwner[] {
  const slices = slicesOf(service, context).filter(({ value }) => listAt(value, "endpoints").length > 0);
  const name = textAt(port, "name") ?? "";
  if (slices.length > 0)
    return slices.flatMap(({ value, title }) =>
      listAt(value, "ports")
        .filter((each) => (textAt(each, "name") ?? "") === name)
        .map((each) => ({ owner: title, number: numberAt(each, "port") ?? 0 })),
    );
  const target = textAt(port, "targetPort");
  return context.podsBehind(service).flatMap((pod) => {
    const declared = declaredPorts(pod).find(
      (each) => each.name === target && each.protocol === protocolOf(port),
    );
    return declared === undefined || !mayRun(pod) ? [] : [{ owner: nameOf(pod), number: declared.number }];
  });
}

/** k8s.io/kubernetes, pkg/proxy/winkernel: one load balancer for each front end, with one port for all back ends. */
const PORTS_DIFFER = anyServices("service-target-ports-differ", function* (service, context) {
  const spec = fieldsAt(service.value, "spec");
  if (textAt(spec, "clusterIP") === "None" || textAt(spec, "type") === "ExternalName") return;
  for (const [index, port] of listAt(spec, "ports").entries()) {
    const [first, ...rest] = ownersOfPort(service, port, context);
    const other = rest.find(({ number }) => number !== first?.number);
    if (first === undefined || other === undefined) continue;
    const field = valueAt(port, "targetPort") === undefined ? "port" : "targetPort";
    yield {
      at: { path: ["spec", "ports", index, field] },
      message: WORDS.serviceTargetPortsDiffer({
        one: first.owner,
        port: first.number,
        other: other.owner,
        otherPort: other.number,
      }),
      fix: WORDS.adviceServiceTargetPortsDiffer,
    };
  }
});

/** Addresses for Services of type LoadBalancer: a cluster file has a pool of them, or none. */
function givesAddresses({ value }: LintDocument): boolean {
  return valueAt(value, "loadBalancers") !== undefined;
}

const WITHOUT_ADDRESS: LintRule = anyServices("load-balancer-without-address", function* (service, context) {
  if (textAt(service.value, "spec", "type") !== "LoadBalancer") return;
  if (listAt(service.value, "status", "loadBalancer", "ingress").length > 0) return;
  const files = context.ofKind("cluster");
  // Manifests have no status: only a dump shows that nothing has given an address yet.
  const isDump = valueAt(service.value, "status", "loadBalancer") !== undefined;
  if (files.some(givesAddresses) || (files.length === 0 && !isDump)) return;
  yield {
    at: { path: ["spec", "type"] },
    message: isDump ? WORDS.loadBalancerWithoutAddress : WORDS.loadBalancerPoolMissing,
    ...(isDump ? {} : { fix: "Write loadBalancers.pool in the cluster file." }),
  };
});

/** The nodes on which the back ends are; undefined when the input does not say it of each. */
function nodesWithBackEnds(service: LintDocument, context: LintContext): ReadonlySet<string> | undefined {
  const slices = slicesOf(service, context);
  const names =
    slices.length > 0
      ? readyEndpoints(slices).map((endpoint) => textAt(endpoint, "nodeName"))
      : context.podsBehind(service).map(({ spec }) => textAt(spec, "nodeName") ?? textAt(spec, "node"));
  const known = names.filter((name) => name !== undefined);
  return known.length === names.length && known.length > 0 ? new Set(known) : undefined;
}

function windowsNodesOf(context: LintContext): readonly string[] {
  const ofFile = context
    .ofKind("cluster")
    .flatMap(({ value }) => listAt(value, "nodes"))
    .filter((node) => textAt(node, "os") === "windows")
    .map((node) => textAt(node, "name"));
  const objects = context
    .objects("Node")
    .filter(({ value }) => osOfNode(value) === "windows")
    .map(({ value }) => textAt(value, "metadata", "name"));
  return [...new Set([...objects, ...ofFile])].filter((name) => name !== undefined);
}

/** kube-proxy.md §3.8. */
const LOCAL_EMPTY = anyServices(
  "external-traffic-policy-local-without-local-endpoint",
  function* (service, context) {
    const serving =
      isLocal(service) && hasNodePorts(service) ? nodesWithBackEnds(service, context) : undefined;
    if (serving === undefined) return;
    const empty = windowsNodesOf(context).filter((name) => !serving.has(name));
    const [first] = empty;
    if (first === undefined) return;
    const others = andMore(empty.length - 1);
    yield {
      at: { path: ["spec", "externalTrafficPolicy"] },
      message: WORDS.localBackEndsMissing({ first, others }),
    };
  },
);

const WS2022 = getProfile("ws2022").build;

/** windows-networking-documentation.md §9 (8). Told once: it is the node's, whatever the Service. */
const FROM_NODE: LintRule = anyServices("service-vip-from-node-unsupported", function* (service, context) {
  if (!isWholeCluster(context) || context.serviceAt(0) !== service) return;
  // Before HCN kube-proxy listened on the node itself.
  const build = context.buildWhere((each) => each.profile.build < WS2022 && !isEarly(each));
  if (build === undefined) return;
  yield {
    at: { path: ["metadata", "name"] },
    message: WORDS.clusterIpUnreachableFromNode({ title: build.profile.title }),
  };
});

export const BACK_END_RULES: readonly LintRule[] = [
  WITHOUT_BACK_ENDS,
  TARGET_PORT,
  PORTS_DIFFER,
  WITHOUT_ADDRESS,
  LOCAL_EMPTY,
  FROM_NODE,
];
