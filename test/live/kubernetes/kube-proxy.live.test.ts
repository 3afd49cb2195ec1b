// Our kube-proxy as a process, on a real API server with its own account and role, beside `mullion hns serve`; kubectl is
// the user's hand.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { findHns } from "#contracts/hcn/http/find-hns.node.ts";
import { createEndpoint, createNetwork, listLoadBalancers } from "#contracts/hcn/operations.ts";
import { BIN as LAUNCHERS } from "../../support/cni/plugin-process.ts";
import { findProgram } from "../../../tools/live-programs.ts";
import { CONTROL_PLANE_TIMEOUT_MS, ControlPlane } from "./control-plane.ts";
import { Program, freePorts } from "./processes.ts";

const BIN = resolve(import.meta.dirname, "../../../bin");
const WAIT = { timeout: 60_000, interval: 200 } as const;
let folder: string;
let plane: ControlPlane;
let hns: Program;
let proxy: Program;
let client: HcnClient;
let metricsPort: number;

function kubectl(args: readonly string[], input = ""): string {
  const env = { ...process.env, KUBECONFIG: plane.kubeconfig, HOME: folder };
  const { status, stdout, stderr } = spawnSync(findProgram("kubectl"), args, {
    input,
    encoding: "utf8",
    env,
  });
  if (status !== 0) throw new Error(`kubectl ${args.join(" ")}: ${status}\n${stdout}\n${stderr}`);
  return stdout;
}

function service(name: string, address: string, endpoints: readonly string[]): string {
  const items = endpoints.map(
    (ip) => `{addresses: [${ip}], nodeName: ${ip.startsWith("10.244.1.") ? "win-1" : "win-2"}}`,
  );
  return `
apiVersion: v1
kind: Service
metadata: {name: ${name}}
spec: {clusterIP: ${address}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: ${name}-1, labels: {kubernetes.io/service-name: ${name}}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints: [${items.join(", ")}]
`;
}

function apply(text: string): void {
  kubectl(["apply", "-f", "-"], text);
}

/** `10.96.0.20 ×2`: addresses with the number of their back ends. */
async function programmed(): Promise<readonly string[]> {
  const balancers = await listLoadBalancers(client);
  return balancers
    .map(
      ({ FrontendVIPs, HostComputeEndpoints }) =>
        `${FrontendVIPs?.[0]} ×${HostComputeEndpoints?.length ?? 0}`,
    )
    .toSorted();
}

async function makeNetwork(): Promise<void> {
  const SchemaVersion = { Major: 2, Minor: 0 };
  const Routes = [{ NextHop: "10.244.1.1", DestinationPrefix: "0.0.0.0/0" }];
  const network = await createNetwork(client, {
    Name: "cbr0",
    Type: "L2Bridge",
    Ipams: [{ Type: "Static", Subnets: [{ IpAddressPrefix: "10.244.1.0/24", Routes }] }],
    SchemaVersion,
  });
  const IpConfigurations = [{ IpAddress: "10.244.1.4", PrefixLength: 24 }];
  await createEndpoint(client, network.ID ?? "", { Name: "pod", IpConfigurations, SchemaVersion });
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mullion-kube-proxy-"));
  plane = await ControlPlane.start();
  const socket = join(folder, "hns.sock");
  const command = [
    process.execPath,
    join(BIN, "mullion.js"),
    "hns",
    "serve",
    "--socket",
    socket,
    "--address-delay",
    "0",
  ];
  hns = new Program(command, join(folder, "hns.log"));
  await hns.until(() => existsSync(socket), 30_000);
  const variables = { MULLION_HNS: `unix:${socket}` };
  client = findHns({ variables });
  await makeNetwork();
  apply(`
apiVersion: v1
kind: Node
metadata: {name: win-1}
`);
  kubectl(
    ["patch", "node", "win-1", "--subresource=status", "--type=merge", "-p"].concat(
      '{"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.11"}]}}',
    ),
  );
  const [healthz = 0, metrics = 0] = await freePorts(2);
  metricsPort = metrics;
  proxy = new Program(
    [
      join(LAUNCHERS, "kube-proxy"),
      `--kubeconfig=${plane.ofKubeProxy}`,
      "--network-name=cbr0",
      "--hostname-override=win-1",
      `--healthz-bind-address=127.0.0.1:${healthz}`,
      `--metrics-bind-address=127.0.0.1:${metrics}`,
      "--v=2",
    ],
    join(folder, "kube-proxy.log"),
    variables,
  );
}, CONTROL_PLANE_TIMEOUT_MS);

afterAll(async () => {
  await proxy.end("SIGTERM");
  await client.close();
  await hns.end("SIGTERM");
  await plane.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe("kube-proxy on a real API server", () => {
  it("programs what kubectl applies, changes and deletes", async () => {
    apply(service("web", "10.96.0.20", ["10.244.1.4", "10.244.2.3"]));
    await expect.poll(programmed, WAIT).toEqual(["10.96.0.20 ×2"]);
    apply(service("api", "10.96.0.21", ["10.244.2.4"]));
    await expect.poll(programmed, WAIT).toEqual(["10.96.0.20 ×2", "10.96.0.21 ×1"]);
    apply(service("web", "10.96.0.20", ["10.244.1.4"]));
    await expect.poll(programmed, WAIT).toEqual(["10.96.0.20 ×1", "10.96.0.21 ×1"]);
    kubectl(["delete", "service", "api"]);
    await expect.poll(programmed, WAIT).toEqual(["10.96.0.20 ×1"]);
  });

  it("tells its start as an event, as which its account may write", async () => {
    await expect
      .poll(() => kubectl(["get", "events", "-A", "--field-selector", "involvedObject.name=win-1"]), WAIT)
      .toMatch(/Normal +Starting +node\/win-1/);
  });

  it("keeps what it has programmed while the API server is away, and follows what changed when it is back", async () => {
    await plane.killApiServer();
    await new Promise((done) => setTimeout(done, 2_000));
    expect(await programmed()).toEqual(["10.96.0.20 ×1"]);
    await plane.startApiServer();
    kubectl(["delete", "service", "web"]);
    apply(service("late", "10.96.0.22", ["10.244.1.4"]));
    await expect.poll(programmed, WAIT).toEqual(["10.96.0.22 ×1"]);
  });

  it("goes on when the server has forgotten the versions in between", async () => {
    await plane.killApiServer();
    await plane.startApiServer();
    kubectl(["delete", "service", "late"]);
    await plane.compact();
    apply(service("again", "10.96.0.23", ["10.244.1.4"]));
    await expect.poll(programmed, WAIT).toEqual(["10.96.0.23 ×1"]);
  });

  it("does not look at headless Services and those of another proxy", async () => {
    const labels = "labels: {service.kubernetes.io/service-proxy-name: x}";
    apply(service("headless", "None", ["10.244.1.4"]));
    apply(
      service("other", "10.96.0.24", ["10.244.1.4"]).replace("{name: other}", `{name: other, ${labels}}`),
    );
    apply(service("mark", "10.96.0.25", ["10.244.1.4"]));
    await expect.poll(programmed, WAIT).toEqual(["10.96.0.23 ×1", "10.96.0.25 ×1"]);
  });

  it("counts as upstream does", async () => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    expect(text).toMatch(/^kubeproxy_sync_proxy_rules_service_changes_total [1-9]\d*$/m);
    expect(text).toMatch(/^kubeproxy_sync_proxy_rules_duration_seconds_count\{ip_family="IPv4"\} [1-9]\d*$/m);
  });

  it("says that it is not let in", async () => {
    const [healthz = 0, metrics = 0] = await freePorts(2);
    const stranger = new Program(
      [
        join(LAUNCHERS, "kube-proxy"),
        `--kubeconfig=${plane.unknown}`,
        "--network-name=cbr0",
        `--healthz-bind-address=127.0.0.1:${healthz}`,
        `--metrics-bind-address=127.0.0.1:${metrics}`,
      ],
      join(folder, "stranger.log"),
    );
    await stranger.until(() => stranger.written.includes('code="kubernetes-access-denied"'), 30_000);
    await stranger.end("SIGINT");
    expect(stranger.written).toContain("Ending; load balancers stay as they are");
  });
});
