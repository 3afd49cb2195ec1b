/** Services against builds of Windows, versions of Kubernetes, and how kube-proxy runs. */
import { type WindowsBuild, backEndsMaxOf, getProfile, hnsVersionOf } from "../../knowledge/profiles.ts";
import type { LintContext } from "../context.ts";
import type { LintDocument } from "../document.ts";
import { fieldsAt, isFields, listAt, numberAt, textAt, valueAt } from "../fields.ts";
import type { LintRule, RuleFinding } from "../rule.ts";
import { OVERLAY_IPV6_BUILD } from "./nodes.ts";

type CheckService = (service: LintDocument, context: LintContext) => Iterable<RuleFinding>;

/** A rule over Services that have a back end on Windows. */
function windowsServices(code: LintRule["code"], check: CheckService): LintRule {
  return {
    code,
    applies: ["kubernetes"],
    objects: ["Service"],
    *check(document: LintDocument, context: LintContext): Iterable<RuleFinding> {
      if (context.isServiceOfWindows(document)) yield* check(document, context);
    },
  };
}

/**
 * A rule over the Services of a cluster that has Windows nodes: their kube-proxy programs all of them. One whose pods
 * are known and all for Linux is left alone: who reads about it is not who cares for Windows.
 */
function anyServices(code: LintRule["code"], check: CheckService): LintRule {
  return {
    code,
    applies: ["kubernetes"],
    objects: ["Service"],
    *check(document: LintDocument, context: LintContext): Iterable<RuleFinding> {
      if (context.hasWindows && !isOfLinux(document, context)) yield* check(document, context);
    },
  };
}

function isOfLinux(service: LintDocument, context: LintContext): boolean {
  const pods = context.podsBehind(service);
  return pods.length > 0 && pods.every((pod) => pod.os === "linux");
}

function hns(build: WindowsBuild): number {
  const { Major, Minor } = hnsVersionOf(build);
  return Major * 1_000 + Minor;
}

function hasNodePorts(service: LintDocument): boolean {
  const type = textAt(service.value, "spec", "type");
  return type === "NodePort" || type === "LoadBalancer";
}

function isLocal(service: LintDocument): boolean {
  return textAt(service.value, "spec", "externalTrafficPolicy") === "Local" && hasNodePorts(service);
}

function hasAffinity(service: LintDocument): boolean {
  return textAt(service.value, "spec", "sessionAffinity") === "ClientIP";
}

/** What Kubernetes writes when nobody says otherwise: three hours. Dumps have it everywhere. */
const AFFINITY_DEFAULT_SECONDS = 10_800;

/** kube-proxy.md §3.10. */
const AFFINITY_TIME = windowsServices("session-affinity-timeout-ignored", function* (service) {
  const seconds = numberAt(service.value, "spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds");
  if (!hasAffinity(service) || seconds === undefined || seconds === AFFINITY_DEFAULT_SECONDS) return;
  yield {
    at: { path: ["spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds"] },
    message: `kube-proxy on Windows does not read this time: a client stays with its pod for longer than ${seconds} seconds`,
  };
});

/** Session affinity came with HNS 12.0. */
const AFFINITY_HNS = 12_000;

const AFFINITY = anyServices("session-affinity-unsupported", function* (service, context) {
  if (!hasAffinity(service)) return;
  const build = context.buildWhere((each) => hns(each) < AFFINITY_HNS);
  if (build === undefined) return;
  yield {
    at: { path: ["spec", "sessionAffinity"] },
    message: `${build.profile.title} spreads the connections of one client over all pods, whatever sessionAffinity says`,
  };
});

/** DSR: HNS 9.3 and later of build 17763, 10.2 and later elsewhere (kube-proxy.md §1.3). */
function hasDSR(build: WindowsBuild): boolean {
  const version = hns(build);
  return version < 10_000 ? version >= 9_003 : version >= 10_002;
}

const LOCAL_WITHOUT_DSR = windowsServices(
  "external-traffic-policy-local-without-dsr",
  function* (service, context) {
    if (!isLocal(service)) return;
    const build = context.buildWhere((each) => !hasDSR(each));
    if (build === undefined) return;
    yield {
      at: { path: ["spec", "externalTrafficPolicy"] },
      message: `externalTrafficPolicy: Local has no effect on ${build.profile.title} ${build.profile.build}.${build.revision ?? 0}: its HNS has no Direct Server Return`,
    };
  },
);

const INTERNAL_POLICY_MINOR = 26;

const INTERNAL_POLICY = anyServices("internal-traffic-policy-ignored", function* (service, { kubernetes }) {
  if (textAt(service.value, "spec", "internalTrafficPolicy") !== "Local") return;
  if (kubernetes.minor >= INTERNAL_POLICY_MINOR) return;
  yield {
    at: { path: ["spec", "internalTrafficPolicy"] },
    message: `kube-proxy 1.${kubernetes.minor} on Windows does not read internalTrafficPolicy: all nodes' pods are used`,
  };
});

const TERMINATING_MINOR = 27;

const TERMINATING = windowsServices("terminating-endpoints-not-used", function* (service, { kubernetes }) {
  if (!isLocal(service) || kubernetes.minor >= TERMINATING_MINOR) return;
  yield {
    at: { path: ["spec", "externalTrafficPolicy"] },
    message: `kube-proxy 1.${kubernetes.minor} on Windows gives no connections to pods that are shutting down`,
  };
});

const TOPOLOGY_ANNOTATIONS = [
  "service.kubernetes.io/topology-mode",
  "service.kubernetes.io/topology-aware-hints",
] as const;

const DISTRIBUTION = anyServices("traffic-distribution-ignored", function* (service) {
  const message = "kube-proxy on Windows knows no zones: from Windows nodes traffic goes to all back ends";
  if (textAt(service.value, "spec", "trafficDistribution") !== undefined)
    yield { at: { path: ["spec", "trafficDistribution"] }, message };
  for (const name of TOPOLOGY_ANNOTATIONS) {
    const value = textAt(service.value, "metadata", "annotations", name);
    if (value !== undefined && !/^disabled$/i.test(value))
      yield { at: { path: ["metadata", "annotations", name] }, message };
  }
});

const SOURCE_RANGES = windowsServices("load-balancer-source-ranges-ignored", function* (service) {
  if (listAt(service.value, "spec", "loadBalancerSourceRanges").length === 0) return;
  yield {
    at: { path: ["spec", "loadBalancerSourceRanges"] },
    message:
      "kube-proxy on Windows does not enforce these ranges: they hold if the provider enforces them in front",
  };
});

const PRESERVE = "preserve-destination";

const PRESERVE_DESTINATION = anyServices("preserve-destination-not-active", function* (service, context) {
  const value = valueAt(service.value, "metadata", "annotations", PRESERVE);
  if (value === undefined || value === "false") return;
  const at = { path: ["metadata", "annotations", PRESERVE] };
  if (value !== "true") {
    const fix = 'Write "true" in quotes and in lower case.';
    yield { at, message: `${PRESERVE} is only active when its value is the text "true"`, fix };
    return;
  }
  const build = context.buildWhere((each) => each.profile.build < getProfile("1903").build);
  if (build !== undefined)
    yield {
      at,
      message: `${PRESERVE} needs Windows Server, version 1903, and there are nodes with ${build.profile.title}`,
    };
  else if (context.kubeProxy.enableDSR === false)
    yield { at, message: `${PRESERVE} needs Direct Server Return, and kube-proxy runs without it here` };
});

const OPTIMIZATION = "winProxyOptimization";
const OPTIMIZATION_MINOR = 27;

const PROXY_OPTIMIZATION = anyServices(
  "win-proxy-optimization-not-active",
  function* (service, { kubernetes }) {
    const value = textAt(service.value, "metadata", "annotations", OPTIMIZATION);
    if (value === undefined) return;
    const at = { path: ["metadata", "annotations", OPTIMIZATION] };
    if (kubernetes.minor < OPTIMIZATION_MINOR)
      yield { at, message: `kube-proxy 1.${kubernetes.minor} does not read ${OPTIMIZATION}` };
    else if (value.toUpperCase() !== "DISABLED")
      yield { at, message: `only the value DISABLED changes anything, and this is ${JSON.stringify(value)}` };
  },
);

/** Replicas of the workloads behind a Service, as their manifests say. */
function replicasBehind(service: LintDocument, context: LintContext): number {
  return context.podsBehind(service).reduce((sum, { document }) => {
    const kind = textAt(document.value, "kind") ?? "";
    const isOwned = listAt(document.value, "metadata", "ownerReferences").length > 0;
    if (kind === "Pod") return isOwned ? sum : sum + 1;
    if (isOwned || !["Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"].includes(kind))
      return sum;
    return sum + (numberAt(document.value, "spec", "replicas") ?? 1);
  }, 0);
}

/** Endpoints that the slices of a dump name. */
function endpointsOf(service: LintDocument, context: LintContext): number {
  const name = textAt(service.value, "metadata", "name");
  const namespace = textAt(service.value, "metadata", "namespace");
  const slices = context.slicesOf(namespace ?? "default", name ?? "");
  const families = new Map<string, number>();
  for (const { value } of slices) {
    const family = textAt(value, "addressType") ?? "IPv4";
    families.set(family, (families.get(family) ?? 0) + listAt(value, "endpoints").length);
  }
  return Math.max(0, ...families.values());
}

const TOO_MANY = anyServices("too-many-back-ends", function* (service, context) {
  if (textAt(service.value, "spec", "clusterIP") === "None") return;
  const count = Math.max(replicasBehind(service, context), endpointsOf(service, context));
  const build = context.buildWhere((each) => count > backEndsMaxOf(each));
  if (build === undefined) return;
  yield {
    at: { path: ["spec", "selector"] },
    message: `${count} back ends, and a load balancer of ${build.profile.title} takes ${backEndsMaxOf(build)}: the Service would have none at all there`,
  };
});

const EQUAL_PORTS_MINOR = 15;

const EQUAL_PORTS = anyServices("node-port-equals-port", function* (service, { kubernetes }) {
  if (kubernetes.minor >= EQUAL_PORTS_MINOR) return;
  for (const [index, port] of listAt(service.value, "spec", "ports").entries()) {
    const nodePort = numberAt(port, "nodePort");
    if (nodePort !== undefined && nodePort === numberAt(port, "port"))
      yield {
        at: { path: ["spec", "ports", index, "nodePort"] },
        message: `nodePort ${nodePort} equals port, which kube-proxy 1.${kubernetes.minor} on Windows cannot tell apart`,
      };
  }
});

function familiesOf(service: LintDocument): readonly string[] {
  const { value } = service;
  const said = listAt(value, "spec", "ipFamilies").map(String);
  if (said.length > 0) return said;
  return listAt(value, "spec", "clusterIPs").map((ip) => (String(ip).includes(":") ? "IPv6" : "IPv4"));
}

/** Dual stack came with HNS 11.10 (kube-proxy.md §1.3). */
const DUAL_STACK_HNS = 11_010;

const IPV6 = windowsServices("service-ipv6-unsupported", function* (service, context) {
  const [first] = familiesOf(service);
  if (first !== "IPv6" && !familiesOf(service).includes("IPv6")) return;
  const field = listAt(service.value, "spec", "ipFamilies").length > 0 ? "ipFamilies" : "clusterIPs";
  const at = { path: ["spec", field] };
  const build = context.buildWhere((each) => hns(each) < DUAL_STACK_HNS);
  const severity = first === "IPv6" ? "error" : "warning";
  if (build !== undefined)
    yield {
      at,
      severity,
      message: `${build.profile.title} knows no dual stack, so the Service has no IPv6 address there`,
    };
  else if (context.isOverlay && context.buildWhere((each) => each.profile.build < OVERLAY_IPV6_BUILD))
    yield {
      at,
      severity,
      message: "overlay networks of Windows carry no IPv6, so pods there do not reach this address",
    };
});

const DUAL_NODE_PORT_MINOR = 36;

const DUAL_NODE_PORT = windowsServices("dual-stack-node-port-missing", function* (service, { kubernetes }) {
  if (!hasNodePorts(service) || kubernetes.minor >= DUAL_NODE_PORT_MINOR) return;
  const families = familiesOf(service);
  const isDual =
    families.length === 2 || textAt(service.value, "spec", "ipFamilyPolicy") === "RequireDualStack";
  if (!isDual) return;
  yield {
    at: {
      path: [
        "spec",
        families.length === 2 &&
        isFields(service.value["spec"]) &&
        service.value["spec"]["ipFamilies"] !== undefined
          ? "ipFamilies"
          : "ipFamilyPolicy",
      ],
    },
    message: `kube-proxy 1.${kubernetes.minor} on Windows opens the node port for ${families[0] ?? "the first family"} only, unless it is a patch release with the repair`,
  };
});

const IP_MODE_MINOR = 36;

const IP_MODE = anyServices("load-balancer-ip-mode-ignored", function* (service, { kubernetes }) {
  if (kubernetes.minor >= IP_MODE_MINOR) return;
  for (const [index, ingress] of listAt(service.value, "status", "loadBalancer", "ingress").entries())
    if (textAt(ingress, "ipMode") === "Proxy")
      yield {
        at: { path: ["status", "loadBalancer", "ingress", index, "ipMode"] },
        message: `kube-proxy 1.${kubernetes.minor} on Windows programs this address on the node, past the proxy`,
      };
});

/** windows-networking-documentation.md §5, known issues. */
const OVERLAY_NODE_PORT = windowsServices("node-port-on-overlay-server-2022", function* (service, context) {
  if (!hasNodePorts(service) || isLocal(service) || !context.isOverlay) return;
  if (context.windows.origin === "assumed") return;
  const build = context.buildWhere((each) => each.profile.name === "ws2022");
  if (build === undefined) return;
  yield {
    at: { path: ["spec", "type"] },
    message:
      "on this overlay network connections to the node port are lost when the pod is on another node with Server 2022",
    fix: "Write externalTrafficPolicy: Local.",
  };
});

/** Services that the default dynamic range has blocks for (kube-proxy.md §3.13). */
const BLOCKS = 225;

const PORT_BUDGET: LintRule = {
  code: "load-balancer-ports-exhausted",
  applies: ["kubernetes"],
  objects: ["Service"],
  *check(document, context) {
    if (context.kubeProxy.enableDSR !== false || context.serviceAt(BLOCKS) !== document) return;
    yield {
      at: { path: ["metadata", "name"] },
      message: `this is the ${BLOCKS + 1}th port of a Service, and without Direct Server Return a node has blocks of ports for about ${BLOCKS}`,
    };
  },
};

const SLICE_PORT_MINOR = 34;

/** The port that the Service sends to, where that is a number. */
function targetOf(service: LintDocument, name: string): number | undefined {
  const ports = listAt(service.value, "spec", "ports");
  const port = ports.find((each) => (textAt(each, "name") ?? "") === name);
  if (port === undefined) return undefined;
  const target = valueAt(port, "targetPort");
  if (target === undefined || target === null) return numberAt(port, "port");
  return typeof target === "number" ? target : undefined;
}

/** kube-proxy.md KP-B14. */
const SLICE_PORT: LintRule = {
  code: "slice-port-not-used",
  applies: ["kubernetes"],
  objects: ["EndpointSlice"],
  *check(document, context) {
    if (!context.hasWindows || context.kubernetes.minor >= SLICE_PORT_MINOR) return;
    const name = textAt(fieldsAt(document.value, "metadata", "labels"), "kubernetes.io/service-name");
    const namespace = textAt(document.value, "metadata", "namespace") ?? "default";
    const service = name === undefined ? undefined : context.serviceNamed(namespace, name);
    if (service === undefined) return;
    for (const [index, port] of listAt(document.value, "ports").entries()) {
      const number = numberAt(port, "port");
      const target = targetOf(service, textAt(port, "name") ?? "");
      if (number === undefined || target === undefined || number === target) continue;
      yield {
        at: { path: ["ports", index, "port"] },
        message: `kube-proxy 1.${context.kubernetes.minor} on Windows connects to targetPort ${target} of ${service.title}, not to ${number}`,
      };
    }
  },
};

export const SERVICE_RULES: readonly LintRule[] = [
  AFFINITY_TIME,
  AFFINITY,
  LOCAL_WITHOUT_DSR,
  INTERNAL_POLICY,
  TERMINATING,
  DISTRIBUTION,
  SOURCE_RANGES,
  PRESERVE_DESTINATION,
  PROXY_OPTIMIZATION,
  TOO_MANY,
  EQUAL_PORTS,
  IPV6,
  DUAL_NODE_PORT,
  IP_MODE,
  OVERLAY_NODE_PORT,
  PORT_BUDGET,
  SLICE_PORT,
];
