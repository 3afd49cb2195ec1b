/**
 * `ovnkube` and `ovn-k8s-cni-overlay` as a node has them: two processes with a socket between them, an API server with the pods'
 * annotations, HNS behind its own socket.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { parseNetworkList } from "#contracts/cni/conflist.ts";
import { ExecRunner } from "#contracts/cni/exec-plugin.node.ts";
import { formatResult } from "#contracts/cni/result.ts";
import { CniRuntime, MemoryResultCache } from "#contracts/cni/runtime.ts";
import {
  createNamespace,
  createNetwork,
  deleteEndpoint,
  listEndpoints,
  namespaceOf,
} from "#contracts/hcn/operations.ts";
import { KubeServer } from "#control-plane/http/server.node.ts";
import { MemoryKubeSource } from "#control-plane/memory/memory-kube-source.ts";
import { HnsHttpServer } from "#hns/http/http-server.node.ts";
import { BIN, PROGRAM_PATH, runPluginProcess } from "#test/support/cni/plugin-process.ts";
import { type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";
import { start as startKube } from "#test/support/kubernetes/kube.suite.ts";

const ANNOTATION = "k8s.ovn.org/pod-networks";
const NETWORKS = JSON.stringify({
  default: {
    ip_addresses: ["10.128.2.5/24"],
    mac_address: "0a:58:0a:80:02:05",
    gateway_ips: ["10.128.2.1"],
  },
});
const WAIT = { timeout: 30_000, interval: 50 } as const;

let folder = "";
let node: HnsNode;
let hns: HnsHttpServer;
let source: MemoryKubeSource;
let kube: KubeServer;
let daemon: ChildProcess | undefined;
let printed = "";

const env = (): Record<string, string> => ({
  PATH: PROGRAM_PATH,
  CNI_PATH: BIN,
  MULLION_HNS: `unix:${join(folder, "hns.sock")}`,
  MULLION_OVN_CNI_SOCKET: join(folder, "run", "ovn-cni-server.sock"),
});

/** The daemon, when its socket is there. */
async function startDaemon(): Promise<void> {
  const words = [
    "--init-node",
    "win-1",
    "--k8s-kubeconfig",
    join(folder, "config"),
    `--cni-conf-dir=${folder}/net.d`,
  ];
  printed = "";
  const child = spawn(join(BIN, "ovnkube"), words, { env: env(), stdio: ["ignore", "ignore", "pipe"] });
  child.stderr.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  daemon = child;
  await expect.poll(() => printed, WAIT).toContain("CNI server started");
}

async function stopDaemon(): Promise<number | null> {
  const child = daemon;
  daemon = undefined;
  if (child === undefined || child.exitCode !== null) return child?.exitCode ?? null;
  const ended = new Promise<number | null>((settle) => void child.on("close", settle));
  child.kill("SIGTERM");
  return ended;
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "ovnkube-"));
  node = hnsNode();
  await createNetwork(node.client, {
    Name: "external",
    Type: "Transparent",
    Ipams: [
      {
        Type: "Static",
        Subnets: [
          {
            IpAddressPrefix: "10.128.2.0/24",
            Routes: [{ NextHop: "10.128.2.1", DestinationPrefix: "0.0.0.0/0" }],
          },
        ],
      },
    ],
  });
  hns = await HnsHttpServer.listen({
    client: node.client,
    address: { socketPath: join(folder, "hns.sock") },
  });
  source = new MemoryKubeSource(startKube("", { clusterCIDRs: [] }));
  kube = await KubeServer.listen({ source, host: "127.0.0.1", port: 0, gitVersion: "v1.34.0" });
  kube.writeKubeconfig(join(folder, "config"));
  await startDaemon();
});
afterEach(async () => {
  await stopDaemon();
  await kube.close();
  await hns.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A pod of this node, and its sandbox. @returns its UID, and the id of the namespace. */
async function addPod(networks?: string): Promise<{ readonly uid: string; readonly netns: string }> {
  const annotations = networks === undefined ? {} : { [ANNOTATION]: networks };
  const made = await source.create("Pod", {
    metadata: { namespace: "default", name: "web", annotations },
    spec: { nodeName: "win-1", containers: [{ name: "web", image: "web" }] },
  });
  return { uid: made.metadata.uid, netns: (await createNamespace(node.client)).ID };
}

function runtime(): CniRuntime {
  return new CniRuntime({ runner: new ExecRunner(), cache: new MemoryResultCache(), env: env() });
}

function attachment({ uid, netns }: { readonly uid: string; readonly netns: string }) {
  const args = `IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;K8S_POD_UID=${uid}`;
  return {
    containerId: "SBX",
    netns,
    ifName: "eth0",
    args: args.split(";").map((pair) => {
      const [name = "", value = ""] = pair.split("=");
      return [name, value] as const;
    }),
  };
}

/** The list of the file that the daemon has written. */
function list() {
  const { cniVersion, name, ...plugin } = JSON.parse(
    readFileSync(join(folder, "net.d", "10-ovn-kubernetes.conf"), "utf8"),
  ) as Record<string, unknown>;
  return parseNetworkList(JSON.stringify({ cniVersion, name, plugins: [plugin] }));
}

const endpoints = async (): Promise<unknown> =>
  (await listEndpoints(node.client)).map((endpoint) => [
    endpoint.Name,
    endpoint.MacAddress,
    endpoint.IpConfigurations?.[0]?.IpAddress,
    namespaceOf(endpoint),
  ]);

it("ADD, CHECK, DEL with the file that the daemon writes, over a socket that only its owner opens", async () => {
  const pod = await addPod(NETWORKS);
  expect(statSync(env()["MULLION_OVN_CNI_SOCKET"] ?? "").mode & 0o777).toBe(0o600);
  const cni = runtime();
  const added = await cni.add(list(), attachment(pod));
  expect(formatResult(added, "0.4.0")).toMatchObject({
    interfaces: [{ name: "eth0", mac: "0a:58:0a:80:02:05", sandbox: pod.netns }],
    ips: [{ address: "10.128.2.5/24", gateway: "10.128.2.1" }],
  });
  expect(await endpoints()).toEqual([["default_web", "0A-58-0A-80-02-05", "10.128.2.5", pod.netns]]);
  await cni.check(list(), attachment(pod));
  await cni.del(list(), attachment(pod));
  await cni.del(list(), attachment(pod));
  expect(await endpoints()).toEqual([]);
});

it("CHECK fails when somebody has taken the endpoint away", async () => {
  const pod = await addPod(NETWORKS);
  const cni = runtime();
  await cni.add(list(), attachment(pod));
  for (const { ID } of await listEndpoints(node.client)) await deleteEndpoint(node.client, ID);
  await expect(cni.check(list(), attachment(pod))).rejects.toThrowError(
    "the endpoint default_web is gone, or is no longer in the namespace",
  );
});

it("ADD waits for the annotation, and has it when the controller writes it", async () => {
  const pod = await addPod();
  let isDone = false;
  const adding = runtime()
    .add(list(), attachment(pod))
    .finally(() => (isDone = true));
  // The daemon has the request: the answer to another one comes behind it.
  const other = {
    ...env(),
    CNI_COMMAND: "DEL",
    CNI_CONTAINERID: "X",
    CNI_IFNAME: "eth0",
    CNI_NETNS: pod.netns,
  };
  const asked = await runPluginProcess(
    "ovn-k8s-cni-overlay",
    { ...other, CNI_ARGS: "K8S_POD_NAMESPACE=default;K8S_POD_NAME=other" },
    { cniVersion: "0.4.0", name: "ovn-kubernetes", type: "ovn-k8s-cni-overlay" },
  );
  expect([asked, isDone]).toEqual([{ status: 0, stdout: "", stderr: "" }, false]);
  const body = { metadata: { annotations: { [ANNOTATION]: NETWORKS } } };
  await source.patch("Pod", { namespace: "default", name: "web" }, { type: "merge", body });
  expect(formatResult(await adding, "0.4.0")).toMatchObject({ ips: [{ address: "10.128.2.5/24" }] });
});

it("a daemon that was started anew takes the endpoint of a running pod for what it is", async () => {
  const pod = await addPod(NETWORKS);
  await runtime().add(list(), attachment(pod));
  expect(await stopDaemon()).toBe(0);
  await startDaemon();
  const again = await runtime().add(list(), attachment(pod));
  expect(formatResult(again, "0.4.0")).toMatchObject({ ips: [{ address: "10.128.2.5/24" }] });
  expect(await endpoints()).toHaveLength(1);
});

it("without a server the plugin says where it looks, and the runtime asks again", async () => {
  const pod = await addPod(NETWORKS);
  await stopDaemon();
  await expect(runtime().add(list(), attachment(pod))).rejects.toMatchObject({
    code: 11,
    message: expect.stringMatching(
      /failed to send CNI request: .*ovn-cni-server\.sock while ovnkube/s,
    ) as string,
  });
});

it("a network that cannot be told from another one is refused with what to write", async () => {
  const pod = await addPod(NETWORKS.replace("10.128.2.1", "10.128.9.1"));
  await expect(runtime().add(list(), attachment(pod))).rejects.toThrowError(
    "no network of HNS has the gateway 10.128.9.1",
  );
  expect(await endpoints()).toEqual([]);
});

it("words that ovnkube does not know end it with status 2", async () => {
  const run = await runPluginProcess("ovnkube", env(), "", ["--init-nod", "win-1"]);
  expect(run).toMatchObject({ status: 2, stdout: "" });
  expect(run.stderr).toContain("flag provided but not defined: -init-nod; did you mean --init-node?");
});
