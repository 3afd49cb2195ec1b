/** What differs between versions of upstream's kube-proxy, as its sources have it (pkg/proxy, pkg/proxy/winkernel). */
import { describe, expect, it } from "vitest";
import { HcnError } from "#contracts/hcn/error.ts";
import type { EndpointSlice, Service } from "#contracts/kubernetes/objects.ts";
import {
  ADDRESS,
  type EndpointLike,
  KubeProxyNode,
  type NodeSettings,
  NETWORK_ID,
  NODE_NAME,
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

describe("endpoints of HNS with one address", () => {
  const REMOTE = "e9000000-0000-4000-8000-00000000000";
  const LOCAL = "10ca1000-0000-4000-8000-00000000000";

  /** What HNS lists first to last: endpoints of this node (`L`) and of another one (`R`), all with the address of R1. */
  async function withEqual(minor: number, kinds: readonly string[]): Promise<KubeProxyNode> {
    const node = new KubeProxyNode({ minor });
    for (const [index, kind] of kinds.entries())
      node.hns.put("Endpoint", {
        ID: `${kind === "L" ? LOCAL : REMOTE}${index + 5}`,
        HostComputeNetwork: NETWORK_ID,
        IpConfigurations: [{ IpAddress: ADDRESS.R1, PrefixLength: 24 }],
        ...(kind === "L" ? {} : { Flags: 1 }),
      });
    await node.begin([service()], [slice(["R1"])]);
    return node;
  }

  /** The place of the one that became the back end, and of those that HNS has after the sync. */
  async function outcome(minor: number, kinds: readonly string[]): Promise<string> {
    const node = await withEqual(minor, kinds);
    const place = (id: unknown): number => Number(String(id).slice(-1)) - 5;
    const [backEnd] = (node.hns.list("LoadBalancer")[0] as { HostComputeEndpoints: readonly string[] })
      .HostComputeEndpoints;
    const left = node.hns
      .list("Endpoint")
      .filter(({ IpConfigurations }) => JSON.stringify(IpConfigurations).includes(ADDRESS.R1))
      .map(({ ID }) => place(ID));
    return `${place(backEnd)} of ${left.join("")}`;
  }

  const ORDERS = [
    ["L", "R"],
    ["R", "L"],
    ["L", "L"],
    ["R", "R"],
  ];
  const ROWS: readonly (readonly [MinorRange, readonly string[]])[] = [
    [
      [20, 32],
      ["1 of 01", "1 of 01", "1 of 01", "1 of 01"],
    ],
    [
      [33, 35],
      ["1 of 01", "0 of 01", "0 of 01", "1 of 01"],
    ],
    [
      [36, 37],
      ["0 of 0", "1 of 1", "0 of 01", "0 of 01"],
    ],
  ];
  for (const [minors, expected] of ROWS)
    inVersions("which one counts, and what is left", minors, async (minor) => {
      for (const [index, kinds] of ORDERS.entries())
        expect(await outcome(minor, kinds), kinds.join("")).toBe(expected[index]);
    });

  inVersions("the remote one goes at once, although a Service counts on it", [36, 37], async (minor) => {
    const node = new KubeProxyNode({ minor });
    await node.begin([service()], [slice(["R1"])]);
    expect(node.madeEndpoints()).toEqual(["R1 ×1"]);
    node.putLocal("EP-L2", ADDRESS.R1);
    await node.change();
    expect(node.madeEndpoints()).toEqual([]);
    expect(node.calls()).toEqual(["delete EPID-1"]);
  });

  it("goes also when load balancers cannot be listed, and is tried again when it cannot be deleted", async () => {
    const node = new KubeProxyNode({ minor: 37 });
    await node.begin([service()], [slice(["R1"])]);
    node.putLocal("EP-L2", ADDRESS.R1);
    // Two families look, and both find it.
    node.hns.refuse = ({ call }) =>
      /^(delete Endpoint|enumerate LoadBalancer)$/.test(call) ? new HcnError("E_ACCESSDENIED") : undefined;
    await node.change();
    expect(node.calls()).toEqual(["delete EPID-1", "delete EPID-1"]);
    node.hns.refuse = ({ call }) =>
      call === "enumerate LoadBalancer" ? new HcnError("E_ACCESSDENIED") : undefined;
    await node.change();
    expect(node.madeEndpoints()).toEqual([]);
  });

  /** A node in `hardened` mode that counts on R1, before an endpoint of this node gets the address of R1. */
  async function withLaterLocal(): Promise<KubeProxyNode> {
    const node = new KubeProxyNode({ minor: 37, compat: "hardened" });
    await node.begin([service()], [slice(["R1"])]);
    node.hns.put("Endpoint", {
      ID: `${LOCAL}7`,
      HostComputeNetwork: NETWORK_ID,
      IpConfigurations: [{ IpAddress: ADDRESS.R1, PrefixLength: 24 }],
    });
    return node;
  }

  it("hardened keeps the remote one as long as a Service counts on it", async () => {
    const node = await withLaterLocal();
    await node.change();
    expect(node.madeEndpoints()).toEqual(["R1 ×1"]);
    await node.change(slice(["R2"]));
    expect(node.madeEndpoints()).toEqual(["R2 ×1"]);
  });

  it("hardened deletes the remote one when the slice says that the pod is here", async () => {
    const node = await withLaterLocal();
    await node.change(slice([{ at: { address: ADDRESS.R1, node: NODE_NAME } }]));
    expect(node.madeEndpoints()).toEqual([]);
    expect(node.hns.list("LoadBalancer").map(({ HostComputeEndpoints: ids }) => ids)).toEqual([
      [`${LOCAL}7`],
    ]);
  });
});

describe("a load balancer in the way of a new one", () => {
  const OTHERS = "aaaaaaaa-0000-4000-8000-00000000000";

  /** One that another program has made for the ClusterIP, with other back ends. */
  function putInTheWay(node: KubeProxyNode, number: number, internalPort = 8080): void {
    node.hns.put("LoadBalancer", {
      ID: `${OTHERS}${number}`,
      HostComputeEndpoints: ["10ca1000-0000-4000-8000-000000000002"],
      FrontendVIPs: [ADDRESS.C],
      PortMappings: [{ Protocol: 6, InternalPort: internalPort, ExternalPort: 80 }],
    });
  }

  async function startedNode(minor: number): Promise<KubeProxyNode> {
    const node = new KubeProxyNode({ minor });
    node.objects.servicesListed([service()]);
    node.objects.endpointSlicesListed([slice(["L1"])]);
    await node.start();
    return node;
  }

  it("is removed, when it is the only one", async () => {
    const node = await startedNode(37);
    putInTheWay(node, 1);
    await node.proxy.sync();
    expect(node.loadBalancers()).toEqual([C_L1]);
  });

  it("stays when it leads to another port of the back ends", async () => {
    const node = await startedNode(37);
    putInTheWay(node, 1, 9090);
    await node.proxy.sync();
    expect(node.loadBalancers()).toEqual(["C:80→9090 [EP-L2] L0 P0 D0"]);
  });

  it("stays when it came after the sync had read HNS", async () => {
    const node = await startedNode(37);
    node.hns.refuse = ({ call }) => {
      if (call === "create LoadBalancer" && node.hns.list("LoadBalancer").length === 0) putInTheWay(node, 1);
      return undefined;
    };
    await node.proxy.sync();
    expect(node.loadBalancers()).toEqual(["C:80→8080 [EP-L2] L0 P0 D0"]);
    expect(node.notApplied()).toEqual(["svc:p80"]);
    // The next one reads it.
    node.hns.refuse = undefined;
    await node.proxy.sync();
    expect(node.loadBalancers()).toEqual([C_L1]);
  });

  it("is asked for once in a sync, and its own deletion is what fails then", async () => {
    const node = await startedNode(37);
    putInTheWay(node, 1);
    node.hns.refuse = ({ call }) =>
      call === "delete LoadBalancer" ? new HcnError("E_ACCESSDENIED") : undefined;
    await node.proxy.sync();
    expect(node.proxy.services()[0]?.findings[0]?.message).toContain("Access is denied (0x5)");
    expect(node.calls().filter((call) => call.startsWith("refused"))).toHaveLength(1);
  });
});

describe("external addresses after their Service is gone", () => {
  const SERVICE = service({ spec: { externalIPs: [ADDRESS.E] } });

  async function stale(minor: number, compat: "upstream" | "hardened" = "upstream"): Promise<unknown> {
    const node = new KubeProxyNode({ minor, compat });
    await node.begin([SERVICE], [slice(["L1"])]);
    // The network is another one: everything is deleted, and the sync ends before it cleans up.
    node.hns.put("Network", { ...node.hns.list("Network")[0], ID: "00123abc-0000-4000-8000-000000000009" });
    await node.hns.delete("Network", NETWORK_ID);
    const report = await node.proxy.sync();
    expect(node.loadBalancers()).toEqual([]);
    return report.families[0]?.staleLoadBalancers;
  }

  inVersions("are remembered although their deletion has succeeded", [27, 36], async (minor) => {
    expect(await stale(minor)).toBe(1);
  });

  inVersions("are remembered when it has failed alone", [37, 37], async (minor) => {
    expect(await stale(minor)).toBe(0);
  });

  it("are not remembered by hardened", async () => {
    expect(await stale(36, "hardened")).toBe(0);
  });
});

describe("the MAC address of the node, on overlay", () => {
  async function madeWith(
    nodeIp: string,
    hostInterfaces: readonly { mac: string; addresses: readonly string[] }[],
  ): Promise<unknown> {
    const node = new KubeProxyNode({ isOverlay: true, options: { nodeIp, hostInterfaces } });
    const cluster = nodeIp.includes(":") ? { clusterIP: "fd01::41" } : {};
    await node.begin([service({ spec: cluster })], []);
    return node.hns
      .bodiesOf("create Endpoint")
      .map((body) => (body as { MacAddress?: string } | undefined)?.MacAddress);
  }

  it.each(["00-15-5D-AB-CD-EF", "00:15:5D:AB:CD:EF"])("is sent as Go writes it, however %s", async (mac) => {
    const text = "00:15:5d:ab:cd:ef";
    expect(await madeWith("10.0.0.1", [{ mac, addresses: ["10.0.0.1"] }])).toEqual([text, text]);
  });

  it("is that of the last interface with the address", async () => {
    const [first, last] = ["00:15:5d:00:00:01", "00:15:5d:00:00:02"];
    const interfaces = [first, last].map((mac) => ({ mac, addresses: ["10.0.0.1"] }));
    expect(await madeWith("10.0.0.1", interfaces)).toEqual([last, last]);
  });

  it("is found however an IPv6 address is spelt", async () => {
    const mac = "00:15:5d:00:00:06";
    expect(await madeWith("FD00:0::1", [{ mac, addresses: ["fd00::1"] }])).toEqual([mac, mac]);
  });
});

describe("changes that no load balancer shows", () => {
  const REMADE = ["delete LBID-1", "create LBID-2"];

  /** The calls that a change from one object to the other makes. */
  async function callsFor(
    settings: NodeSettings,
    before: readonly [Service, EndpointSlice],
    ...after: readonly (Service | EndpointSlice)[]
  ): Promise<readonly string[]> {
    const node = new KubeProxyNode(settings);
    await node.begin([before[0]], [before[1]]);
    await node.change(...after);
    return node.calls();
  }

  const sticky = (timeoutSeconds: number, sessionAffinity = "ClientIP"): Service =>
    service({ spec: { sessionAffinity, sessionAffinityConfig: { clientIP: { timeoutSeconds } } } });
  const ranged = (...loadBalancerSourceRanges: readonly string[]): Service =>
    service({ spec: { loadBalancerSourceRanges: [...loadBalancerSourceRanges] } });
  const L1 = slice(["L1"]);

  inVersions("the timeout of an affinity, and source ranges: all is made anew", ALL_MINORS, async (minor) => {
    expect(await callsFor({ minor }, [sticky(60), L1], sticky(120))).toEqual(REMADE);
    expect(await callsFor({ minor }, [ranged(), L1], ranged("192.0.2.0/24"))).toEqual(REMADE);
    // Of another family; without the affinity; with blanks around it.
    expect(await callsFor({ minor }, [ranged(), L1], ranged("2001:db8::/32"))).toEqual([]);
    expect(await callsFor({ minor }, [sticky(60, "None"), L1], sticky(120, "None"))).toEqual([]);
    expect(await callsFor({ minor }, [ranged("192.0.2.0/24"), L1], ranged(" 192.0.2.0/24 "))).toEqual([]);
  });

  inVersions("a range that lets everything in is a range", [20, 33], async (minor) => {
    expect(await callsFor({ minor }, [ranged(), L1], ranged("0.0.0.0/0"))).toEqual(REMADE);
  });

  inVersions("a range that lets everything in is none", [34, 37], async (minor) => {
    expect(await callsFor({ minor }, [ranged(), L1], ranged("0.0.0.0/0"))).toEqual([]);
  });

  const hinted = service({ annotations: { "service.kubernetes.io/topology-aware-hints": "auto" } });

  inVersions("the annotation for hints", [21, 32], async (minor) => {
    expect(await callsFor({ minor }, [service(), L1], hinted)).toEqual(REMADE);
  });

  inVersions("the annotation for hints is not read", [33, 37], async (minor) => {
    expect(await callsFor({ minor }, [service(), L1], hinted)).toEqual([]);
  });

  // Where load balancers are not updated in place, every change of a slice takes them away.
  const ANEW = service({ annotations: { winProxyOptimization: "disabled" } });
  const labelled = slice(["L1"], { labels: { team: "red" } });
  const zoned: EndpointSlice = {
    ...L1,
    endpoints: (L1.endpoints ?? []).map((endpoint) => ({ ...endpoint, zone: "b" })),
  };

  inVersions("a label of a slice", [31, 37], async (minor) => {
    expect(await callsFor({ minor }, [ANEW, L1], labelled)).toEqual(REMADE);
    const overlay: NodeSettings = { minor, isOverlay: true };
    expect(await callsFor(overlay, [service(), L1], labelled)).toEqual(["delete EPID-2", "create EPID-3"]);
  });

  inVersions("a label of a slice is not read", [20, 30], async (minor) => {
    expect(await callsFor({ minor }, [ANEW, L1], labelled)).toEqual([]);
  });

  inVersions(
    "the zone of an endpoint, and a slice that has changed and changed back",
    ALL_MINORS,
    async (minor) => {
      expect(await callsFor({ minor }, [ANEW, L1], zoned)).toEqual(REMADE);
      expect(await callsFor({ minor }, [ANEW, L1], slice(["L2"]), L1)).toEqual(REMADE);
      expect(await callsFor({ minor }, [ANEW, L1], { ...L1 })).toEqual([]);
    },
  );

  it("hardened makes no call for any of them", async () => {
    const settings: NodeSettings = { minor: 30, compat: "hardened" };
    expect(await callsFor(settings, [sticky(60), L1], sticky(120))).toEqual([]);
    expect(await callsFor(settings, [ranged(), L1], ranged("192.0.2.0/24"), hinted)).toEqual([]);
    expect(await callsFor({ ...settings, minor: 37 }, [ANEW, L1], labelled, zoned)).toEqual([]);
    expect(await callsFor(settings, [ANEW, L1], slice(["L2"]), L1)).toEqual([]);
  });
});

describe("other spellings of IPv6 addresses", () => {
  const WRITTEN = "FD00:0:0::1:1";
  const DUAL = {
    clusterIPs: [ADDRESS.C, "FD01:0::41"],
    ipFamilies: ["IPv4", "IPv6"],
    externalIPs: ["2001:DB8:0::1"],
  };
  const V6 = slice([{ at: { address: WRITTEN, node: "test-node" } }], { addressType: "IPv6" });

  async function madeWith(settings: NodeSettings): Promise<readonly string[]> {
    const node = new KubeProxyNode(settings);
    node.putLocal("EP-L1", ADDRESS.L1, "EP-L1", ["fd00::1:1"]);
    await node.begin([service({ spec: DUAL })], [V6]);
    return node.loadBalancers();
  }

  inVersions("are Go's at every place", [36, 37], async (minor) => {
    expect(await madeWith({ minor })).toEqual([
      "fd01::41:80→8080 [EP-L1] L2 P0 D0",
      "2001:db8::1:80→8080 [EP-L1] L2 P16 D0",
    ]);
  });

  inVersions("of external addresses stay as they are", [31, 35], async (minor) => {
    expect(await madeWith({ minor })).toEqual([
      "fd01::41:80→8080 [EP-L1] L2 P0 D0",
      "2001:DB8:0::1:80→8080 [EP-L1] L2 P16 D0",
    ]);
  });

  inVersions("of endpoints are not found in HNS", [27, 30], async (minor) => {
    expect(await madeWith({ minor })).toEqual([]);
  });

  it("are Go's in hardened", async () => {
    expect(await madeWith({ minor: 30, compat: "hardened" })).toEqual(await madeWith({ minor: 37 }));
  });
});
