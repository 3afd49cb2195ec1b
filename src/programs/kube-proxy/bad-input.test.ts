/**
 * Objects and calls as they should not be: no sync throws, upstream does what upstream does, `hardened` says why with a
 * code, tries again, and everything else is programmed.
 */
import { describe, expect, it } from "vitest";
import type { Compat } from "#core/base/compat.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { EndpointSlice, Service } from "#contracts/kubernetes/objects.ts";
import {
  ADDRESS,
  type EndpointLike,
  KubeProxyNode,
  NODE_PORT,
  type NodeSettings,
  service,
  slice,
} from "#test/support/kube-proxy/kube-proxy-node.ts";

const MODES: readonly Compat[] = ["upstream", "hardened"];
/** A Service beside the bad one, which works whatever happens. */
const GOOD = service({ name: "good", spec: { clusterIP: ADDRESS.C2 } });
const GOOD_SLICE = slice(["L1"], { of: "good" });
const GOOD_LB = "C2:80→8080 [EP-L1] L0 P0 D0";

/** What somebody sent who does not keep to the types. */
function malformed<T>(object: T, change: (copy: Record<string, unknown>) => void): T {
  const copy = JSON.parse(JSON.stringify(object)) as Record<string, unknown>;
  change(copy);
  return copy as T;
}

function specOf(object: Record<string, unknown>): Record<string, unknown> {
  return object["spec"] as Record<string, unknown>;
}

interface Case {
  readonly given: string;
  readonly services?: readonly Service[];
  readonly slices?: readonly EndpointSlice[];
  readonly node?: NodeSettings;
  /** Load balancers beside the good one, by mode. */
  readonly upstream: readonly string[];
  readonly hardened?: readonly string[];
  readonly codes?: readonly string[];
}

const PORT = NODE_PORT[0]!;
const UNUSABLE = "service-without-usable-endpoints";
const L1: readonly EndpointSlice[] = [slice(["L1"])];
const C_L1 = "C:80→8080 [EP-L1] L0 P0 D0";

const CASES: readonly Case[] = [
  {
    given: "a Service without spec",
    services: [malformed(service(), (each) => delete each["spec"])],
    slices: L1,
    upstream: [],
  },
  {
    given: "a Service without ports",
    services: [malformed(service(), (each) => delete specOf(each)["ports"])],
    slices: L1,
    upstream: [],
  },
  {
    given: "a ClusterIP that is not an address",
    services: [service({ spec: { clusterIP: "ten.zero.zero.one" } })],
    slices: L1,
    upstream: [],
  },
  {
    given: "a protocol that nobody knows: taken for TCP",
    services: [service({ spec: { ports: [{ ...PORT, nodePort: 0, protocol: "tcpp" }] } })],
    slices: L1,
    upstream: [C_L1],
  },
  {
    given: "an external address that is none",
    services: [service({ spec: { externalIPs: ["not-an-address"] } })],
    slices: L1,
    node: { minor: 35 },
    upstream: [C_L1, "not-an-address:80→8080 [EP-L1] L0 P16 D0"],
    hardened: [C_L1],
  },
  { given: "slices of a Service that is not there", slices: L1, upstream: [] },
  {
    given: "an address in two slices and twice in one",
    services: [service()],
    slices: [slice(["L1", "L1"]), slice(["L1"], { name: "again" })],
    upstream: [C_L1],
  },
  {
    given: "slices of IPv6 on a node of IPv4",
    services: [service()],
    slices: [slice([{ at: { address: "fd00::1", node: "x" } }], { addressType: "IPv6" })],
    node: { hns: { Major: 9, Minor: 2 } },
    upstream: [],
    codes: [UNUSABLE],
  },
  {
    given: "addresses that are none, in a slice of IPv4",
    services: [service()],
    slices: [
      slice([{ at: { address: "pod.example", node: "x" } }, { at: { address: "", node: "x" } }, "L1"]),
    ],
    upstream: [C_L1],
  },
  {
    given: "endpoints without addresses",
    services: [service()],
    slices: [
      malformed(slice(["L1", "R1"]), (each) => {
        const [first] = each["endpoints"] as Record<string, unknown>[];
        first!["addresses"] = [];
      }),
    ],
    upstream: ["C:80→8080 [R1] L0 P0 D0"],
  },
  {
    given: "a slice without ports and endpoints",
    services: [service()],
    slices: [
      malformed(slice([]), (each) => {
        delete each["ports"];
        delete each["endpoints"];
      }),
    ],
    upstream: [],
    codes: [UNUSABLE],
  },
  {
    given: "the network has no subnet for a pod's address (overlay): the node's own address is in",
    services: [service()],
    slices: [slice(["U"])],
    node: { isOverlay: true },
    upstream: ["C:80→8080 [U] L0 P0 D0 S=N"],
  },
];

describe.each(MODES)("bad objects, %s", (compat) => {
  it.each(CASES.map((each) => [each.given, each] as const))("%s", async (_given, each) => {
    const node = new KubeProxyNode({ ...each.node, compat });
    await node.begin([...(each.services ?? []), GOOD], [...(each.slices ?? []), GOOD_SLICE]);
    const source = each.node?.isOverlay === true ? " S=SV" : "";
    const wanted = compat === "hardened" ? (each.hardened ?? each.upstream) : each.upstream;
    expect(node.loadBalancers().toSorted()).toEqual([...wanted, `${GOOD_LB}${source}`].toSorted());
    expect(node.codes()).toEqual(each.codes ?? []);
  });

  it("5 000 back ends: refused with the code that explains it, again later; the rest stands", async () => {
    const node = new KubeProxyNode({ compat });
    const many = Array.from(
      { length: 5_000 },
      (_, index): EndpointLike => ({
        at: { address: `192.169.${index >> 8}.${index & 255}`, node: "other-node" },
      }),
    );
    await node.begin([service(), GOOD], [slice(many), GOOD_SLICE]);
    expect(node.loadBalancers()).toEqual([GOOD_LB]);
    expect(node.codes()).toEqual(["too-many-back-ends"]);
    expect(node.notApplied()).toEqual(["svc:p80"]);
    node.forgetCalls();
    await node.proxy.sync();
    expect(node.calls()).toEqual(["refused LoadBalancer"]);
    await node.change(slice(["L1"]));
    expect(node.loadBalancers()).toEqual([GOOD_LB, C_L1]);
  });

  it("a port out of range: 16 bits of it; hardened says that there is none", async () => {
    const node = new KubeProxyNode({ compat });
    const ports = [{ ...PORT, nodePort: 0, port: 65_616 }];
    await node.begin([service({ spec: { ports } }), GOOD], [...L1, GOOD_SLICE]);
    const isHardened = compat === "hardened";
    expect(node.loadBalancers()).toEqual(isHardened ? [GOOD_LB] : [GOOD_LB, C_L1]);
    expect(node.codes()).toEqual(isHardened ? ["service-load-balancer-refused"] : []);
  });

  // Upstream's numbers have 16 bits (kube-proxy.md §3.5); what they come to is asked for.
  it.each([
    ["node port", { nodePort: 70_000 }, 8080, ["C:80→8080", "∅:4464→8080"], ["C:80→8080"]],
    ["target port", { nodePort: 0, targetPort: 70_000 }, 70_000, ["C:80→4464"], []],
    ["slice's port", { nodePort: 0 }, 70_000, ["C:80→4464"], []],
  ] as const)("a %s out of range", async (_which, port, slicePort, upstream, hardened) => {
    const node = new KubeProxyNode({ compat });
    const ports = [{ name: "p80", port: slicePort, protocol: "TCP" }];
    const svc = service({ spec: { type: "NodePort", ports: [{ ...PORT, ...port }] } });
    await node.begin([svc, GOOD], [slice(["L1"], { ports }), GOOD_SLICE]);
    const made = new Set(node.loadBalancers().map((text) => text.split(" ")[0]));
    expect(made).toEqual(new Set(["C2:80→8080", ...(compat === "hardened" ? hardened : upstream)]));
    expect(node.codes()).toEqual(compat === "hardened" ? ["service-load-balancer-refused"] : []);
  });

  it("KP-S2 no source VIP on overlay: it does not start, and says so", async () => {
    const node = new KubeProxyNode({ compat, isOverlay: true, options: { sourceVip: "" } });
    expect(await node.start()).toBe("source-vip flag not set");
    expect(await node.proxy.start()).toMatchObject({
      state: "failed",
      finding: { code: "kube-proxy-cannot-start" },
    });
  });

  it("KP-S8 no network: it waits, and says so", async () => {
    const node = new KubeProxyNode({ compat, options: { networkName: "nobody" } });
    expect(await node.proxy.start()).toMatchObject({
      state: "waiting",
      retryAfterMs: 1_000,
      finding: { code: "kube-proxy-network-missing" },
    });
  });

  it("HNS refuses everything for a while: everything is programmed afterwards", async () => {
    const node = new KubeProxyNode({ compat });
    node.hns.refuse = ({ call }) =>
      /^(?:create|delete|modify)/.test(call) ? new HcnError("HCN_E_MANAGER_STOPPED") : undefined;
    await node.begin([service(), GOOD], [slice(["L1", "R1"]), GOOD_SLICE]);
    expect(node.loadBalancers()).toEqual([]);
    expect(node.codes().length).toBeGreaterThan(1);
    node.hns.refuse = undefined;
    await node.proxy.sync();
    // What failed in part counts as done for upstream: row C13.
    expect(node.loadBalancers().toSorted()).toEqual(["C:80→8080 [R1,EP-L1] L0 P0 D0", GOOD_LB].toSorted());
  });
});
