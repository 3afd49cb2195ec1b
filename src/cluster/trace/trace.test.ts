import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { validateTrace } from "#test/support/cluster/report-schemas.ts";
import { readPcapng } from "#test/support/wire/pcapng-reader.ts";
import { openTestCluster } from "#test/support/cluster/walk.ts";
import { captureTrace } from "./capture.ts";
import type { Cluster } from "../cluster.ts";
import { formatTrace } from "./format-trace.ts";
import { RequestError } from "../request-error.ts";
import { tracePacket } from "./trace.ts";
import type { TraceStep } from "./trace-report.ts";

const EXAMPLES = ["two-windows-nodes", "mixed-nodes", "node-subnet"];
/** `first` and `last` are the pods at both ends of the file. */
const PAIRS = [
  { from: "first", to: "last", protocol: "tcp" },
  { from: "first", to: "last", protocol: "icmp" },
  { from: "first", to: "external", protocol: "tcp", port: 443 },
  { from: "first", to: "external", protocol: "icmp" },
  { from: "node/win-1", to: "last", protocol: "tcp" },
  { from: "external", to: "first", protocol: "tcp", port: 8080 },
  { from: "first", to: "203.0.113.99", protocol: "icmp" },
] as const;

let clusters: Map<string, Cluster>;
beforeAll(async () => {
  clusters = new Map();
  for (const name of EXAMPLES) {
    clusters.set(name, await openTestCluster(readFileSync(`examples/${name}/cluster.yaml`, "utf8")));
  }
});

describe.each(EXAMPLES)("traces in examples/%s", (name) => {
  it.each(PAIRS)(
    "$from → $to, $protocol: valid JSON, text of at most 100 columns, the same twice",
    (pair) => {
      const cluster = clusters.get(name)!;
      const nameOf = (traceEnd: string): string => {
        const pod = { first: cluster.pods[0], last: cluster.pods.at(-1) }[traceEnd];
        return pod === undefined ? traceEnd : `pod/${pod.spec.name}`;
      };
      const request = { port: undefined, ...pair, from: nameOf(pair.from), to: nameOf(pair.to) };
      const { report, heard } = tracePacket(cluster, request);
      expect(validateTrace(JSON.parse(JSON.stringify(report))), JSON.stringify(validateTrace.errors)).toBe(
        true,
      );
      const text = formatTrace(report);
      expect(text.split("\n").filter((line) => line.length > 100)).toEqual([]);
      const again = tracePacket(cluster, request);
      expect(formatTrace(again.report)).toBe(text);
      expect(captureTrace(again.heard, 0)).toEqual(captureTrace(heard, 0));
    },
  );
});

describe("what ports keep", () => {
  it("both directions show the transposition that later packets take in one step", () => {
    const cluster = clusters.get("two-windows-nodes")!;
    const { report } = tracePacket(cluster, {
      from: "pod/client",
      to: "external",
      protocol: "tcp",
      port: 443,
    });
    const kept = [report.forward, report.reply].map((leg) =>
      leg?.steps.filter((step) => step.transposition !== undefined && step.place.includes("client")),
    );
    const [[out] = [], [back] = []] = kept.map((steps) => steps ?? []);
    expect(out).toMatchObject({ kind: "unified-flow", direction: "out" });
    expect(out?.transposition?.ipHeader).toMatch(/^Modify\(SrcIp 10\.0\.0\.11, DestIp Ignore, /);
    expect(out?.transposition?.transportHeader).toMatch(/^Modify\(SrcPort \d+, DestPort Ignore\)$/);
    expect(back?.transposition?.ipHeader).toMatch(/^Modify\(SrcIp Ignore, DestIp 10\.244\.1\.\d+, /);
    const text = formatTrace(report);
    expect(text).toMatch(/unified flow {15}cached for later packets\n {9}MacHeader Modify\(/);
  });

  it("under a step stand its changes, whose they are, what explains it, and that it is inferred, in this order", () => {
    const cluster = clusters.get("two-windows-nodes")!;
    const { report } = tracePacket(cluster, {
      from: "pod/client",
      to: "external",
      protocol: "tcp",
      port: 443,
    });
    const [step, ...others] = report.forward.steps;
    const told: TraceStep = {
      ...step!,
      changes: [
        { field: "source", before: "10.0.0.1", after: "10.0.0.2" },
        { field: "IP checksum", before: "1", after: "2" },
      ],
      provenance: { object: "Service", id: "", name: "default/web" },
      code: "no-route",
      inferred: "from nothing",
    };
    const text = formatTrace({ ...report, forward: { ...report.forward, steps: [told, ...others] } });
    const lines = text.split("\n").map((line) => line.trim());
    const at = lines.findIndex((line) => line.startsWith("source"));
    expect(lines.slice(at, at + 4)).toEqual([
      "source 10.0.0.1 → 10.0.0.2",
      'from Service "default/web"',
      "why: mullion explain no-route",
      "inferred, from nothing",
    ]);
  });

  it("a capture names the rules at the port that decided", () => {
    const cluster = clusters.get("two-windows-nodes")!;
    const { heard } = tracePacket(cluster, {
      from: "pod/client",
      to: "external",
      protocol: "tcp",
      port: 443,
    });
    const capture = readPcapng(captureTrace(heard, 0, { node: "win-1", place: "client" }));
    const names = capture.interfaces.map((each) => each.name);
    expect(names).toContainEqual(expect.stringMatching(/^win-1: Container NIC \w{8} \(/));
    const [port] = capture.packets.filter(({ comment }) => comment?.startsWith("OUT\n") === true);
    expect(port?.comment?.split("\n")).toContainEqual(
      expect.stringMatching(
        /^SLB_NAT_LAYER \/ SLB_GROUP_NAT_IPv4_OUT: matched, flow made: dynnat SNAT_TCP_OUTBOUNDNAT_\S+ \(priority 200, from HostComputeEndpoint /,
      ),
    );
    expect(port?.direction).toBe("out");
  });

  it("a capture of one node has nothing of the others", () => {
    const cluster = clusters.get("two-windows-nodes")!;
    const { heard } = tracePacket(cluster, {
      from: "pod/client",
      to: "external",
      protocol: "tcp",
      port: 443,
    });
    const capture = readPcapng(captureTrace(heard, 0, { node: "router" }));
    expect(capture.packets.length).toBeGreaterThan(0);
    for (const { name } of capture.interfaces) expect(name).toMatch(/^router: /);
  });
});

describe("what a trace says", () => {
  const explain = (
    to: string,
    protocol: "tcp" | "icmp",
    port?: number,
  ): ReturnType<typeof tracePacket>["report"] =>
    tracePacket(clusters.get("two-windows-nodes")!, { from: "pod/client", to, protocol, port }).report;

  it("answered: who answered and whom it saw", () => {
    const report = explain("pod/api", "tcp", 8080);
    expect(report).toMatchObject({ verdict: "answered", compat: "upstream" });
    expect(report.answer).toMatch(/^api saw 10\.244\.1\.4:\d+$/);
  });

  it("refused: nobody listens", () => {
    expect(explain("pod/api", "tcp", 81)).toMatchObject({ verdict: "refused", code: "port-not-listening" });
  });

  it("each switch on the way says to which port the frame goes, and why", () => {
    const { forward, reply } = explain("pod/api", "tcp", 8080);
    const choices = [forward, reply].map((leg) =>
      leg?.steps
        .filter(({ kind }) => kind === "switch")
        .map(({ node, place, text }) => `${node} ${place}: ${text}`.replaceAll(/00-15-5D[-0-9A-F]+/g, "MAC")),
    );
    const way = (from: string, to: string, pod: unknown): readonly unknown[] => [
      `${from} vEthernet (cbr0_ep): by destination MAC MAC`,
      `${from} Ethernet (uplink): MAC MAC is not on this switch`,
      `${to} vEthernet (Ethernet): to the host: its MAC`,
      pod,
    ];
    const toPod = (node: string, pod: string): unknown =>
      expect.stringMatching(
        new RegExp(String.raw`^${node} Container NIC \w+ \(default_${pod}_cbr0\): by destination MAC MAC$`),
      );
    expect(choices).toEqual([
      way("win-1", "win-2", toPod("win-2", "api")),
      way("win-2", "win-1", toPod("win-1", "client")),
    ]);
    // An answer to a pod behind the node's address comes in by the flow of the question (dataplane.md §2.17).
    const back = explain("external", "tcp", 443).reply?.steps.filter(({ kind }) => kind === "switch");
    expect(back?.map(({ text }) => text)).toEqual(["by NAT binding of destination address and port"]);
  });

  it("not delivered: an address that nobody has", () => {
    const report = explain("10.244.1.200", "icmp");
    expect(report.verdict).toBe("not-delivered");
    expect(report.code).toBe("neighbor-unresolved");
  });

  it("no answer: ICMP to outside", () => {
    expect(explain("external", "icmp")).toMatchObject({
      verdict: "no-answer",
      code: "icmp-outbound-not-translated",
    });
  });

  it("no way in: outside has no route to pods", () => {
    const { report } = tracePacket(clusters.get("two-windows-nodes")!, {
      from: "external",
      to: "pod/client",
      protocol: "tcp",
      port: 8080,
    });
    expect(report).toMatchObject({ verdict: "not-delivered", code: "no-route" });
  });

  it("leaves the cluster as it was", () => {
    const cluster = clusters.get("two-windows-nodes")!;
    const before = cluster.clock.nowMs;
    explain("external", "tcp");
    expect(cluster.clock.nowMs).toBe(before);
    const { report } = tracePacket(cluster, {
      from: "pod/client",
      to: "external",
      protocol: "tcp",
      port: 443,
    });
    // The first NAT port of the node: no trace before has taken one.
    expect(report.answer).toBe("external saw 10.0.0.11:49152");
  });
});

describe("who is meant", () => {
  const find = (from: string): string => {
    try {
      return tracePacket(clusters.get("two-windows-nodes")!, {
        from,
        to: "pod/api",
        protocol: "icmp",
        port: undefined,
      }).report.from.reference;
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      return `${error.code}: ${error.message}. ${error.advice}`;
    }
  };

  it.each([
    ["pod/default/client", "pod/default/client"],
    ["pod/client", "pod/default/client"],
    ["default/client", "pod/default/client"],
    ["client", "pod/default/client"],
    ["10.244.1.4", "pod/default/client"],
    ["node/win-2", "node/win-2"],
    ["10.0.0.12", "node/win-2"],
    ["external", "external"],
  ])("%s is %s", (text, reference) => {
    expect(find(text)).toBe(reference);
  });

  it("an unknown pod is named with the nearest one", () => {
    expect(find("pod/clinet")).toMatch(/^unknown-object: nothing in cluster .* Did you mean "pod\/client"\?/);
  });

  it("an address that nobody has cannot send", () => {
    expect(find("192.0.2.1")).toMatch(
      /^unknown-object: no machine or pod of the cluster has the address 192\.0\.2\.1/,
    );
  });
});
