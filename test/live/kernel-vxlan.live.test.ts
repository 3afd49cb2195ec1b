// The Linux kernel's VXLAN device in a namespace, in the place of a Linux node: its packets reach the pods of a Windows node,
// and theirs reach its sockets. A UDP socket on port 4789 of this machine stands between them. Needs root,
// iproute2, iputils-ping and ethtool.
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { type Socket, createSocket } from "node:dgram";
import { once } from "node:events";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseIp } from "#core/net/ip.ts";
import { buildUdpFrame } from "#core/wire/build-frame.ts";
import type { TcpConnection, TcpOwner } from "#dataplane/host/tcp/tcp-connection.ts";
import { IdentificationServer } from "#dataplane/host/services/identification-server.ts";
import { OVERLAY_MACS } from "#test/support/dataplane/overlay-stages.ts";
import { type OverlayPod, OverlayWorld, remoteSubnet } from "#test/support/dataplane/overlay-world.ts";
import { formatMac } from "#core/net/mac.ts";
import { removeLeftovers } from "./leftovers.ts";

const run = promisify(execFile);

const NAMESPACE = `mullion-vx-${process.pid}`;
const VETH = `mlvx${process.pid}`;
/** This machine, and the kernel's node, on the cable between them. */
const HERE = "10.77.89.1";
const THERE = "10.77.89.2";
const VXLAN_PORT = 4_789;
/** Ethernet, IPv4 and UDP around a tunnel's header. */
const OUTER_BYTES = 14 + 20 + 8;
const STEP_MS = 5;
const { W1dr, W1m, L1m, L1v } = OVERLAY_MACS;
const POD = "10.244.1.10";
const KERNEL_POD = "10.244.3.10";

const address = (text: string) => parseIp(text)!;
const colons = (mac: typeof W1dr): string => formatMac(mac).replaceAll("-", ":").toLowerCase();

function ip(...words: readonly string[]): void {
  execFileSync("ip", words, { stdio: ["ignore", "ignore", "pipe"] });
}

function inside(...words: readonly string[]): void {
  ip("netns", "exec", NAMESPACE, ...words);
}

/** A VXLAN device as flanneld makes it on a Linux node, with the way to the Windows node W1. */
function addVxlan(name: string, vni: number, prefix: string): void {
  const gateway = prefix.replace(/\/\d+$/, "");
  const link = ["type", "vxlan", "id", `${vni}`, "dstport", `${VXLAN_PORT}`, "local", THERE, "nolearning"];
  inside("ip", "link", "add", name, "address", colons(L1v), ...link);
  // Else the kernel leaves checksums inside the tunnel to a card that is not there, and a socket sees them unfinished.
  inside("ethtool", "-K", name, "tx", "off");
  inside("ip", "link", "set", name, "mtu", "1450", "up");
  inside("ip", "neighbour", "replace", gateway, "lladdr", colons(W1dr), "dev", name, "nud", "permanent");
  inside("bridge", "fdb", "append", colons(W1dr), "dev", name, "dst", HERE);
  inside("ip", "route", "add", prefix, "via", gateway, "dev", name, "onlink", "src", KERNEL_POD);
}

/** Frames of the simulated segment for the node L1 as datagrams of the machine, and back; the world's time goes along. */
class Cable {
  private readonly world: OverlayWorld;
  private readonly socket: Socket;
  private readonly timer: NodeJS.Timeout;

  constructor(world: OverlayWorld, socket: Socket) {
    this.world = world;
    this.socket = socket;
    socket.on("message", (payload, { port }) => {
      world.l1.sendFrame(
        buildUdpFrame({
          link: { sourceMac: L1m, destinationMac: W1m },
          ip: {
            source: address("10.0.0.21"),
            destination: address("10.0.0.11"),
            ttl: 64,
            identification: 0,
            isDontFragment: false,
          },
          udp: { sourcePort: port, destinationPort: VXLAN_PORT },
          payload,
          checksum: "none",
        }),
      );
      this.step();
    });
    this.timer = setInterval(() => this.step(), STEP_MS);
  }

  private step(): void {
    const { clock, l1 } = this.world;
    clock.runUntil(clock.nowMs + STEP_MS);
    for (const packet of l1.heard.splice(0)) {
      // A copy: it is sent later, and the packet's memory is used again.
      const frame = packet.bytes.slice(packet.start + OUTER_BYTES, packet.end);
      this.socket.send(frame, VXLAN_PORT, THERE);
    }
  }

  close(): void {
    clearInterval(this.timer);
    this.socket.close();
  }
}

let world: OverlayWorld;
let pod: OverlayPod;
let cable: Cable;
const children: ChildProcess[] = [];

beforeAll(async () => {
  removeLeftovers("mullion-vx-", "mlvx");
  try {
    ip("netns", "add", NAMESPACE);
  } catch (error) {
    throw new Error("a namespace cannot be made: run as root, with iproute2, iputils-ping and ethtool", {
      cause: error,
    });
  }
  ip("link", "add", VETH, "type", "veth", "peer", "name", "eth0", "netns", NAMESPACE);
  ip("address", "add", `${HERE}/30`, "dev", VETH);
  ip("link", "set", VETH, "up");
  inside("ip", "link", "set", "lo", "up");
  inside("ip", "address", "add", `${THERE}/30`, "dev", "eth0");
  inside("ip", "link", "set", "eth0", "up");
  inside("ip", "address", "add", `${KERNEL_POD}/32`, "dev", "lo");
  addVxlan("flannel.4096", 4_096, "10.244.1.0/24");
  addVxlan("other.4097", 4_097, "10.244.9.0/24");

  world = new OverlayWorld();
  await world.w1.overlay("10.244.1.0/24", {
    router: W1dr,
    policies: [{ Type: "HostRoute", Settings: {} }, remoteSubnet("10.244.3.0/24", "10.0.0.21", L1v)],
  });
  pod = await world.w1.pod(POD, {
    Policies: [{ Type: "OutBoundNAT", Settings: { Exceptions: ["10.244.0.0/16"] } }],
  });
  const server = new IdentificationServer(pod.compartment, "pod-a");
  const failure = server.listenTcp(8_080) ?? server.listenUdp(8_080);
  if (failure !== undefined) throw new Error(failure);
  // Addresses are probed before they are used.
  world.run();

  const socket = createSocket("udp4");
  socket.bind(VXLAN_PORT, HERE);
  await once(socket, "listening");
  cable = new Cable(world, socket);
});

afterAll(() => {
  cable?.close();
  for (const child of children) child.kill();
  // The kernel takes its time with namespaces, and the next run has the same addresses.
  ip("link", "delete", VETH);
  ip("netns", "delete", NAMESPACE);
});

/** Runs a script of Node in the namespace. @returns what it printed. */
async function script(text: string): Promise<string> {
  const words = ["netns", "exec", NAMESPACE, process.execPath, "-e", text];
  return (await run("ip", words, { encoding: "utf8" })).stdout.trim();
}

/** Starts a script that prints a line when it listens, and later what it hears. */
async function start(text: string): Promise<ChildProcess> {
  const child = spawn("ip", ["netns", "exec", NAMESPACE, process.execPath, "-e", text], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  await once(child.stdout, "data");
  return child;
}

async function ping(to: string, bytes: number): Promise<string> {
  const words = ["netns", "exec", NAMESPACE, "ping", "-c", "2", "-i", "0.2", "-W", "2", "-s", `${bytes}`, to];
  try {
    const { stdout } = await run("ip", words, { encoding: "utf8" });
    return /(\d+) received/.exec(stdout)?.[1] ?? stdout;
  } catch (error) {
    return /(\d+) received/.exec((error as { stdout?: string }).stdout ?? "")?.[1] ?? String(error);
  }
}

describe("the kernel's VXLAN device and a Windows node on one overlay (dataplane.md §2.3 O-2, O-3)", () => {
  it.each([[56], [1_400], [1_422], [4_000]])(
    "the pod answers the kernel's ping of %i bytes",
    async (bytes) => {
      expect(await ping(POD, bytes)).toBe("2");
    },
  );

  it("a frame of another VNI is not the network's", async () => {
    expect(await ping("10.244.9.10", 56)).toBe("0");
  });

  it("the kernel's TCP reaches the pod, which sees the address of the kernel's pod", async () => {
    const answer = await script(`
      const socket = require("node:net").connect(8080, "${POD}", () => socket.end("who\\n"));
      socket.on("data", (data) => process.stdout.write(data));
      socket.setTimeout(5000, () => process.exit(1));`);
    expect(answer).toContain("pod-a");
    expect(answer).toContain(KERNEL_POD);
  });

  it("the kernel's datagrams reach the pod, and its answer comes back", async () => {
    const answer = await script(`
      const socket = require("node:dgram").createSocket("udp4");
      socket.on("message", (data) => { console.log(data.toString()); process.exit(); });
      socket.send("who", 8080, "${POD}");
      setTimeout(() => process.exit(1), 5000);`);
    expect(answer).toContain("pod-a");
    expect(answer).toContain(KERNEL_POD);
  });

  it("100 000 bytes of the pod's TCP arrive at a program on the kernel, unchanged, and come back", async () => {
    await start(`
      const server = require("node:net").createServer((socket) => socket.pipe(socket));
      server.listen(9000, "${KERNEL_POD}", () => console.log("up"));`);
    const sent = Uint8Array.from({ length: 100_000 }, (_, index) => (index * 7) & 0xff);
    const heard: number[] = [];
    const closed = Promise.withResolvers<void>();
    const owner: TcpOwner = {
      tcpConnected: (connection: TcpConnection) => {
        connection.send(sent);
      },
      tcpData: (_connection, bytes) => {
        heard.push(...bytes);
        if (heard.length >= sent.length) closed.resolve();
      },
      tcpPeerFinished: () => closed.resolve(),
      tcpClosed: () => closed.resolve(),
    };
    const connection = pod.compartment.tcp.connect({ destination: address(KERNEL_POD), port: 9_000, owner });
    expect(typeof connection).toBe("object");
    await closed.promise;
    expect(heard.length).toBe(sent.length);
    expect(Uint8Array.from(heard)).toEqual(sent);
  });
});
