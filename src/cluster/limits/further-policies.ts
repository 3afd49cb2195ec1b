/**
 * Policies of other APIs (AdminNetworkPolicy, Calico, Cilium, Antrea …), which nothing enforces here: whose flows they are
 * about. Where it is not read whom they select, one of a namespace may be about every pod in it, one without a namespace
 * about every flow.
 */
import { listed } from "#core/base/text-layout.ts";
import type { PassedPolicy } from "#control-plane/load/manifests.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { ProblemPlace } from "#core/catalogue/file-problem.ts";
import type { FlowEnd, FlowLimit, LimitReason, LimitedFlow } from "../session/flow-limit.ts";
import { type PolicyApi, PolicyLimit, type SelectingPolicy } from "./policy-limit.ts";
import { subjectsOfFurtherPolicy } from "./policy-subjects.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const CODE = "policy-kind-not-enforced";

function titleOf({ kind, namespace, name }: PassedPolicy): string {
  return `${kind} ${namespace === "" ? name : `${namespace}/${name}`}`.trimEnd();
}

function placeOf(policy: PassedPolicy | undefined): { readonly where?: ProblemPlace } {
  if (policy === undefined) return {};
  const { file, line, column } = policy;
  return { where: { file, line, column, field: "" } };
}

const STANDING = "left out and not enforced";

/** Of those that are read. A node is in nobody's namespace, but it may be spared, or not: that hangs on who enforces them. */
const READ_APIS: PolicyApi = Object.freeze({
  code: CODE,
  plural: "policies of other APIs",
  standing: STANDING,
  sparesOwnNode: false,
});

class UnreadPolicyLimit implements FlowLimit {
  readonly code: KnowledgeCode = CODE;
  readonly message: string;
  readonly where?: ProblemPlace;
  private readonly policies: readonly PassedPolicy[];

  constructor(policies: readonly PassedPolicy[]) {
    this.policies = policies;
    this.message = `${listed(policies.map(titleOf))} ${policies.length === 1 ? "is" : "are"} ${STANDING}`;
    const { where } = placeOf(policies[0]);
    if (where !== undefined) this.where = where;
  }

  covers(flow: LimitedFlow): boolean {
    return this.policies.some((policy) => isAbout(policy, flow));
  }

  reasonFor(flow: LimitedFlow): LimitReason {
    const own = this.policies.filter((policy) => isAbout(policy, flow));
    const titles = listed(own.map(titleOf));
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

/** One limit for those that are read, one for the others. */
export function furtherPolicyLimits(policies: readonly PassedPolicy[]): readonly FlowLimit[] {
  const [read, unread]: [SelectingPolicy[], PassedPolicy[]] = [[], []];
  for (const policy of policies) {
    const subjects = subjectsOfFurtherPolicy(policy);
    const titled = { title: titleOf(policy), where: placeOf(policy).where, open: [] };
    if (subjects === undefined) unread.push(policy);
    else read.push(...subjects.map((subject) => ({ ...subject, ...titled })));
  }
  return [
    ...(read.length === 0 ? [] : [new PolicyLimit(READ_APIS, read)]),
    ...(unread.length === 0 ? [] : [new UnreadPolicyLimit(unread)]),
  ];
}
