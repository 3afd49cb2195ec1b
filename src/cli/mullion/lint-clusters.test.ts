// `mullion lint` over files of several clusters: what one says is not said of another. And what cluster files name.
import { describe, expect, it } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { lint } from "./lint.ts";
import { runMullion } from "./program.ts";

function node(name: string, kernel: string, podCIDR: string): string {
  return `apiVersion: v1
kind: Node
metadata: { name: ${name}, labels: { kubernetes.io/os: windows } }
spec: { podCIDR: ${podCIDR} }
status: { nodeInfo: { operatingSystem: windows, kernelVersion: ${kernel}, kubeProxyVersion: v1.30.4 } }
`;
}

const WS2019 = "10.0.17763.6293";
const WS2022 = "10.0.20348.3091";

/** Server 2019 spreads the connections of a client, Server 2022 does not. */
const STICKY = `apiVersion: v1
kind: Service
metadata: { name: web }
spec: { sessionAffinity: ClientIP, selector: { app: web }, ports: [{ port: 80 }] }
`;

function clusterFile(build: string, manifests: string): string {
  return `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: shop }
nodes:
  - { name: win-1, os: windows, build: ${build}, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
manifests: [${manifests}]
`;
}

async function run(
  files: Readonly<Record<string, string>>,
  ...paths: readonly string[]
): Promise<{ readonly found: readonly string[]; readonly output: string }> {
  const terminal = new MemoryTerminal(files);
  const argv = ["lint", ...paths];
  await runMullion({ argv, verbs: { lint }, terminal, version: "0", isDebug: false });
  // What is told of a build once for each cluster is none of the files' faults.
  const found = terminal.output.split("\n").flatMap((line) => {
    const [, file, code] = /^(\S+?):\d+:\d+: (?:error|warning): ([\w-]+)/.exec(line) ?? [];
    return file === undefined ? [] : [`${file} ${code ?? ""}`];
  });
  return { found, output: terminal.output };
}

describe("a folder of dumps", () => {
  const files = {
    "dumps/a/dump.yaml": `${node("n1", WS2019, "10.244.0.0/24")}---\n${STICKY}`,
    "dumps/b/dump.yaml": `${node("n2", WS2022, "10.244.0.0/24")}---\n${STICKY}`,
  };

  it("is one cluster for each folder with Node objects: builds and ranges are not mixed", async () => {
    const { found, output } = await run(files, "dumps");
    expect(found).toEqual(["dumps/a/dump.yaml session-affinity-unsupported"]);
    expect(output).toContain("2 clusters, each by itself");
  });

  it("says of each what it says alone", async () => {
    const alone = await Promise.all(Object.keys(files).map(async (file) => (await run(files, file)).found));
    expect((await run(files, "dumps")).found).toEqual(alone.flat());
  });

  it("of two dumps in one folder, which hold the same object, is two clusters", async () => {
    const { found } = await run(
      { "d/a.yaml": files["dumps/a/dump.yaml"], "d/b.yaml": files["dumps/b/dump.yaml"] },
      "d",
    );
    expect(found).toEqual(["d/a.yaml session-affinity-unsupported"]);
  });
});

describe("one cluster in several files", () => {
  it("is one: Nodes in a file each, manifests below them", async () => {
    const { found, output } = await run(
      {
        "c/nodes/n1.yaml": node("n1", WS2019, "10.244.0.0/24"),
        "c/nodes/n2.yaml": node("n2", WS2022, "10.244.0.0/24"),
        "c/nodes/web.yaml": STICKY,
      },
      "c",
    );
    expect(found).toEqual([
      "c/nodes/n2.yaml node-ranges-overlap",
      "c/nodes/web.yaml session-affinity-unsupported",
    ]);
    expect(output).not.toContain("each by itself");
  });
});

describe("a cluster file", () => {
  it("brings the manifests that it names, with its own builds", async () => {
    const files = { "c/cluster.yaml": clusterFile("ws2019", "app/"), "c/app/web.yaml": STICKY };
    expect((await run(files, "c/cluster.yaml")).found).toEqual([
      "c/app/web.yaml session-affinity-unsupported",
    ]);
    // Read once, where the folder is named as well, however it is written.
    expect((await run(files, "c/cluster.yaml", "c/app")).found).toHaveLength(1);
  });

  it("says so when one cannot be read", async () => {
    const { output } = await run({ "c/cluster.yaml": clusterFile("ws2019", "gone.yaml") }, "c/cluster.yaml");
    expect(output).toMatch(/skipped: c[\\/]gone\.yaml: c\/cluster\.yaml names it, and it cannot be read/);
  });

  it("beside another one leaves it alone, and both have the manifests that both name", async () => {
    const files = {
      "c/old.yaml": clusterFile("ws2019", "web.yaml"),
      "c/new.yaml": clusterFile("ws2022", "web.yaml"),
      "c/web.yaml": STICKY,
    };
    const { found, output } = await run(files, "c");
    expect(found).toEqual(["c/web.yaml session-affinity-unsupported"]);
    expect(output).toContain("2 clusters, each by itself");
    expect((await run(files, "c/new.yaml")).found).toEqual([]);
  });
});
