// Same input, same bytes; and what runs in a copy of a cluster changes nothing in it.
import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  type SessionWorld,
  apply,
  ask,
  askName,
  clusterText,
  openSessionWorld,
  podOf,
  stateOf,
} from "#test/support/cluster/session-world.ts";
import { forkCluster } from "../cluster.ts";
import { captureTrace } from "../trace/capture.ts";
import { readInput } from "../input/read-input.ts";
import { formatTrace } from "../trace/format-trace.ts";
import { tracePacket } from "../trace/trace.ts";
import { openSession } from "./open-session.ts";

const FOLDER = "examples/mixed-services";

function open(): Promise<SessionWorld> {
  const manifests = readdirSync(`${FOLDER}/manifests`).toSorted();
  return openSessionWorld(
    readFileSync(`${FOLDER}/cluster.yaml`, "utf8"),
    ...manifests.map((file) => readFileSync(`${FOLDER}/manifests/${file}`, "utf8")),
  );
}

const CALLS = [
  ["ledger-0", "service/orders"],
  ["ledger-0", "service/storefront"],
  ["orders-", "service/storefront"],
  ["storefront-", "external"],
] as const;

/** Everything a user may see of a cluster: objects, HNS, traces and captures. */
async function seenOf(world: SessionWorld): Promise<string> {
  const { cluster } = world.session;
  const traces = CALLS.map(([from, to]) => {
    const request = { from: podOf(world, from), to, protocol: "tcp" as const, port: 80 };
    const { report, heard } = tracePacket(cluster, request);
    return { report, capture: Buffer.from(captureTrace(heard, 0)).toString("hex") };
  });
  return JSON.stringify({
    objects: cluster.objects,
    state: await stateOf(world),
    nowMs: cluster.clock.nowMs,
    notes: world.begun.notes,
    traces,
  });
}

describe("two clusters from the same input", () => {
  it("are the same, byte for byte, also after the same changes", async () => {
    const [first, second] = [await open(), await open()];
    expect(await seenOf(first)).toBe(await seenOf(second));
    const change = readFileSync(`${FOLDER}/manifests/orders.yaml`, "utf8").replace(
      "replicas: 2",
      "replicas: 4",
    );
    for (const world of [first, second]) await apply(world, change);
    expect(await seenOf(first)).toBe(await seenOf(second));
  });
});

describe("a copy of a cluster", () => {
  it("can be asked without a trace in the original: packets, names, time", async () => {
    const world = await open();
    const before = await seenOf(world);
    for (const [from, to] of CALLS) ask(world, podOf(world, from), to);
    for (const name of ["orders", "orders.default", "www.example.com"])
      for (const from of ["ledger-0", "orders-"]) askName(world, podOf(world, from), name);
    const copy = forkCluster(world.session.cluster);
    copy.clock.runUntil(copy.clock.nowMs + 3_600_000);
    expect(await seenOf(world)).toBe(before);
  });

  it("stays as it was when the original changes", async () => {
    const world = await open();
    const copy = forkCluster(world.session.cluster);
    const request = {
      from: podOf(world, "ledger-0"),
      to: "service/orders",
      protocol: "tcp" as const,
      port: 80,
    };
    const before = JSON.stringify(tracePacket(copy, request).report);
    const gone = readFileSync(`${FOLDER}/manifests/orders.yaml`, "utf8").replace(
      "replicas: 2",
      "replicas: 0",
    );
    await apply(world, gone);
    expect(tracePacket(world.session.cluster, request).report.verdict).not.toBe("answered");
    expect(copy.objects.Pod.some(({ metadata }) => metadata.name.startsWith("orders-"))).toBe(true);
    expect(JSON.stringify(tracePacket(copy, request).report)).toBe(before);
  });
});

it("an answer depends on the memory of the machine only where the room for connections is full", async () => {
  const pod = (name: string, node: string) => `
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec: { nodeName: ${node}, containers: [{ name: c, image: server, ports: [{ containerPort: 8080 }] }] }
---`;
  const text = `${pod("a", "win-1")}${pod("b", "win-2")}`;
  const read = readInput([
    { name: "1.yaml", text: clusterText() },
    { name: "2.yaml", text },
  ]);
  if (!("input" in read)) throw new Error("no cluster");
  const { file, objects } = read.input;
  const asked = async (flowsMax: number | undefined): Promise<string> => {
    const { session } = await openSession({ file, objects, flowsMax });
    const request = { from: "pod/a", to: "pod/b", protocol: "tcp", port: 8080 } as const;
    return formatTrace(tracePacket(session.cluster, request).report);
  };
  const usual = await asked(undefined);
  expect(usual).not.toContain("flow-table-full");
  expect(await asked(16_384)).toBe(usual);
  expect(await asked(0)).toContain("flow-table-full");
});
