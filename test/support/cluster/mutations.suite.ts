/**
 * Would verify notice? Each case breaks one thing of the world, and verify has to turn red where the thing is used.
 * A matrix that stays green here would be worth nothing.
 */
import { describe, expect, it } from "vitest";
import type * as LoadBalancerPlan from "#hns/compile/load-balancer/load-balancer-plan.ts";
import type * as OutBoundNat from "#hns/compile/outbound-nat.ts";
import type * as PortMapping from "#hns/compile/port-mapping.ts";
import type * as CandidateNames from "#dataplane/host/resolver/candidate-names.ts";
import type * as VfpAction from "#dataplane/vfp/actions/action.ts";
import type * as LinuxMasquerade from "#cluster/services/linux-masquerade.ts";
import type { ActionResult } from "#dataplane/vfp/actions/action.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { type ModuleChange, changeModule, importChanged } from "./changed-modules.ts";
import type * as VerifyServices from "./verify-services.ts";
import { verifyServices } from "./verify-services.ts";

/** Opens the cluster and verifies it with all modules loaded anew, so that they see what is broken. */
async function verifyBroken({ name, change }: Mutation): Promise<VerifyReport> {
  const specifier = "#test/support/cluster/verify-services.ts";
  const broken = (await importChanged(specifier, change, encodeURIComponent(name))) as typeof VerifyServices;
  return broken.verifyServices();
}

/** Flow and system of each finding, once. */
function redFlows(report: VerifyReport): readonly string[] {
  const found = report.findings.map(({ cell }) => report.cells[cell ?? -1]);
  return [...new Set(found.map((cell) => `${cell?.flow} from ${cell?.fromSystem}`))];
}

interface Mutation {
  readonly name: string;
  /** The broken module. */
  readonly change: ModuleChange;
  /** Where it must show. */
  readonly red: readonly string[];
}

const RULE_COMPILERS: readonly Mutation[] = [
  {
    name: "OutBoundNAT becomes no rule",
    change: changeModule<typeof OutBoundNat>("#hns/compile/outbound-nat.ts", {
      compileOutBoundNat: () => () => ({ groups: [], pools: [], addresses: [] }),
    }),
    red: ["pod-to-external-ip from ws2022", "pod-to-external-name from ws2022"],
  },
  {
    name: "a load balancer forgets its last back end",
    change: changeModule<typeof LoadBalancerPlan>("#hns/compile/load-balancer/load-balancer-plan.ts", {
      frontEndsOf:
        (real) =>
        (...given) =>
          real.frontEndsOf(...given).map((each) => ({
            ...each,
            serving: each.serving.length > 1 ? each.serving.slice(0, -1) : each.serving,
          })),
    }),
    red: ["pod-to-cluster-ip from ws2022"],
  },
  {
    name: "a hostPort becomes no rule",
    change: changeModule<typeof PortMapping>("#hns/compile/port-mapping.ts", {
      compilePortMappings: (real) => (endpoint, ip, families) =>
        real.compilePortMappings({ ...endpoint, policies: [] }, ip, families),
    }),
    red: ["outside-to-host-port from outside"],
  },
  {
    name: "Linux nodes do not masquerade",
    change: changeModule<typeof LinuxMasquerade>("#cluster/services/linux-masquerade.ts", {
      flannelRules: () => () => ({}),
    }),
    red: ["pod-to-external-ip from linux"],
  },
];

/** Replaces what one kind of VFP action comes to. */
function changeAction(
  type: string,
  change: (result: Extract<ActionResult, { kind: "pass" }>) => ActionResult,
): ModuleChange {
  return changeModule<typeof VfpAction>("#dataplane/vfp/actions/action.ts", {
    evaluateAction: (real) => (action, subject, context) => {
      const result = real.evaluateAction(action, subject, context);
      return action.type === type && result.kind === "pass" ? change(result) : result;
    },
  });
}

const NAT_ACTIONS: readonly Mutation[] = [
  {
    name: "dynnat does not give the answer its port back",
    change: changeAction("dynnat", (result) => {
      result.reverse.destinationPort = -1;
      return result;
    }),
    red: ["pod-to-external-ip from ws2022"],
  },
  {
    name: "lbnat leaves the port as it is",
    change: changeAction("lbnat", (result) => {
      result.forward.destinationPort = -1;
      return result;
    }),
    red: ["pod-to-cluster-ip from ws2022", "pod-to-service-short-name from ws2022"],
  },
  {
    name: "nat leaves the destination as it is",
    change: changeAction("nat", (result) => ({
      ...result,
      forward: new (result.forward.constructor as new () => typeof result.forward)(),
    })),
    red: ["outside-to-host-port from outside"],
  },
];

function changePlan(change: (real: PlanNames) => PlanNames): ModuleChange {
  return changeModule<typeof CandidateNames>("#dataplane/host/resolver/candidate-names.ts", {
    planNames: (real) => change(real.planNames),
  });
}
type PlanNames = typeof CandidateNames.planNames;

const RESOLVER_RULES: readonly Mutation[] = [
  {
    name: "Windows completes names with dots",
    change: changePlan((real) => (_os, name, settings) => real("linux", name, settings)),
    red: ["pod-to-service-partial-name from ws2022"],
  },
  {
    name: "Windows appends no suffix",
    change: changePlan(
      (real) => (os, name, settings) =>
        real(os, name, os === "windows" ? { ...settings, search: [], domain: "" } : settings),
    ),
    red: ["pod-to-service-short-name from ws2022"],
  },
  {
    name: "Linux leaves its search list out",
    change: changePlan(
      (real) => (os, name, settings) =>
        real(os, name, os === "linux" ? { ...settings, search: [], domain: "" } : settings),
    ),
    red: ["pod-to-service-short-name from linux", "pod-to-service-partial-name from linux"],
  },
];

/** Breaks one thing after the other; `each` says how many of a kind, those first that must show in most flows. */
export function breakTheWorld({
  each,
  kinds = Number.POSITIVE_INFINITY,
}: {
  /** Mutations of each kind. */
  readonly each: number;
  readonly kinds?: number;
}): void {
  it("is green while nothing is broken", async () => {
    expect((await verifyServices()).findings).toEqual([]);
  });

  const listed = [
    ["a NAT action", NAT_ACTIONS],
    ["a rule compiler", RULE_COMPILERS],
    ["a rule of a resolver", RESOLVER_RULES],
  ] as const;
  describe.each(listed.slice(0, kinds))("is red when %s is broken", (_what, mutations) => {
    const chosen = mutations.toSorted((a, b) => b.red.length - a.red.length).slice(0, each);
    it.each(chosen)("$name", async (mutation) => {
      const flows = redFlows(await verifyBroken(mutation));
      for (const flow of mutation.red) expect(flows).toContain(flow);
    });
  });
}
