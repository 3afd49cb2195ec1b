import { describe, expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { HnsVersion } from "#contracts/hcn/features.ts";
import type { EndpointSlice, Service } from "#contracts/kubernetes/objects.ts";
import {
  ADDRESS,
  type AddressSymbol,
  type EndpointSketch,
  HNS_WITH_MODIFY,
  KubeProxyNode,
  NETWORK_ID,
  NODE_PORT,
  service,
  slice,
} from "#test/support/kube-proxy/kube-proxy-node.ts";

const NAMES = ["a", "b", "c"] as const;
const POOL: readonly AddressSymbol[] = ["L1", "L2", "L9", "R1", "R2", "U"];
const STATES = ["ready", "ready", "unready", "serving"] as const;
const STEPS = 60;

function pick<T>(prng: Prng, list: readonly T[]): T {
  return list[prng.below(list.length)]!;
}

function randomService(prng: Prng, index: number): Service {
  const policy = (): string => pick(prng, ["Cluster", "Local"]);
  return service({
    name: NAMES[index]!,
    spec: {
      type: "NodePort",
      clusterIP: `10.20.30.${50 + index}`,
      ports: [{ ...NODE_PORT[0]!, port: pick(prng, [80, 81]), nodePort: 3_001 + index }],
      externalTrafficPolicy: policy(),
      internalTrafficPolicy: policy(),
      externalIPs: pick(prng, [[], [ADDRESS.E]]),
    },
    ingress: pick(prng, [[], [{ ip: `11.21.31.${50 + index}` }]]),
  });
}

function randomSlice(prng: Prng, index: number): EndpointSlice {
  const endpoints = POOL.filter(() => prng.below(2) === 0).map(
    (at): EndpointSketch => ({ at, is: pick(prng, STATES) }),
  );
  return slice(endpoints, { of: NAMES[index]! });
}

type Change = (node: KubeProxyNode) => void;

/** One change; what an index names is a Service and its slice. */
function randomChange(prng: Prng): Change {
  const index = prng.below(NAMES.length);
  const kind = prng.below(6);
  if (kind === 0) return ({ objects }) => objects.serviceChanged(service({ name: NAMES[index]! }), undefined);
  if (kind === 1)
    return ({ objects }) => objects.endpointSliceChanged(slice([], { of: NAMES[index]! }), undefined);
  if (kind === 2) {
    const svc = randomService(prng, index);
    return ({ objects }) => objects.serviceChanged(undefined, svc);
  }
  const endpoints = randomSlice(prng, index);
  return ({ objects }) => objects.endpointSliceChanged(undefined, endpoints);
}

function foreignEndpoint(step: number, at: AddressSymbol): JsonObject & { readonly ID: Guid } {
  return {
    ID: `f0000000-0000-4000-8000-${String(step).padStart(12, "0")}`,
    HostComputeNetwork: NETWORK_ID,
    IpConfigurations: [{ IpAddress: ADDRESS[at], PrefixLength: 24 }],
  };
}

async function begun(settings: ConstructorParameters<typeof KubeProxyNode>[0]): Promise<KubeProxyNode> {
  const node = new KubeProxyNode(settings);
  const prng = new Prng(7);
  await node.begin(
    NAMES.map((_name, index) => randomService(prng, index)),
    NAMES.map((_name, index) => randomSlice(prng, index)),
  );
  return node;
}

const WITHOUT_MODIFY: HnsVersion = { Major: 13, Minor: 3 };

describe.each([
  ["without modify", WITHOUT_MODIFY],
  ["with modify", HNS_WITH_MODIFY],
] as const)("random changes, %s", (_name, hns) => {
  it.each([1, 2, 3])(
    "reading new objects alone makes the same calls as reading all (seed %i)",
    async (seed) => {
      const nodes = [
        await begun({ hns }),
        await begun({ hns, options: { reads: "new" } }),
        await begun({ hns, options: { reads: "new" } }),
      ] as const;
      nodes[2].hns.tellsRevision = true;
      let [reads, isRead] = [0, false];
      const prng = new Prng(seed);
      for (let step = 0; step < STEPS; step++) {
        const change = randomChange(prng);
        const fails = prng.below(5) === 0 ? pick(prng, ["create LoadBalancer", "delete LoadBalancer"]) : "";
        // Now and then somebody else makes an endpoint, with an address that another one may have.
        const foreign = prng.below(10) === 0 ? foreignEndpoint(step, pick(prng, POOL)) : undefined;
        for (const node of nodes) {
          if (foreign !== undefined) node.hns.put("Endpoint", foreign);
          node.forgetCalls();
          node.hns.refuse = ({ call }) => {
            if (node === nodes[2] && call === "enumerate Endpoint") isRead = true;
            return call === fails ? new HcnError("HCN_E_PORT_NOT_FOUND") : undefined;
          };
          change(node);
          await node.proxy.sync();
        }
        if (isRead) reads++;
        isRead = false;
        const [all, ...others] = nodes;
        for (const only of others) {
          expect(only.calls()).toEqual(all.calls());
          expect(only.numberedLoadBalancers()).toEqual(all.numberedLoadBalancers());
          expect(only.madeEndpoints()).toEqual(all.madeEndpoints());
        }
      }
      // Where HNS tells its revision, it is read once, and again after what failed.
      expect(reads).toBeLessThan(STEPS / 2);
    },
  );

  it.each([4, 5, 6])("when all is gone nothing is left in HNS (seed %i)", async (seed) => {
    const node = await begun({ hns });
    const prng = new Prng(seed);
    for (let step = 0; step < STEPS; step++) {
      randomChange(prng)(node);
      await node.proxy.sync();
    }
    const slices = NAMES.map((name) => slice([], { of: name }));
    await node.change(...slices);
    await node.remove(...NAMES.map((name) => service({ name })), ...slices);
    expect(node.loadBalancers()).toEqual([]);
    expect(node.madeEndpoints()).toEqual([]);
  });
});
