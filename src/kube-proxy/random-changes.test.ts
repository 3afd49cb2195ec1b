import { describe, expect, it } from "vitest";
import { Prng } from "../base/prng.ts";
import { HcnError } from "../hcn/error.ts";
import type { HnsVersion } from "../hcn/features.ts";
import type { EndpointSlice, Service } from "../kube/objects.ts";
import {
  ADDRESS,
  type AddressSymbol,
  type EndpointSketch,
  HNS_WITH_MODIFY,
  KubeProxyNode,
  NODE_PORT,
  service,
  slice,
} from "../testing/kube-proxy-node.ts";

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
      const nodes = [await begun({ hns }), await begun({ hns, options: { reads: "new" } })] as const;
      const prng = new Prng(seed);
      for (let step = 0; step < STEPS; step++) {
        const change = randomChange(prng);
        const fails = prng.below(5) === 0 ? pick(prng, ["create LoadBalancer", "delete LoadBalancer"]) : "";
        for (const node of nodes) {
          node.forgetCalls();
          node.hns.refuse = ({ call }) => (call === fails ? new HcnError("HCN_E_PORT_NOT_FOUND") : undefined);
          change(node);
          await node.proxy.sync();
        }
        const [all, only] = nodes;
        expect(only.calls()).toEqual(all.calls());
        expect(only.numberedLoadBalancers()).toEqual(all.numberedLoadBalancers());
        expect(only.madeEndpoints()).toEqual(all.madeEndpoints());
      }
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
