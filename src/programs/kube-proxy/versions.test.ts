/** What differs between versions of upstream's kube-proxy, as its sources have it (pkg/proxy, pkg/proxy/winkernel). */
import { describe, expect, it } from "vitest";
import {
  ADDRESS,
  type EndpointLike,
  KubeProxyNode,
  type NodeSettings,
  service,
  slice,
} from "#test/support/kube-proxy/kube-proxy-node.ts";
import { ALL_MINORS, type MinorRange, inVersions } from "#test/support/kube-proxy/decision-table.suite.ts";

const C_L1 = "C:80→8080 [EP-L1] L0 P0 D0";

describe("an address that two slices list, terminating in one and ready in the other", () => {
  const GOING: EndpointLike = { at: "L1", is: "terminating" };
  // The pod network has given the address of a pod that ends to a new one: both have a slice for a while.
  const ORDERS = [
    [slice([GOING], { name: "a" }), slice(["L1"], { name: "b" })],
    [slice(["L1"], { name: "a" }), slice([GOING], { name: "b" })],
  ];

  async function made(settings: NodeSettings): Promise<readonly (readonly string[])[]> {
    const all: (readonly string[])[] = [];
    for (const slices of ORDERS) {
      const node = new KubeProxyNode(settings);
      await node.begin([service()], slices);
      all.push(node.loadBalancers());
    }
    return all;
  }

  inVersions("the one that does not terminate counts, whichever comes first", [36, 37], async (minor) => {
    expect(await made({ minor })).toEqual([[C_L1], [C_L1]]);
  });

  inVersions("the local one counts, of two the last", [20, 35], async (minor) => {
    expect(await made({ minor })).toEqual([[C_L1], []]);
  });

  it("hardened serves the pod in 1.35, too", async () => {
    expect(await made({ minor: 35, compat: "hardened" })).toEqual([[C_L1], [C_L1]]);
  });

  inVersions("the running pod decides where the address is", [36, 37], async (minor) => {
    const elsewhere: EndpointLike = { at: { address: ADDRESS.R1, node: "other-node" } };
    const here: EndpointLike = { at: { address: ADDRESS.R1, node: "test-node" }, is: "terminating" };
    const node = new KubeProxyNode({ minor });
    await node.begin([service()], [slice([elsewhere], { name: "a" }), slice([here], { name: "b" })]);
    expect(node.loadBalancers()).toEqual(["C:80→8080 [R1] L0 P0 D0"]);
  });
});

describe("labels that take objects out of sight", () => {
  const PROXY_NAME = { "service.kubernetes.io/service-proxy-name": "foo" };
  const HEADLESS = { "service.kubernetes.io/headless": "" };
  const ROWS: readonly (readonly [string, MinorRange, object, object, readonly string[]])[] = [
    ["the proxy's name on a Service", ALL_MINORS, PROXY_NAME, {}, []],
    ["the proxy's name on a slice alone", [20, 35], {}, PROXY_NAME, []],
    ["the proxy's name on a slice alone", [36, 37], {}, PROXY_NAME, [C_L1]],
    ["headless on a Service alone", [20, 35], HEADLESS, {}, []],
    ["headless on a Service alone", [36, 37], HEADLESS, {}, [C_L1]],
    ["headless on a slice", ALL_MINORS, {}, HEADLESS, []],
  ];
  for (const [given, minors, ofService, ofSlice, expected] of ROWS)
    inVersions(given, minors, async (minor) => {
      const node = new KubeProxyNode({ minor });
      await node.begin([service({ labels: { ...ofService } })], [slice(["L1"], { labels: { ...ofSlice } })]);
      expect(node.loadBalancers()).toEqual(expected);
    });
});
