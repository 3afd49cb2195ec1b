// Captures of a running cluster over its API: what passes is there once at each place, what questions send is not.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readPcapng } from "#test/support/wire/pcapng-reader.ts";
import type { ReadCapture } from "#test/support/wire/pcapng-reader.ts";
import { heldSession } from "#test/support/cluster/held-session.ts";
import { FixedSession } from "#test/support/cluster/fixed-session.ts";
import type { Hono } from "hono";
import type { MemoryDevice } from "#dataplane/device/memory-pair.ts";
import type { Cluster } from "#cluster/cluster.ts";
import { parseClusterFile } from "#cluster/file/parse-cluster-file.ts";
import { openCluster } from "#cluster/session/open-cluster.ts";
import { createApp } from "#cluster/api/app.ts";
import type { ErrorAnswer } from "#cluster/api/documents.ts";
import type { HeldCluster } from "#cluster/api/held-cluster.ts";
import { BlockReader } from "./capture.ts";

const FILE = `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: seen }
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
  - { name: win-2, os: windows, build: ws2022, address: 10.0.0.12, podCIDR: 10.244.2.0/24 }
network: { driver: Overlay, name: vxlan0, vni: 4096 }
pods:
  - { name: a, node: win-1, ports: [{ port: 8080 }] }
  - { name: b, node: win-2, ports: [{ port: 8080 }] }
`;

let held: HeldCluster;
let cluster: Cluster;
let app: Hono;

beforeEach(async () => {
  const parsed = parseClusterFile(FILE, "seen.yaml");
  if ("problems" in parsed) throw new Error(JSON.stringify(parsed.problems));
  cluster = await openCluster(parsed.cluster);
  held = heldSession(new FixedSession(cluster));
  app = createApp(held);
});

afterEach(() => held.end());

async function ask(inject: boolean): Promise<void> {
  const body = JSON.stringify({ from: "pod/a", to: "pod/b", protocol: "icmp", inject });
  expect((await app.request("/v1alpha1/trace", { method: "POST", body })).status).toBe(200);
}

/** What is captured while `work` is done; the cluster then ends, and with it the capture. */
async function captured(places: readonly string[], work: () => Promise<void>): Promise<ReadCapture> {
  const at = places.map((place) => `at=${encodeURIComponent(place)}`).join("&");
  const response = await app.request(`/v1alpha1/capture?${at}`);
  expect(response.headers.get("content-type")).toBe("application/x-pcapng");
  const reader = response.body?.getReader();
  const parts = [await nextOf(reader)];
  await work();
  // What was seen is written as the reader takes it.
  for (let rest = await soon(reader?.read()); rest !== undefined; rest = await soon(reader?.read()))
    parts.push(rest);
  return readPcapng(Buffer.concat(parts));
}

type Reader = ReadableStreamDefaultReader<Uint8Array> | undefined;

async function nextOf(reader: Reader): Promise<Uint8Array> {
  const { value = new Uint8Array(0) }: { readonly value?: Uint8Array | undefined } =
    (await reader?.read()) ?? {};
  return value;
}

async function soon(
  next: Promise<{ readonly value?: Uint8Array | undefined }> | undefined,
): Promise<Uint8Array | undefined> {
  const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 50));
  return Promise.race([next?.then(({ value }) => value), late]);
}

/** ICMP alone: bare, or behind 50 bytes of outer headers (dataplane.md §5). */
function echoes({ packets }: ReadCapture, place: number): readonly string[] {
  const isEcho = (frame: Uint8Array, at: number): boolean => frame[at + 12] === 8 && frame[at + 23] === 1;
  return packets.flatMap(({ frame, interface: number, direction }) => {
    const way = direction ?? "unsaid";
    if (number !== place) return [];
    if (isEcho(frame, 0)) return [`bare ${way}`];
    return frame.length > 84 && isEcho(frame, 50) ? [`outer ${way}`] : [];
  });
}

describe("a capture of a running cluster", () => {
  it("has the frames of each place, its way seen from there", async () => {
    const places = ["pod/a", "node/win-1", "underlay", "port/10.244.1.3", "pod/b", "external"];
    const seen = await captured(places, () => ask(true));
    expect(seen.interfaces.map(({ name }) => name)).toEqual(places);
    expect(places.map((_, index) => echoes(seen, index))).toEqual([
      ["bare out", "bare in"],
      ["outer out", "outer in"],
      ["outer unsaid", "outer unsaid"],
      ["bare out", "bare in"],
      ["bare in", "bare out"],
      [],
    ]);
  });

  it("has no frame of a question, which works on a copy", async () => {
    expect((await captured(["pod/a", "underlay"], () => ask(false))).packets).toEqual([]);
  });

  it("leaves nothing on the cables when it has ended", async () => {
    await captured(["pod/a"], () => ask(true));
    held.end();
    await expect.poll(() => held.openStreams).toBe(0);
    const [pod] = cluster.pods;
    const device = pod?.compartment.interfaceOf(pod.address)?.device as MemoryDevice;
    expect([device.isWatched, [...cluster.outlets]]).toEqual([false, []]);
  });

  it.each([
    ["a pod", "at=pod/c", 404, /nothing in cluster "seen" is called "pod\/c"/],
    ["a port", "at=port/nothing", 404, /no switch port is called "nothing"/],
    ["a Service", "at=service/x", 404, /is called "service\/x"/],
    ["an address", "at=192.0.2.1", 404, /192\.0\.2\.1 has no cable of its own/],
    [
      "too many",
      Array.from({ length: 33 }, (_, i) => `at=10.0.0.${i}`).join("&"),
      400,
      /33 places are named/,
    ],
  ])("%s that it cannot be of is refused", async (_name, query, status, message) => {
    const response = await app.request(`/v1alpha1/capture?${query}`);
    expect(response.status).toBe(status);
    expect(((await response.json()) as ErrorAnswer).error.message).toMatch(message);
    expect(held.openStreams).toBe(0);
  });
});

describe("what the command writes", () => {
  it("are whole blocks, wherever a socket cuts them", async () => {
    const response = await app.request("/v1alpha1/capture?at=pod/a&at=pod/b");
    const reader = response.body?.getReader();
    const head = await nextOf(reader);
    await ask(true);
    const rest = await nextOf(reader);
    const whole = Buffer.concat([head, rest]);
    const all = readPcapng(whole);
    expect(all.packets.length).toBeGreaterThan(3);
    for (let cut = 1; cut < whole.length; cut++) {
      const blocks = new BlockReader();
      const first = blocks.take(whole.subarray(0, cut));
      if (first.length > 0) expect(readPcapng(first).lost).toBe(0);
      expect(Buffer.concat([first, blocks.take(whole.subarray(cut))])).toEqual(whole);
      expect(blocks.frames).toBe(all.packets.length);
    }
    const two = new BlockReader(2);
    expect(readPcapng(two.take(whole)).packets).toEqual(all.packets.slice(0, 2));
    expect([two.isFull, two.take(whole)]).toEqual([true, Buffer.alloc(0)]);
  });

  it("refuses what is no capture", () => {
    expect(() => new BlockReader().take(Buffer.from("HTTP/1.1 200 OK"))).toThrow(/is not a capture/);
  });
});
