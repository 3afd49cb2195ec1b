/**
 * What NetworkPolicies make of cells: allowed or denied by their specification, never by the engine that enforces them, so that
 * what an engine cannot do on Windows is a finding.
 */
import type { PolicyVerdict, ReadPolicy } from "#contracts/kubernetes/network-policy.ts";
import { readNetworkPolicy, selectsPod } from "#contracts/kubernetes/network-policy.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Cluster } from "../cluster.ts";
import { PolicyView } from "../limits/network-policies.ts";
import { type Enforcement, lacksNetwork } from "../policies/enforcement.ts";
import type { LimitedFlow } from "../session/flow-limit.ts";
import type { Cell } from "./cells/cell.ts";

const SPECIFICATION = "https://kubernetes.io/docs/concepts/services-networking/network-policies/";

const DENIED = "network-policy-denied";
/** What a packet that an ACL stops is called. */
const DROP_CODES: readonly KnowledgeCode[] = Object.freeze(["acl-rule-blocked", "ovn-packet-dropped"]);

/** Policies that decide about a flow, and the nodes whose engines should carry them out. */
interface Concern {
  readonly policies: readonly ReadPolicy[];
  readonly nodes: readonly string[];
}

function concernOf(verdict: PolicyVerdict, { source, answerers }: LimitedFlow): Concern {
  const ends = (direction: "ingress" | "egress") => (direction === "egress" ? [source] : answerers);
  const nodesOf = (direction: "ingress" | "egress"): readonly string[] =>
    ends(direction).flatMap(({ node }) => node ?? []);
  if (verdict.outcome === "denied")
    return { policies: verdict.isolatedBy, nodes: nodesOf(verdict.direction) };
  if (verdict.outcome === "undefined") return { policies: [], nodes: [] };
  return {
    policies: verdict.rules.map(({ policy }) => policy),
    nodes: verdict.rules.flatMap(({ direction }) => nodesOf(direction)),
  };
}

/** Why an engine does otherwise than its policies say; undefined where nothing of it is known. */
function limitOf(enforcement: Enforcement, { policies, nodes }: Concern): KnowledgeCode | undefined {
  if (enforcement.engine === "none") return "network-policy-not-enforced";
  const keys = new Set(policies.map(({ namespace, name }) => `${namespace}/${name}`));
  for (const node of nodes) {
    const own = enforcement.nodes[node];
    if (own === undefined || lacksNetwork(own)) return "policy-engine-without-network";
    const found = own.findings.find(({ policy }) => policy === undefined || keys.has(policy));
    if (found !== undefined) return found.code;
  }
  return undefined;
}

/**
 * Without Direct Server Return the address of a Service is translated on the host's port, behind the ACLs of the sender's: they see
 * the Service, and no pod of it (dataplane.md §4.5).
 */
function isSeenAsService(
  { file }: Cluster,
  verdict: PolicyVerdict,
  { source, target }: LimitedFlow,
): boolean {
  if (target.kind !== "service" || source.os !== "windows" || file.kubeProxy.enableDSR) return false;
  // ACLs of what pods send come behind the load balancers (`apply-after-lb`).
  if (file.network.plugin === "ovn-kubernetes") return false;
  if (verdict.outcome === "allowed") return verdict.rules.some(({ direction }) => direction === "egress");
  return verdict.outcome === "denied" && verdict.direction === "egress";
}

/** Both engines let a pod's node in, and no pod out to it whose policies do not (control-planes.md §7.2). */
function isShutInOnNode(
  { engine }: Enforcement,
  policies: readonly ReadPolicy[],
  { source, target }: LimitedFlow,
): boolean {
  const { pod, node, os } = source;
  if (engine === "none" || os !== "windows" || pod === undefined) return false;
  if (target.kind !== "node" || target.node !== node) return false;
  return policies.some((policy) => policy.directions.includes("egress") && selectsPod(policy, pod));
}

/** Cells of a cluster with an engine, or known to have none, as its policies have them. */
export class PolicyCells {
  private readonly cluster: Cluster;
  private readonly enforcement: Enforcement | undefined;
  private readonly policies: readonly ReadPolicy[];
  private readonly view: PolicyView;

  constructor(cluster: Cluster) {
    const { enforcement, objects } = cluster;
    this.cluster = cluster;
    this.enforcement = objects.NetworkPolicy.length === 0 ? undefined : enforcement;
    this.policies = this.enforcement === undefined ? [] : objects.NetworkPolicy.map(readNetworkPolicy);
    this.view = new PolicyView(this.policies);
  }

  /** `flowOf`: the cell as limits look at it. What the user expects stays. */
  of(cell: Cell, flowOf: () => LimitedFlow): Cell {
    const { enforcement } = this;
    if (enforcement === undefined || cell.flow === "cluster-file" || cell.expected.outcome !== "works")
      return cell;
    const flow = flowOf();
    if (isShutInOnNode(enforcement, this.policies, flow))
      return { ...cell, because: "network-policy-own-node" };
    const verdict = this.view.verdict(flow);
    if (verdict === undefined || verdict.outcome === "undefined") return cell;
    if (verdict.outcome === "allowed" && verdict.rules.length === 0) return cell;
    const because =
      limitOf(enforcement, concernOf(verdict, flow)) ??
      (isSeenAsService(this.cluster, verdict, flow) ? "network-policy-service-address" : undefined);
    const said = { ...cell, documentedIn: SPECIFICATION, ...(because === undefined ? {} : { because }) };
    if (verdict.outcome === "allowed") return { ...said, row: "NETWORK-POLICY-ALLOWS" };
    return {
      ...said,
      row: "NETWORK-POLICY-DENIES",
      expected: { outcome: "denied", code: DENIED, proof: "drop", dropCodes: DROP_CODES },
    };
  }
}
