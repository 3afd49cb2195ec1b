/** The Linux kernel's own devices, routes and rules, in a namespace: needs root, iproute2 and iptables. */
import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ip, type Prefix, formatIp, formatPrefix, parseIp, parsePrefix } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { FlanneldWorld, vxlanPeer } from "#test/support/flannel/flanneld-world.ts";
import { MachineCommandRunner } from "../node/machine.node.ts";
import { IprouteHost } from "./iproute-host.ts";

const NAMESPACE = `mullion-fl-${process.pid}`;
const DEVICE = "flannel.4096";
const MAC = parseMac("aa:bb:cc:dd:ee:01") as Mac;

function ip(...words: readonly string[]): void {
  execFileSync("ip", words, { stdio: ["ignore", "ignore", "pipe"] });
}

function inside(...words: readonly string[]): void {
  ip("netns", "exec", NAMESPACE, ...words);
}

function address(text: string): Ip {
  return parseIp(text) as Ip;
}

function prefix(text: string): Prefix {
  return parsePrefix(text) as Prefix;
}

const runner = new MachineCommandRunner(["ip", "netns", "exec", NAMESPACE]);
const host = new IprouteHost(runner);

beforeAll(() => {
  try {
    ip("netns", "add", NAMESPACE);
  } catch (error) {
    throw new Error("a namespace cannot be made: run as root, with iproute2 installed", { cause: error });
  }
  inside("ip", "link", "set", "lo", "up");
  inside("ip", "link", "add", "eth0", "type", "bridge");
  inside("ip", "address", "add", "10.0.0.21/24", "dev", "eth0");
  inside("ip", "link", "set", "eth0", "up");
  inside("ip", "route", "add", "default", "via", "10.0.0.1");
});

afterAll(() => {
  ip("netns", "delete", NAMESPACE);
});

async function underlay(): Promise<number> {
  return (await host.defaultInterface(4)) ?? 0;
}

describe("flanneld on a Linux kernel", () => {
  it("finds interfaces, the default route and the way to an address", async () => {
    const eth0 = (await host.listInterfaces()).find(({ name }) => name === "eth0");
    expect(eth0).toMatchObject({ mtuBytes: 1_500, addresses: [{ ip: address("10.0.0.21"), length: 24 }] });
    expect(await host.defaultInterface(4)).toBe(eth0?.index);
    expect(await host.defaultInterface(6)).toBeUndefined();
    expect(await host.pathTo(address("203.0.113.9"))).toEqual({
      interfaceIndex: eth0?.index,
      source: address("10.0.0.21"),
    });
  });

  it("makes a device, finds it as it was asked for, gives it one address, and deletes it", async () => {
    expect(await host.findVxlan(DEVICE)).toBeUndefined();
    const mac = parseMac("02:11:22:33:44:55") as Mac;
    await host.createVxlan({
      name: DEVICE,
      vni: 4_096,
      port: 4_789,
      underlay: await underlay(),
      local: address("10.0.0.21"),
      mtuBytes: 1_450,
      isLearning: false,
      hasGroupPolicy: false,
      mac,
    });
    expect(await host.findVxlan(DEVICE)).toEqual({
      name: DEVICE,
      mac,
      mtuBytes: 1_450,
      vni: 4_096,
      port: 4_789,
      underlay: await underlay(),
      local: address("10.0.0.21"),
      hasGroupPolicy: false,
      isVxlan: true,
    });
    for (const text of ["10.244.7.0", "10.244.1.0"])
      await host.configureVxlan(DEVICE, { ip: address(text), length: 32 }, prefix("10.244.0.0/16"));
    const device = (await host.listInterfaces()).find(({ name }) => name === DEVICE);
    expect(device?.addresses).toEqual([{ ip: address("10.244.1.0"), length: 32 }]);
    await host.deleteLink(DEVICE);
    expect(await host.findVxlan(DEVICE)).toBeUndefined();
    expect(await host.findVxlan("eth0")).toMatchObject({ isVxlan: false });
  });

  it("CP-S7: a whole flanneld makes neighbour, forwarding entry and route, and takes them away", async () => {
    const world = new FlanneldWorld();
    world.nodes.put("l1", { podCIDR: "10.244.1.0/24" });
    world.nodes.put("w1", {
      podCIDR: "10.244.2.0/24",
      annotations: vxlanPeer("10.0.0.12", "aa:bb:cc:dd:ee:01"),
    });
    const machine = world.machine("l1", { os: "linux" });
    const node = world.flanneld(
      "l1",
      { os: "linux", compat: "hardened", options: { ipMasq: true } },
      { ...machine, flannelHost: host },
    );
    await world.run(1_100);
    expect(node.state).toMatchObject({ state: "running", isReady: true });
    expect(await host.listNeighbors(DEVICE)).toEqual([{ ip: address("10.244.2.0"), mac: MAC }]);
    expect(await host.listForwarding(DEVICE)).toEqual([{ mac: MAC, destination: address("10.0.0.12") }]);
    const routes = async (): Promise<readonly string[]> =>
      (await host.listRoutes(4)).map(
        (route) =>
          `${formatPrefix(route.prefix)} via ${formatIp(route.nextHop)} dev ${route.device}${route.isOnLink ? " onlink" : ""}`,
      );
    expect(await routes()).toContain(`10.244.2.0/24 via 10.244.2.0 dev ${DEVICE} onlink`);
    await host.deleteLink(DEVICE);
    await world.run(2_000);
    expect(await routes()).toContain(`10.244.2.0/24 via 10.244.2.0 dev ${DEVICE} onlink`);
    world.nodes.remove("w1");
    await world.run(1_000);
    expect(await host.listNeighbors(DEVICE)).toEqual([]);
    expect(await host.listForwarding(DEVICE)).toEqual([]);
    expect((await routes()).filter((route) => route.startsWith("10.244."))).toEqual([]);
    expect(node.lines().filter((line) => line.startsWith("E"))).toEqual([]);
    await host.deleteLink(DEVICE);
  });

  it("CP-S10: a tunnel of another VNI is dropped silently, one to another port is refused", async () => {
    await host.createVxlan({
      name: DEVICE,
      vni: 4_096,
      port: 4_789,
      underlay: await underlay(),
      local: address("10.0.0.21"),
      mtuBytes: 1_450,
      isLearning: false,
      hasGroupPolicy: false,
      mac: MAC,
    });
    await host.configureVxlan(DEVICE, { ip: address("10.244.1.0"), length: 32 }, prefix("10.244.0.0/16"));
    /** Sends one tunnelled frame in the namespace. @returns what its sender hears, and whether the device has it. */
    const send = (vni: number, port: number): readonly [string, boolean] => {
      const before = received();
      const script = `
        const socket = require("node:dgram").createSocket("udp4");
        const frame = Buffer.alloc(68);
        frame.writeUInt8(8, 0);
        frame.writeUIntBE(${vni}, 4, 3);
        frame.writeUIntBE(${MAC}, 8, 6);
        frame.writeUIntBE(2, 14, 6);
        frame.writeUInt16BE(0x0800, 20);
        const end = (text) => process.stdout.write(text, () => process.exit());
        socket.on("error", (error) => end(error.code));
        socket.connect(${port}, "10.0.0.21", () => socket.send(frame));
        setTimeout(() => end("nothing"), 300);`;
      const words = ["netns", "exec", NAMESPACE, process.execPath, "-e", script];
      const heard = execFileSync("ip", words, { encoding: "utf8" }).trim();
      return [heard, received() > before];
    };
    const received = (): number => {
      const words = ["netns", "exec", NAMESPACE, "cat", `/sys/class/net/${DEVICE}/statistics/rx_packets`];
      return Number(execFileSync("ip", words, { encoding: "utf8" }));
    };
    expect(send(4_096, 4_789)).toEqual(["nothing", true]);
    expect(send(4_097, 4_789)).toEqual(["nothing", false]);
    expect(send(4_096, 8_472)).toEqual(["ECONNREFUSED", false]);
    await host.deleteLink(DEVICE);
  });

  it("CP-S11: writes its chains, leaves them alone when they are whole, and mends them", async () => {
    const settings = {
      network: prefix("10.244.0.0/16"),
      subnet: prefix("10.244.1.0/24"),
      isFullyRandom: true,
      isAsIptables: false,
    } as const;
    const rules = async (): Promise<readonly string[]> =>
      (await runner.run("iptables", ["-t", "nat", "-S"]))
        .split("\n")
        .filter((line) => line.includes("FLANNEL-POSTRTG"));
    await host.ensureMasquerade(settings, "iptables");
    const whole = await rules();
    expect(whole.find((line) => line.startsWith("-A FLANNEL-POSTRTG"))).toContain("--mark 0x4000/0x4000");
    expect(whole).toHaveLength(8);
    await host.ensureMasquerade(settings, "iptables");
    expect(await rules()).toEqual(whole);
    inside("iptables", "-t", "nat", "-D", "FLANNEL-POSTRTG", "2");
    await host.ensureMasquerade(settings, "iptables");
    expect(await rules()).toEqual(whole);
    await host.ensureForwarding(prefix("10.244.0.0/16"), "iptables");
    await host.removeRules("iptables");
    expect(await rules()).toEqual([]);
  });

  it("--ip-blackhole-route: ends packets to addresses of the node's range that no pod has, once", async () => {
    const range = prefix("10.244.9.0/24");
    await host.ensureBlackhole(range);
    await host.ensureBlackhole(range);
    expect((await runner.run("ip", ["route", "show", "type", "blackhole"])).trim()).toBe(
      "blackhole 10.244.9.0/24",
    );
    inside("ip", "route", "delete", "blackhole", "10.244.9.0/24");
  });
});
