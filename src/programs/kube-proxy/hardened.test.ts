/** `hardened` mode where upstream of some version goes wrong; the other way stands in the rows of that id. */
import { describe, expect, it } from "vitest";
import { HcnError } from "#contracts/hcn/error.ts";
import {
  ADDRESS,
  HNS_WITH_MODIFY,
  KubeProxyNode,
  NETWORK_ID,
  NODE_PORT,
  type NodeSettings,
  service,
  slice,
} from "#test/support/kube-proxy/kube-proxy-node.ts";

function hardened(minor: number): NodeSettings {
  return { minor, compat: "hardened" };
}

const C_L1 = "C:80→8080 [EP-L1] L0 P0 D0";

describe("hardened (docs/reference/differences.md)", () => {
  it("KP-B5 a pod without an HNS endpoint is looked for again in each sync", async () => {
    const node = new KubeProxyNode(hardened(36));
    await node.begin([service()], [slice(["L9", "R1"])]);
    expect(node.loadBalancers()).toEqual(["C:80→8080 [R1] L0 P0 D0"]);
    expect(node.notApplied()).toEqual(["svc:p80"]);
    node.hns.put("Endpoint", {
      ID: "10ca1000-0000-4000-8000-000000000009",
      HostComputeNetwork: NETWORK_ID,
      IpConfigurations: [{ IpAddress: ADDRESS.L9, PrefixLength: 24 }],
    });
    node.forgetCalls();
    await node.proxy.sync();
    expect(node.calls()).toEqual(["delete LBID-1", "create LBID-2"]);
    expect(node.applied()).toEqual(["svc:p80"]);
    expect(node.madeEndpoints()).toEqual(["R1 ×1"]);
  });

  it("KP-B14 KP-B15 the port of the slice counts in every version", async () => {
    const node = new KubeProxyNode(hardened(33));
    const ports = [{ name: "p80", port: 80, targetPort: 80 }];
    await node.begin([service({ spec: { ports } })], [slice(["L1"])]);
    expect(node.loadBalancers()).toEqual([C_L1]);
  });

  it("KP-D15 an empty list is not asked for in 1.20", async () => {
    const node = new KubeProxyNode(hardened(20));
    const svc = service({ spec: { type: "NodePort", ports: NODE_PORT, externalTrafficPolicy: "Local" } });
    await node.begin([svc], [slice(["R1"])]);
    expect(node.loadBalancers()).toEqual(["C:80→8080 [R1] L0 P0 D0"]);
    expect(node.notApplied()).toEqual([]);
  });

  it("KP-E5 KP-F12 front ends of the other family and of proxies are left out in 1.35", async () => {
    const node = new KubeProxyNode(hardened(35));
    const svc = service({
      spec: { type: "LoadBalancer", externalIPs: [ADDRESS.E, "2001:db8::1"] },
      ingress: [{ ip: ADDRESS.G, ipMode: "Proxy" }],
    });
    await node.begin([svc], [slice(["L1"])]);
    expect(node.loadBalancers()).toEqual([C_L1, "E:80→8080 [EP-L1] L0 P16 D0"]);
  });

  it("KP-H7 an endpoint that is not ready changes nothing in 1.27", async () => {
    const node = new KubeProxyNode(hardened(27));
    await node.begin([service()], [slice(["L1"])]);
    await node.change(slice(["L1", { at: "R1", is: "unready" }]));
    expect(node.calls()).toEqual([]);
  });

  it("KP-H19 an HNS that does not answer is not a network that is gone, in 1.36", async () => {
    const node = new KubeProxyNode(hardened(36));
    await node.begin([service()], [slice(["L1"])]);
    node.hns.refuse = ({ call }) =>
      call === "enumerate Network" ? new HcnError("HCN_E_MANAGER_STOPPED") : undefined;
    const report = await node.proxy.sync();
    expect(report.families[0]?.outcome).toBe("hns-unreadable");
    expect(node.loadBalancers()).toEqual([C_L1]);
  });

  describe("HNS does not report the endpoint behind forwarded health checks", () => {
    const svc = service({ spec: { type: "LoadBalancer" }, ingress: [{ ip: ADDRESS.G }] });
    const all = [C_L1, "G:80→8080 [EP-L1] L0 P16 D0", "G:10256→10256 [GW] L0 P0 D0"];
    const begun = async (compat: "upstream" | "hardened"): Promise<KubeProxyNode> => {
      const node = new KubeProxyNode({ ...hardened(36), compat, options: { forwardHealthCheckVip: true } });
      node.objects.servicesListed([svc]);
      node.objects.endpointSlicesListed([slice(["L1"])]);
      await node.start();
      return node;
    };

    it.each([
      ["upstream", ["done"], all.slice(0, 2)],
      ["hardened", ["hns-unreadable"], all],
    ] as const)("%s: in the first sync", async (compat, outcomes, loadBalancers) => {
      const node = await begun(compat);
      node.hns.failNext("enumerate Endpoint", new HcnError("RPC_S_SERVER_UNAVAILABLE"));
      const { families } = await node.proxy.sync();
      expect(families.slice(0, 1).map(({ outcome }) => outcome)).toEqual(outcomes);
      await node.proxy.sync();
      expect(node.loadBalancers()).toEqual(loadBalancers);
    });

    it("hardened: what stands stays", async () => {
      const node = await begun("hardened");
      await node.proxy.sync();
      expect(node.loadBalancers()).toEqual(all);
      node.hns.failNext("enumerate Endpoint", new HcnError("RPC_S_SERVER_UNAVAILABLE"));
      const { families } = await node.change(slice(["L1", "L2"]));
      expect(families[0]?.finding?.code).toBe("hns-unreachable");
      expect(node.calls()).toEqual([]);
      await node.proxy.sync();
      expect(node.loadBalancers().toSorted()).toEqual(
        all.map((each) => each.replace("[EP-L1]", "[EP-L1,EP-L2]")).toSorted(),
      );
    });

    it("hardened: one that is not there is no failure", async () => {
      const node = await begun("hardened");
      await node.hns.delete("Endpoint", "10ca1000-0000-4000-8000-000000000003");
      const { families } = await node.proxy.sync();
      expect(families[0]?.outcome).toBe("done");
      expect(node.loadBalancers()).toEqual(all.slice(0, 2));
    });
  });

  it("KP-H25 internal policy Local keeps its load balancer in 1.34", async () => {
    const node = new KubeProxyNode(hardened(34));
    await node.begin([service({ spec: { internalTrafficPolicy: "Local" } })], [slice(["L1", "L2"])]);
    await node.change(slice(["L1", "L2", "R1"]));
    expect(node.calls()).toEqual(["create EPID-1"]);
  });

  it("KP-H26 two Services lose their endpoints in one sync: both go, in 1.34", async () => {
    const node = new KubeProxyNode(hardened(34));
    await node.begin(
      [service({ name: "a" }), service({ name: "b", spec: { clusterIP: ADDRESS.C2 } })],
      [slice(["L1", "R1"], { of: "a" }), slice(["L1", "R2"], { of: "b" })],
    );
    await node.change(slice(["L1"], { of: "a" }), slice(["L1"], { of: "b" }));
    expect(node.madeEndpoints()).toEqual([]);
  });

  it("KP-H3 on overlay the endpoint of the ClusterIP stays when back ends change", async () => {
    const node = new KubeProxyNode({ ...hardened(36), isOverlay: true, hns: HNS_WITH_MODIFY });
    await node.begin([service()], [slice(["R1"])]);
    await node.change(slice(["R2"]));
    expect(node.calls()).toEqual(["create EPID-4", "update LBID-1", "delete EPID-3"]);
  });

  it("KP-F14 KP-H21 pods that serve while they terminate are used at every front end", async () => {
    const svc = service({
      spec: { type: "LoadBalancer", ports: NODE_PORT, externalIPs: [ADDRESS.E] },
      ingress: [{ ip: ADDRESS.G }],
    });
    const terminating = slice([{ at: "L1", is: "serving" }]);
    const fresh = new KubeProxyNode(hardened(36));
    await fresh.begin([svc], [terminating]);
    const changed = new KubeProxyNode(hardened(36));
    await changed.begin([svc], [slice(["L1"])]);
    await changed.change(terminating);
    const all = [
      C_L1,
      "∅:3001→8080 [EP-L1] L0 P18 D0",
      "E:80→8080 [EP-L1] L0 P16 D0",
      "G:80→8080 [EP-L1] L0 P16 D0",
    ];
    expect(fresh.loadBalancers()).toEqual(all);
    expect(changed.loadBalancers()).toEqual(all);
    expect(changed.calls()).toEqual([]);
  });

  it("KP-F19 without a pod here the ClusterIP gets the ready ones elsewhere", async () => {
    const node = new KubeProxyNode(hardened(36));
    const svc = service({
      spec: { type: "LoadBalancer", ports: NODE_PORT, externalTrafficPolicy: "Local" },
      ingress: [{ ip: ADDRESS.G }],
    });
    await node.begin([svc], [slice(["R1", { at: "R2", is: "unready" }])]);
    expect(node.loadBalancers()).toEqual(["C:80→8080 [R1] L0 P0 D0"]);
  });

  it.each([
    [2, "upstream", []],
    [2, "hardened", ["E:80→8080 [EP-L1] L0 P16 D0"]],
    [3, "hardened", ["E:80→8080 [EP-L1] L0 P16 D0"]],
  ] as const)(
    "%i Services with one front end and the same pods: the load balancer goes with the last, %s",
    async (count, compat, left) => {
      const node = new KubeProxyNode({ ...hardened(36), compat });
      const services = ["a", "b", "c"]
        .slice(0, count)
        .map((name, index) =>
          service({ name, spec: { clusterIP: `10.20.30.6${index}`, externalIPs: [ADDRESS.E] } }),
        );
      await node.begin(
        services,
        services.map(({ metadata }) => slice(["L1"], { of: metadata.name ?? "" })),
      );
      const shared = (): readonly string[] => node.loadBalancers().filter((each) => each.startsWith("E:"));
      for (const each of services.slice(1)) await node.remove(each);
      expect(shared()).toEqual(left);
      await node.remove(services[0]!);
      expect(shared()).toEqual([]);
    },
  );

  it("endpoints whose port becomes none take the load balancer along", async () => {
    const node = new KubeProxyNode(hardened(36));
    await node.begin([service()], [slice(["L1"])]);
    await node.change(slice(["L1"], { ports: [{ name: "p80", port: 70_000, protocol: "TCP" }] }));
    expect(node.loadBalancers()).toEqual([]);
    expect(node.codes()).toEqual(["service-load-balancer-refused"]);
  });

  it("what a Service no longer has is not told of it", async () => {
    const node = new KubeProxyNode(hardened(36));
    await node.begin([service()], [slice(["L1"])]);
    expect(node.proxy.services()[0]?.frontEnds).toHaveLength(1);
    await node.change(slice([]));
    expect(node.loadBalancers()).toEqual([]);
    expect(node.proxy.services()[0]).toMatchObject({
      frontEnds: [],
      places: [{ kind: "ClusterIP", id: undefined }],
    });
  });

  it("a Service that comes back before its load balancer could be deleted keeps it", async () => {
    const node = new KubeProxyNode(hardened(36));
    await node.begin([service()], [slice(["L1"])]);
    node.hns.refuse = ({ call }) =>
      call === "delete LoadBalancer" ? new HcnError("HCN_E_PORT_NOT_FOUND") : undefined;
    await node.remove(service());
    node.hns.refuse = undefined;
    await node.change(service());
    expect(node.calls()).toEqual([]);
    await node.proxy.sync({ comparesHns: true });
    expect(node.loadBalancers()).toEqual([C_L1]);
  });

  it("settings are compared, too: an old load balancer that cannot be deleted at once is not taken for the new one", async () => {
    for (const [compat, loadBalancers] of [
      // Taken for the new one, and deleted at the end of the same sync.
      ["upstream", []],
      ["hardened", ["C:80→8080 [EP-L1] L0 P0 D2"]],
    ] as const) {
      const node = new KubeProxyNode({ ...hardened(36), compat });
      await node.begin([service()], [slice(["L1"])]);
      let failures = 2;
      node.hns.refuse = ({ call }) =>
        call === "delete LoadBalancer" && failures-- > 0 ? new HcnError("HCN_E_PORT_NOT_FOUND") : undefined;
      await node.change(service({ spec: { sessionAffinity: "ClientIP" } }));
      expect(node.loadBalancers()).toEqual(loadBalancers);
    }
  });
});
