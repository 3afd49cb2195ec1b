/** Policies that are stored and not enforced, as a limit: flows of the pods that they select are not judged. */
import { listed } from "#core/base/text-layout.ts";
import type { PolicyDirection } from "#contracts/kubernetes/network-policy.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { ProblemPlace } from "#core/catalogue/file-problem.ts";
import type { FlowEnd, FlowLimit, LimitReason, LimitedFlow } from "../session/flow-limit.ts";

/** A pod as policies see it. */
export type SelectedPod = NonNullable<FlowEnd["pod"]>;

/** A policy, as far as it says whose flows it is about. */
export interface SelectingPolicy {
  /** `NetworkPolicy shop/default-deny`. */
  readonly title: string;
  readonly where: ProblemPlace | undefined;
  readonly directions: readonly PolicyDirection[];
  /** Directions in which it lets everything through, whatever policies beside it say. */
  readonly open: readonly PolicyDirection[];
  selects(pod: SelectedPod): boolean;
}

/** What is common to the policies of one API. */
export interface PolicyApi {
  readonly code: KnowledgeCode;
  /** `NetworkPolicies`. */
  readonly plural: string;
  /** What becomes of them here, behind "are": `stored and not enforced`. */
  readonly standing: string;
  /** A pod always reaches itself and its own node, and the node the pod, whatever the policies say. */
  readonly sparesOwnNode: boolean;
  /** What would become of a flow, by the specification: `allows it`; undefined where that cannot be said. */
  specified?(flow: LimitedFlow): string | undefined;
  /** True for a flow that is judged all the same: what becomes of the policies of `pods` is known. */
  isJudged?(flow: LimitedFlow, pods: readonly FlowEnd[]): boolean;
  /** What tells pods apart besides the policies that select them. */
  kindOf?(flowEnd: FlowEnd): string;
}

/** A pod that policies select, and which. */
interface Selection {
  readonly direction: PolicyDirection;
  readonly pod: FlowEnd;
  readonly policies: readonly SelectingPolicy[];
}

/** All policies of one API in a cluster. */
export class PolicyLimit implements FlowLimit {
  readonly code: KnowledgeCode;
  readonly message: string;
  readonly where?: ProblemPlace;
  private readonly api: PolicyApi;
  private readonly policies: readonly SelectingPolicy[];
  private readonly known = new Map<string, readonly SelectingPolicy[]>();

  constructor(api: PolicyApi, policies: readonly SelectingPolicy[]) {
    this.api = api;
    this.policies = policies;
    this.code = api.code;
    const count = policies.length;
    const titles = listed(policies.map(({ title }) => title));
    this.message =
      count === 1 ? `${titles} is ${api.standing}` : `${count} ${api.plural} are ${api.standing}: ${titles}`;
    const where = policies.find((policy) => policy.where !== undefined)?.where;
    if (where !== undefined) this.where = where;
  }

  covers(flow: LimitedFlow): boolean {
    const selections = this.selectionsIn(flow);
    if (selections.length === 0) return false;
    const pods = selections.map(({ pod }) => pod);
    return this.api.isJudged?.(flow, pods) !== true;
  }

  reasonFor(flow: LimitedFlow): LimitReason {
    const selections = this.selectionsIn(flow);
    const parts = selections.map(({ direction, pod, policies }) => {
      const titles = listed(policies.map(({ title }) => title));
      return `${titles} select${policies.length === 1 ? "s" : ""} ${pod.reference} for ${direction}`;
    });
    parts.push(`${this.api.plural} are ${this.api.standing}`);
    const specified = this.api.specified?.(flow);
    if (specified !== undefined) parts.push(`their specification ${specified}`);
    const where = selections[0]?.policies[0]?.where;
    return {
      code: this.code,
      message: parts.join("; "),
      ...(where === undefined ? {} : { where }),
    };
  }

  kindOf(flowEnd: FlowEnd): string {
    const own = this.api.kindOf?.(flowEnd);
    if (own !== undefined && own !== "") return own;
    return (["ingress", "egress"] as const)
      .flatMap((direction) => {
        const policies = this.selecting(flowEnd, direction);
        const isOpen = policies.some(({ open }) => open.includes(direction));
        return policies.length === 0 ? [] : [isOpen ? `open ${direction}` : direction];
      })
      .join("+");
  }

  /** The policies that select a pod for a direction. */
  private selecting(flowEnd: FlowEnd, direction: PolicyDirection): readonly SelectingPolicy[] {
    const { pod } = flowEnd;
    if (pod === undefined) return [];
    const key = `${direction} ${flowEnd.reference}`;
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const found = this.policies.filter(
      (policy) => policy.directions.includes(direction) && policy.selects(pod),
    );
    this.known.set(key, found);
    return found;
  }

  private selectionsIn(flow: LimitedFlow): readonly Selection[] {
    const { source, answerers, isByName, nameServers = [] } = flow;
    const receivers = isByName ? [...answerers, ...nameServers] : answerers;
    const others = receivers.filter((receiver) => !this.isSpared(source, receiver));
    const found: Selection[] = [];
    const add = (pod: FlowEnd, direction: PolicyDirection): void => {
      const policies = this.selecting(pod, direction);
      // What is neither TCP, UDP nor SCTP is left to the engine.
      const isOpen = flow.protocol !== "icmp" && policies.some(({ open }) => open.includes(direction));
      if (policies.length > 0 && !isOpen) found.push({ direction, pod, policies });
    };
    // An address that no machine here has is another's.
    if (others.length > 0 || receivers.length === 0) add(source, "egress");
    for (const receiver of new Set(others)) add(receiver, "ingress");
    return found;
  }

  private isSpared(source: FlowEnd, receiver: FlowEnd): boolean {
    if (!this.api.sparesOwnNode) return false;
    if (source.reference === receiver.reference) return true;
    const isNode = source.kind === "node" || receiver.kind === "node";
    return isNode && source.node === receiver.node;
  }
}
