/**
 * A long transfer between two real pods, through the translation of a Service and a tunnel between two nodes, while the rules on
 * its way change again and again. `MULLION_LIVE_BYTES=1000000000` sends as much. Needs root, /dev/net/tun,
 * iproute2 and gcc.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { kernelState, removeLeftovers } from "./leftovers.ts";

const run = promisify(execFile);
const PREFIX = "transfer-";
const NAME = `${PREFIX}${process.pid}`;
const BYTES = Number(process.env["MULLION_LIVE_BYTES"] ?? 50_000_000);
const CHANGES = 3;
const END_MS = 60_000;
const MTU_BYTES = 1_500;

const CLUSTER = `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: transfer }
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
  - { name: win-2, os: windows, build: ws2022, address: 10.0.0.12, podCIDR: 10.244.2.0/24 }
network: { driver: Overlay, name: vxlan0, vni: 4096 }
policy: calico
policyNetwork: vxlan0
pods:
  - { name: client, node: win-1, labels: { app: client } }
  - { name: far, node: win-2, labels: { app: far } }
workloads:
  - { pod: client, command: [sleep, infinity] }
  - { pod: far, command: [sleep, infinity] }
---
apiVersion: v1
kind: Service
metadata: { name: far }
spec: { clusterIP: 10.96.0.77, selector: { app: far }, ports: [{ port: 9000, targetPort: 9000 }] }
`;

/** What lets the transfer through, and a port that differs each time. A Service hides the sender behind an address of its node. */
const policy = (port: number): string => `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: far, namespace: default }
spec:
  podSelector: { matchLabels: { app: far } }
  policyTypes: [Ingress]
  ingress:
    - from: [{ ipBlock: { cidr: 10.244.0.0/16 } }]
      ports: [{ port: 9000 }, { port: ${port} }]
`;

/** Both say how much it was, and its SHA-256. */
const RECEIVER = `
const { createHash } = require("node:crypto");
const server = require("node:net").createServer((socket) => {
  const hash = createHash("sha256");
  let bytes = 0;
  socket.on("data", (piece) => { hash.update(piece); bytes += piece.length; });
  socket.on("end", () => { console.log(JSON.stringify({ bytes, sha256: hash.digest("hex"), from: socket.remoteAddress })); server.close(); });
  socket.on("error", (error) => { console.log(error.message); process.exit(1); });
});
server.listen(9000, () => console.error("listens"));`;

/** Sends at least so much, and until it is told that it is enough. */
const SENDER = `
const { createCipheriv, createHash } = require("node:crypto");
const { once } = require("node:events");
const [to, least] = process.argv.slice(1);
let isEnough = false;
process.stdin.on("data", () => { isEnough = true; process.stdin.destroy(); });
(async () => {
  const socket = require("node:net").connect(9000, to);
  socket.resume();
  await once(socket, "connect");
  const noise = createCipheriv("aes-128-ctr", Buffer.alloc(16, 7), Buffer.alloc(16));
  const zeros = Buffer.alloc(65_536);
  const hash = createHash("sha256");
  const begun = performance.now();
  let bytes = 0;
  while (!isEnough || bytes < Number(least)) {
    const piece = noise.update(zeros);
    hash.update(piece);
    bytes += piece.length;
    if (!socket.write(piece)) await once(socket, "drain");
    else if (bytes % 6_553_600 === 0) await new Promise(setImmediate);
  }
  socket.end();
  await once(socket, "close");
  console.log(JSON.stringify({ bytes, sha256: hash.digest("hex"), seconds: (performance.now() - begun) / 1000 }));
})().catch((error) => { console.log(error.message); process.exit(1); });`;

/** Sends so many bytes, and says of what it sends and of what comes back how much it is, and its SHA-256. */
const CLIENT = `
const { createCipheriv, createHash } = require("node:crypto");
const [to, count] = process.argv.slice(1);
const sent = createCipheriv("aes-128-ctr", Buffer.alloc(16, 7), Buffer.alloc(16)).update(Buffer.alloc(Number(count)));
const hash = createHash("sha256");
let bytes = 0;
const socket = require("node:net").connect(9000, to, () => socket.end(sent));
socket.on("data", (piece) => { hash.update(piece); bytes += piece.length; });
socket.on("error", (error) => { console.log(error.message); process.exit(1); });
socket.on("end", () => console.log(JSON.stringify([
  { bytes: sent.length, sha256: createHash("sha256").update(sent).digest("hex") }, { bytes, sha256: hash.digest("hex") },
])));`;

/** Gives back what it gets. */
const ECHO = `require("node:net").createServer((socket) => socket.pipe(socket)).listen(9000, () => console.error("listens"));`;

const SENDS = 20;
const DATAGRAMS = 40;
/** A datagram's bytes are all its number's; the last of a send is shorter. */
const DATAGRAM_BYTES = 1_200;
const LAST_BYTES = 700;

/** Sends as QUIC does: datagrams by the dozen, which the device is to cut (UDP_SEGMENT). */
const DATAGRAM_SENDER = `
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
  static char bytes[${DATAGRAMS} * ${DATAGRAM_BYTES}];
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9000)};
  int size = ${DATAGRAM_BYTES}, out = socket(AF_INET, SOCK_DGRAM, 0);
  if (argc < 2 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) return 2;
  if (setsockopt(out, IPPROTO_UDP, 103, &size, sizeof size) != 0) return 3;
  for (int send = 0; send < ${SENDS}; send++, usleep(5000)) {
    for (int i = 0; i < ${DATAGRAMS}; i++) memset(bytes + i * size, (send * ${DATAGRAMS} + i) % 251, size);
    if (sendto(out, bytes, sizeof bytes - size + ${LAST_BYTES}, 0, (struct sockaddr *)&to, sizeof to) < 0) return 4;
  }
  return 0;
}`;

/** Says how long each datagram was and what its bytes were, when all have come. */
const DATAGRAM_RECEIVER = `
const socket = require("node:dgram").createSocket("udp4");
const got = [];
socket.on("message", (bytes) => {
  got.push([bytes.length, bytes.every((byte) => byte === bytes[0]) ? bytes[0] : -1]);
  if (got.length < ${SENDS * DATAGRAMS}) return;
  console.log(JSON.stringify(got));
  socket.close();
});
socket.bind(9000, () => { socket.setRecvBufferSize(2 ** 20); console.error("listens"); });`;

let folder: string;
let before: string;
const running: ChildProcess[] = [];

async function mullion(...words: readonly string[]): Promise<string> {
  const env = { ...process.env, XDG_RUNTIME_DIR: folder, MULLION_NAME: NAME };
  const { stdout } = await run(process.execPath, ["bin/mullion.js", ...words], { env, maxBuffer: 2 ** 26 });
  return stdout;
}

function inPod(pod: string, script: string, ...words: readonly string[]): ChildProcess {
  return inNamespace(`mullion-${NAME}_${pod}`, script, ...words);
}

function inNamespace(namespace: string, script: string, ...words: readonly string[]): ChildProcess {
  const command = ["netns", "exec", namespace, process.execPath, "-e", script, ...words];
  const child = spawn("ip", command, { stdio: ["pipe", "pipe", "pipe"] });
  running.push(child);
  return child;
}

interface Told {
  readonly bytes: number;
  readonly sha256: string;
  readonly from?: string;
  readonly seconds?: number;
}

async function toldBy<T = Told>({ stdout }: ChildProcess): Promise<T> {
  const said = await text(stdout!);
  try {
    return JSON.parse(said) as T;
  } catch (cause) {
    throw new Error(`a program of a pod says: ${said}`, { cause });
  }
}

async function listening(server: ChildProcess): Promise<void> {
  const said = await new Promise((resolve) => server.stderr!.once("data", resolve));
  expect(String(said)).toBe("listens\n");
}

/** How long the frames of an interface were, on average. */
async function meanFrameBytes(namespace: string, device: string): Promise<{ in: number; out: number }> {
  const words = ["-netns", namespace, "-json", "-statistics", "link", "show", device];
  const { stdout } = await run("ip", words);
  type Counters = Readonly<Record<"rx" | "tx", { readonly bytes: number; readonly packets: number }>>;
  const [link] = JSON.parse(stdout) as readonly { readonly stats64: Counters }[];
  const { rx, tx } = link!.stats64;
  return { in: rx.bytes / rx.packets, out: tx.bytes / tx.packets };
}

/** A namespace on a bridge of this machine, at an address of the nodes' network. */
class Lab {
  readonly bridge = `mlt${process.pid}`;
  readonly namespace = `mullion-${PREFIX}${process.pid}-lab`;

  constructor(address: string) {
    this.ip(`link add ${this.bridge} up type bridge`);
    this.ip(`netns add ${this.namespace}`);
    this.ip(
      `link add ${this.bridge}v master ${this.bridge} up type veth peer name eth0 netns ${this.namespace}`,
    );
    this.ip(`-n ${this.namespace} address add ${address} dev eth0`);
    this.ip(`-n ${this.namespace} link set eth0 up`);
  }

  close(): void {
    this.ip(`link delete ${this.bridge}`);
    this.ip(`netns delete ${this.namespace}`);
  }

  private ip(words: string): void {
    execFileSync("ip", words.split(" "));
  }
}

beforeEach(() => {
  removeLeftovers(`mullion-${PREFIX}`, "mlt");
  before = kernelState();
  folder = mkdtempSync(join(tmpdir(), "mullion-transfer-"));
  writeFileSync(join(folder, "cluster.yaml"), CLUSTER);
});

afterEach(async () => {
  for (const child of running.splice(0)) child.kill("SIGKILL");
  await mullion("down");
  rmSync(folder, { recursive: true });
  await vi.waitUntil(() => kernelState() === before, { timeout: 10_000 });
}, END_MS);

it(`${BYTES / 1e6} MB through a Service and VXLAN arrive unchanged while a policy changes`, async () => {
  await mullion("up", "-f", join(folder, "cluster.yaml"), "--live");
  const receiver = inPod("far", RECEIVER);
  await listening(receiver);
  const sender = inPod("client", SENDER, "10.96.0.77", `${BYTES}`);
  const told = Promise.all([toldBy(sender), toldBy(receiver)]);
  // When the test fails before, nobody waits for it.
  told.catch(() => undefined);
  for (let change = 1; change <= CHANGES; change++) {
    const file = join(folder, "policy.yaml");
    writeFileSync(file, policy(9_100 + change));
    await mullion("apply", "-f", file);
    const rules = await mullion("get", "hnsendpoints", "-o", "json");
    expect(rules).toMatch(new RegExp(`"LocalPorts": "[^"]*${9_100 + change}"`));
  }
  sender.stdin!.end("enough");
  const [sent, arrived] = await told;
  expect({ bytes: arrived.bytes, sha256: arrived.sha256 }).toEqual({
    bytes: sent.bytes,
    sha256: sent.sha256,
  });
  expect(arrived.bytes).toBeGreaterThanOrEqual(BYTES);
  // The Service's translation, which is not direct (DSR), puts an address of the node in the place of the sender's.
  expect(arrived.from).toBe("::ffff:10.244.1.2");
  process.stdout.write(`${sent.bytes} bytes in ${sent.seconds?.toFixed(1)} s, SHA-256 ${sent.sha256}\n`);
});

describe("what a pod sends at once, and gets, stays whole through the translation of its node", () => {
  async function meanAfterEcho(namespace: string, address: string): Promise<number> {
    const server = inNamespace(namespace, ECHO);
    await listening(server);
    const [sent, back] = await toldBy<readonly [Told, Told]>(inPod("client", CLIENT, address, "20000000"));
    expect(back).toEqual(sent);
    const mean = await meanFrameBytes(namespace, "eth0");
    return Math.min(mean.in, mean.out);
  }

  it("to a machine beside the nodes", async () => {
    await mullion("up", "-f", join(folder, "cluster.yaml"), "--live");
    expect(await meanAfterEcho(`mullion-${NAME}`, "10.0.0.253")).toBeGreaterThan(MTU_BYTES);
  });

  it("datagrams of one send as well, to a machine and through a tunnel, and arrive as they were sent", async () => {
    await mullion("up", "-f", join(folder, "cluster.yaml"), "--live");
    const program = join(folder, "send");
    execFileSync("gcc", ["-x", "c", "-", "-o", program], { input: DATAGRAM_SENDER });
    const wanted = Array.from({ length: SENDS * DATAGRAMS }, (_, index) => [
      index % DATAGRAMS === DATAGRAMS - 1 ? LAST_BYTES : DATAGRAM_BYTES,
      index % 251,
    ]);
    const client = `mullion-${NAME}_client`;
    const { stdout } = await run("ip", [
      "-n",
      `mullion-${NAME}_far`,
      "-4",
      "-brief",
      "address",
      "show",
      "eth0",
    ]);
    const far = / ([\d.]+)\//.exec(stdout)?.[1] ?? "";
    for (const [namespace, address] of [
      [`mullion-${NAME}`, "10.0.0.253"],
      [`mullion-${NAME}_far`, far],
    ] as const) {
      const receiver = inNamespace(namespace, DATAGRAM_RECEIVER);
      await listening(receiver);
      await run("ip", ["netns", "exec", client, program, address]);
      expect(await toldBy<unknown>(receiver)).toEqual(wanted);
      expect((await meanFrameBytes(namespace, "eth0")).in).toBeGreaterThan(MTU_BYTES);
    }
    expect((await meanFrameBytes(client, "eth0")).out).toBeGreaterThan(MTU_BYTES);
  });

  it("to a machine on a bridge of the user", async () => {
    const lab = new Lab("10.0.0.200/24");
    try {
      await mullion("up", "-f", join(folder, "cluster.yaml"), "--live-bridge", lab.bridge);
      expect(await meanAfterEcho(lab.namespace, "10.0.0.200")).toBeGreaterThan(MTU_BYTES);
    } finally {
      await mullion("down");
      lab.close();
    }
  });
});
