// To which node the router leads the addresses of Services.
import { ingressRoutes } from "./ingress-routing.ts";
import { describe, expect, it } from "vitest";
import type { Node, Service } from "#contracts/kubernetes/objects.ts";
import { formatIp } from "#core/net/ip.ts";
import { serviceObject, sliceObject } from "#test/support/cluster/kube-objects.ts";

function node(name: string): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, namespace: "", uid: name, resourceVersion: "1" },
  };
}

const NODES = [node("a"), node("b"), node("c")];

function outer(spec: Service["spec"], ip?: string): Service {
  const service = serviceObject("default/web", { type: "LoadBalancer", ...spec });
  return ip === undefined ? service : { ...service, status: { loadBalancer: { ingress: [{ ip }] } } };
}

/** `address node` of each route; endpoints are `node` or `node!` for one that is not ready. */
function routes(service: Service, endpoints: readonly string[], addressType = "IPv4"): readonly string[] {
  const slice = sliceObject(
    "default/web",
    endpoints.map((_, index) => ({ address: `10.0.0.${index + 1}` })),
  );
  const placed = {
    ...slice,
    addressType,
    endpoints: (slice.endpoints ?? []).map((endpoint, index) => ({
      ...endpoint,
      nodeName: (endpoints[index] ?? "").replace("!", ""),
      conditions: { ready: endpoints[index]?.endsWith("!") !== true },
    })),
  };
  return ingressRoutes([service], () => [placed], NODES).map(
    ({ address, node: name }) => `${formatIp(address)} ${name}`,
  );
}

describe("the route of a load balancer's address", () => {
  it.each([
    ["the first node with a ready endpoint", {}, "198.51.100.1", ["c", "b"], ["198.51.100.1 b"]],
    ["not one that is not ready", {}, "198.51.100.1", ["a!", "c"], ["198.51.100.1 c"]],
    ["the first node, when nobody is ready", {}, "198.51.100.1", ["b!"], ["198.51.100.1 a"]],
    ["none with policy Local", { externalTrafficPolicy: "Local" }, "198.51.100.1", ["b!"], []],
    ["policy Local", { externalTrafficPolicy: "Local" }, "198.51.100.1", ["c"], ["198.51.100.1 c"]],
    ["a node that is not there does not count", {}, "198.51.100.1", ["z", "b"], ["198.51.100.1 b"]],
    [
      "external addresses, too",
      { externalIPs: ["192.0.2.7", "fd00::1"] },
      undefined,
      ["b"],
      ["192.0.2.7 b", "fd00::1 a"],
    ],
    ["without an address there is none", {}, undefined, ["b"], []],
    // No endpoint has an address of that family.
    ["one of IPv6 with policy Local", { externalTrafficPolicy: "Local" }, "2603::1", ["c"], []],
  ])("%s", (_, spec, ip, endpoints, expected) => {
    expect(routes(outer(spec, ip), endpoints)).toEqual(expected);
  });

  it("follows the endpoints of its own family", () => {
    const service = outer({ externalTrafficPolicy: "Local" }, "2603::1");
    expect(routes(service, ["c"], "IPv6")).toEqual(["2603::1 c"]);
  });
});
