import {
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openApiServerSource } from "#contracts/kubernetes/server/api-server-source.node.ts";
import { openSessionWorld } from "#test/support/cluster/session-world.ts";
import { collectedFiles } from "#test/support/doctor/collected-files.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { doctor } from "../doctor.ts";
import { runMullion } from "../program.ts";
import { trace } from "../trace.ts";
import { serve } from "./serve.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mullion-kube-serve-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const CLUSTER = "examples/two-windows-nodes/cluster.yaml";

/** Runs `mullion kube serve` until `use` has ended. */
async function serving(argv: readonly string[], use: (kubeconfig: string) => Promise<void>): Promise<string> {
  const terminal = new MemoryTerminal({ [CLUSTER]: readFileSync(CLUSTER, "utf8") });
  const kubeconfig = join(folder, "config");
  const ended = runMullion({
    argv: ["kube", "serve", "--kubeconfig", kubeconfig, ...argv],
    verbs: { kube: { serve } },
    terminal,
    version: "0",
    isDebug: false,
  });
  await expect.poll(() => terminal.output + terminal.errors, { timeout: 15_000 }).toContain("Ctrl-C");
  try {
    await use(kubeconfig);
  } finally {
    terminal.interrupt();
  }
  expect(await ended).toBe(0);
  return terminal.output;
}

type Files = Readonly<Record<string, string>>;

function withoutObjects(files: Files): Files {
  return Object.fromEntries(Object.entries(files).filter(([name]) => !name.endsWith("objects.json")));
}

async function diagnosed(
  files: Files,
  kubeconfig: string,
  ...paths: readonly string[]
): Promise<MemoryTerminal> {
  const terminal = new MemoryTerminal(files);
  const argv = ["doctor", ...paths, "--kubeconfig", kubeconfig];
  await runMullion({ argv, verbs: { doctor }, terminal, version: "0", isDebug: false });
  return terminal;
}

describe("mullion kube serve", () => {
  it("writes its kubeconfig through no link, and into no folder", async () => {
    const [victim, path] = [join(folder, "victim"), join(folder, "config")];
    writeFileSync(victim, "precious");
    symlinkSync(victim, path);
    const terminal = new MemoryTerminal({ [CLUSTER]: readFileSync(CLUSTER, "utf8") });
    const argv = ["kube", "serve", "--kubeconfig", path, "-f", CLUSTER];
    const code = await runMullion({
      argv,
      verbs: { kube: { serve } },
      terminal,
      version: "0",
      isDebug: false,
    });
    expect(code).toBe(2);
    expect(terminal.errors).toContain(`${path} is a symbolic link`);
    expect(readFileSync(victim, "utf8")).toBe("precious");
    expect(readdirSync(folder).toSorted()).toEqual(["config", "victim"]);
  });

  it("serves a cluster file: a Deployment that comes over the API gets pods that run, with addresses", async () => {
    const output = await serving(["-f", CLUSTER], async (kubeconfig) => {
      expect(statSync(kubeconfig).mode & 0o777).toBe(0o600);
      const source = await openApiServerSource({ kubeconfig });
      const nodes = await source.list("Node");
      expect(nodes.items.map(({ metadata }) => metadata.name)).toEqual(["win-1", "win-2"]);
      await source.create("Deployment", {
        metadata: { name: "shop", namespace: "default" },
        spec: {
          replicas: 2,
          selector: { matchLabels: { app: "shop" } },
          template: {
            metadata: { labels: { app: "shop" } },
            spec: {
              nodeSelector: { "kubernetes.io/os": "windows" },
              containers: [{ name: "web", image: "web" }],
            },
          },
        },
      });
      const own = { namespace: "default", name: "kubernetes" };
      expect((await source.get("Service", own)).spec?.clusterIP).toBe("10.96.0.1");
      const slice = await source.get("EndpointSlice", own);
      expect(slice.metadata.labels).toEqual({ "kubernetes.io/service-name": "kubernetes" });
      const pods = await source.list("Pod", { namespace: "default", labelSelector: "app=shop" });
      expect(pods.items.map(({ status }) => status?.phase)).toEqual(["Running", "Running"]);
      for (const { metadata, status } of pods.items) {
        expect(status?.podIP).toMatch(/^10\./);
        expect(metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT[\d:]+Z$/);
      }
      await source.close();
    });
    expect(output).toMatch(
      /^Kubernetes v1\.\d+\.\d+ of the cluster .+, in memory, at https:\/\/127\.0\.0\.1:\d+$/m,
    );
    expect(output).toContain(`export KUBECONFIG=${join(folder, "config")}`);
  });

  it("is what mullion doctor reads the cluster's side from, beside files of a node", async () => {
    await serving(["-f", CLUSTER], async (kubeconfig) => {
      // The same file, the same cluster: what the node would have printed.
      const world = await openSessionWorld(readFileSync(CLUSTER, "utf8"));
      const files = await collectedFiles(world, "win-1");
      const lost = { ...withoutObjects(files), "collected/policy.txt": "[]" };
      const sound = await diagnosed(withoutObjects(files), kubeconfig, "collected");
      expect(sound.output).toMatch(/^Nothing wrong found/u);
      const { output } = await diagnosed(lost, kubeconfig, "collected");
      expect(output).toMatch(/^1\. win-1: \w+: load-balancer-missing\n/u);
      expect(output).toContain(
        "/api/v1/namespaces/default/services/kubernetes:1: Service default/kubernetes",
      );
      const alone = await diagnosed({}, kubeconfig);
      expect(alone.output).toMatch(/^Nothing wrong found; \d+ checks made; \d+ could not be made/u);
      expect(alone.output).toContain("hnsdiag list all -d");
    });
    const gone = await diagnosed({}, join(folder, "config"));
    expect(gone.errors).toContain("See whether the API server runs");
  });

  it("is what trace takes in place of -f: the same cluster", async () => {
    const ask = async (files: Files, ...argv: readonly string[]): Promise<MemoryTerminal> => {
      const terminal = new MemoryTerminal(files);
      await runMullion({ argv, verbs: { trace }, terminal, version: "0", isDebug: false });
      return terminal;
    };
    const files = { [CLUSTER]: readFileSync(CLUSTER, "utf8") };
    await serving(["-f", CLUSTER], async (kubeconfig) => {
      const question = ["pod/client", "pod/api", "--port", "8080", "-o", "json"];
      const live = await ask({}, "trace", "--kubeconfig", kubeconfig, ...question);
      const file = await ask(files, "trace", "-f", CLUSTER, ...question);
      expect(live.errors).toBe("");
      expect(JSON.parse(live.output)).toMatchObject({
        verdict: (JSON.parse(file.output) as { verdict: string }).verdict,
      });
      const both = await ask({}, "trace", "--kubeconfig", kubeconfig, "--name", "a", ...question);
      expect(both.errors).toContain("Leave one of them out");
    });
    const gone = await ask({}, "trace", "--kubeconfig", join(folder, "config"), "pod/a", "pod/b");
    expect(gone.errors).toContain("See whether the API server runs");
  });

  it("without -f serves a cluster for nodes that come by themselves", async () => {
    await serving([], async (kubeconfig) => {
      const source = await openApiServerSource({ kubeconfig });
      await source.create("Node", { metadata: { name: "win-1" } });
      const node = await source.get("Node", { namespace: "", name: "win-1" });
      expect(node.spec?.podCIDR).toBe("10.244.0.0/24");
      await source.close();
    });
  });

  it("without -f has Service kubernetes and its slice, which on loopback has no endpoint", async () => {
    await serving([], async (kubeconfig) => {
      const source = await openApiServerSource({ kubeconfig });
      const { items } = await source.list("Service", { namespace: "default" });
      expect(
        items.map(({ metadata, spec }) => [metadata.name, spec?.clusterIP, spec?.ports?.[0]?.port]),
      ).toEqual([["kubernetes", "10.96.0.1", 443]]);
      const own = { namespace: "default", name: "kubernetes" };
      const slice = await source.get("EndpointSlice", own);
      expect(slice.metadata.labels).toEqual({ "kubernetes.io/service-name": "kubernetes" });
      expect(slice.endpoints ?? []).toEqual([]);
      expect((await source.get("Endpoints", own)).subsets ?? []).toEqual([]);
      // Its address is taken (pkg/registry/core/service/ipallocator).
      const spec = { clusterIP: "10.96.0.1", ports: [{ name: "", port: 80, protocol: "TCP" as const }] };
      const rival = source.create("Service", { metadata: { name: "rival", namespace: "default" }, spec });
      await expect(rival).rejects.toThrow("already allocated");
      await source.close();
    });
  });

  it("has the ranges of Services as an object, and takes others that are ranges", async () => {
    await serving([], async (kubeconfig) => {
      const source = await openApiServerSource({ kubeconfig });
      const { items } = await source.list("ServiceCIDR");
      expect(items.map(({ metadata, spec }) => [metadata.name, spec?.cidrs])).toEqual([
        ["kubernetes", ["10.96.0.0/12", "fd00:10:96::/112"]],
      ]);
      const more = (cidr: string): Promise<unknown> =>
        source.create("ServiceCIDR", { metadata: { name: "more" }, spec: { cidrs: [cidr] } });
      await expect(more("10.1.0.0")).rejects.toThrow("must be a valid CIDR value");
      await more("10.1.0.0/24");
      await source.close();
    });
  });

  it("without -f has both families: nodes have a range of each, and Services that ask for it", async () => {
    await serving([], async (kubeconfig) => {
      const source = await openApiServerSource({ kubeconfig });
      await source.create("Node", { metadata: { name: "win-1" } });
      const node = await source.get("Node", { namespace: "", name: "win-1" });
      expect(node.spec?.podCIDRs).toEqual(["10.244.0.0/24", "fd00:10:244::/64"]);
      const ports = [{ name: "http", port: 80, protocol: "TCP" }];
      for (const [name, ipFamilyPolicy, families] of [
        ["both", "RequireDualStack", ["IPv4", "IPv6"]],
        ["one", "SingleStack", ["IPv4"]],
      ] as const) {
        const made = await source.create("Service", {
          metadata: { name, namespace: "default" },
          spec: { ports, ipFamilyPolicy },
        });
        expect(made.spec?.ipFamilies).toEqual(families);
        expect(made.spec?.clusterIPs).toHaveLength(families.length);
      }
      await source.close();
    });
  });

  it.each([
    ["0.0.0.0:6443", "is not an address with a port"],
    ["nowhere", "is not an address with a port"],
    ["192.0.2.1:0", "cannot listen on 192.0.2.1 port 0"],
  ])("refuses --listen %s", async (listen, message) => {
    const terminal = new MemoryTerminal();
    const argv = ["kube", "serve", "--kubeconfig", join(folder, "c"), "--listen", listen];
    expect(
      await runMullion({ argv, verbs: { kube: { serve } }, terminal, version: "0", isDebug: false }),
    ).toBe(2);
    expect(terminal.errors).toContain(message);
  });
});
