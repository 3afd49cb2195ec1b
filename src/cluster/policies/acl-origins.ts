/** Which NetworkPolicy, and which rule of it, stands behind an ACL that decided about a packet. */
import { listed } from "#core/base/text-layout.ts";
import type { RuleReference } from "#core/base/recorder.ts";
import type { WrittenAcl } from "#programs/policy/policy-engine.ts";
import type { TraceLeg, TraceStep } from "../trace/trace-report.ts";
import type { Enforcement } from "./enforcement.ts";

function policyTitle(key: string): string {
  return `NetworkPolicy ${key}`;
}

/** `undefined` for rules that every endpoint has. */
function describeOrigins(origins: readonly WrittenAcl["origin"][]): string | undefined {
  const [first] = origins;
  if (first === undefined) return undefined;
  const { why, direction, policies, index } = first;
  const titles = listed([...new Set(origins.flatMap((each) => each.policies))].map(policyTitle));
  switch (why) {
    case "rule": {
      // NPM's ACLs of a policy share their id and priority.
      const isOne = origins.every((each) => each.index === index);
      return isOne ? `${titles}, spec.${direction}[${index ?? 0}]` : `${titles}, spec.${direction}`;
    }
    case "default":
      return policies.length === 0 ? undefined : `${titles}: no ${direction} rule allows it`;
    case "node":
      return "engines let the pod's own node in";
    case "open":
      return `no NetworkPolicy selects the pod for ${direction}`;
    case "base":
      return undefined;
  }
}

function isRule({ acl }: WrittenAcl, rule: RuleReference, direction: TraceStep["direction"]): boolean {
  return (
    acl.Direction === (direction === "out" ? "Out" : "In") &&
    (acl.Priority ?? 0) === rule.priority &&
    acl.Action.toLowerCase() === rule.action &&
    (acl.Id === undefined || acl.Id === rule.name)
  );
}

function originOf(enforcement: Enforcement, { node, rule, direction }: TraceStep): string | undefined {
  const { provenance } = rule ?? {};
  if (rule === undefined || provenance?.policy?.type !== "ACL") return undefined;
  const acls = enforcement.nodes[node]?.acls[provenance.id] ?? [];
  return describeOrigins(acls.filter((acl) => isRule(acl, rule, direction)).map(({ origin }) => origin));
}

/** The steps with the policies that decided in them. */
export function withPolicies(enforcement: Enforcement | undefined, leg: TraceLeg): TraceLeg {
  if (enforcement === undefined || enforcement.engine === "none") return leg;
  const steps = leg.steps.map((step) => {
    const networkPolicy = originOf(enforcement, step);
    return networkPolicy === undefined ? step : { ...step, networkPolicy };
  });
  return { ...leg, steps };
}
