// The captures of traces, read by tshark: well-formed traffic has no malformed packet and no bad checksum.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { captureTrace } from "#cluster/trace/capture.ts";
import type { Cluster } from "#cluster/cluster.ts";
import { listTraceEnds } from "#cluster/trace/find-trace-end.ts";
import type { HeardEvent } from "#cluster/trace/trace-collector.ts";
import { tracePacket } from "#cluster/trace/trace.ts";
import { openTestCluster } from "../support/cluster/walk.ts";

const CHECKS = ["ip", "tcp", "udp"].flatMap((protocol) => ["-o", `${protocol}.check_checksum:TRUE`]);
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mullion-captures-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs tshark over a capture. A missing tshark fails the test and says how to get it. */
function tshark(capture: Uint8Array, ...argv: string[]): string[] {
  const path = join(folder, "trace.pcapng");
  writeFileSync(path, capture);
  try {
    const output = execFileSync("tshark", ["-r", path, ...CHECKS, ...argv], {
      encoding: "utf8",
      stdio: "pipe",
    });
    return output.split("\n").filter((line) => line !== "");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") {
      throw new Error("tshark is missing; install it with: apt-get install tshark", { cause: error });
    }
    throw error;
  }
}

const BAD =
  "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0 || icmp.checksum.status == 0";

/** What every pair of the cluster does by TCP, UDP and ICMP, in one list. */
function hearAll(cluster: Cluster): readonly HeardEvent[] {
  const names = listTraceEnds(cluster).map((traceEnd) => traceEnd.description.reference);
  return names.flatMap((from) =>
    names
      .filter((to) => to !== from)
      .flatMap((to) =>
        (["tcp", "udp", "icmp"] as const).flatMap((protocol) => {
          const port = protocol === "icmp" ? undefined : 8080;
          return tracePacket(cluster, { from, to, protocol, port }).heard;
        }),
      ),
  );
}

/** Packets of a capture: one per step of a stack, a cable and a drop, and one per way through a switch port. */
function countFrames(heard: readonly HeardEvent[]): number {
  let count = 0;
  let passage = "";
  for (const { event } of heard) {
    const port = "port" in event && event.port !== undefined ? `${event.port} ${event.direction ?? ""}` : "";
    if (port === "" && ["send", "forward", "wire", "deliver", "drop"].includes(event.kind)) count++;
    if (port !== "" && port !== passage) count++;
    passage = port;
  }
  return count;
}

describe.each(["two-windows-nodes", "mixed-nodes", "node-subnet"])("captures of examples/%s", (example) => {
  it("have no malformed packet, no bad checksum, and all their packets", async () => {
    const cluster = await openTestCluster(readFileSync(`examples/${example}/cluster.yaml`, "utf8"));
    const heard = hearAll(cluster);
    const capture = captureTrace(heard, 0);
    expect(tshark(capture, "-Y", BAD)).toEqual([]);
    const frames = countFrames(heard);
    expect(frames).toBeGreaterThan(100);
    expect(tshark(capture, "-T", "fields", "-e", "frame.number").length).toBe(frames);
  });

  it("are told from one with a broken checksum", async () => {
    const cluster = await openTestCluster(readFileSync(`examples/${example}/cluster.yaml`, "utf8"));
    const [first] = hearAll(cluster);
    const frame = first!.frame.slice();
    frame[24] = frame[24]! ^ 0xff;
    expect(tshark(captureTrace([{ ...first!, frame }], 0), "-Y", BAD).length).toBe(1);
  });

  it("name their interfaces and say what happened", async () => {
    const cluster = await openTestCluster(readFileSync(`examples/${example}/cluster.yaml`, "utf8"));
    const [pod] = cluster.pods;
    const { heard } = tracePacket(cluster, {
      from: `pod/${pod!.spec.name}`,
      to: "external",
      protocol: "tcp",
      port: 443,
    });
    const [first] = tshark(
      captureTrace(heard, 0),
      "-T",
      "fields",
      "-e",
      "frame.interface_name",
      "-e",
      "frame.comment",
    );
    expect(first).toMatch(new RegExp(`^${pod!.spec.node}: pod default/${pod!.spec.name}\\tsent by route `));
  });

  it("say at switch ports which rules decided", async () => {
    const cluster = await openTestCluster(readFileSync(`examples/${example}/cluster.yaml`, "utf8"));
    const [pod] = cluster.pods.filter(({ node }) => node.hns !== undefined);
    const { heard } = tracePacket(cluster, {
      from: `pod/${pod!.spec.name}`,
      to: "external",
      protocol: "tcp",
      port: 443,
    });
    const capture = captureTrace(heard, 0, { node: pod!.spec.node, place: "Container NIC" });
    const lines = tshark(capture, "-T", "json", "-e", "frame.interface_name", "-e", "frame.comment");
    const packets = JSON.parse(lines.join("\n")) as readonly {
      _source: { layers: Readonly<Record<string, readonly string[]>> };
    }[];
    const shown = packets.map(({ _source: { layers } }) => ({
      on: layers["frame.interface_name"]?.join(""),
      comment: layers["frame.comment"]?.join(""),
    }));
    for (const { on } of shown)
      expect(on).toMatch(new RegExp(`^${pod!.spec.node}: Container NIC \\w{8} \\(`));
    const [out] = shown;
    expect(out?.comment).toMatch(/^OUT\n/);
    expect(out?.comment).toMatch(
      /ACL_ENDPOINT_LAYER \/ ACL_ENDPOINT_GROUP_IPV4_OUT: .*: allow Allow Out \(priority 65500/,
    );
    expect(out?.comment).toMatch(/unified flow: cached for later packets: /);
  });
});
