/** The temper `better` where the reference of some version goes wrong; the other way stands in the rows of that id. */
import { describe, expect, it } from "vitest";
import { HcnError } from "../hcn/error.ts";
import {
  ADDRESS,
  KubeProxyNode,
  NODE_PORT,
  type NodeSettings,
  service,
  slice,
} from "../testing/kube-proxy-node.ts";

function better(minor: number): NodeSettings {
  return { minor, compat: "better" };
}

const C_L1 = "C:80→8080 [EP-L1] L0 P0 D0";

describe("better (docs/reference/differences.md)", () => {
  it("KP-B5 a pod without an HNS endpoint is looked for again in each sync", async () => {
    const node = new KubeProxyNode(better(36));
    await node.begin([service()], [slice(["L9", "R1"])]);
    expect(node.loadBalancers()).toEqual(["C:80→8080 [R1] L0 P0 D0"]);
    expect(node.notApplied()).toEqual(["svc:p80"]);
    node.putLocal("EP-L2", ADDRESS.L9);
    node.forgetCalls();
    await node.proxy.sync();
    expect(node.calls()).toEqual(["delete LBID-1", "create LBID-2"]);
    expect(node.applied()).toEqual(["svc:p80"]);
    expect(node.madeEndpoints()).toEqual(["R1 ×1"]);
  });

  it("KP-B14 KP-B15 the port of the slice counts in every version", async () => {
    const node = new KubeProxyNode(better(33));
    const ports = [{ name: "p80", port: 80, targetPort: 80 }];
    await node.begin([service({ spec: { ports } })], [slice(["L1"])]);
    expect(node.loadBalancers()).toEqual([C_L1]);
  });

  it("KP-D15 an empty list is not asked for in 1.20", async () => {
    const node = new KubeProxyNode(better(20));
    const svc = service({ spec: { type: "NodePort", ports: NODE_PORT, externalTrafficPolicy: "Local" } });
    await node.begin([svc], [slice(["R1"])]);
    expect(node.loadBalancers()).toEqual(["C:80→8080 [R1] L0 P0 D0"]);
    expect(node.notApplied()).toEqual([]);
  });

  it("KP-E5 KP-F12 front ends of the other family and of proxies are left out in 1.35", async () => {
    const node = new KubeProxyNode(better(35));
    const svc = service({
      spec: { type: "LoadBalancer", externalIPs: [ADDRESS.E, "2001:db8::1"] },
      ingress: [{ ip: ADDRESS.G, ipMode: "Proxy" }],
    });
    await node.begin([svc], [slice(["L1"])]);
    expect(node.loadBalancers()).toEqual([C_L1, "E:80→8080 [EP-L1] L0 P16 D0"]);
  });

  it("KP-H7 an endpoint that is not ready changes nothing in 1.27", async () => {
    const node = new KubeProxyNode(better(27));
    await node.begin([service()], [slice(["L1"])]);
    await node.change(slice(["L1", { at: "R1", is: "unready" }]));
    expect(node.calls()).toEqual([]);
  });

  it("KP-H19 an HNS that does not answer is not a network that is gone, in 1.36", async () => {
    const node = new KubeProxyNode(better(36));
    await node.begin([service()], [slice(["L1"])]);
    node.hns.refuse = ({ call }) =>
      call === "enumerate Network" ? new HcnError("HCN_E_MANAGER_STOPPED") : undefined;
    const report = await node.proxy.sync();
    expect(report.families[0]?.outcome).toBe("hns-unreadable");
    expect(node.loadBalancers()).toEqual([C_L1]);
  });

  it("KP-H25 internal policy Local keeps its load balancer in 1.34", async () => {
    const node = new KubeProxyNode(better(34));
    await node.begin([service({ spec: { internalTrafficPolicy: "Local" } })], [slice(["L1", "L2"])]);
    await node.change(slice(["L1", "L2", "R1"]));
    expect(node.calls()).toEqual(["create EPID-1"]);
  });

  it("KP-H26 two Services lose their endpoints in one sync: both go, in 1.34", async () => {
    const node = new KubeProxyNode(better(34));
    await node.begin(
      [service({ name: "a" }), service({ name: "b", spec: { clusterIP: ADDRESS.C2 } })],
      [slice(["L1", "R1"], { of: "a" }), slice(["L1", "R2"], { of: "b" })],
    );
    await node.change(slice(["L1"], { of: "a" }), slice(["L1"], { of: "b" }));
    expect(node.madeEndpoints()).toEqual([]);
  });
});
