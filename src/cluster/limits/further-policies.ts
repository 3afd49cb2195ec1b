/**
 * Policies of other APIs (Calico, Cilium, Antrea, AdminNetworkPolicy …), which Mullion passes by. Their selectors are not
 * read: one of a namespace may be about every pod in it, one without a namespace about every flow.
 */
import type { PassedPolicy } from "#control-plane/load/manifests.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { ProblemPlace } from "#core/catalogue/file-problem.ts";
import type { FlowEnd, FlowLimit, LimitReason, LimitedFlow } from "../session/flow-limit.ts";
import { listTitles } from "./policy-limit.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const CODE = "policy-kind-not-enforced";

function titleOf({ kind, namespace, name }: PassedPolicy): string {
  return `${kind} ${namespace === "" ? name : `${namespace}/${name}`}`;
}

function placeOf(policy: PassedPolicy | undefined): { readonly where?: ProblemPlace } {
  if (policy === undefined) return {};
  const { file, line, column } = policy;
  return { where: { file, line, column, field: "" } };
}

class FurtherPolicyLimit implements FlowLimit {
  readonly code: KnowledgeCode = CODE;
  readonly message: string;
  readonly where?: ProblemPlace;
  private readonly policies: readonly PassedPolicy[];

  constructor(policies: readonly PassedPolicy[]) {
    this.policies = policies;
    this.message = `${listTitles(policies.map(titleOf))} ${policies.length === 1 ? "is" : "are"} left out and not enforced`;
    const { where } = placeOf(policies[0]);
    if (where !== undefined) this.where = where;
  }

  covers(flow: LimitedFlow): boolean {
    return this.policies.some((policy) => isAbout(policy, flow));
  }

  reasonFor(flow: LimitedFlow): LimitReason {
    const own = this.policies.filter((policy) => isAbout(policy, flow));
    const titles = listTitles(own.map(titleOf));
    const message = WORDS.policiesNotEnforced({ titles, isOrAre: own.length === 1 ? "is" : "are" });
    return { code: CODE, message, ...placeOf(own[0]) };
  }

  kindOf({ pod }: FlowEnd): string {
    const isIn = this.policies.some(({ namespace }) => namespace !== "" && namespace === pod?.namespace);
    return isIn ? "further" : "";
  }
}

function isAbout({ namespace }: PassedPolicy, flow: LimitedFlow): boolean {
  const { source, answerers, isByName, nameServers = [] } = flow;
  const ends = [source, ...answerers, ...(isByName ? nameServers : [])];
  return namespace === "" || ends.some(({ pod }) => pod?.namespace === namespace);
}

/** One limit for all of them. */
export function furtherPolicyLimits(policies: readonly PassedPolicy[]): readonly FlowLimit[] {
  return policies.length === 0 ? [] : [new FurtherPolicyLimit(policies)];
}
