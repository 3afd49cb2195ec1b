/**
 * What should come of a flow: works, denied, or does not apply. The table, `data/facts/expectations.yaml`, is written from
 * the documentation of Windows (windows-networking-documentation.md), of kube-proxy and of the data plane, and from the
 * profiles. It knows nothing that moves a packet, and nothing in it was read off a run: that is what makes it worth
 * comparing a run with.
 */
import type { KnowledgeCode } from "./codes.ts";

/** A revision that has every update. */
export const ALL_UPDATES = 999_999;

/**
 * What is known of a flow before it is tried, and what each fact can be. Plain values: the table compares them and does
 * nothing else.
 */
export const FACTS = {
  /**
   * That programs and pods of the nodes come up; the nine flows of the documentation (§3); then those of its list of what
   * does not work (§8) and what goes with it; at last what a Service lacks that no packet shows.
   */
  flow: [
    "bring-up",
    "pod-to-pod-ip",
    "pod-to-pod-name",
    "pod-to-cluster-ip",
    "pod-to-service-short-name",
    "pod-to-service-full-name",
    "pod-to-external-ip",
    "pod-to-external-name",
    "node-to-pod",
    "pod-to-node",
    "pod-to-own-service",
    "pod-to-service-partial-name",
    "pod-to-cluster-dns",
    "node-to-cluster-ip",
    "node-to-own-node-port",
    "node-to-node-port",
    "outside-to-node-port",
    "outside-to-ingress",
    "outside-to-host-port",
    "session-affinity",
    "session-affinity-timeout",
    "pod-in-host-network",
    "service-state",
  ],
  protocol: ["tcp", "udp", "icmp"],
  /** Where the receiver is, seen from the sender. `service`: behind an address that no machine has. */
  relation: ["same-node", "other-node", "outside", "service"],
  sourceOs: ["windows", "linux", "outside"],
  /** The build of the sender's Windows; 0 when it runs no Windows. */
  sourceBuild: "build",
  /** `ALL_UPDATES` when no revision is known; 0 without Windows. */
  sourceRevision: "revision",
  /** The build that the sender's node names, where it has no profile and another one takes its place; else 0. */
  sourceBuildNamed: "count",
  /** The machine that is asked; for a Service `outside`. */
  targetOs: ["windows", "linux", "outside"],
  targetBuild: "build",
  targetRevision: "revision",
  driver: ["L2Bridge", "L2Tunnel", "Overlay", "Transparent", "NAT"],
  shape: ["own-subnet", "node-subnet"],
  /** It is flannel's, with another VXLAN network identifier than 4096. */
  hasOtherVni: "boolean",
  /** Somebody put a `subnet.env` on the sender's node, in flanneld's stead. */
  hasGivenSubnetFile: "boolean",
  /**
   * Where sender and receiver stand: in one network; in two of which each is a virtual network of its own; or in two that
   * the nodes join. Nodes and the outside stand in all.
   */
  networks: ["same", "virtual", "joined"],
  /**
   * A pod of another network has the receiver's address, too, or the sender's, when the receiver is no pod: who sends from
   * a node cannot say which is meant.
   */
  hasTwin: "boolean",
  /** A transparent pod's frames pass a port of the fabric that lets the node's MAC pass alone. */
  isMacRefused: "boolean",
  /** A rule of the fabric names the two addresses, in one direction or the other. */
  isDeniedByFabric: "boolean",
  kubernetesMinor: "count",
  /** What OutBoundNAT does with packets from the sender to this receiver; `none` where there is no such policy. */
  outboundNat: ["translates", "excepted", "none"],
  /**
   * OutBoundNAT of the receiver translates its answers: the sender is not excepted, and no Service or hostPort leads to
   * the port.
   */
  areAnswersTranslated: "boolean",
  /** The way to the receiver's address is known where the sender sends to: a static route, or the router knows it. */
  hasRouteToTarget: "boolean",
  /** The way back to the sender's own address is known where the receiver answers to. */
  hasRouteToSource: "boolean",
  /** The sender or the receiver has access rules that the user wrote. */
  hasOwnRules: "boolean",
  /** The plugin gives the sender a policy for what comes back to itself with DSR. */
  hasLoopbackDsr: "boolean",
  /** The cluster has a name service, and the sender asks it. */
  hasDns: "boolean",
  /** The pod's containers are HostProcess containers. */
  isHostProcess: "boolean",
  /** The receiver has a name that the flow could use. */
  hasName: "boolean",
  /**
   * `acs-2017`: Windows nodes of before CNI, with two endpoints a pod and kube-proxy in its mode userspace. `ovn`: OVN's logical
   * flows in the switch of every node, and no kube-proxy.
   */
  setUp: ["present", "acs-2017", "ovn"],
  /** Something programs Services on the nodes. */
  hasProxy: "boolean",
  /** kube-proxy runs with `--enable-dsr`. */
  isDsr: "boolean",
  /** The sender's node has the defect `l2bridge-dsr-kb5005619`, and a Service that is balanced with DSR. */
  losesPodsWithDsr: "boolean",
  /** The sender is a pod behind the NAT of a node that has the defect `nat-denies-outbound`. */
  mayOpenNoConnections: "boolean",
  /** The asked node has the defect `overlay-nodeport-ws2022`. */
  losesOverlayNodePorts: "boolean",
  /** kube-proxy of the asked Windows node takes the second family's load balancer for the first's (kube-proxy.md §3.11). */
  losesSecondNodePort: "boolean",
  /** The annotation preserve-destination acts on the asked Windows node. */
  preservesDestination: "boolean",
  service: ["none", "cluster-ip", "headless", "external-name"],
  /** kube-proxy serves the network of the client; nodes and the outside stand in all. */
  isClientServed: "boolean",
  /** Back ends that the choosing node takes, in networks where nobody reaches them by their address. */
  strayBackEnds: ["none", "some", "all"],
  /** Ready back ends of the Service port that the choosing node takes. */
  backEnds: "count",
  /** Of them, those on the node that chooses. */
  localBackEnds: "count",
  /** A pod runs on the node whose NodePort or load balancer address is asked. */
  askedHasPods: "boolean",
  /** Among the back ends are addresses of no pod of the cluster: nobody knows who answers there. */
  hasStrangers: "boolean",
  internalTrafficPolicy: ["Cluster", "Local"],
  /**
   * As it holds for the sender: kube-proxy on Linux applies none to whom it takes for a pod, as it does nodes whose
   * addresses lie in the range of pods (pkg/proxy/iptables/proxier.go, "pod traffic for … external destinations").
   */
  externalTrafficPolicy: ["Cluster", "Local"],
  /** What keeps a Service from working as it is written: a protocol that Windows has not, an address that nobody gave. */
  serviceState: ["as-written", "sctp", "without-address"],
  /** The edition of the documentation whose limits the Windows nodes have; `no`: those of their builds. */
  asDocumented: ["no", "2017", "2021", "2024"],
} as const;

type FactOf<Kind> = Kind extends readonly (infer Word)[] ? Word : Kind extends "boolean" ? boolean : number;

export type FlowFacts = { readonly [Fact in keyof typeof FACTS]: FactOf<(typeof FACTS)[Fact]> };

export const FLOWS: (typeof FACTS)["flow"] = FACTS.flow;
export type FlowName = FlowFacts["flow"];

export type FlowProtocol = FlowFacts["protocol"];

/** One fact's condition: a value, one of several, or a range of numbers. */
export type Condition<T> =
  | T
  | readonly T[]
  | (T extends number ? { readonly below: number } | { readonly atLeast: number } : never);

export type Conditions = { readonly [Fact in keyof FlowFacts]?: Condition<FlowFacts[Fact]> };

/**
 * Whose address the receiver sees. `client-source-vip`: that of kube-proxy on the client's node. `any`: the documents do not
 * say, or it does not matter.
 */
export const SEEN_SOURCES = ["client", "client-node", "client-source-vip", "any"] as const;
export type SeenSource = (typeof SEEN_SOURCES)[number];

/** How one sees that a flow is denied. */
export const PROOFS = [
  /** The packet or its answer is dropped or refused, and the trace says so with the code. */
  "drop",
  /** Any drop, refusal or silence, whatever its code: nobody said which. */
  "any-failure",
  /** The name is not resolved. */
  "name-not-found",
  /** The answer comes, but the receiver saw another address than the client's. */
  "client-address-lost",
  /** Whoever answers, it is never the receiver: nobody does, or somebody else who has the address. */
  "not-reached",
  /** The same back end answers after the time is over. */
  "same-back-end",
  /** The pod is not in the network of its node. */
  "not-in-host-network",
  /** The objects show it, without a packet. */
  "shown",
] as const;
export type Proof = (typeof PROOFS)[number];

export type Expectation =
  | { readonly outcome: "works"; readonly sees: SeenSource }
  | {
      readonly outcome: "denied";
      readonly code: KnowledgeCode;
      readonly proof: Proof;
      /**
       * Codes of the drop itself, where the cause lies elsewhere: a Service that HNS refused is seen as a packet to an
       * address that nobody has.
       */
      readonly dropCodes?: readonly KnowledgeCode[];
    }
  | { readonly outcome: "not-applicable"; readonly code?: KnowledgeCode };

/** One row of the table. */
export interface ExpectationRow {
  /** Stable: reports name it. */
  readonly id: string;
  readonly when: Conditions;
  readonly expected: Expectation;
  /** Where it is written: section of the reference, public page. */
  readonly source: string;
}
