// TAP devices of the kernel, on a bridge in a namespace of their own. Needs root, /dev/net/tun and iproute2.
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { execPath } from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { parseIp } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { buildTcpFrame } from "#core/wire/build-frame.ts";
import { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { finishSum, pseudoHeaderSum, sumWords } from "#core/wire/checksum.ts";
import type { Packet } from "#core/wire/packet.ts";
import { cutSuperFrame } from "#core/wire/segmentation.ts";
import { InterfaceSettings } from "#dataplane/device/linux/interface-settings.node.ts";
import { NetworkNamespace, removeLeftName } from "#dataplane/device/linux/network-namespace.node.ts";
import { Readiness } from "#dataplane/device/linux/readiness.node.ts";
import { SystemCalls } from "#dataplane/device/linux/system-calls.node.ts";
import { TapDevice, tapFailure } from "#dataplane/device/linux/tap.node.ts";
import { type DevicePair, describeDevice } from "#test/support/dataplane/device-contract.ts";

const calls = new SystemCalls();
const NAME = `mullion-tap-${process.pid}`;
const WAIT_MS = 10_000;

interface TapPair extends DevicePair {
  readonly left: TapDevice;
  readonly right: TapDevice;
}

/** Two TAPs on a bridge. */
function openPair(offloads: { readonly left: boolean; readonly right: boolean }): TapPair {
  const { namespace, built } = NetworkNamespace.make(calls, () => {
    execFileSync("ip", ["link", "add", "br0", "type", "bridge", "mcast_snooping", "0"]);
    execFileSync("ip", ["link", "set", "br0", "up"]);
    const settings = new InterfaceSettings(calls);
    const [left, right] = (["left", "right"] as const).map((name) => {
      const tap = TapDevice.open(calls, { name, mtuBytes: 1_500, hasOffloads: offloads[name] });
      settings.addToBridge("br0", name);
      settings.setUp(name);
      return tap;
    });
    settings.close();
    return { left: left!, right: right! };
  });
  const readiness = new Readiness(calls);
  const taps = [built.left, built.right];
  for (const { fd } of taps) readiness.add(fd);
  const carrying = (async () => {
    for (let ready = await readiness.wait(); ready !== undefined; ready = await readiness.wait())
      for (const tap of taps) if (ready.includes(tap.fd)) tap.readBurst(16);
  })();
  return {
    ...built,
    run: async (isDone) => {
      const end = Date.now() + WAIT_MS;
      while (!isDone() && Date.now() < end) await sleep(5);
    },
    cut: () => {
      readiness.remove(built.left.fd);
      built.left.close();
    },
    close: async () => {
      readiness.close();
      await carrying;
      for (const tap of taps) tap.close();
      namespace.close();
    },
  };
}

describeDevice("TAPs on a bridge of the kernel", () => openPair({ left: false, right: false }));
describeDevice("TAPs with offloads", () => openPair({ left: true, right: true }));

/** Whether the TCP checksum of a packet is right. */
function isSound(packet: Packet): boolean {
  const headers = new Headers();
  if (headers.parse(packet) !== undefined) return false;
  const { network, transport, end } = headers;
  const pseudo = pseudoHeaderSum(packet.bytes, network + 12, 4, IpProtocol.tcp, end - transport);
  return finishSum(sumWords(packet.bytes, transport, end, pseudo)) === 0;
}

function superFrame(): Packet {
  const packet = buildTcpFrame({
    link: { sourceMac: 0x0200_0000_0001 as Mac, destinationMac: 0x0200_0000_0002 as Mac },
    ip: {
      source: parseIp("192.0.2.1")!,
      destination: parseIp("192.0.2.2")!,
      ttl: 64,
      identification: 1,
      isDontFragment: true,
    },
    tcp: { sourcePort: 1, destinationPort: 2, sequence: 1_000, acknowledgment: 1, flags: 0x18, window: 500 },
    payload: Uint8Array.from({ length: 20_000 }, (_, index) => index & 0xff),
  });
  packet.segmentBytes = 1_400;
  return packet;
}

describe("large sends through the kernel", () => {
  let pair: TapPair;
  afterEach(() => pair.close());

  async function received(left: boolean, right: boolean): Promise<readonly Packet[]> {
    pair = openPair({ left, right });
    const packets: Packet[] = [];
    const headers = new Headers();
    pair.right.attach({
      receive: (packet) => {
        if (headers.parse(packet) === undefined && headers.protocol === IpProtocol.tcp) packets.push(packet);
      },
    });
    expect(pair.left.transmit(superFrame())).toBe(true);
    const payloadBytes = (): number => packets.reduce((sum, { length }) => sum + length - 54, 0);
    await pair.run(() => payloadBytes() >= 20_000);
    const onWire = packets.flatMap((packet) => cutSuperFrame(packet) ?? [packet]);
    expect(onWire.every(isSound)).toBe(true);
    expect(payloadBytes()).toBe(20_000);
    return packets;
  }

  it("stay whole between TAPs with offloads", async () => {
    const packets = await received(true, true);
    expect(packets.map(({ length, segmentBytes }) => [length, segmentBytes])).toEqual([[20_054, 1_400]]);
  });

  it("are cut by the kernel for a TAP without", async () => {
    const packets = await received(true, false);
    expect(packets).toHaveLength(15);
    expect(packets.every(({ segmentBytes }) => segmentBytes === 0)).toBe(true);
  });

  it("are cut here where the sender's TAP has none", async () => {
    expect(await received(false, false)).toHaveLength(15);
  });
});

/** A process that has waited, and ends what it waited with. */
const NOBODY_WAITS = [
  "--conditions=mullion-source",
  "--input-type=module",
  "-e",
  `import { Readiness } from "./src/dataplane/device/linux/readiness.node.ts";
   import { SystemCalls } from "./src/dataplane/device/linux/system-calls.node.ts";
   const calls = new SystemCalls();
   const readiness = new Readiness(calls);
   const bell = calls.call("eventfd", "", 0, 0);
   readiness.add(bell);
   const waiting = readiness.wait();
   calls.call("write", "eventfd", bell, new Uint8Array(BigUint64Array.of(1n).buffer), 8);
   await waiting;
   readiness.close();`,
];

describe.each([
  ["the kernel rings a bell", true],
  ["without io_uring a thread waits", false],
])("frames are waited for: %s", (_, hasRing) => {
  it("and each is heard of, one after the other and in the end", async () => {
    const readiness = new Readiness(calls, hasRing);
    expect(readiness.isDirect).toBe(hasRing);
    const bell = calls.call("eventfd", "", 0, 0);
    readiness.add(bell);
    const bytes = new Uint8Array(8);
    for (let count = 0; count < 50; count++) {
      const waiting = readiness.wait();
      calls.call("write", "eventfd", bell, new Uint8Array(BigUint64Array.of(1n).buffer), 8);
      expect(await waiting).toEqual([bell]);
      calls.call("read", "eventfd", bell, bytes, 8);
    }
    const waiting = readiness.wait();
    readiness.close();
    expect(await waiting).toBeUndefined();
    calls.call("close", "eventfd", bell);
  });

  // Who had its last frame refused because all ends does not wait again.
  it("and nothing is left open where nobody waits when it ends", async () => {
    const open = (): number => readdirSync("/proc/self/fd").length;
    const before = open();
    const readiness = new Readiness(calls, hasRing);
    const bell = calls.call("eventfd", "", 1, 0);
    readiness.add(bell);
    expect(await readiness.wait()).toEqual([bell]);
    readiness.close();
    expect(await readiness.wait()).toBeUndefined();
    calls.call("close", "eventfd", bell);
    await vi.waitUntil(() => open() === before);
    const process = spawnSync(execPath, NOBODY_WAITS, { encoding: "utf8", timeout: WAIT_MS });
    expect([process.status, process.stderr]).toEqual([0, ""]);
  });
});

describe("a TAP", () => {
  it("takes no processor time while nothing comes", async () => {
    const pair = openPair({ left: false, right: false });
    await sleep(2_000);
    const before = process.cpuUsage();
    await sleep(3_000);
    const { user, system } = process.cpuUsage(before);
    await pair.close();
    // Of 3 s; the runner itself takes some.
    expect((user + system) / 3_000_000).toBeLessThan(0.02);
  });

  it("says when its name is taken", () => {
    const { built, namespace } = NetworkNamespace.make(calls, () => {
      const first = TapDevice.open(calls, { name: "tap", mtuBytes: 1_500 });
      try {
        TapDevice.open(calls, { name: "tap", mtuBytes: 1_500 });
        return undefined;
      } catch (error) {
        return tapFailure(error);
      } finally {
        first.close();
      }
    });
    namespace.close();
    expect(built).toBe("name-taken");
  });

  it("says when nobody permits it", () => {
    const program = `
      import { SystemCalls } from "./src/dataplane/device/linux/system-calls.node.ts";
      import { TapDevice, tapFailure } from "./src/dataplane/device/linux/tap.node.ts";
      try { TapDevice.open(new SystemCalls(), { name: "mullion-none", mtuBytes: 1500 }); }
      catch (error) { console.log(tapFailure(error), error.message); }`;
    const words = [
      "-Ur",
      process.execPath,
      "--conditions=mullion-source",
      "--input-type=module",
      "-e",
      program,
    ];
    const { stdout, stderr } = spawnSync("unshare", words, { encoding: "utf8" });
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^not-permitted ioctl mullion-none: operation not permitted \(EPERM\)\n$/);
  });

  it("is gone with its process, and what the namespace was called is taken away by the next", () => {
    const program = `
      import { SystemCalls } from "./src/dataplane/device/linux/system-calls.node.ts";
      import { NetworkNamespace } from "./src/dataplane/device/linux/network-namespace.node.ts";
      import { TapDevice } from "./src/dataplane/device/linux/tap.node.ts";
      const calls = new SystemCalls();
      const { namespace, built } = NetworkNamespace.make(calls, () => TapDevice.open(calls, { name: "eth0", mtuBytes: 1500 }));
      namespace.setName(${JSON.stringify(NAME)});
      console.log(built.name);
      process.kill(process.pid, process.argv[1]);`;
    const words = ["--conditions=mullion-source", "--input-type=module", "-e", program];
    const names = (): string => execFileSync("ip", ["netns", "list"], { encoding: "utf8" });
    expect(spawnSync(process.execPath, [...words, "SIGKILL"], { encoding: "utf8" }).signal).toBe("SIGKILL");
    expect(names()).toContain(NAME);
    expect(removeLeftName(calls, NAME, "eth0")).toBe(true);
    expect(names()).not.toContain(NAME);
  });
});
