/** The cost of a change is the cost of that change, whatever else there is (`hardened`; bench/README.md has times). */
import { describe, expect, it } from "vitest";
import { HNS_WITH_MODIFY, KubeProxyNode, service, slice } from "#test/support/kube-proxy/kube-proxy-node.ts";

/** Each of the two families asks for the network once in every sync; what else was called. */
function beside(calls: readonly string[]): readonly string[] {
  expect(calls.filter((call) => call.endsWith("Network"))).toHaveLength(4);
  return calls.filter((call) => !call.endsWith("Network"));
}

/** A node with so many Services, all of them programmed, and every call of HNS from now on in a list. */
async function nodeWith(services: number, settings = {}): Promise<{ node: KubeProxyNode; calls: string[] }> {
  const node = new KubeProxyNode({ compat: "hardened", ...settings });
  const names = Array.from({ length: services }, (_, index) => `s${index}`);
  await node.begin(
    names.map((name, index) => service({ name, spec: { clusterIP: `10.21.${index >> 8}.${index & 255}` } })),
    names.map((name) => slice(["L1", "R1"], { of: name })),
  );
  const calls: string[] = [];
  node.hns.refuse = ({ call }) => {
    calls.push(call);
    return undefined;
  };
  return { node, calls };
}

describe.each([10, 300])("among %i Services", (services) => {
  it("an idle sync asks for the network alone", async () => {
    const { node, calls } = await nodeWith(services);
    await node.proxy.sync();
    expect(beside(calls)).toEqual([]);
  });

  it("a change of one slice touches its load balancer alone", async () => {
    const { node, calls } = await nodeWith(services, { hns: HNS_WITH_MODIFY });
    node.objects.endpointSliceChanged(undefined, slice(["L1", "R1", "L2"], { of: "s7" }));
    await node.proxy.sync();
    expect(beside(calls)).toEqual([
      "enumerate Endpoint",
      "enumerate LoadBalancer",
      "modify LoadBalancer",
      "query LoadBalancer",
    ]);
    expect(node.loadBalancers().filter((each) => each.includes("EP-L2"))).toEqual([
      "10.21.0.7:80→8080 [R1,EP-L1,EP-L2] L0 P0 D0",
    ]);
  });

  it("where HNS tells its revision, nothing is listed either", async () => {
    const { node, calls } = await nodeWith(services, { hns: HNS_WITH_MODIFY });
    node.hns.tellsRevision = true;
    node.objects.endpointSliceChanged(undefined, slice(["L1"], { of: "s3" }));
    await node.proxy.sync();
    calls.length = 0;
    node.objects.endpointSliceChanged(undefined, slice(["L1", "R1"], { of: "s3" }));
    await node.proxy.sync();
    expect(beside(calls)).toEqual(["modify LoadBalancer", "query LoadBalancer"]);
  });

  it("a comparison lists identifiers and reads a bounded number of objects", async () => {
    const { node, calls } = await nodeWith(services);
    const compare = async (): Promise<{ lists: readonly string[]; reads: number }> => {
      calls.length = 0;
      await node.proxy.sync({ comparesHns: true });
      const lists = beside(calls).filter((call) => call.startsWith("enumerate"));
      return { lists, reads: beside(calls).length - lists.length };
    };
    const first = await compare();
    // The family without Services looks once whether a former process left endpoints, and never at load balancers.
    expect(first.lists).toEqual(["enumerate Endpoint", "enumerate LoadBalancer", "enumerate Endpoint"]);
    const second = await compare();
    expect(second.lists).toEqual(["enumerate Endpoint", "enumerate LoadBalancer"]);
    const endpoints = node.hns.list("Endpoint").length;
    for (const [{ reads }, max] of [
      [first, 64 + endpoints],
      [second, 64],
    ] as const) {
      expect(reads).toBeGreaterThan(0);
      expect(reads).toBeLessThanOrEqual(max);
    }
  });
});

it("every object is compared in turn", async () => {
  const { node } = await nodeWith(150);
  const [first] = node.hns.list("LoadBalancer");
  node.hns.put("LoadBalancer", { ...first, ID: first?.["ID"] as string, Flags: 1 });
  let repairs = 0;
  for (let round = 0; round < 3; round++) {
    const { families } = await node.proxy.sync({ comparesHns: true });
    repairs += families.flatMap(({ repairs: done }) => done).length;
  }
  expect(repairs).toBe(1);
  expect(node.loadBalancers().every((each) => each.endsWith("L0 P0 D0"))).toBe(true);
});
