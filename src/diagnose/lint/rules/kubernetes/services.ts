/** Traffic policies, affinity, annotations and numbers of back ends, against builds of Windows and versions. */
import type { WindowsBuild } from "#core/catalogue/profiles.ts";
import { BACK_ENDS_MAX, backEndsMaxOf } from "#core/catalogue/quirks.ts";
import type { LintContext } from "../../context.ts";
import type { LintDocument } from "../../input/document.ts";
import { listAt, numberAt, textAt, valueAt } from "../../input/fields.ts";
import { type LintRule, type RuleFinding, objectRule } from "../../rule.ts";
import { ADDRESS_RULES } from "./service-addresses.ts";
import { BACK_END_RULES } from "./service-back-ends.ts";
import { anyServices, isLocal, lacks, windowsServices } from "./service-scope.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

function hasAffinity(service: LintDocument): boolean {
  return textAt(service.value, "spec", "sessionAffinity") === "ClientIP";
}

/** What Kubernetes writes when nobody says otherwise: three hours. Dumps have it everywhere. */
const AFFINITY_DEFAULT_SECONDS = 10_800;

/** kube-proxy.md §3.10. */
const AFFINITY_TIME = anyServices("session-affinity-timeout-ignored", function* (service) {
  const seconds = numberAt(service.value, "spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds");
  if (!hasAffinity(service) || seconds === undefined || seconds === AFFINITY_DEFAULT_SECONDS) return;
  yield {
    at: { path: ["spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds"] },
    message: WORDS.affinityTimeoutIgnored({ seconds }),
  };
});

/** The preview build of which the Kubernetes page of 2021 says that it has session affinity. */
const AFFINITY_PREVIEW = 19_551;

const AFFINITY = anyServices("session-affinity-unsupported", function* (service, context) {
  if (!hasAffinity(service)) return;
  const build = context.buildWhere((each) => lacks(each, "SessionAffinity"));
  if (build === undefined) return;
  yield {
    at: { path: ["spec", "sessionAffinity"] },
    message: WORDS.sessionAffinityIgnored({ title: build.profile.title }),
    ...((build.named ?? 0) >= AFFINITY_PREVIEW && { differs: "preview-builds-have-no-profile" }),
  };
});

const LOCAL_WITHOUT_DSR = windowsServices(
  "external-traffic-policy-local-without-dsr",
  function* (service, context) {
    if (!isLocal(service)) return;
    const build = context.buildWhere((each) => lacks(each, "DSR"));
    if (build === undefined) return;
    yield {
      at: { path: ["spec", "externalTrafficPolicy"] },
      message: WORDS.externalTrafficPolicyIgnored({
        title: build.profile.title,
        build: build.profile.build,
        revision: build.revision ?? 0,
      }),
      ...(context.kubeProxy.enableDSR === true && { differs: "dsr-before-its-update" }),
    };
  },
);

const INTERNAL_POLICY_MINOR = 26;

const INTERNAL_POLICY = anyServices("internal-traffic-policy-ignored", function* (service, { kubernetes }) {
  if (textAt(service.value, "spec", "internalTrafficPolicy") !== "Local") return;
  if (kubernetes.minor >= INTERNAL_POLICY_MINOR) return;
  yield {
    at: { path: ["spec", "internalTrafficPolicy"] },
    message: WORDS.internalTrafficPolicyIgnored({ minor: kubernetes.minor }),
  };
});

const TERMINATING_MINOR = 27;

const TERMINATING = windowsServices("terminating-endpoints-not-used", function* (service, { kubernetes }) {
  if (!isLocal(service) || kubernetes.minor >= TERMINATING_MINOR) return;
  yield {
    at: { path: ["spec", "externalTrafficPolicy"] },
    message: WORDS.terminatingEndpointsUnused({ minor: kubernetes.minor }),
  };
});

const TOPOLOGY_ANNOTATIONS = [
  "service.kubernetes.io/topology-mode",
  "service.kubernetes.io/topology-aware-hints",
] as const;

const DISTRIBUTION = anyServices("traffic-distribution-ignored", function* (service) {
  const message = WORDS.trafficDistributionIgnored;
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
    message: WORDS.sourceRangesNotEnforced,
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
  // kube-proxy asks HNS, and not its own --enable-dsr (kube-proxy.md §1.1).
  const build = context.buildWhere((each) => lacks(each, "DSR"));
  if (build !== undefined)
    yield {
      at,
      message: `${PRESERVE} needs Direct Server Return, which HNS of ${build.profile.title} lacks here`,
    };
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

/** The page says 64 of every build; the id is that of the update or release that raised it. */
function raisedBackEnds(build: WindowsBuild): Partial<Pick<RuleFinding, "differs">> {
  if (backEndsMaxOf(build) === BACK_ENDS_MAX.limited) return {};
  const raised = { ws2019: "back-ends-2019", ws2022: "back-ends-2022" } as const;
  const { name } = build.profile;
  return { differs: name === "ws2019" || name === "ws2022" ? raised[name] : "back-ends-later" };
}

const TOO_MANY = anyServices("too-many-back-ends", function* (service, context) {
  if (textAt(service.value, "spec", "clusterIP") === "None") return;
  const count = Math.max(replicasBehind(service, context), endpointsOf(service, context));
  const build = context.buildWhere((each) => count > backEndsMaxOf(each));
  if (build === undefined) return;
  yield {
    at: { path: ["spec", "selector"] },
    message: WORDS.serviceBackEndsTooMany({
      count,
      title: build.profile.title,
      backEndsMax: backEndsMaxOf(build),
    }),
    ...raisedBackEnds(build),
  };
});

/** Kubernetes documentation: Protocols for Services. Windows pods are clients of Services on Linux, too. */
const SCTP = objectRule("service-sctp-unsupported", ["Service"], function* (service, context) {
  if (!context.hasWindows && !context.isServiceOfWindows(service)) return;
  for (const [index, port] of listAt(service.value, "spec", "ports").entries())
    if (textAt(port, "protocol") === "SCTP")
      yield {
        at: { path: ["spec", "ports", index, "protocol"] },
        message: WORDS.serviceSctpUnsupported({ numberAt: numberAt(port, "port") ?? "" }),
        ...(context.isServiceOfWindows(service) ? {} : { severity: "warning" }),
      };
});

export const SERVICE_RULES: readonly LintRule[] = [
  SCTP,
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
  ...ADDRESS_RULES,
  ...BACK_END_RULES,
];
