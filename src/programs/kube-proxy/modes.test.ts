/**
 * What `upstream` does where `hardened` does otherwise, side by side (docs/reference/differences.md): rows that are no row of
 * kube-proxy.md §8.
 */
import { describe, expect, it } from "vitest";
import type { Compat } from "#core/base/compat.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import {
  ADDRESS,
  KubeProxyNode,
  NODE_PORT,
  type NodeSettings,
  service,
  slice,
} from "#test/support/kube-proxy/kube-proxy-node.ts";

const C_BOTH = "C:80→8080 [R1,EP-L1] L0 P0 D0";
const L1_ID = "10ca1000-0000-4000-8000-000000000001";
const MADE_ID = "1b000000-0000-4000-8000-0000000000ff";
const REFUSED = new HcnError("HCN_E_PORT_NOT_FOUND");
const SILENT = new HcnError("RPC_S_SERVER_UNAVAILABLE");

type Expected<T> = readonly (readonly [Compat, T])[];

function both<T>(upstream: T, hardened: T): Expected<T> {
  return [
    ["upstream", upstream],
    ["hardened", hardened],
  ];
}

/** Objects are listed and the proxy runs; nothing is programmed. */
async function running(
  settings: NodeSettings,
  services: readonly ReturnType<typeof service>[],
  slices: readonly ReturnType<typeof slice>[],
): Promise<KubeProxyNode> {
  const node = new KubeProxyNode(settings);
  node.objects.servicesListed(services);
  node.objects.endpointSlicesListed(slices);
  await node.start();
  return node;
}

function refuse(node: KubeProxyNode, name: string, error: Error): void {
  node.hns.refuse = ({ call }) => (call === name ? error : undefined);
}

describe("remote endpoints that no Service uses", () => {
  it.each(both([ADDRESS.R1, ADDRESS.R2], [ADDRESS.R1]))(
    "%s: a pod went while kube-proxy did not run",
    async (compat, left) => {
      const node = new KubeProxyNode({ compat });
      await node.begin([service()], [slice(["L1", "R1", "R2"])]);
      node.proxy = node.newProxy();
      node.objects.endpointSliceChanged(slice([]), slice(["L1", "R1"]));
      await node.start();
      await node.proxy.sync({ comparesHns: true });
      const remote = node.hns
        .list("Endpoint")
        .filter(({ Flags }) => Flags === 1)
        .map(({ IpConfigurations }) => (IpConfigurations as { IpAddress: string }[])[0]?.IpAddress);
      expect(remote).toEqual(left);
    },
  );
});

describe("a load balancer whose creation was not answered", () => {
  it.each(both<readonly string[]>(["C:80→8080 [EP-L1] L0 P0 D0"], [C_BOTH]))(
    "%s: it stands in the way when back ends change",
    async (compat, loadBalancers) => {
      const node = await running({ compat }, [service()], [slice(["L1"])]);
      node.hns.failNext("create LoadBalancer", SILENT);
      await node.proxy.sync();
      // It was carried out all the same.
      node.hns.put("LoadBalancer", {
        ID: MADE_ID,
        HostComputeEndpoints: [L1_ID],
        FrontendVIPs: [ADDRESS.C],
        PortMappings: [{ Protocol: 6, InternalPort: 8080, ExternalPort: 80 }],
      });
      await node.change(slice(["L1", "R1"]));
      expect(node.loadBalancers()).toEqual(loadBalancers);
      expect(node.notApplied()).toEqual(compat === "upstream" ? ["svc:p80"] : []);
    },
  );
});

describe("failures of HNS", () => {
  it.each(both(3, 1))("%s: three syncs within a second try %i times", async (compat, tries) => {
    const node = await running({ compat }, [service()], [slice(["L1"])]);
    refuse(node, "create LoadBalancer", REFUSED);
    for (const nowMs of [0, 300, 600]) await node.proxy.sync({ nowMs });
    expect(node.calls().filter((call) => call === "refused LoadBalancer")).toHaveLength(tries);
  });

  const NAMES = ["a", "b", "c", "d"];

  it.each(both(4, 2))(
    "%s: an HNS that answers no creation is asked %i times in a sync",
    async (compat, calls) => {
      const services = NAMES.map((name, index) =>
        service({ name, spec: { clusterIP: `10.20.30.5${index}` } }),
      );
      const slices = NAMES.map((name) => slice(["L1"], { of: name }));
      const node = await running({ compat }, services, slices);
      refuse(node, "create LoadBalancer", SILENT);
      node.forgetCalls();
      await node.proxy.sync();
      expect(node.calls()).toHaveLength(calls);
    },
  );

  const ALL: readonly (readonly [string, string])[] = [
    ["ClusterIP", ADDRESS.C],
    ["node port", "3001"],
  ];

  it.each(
    ALL.flatMap(([kind, text]) => [
      [kind, text, "upstream", kind === "ClusterIP" ? [] : ["C"]] as const,
      [
        kind,
        text,
        "hardened",
        ["C", "∅", "E"].filter((each) => each !== (kind === "ClusterIP" ? "C" : "∅")),
      ] as const,
    ]),
  )("a %s that HNS refuses (%s), %s: what is programmed", async (_kind, text, compat, left) => {
    const node = await running(
      { compat },
      [service({ spec: { type: "NodePort", ports: NODE_PORT, externalIPs: [ADDRESS.E] } })],
      [slice(["L1"])],
    );
    node.hns.refuse = ({ call, body }) =>
      call === "create LoadBalancer" && JSON.stringify(body).includes(text) ? REFUSED : undefined;
    await node.proxy.sync();
    expect(node.loadBalancers().map((each) => each.split(":")[0])).toEqual(left);
    expect(node.notApplied()).toEqual(["svc:p80"]);
  });
});

describe("the endpoint of a ClusterIP on overlay", () => {
  it.each(both(["delete EPID-2", "create EPID-4"], []))(
    "KP-H3 %s: when back ends change",
    async (compat, calls) => {
      const node = new KubeProxyNode({ compat, isOverlay: true });
      await node.begin([service()], [slice(["R1"])]);
      await node.change(slice(["R1", "L1"]));
      const ofVip = node.calls().filter((call) => /EPID-[24]/.test(call));
      expect(ofVip).toEqual(calls);
    },
  );
});

describe("what a sync reads of HNS", () => {
  it.each(both(true, false))("%s: an idle sync reads each object: %s", async (compat, reads) => {
    const node = new KubeProxyNode({ compat });
    await node.begin([service()], [slice(["L1", "R1"])]);
    const read: string[] = [];
    node.hns.refuse = ({ call }) => {
      read.push(call);
      return undefined;
    };
    await node.proxy.sync();
    expect(read).toContain("enumerate Network");
    expect(read.some((call) => /Endpoint|LoadBalancer/.test(call))).toBe(reads);
  });
});
