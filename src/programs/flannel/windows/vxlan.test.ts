import { describe, expect, it } from "vitest";
import type { HcnClient, HcnObjectKind } from "#contracts/hcn/client.ts";
import type { JsonObject } from "#core/base/json.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { createNetwork, getNetworkByName } from "#contracts/hcn/operations.ts";
import { parsePrefix } from "#core/net/ip.ts";
import {
  type FlanneldNode,
  type FlanneldNodeOptions,
  FlanneldWorld,
  VXLAN_CONF,
  published,
  remoteSubnetsOf,
  vxlanPeer,
} from "#test/support/flannel/flanneld-world.ts";
import type { FlannelHost, WindowsHost } from "../node/flannel-host.ts";
import { overlayDocument } from "./overlay-network.ts";

const PREFIX = "flannel.alpha.coreos.com";
const MAC = "aa:bb:cc:dd:ee:01";
const OTHER_MAC = "aa:bb:cc:dd:ee:02";
const NETWORK = "flannel.4096";
const BOTH = ["upstream", "hardened"] as const;

/** w1 with 10.244.1.0/24 on 10.0.0.11, and l1 with 10.244.2.0/24 on 10.0.0.12. */
function world(peer = vxlanPeer("10.0.0.12", MAC)): FlanneldWorld {
  const made = new FlanneldWorld();
  made.nodes.put("w1", { podCIDR: "10.244.1.0/24" });
  made.nodes.put("l1", { podCIDR: "10.244.2.0/24", annotations: peer });
  return made;
}

function remotes(node: FlanneldNode, name = NETWORK): Promise<readonly string[]> {
  return remoteSubnetsOf(node.machine.client, name);
}

async function started(
  made: FlanneldWorld,
  options: FlanneldNodeOptions = {},
  machine?: FlanneldNode["machine"],
): Promise<FlanneldNode> {
  const node = made.flanneld("w1", options, machine);
  await made.run(100);
  return node;
}

function client(node: FlanneldNode): HcnClient {
  if (node.machine.client === undefined) throw new Error("a Windows node has HNS");
  return node.machine.client;
}

/** HNS that answers some modify calls with an error. */
function refusing(refuse: (settings: JsonObject) => boolean): NonNullable<FlanneldNodeOptions["wrapClient"]> {
  return (inner) => {
    const wrapped = Object.create(inner) as HcnClient;
    wrapped.modify = (kind: HcnObjectKind, id, settings) =>
      refuse(settings)
        ? Promise.reject(new HcnError("HCN_E_INVALID_POLICY"))
        : inner.modify(kind, id, settings);
    return wrapped;
  };
}

function policyType(settings: JsonObject): unknown {
  const { Policies } = settings["Settings"] as { Policies: readonly { Type: string }[] };
  return Policies[0]?.Type;
}

/** As before HNS made a switch: the interface still has the adapter's name. */
function withAdapterName(inner: FlannelHost): FlannelHost {
  const host = inner as WindowsHost;
  const wrapped = Object.create(host) as WindowsHost;
  wrapped.listInterfaces = async () =>
    (await host.listInterfaces()).map((each) => ({
      ...each,
      name: each.name.replace(/^vEthernet \((.*)\)$/, "$1"),
    }));
  return wrapped;
}

async function putNetwork(hns: HcnClient, range: string, vni = 4096): Promise<string> {
  const subnet = parsePrefix(range);
  if (subnet === undefined) throw new Error("it is a prefix");
  const network = await createNetwork(
    hns,
    overlayDocument({ name: NETWORK, vni, subnet, adapterName: "Ethernet" }),
  );
  return network.ID ?? "";
}

describe("the network", () => {
  it("CP-F4: without VNI and name it is flannel.4096, an Overlay with the node's range and VNI 4096", async () => {
    const node = await started(world(), {
      netConf: { Network: "10.244.0.0/16", Backend: { Type: "vxlan" } },
    });
    expect(node.state).toMatchObject({ state: "running", isReady: true });
    const network = await getNetworkByName(client(node), NETWORK);
    expect(network.Type).toBe("Overlay");
    expect(network.Ipams?.[0]?.Subnets?.[0]).toMatchObject({
      IpAddressPrefix: "10.244.1.0/24",
      Routes: [{ NextHop: "10.244.1.1", DestinationPrefix: "0.0.0.0/0" }],
      Policies: [{ Type: "VSID", Settings: { IsolationId: 4096 } }],
    });
  });

  it("CP-F5: it has the name of the configuration, and the adapter that leads to the others", async () => {
    const netConf = { ...VXLAN_CONF, Backend: { ...VXLAN_CONF.Backend, Name: "vxlan0" } };
    const node = await started(world(), { netConf });
    const network = await getNetworkByName(client(node), "vxlan0");
    expect(network.Policies).toContainEqual({
      Type: "NetAdapterName",
      Settings: { NetworkAdapterName: "Ethernet" },
    });
    expect(network.Policies?.map(({ Type }) => Type)).toContain("HostRoute");
  });

  it("CP-F6: MacPrefix says nothing to HNS", () => {
    const subnet = parsePrefix("10.244.1.0/24");
    if (subnet === undefined) throw new Error("it is a prefix");
    const document = overlayDocument({ name: NETWORK, vni: 4096, subnet, adapterName: "Ethernet" });
    expect(JSON.stringify(document)).not.toContain("0E-2A");
    expect(document.Flags).toBe(8);
  });

  it.each(BOTH)(
    "CP-F30: one of that name with another range is deleted and made anew (%s)",
    async (compat) => {
      const made = world();
      const machine = made.machine("w1");
      const hns = machine.client as HcnClient;
      const old = await putNetwork(hns, "10.244.9.0/24");
      const node = await started(made, { compat, wrapHost: withAdapterName }, machine);
      expect(node.state?.state).toBe("running");
      const network = await getNetworkByName(hns, NETWORK);
      expect(network.ID).not.toBe(old);
      expect(network.Ipams?.[0]?.Subnets?.[0]?.IpAddressPrefix).toBe("10.244.1.0/24");
    },
  );

  it("upstream names a vNIC when its old network still holds the adapter, and HNS refuses; hardened names the adapter", async () => {
    for (const compat of BOTH) {
      const made = world();
      const machine = made.machine("w1");
      await putNetwork(machine.client as HcnClient, "10.244.9.0/24");
      const node = await started(made, { compat }, machine);
      if (compat === "hardened") expect(node.state?.state).toBe("running");
      else
        expect(node.state).toMatchObject({
          state: "ended",
          finding: {
            code: "flannel-adapter-is-switch",
            message: expect.stringContaining("parameter") as string,
          },
        });
    }
  });

  it.each([
    ["upstream", 5000],
    ["hardened", 4096],
  ] as const)("CP-F29: one with the right range and another VNI: %s has VNI %i then", async (compat, vni) => {
    const made = world();
    const machine = made.machine("w1");
    const hns = machine.client as HcnClient;
    await putNetwork(hns, "10.244.1.0/24", 5000);
    await started(made, { compat }, machine);
    const network = await getNetworkByName(hns, NETWORK);
    expect(network.Ipams?.[0]?.Subnets?.[0]?.Policies?.[0]?.Settings).toEqual({ IsolationId: vni });
  });

  it("CP-F31: an address that HNS has after 3 s is waited for", async () => {
    const made = world();
    const node = made.flanneld("w1", { networking: { addressDelayMs: 3_000 } });
    await made.run(2_900);
    expect(node.state).toMatchObject({ state: "waiting", retryAfterMs: 500 });
    await made.run(600);
    expect(node.state).toMatchObject({ state: "running", isReady: true });
  });

  it.each(BOTH)("CP-F31: one that does not come within 5 s ends flanneld (%s)", async (compat) => {
    const made = world();
    const node = made.flanneld("w1", { networking: { addressDelayMs: 60_000 }, compat });
    await made.run(4_900);
    expect(node.state?.state).toBe("waiting");
    await made.run(200);
    const finding = { code: "flannel-network-not-ready" };
    expect(node.state).toMatchObject({ state: "ended", exitCode: 1, finding });
    expect(node.lines().at(-1)).toContain("timeout, failed to get management IP from HostComputeNetwork");
    expect(node.machine.files.texts.size).toBe(0);
  });

  it("CP-F32: an interface that is not there within 45 s ends flanneld", async () => {
    const made = world();
    const blind = (inner: FlannelHost): FlannelHost => {
      const host = inner as WindowsHost;
      const wrapped = Object.create(host) as WindowsHost;
      let looks = 0;
      wrapped.listInterfaces = async () => (looks++ === 0 ? host.listInterfaces() : []);
      return wrapped;
    };
    const node = made.flanneld("w1", { wrapHost: blind });
    await made.run(44_900);
    expect(node.state?.state).toBe("waiting");
    await made.run(200);
    expect(node.state).toMatchObject({
      state: "ended",
      exitCode: 1,
      finding: {
        code: "flannel-network-not-ready",
        message: expect.stringContaining("took too long to get ready") as string,
      },
    });
  });

  it("CP-F33: a HostRoute that HNS refuses is a line of the log", async () => {
    const node = await started(world(), {
      wrapClient: refusing((settings) => policyType(settings) === "HostRoute"),
    });
    expect(node.state).toMatchObject({ state: "running", isReady: true });
    expect(node.lines().filter((line) => line.includes("Could not apply HostRoute policy"))).toHaveLength(1);
  });

  it("CP-F34: the MTU of pods is 50 less than the adapter's", async () => {
    const node = await started(world());
    expect(node.machine.files.texts.get("/run/flannel/subnet.env")).toContain("FLANNEL_MTU=1450\n");
  });
});

describe("what the node publishes", () => {
  it("CP-F16: an empty MAC first, and the MAC of HNS's router when the network stands", async () => {
    const made = world();
    const node = await started(made);
    const data = made.nodes.patches.flatMap(({ body }) => {
      const { annotations = {} } = (body["metadata"] ?? {}) as { annotations?: Record<string, string> };
      return annotations[`${PREFIX}/backend-data`] ?? [];
    });
    expect(data[0]).toBe('{"VNI":4096,"VtepMAC":""}');
    expect(data[1]).toMatch(/^\{"VNI":4096,"VtepMAC":"([0-9a-f]{2}:){5}[0-9a-f]{2}"\}$/);
    expect(data).toHaveLength(2);
    const network = await getNetworkByName(client(node), NETWORK);
    const router = network.Policies?.find(({ Type }) => Type === "DrMacAddress")?.Settings?.[
      "Address"
    ] as string;
    expect(data[1]).toContain(router.replaceAll("-", ":").toLowerCase());
    expect(made.nodes.patches.every(({ subresource }) => subresource === "status")).toBe(true);
  });

  it("CP-F27: upstream publishes VNI 70000 as 4464", async () => {
    const made = world();
    await started(made, { netConf: { Network: "10.244.0.0/16", Backend: { Type: "vxlan", VNI: 70_000 } } });
    expect(made.nodes.annotations("w1")[`${PREFIX}/backend-data`]).toContain('"VNI":4464');
  });
});

describe("the leases of others", () => {
  it.each(BOTH)("a lease becomes a RemoteSubnetRoute, and goes with its node (%s)", async (compat) => {
    const made = world();
    const node = await started(made, { compat });
    expect(await remotes(node)).toEqual([`10.244.2.0/24 10.0.0.12 ${MAC} 4096`]);
    made.nodes.remove("l1");
    await made.run(100);
    expect(await remotes(node)).toEqual([]);
  });

  it.each(BOTH)(
    "CP-F17: an empty MAC is left out, and the one that follows is taken (%s)",
    async (compat) => {
      const made = world(vxlanPeer("10.0.0.12", ""));
      const node = await started(made, { compat });
      expect(await remotes(node)).toEqual([]);
      expect(node.lines().some((line) => line.includes("invalid MAC address"))).toBe(true);
      made.nodes.annotate("l1", vxlanPeer("10.0.0.12", MAC));
      await made.run(100);
      expect(await remotes(node)).toEqual([`10.244.2.0/24 10.0.0.12 ${MAC} 4096`]);
    },
  );

  it.each(BOTH)("CP-F25: a second lease for a prefix takes the place of the first (%s)", async (compat) => {
    const made = world();
    const node = await started(made, { compat });
    made.nodes.annotate("l1", vxlanPeer("10.0.0.77", OTHER_MAC));
    await made.run(100);
    expect(await remotes(node)).toEqual([`10.244.2.0/24 10.0.0.77 ${OTHER_MAC} 4096`]);
  });

  it.each([
    ["CP-F26: VNI 100", vxlanPeer("10.0.0.12", MAC, 100), "VNI is 100 but it is required"],
    ["CP-F27: VNI 70000", vxlanPeer("10.0.0.12", MAC, 70_000), "error decoding subnet lease JSON"],
    [
      "data that are no JSON",
      published("vxlan", "10.0.0.12", "{VNI:4096"),
      "error decoding subnet lease JSON",
    ],
    ["no data", published("vxlan", "10.0.0.12", ""), "unexpected end of JSON input"],
    [
      "another back end",
      published("host-gw", "10.0.0.12", "null"),
      "ignoring non-vxlan subnet(10.244.2.0/24)",
    ],
  ])("%s is said, and makes no policy", async (_, peer, message) => {
    for (const compat of BOTH) {
      const node = await started(world(peer), { compat });
      expect(node.lines().some((line) => line.includes(message))).toBe(true);
      expect(await remotes(node)).toEqual([]);
    }
  });

  it("CP-F28: the type is compared without case", async () => {
    const peer = { ...vxlanPeer("10.0.0.12", MAC), [`${PREFIX}/backend-type`]: "VXLAN" };
    const node = await started(world(peer));
    expect(await remotes(node)).toEqual([`10.244.2.0/24 10.0.0.12 ${MAC} 4096`]);
  });

  it("a public address that is none leaves the node out, and says so", async () => {
    const node = await started(world(published("vxlan", "10.0.0.999", "{}")));
    expect(await remotes(node)).toEqual([]);
    expect(node.lines().some((line) => line.includes('Error turning node "l1" to lease'))).toBe(true);
  });
});

describe("HCN-089 a way that is stale", () => {
  /** What flanneld asks HNS to do with the network's policies. */
  function noting(notes: string[]): NonNullable<FlanneldNodeOptions["wrapClient"]> {
    return (inner) => {
      const wrapped = Object.create(inner) as HcnClient;
      wrapped.modify = (kind: HcnObjectKind, id, settings) => {
        const { Policies } = settings["Settings"] as { Policies: readonly JsonObject[] };
        const route = Policies[0]?.["Settings"] as JsonObject;
        const { DistributedRouterMacAddress: mac, IsolationId: vni } = route;
        if (policyType(settings) === "RemoteSubnetRoute")
          notes.push(JSON.stringify([settings["RequestType"], mac, vni]));
        return inner.modify(kind, id, settings);
      };
      return wrapped;
    };
  }

  it.each(BOTH)("is taken away before the one with another MAC is added (%s)", async (compat) => {
    const notes: string[] = [];
    const made = world();
    const node = await started(made, { compat, wrapClient: noting(notes) });
    made.nodes.annotate("l1", vxlanPeer("10.0.0.12", OTHER_MAC));
    await made.run(100);
    expect(notes.map((note): unknown => JSON.parse(note))).toEqual([
      ["Add", MAC, 4096],
      ["Remove", MAC, 4096],
      ["Add", OTHER_MAC, 4096],
    ]);
    expect(await remotes(node)).toEqual([`10.244.2.0/24 10.0.0.12 ${OTHER_MAC} 4096`]);
  });

  it("is replaced when its VNI changes", async () => {
    const notes: string[] = [];
    const made = world();
    const node = await started(made, { compat: "upstream", wrapClient: noting(notes) });
    made.nodes.annotate("l1", vxlanPeer("10.0.0.12", MAC, 4_097));
    await made.run(100);
    expect(notes.map((note): unknown => JSON.parse(note))).toEqual([
      ["Add", MAC, 4096],
      ["Remove", MAC, 4096],
      ["Add", MAC, 4097],
    ]);
    expect(await remotes(node)).toEqual([`10.244.2.0/24 10.0.0.12 ${MAC} 4097`]);
  });

  it.each([
    [4_095, 0],
    [4_096, 1],
  ])("VNI %i of a peer makes %i ways", async (vni, count) => {
    const node = await started(world(vxlanPeer("10.0.0.12", MAC, vni)), { compat: "upstream" });
    expect(await remotes(node)).toHaveLength(count);
    expect(node.lines().some((line) => line.includes("VNI is 4095 but it is required"))).toBe(count === 0);
  });
});

describe("nodes without a range", () => {
  // kube.go, nodeToLease: without a list of ranges it reads the single one, whatever that is.
  it.each([
    ["no range yet", {}, "invalid CIDR address: "],
    [
      "a range of the other family alone",
      { podCIDR: "fd00::/64" },
      "missing IPv4 address on n.Spec.PodCIDRs",
    ],
  ])("%s", async (_, spec, message) => {
    const made = world();
    made.nodes.put("l2", { ...spec, annotations: vxlanPeer("10.0.0.13", MAC) });
    const node = await started(made);
    expect(node.lines().some((line) => line.endsWith(`Error turning node "l2" to lease: ${message}`))).toBe(
      true,
    );
  });
});

describe("what HNS refuses, and what it forgets", () => {
  it("a network that HNS does not report for a second is looked for again by hardened; upstream makes another", async () => {
    for (const compat of BOTH) {
      const made = world();
      const first = await started(made, { compat });
      const { ID } = await getNetworkByName(client(first), NETWORK);
      first.stop();
      let refusals = 0;
      const wrapClient = (inner: HcnClient): HcnClient => {
        const wrapped = Object.create(inner) as HcnClient;
        wrapped.enumerate = (kind, query) =>
          kind === "Network" && refusals++ < 2
            ? Promise.reject(new HcnError("RPC_S_SERVER_UNAVAILABLE"))
            : inner.enumerate(kind, query);
        return wrapped;
      };
      const second = await started(made, { compat, wrapClient }, first.machine);
      if (compat === "upstream") {
        expect(second.lines()).toContain(`I Attempting to create HostComputeNetwork ${NETWORK}`);
        continue;
      }
      expect(second.state).toMatchObject({ state: "waiting", finding: { code: "hns-unreachable" } });
      await made.run(1_000);
      expect(second.state).toMatchObject({ state: "running", isReady: true });
      expect((await getNetworkByName(client(second), NETWORK)).ID).toBe(ID);
      expect(second.lines()).not.toContain(`I Attempting to create HostComputeNetwork ${NETWORK}`);
    }
  });

  it("upstream loses a lease that HNS refuses once; hardened tries again", async () => {
    for (const compat of BOTH) {
      const made = world();
      let isRefusing = true;
      const node = await started(made, {
        compat,
        wrapClient: refusing((settings) => isRefusing && policyType(settings) === "RemoteSubnetRoute"),
      });
      expect(await remotes(node)).toEqual([]);
      expect(node.flanneld.findings()).toMatchObject([{ code: "flannel-route-not-programmed" }]);
      isRefusing = false;
      await made.run(120_000);
      expect(await remotes(node)).toEqual(
        compat === "upstream" ? [] : [`10.244.2.0/24 10.0.0.12 ${MAC} 4096`],
      );
    }
  });

  it("after a restart upstream keeps the ways to nodes that are gone; hardened takes them away", async () => {
    for (const compat of BOTH) {
      const made = world();
      const first = await started(made, { compat });
      first.stop();
      made.nodes.remove("l1");
      made.nodes.put("l2", { podCIDR: "10.244.3.0/24", annotations: vxlanPeer("10.0.0.13", OTHER_MAC) });
      const second = await started(made, { compat }, first.machine);
      const stale = compat === "upstream" ? [`10.244.2.0/24 10.0.0.12 ${MAC} 4096`] : [];
      expect(await remotes(second)).toEqual([...stale, `10.244.3.0/24 10.0.0.13 ${OTHER_MAC} 4096`]);
    }
  });

  it("a network that somebody deletes is made again by hardened, with all ways; upstream loses what comes", async () => {
    for (const compat of BOTH) {
      const made = world();
      const node = await started(made, { compat });
      const { ID } = await getNetworkByName(client(node), NETWORK);
      await client(node).delete("Network", ID);
      made.nodes.put("l2", { podCIDR: "10.244.3.0/24", annotations: vxlanPeer("10.0.0.13", OTHER_MAC) });
      await made.run(120_000);
      if (compat === "upstream") {
        expect(node.lines().some((line) => line.includes(`Unable to find network ${NETWORK}`))).toBe(true);
        await expect(remotes(node)).rejects.toThrow("not found");
      } else {
        expect(await remotes(node)).toEqual([
          `10.244.2.0/24 10.0.0.12 ${MAC} 4096`,
          `10.244.3.0/24 10.0.0.13 ${OTHER_MAC} 4096`,
        ]);
      }
    }
  });

  it("what somebody takes away by hand is put back by hardened within a minute", async () => {
    const made = world();
    const node = await started(made, { compat: "hardened" });
    const network = await getNetworkByName(client(node), NETWORK);
    const policies = network.Policies?.filter(({ Type }) => Type === "RemoteSubnetRoute") ?? [];
    await client(node).modify("Network", network.ID ?? "", {
      ResourceType: "Policy",
      RequestType: "Remove",
      Settings: { Policies: policies.map(({ Type, Settings = {} }) => ({ Type, Settings })) },
    });
    expect(await remotes(node)).toEqual([]);
    await made.run(61_000);
    expect(await remotes(node)).toEqual([`10.244.2.0/24 10.0.0.12 ${MAC} 4096`]);
  });
});

describe("leases that would lead packets astray", () => {
  it.each([
    ["outside of the network", "192.168.0.0/24", "10.0.0.12", "flannel-peer-lease-unusable"],
    ["everything", "0.0.0.0/0", "10.0.0.12", "flannel-peer-lease-unusable"],
    ["a part of this node's range", "10.244.1.128/25", "10.0.0.12", "flannel-peer-lease-unusable"],
    ["this node's range", "10.244.1.0/24", "10.0.0.12", "flannel-peer-lease-unusable"],
    ["with this node's address", "10.244.2.0/24", "10.0.0.11", "flannel-peer-lease-unusable"],
    ["with no address", "10.244.2.0/24", "0.0.0.0", "flannel-peer-lease-unusable"],
    ["with a loopback address", "10.244.2.0/24", "127.0.0.1", "flannel-peer-lease-unusable"],
    ["with an address of its own pods", "10.244.2.0/24", "10.244.2.9", "flannel-peer-lease-unusable"],
  ])("hardened leaves out a lease %s", async (_, podCIDR, address, code) => {
    const made = new FlanneldWorld();
    made.nodes.put("w1", { podCIDR: "10.244.1.0/24" });
    made.nodes.put("l1", { podCIDR, annotations: vxlanPeer(address, MAC) });
    const node = await started(made, { compat: "hardened" });
    expect(await remotes(node)).toEqual([]);
    expect(node.flanneld.findings().map((finding) => finding.code)).toEqual([code]);
    const [{ message } = { message: "" }] = node.flanneld.findings();
    expect(message).toMatch(new RegExp(`^the lease ${podCIDR} of l1 is left out: it(?:s public address)? `));
  });

  it("of two nodes with one range hardened keeps the first, and takes the second when the first has gone", async () => {
    const made = world();
    const node = await started(made, { compat: "hardened" });
    made.nodes.put("l2", { podCIDR: "10.244.2.0/24", annotations: vxlanPeer("10.0.0.13", OTHER_MAC) });
    await made.run(100);
    expect(await remotes(node)).toEqual([`10.244.2.0/24 10.0.0.12 ${MAC} 4096`]);
    expect(node.flanneld.findings()).toMatchObject([
      {
        code: "flannel-lease-conflict",
        message: "the lease 10.244.2.0/24 of l2 is left out: it overlaps that of l1, 10.244.2.0/24",
      },
    ]);
    made.nodes.remove("l1");
    await made.run(100);
    expect(await remotes(node)).toEqual([`10.244.2.0/24 10.0.0.13 ${OTHER_MAC} 4096`]);
    expect(node.flanneld.findings()).toEqual([]);
  });

  it("of two nodes with one range upstream takes the last, and has none when either goes", async () => {
    const made = world();
    const node = await started(made);
    made.nodes.put("l2", { podCIDR: "10.244.2.0/24", annotations: vxlanPeer("10.0.0.13", OTHER_MAC) });
    await made.run(100);
    expect(await remotes(node)).toEqual([`10.244.2.0/24 10.0.0.13 ${OTHER_MAC} 4096`]);
    made.nodes.remove("l1");
    await made.run(100);
    expect(await remotes(node)).toEqual([]);
  });
});
