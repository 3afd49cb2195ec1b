/** The executable as users run it: a process beside `mullion hns serve`, with manifests, probes, scrapes and signals. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { findHns } from "#contracts/hcn/http/find-hns.node.ts";
import {
  createEndpoint,
  createNetwork,
  listEndpoints,
  listLoadBalancers,
} from "#contracts/hcn/operations.ts";
import { LOCAL_POD, OVERLAY, SOURCE_VIP, addOverlayNetwork } from "#test/support/hns/overlay-node.ts";

const WAIT = { timeout: 30_000, interval: 100 } as const;

interface Process {
  readonly child: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  readonly printed: () => string;
}

let folder = "";
let variables: Record<string, string | undefined> = {};
let client: HcnClient;
const processes: Process[] = [];

function start(name: string, ...words: readonly string[]): Process {
  const argv = name === "mullion.js" ? [resolve("bin", name)] : [resolve("bin/start.cjs"), "--source", name];
  const child = spawn(process.execPath, [...argv, ...words], {
    env: variables,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
  const ended = new Promise<Awaited<Process["ended"]>>((settle) => {
    child.on("close", (code, signal) => settle({ code, signal }));
  });
  const started: Process = { child, ended, printed: () => text };
  processes.push(started);
  return started;
}

async function stop(
  { child, ended }: Process,
  signal: NodeJS.Signals = "SIGTERM",
): ReturnType<() => Process["ended"]> {
  child.kill(signal);
  return ended;
}

/** A service whose objects lie in the folder, so that it can come back. */
async function serveHns(): Promise<Process> {
  const served = start(
    "mullion.js",
    "hns",
    "serve",
    "--socket",
    join(folder, "hns.sock"),
    "--data",
    join(folder, "data"),
  );
  await expect.poll(served.printed, WAIT).toContain("Ctrl-C");
  return served;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((settle) => void server.once("listening", settle));
  const { port } = server.address() as AddressInfo;
  await new Promise((settle) => void server.close(settle));
  return port;
}

function writeService(name: string, address: string): void {
  writeFileSync(
    join(folder, "manifests", `${name}.yaml`),
    `apiVersion: v1
kind: Service
metadata: {name: ${name}}
spec: {clusterIP: ${address}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: ${name}-1, labels: {kubernetes.io/service-name: ${name}}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints: [{addresses: [10.244.1.4], nodeName: win-1}, {addresses: [10.244.2.3], nodeName: win-2}]
`,
  );
}

async function vips(): Promise<readonly string[]> {
  return (await listLoadBalancers(client)).map(({ FrontendVIPs }) => FrontendVIPs?.[0] ?? "").toSorted();
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "kube-proxy-"));
  mkdirSync(join(folder, "manifests"));
  variables = { ...process.env, MULLION_HNS: `unix:${join(folder, "hns.sock")}`, KUBE_NETWORK: "cbr0" };
  client = findHns({ variables });
});
afterEach(async () => {
  for (const started of processes.splice(0)) await stop(started, "SIGKILL");
  await client.close();
  rmSync(folder, { recursive: true, force: true });
});

async function addNetwork(): Promise<void> {
  const network = await createNetwork(client, {
    Name: "cbr0",
    Type: "L2Bridge",
    Ipams: [
      {
        Type: "Static",
        Subnets: [
          {
            IpAddressPrefix: "10.244.1.0/24",
            Routes: [{ NextHop: "10.244.1.1", DestinationPrefix: "0.0.0.0/0" }],
          },
        ],
      },
    ],
    SchemaVersion: { Major: 2, Minor: 0 },
  });
  await createEndpoint(client, network.ID ?? "", {
    Name: "pod",
    IpConfigurations: [{ IpAddress: "10.244.1.4", PrefixLength: 24 }],
    SchemaVersion: { Major: 2, Minor: 0 },
  });
}

describe("the executable kube-proxy", () => {
  it("programs what lies in a folder, is scraped, outlives HNS, and ends with SIGTERM", async () => {
    const [healthz, metrics] = [await freePort(), await freePort()];
    const words = [
      `--mullion-manifests=${join(folder, "manifests")}`,
      "--hostname-override=win-1",
      "--bind-address=10.0.0.11",
      `--healthz-bind-address=127.0.0.1:${healthz}`,
      `--metrics-bind-address=127.0.0.1:${metrics}`,
      "--iptables-sync-period=2s",
      "--v=2",
    ];
    const first = start("kube-proxy", ...words);
    // A folder without files is a mistake of the user's; the first file comes before the start.
    expect(await first.ended).toEqual({ code: 1, signal: null });
    expect(first.printed()).toContain("there are no files .yaml, .yml, .json in the folder");

    writeService("web", "10.96.0.20");
    const second = start("kube-proxy", ...words);
    await expect.poll(second.printed, WAIT).toContain("HNS does not answer; it is tried again");
    const livez = async (path: string): Promise<number> =>
      (await fetch(`http://127.0.0.1:${healthz}${path}`)).status;
    expect([await livez("/livez"), await livez("/healthz")]).toEqual([200, 503]);

    const served = await serveHns();
    await expect.poll(second.printed, WAIT).toContain("waits for the HNS network cbr0");
    await addNetwork();
    await expect.poll(vips, WAIT).toEqual(["10.96.0.20"]);
    await expect.poll(() => livez("/healthz"), WAIT).toBe(200);
    const text = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
    expect(text).toMatch(/^kubeproxy_sync_proxy_rules_duration_seconds_count\{ip_family="IPv4"\} \d+$/m);
    expect(text).toMatch(/^kubeproxy_sync_proxy_rules_service_changes_total 1$/m);

    writeService("api", "10.96.0.21");
    await expect.poll(vips, WAIT).toEqual(["10.96.0.20", "10.96.0.21"]);

    // A file in the folder that is changed in place.
    writeService("api", "10.96.0.29");
    await expect.poll(vips, WAIT).toEqual(["10.96.0.20", "10.96.0.29"]);
    writeService("api", "10.96.0.21");
    await expect.poll(vips, WAIT).toEqual(["10.96.0.20", "10.96.0.21"]);

    await stop(served);
    writeService("late", "10.96.0.22");
    await expect.poll(second.printed, WAIT).toContain("Sync ended early; it is tried again");
    await serveHns();
    await expect.poll(vips, WAIT).toEqual(["10.96.0.20", "10.96.0.21", "10.96.0.22"]);

    expect(await stop(second)).toEqual({ code: 0, signal: null });
    expect(await vips()).toHaveLength(3);
  });

  it("programs an overlay network: source VIP, ClusterIP and a pod elsewhere become endpoints", async () => {
    writeService("web", "10.96.0.20");
    await serveHns();
    await addOverlayNetwork(client);
    const [healthz, metrics] = [await freePort(), await freePort()];
    const proxy = start(
      "kube-proxy",
      `--mullion-manifests=${join(folder, "manifests")}`,
      "--hostname-override=win-1",
      "--bind-address=10.0.0.11",
      "--mullion-host-mac=00-15-5D-00-00-11",
      `--network-name=${OVERLAY}`,
      `--source-vip=${SOURCE_VIP}`,
      `--healthz-bind-address=127.0.0.1:${healthz}`,
      `--metrics-bind-address=127.0.0.1:${metrics}`,
    );
    await expect.poll(vips, WAIT).toEqual(["10.96.0.20"]);
    const providers = (await listEndpoints(client)).map(({ IpConfigurations, Policies = [] }) => {
      const provider = Policies.find(({ Type }) => Type === "ProviderAddress")?.Settings?.["ProviderAddress"];
      return [IpConfigurations?.[0]?.IpAddress, provider];
    });
    expect(new Map(providers as [string, unknown][])).toEqual(
      new Map<string, unknown>([
        [LOCAL_POD, undefined],
        [SOURCE_VIP, undefined],
        ["10.96.0.20", "10.0.0.11"],
        ["10.244.2.3", "10.0.0.12"],
      ]),
    );
    expect((await listLoadBalancers(client)).map(({ SourceVIP }) => SourceVIP)).toEqual([SOURCE_VIP]);
    expect(await stop(proxy)).toEqual({ code: 0, signal: null });
  });

  it("ends at once with Ctrl-C, also while it waits", async () => {
    writeService("web", "10.96.0.20");
    const [healthz, metrics] = [await freePort(), await freePort()];
    const proxy = start(
      "kube-proxy",
      `--mullion-manifests=${join(folder, "manifests")}`,
      `--healthz-bind-address=127.0.0.1:${healthz}`,
      `--metrics-bind-address=127.0.0.1:${metrics}`,
    );
    await expect.poll(proxy.printed, WAIT).toContain("HNS does not answer");
    const beganMs = performance.now();
    expect(await stop(proxy, "SIGINT")).toEqual({ code: 0, signal: null });
    expect(performance.now() - beganMs).toBeLessThan(3_000);
    expect(proxy.printed()).not.toMatch(/\bat .*\.ts:\d+/);
  });

  it("ends when its configuration file is changed", async () => {
    writeService("web", "10.96.0.20");
    const file = join(folder, "proxy.yaml");
    const [healthz, metrics] = [await freePort(), await freePort()];
    const configuration = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
healthzBindAddress: 127.0.0.1:${healthz}
metricsBindAddress: 127.0.0.1:${metrics}
`;
    writeFileSync(file, configuration);
    const proxy = start("kube-proxy", `--config=${file}`, `--mullion-manifests=${join(folder, "manifests")}`);
    await expect.poll(proxy.printed, WAIT).toContain("HNS does not answer");
    writeFileSync(file, `${configuration}winkernel: {networkName: cbr0}\n`);
    expect(await proxy.ended).toEqual({ code: 1, signal: null });
    expect(proxy.printed()).toContain("content of the proxy server's configuration file was updated");
  });
});
