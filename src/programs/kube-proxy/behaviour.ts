/**
 * What kube-proxy does on Windows, by Kubernetes version and mode (kube-proxy.md §4). Code asks for a behaviour by
 * its name here, never for a version.
 */
import type { Compat } from "#core/base/compat.ts";

/** A version of Kubernetes; patch releases are not distinguished. */
export interface KubernetesVersion {
  readonly major: number;
  readonly minor: number;
}

/** Which endpoints of a slice may become back ends (kube-proxy.md §3.9). */
export type ReadinessRule =
  /** Ready ones only. 1.20 read Endpoints objects by default, and these list ready addresses alone. */
  | "ready"
  /** Ready ones, and for Services with ingress addresses the serving ones when all are terminating. */
  | "terminating";

/** When remote endpoints of HNS that no Service uses any more are deleted in a sync (kube-proxy.md §3.3, step 13). */
export type RemoteEndpointRemoval =
  /** With the Service or its change, at once. */
  | "with-release"
  /** Every endpoint whose count is zero. */
  | "unreferenced"
  /** Those that vanished from their slices; of several changed Services only the last one's are remembered. */
  | "terminated-of-last-service"
  /** Those that vanished from their slices. */
  | "terminated";

/**
 * Which of two endpoints with one address is found by that address (`getAllEndpointsByNetwork` of winkernel/hns.go). What
 * concerns equal addresses is as the first patches have it: kubernetes/kubernetes#131138 came with 1.33.1 and 1.34.0,
 * #138000 with 1.36.1 and 1.37.0. One that is passed by is not found by its identifier either.
 */
export type EqualAddressRule =
  /** The one that HNS lists last. */
  | "last"
  /** The last remote one. Of local ones the first. */
  | "remote"
  /** The first local one, else the first remote one. */
  | "local";

/** When a remote endpoint whose address a local one has, too, is deleted. */
export type DuplicateRemoval =
  | "never"
  /** At the end of each sync that has read endpoints, however many ports count on it. */
  | "at-once"
  /** When no port counts on it, and by the proxier of its own family, which counts. */
  | "unreferenced";

/** Which entry counts when slices list an address and port more than once (`addEndpoints` of endpointslicecache.go). */
export type RepeatedEntryRule =
  /** The first, but for entries of the node that looks: of these the last. */
  | "local"
  /** The first, but for entries that do not terminate: of these the last. */
  | "running";

/** By which calls a start looks for load balancers of an earlier run (`DeleteAllHnsLoadBalancerPolicy` of winkernel/hcnutils.go). */
export type OldLoadBalancers =
  /** HNS v1. */
  | "policy-lists"
  /** HCN, each with its document. */
  | "load-balancers"
  /** HCN, identifiers alone: a document that nobody can read is in nobody's way. */
  | "identifiers";

/** The labels that take objects out of a kube-proxy's sight (the informers in cmd/kube-proxy/app/server.go). */
export interface LabelFilters {
  readonly service: readonly string[];
  readonly slice: readonly string[];
}

/** After which failure to read the network a sync ends, and everything stays (`syncProxyRules` of winkernel/proxier.go). */
export type ToleratedFailure =
  /** None: every failure means that the network is gone. */
  | "none"
  /** RPC_S_UNKNOWN_IF, 0x6b5: the interface of HNS is not registered. */
  | "not-running"
  /** All but "there is no such network". */
  | "unanswered";

/**
 * Fields that make a change without being programmed: upstream compares what it has parsed, and from 1.31 on whole slices
 * (`BaseServicePortInfo` of pkg/proxy/serviceport.go, `esDataChanged` of endpointslicecache.go).
 */
export interface IdleChanges {
  /**
   * Of a Service: the timeout of its affinity and the source ranges; from 1.21 to 1.32 the annotation for hints as well, from
   * 1.34 on ranges that let everything in are like none.
   */
  readonly service: "none" | "with-hints" | "plain" | "zero-ranges-are-none";
  /** Of a slice: everything, labels and its version included, or the fields of endpoints that are read. */
  readonly slice: "none" | "read" | "whole";
}

/** What makes one load balancer the same as another (kube-proxy.md §3.6). */
export interface IdentityRule {
  /** The back ends themselves, or only how many they are. */
  readonly backEnds: "set" | "count";
  /** The family is part of it. Without, the second family takes the first one's node port for its own. */
  readonly hasFamily: boolean;
  /** The cache forgets what the same sync deleted. */
  readonly forgetsDeleted: boolean;
  /** Flags, distribution and source VIP are part of it. */
  readonly hasSettings: boolean;
}

/** What the process does around the syncs. */
export interface ProcessBehaviour {
  /** Probes and metrics are served before the network is there. Upstream looks like a dead program for so long. */
  readonly servesAtOnce: boolean;
  /** It is ready when the first sync is done. */
  readonly isReadyAfterSync: boolean;
  /** The Node is waited for also where the address is given. */
  readonly needsNode: boolean;
  /** An HNS that does not answer yet is waited for; else it is the end. */
  readonly waitsForHns: boolean;
  /** Each family has a loop of its own (`SyncLoop` of pkg/proxy/metaproxier); else their syncs take turns. */
  readonly syncsFamiliesAtOnce: boolean;
  /** HNS is compared with what was programmed, every sync period. */
  readonly comparesHns: boolean;
  /** How long a call of HNS may take; undefined: for ever. */
  readonly callLimitMs: number | undefined;
  /** Metrics of syncs are shown in versions that forgot them for Windows. */
  readonly showsAllMetrics: boolean;
  /** No address of metrics means no server of them, as the help says. Upstream calls it a fault. */
  readonly takesNoMetricsAddress: boolean;
  /** Each write to the configuration file is the end, whether it changes anything or not. */
  readonly endsAtEachWrite: boolean;
}

export interface Behaviour {
  readonly minor: number;
  /** Ingress addresses have to be addresses. */
  readonly checksIngressAddresses: boolean;
  /** External and ingress addresses of the other family are left out, and ingress with `ipMode: Proxy`. */
  readonly filtersFrontEnds: boolean;
  /** `enableDSR` sets the flag on ingress load balancers, too. */
  readonly hasIngressDsr: boolean;
  /** A load balancer without back ends is not asked for. Without this, HNS refuses it. */
  readonly skipsEmptyLists: boolean;
  /** `internalTrafficPolicy` is read. */
  readonly hasInternalPolicy: boolean;
  /** Endpoint changes update what they concern; without this they remove everything of the Service first. */
  readonly hasOptimisation: boolean;
  /** Front ends other than ClusterIP carry VipExternalIP. */
  readonly marksExternalVips: boolean;
  readonly hasHealthCheckForward: boolean;
  readonly labelFilters: LabelFilters;
  /** Endpoints, and front ends, are spelt as Go prints an address; else as the object has it. */
  readonly canonical: { readonly endpoints: boolean; readonly frontEnds: boolean };
  /** What counts as a change though no load balancer shows it. `hardened`: nothing. */
  readonly idleChanges: IdleChanges;
  readonly repeatedEntry: RepeatedEntryRule;
  readonly readiness: ReadinessRule;
  readonly identity: IdentityRule;
  /** The check before a deletion looks for the source VIP and the service port instead of what is there. */
  readonly checksWrongFrontEnd: boolean;
  /** The same check looks for the proxier's family, also where what is there has none: forwarded health checks. */
  readonly checksOwnFamily: boolean;
  /** For a ClusterIP with policy Local the same check looks for all back ends. */
  readonly checksAllBackEnds: boolean;
  /** A failing deletion is tried once more, and then remembered. */
  readonly retriesDeletion: boolean;
  /** External addresses are remembered for a deletion that has succeeded, too. */
  readonly remembersDeletedExternal: boolean;
  /** At most this many remembered deletions are tried in a sync; 0: none is remembered. */
  readonly staleDeletionsMax: number;
  /** Both addresses of an endpoint are known. */
  readonly knowsSecondAddress: boolean;
  readonly equalAddress: EqualAddressRule;
  readonly duplicateRemoval: DuplicateRemoval;
  readonly removal: RemoteEndpointRemoval;
  readonly oldLoadBalancers: OldLoadBalancers;
  /**
   * What HNS does not report is not there: load balancers of an earlier run, its own version and an overlay network that has
   * settled at the start, the endpoint behind forwarded health checks in a sync.
   */
  readonly takesUnreadForNone: boolean;
  /** Local endpoints are not taken for the remote ones that vanished (one change with the rule for equal addresses). */
  readonly sparesLocalEndpoints: boolean;
  /** HNS may be asked to change a load balancer. */
  readonly canModify: boolean;
  /** The port of an endpoint counts, whatever `targetPort` says; of several the last one's. */
  readonly slicePortWins: boolean;
  readonly toleratedFailure: ToleratedFailure;
  /** A load balancer that cannot be read before its deletion counts as deleted. */
  readonly takesUnreadForDeleted: boolean;
  /** A load balancer in the way of a new one is removed. */
  readonly removesConflicts: boolean;
  /** `WinDSR` and `WinOverlay` silently in the configuration. */
  readonly defaultGates: { readonly WinDSR: boolean; readonly WinOverlay: boolean };
  /** Gates are locked to true. */
  readonly hasLockedGates: boolean;
  readonly hasDualStack: boolean;
  /** A front end that fails ends the programming of its Service; those after it are not tried. */
  readonly stopsAtFailure: boolean;
  /** Ports are numbers of 16 bits, whatever the object says; else what is none is said to be none. */
  readonly wrapsPorts: boolean;
  /** Endpoints that serve while they terminate are better than none, at every front end (KEP-1669). */
  readonly servesWhileTerminating: boolean;
  /** That this node has no endpoint says nothing about the others. Upstream then takes all to be terminating. */
  readonly doubtsEmptyLists: boolean;
  /** What failed in part is tried again. Upstream calls such a Service done. */
  readonly retriesPartialFailure: boolean;
  /** An endpoint is counted once, however often its Service is tried. */
  readonly countsOnce: boolean;
  /** The endpoint of a ClusterIP stays when back ends change. Upstream makes it again in the same sync. */
  readonly keepsClusterIps: boolean;
  /** The endpoint of a ClusterIP that another process made is taken over, and deleted with its Service. */
  readonly adoptsClusterIps: boolean;
  /** On overlay the network is read again before each remote endpoint: remote subnets may have been added since. */
  readonly rereadsNetwork: boolean;
  /** What was read once is not read again in every sync. */
  readonly readsOnlyNew: boolean;
  readonly process: ProcessBehaviour;
}

export const PROXY_NAME_LABEL = "service.kubernetes.io/service-proxy-name";
export const HEADLESS_LABEL = "service.kubernetes.io/headless";

const BOTH_LABELS = [HEADLESS_LABEL, PROXY_NAME_LABEL] as const;

function labelFiltersOf(minor: number): LabelFilters {
  return minor >= 36
    ? { service: [PROXY_NAME_LABEL], slice: [HEADLESS_LABEL] }
    : { service: BOTH_LABELS, slice: BOTH_LABELS };
}

/** Fields that make a change though no load balancer shows it; upstream alone has them. */
function idleChangesOf(minor: number): IdleChanges {
  const slice = minor >= 31 ? "whole" : "read";
  if (minor >= 21 && minor <= 32) return { service: "with-hints", slice };
  return { service: minor >= 34 ? "zero-ranges-are-none" : "plain", slice };
}

function equalAddressOf(minor: number): EqualAddressRule {
  if (minor >= 36) return "local";
  return minor >= 33 ? "remote" : "last";
}

function removalOf(minor: number, isMended: boolean): RemoteEndpointRemoval {
  if (minor >= 35 || (isMended && minor >= 31)) return "terminated";
  if (minor >= 31) return "terminated-of-last-service";
  return minor >= 27 ? "unreferenced" : "with-release";
}

function identityOf(minor: number, isMended: boolean): IdentityRule {
  return {
    backEnds: isMended || minor >= 26 ? "set" : "count",
    hasFamily: isMended || minor >= 36,
    forgetsDeleted: isMended || minor <= 24,
    hasSettings: isMended,
  };
}

/** A busy node takes half a minute for a load balancer (kube-proxy.md §9.3), and HNS two to come back (hcn.md §4.6). */
const CALL_LIMIT_MS = 120_000;

function processOf(isMended: boolean): ProcessBehaviour {
  return {
    servesAtOnce: isMended,
    isReadyAfterSync: isMended,
    needsNode: !isMended,
    waitsForHns: isMended,
    syncsFamiliesAtOnce: !isMended,
    comparesHns: isMended,
    callLimitMs: isMended ? CALL_LIMIT_MS : undefined,
    showsAllMetrics: isMended,
    takesNoMetricsAddress: isMended,
    endsAtEachWrite: !isMended,
  };
}

/** The behaviour of a version. What it lacks as a feature it lacks hardened, too; only its defects are mended. */
export function behaviourOf({ minor }: KubernetesVersion, compat: Compat): Behaviour {
  const isMended = compat === "hardened";
  return Object.freeze<Behaviour>({
    minor,
    checksIngressAddresses: isMended || minor >= 21,
    filtersFrontEnds: isMended || minor >= 36,
    hasIngressDsr: !isMended && minor <= 21,
    skipsEmptyLists: isMended || minor >= 23,
    hasInternalPolicy: minor >= 27,
    hasOptimisation: minor >= 27,
    marksExternalVips: minor >= 27,
    hasHealthCheckForward: minor >= 24,
    labelFilters: labelFiltersOf(minor),
    canonical: { endpoints: isMended || minor >= 31, frontEnds: isMended || minor >= 36 },
    idleChanges: isMended ? { service: "none", slice: "none" } : idleChangesOf(minor),
    repeatedEntry: isMended || minor >= 36 ? "running" : "local",
    readiness: minor >= 27 ? "terminating" : "ready",
    identity: identityOf(minor, isMended),
    checksWrongFrontEnd: !isMended && minor >= 27 && minor <= 30,
    checksOwnFamily: !isMended,
    checksAllBackEnds: !isMended && minor >= 27 && minor <= 34,
    retriesDeletion: isMended || minor >= 26,
    remembersDeletedExternal: !isMended && minor >= 27 && minor <= 36,
    staleDeletionsMax: isMended || minor >= 27 ? 20 : 0,
    knowsSecondAddress: isMended || minor >= 27,
    equalAddress: isMended ? "local" : equalAddressOf(minor),
    duplicateRemoval: isMended ? "unreferenced" : minor >= 36 ? "at-once" : "never",
    removal: removalOf(minor, isMended),
    oldLoadBalancers: isMended ? "identifiers" : minor >= 31 ? "load-balancers" : "policy-lists",
    takesUnreadForNone: !isMended,
    sparesLocalEndpoints: isMended || minor >= 33,
    canModify: minor >= 31,
    slicePortWins: isMended || minor >= 34,
    toleratedFailure: isMended ? "unanswered" : minor >= 37 ? "not-running" : "none",
    takesUnreadForDeleted: minor <= 36,
    removesConflicts: isMended || minor >= 37,
    defaultGates: { WinDSR: minor >= 33, WinOverlay: true },
    hasLockedGates: minor >= 34,
    hasDualStack: minor >= 21,
    stopsAtFailure: !isMended,
    wrapsPorts: !isMended,
    servesWhileTerminating: isMended,
    doubtsEmptyLists: isMended,
    retriesPartialFailure: isMended,
    countsOnce: isMended,
    keepsClusterIps: isMended,
    adoptsClusterIps: isMended,
    rereadsNetwork: !isMended,
    readsOnlyNew: isMended,
    process: processOf(isMended),
  });
}
