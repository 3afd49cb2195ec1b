import { describe, expect, it } from "vitest";
import { HcnError } from "#contracts/hcn/error.ts";
import { FakeHcnClient } from "#test/support/hns/fake-hcn-client.ts";
import { takeCensus } from "#test/support/heap-census.ts";
import { hnsNode } from "#test/support/hns/hns-node.ts";
import { VirtualClock } from "#core/base/clock.ts";
import { ForwardingHcnClient } from "#contracts/hcn/forwarding-client.ts";
import { ADDRESS, service } from "#test/support/kube-proxy/kube-proxy-node.ts";
import type { JsonObject } from "#core/base/json.ts";
import { behaviourOf } from "../behaviour.ts";
import { ProxyObjects } from "../tracking/proxy-objects.ts";
import { ObservedHcnClient, frontEndKindOf } from "./observed-client.ts";

const BEHAVIOUR = behaviourOf({ major: 1, minor: 37 }, "upstream");

// The labels of kubeproxy_sync_proxy_rules_winkernel_lb_*_failures_total (kubernetes, pkg/proxy/metrics).
describe("what a load balancer is for, by its document", () => {
  const objects = new ProxyObjects();
  objects.serviceChanged(
    undefined,
    service({
      spec: { type: "LoadBalancer", externalIPs: [ADDRESS.E] },
      ingress: [{ ip: ADDRESS.G }],
    }),
  );
  objects.serviceChanged(
    undefined,
    service({
      name: "six",
      spec: {
        clusterIP: "fd00::10",
        clusterIPs: ["fd00::10"],
        ipFamilies: ["IPv6"],
        externalIPs: ["fd00::20"],
      },
    }),
  );
  const front = (vip: string, port = 80): JsonObject => ({
    FrontendVIPs: [vip],
    PortMappings: [{ ExternalPort: port }],
  });

  it.each([
    ["a cluster IP", front(ADDRESS.C), 4, "clusterip"],
    ["an external IP", front(ADDRESS.E), 4, "externalip"],
    ["an address of a load balancer", front(ADDRESS.G), 4, "ingressip"],
    ["its health check, on a port of its own", front(ADDRESS.G, 30_001), 4, "healthcheck"],
    ["an address that is no Service's any more", front(ADDRESS.C2), 4, "clusterip"],
    ["a cluster IP of IPv6", front("fd00::10"), 6, "clusterip"],
    ["an external IP of IPv6", front("fd00::20"), 6, "externalip"],
    ["an address that is none", front("web"), 4, "clusterip"],
    ["a node port", { FrontendVIPs: [] }, 4, "nodeport"],
    ["a node port of an empty address", { FrontendVIPs: [""], Flags: 1 }, 4, "nodeport"],
    ["a node port of IPv6", { Flags: 2 }, 6, "nodeport"],
    ["a node port of IPv6 with DSR", { Flags: 3 }, 6, "nodeport"],
  ] satisfies [string, JsonObject, number, string][])("%s", (_, document, family, type) => {
    expect(frontEndKindOf(document, objects, BEHAVIOUR)).toEqual({ family, type });
  });
});

function idOf(count: number): string {
  return `${String(count).padStart(8, "0")}-0000-4000-8000-000000000001`;
}

/** HNS whose load balancers somebody else deletes as soon as they are made; it refuses to delete them again. */
class EmptiedHns extends ForwardingHcnClient {
  private made = 0;

  override create(): Promise<string> {
    return Promise.resolve(idOf(this.made++));
  }
}

describe("load balancers that others delete", () => {
  it("are remembered up to a number, the newest with what they were for", async () => {
    const failed: string[] = [];
    const client = new ObservedHcnClient(new EmptiedHns(hnsNode().client), {
      clock: new VirtualClock(),
      called: () => undefined,
      kindOf: () => ({ family: 4, type: "clusterip" }),
      failed: (call, { type }) => failed.push(`${call} ${type}`),
    });
    const made = 20_000;
    for (let count = 0; count < made; count++) await client.create("LoadBalancer", {});
    const held = [...takeCensus(client)].find(([path]) => path === ".kinds");
    // As many as the proxier remembers of its own (kube-proxy.md §7 row 14).
    expect(held).toEqual([".kinds", 16_384]);
    for (const id of [0, made - 1])
      await expect(client.delete("LoadBalancer", idOf(id))).rejects.toThrow(/not found/i);
    expect(failed).toEqual(["delete clusterip"]);
  });
});

// The values of the label "reason" (kubernetes, pkg/proxy/winkernel/hns.go and pkg/proxy/metrics).
describe("why a load balancer was refused", () => {
  it.each([
    [new HcnError("HCN_E_NETWORK_NOT_FOUND"), "network_not_found"],
    [new HcnError("HCN_E_PORT_ALREADY_EXISTS"), "port_already_exists"],
    [new HcnError("E_NOTIMPL"), "not_implemented"],
    [new HcnError("HCN_E_INVALID_IP"), "invalid_ip"],
    [new HcnError("RPC_S_SERVER_UNAVAILABLE"), "other"],
    [new Error("the socket is closed"), "other"],
  ])("%s: %s", async (error, reason) => {
    const hns = new FakeHcnClient();
    hns.refuse = () => error;
    const failed: string[] = [];
    const client = new ObservedHcnClient(hns, {
      clock: new VirtualClock(),
      called: () => undefined,
      kindOf: () => ({ family: 4, type: "nodeport" }),
      failed: (...[call, { type }, why]) => failed.push(`${call} ${type} ${why}`),
    });
    await expect(client.create("LoadBalancer", {})).rejects.toBe(error);
    await expect(client.modify("LoadBalancer", idOf(1), {})).rejects.toBe(error);
    expect(failed).toEqual([`create nodeport ${reason}`, `update nodeport ${reason}`]);
  });
});
