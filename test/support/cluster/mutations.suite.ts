/**
 * Would verify notice? Each case breaks one thing of the world, and verify has to turn red where the thing is used.
 * A matrix that stays green here would be worth nothing.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import type * as LoadBalancerPlan from "#hns/compile/load-balancer/load-balancer-plan.ts";
import type * as OutBoundNat from "#hns/compile/outbound-nat.ts";
import type * as PortMapping from "#hns/compile/port-mapping.ts";
import type * as CandidateNames from "#dataplane/host/resolver/candidate-names.ts";
import type * as VfpAction from "#dataplane/vfp/actions/action.ts";
import type * as LinuxMasquerade from "#cluster/services/linux-masquerade.ts";
import type { ActionResult } from "#dataplane/vfp/actions/action.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";

/** Opens the cluster and verifies it with all modules loaded anew, so that they see what is broken. */
async function verifyBroken(): Promise<VerifyReport> {
  const { openServiceCluster } = await import("#test/support/cluster/service-cluster.ts");
  const { readModel } = await import("#cluster/verify/model-of-cluster.ts");
  const { verifyCluster } = await import("#cluster/verify/verify.ts");
  const cluster = await openServiceCluster({ enableDSR: true });
  return verifyCluster(cluster, readModel(cluster));
}

/** Flow and system of each finding, once. */
function redFlows(report: VerifyReport): readonly string[] {
  const found = report.findings.map(({ cell }) => report.cells[cell ?? -1]);
  return [...new Set(found.map((cell) => `${cell?.flow} from ${cell?.fromSystem}`))];
}

interface Mutation {
  readonly name: string;
  /** Puts the broken module in place. */
  readonly apply: () => void;
  /** Where it must show. */
  readonly red: readonly string[];
}

const RULE_COMPILERS: readonly Mutation[] = [
  {
    name: "OutBoundNAT becomes no rule",
    apply: () =>
      vi.doMock("#hns/compile/outbound-nat.ts", async (original) => ({
        ...(await original<typeof OutBoundNat>()),
        compileOutBoundNat: () => ({ groups: [], pools: [], addresses: [] }),
      })),
    red: ["pod-to-external-ip from ws2022", "pod-to-external-name from ws2022"],
  },
  {
    name: "a load balancer forgets its last back end",
    apply: () =>
      vi.doMock("#hns/compile/load-balancer/load-balancer-plan.ts", async (original) => {
        const real = await original<typeof LoadBalancerPlan>();
        const frontEndsOf: typeof real.frontEndsOf = (...given) =>
          real.frontEndsOf(...given).map((each) => ({
            ...each,
            serving: each.serving.length > 1 ? each.serving.slice(0, -1) : each.serving,
          }));
        return { ...real, frontEndsOf };
      }),
    red: ["pod-to-cluster-ip from ws2022"],
  },
  {
    name: "a hostPort becomes no rule",
    apply: () =>
      vi.doMock("#hns/compile/port-mapping.ts", async (original) => {
        const real = await original<typeof PortMapping>();
        const compilePortMappings: typeof real.compilePortMappings = (endpoint, ip, families) =>
          real.compilePortMappings({ ...endpoint, policies: [] }, ip, families);
        return { ...real, compilePortMappings };
      }),
    red: ["outside-to-host-port from outside"],
  },
  {
    name: "Linux nodes do not masquerade",
    apply: () =>
      vi.doMock("#cluster/services/linux-masquerade.ts", async (original) => ({
        ...(await original<typeof LinuxMasquerade>()),
        flannelRules: () => ({}),
      })),
    red: ["pod-to-external-ip from linux"],
  },
];

/** Replaces what one kind of VFP action comes to. */
function mockAction(
  type: string,
  change: (result: Extract<ActionResult, { kind: "pass" }>) => ActionResult,
): void {
  vi.doMock("#dataplane/vfp/actions/action.ts", async (original) => {
    const real = await original<typeof VfpAction>();
    const evaluateAction: typeof real.evaluateAction = (action, subject, context) => {
      const result = real.evaluateAction(action, subject, context);
      return action.type === type && result.kind === "pass" ? change(result) : result;
    };
    return { ...real, evaluateAction };
  });
}

const NAT_ACTIONS: readonly Mutation[] = [
  {
    name: "dynnat does not give the answer its port back",
    apply: () =>
      mockAction("dynnat", (result) => {
        result.reverse.destinationPort = -1;
        return result;
      }),
    red: ["pod-to-external-ip from ws2022"],
  },
  {
    name: "lbnat leaves the port as it is",
    apply: () =>
      mockAction("lbnat", (result) => {
        result.forward.destinationPort = -1;
        return result;
      }),
    red: ["pod-to-cluster-ip from ws2022", "pod-to-service-short-name from ws2022"],
  },
  {
    name: "nat leaves the destination as it is",
    apply: () =>
      mockAction("nat", (result) => ({
        ...result,
        forward: new (result.forward.constructor as new () => typeof result.forward)(),
      })),
    red: ["outside-to-host-port from outside"],
  },
];

function mockPlan(change: (real: PlanNames) => PlanNames): void {
  vi.doMock("#dataplane/host/resolver/candidate-names.ts", async (original) => {
    const real = await original<typeof CandidateNames>();
    return { ...real, planNames: change(real.planNames) };
  });
}
type PlanNames = typeof CandidateNames.planNames;

const RESOLVER_RULES: readonly Mutation[] = [
  {
    name: "Windows completes names with dots",
    apply: () => mockPlan((real) => (_os, name, settings) => real("linux", name, settings)),
    red: ["pod-to-service-partial-name from ws2022"],
  },
  {
    name: "Windows appends no suffix",
    apply: () =>
      mockPlan(
        (real) => (os, name, settings) =>
          real(os, name, os === "windows" ? { ...settings, search: [], domain: "" } : settings),
      ),
    red: ["pod-to-service-short-name from ws2022"],
  },
  {
    name: "Linux leaves its search list out",
    apply: () =>
      mockPlan(
        (real) => (os, name, settings) =>
          real(os, name, os === "linux" ? { ...settings, search: [], domain: "" } : settings),
      ),
    red: ["pod-to-service-short-name from linux", "pod-to-service-partial-name from linux"],
  },
];

/** Breaks one thing after the other; `each` says how many of a kind, those first that must show in most flows. */
export function breakTheWorld({ each }: { readonly each: number }): void {
  afterEach(() => {
    vi.doUnmock("#hns/compile/outbound-nat.ts");
    vi.doUnmock("#hns/compile/load-balancer/load-balancer-plan.ts");
    vi.doUnmock("#hns/compile/port-mapping.ts");
    vi.doUnmock("#cluster/services/linux-masquerade.ts");
    vi.doUnmock("#dataplane/vfp/actions/action.ts");
    vi.doUnmock("#dataplane/host/resolver/candidate-names.ts");
    vi.resetModules();
  });

  it("is green while nothing is broken", async () => {
    vi.resetModules();
    expect((await verifyBroken()).findings).toEqual([]);
  });

  describe.each([
    ["a rule compiler", RULE_COMPILERS],
    ["a NAT action", NAT_ACTIONS],
    ["a rule of a resolver", RESOLVER_RULES],
  ])("is red when %s is broken", (_what, mutations) => {
    const chosen = mutations.toSorted((a, b) => b.red.length - a.red.length).slice(0, each);
    it.each(chosen)("$name", async ({ apply, red }) => {
      vi.resetModules();
      apply();
      const flows = redFlows(await verifyBroken());
      for (const flow of red) expect(flows).toContain(flow);
    });
  });
}
