// The executable kube-proxy with a real API server, and kubectl as the user's hand.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { HcnClient } from "../../../src/hcn/client.ts";
import { findHns } from "../../../src/hcn/find-hns.node.ts";
import { createEndpoint, createNetwork, listLoadBalancers } from "../../../src/hcn/operations.ts";
import { findProgram } from "../../../tools/live-programs.ts";
import { CONTROL_PLANE_TIMEOUT_MS, ControlPlane } from "./control-plane.ts";
import { Program, freePorts } from "./processes.ts";

const WAIT = { timeout: 60_000, interval: 200 } as const;
const READY_MS = 60_000;

/** kube-proxy's rights in a cluster that kubeadm made: what a node's proxy may do, and no more. */
const RIGHTS = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: kube-proxy }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:node-proxier" }
subjects: [{ kind: User, name: nobody, apiGroup: rbac.authorization.k8s.io }]
`;

function serviceNamed(name: string, address: string): string {
  return `apiVersion: v1
kind: Service
metadata: { name: ${name} }
spec: { clusterIP: ${address}, ports: [{ name: http, port: 80, targetPort: 8080 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: ${name}-1, labels: { kubernetes.io/service-name: ${name} } }
addressType: IPv4
ports: [{ name: http, port: 8080, protocol: TCP }]
endpoints: [{ addresses: [10.244.1.4], nodeName: win-1 }, { addresses: [10.244.2.3], nodeName: win-2 }]
`;
}

let folder = "";
let plane: ControlPlane;
let hns: Program;
let proxy: Program;
let client: HcnClient;
let metricsPort = 0;

/** What kubectl printed. @throws Error with what it says when it fails. */
function kubectl(stdin: string, ...words: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(
    findProgram("kubectl"),
    [`--kubeconfig=${plane.kubeconfig}`, ...words],
    { input: stdin, encoding: "utf8" },
  );
  if (status !== 0) throw new Error(`kubectl ${words.join(" ")}: ${stderr}`);
  return stdout;
}

function apply(text: string): void {
  kubectl(text, "apply", "-f", "-");
}

/** Addresses of load balancers, but for those of the API server's own Service. */
async function vips(): Promise<readonly string[]> {
  const all = (await listLoadBalancers(client)).map(({ FrontendVIPs }) => FrontendVIPs?.[0] ?? "");
  return all.filter((vip) => vip !== "10.96.0.1").toSorted();
}

async function startHns(): Promise<void> {
  const socket = join(folder, "hns.sock");
  const command = [process.execPath, resolve("bin", "mullion.js"), "hns", "serve", "--socket", socket];
  hns = new Program(command, join(folder, "hns.log"));
  await hns.until(() => hns.written.includes("Ctrl-C"), READY_MS);
  client = findHns({ variables: { MULLION_HNS: `unix:${socket}` } });
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

async function startProxy(): Promise<void> {
  const [healthz = 0, metrics = 0] = await freePorts(2);
  metricsPort = metrics;
  const command = [
    process.execPath,
    resolve("bin", "kube-proxy"),
    // Not the administrator: somebody with the rights of system:node-proxier.
    `--kubeconfig=${plane.withoutRights}`,
    "--network-name=cbr0",
    "--hostname-override=win-1",
    `--healthz-bind-address=127.0.0.1:${healthz}`,
    `--metrics-bind-address=127.0.0.1:${metrics}`,
    "--v=2",
  ];
  const variables = { MULLION_HNS: `unix:${join(folder, "hns.sock")}` };
  proxy = new Program(command, join(folder, "kube-proxy.log"), variables);
  await proxy.until(() => proxy.written.includes("kube-proxy running in"), READY_MS);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "kube-proxy-live-"));
  plane = await ControlPlane.start();
  apply(RIGHTS);
  apply("apiVersion: v1\nkind: Node\nmetadata: { name: win-1 }\n");
  const addresses = { status: { addresses: [{ type: "InternalIP", address: "10.0.0.11" }] } };
  kubectl(
    "",
    "patch",
    "node",
    "win-1",
    "--subresource=status",
    "--type=merge",
    "-p",
    JSON.stringify(addresses),
  );
  await startHns();
  await startProxy();
}, CONTROL_PLANE_TIMEOUT_MS);
afterAll(async () => {
  await proxy.end("SIGTERM");
  await hns.end("SIGTERM");
  await client.close();
  await plane.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe("kube-proxy with a real API server", () => {
  it("takes the address of its Node, and tells its start as an event", async () => {
    expect(proxy.written).toContain('NodeIPs=["10.0.0.11"]');
    const event = (): string => kubectl("", "get", "events", "-o", "wide");
    await expect.poll(event, WAIT).toMatch(/Normal\s+Starting\s+node\/win-1\s+kube-proxy, win-1/);
  });

  it("programs what kubectl applies, changes and deletes", async () => {
    apply(serviceNamed("web", "10.96.0.20"));
    await expect.poll(vips, WAIT).toEqual(["10.96.0.20"]);
    apply(serviceNamed("api", "10.96.0.21"));
    await expect.poll(vips, WAIT).toEqual(["10.96.0.20", "10.96.0.21"]);
    kubectl("", "delete", "service", "web");
    await expect.poll(vips, WAIT).toEqual(["10.96.0.21"]);
  });

  it("does not look at headless Services and those of another proxy", async () => {
    apply(serviceNamed("headless", "None"));
    apply(
      serviceNamed("other", "10.96.0.22").replace(
        "{ name: other }",
        "{ name: other, labels: { service.kubernetes.io/service-proxy-name: x } }",
      ),
    );
    apply(serviceNamed("mark", "10.96.0.23"));
    await expect.poll(vips, WAIT).toEqual(["10.96.0.21", "10.96.0.23"]);
  });

  it("goes on through the end of the API server, forgotten versions included", async () => {
    await plane.killApiServer();
    await proxy.until(() => proxy.written.includes("Kubernetes cannot be read"), READY_MS);
    expect(await vips()).toEqual(["10.96.0.21", "10.96.0.23"]);
    await plane.startApiServer();
    kubectl("", "delete", "service", "mark");
    await plane.compact();
    apply(serviceNamed("late", "10.96.0.24"));
    await expect.poll(vips, WAIT).toEqual(["10.96.0.21", "10.96.0.24"]);
  });

  it("counts as upstream does", async () => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    expect(text).toMatch(/^kubeproxy_sync_proxy_rules_service_changes_total [1-9]\d*$/m);
    expect(text).toMatch(/^kubeproxy_sync_proxy_rules_endpoint_changes_pending 0$/m);
    expect(text).toMatch(/^kubeproxy_sync_proxy_rules_duration_seconds_count\{ip_family="IPv4"\} [1-9]\d*$/m);
  });

  it("says what is missing when the API server does not know it", async () => {
    const config = join(folder, "kube-proxy.yaml");
    writeFileSync(
      config,
      `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: { kubeconfig: ${JSON.stringify(plane.unknown)} }
winkernel: { networkName: cbr0 }
metricsBindAddress: 127.0.0.1:${(await freePorts(1))[0]}
healthzBindAddress: 127.0.0.1:${(await freePorts(1))[0]}
`,
    );
    const stranger = new Program(
      [process.execPath, resolve("bin", "kube-proxy"), `--config=${config}`],
      join(folder, "stranger.log"),
    );
    await stranger.until(() => stranger.written.includes("kubernetes-access-denied"), READY_MS);
    expect(stranger.written).toContain("Kubernetes cannot be read; it is tried again");
    await stranger.end("SIGINT");
  });
});
