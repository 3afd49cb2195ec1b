// TAP devices of the kernel, on a bridge in a namespace of their own. Needs root, /dev/net/tun and iproute2.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { execPath } from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { defined } from "#core/base/assert.ts";
import { viewOf } from "#core/base/bytes.ts";
import { parseIp } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { buildEthernetFrame, buildTcpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Packet } from "#core/wire/packet.ts";
import { cutSuperFrame } from "#core/wire/segmentation.ts";
import { verifyChecksums } from "#core/wire/transport-checksum.ts";
import { InterfaceSettings } from "#dataplane/device/linux/interface-settings.node.ts";
import {
  NetworkNamespace,
  inNamespace,
  removeLeftName,
} from "#dataplane/device/linux/network-namespace.node.ts";
import { FrameMemory } from "#dataplane/device/linux/frame-memory.ts";
import { PolledExchange } from "#dataplane/device/linux/polled-exchange.node.ts";
import { Readiness } from "#dataplane/device/linux/readiness.node.ts";
import { RingExchange } from "#dataplane/device/linux/ring-exchange.node.ts";
import { SystemCalls } from "#dataplane/device/linux/system-calls.node.ts";
import type { TapExchange, TapGone } from "#dataplane/device/linux/tap-exchange.node.ts";
import { TapDevice, tapFailure } from "#dataplane/device/linux/tap.node.ts";
import { type DevicePair, describeDevice } from "#test/support/dataplane/device-contract.ts";

const calls = new SystemCalls();
const NAME = `mullion-tap-${process.pid}`;
const WAIT_MS = 10_000;

interface TapPair extends DevicePair {
  readonly left: TapDevice;
  readonly right: TapDevice;
  /** TAPs that somebody took away. */
  readonly gone: readonly TapDevice[];
  /** In their namespace. */
  ip(words: string): string;
}

/** By name: how frames are exchanged. */
const EXCHANGES = {
  burst: (gone: TapGone) => defined(RingExchange.open(calls, new FrameMemory(), gone), "Linux 6.7"),
  single: (gone: TapGone) => new PolledExchange(calls, new FrameMemory(), gone),
  thread: (gone: TapGone) => new PolledExchange(calls, new FrameMemory(), gone, false),
} as const;
type ExchangeName = keyof typeof EXCHANGES;
const WAYS = ["burst", "single", "thread"] as const;

/** Two TAPs on a bridge. */
function openPair(
  offloads: { readonly left: boolean; readonly right: boolean },
  way: ExchangeName = "burst",
): TapPair {
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
  const gone: TapDevice[] = [];
  const exchange: TapExchange = EXCHANGES[way]((tap) => gone.push(tap));
  const taps = [built.left, built.right];
  for (const tap of taps) exchange.add(tap);
  const carrying = new Promise<void>((resolve) => {
    const carry = (isOpen: boolean): void => {
      if (!isOpen) return resolve();
      exchange.exchange(() => undefined);
      exchange.wait(carry);
    };
    exchange.wait(carry);
  });
  return {
    ...built,
    gone,
    ip: (words) =>
      inNamespace(calls, `/proc/self/fd/${namespace.fd}`, () =>
        execFileSync("ip", words.split(" "), { encoding: "utf8" }),
      ),
    run: async (isDone) => {
      const end = Date.now() + WAIT_MS;
      while (!isDone() && Date.now() < end) await sleep(5);
    },
    cut: () => {
      exchange.remove(built.left);
      built.left.close();
    },
    close: async () => {
      exchange.close();
      await carrying;
      for (const tap of taps) tap.close();
      namespace.close();
    },
  };
}

for (const name of WAYS) {
  describeDevice(`TAPs on a bridge of the kernel, ${name}`, () =>
    openPair({ left: false, right: false }, name),
  );
  describeDevice(`TAPs with offloads, ${name}`, () => openPair({ left: true, right: true }, name));
}

describe.each(WAYS)("frames of TAPs, %s", (name) => {
  let pair: TapPair;
  beforeEach(() => {
    pair = openPair({ left: true, right: true }, name);
  });
  afterEach(() => pair.close());

  const ETHER_TYPE = 0x88b5;
  function numbered(number: number): Packet {
    const payload = new Uint8Array(46);
    viewOf(payload).setUint32(0, number);
    const link = { sourceMac: 0x0200_0000_0001 as Mac, destinationMac: 0x0200_0000_0002 as Mac };
    return buildEthernetFrame({ link, etherType: ETHER_TYPE, payload });
  }

  /** The numbers that arrive at the right. */
  function arrivals(): readonly number[] {
    const numbers: number[] = [];
    pair.right.attach({
      receive: ({ view, start }) => {
        if (view.getUint16(start + 12) === ETHER_TYPE) numbers.push(view.getUint32(start + 14));
      },
    });
    return numbers;
  }

  it("none is lost, and none overtakes another, where more come than are read at a time", async () => {
    const got = arrivals();
    const wanted: number[] = [];
    // The kernel keeps 1,000 for each TAP.
    for (let burst = 0; burst < 8; burst++) {
      for (let number = burst * 500; number < (burst + 1) * 500; number++) {
        wanted.push(number);
        pair.left.transmit(numbered(number));
      }
      await pair.run(() => got.length === wanted.length);
    }
    expect(got).toEqual(wanted);
  });

  it("what else Node's loop waits for has its turn while none comes, and while many do", async () => {
    const server = createServer((socket) => socket.end("answer")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    let isOver = false;
    const flood = (): void => {
      for (let number = 0; number < 50; number++) pair.left.transmit(numbered(number));
      if (!isOver) setTimeout(flood, 1);
    };
    for (const isBusy of [false, true]) {
      if (isBusy) flood();
      const beginMs = performance.now();
      await sleep(20);
      await once(spawn("true"), "exit");
      const socket = connect(port, "127.0.0.1");
      expect(String(await once(socket, "data"))).toContain("answer");
      socket.destroy();
      expect(await readFile("/proc/self/comm", "utf8")).not.toBe("");
      expect(performance.now() - beginMs).toBeLessThan(WAIT_MS);
    }
    isOver = true;
    server.close();
  });

  it("the interface is gone when it is taken out and closed, and the others go on", async () => {
    expect(pair.ip("-o link")).toContain("left");
    pair.cut();
    await vi.waitUntil(() => !pair.ip("-o link").includes("left"));
    expect(pair.ip("-o link")).toContain("right");
    // The kernel greets on a new interface.
    let heard = 0;
    pair.right.attach({ receive: () => heard++ });
    pair.ip("link set right down");
    pair.ip("link set right up");
    await pair.run(() => heard > 0);
    expect(heard).toBeGreaterThan(0);
  });

  it("each that an interface does not take, because it is down, is told", async () => {
    let lost = 0;
    pair.left.onLost = () => lost++;
    pair.ip("link set left down");
    for (let number = 0; number < 3; number++) pair.left.transmit(numbered(number));
    await pair.run(() => lost === 3);
    expect([lost, pair.left.lost]).toEqual([3, 3]);
    const got = arrivals();
    pair.ip("link set left up");
    await pair.run(() => {
      pair.left.transmit(numbered(7));
      return got.length > 0;
    });
    expect(got).toContain(7);
  });

  it("a TAP that somebody takes away is told once", async () => {
    pair.ip("link delete left");
    await pair.run(() => pair.gone.length > 0);
    await sleep(50);
    expect(pair.gone).toEqual([pair.left]);
  });
});

/** Whether the checksums of a packet are right. */
function isSound(packet: Packet): boolean {
  const headers = new Headers();
  return headers.parse(packet) === undefined && verifyChecksums(packet.bytes, headers) === undefined;
}

const PAYLOAD = Uint8Array.from({ length: 20_000 }, (_, index) => index & 0xff);
const parts = {
  link: { sourceMac: 0x0200_0000_0001 as Mac, destinationMac: 0x0200_0000_0002 as Mac },
  ip: {
    source: parseIp("192.0.2.1")!,
    destination: parseIp("192.0.2.2")!,
    ttl: 64,
    identification: 1,
    isDontFragment: true,
  },
  payload: PAYLOAD,
};
const tcp = {
  sourcePort: 1,
  destinationPort: 2,
  sequence: 1_000,
  acknowledgment: 1,
  flags: 0x18,
  window: 500,
};
const LARGE_SENDS = {
  TCP: () => buildTcpFrame({ ...parts, tcp }),
  UDP: () => buildUdpFrame({ ...parts, udp: { sourcePort: 1, destinationPort: 2 } }),
} as const;

describe.each(["TCP", "UDP"] as const)("large sends of %s through the kernel", (protocol) => {
  const headerBytes = { TCP: 54, UDP: 42 }[protocol];
  const number = { TCP: IpProtocol.tcp, UDP: IpProtocol.udp }[protocol];
  let pair: TapPair;
  afterEach(() => pair.close());

  async function received(left: boolean, right: boolean): Promise<readonly Packet[]> {
    pair = openPair({ left, right });
    const packets: Packet[] = [];
    const headers = new Headers();
    pair.right.attach({
      receive: (packet) => {
        if (headers.parse(packet) === undefined && headers.protocol === number) packets.push(packet);
      },
    });
    const whole = LARGE_SENDS[protocol]();
    whole.segmentBytes = 1_400;
    expect(pair.left.transmit(whole)).toBe(true);
    const payloadBytes = (): number => packets.reduce((sum, { length }) => sum + length - headerBytes, 0);
    await pair.run(() => payloadBytes() >= 20_000);
    const onWire = packets.flatMap((packet) => cutSuperFrame(packet) ?? [packet]);
    expect(onWire.every(isSound)).toBe(true);
    expect(onWire.flatMap(({ frame }) => [...frame.subarray(headerBytes)])).toEqual([...PAYLOAD]);
    return packets;
  }

  it("stay whole between TAPs with offloads", async () => {
    const packets = await received(true, true);
    expect(packets.map(({ length, segmentBytes }) => [length, segmentBytes])).toEqual([
      [20_000 + headerBytes, 1_400],
    ]);
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
  it.each(WAYS)("takes no processor time while nothing comes, %s", async (name) => {
    const pair = openPair({ left: false, right: false }, name);
    await sleep(2_000);
    const shares: number[] = [];
    for (let window = 0; window < 9; window++) {
      const before = process.cpuUsage();
      await sleep(300);
      const { user, system } = process.cpuUsage(before);
      shares.push((user + system) / 300_000);
    }
    await pair.close();
    // The runner itself takes some now and then; what goes round takes all of each window, and a timer some.
    const median = shares.toSorted((one, other) => one - other)[4];
    expect(median).toBeLessThan(0.02);
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
