import { masqueradeChain } from "./linux-rules.ts";
import { describe, expect, it, vi } from "vitest";
import { SimulatedLinuxHost } from "#cluster/flannel/simulated-hosts.ts";
import { readU48 } from "#core/base/bytes.ts";
import { fork } from "#core/base/fork.ts";
import type { Ipv4 } from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import {
  type FlanneldNode,
  type FlanneldNodeOptions,
  FlanneldWorld,
  HOST_GW_CONF,
  VXLAN_CONF,
  type Machine,
  published,
  routesOf,
  vxlanPeer,
} from "#test/support/flannel/flanneld-world.ts";
import type { FlannelHost, LinuxHost } from "../node/flannel-host.ts";
import { formatMacWithColons } from "../backends/vxlan-data.ts";

const PREFIX = "flannel.alpha.coreos.com";
const MAC = "aa:bb:cc:dd:ee:01";
const OTHER_MAC = "aa:bb:cc:dd:ee:02";
const DEVICE = "flannel.4096";
const BOTH = ["upstream", "hardened"] as const;

function world(peer = vxlanPeer("10.0.0.12", MAC)): FlanneldWorld {
  const made = new FlanneldWorld();
  made.nodes.put("l1", { podCIDR: "10.244.1.0/24" });
  made.nodes.put("w1", { podCIDR: "10.244.2.0/24", annotations: peer });
  return made;
}

async function started(
  made: FlanneldWorld,
  options: FlanneldNodeOptions = {},
  machine?: Machine,
): Promise<FlanneldNode> {
  const node = made.flanneld("l1", { os: "linux", ...options }, machine);
  await made.run(100);
  return node;
}

function linux(node: FlanneldNode): LinuxHost {
  return node.machine.flannelHost as LinuxHost;
}

async function entries(node: FlanneldNode): Promise<readonly string[]> {
  const host = linux(node);
  const neighbors = await host.listNeighbors(DEVICE);
  const forwarding = await host.listForwarding(DEVICE);
  return [
    ...neighbors.map(({ mac }) => `arp ${formatMacWithColons(mac)}`),
    ...forwarding.map(({ mac }) => `fdb ${formatMacWithColons(mac)}`),
    ...routesOf(node.machine),
  ];
}

const WHOLE = [`arp ${MAC}`, `fdb ${MAC}`, `10.244.2.0/24 via 10.244.2.0 on ${DEVICE}`];

describe("vxlan on Linux", () => {
  it("makes flannel.4096 with the first address of the lease alone, 50 bytes smaller", async () => {
    const node = await started(world());
    expect(node.state).toMatchObject({ state: "running", isReady: true });
    const device = node.machine.host.root.getInterface(DEVICE);
    expect(device?.mtuBytes).toBe(1_450);
    expect(device?.addresses).toEqual([{ ip: 0x0af4_0100, length: 32 }]);
    expect(node.machine.files.texts.get("/run/flannel/subnet.env")).toContain("FLANNEL_MTU=1450\n");
  });

  it("without VNI and port they are those of Linux", async () => {
    const node = await started(world(), {
      netConf: { Network: "10.244.0.0/16", Backend: { Type: "vxlan" } },
    });
    expect(await linux(node).findVxlan("flannel.1")).toMatchObject({ vni: 1, port: 8_472 });
  });

  it.each(BOTH)(
    "CP-S7: the neighbour is .0, frames go to the public address, the route leads over .0 (%s)",
    async (compat) => {
      const made = world();
      const node = await started(made, { compat });
      expect(await entries(node)).toEqual(WHOLE);
      const [forwarding] = await linux(node).listForwarding(DEVICE);
      expect(forwarding?.destination).toBe(0x0a00_000c);
      const [neighbor] = await linux(node).listNeighbors(DEVICE);
      expect(neighbor?.ip).toBe(0x0af4_0200);
      made.nodes.remove("w1");
      await made.run(100);
      expect(await entries(node)).toEqual([]);
    },
  );

  it("an API server that does not answer: hardened asks again for the MAC, upstream makes another", async () => {
    for (const compat of BOTH) {
      const made = world();
      const first = await started(made, { compat });
      const data = `${PREFIX}/backend-data`;
      const before = `{"VNI":4096,"VtepMAC":"${OTHER_MAC}"}`;
      first.stop();
      made.nodes.annotate("l1", { [data]: before });
      await linux(first).deleteLink(DEVICE);
      // The Nodes are listed, and the own one is asked for twice: for a public address, and for the MAC.
      made.nodes.failGets(1, 2);
      const second = await started(made, { compat }, first.machine);
      if (compat === "hardened") {
        expect(second.state).toMatchObject({
          state: "waiting",
          finding: { code: "flannel-store-unreachable" },
        });
        await made.run(6_000);
      }
      expect(second.state).toMatchObject({ state: "running", isReady: true });
      const after = made.nodes.annotations("l1")[data];
      if (compat === "hardened") expect(after).toBe(before);
      else expect(after).not.toBe(before);
    }
  });

  it("a device is made again with its MAC while no API server answers, and one that cannot be looked for is no end", async () => {
    for (const compat of BOTH) {
      const made = world();
      let isFailing = false;
      const node = await started(made, {
        compat,
        wrapHost: (inner) => {
          const host = inner as LinuxHost;
          const wrapped = Object.create(host) as LinuxHost;
          wrapped.findVxlan = (name) =>
            isFailing ? Promise.reject(new Error("ip: timed out")) : host.findVxlan(name);
          return wrapped;
        },
      });
      const before = (await linux(node).findVxlan(DEVICE))?.mac;
      made.nodes.isGone = true;
      isFailing = true;
      await made.run(2_000);
      isFailing = false;
      await made.run(10_000);
      expect(node.flanneld.findings()).toEqual([]);
      isFailing = true;
      await linux(node).deleteLink(DEVICE);
      await made.run(5_000);
      expect(node.state).toMatchObject({ state: "running" });
      expect(node.flanneld.findings()).toMatchObject([
        { message: expect.stringContaining("timed out") as string },
      ]);
      isFailing = false;
      await made.run(60_000);
      expect((await linux(node).findVxlan(DEVICE))?.mac).toBe(before);
      expect(await entries(node)).toEqual(WHOLE);
      expect(node.flanneld.findings()).toEqual([]);
    }
  });

  it("with DirectRouting hardened keeps routes to others while the machine does not list its interfaces", async () => {
    const made = world();
    let isFailing = false;
    const node = await started(made, {
      compat: "hardened",
      netConf: { ...VXLAN_CONF, Backend: { ...VXLAN_CONF.Backend, DirectRouting: true } },
      wrapHost: (inner) => {
        const host = inner as LinuxHost;
        const wrapped = Object.create(host) as LinuxHost;
        wrapped.listInterfaces = () =>
          isFailing ? Promise.reject(new Error("ip: timed out")) : host.listInterfaces();
        return wrapped;
      },
    });
    const direct = "10.244.2.0/24 via 10.0.0.12 on eth0";
    expect(routesOf(node.machine)).toEqual([direct]);
    isFailing = true;
    made.nodes.put("w2", { podCIDR: "10.244.3.0/24", annotations: vxlanPeer("10.0.0.13", OTHER_MAC) });
    await made.run(61_000);
    expect(routesOf(node.machine)).toEqual([direct]);
    expect(node.flanneld.findings()).toMatchObject([{ code: "flannel-route-not-programmed" }]);
    isFailing = false;
    await made.run(60_000);
    expect(routesOf(node.machine)).toEqual([direct, "10.244.3.0/24 via 10.0.0.13 on eth0"]);
    expect(node.flanneld.findings()).toEqual([]);
  });

  it("CP-S6: the MAC that the node has published is that of its device after a restart", async () => {
    const made = world();
    const first = await started(made);
    const mac = JSON.parse(made.nodes.annotations("l1")[`${PREFIX}/backend-data`] ?? "{}") as {
      VtepMAC: string;
    };
    first.stop();
    await linux(first).deleteLink(DEVICE);
    const second = await started(made, {}, first.machine);
    const device = await linux(second).findVxlan(DEVICE);
    expect(device === undefined ? "" : formatMacWithColons(device.mac)).toBe(mac.VtepMAC);
    expect(mac.VtepMAC).toMatch(/^.[26ae]:/);
  });

  it("CP-F28: a type in capital letters is another one here", async () => {
    const peer = { ...vxlanPeer("10.0.0.12", MAC), [`${PREFIX}/backend-type`]: "VXLAN" };
    expect(await entries(await started(world(peer)))).toEqual([]);
  });

  it("a device of another VNI or port is made anew, one that fits is kept", async () => {
    const made = world();
    const first = await started(made);
    first.stop();
    const again = await started(made, {}, first.machine);
    expect(again.lines().some((line) => line.includes("recreating device"))).toBe(false);
    again.stop();
    const Backend = { Type: "vxlan", VNI: 4096, Port: 8472 };
    const other = await started(made, { netConf: { Network: "10.244.0.0/16", Backend } }, first.machine);
    expect(other.lines().some((line) => line.includes("port: 8472 vs 4789; recreating device"))).toBe(true);
    expect(await linux(other).findVxlan(DEVICE)).toMatchObject({ port: 8_472 });
  });

  it.each(BOTH)(
    "a device that somebody deletes is made again, with all that belongs to it (%s)",
    async (compat) => {
      const made = world();
      const node = await started(made, { compat });
      await linux(node).deleteLink(DEVICE);
      expect(routesOf(node.machine)).toEqual([]);
      await made.run(2_000);
      expect(await entries(node)).toEqual(WHOLE);
    },
  );

  it("a peer's new MAC: the old forwarding entry stays in upstream, and goes in hardened", async () => {
    for (const compat of BOTH) {
      const made = world();
      const node = await started(made, { compat });
      made.nodes.annotate("w1", vxlanPeer("10.0.0.12", OTHER_MAC));
      await made.run(100);
      const stale = compat === "upstream" ? [`fdb ${MAC}`] : [];
      expect(await entries(node)).toEqual([`arp ${OTHER_MAC}`, ...stale, `fdb ${OTHER_MAC}`, WHOLE[2]]);
    }
  });

  it("what belongs to nodes that left meanwhile goes in hardened", async () => {
    for (const compat of BOTH) {
      const made = world();
      const first = await started(made, { compat });
      first.stop();
      made.nodes.remove("w1");
      const second = await started(made, { compat }, first.machine);
      expect(await entries(second)).toEqual(compat === "upstream" ? WHOLE : []);
    }
  });

  it("when a step fails the ones before are taken back, and all are tried again", async () => {
    for (const compat of BOTH) {
      const made = world();
      let failures = 3;
      const failing = (inner: FlannelHost): FlannelHost => {
        const host = inner as LinuxHost;
        const wrapped = Object.create(host) as LinuxHost;
        wrapped.setForwarding = (...words) =>
          failures-- > 0 ? Promise.reject(new Error("no buffer space")) : host.setForwarding(...words);
        return wrapped;
      };
      const node = await started(made, { compat, wrapHost: failing });
      expect(node.lines().some((line) => line.includes("AddFDB failed: no buffer space"))).toBe(true);
      await made.run(5_000);
      expect(await entries(node)).toEqual(WHOLE);
      expect(node.flanneld.findings()).toEqual([]);
    }
  });

  it("upstream gives up after ten tries; hardened goes on", async () => {
    for (const compat of BOTH) {
      const made = world();
      let isFailing = true;
      const failing = (inner: FlannelHost): FlannelHost => {
        const host = inner as LinuxHost;
        const wrapped = Object.create(host) as LinuxHost;
        wrapped.setNeighbor = (...words) =>
          isFailing ? Promise.reject(new Error("no buffer space")) : host.setNeighbor(...words);
        return wrapped;
      };
      const node = await started(made, { compat, wrapHost: failing });
      await made.run(200_000);
      isFailing = false;
      await made.run(200_000);
      expect(await entries(node)).toEqual(compat === "upstream" ? [] : WHOLE);
    }
  });

  it("a peer of another VNI is left out by hardened", async () => {
    for (const compat of BOTH) {
      const node = await started(world(vxlanPeer("10.0.0.12", MAC, 5_000)), { compat });
      expect(await entries(node)).toEqual(compat === "upstream" ? WHOLE : []);
    }
  });

  it("DirectRouting: a neighbour of the link is reached without a tunnel", async () => {
    const Backend = { Type: "vxlan", VNI: 4096, Port: 4789, DirectRouting: true };
    const made = world();
    made.nodes.put("l9", { podCIDR: "10.244.9.0/24", annotations: vxlanPeer("192.0.2.9", OTHER_MAC) });
    const node = await started(made, { netConf: { Network: "10.244.0.0/16", Backend } });
    expect(await entries(node)).toEqual([
      `arp ${OTHER_MAC}`,
      `fdb ${OTHER_MAC}`,
      "10.244.2.0/24 via 10.0.0.12 on eth0",
      `10.244.9.0/24 via 10.244.9.0 on ${DEVICE}`,
    ]);
  });

  it("CP-S8: a frame to the peer has its MAC and this device's", async () => {
    const node = await started(world());
    const { root } = node.machine.host;
    const device = root.getInterface(DEVICE);
    const frames: Uint8Array[] = [];
    const tunnel = device?.device;
    if (tunnel === undefined) throw new Error("there is a device");
    const transmit = tunnel.transmit.bind(tunnel);
    tunnel.transmit = (packet) => {
      frames.push(packet.frame.slice());
      return transmit(packet);
    };
    const socket = root.udp.bind({ owner: { udpReceived: () => undefined, udpFailed: () => undefined } });
    if (typeof socket === "string") throw new Error(socket);
    socket.send({ destination: 0x0af4_020a as Ipv4, port: 53, bytes: new Uint8Array(4) });
    expect(frames).toHaveLength(1);
    const [frame = new Uint8Array(64)] = frames;
    expect(readU48(frame, 0)).toBe(parseMac(MAC));
    expect(readU48(frame, 6)).toBe(device?.mac);
    // CP-S9: what the host itself sends comes from .0 of its own range.
    expect(frame.slice(26, 30)).toEqual(new Uint8Array([10, 244, 1, 0]));
  });
});

describe("rules of iptables", () => {
  it("CP-S11: what kube-proxy has marked is left alone, before anything else", () => {
    const prefix = (address: number, length: number): never => ({ address, length }) as never;
    const { rules, jump } = masqueradeChain({
      network: prefix(0x0af4_0000, 16),
      subnet: prefix(0x0af4_0100, 24),
      isFullyRandom: true,
      isAsIptables: false,
    });
    const bare = rules.map((rule) => rule.join(" ").replace("-m comment --comment flanneld masq ", ""));
    expect(bare).toEqual([
      "-m mark --mark 0x4000/0x4000 -j RETURN",
      "-s 10.244.1.0/24 -d 10.244.0.0/16 -j RETURN",
      "-s 10.244.0.0/16 -d 10.244.1.0/24 -j RETURN",
      "! -s 10.244.0.0/16 -d 10.244.1.0/24 -j RETURN",
      "-s 10.244.0.0/16 ! -d 224.0.0.0/4 -j MASQUERADE --random-fully",
      "! -s 10.244.0.0/16 -d 10.244.0.0/16 -j MASQUERADE --random-fully",
    ]);
    expect(jump.at(-1)).toBe("FLANNEL-POSTRTG");
  });

  it("with --ip-masq the simulated node translates, without it does not", async () => {
    for (const ipMasq of [true, false]) {
      const node = await started(world(), { options: { ipMasq } });
      expect(node.machine.rules.listOwners().includes("l1")).toBe(ipMasq);
    }
  });
});

describe("host-gw on Linux", () => {
  const peer = published("host-gw", "10.0.0.12", "null");
  const ROUTE = "10.244.2.0/24 via 10.0.0.12 on eth0";

  it.each(BOTH)("a route comes with a lease, moves with it and goes with it (%s)", async (compat) => {
    const made = world(peer);
    const asked = vi.spyOn(SimulatedLinuxHost.prototype, "replaceRoute");
    const node = await started(made, { compat, netConf: HOST_GW_CONF });
    const given = asked.mock.calls.map(([{ device, isOnLink }]) => [device, isOnLink]);
    asked.mockRestore();
    expect(routesOf(node.machine)).toEqual([ROUTE]);
    // pkg/backend/route_network.go: destination, gateway, the interface's index, and no flags.
    expect(given).toEqual([["eth0", false]]);
    made.nodes.annotate("w1", published("host-gw", "10.0.0.77", "null"));
    await made.run(20_000);
    expect(routesOf(node.machine)).toEqual(["10.244.2.0/24 via 10.0.0.77 on eth0"]);
    made.nodes.remove("w1");
    await made.run(100);
    expect(routesOf(node.machine)).toEqual([]);
  });

  it.each(BOTH)("one that somebody has taken away is back within 10 s (%s)", async (compat) => {
    const made = world(peer);
    const node = await started(made, { compat, netConf: HOST_GW_CONF });
    const [route] = await linux(node).listRoutes(4);
    if (route === undefined) throw new Error("there is a route");
    await linux(node).removeRoute(route);
    await made.run(10_000);
    expect(routesOf(node.machine)).toEqual([ROUTE]);
  });

  it("after a restart routes to nodes that are gone stay in upstream", async () => {
    for (const compat of BOTH) {
      const made = world(peer);
      const first = await started(made, { compat, netConf: HOST_GW_CONF });
      first.stop();
      made.nodes.remove("w1");
      const second = await started(made, { compat, netConf: HOST_GW_CONF }, first.machine);
      await made.run(20_000);
      expect(routesOf(second.machine)).toEqual(compat === "upstream" ? [ROUTE] : []);
    }
  });

  it("its machine can be forked", async () => {
    const node = await started(world());
    expect(routesOf(fork(node.machine))).toEqual(routesOf(node.machine));
  });
});
