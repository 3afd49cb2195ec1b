import { describe, expect, it } from "vitest";
import { ADDRESS, service } from "#test/support/kube-proxy/kube-proxy-node.ts";
import type { JsonObject } from "#core/base/json.ts";
import { behaviourOf } from "../behaviour.ts";
import { ProxyObjects } from "../tracking/proxy-objects.ts";
import { frontEndKindOf } from "./observed-client.ts";

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
