import { MemorySubnetFiles } from "#cluster/flannel/node-files.ts";
import { describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { kubeErrorOf } from "#contracts/kubernetes/error.ts";
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import type { FlannelLog } from "./reports.ts";
import { previousSubnet } from "./node/subnet-file.ts";
import {
  type FlanneldNode,
  FlanneldWorld,
  HOST_GW_CONF,
  VXLAN_CONF,
  published,
  remoteSubnetsOf,
  routesOf,
  vxlanPeer,
} from "#test/support/flannel/flanneld-world.ts";
import { annotationsOf } from "./kube/node-lease.ts";

const PREFIX = "flannel.alpha.coreos.com";
const BOTH = ["upstream", "hardened"] as const;
const MAC = "aa:bb:cc:dd:ee:01";

function world(podCIDR: string | undefined = "10.244.1.0/24"): FlanneldWorld {
  const made = new FlanneldWorld();
  made.nodes.put("w1", podCIDR === undefined ? {} : { podCIDR });
  return made;
}

function endOf(node: FlanneldNode): string {
  return node.state?.state === "ended" ? `${node.state.finding.code}: ${node.state.finding.message}` : "runs";
}

describe("leases in Nodes", () => {
  it.each(BOTH)("CP-F14: a node without podCIDR (%s)", async (compat) => {
    const made = new FlanneldWorld();
    made.nodes.put("w1", {});
    const node = made.flanneld("w1", { compat });
    await made.run(100);
    expect(endOf(node)).toBe(
      'flannel-node-without-range: Error registering network: failed to acquire lease: node "w1" pod cidr not assigned',
    );
  });

  it("a Node without any annotation: upstream panics, hardened publishes", async () => {
    for (const compat of BOTH) {
      const made = new FlanneldWorld();
      made.nodes.put("w1", { podCIDR: "10.244.1.0/24", isBare: true });
      const node = made.flanneld("w1", { compat });
      await made.run(2_000);
      expect(endOf(node)).toBe(
        compat === "hardened"
          ? "runs"
          : `flannel-node-without-annotations: Error registering network: failed to acquire lease: panic: assignment to entry in nil map: node "w1" has no annotations, and upstream's flanneld writes into none`,
      );
      expect(made.nodes.annotations("w1")[`${PREFIX}/kube-subnet-manager`]).toBe(
        compat === "hardened" ? "true" : undefined,
      );
    }
  });

  it.each(BOTH)("CP-F15: a podCIDR outside of the network (%s)", async (compat) => {
    const made = world("10.99.1.0/24");
    const node = made.flanneld("w1", { compat });
    await made.run(100);
    expect(endOf(node)).toContain("flannel-network-without-node-range: ");
    expect(endOf(node)).toContain(
      `subnet "10.244.0.0/16" specified in the flannel net config doesn't contain "10.99.1.0/24" PodCIDR of the "w1" node`,
    );
    // Upstream has published before it looked.
    expect(made.nodes.annotations("w1")[`${PREFIX}/kube-subnet-manager`]).toBe(
      compat === "upstream" ? "true" : undefined,
    );
  });

  it("CP-F19: public-ip-overwrite wins over what the node has", async () => {
    const made = new FlanneldWorld();
    made.nodes.put("w1", {
      podCIDR: "10.244.1.0/24",
      annotations: { [`${PREFIX}/public-ip-overwrite`]: "198.51.100.7" },
    });
    const node = made.flanneld("w1");
    await made.run(100);
    expect(made.nodes.annotations("w1")[`${PREFIX}/public-ip`]).toBe("198.51.100.7");
    expect(node.lines().some((line) => line.includes("Overriding public ip with '198.51.100.7'"))).toBe(true);
  });

  it("CP-F20: node-public-ip wins over --public-ip", async () => {
    const made = new FlanneldWorld();
    const annotations = { [`${PREFIX}/node-public-ip`]: "10.0.0.11" };
    made.nodes.put("w1", { podCIDR: "10.244.1.0/24", annotations });
    const node = made.flanneld("w1", { options: { publicIp: "203.0.113.5" } });
    await made.run(100);
    expect(node.state?.state).toBe("running");
    const { publicIp } = node.flanneld.externalInterface ?? {};
    expect(publicIp === undefined ? "" : formatIp(publicIp)).toBe("10.0.0.11");
  });

  it("CP-F20: an API server that does not answer: hardened asks again for node-public-ip, upstream goes without", async () => {
    for (const compat of BOTH) {
      const made = world();
      made.nodes.annotate("w1", { [`${PREFIX}/node-public-ip`]: "10.0.0.11" });
      made.nodes.failGets(0, 1);
      const options = { iface: ["10.0.0.11"], publicIp: "203.0.113.5" };
      const node = made.flanneld("w1", { compat, options });
      await made.run(100);
      if (compat === "hardened") {
        expect(node.state).toMatchObject({
          state: "waiting",
          finding: { code: "flannel-store-unreachable" },
        });
        await made.run(1_000);
      }
      const { publicIp } = node.flanneld.externalInterface ?? {};
      expect(publicIp === undefined ? "" : formatIp(publicIp)).toBe(
        compat === "upstream" ? "203.0.113.5" : "10.0.0.11",
      );
    }
  });

  it("CP-F21: new labels are no event; a new public-ip is one", async () => {
    const made = world();
    const peer = published("host-gw", "10.0.0.12", "null");
    made.nodes.put("l1", { podCIDR: "10.244.2.0/24", annotations: peer });
    const node = made.flanneld("w1", { netConf: HOST_GW_CONF });
    await made.run(100);
    const added = (): number => node.lines().filter((line) => line.includes("Subnet added")).length;
    expect(added()).toBe(1);
    made.nodes.put("l1", { podCIDR: "10.244.2.0/24", annotations: peer, labels: { zone: "b" } });
    await made.run(100);
    expect(added()).toBe(1);
    made.nodes.annotate("l1", { [`${PREFIX}/public-ip`]: "10.0.0.13" });
    await made.run(100);
    expect(added()).toBe(2);
  });

  it("CP-F22: keys of another prefix", async () => {
    expect(annotationsOf("foo.io/bar").backendType).toBe("foo.io/bar-backend-type");
    expect(annotationsOf("foo.io/bar-").backendType).toBe("foo.io/bar-backend-type");
    expect(annotationsOf("foo.io").publicIp).toBe("foo.io/public-ip");
    expect(() => annotationsOf("foo.io/bar/baz")).toThrow("prefix can contain at most single slash");
    expect(() => annotationsOf("foo/bar")).toThrow("prefix must be in a format");
    const made = world();
    made.flanneld("w1", { prefix: "foo.io/bar", netConf: HOST_GW_CONF });
    await made.run(100);
    expect(made.nodes.annotations("w1")).toMatchObject({ "foo.io/bar-backend-type": "host-gw" });
  });

  it("the condition says that flannel is up, unless it is not to be set", async () => {
    for (const setsCondition of [true, false]) {
      const made = world();
      made.flanneld("w1", { setsCondition });
      await made.run(100);
      const conditions = made.nodes.patches.flatMap(({ body }) => {
        const { conditions: patched = [] } = (body["status"] ?? {}) as { conditions?: readonly object[] };
        return patched;
      });
      expect(conditions).toEqual(
        setsCondition
          ? [
              {
                type: "NetworkUnavailable",
                status: "False",
                reason: "FlannelIsUp",
                message: "Flannel is running on this node",
                lastTransitionTime: "2026-01-02T03:04:05Z",
                lastHeartbeatTime: "2026-01-02T03:04:05Z",
              },
            ]
          : [],
      );
    }
  });

  it("a node that is not there yet is waited for, for 30 s", async () => {
    const made = new FlanneldWorld();
    const node = made.flanneld("w1");
    await made.run(29_900);
    expect(node.state).toMatchObject({ state: "waiting", finding: { code: "flannel-store-unreachable" } });
    made.nodes.put("w1", { podCIDR: "10.244.1.0/24" });
    await made.run(100);
    expect(node.state?.state).toBe("running");
    const late = new FlanneldWorld();
    const lost = late.flanneld("w1");
    await late.run(30_000);
    expect(endOf(lost)).toContain('timeout contacting kube-api, failed to patch node "w1"');
  });

  it("an API server that is gone at the start is asked for ten minutes", async () => {
    const made = world();
    made.nodes.isGone = true;
    const node = made.flanneld("w1");
    await made.run(599_000);
    expect(node.state).toMatchObject({ state: "waiting", finding: { code: "flannel-store-unreachable" } });
    await made.run(2_000);
    expect(endOf(node)).toContain("error waiting for nodeController to sync state");
  });

  it.each(BOTH)(
    "one that goes later changes nothing, and is heard again when it is back (%s)",
    async (compat) => {
      const made = world();
      made.nodes.put("l1", { podCIDR: "10.244.2.0/24", annotations: vxlanPeer("10.0.0.12", MAC) });
      const node = made.flanneld("w1", { compat });
      await made.run(100);
      made.nodes.isGone = true;
      made.nodes.endWatches(kubeErrorOf(503, "connection refused"));
      await made.run(120_000);
      const way = `10.244.2.0/24 10.0.0.12 ${MAC} 4096`;
      expect(await remoteSubnetsOf(node.machine.client, "flannel.4096")).toEqual([way]);
      expect(node.lines().some((line) => line.includes("Nodes cannot be read"))).toBe(true);
      made.nodes.put("l2", { podCIDR: "10.244.3.0/24", annotations: vxlanPeer("10.0.0.13", MAC) });
      made.nodes.remove("l1");
      made.nodes.isGone = false;
      await made.run(60_000);
      expect(await remoteSubnetsOf(node.machine.client, "flannel.4096")).toEqual([
        `10.244.3.0/24 10.0.0.13 ${MAC} 4096`,
      ]);
    },
  );
});

describe("the own Node while flanneld runs", () => {
  it("deleted and back without annotations: hardened publishes again", async () => {
    for (const compat of BOTH) {
      const made = world();
      const node = made.flanneld("w1", { compat });
      await made.run(100);
      const before = made.nodes.annotations("w1")[`${PREFIX}/backend-data`];
      made.nodes.remove("w1");
      await made.run(100);
      made.nodes.put("w1", { podCIDR: "10.244.1.0/24" });
      await made.run(100);
      expect(node.state?.state).toBe("running");
      expect(made.nodes.annotations("w1")[`${PREFIX}/backend-data`]).toBe(
        compat === "upstream" ? undefined : before,
      );
    }
  });

  it("back with another range: hardened ends, so that it begins anew; upstream goes on with the old one", async () => {
    for (const compat of BOTH) {
      const made = world();
      const node = made.flanneld("w1", { compat });
      await made.run(100);
      made.nodes.remove("w1");
      made.nodes.put("w1", { podCIDR: "10.244.7.0/24" });
      await made.run(100);
      if (compat === "upstream") expect(node.state?.state).toBe("running");
      else expect(endOf(node)).toContain('flannel-lease-lost: the range of node "w1" is 10.244.7.0/24 now');
    }
  });
});

describe("subnet.env", () => {
  it.each(BOTH)(
    "CP-F47: that cannot be written is a warning, and flanneld is not ready (%s)",
    async (compat) => {
      const made = world();
      const files = new MemorySubnetFiles();
      files.refusal = "open /run/flannel/subnet.env: Access is denied.";
      const node = made.flanneld("w1", { compat, files });
      await made.run(100);
      expect(node.state).toMatchObject({ state: "running", isReady: false });
      expect(node.flanneld.isReady).toBe(false);
      expect(node.lines()).toContain(
        "W Failed to write subnet file: open /run/flannel/subnet.env: Access is denied.",
      );
      files.refusal = undefined;
      await made.run(60_000);
      expect(node.flanneld.isReady).toBe(compat === "hardened");
    },
  );

  it("says whether the node masquerades", async () => {
    const made = world();
    const node = made.flanneld("w1", { options: { ipMasq: true } });
    await made.run(100);
    expect(node.machine.files.texts.get("/run/flannel/subnet.env")).toBe(
      "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.1.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n",
    );
  });
});

describe("the checksum of subnet.env", () => {
  it.each(BOTH)(
    "stands in a comment that readers of keys skip; upstream writes none (%s)",
    async (compat) => {
      const made = world();
      const node = made.flanneld("w1", { compat });
      await made.run(100);
      const text = node.machine.files.texts.get("/run/flannel/subnet.env") ?? "";
      expect(/^# mullion-crc32 [0-9a-f]{8}$/m.test(text)).toBe(compat === "hardened");
      const lines: string[] = [];
      const log = { write: (_level: string, line: string) => void lines.push(line) } as FlannelLog;
      const previous = (changed: string): string => {
        const prefix = previousSubnet(changed, "FLANNEL_SUBNET", "/run/flannel/subnet.env", log);
        return prefix === undefined ? "none" : formatPrefix(prefix);
      };
      expect(previous(text)).toBe("10.244.1.0/24");
      // A flipped bit: 10.244.1 becomes 10.244.0. Without a checksum it is believed, as upstream believes it.
      expect(previous(text.replace("FLANNEL_SUBNET=10.244.1", "FLANNEL_SUBNET=10.244.0"))).toBe(
        compat === "hardened" ? "none" : "10.244.0.0/24",
      );
      if (compat === "hardened")
        expect(lines).toEqual([
          "/run/flannel/subnet.env is damaged: its checksum is wrong; its FLANNEL_SUBNET is not used",
        ]);
    },
  );
});

describe("what ends a start", () => {
  it.each([
    ["CP-F8: no backend", { Network: "10.244.0.0/16" }, "unknown backend type: udp"],
    [
      "a backend for Linux",
      { ...VXLAN_CONF, Backend: { Type: "wireguard" } },
      "unknown backend type: wireguard",
    ],
    ["a backend without a type", { ...VXLAN_CONF, Backend: {} }, "Backend.Type is missing"],
    ["VNI 1", { ...VXLAN_CONF, Backend: { Type: "vxlan", VNI: 1 } }, "VNI [1] must be greater"],
    ["no family", { ...VXLAN_CONF, EnableIPv4: false }, "none defined stack"],
  ])("%s", async (_, netConf, message) => {
    const made = world();
    const node = made.flanneld("w1", { netConf });
    await made.run(100);
    expect(endOf(node)).toContain(message);
    expect(made.nodes.patches).toEqual([]);
  });

  it("a network that overlaps the nodes' range: hardened refuses it", async () => {
    for (const compat of BOTH) {
      const made = world("10.0.7.0/24");
      const node = made.flanneld("w1", { compat, netConf: { ...VXLAN_CONF, Network: "10.0.0.0/16" } });
      await made.run(100);
      if (compat === "upstream") expect(node.state?.state).toBe("running");
      else
        expect(endOf(node)).toContain(
          "flannel-network-overlaps: Network 10.0.0.0/16 overlaps 10.0.0.0/24, the nodes' own range",
        );
    }
  });

  it("fields that nobody reads are named by hardened", async () => {
    const netConf = { ...VXLAN_CONF, Netwrok: "10.1.0.0/16", Backend: { ...VXLAN_CONF.Backend, Vin: 4096 } };
    for (const compat of BOTH) {
      const made = world();
      const node = made.flanneld("w1", { compat, netConf });
      await made.run(100);
      expect(node.lines().filter((line) => line.includes("is not a field that flanneld reads"))).toEqual(
        compat === "upstream"
          ? []
          : [
              "W Netwrok is not a field that flanneld reads; did you mean Network?",
              "W Backend.Vin is not a field that flanneld reads; did you mean Backend.VNI?",
            ],
      );
    }
  });
});

describe("the interface to the others", () => {
  it("CP-F12: --iface-can-reach does not exist on Windows", async () => {
    const made = world();
    const node = made.flanneld("w1", { options: { ifaceCanReach: "10.0.0.1" } });
    await made.run(100);
    expect(endOf(node)).toContain("flannel-interface-missing: ");
    expect(endOf(node)).toContain("ifcanreach is not supported on windows");
  });

  it("on Linux it is the one that leads there", async () => {
    const made = world();
    const node = made.flanneld("w1", { os: "linux", options: { ifaceCanReach: "203.0.113.9" } });
    await made.run(100);
    expect(node.flanneld.externalInterface?.interface.name).toBe("eth0");
  });

  it.each([
    ["an address", { iface: ["10.0.0.11"] }],
    ["a name", { iface: ["Ethernet"] }],
    ["the first that is there", { iface: ["eth7", "192.0.2.1", "Ethernet"] }],
    ["a pattern of addresses", { ifaceRegex: ["^10\\.0\\.0\\."] }],
    ["a pattern of names", { ifaceRegex: ["^wlan", "^Eth"] }],
    ["the default route", {}],
    ["the public address", { publicIp: "10.0.0.11" }],
  ])("is found by %s", async (_, options) => {
    const made = world();
    const node = made.flanneld("w1", { options });
    await made.run(100);
    expect(node.flanneld.externalInterface?.interface.name).toBe("Ethernet");
  });

  it.each([
    ["an address that is not in use", { iface: ["192.0.2.1"] }, "no interface with given IP found"],
    ["a name that is not in use", { iface: ["Ethernet 7"] }, "Failed to find interface to use that matches"],
    ["a pattern that is none", { ifaceRegex: ["("] }, "could not compile the IP address regex"],
    ["a pattern that nothing fits", { ifaceRegex: ["^wlan"] }, "(Ethernet:[10.0.0.11])"],
    [
      "a public address that is none",
      { iface: ["Ethernet"], publicIp: "10.0.0" },
      "invalid public IP address: 10.0.0",
    ],
  ])("is not found by %s", async (_, options, message) => {
    const made = world();
    const node = made.flanneld("w1", { options });
    await made.run(100);
    expect(endOf(node)).toContain("flannel-interface-missing: ");
    expect(endOf(node)).toContain(message);
  });
});

describe("time, and copies of the world", () => {
  it("a clock that is set back puts no look at the routes off", async () => {
    const made = world();
    made.nodes.put("l1", {
      podCIDR: "10.244.2.0/24",
      annotations: published("host-gw", "10.0.0.12", "null"),
    });
    const node = made.flanneld("w1", { netConf: HOST_GW_CONF });
    await made.run(1_000_000);
    const state = await node.flanneld.advance(5_000);
    expect(state).toMatchObject({ state: "running" });
    expect(state.state === "running" ? state.nextMs : 0).toBeLessThanOrEqual(10_000);
  });

  it("a clock that jumps ahead does what is due once", async () => {
    const made = world();
    const node = made.flanneld("w1", { compat: "hardened" });
    await made.run(100);
    const state = await node.flanneld.advance(10_000_000_000);
    expect(state).toMatchObject({ state: "running", isReady: true });
    expect(await node.flanneld.advance(10_000_000_001)).toMatchObject({ state: "running" });
  });

  it("a fork has all that flanneld knows, and goes its own way", async () => {
    const made = world();
    made.nodes.put("l1", {
      podCIDR: "10.244.2.0/24",
      annotations: published("host-gw", "10.0.0.12", "null"),
    });
    const node = made.flanneld("w1", { netConf: HOST_GW_CONF });
    await made.run(100);
    const { flanneld, machine } = node;
    // Clients of HNS are no part of a world, and neither is the API server of these tests.
    const { client = machine } = machine;
    const copy = fork(
      { flanneld, machine },
      new Map<object, object>([
        [made.nodes, made.nodes],
        [client, client],
      ]),
    );
    const { root } = copy.machine.host;
    for (const route of root.listRoutes()) if (route.nextHop !== undefined) root.removeRoute(route);
    expect(routesOf(copy.machine)).toEqual([]);
    expect(routesOf(machine)).toEqual(["10.244.2.0/24 via 10.0.0.12 on vEthernet (Ethernet)"]);
    await copy.flanneld.advance(made.clock.nowMs + 10_000);
    expect(routesOf(copy.machine)).toEqual(["10.244.2.0/24 via 10.0.0.12 on vEthernet (Ethernet)"]);
  });
});
