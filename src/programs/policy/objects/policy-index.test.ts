// What a change costs: how many policies are compiled, and whose lists are other ones.
import { describe, expect, it } from "vitest";
import { input, pod, policy } from "#test/support/policy/policy-node.ts";
import { PodIndex } from "./pod-index.ts";
import { type CompiledPolicy, PolicyIndex } from "./policy-index.ts";
import type { StoredPolicy } from "./stored-policy.ts";

const PODS = Array.from({ length: 20 }, (_, index) =>
  pod(`p${index}`, `10.0.0.${index + 1}`, { app: `a${index % 4}` }),
);

/** An index that says which policies it has compiled; each takes the addresses of the pods that `app` names. */
function counted(): {
  readonly update: (given: ReturnType<typeof input>) => readonly string[];
  readonly of: (name: string) => readonly CompiledPolicy[];
} {
  let compiled: string[] = [];
  const pods = new PodIndex();
  const index = new PolicyIndex<CompiledPolicy>(pods, (stored: StoredPolicy) => {
    compiled.push(stored.name);
    const selector = stored.rules.ingress[0]?.peers[0]?.podSelector ?? {};
    return { stored, uses: [pods.group({ namespace: stored.namespace, pods: selector })] };
  });
  return {
    update: ({ pods: all, namespaces, policies }) => {
      compiled = [];
      pods.update(all, namespaces);
      index.update(policies);
      return compiled;
    },
    of: (name) => index.of(`default/${name}`),
  };
}

function lets(name: string, selected: string, from: string): ReturnType<typeof policy> {
  const of = (app: string) => ({ podSelector: { matchLabels: { app } } });
  return policy(name, { ...of(selected), ingress: [{ from: [of(from)] }] });
}

const FIRST = lets("first", "a0", "a1");
const SECOND = lets("second", "a2", "a3");

describe("policies that change", () => {
  it("only the changed one is compiled, and only its pods have other lists", () => {
    const { update, of } = counted();
    expect(update(input([FIRST, SECOND], PODS))).toEqual(["first", "second"]);
    const [before, other] = [of("p0"), of("p2")];
    expect(update(input([FIRST, SECOND], PODS))).toEqual([]);
    expect(update(input([lets("first", "a0", "a2"), SECOND], PODS))).toEqual(["first"]);
    expect(of("p0")).not.toBe(before);
    expect(of("p2")).toBe(other);
  });

  it("a pod that comes has those compiled whose rules mean it", () => {
    const { update } = counted();
    update(input([FIRST, SECOND], PODS));
    expect(update(input([FIRST, SECOND], [...PODS, pod("new", "10.0.1.1", { app: "a3" })]))).toEqual([
      "second",
    ]);
  });

  it("a pod with other labels is selected by others", () => {
    const { update, of } = counted();
    update(input([FIRST, SECOND], PODS));
    expect(of("p1").map(({ stored }) => stored.name)).toEqual([]);
    update(
      input(
        [FIRST, SECOND],
        PODS.map((each, index) => (index === 1 ? pod("p1", "10.0.0.2", { app: "a2" }) : each)),
      ),
    );
    expect(of("p1").map(({ stored }) => stored.name)).toEqual(["second"]);
  });

  it("a policy that goes selects nothing any more; pods that end, too", () => {
    const { update, of } = counted();
    update(input([FIRST, SECOND], PODS));
    expect(of("p0")).toHaveLength(1);
    update(input([SECOND], PODS));
    expect(of("p0")).toEqual([]);
    update(input([SECOND], PODS.slice(0, 2)));
    expect(of("p2")).toEqual([]);
  });
});
