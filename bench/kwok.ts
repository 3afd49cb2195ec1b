/**
 * How long does KWOK's controller take to bring nodes and pods to Running, on the real API server of `npm run build:live`?
 * It simulates what an API server hears of nodes, and no network: a figure to see ours beside. Not one of `npm run bench`:
 * `node bench/kwok.ts [--nodes 1000] [--pods 10000]`. The controller is the Go module sigs.k8s.io/kwok, built once.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { ControlPlane } from "../test/live/kubernetes/control-plane.ts";
import { findGo } from "../tools/go-toolchain.ts";
import { describeRun } from "./measure.ts";

const VERSION = "v0.8.0";
/** What its go.mod asks for. */
const NEEDED_GO: readonly [number, number] = [1, 26];
/** Requests under way at the same time. */
const WRITERS = 16;

/** The path of the controller, which is built where it is missing. */
function findKwok(): string {
  const folder = join(homedir(), ".cache", "mullion", "live", `kwok-${VERSION}`);
  const path = join(folder, "kwok");
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const environment = { ...process.env, GOBIN: folder, CGO_ENABLED: "0" };
  const { status } = spawnSync(
    findGo({ needed: NEEDED_GO }),
    ["install", `sigs.k8s.io/kwok/cmd/kwok@${VERSION}`],
    {
      env: environment,
      stdio: "inherit",
    },
  );
  if (status !== 0) throw new Error("kwok cannot be built: is Go in PATH, and the module proxy in reach?");
  return path;
}

/** The stages of the module that bring a node to Ready and a pod to Running at once. */
const STAGES = ["node/fast/node-initialize.yaml", "pod/fast/pod-ready.yaml", "pod/fast/pod-delete.yaml"];

function stageFlags(): readonly string[] {
  const go = findGo({ needed: NEEDED_GO });
  const { stdout } = spawnSync(go, ["mod", "download", "-json", `sigs.k8s.io/kwok@${VERSION}`], {
    encoding: "utf8",
  });
  const { Dir: folder } = JSON.parse(stdout) as { readonly Dir: string };
  return STAGES.flatMap((stage) => ["--config", join(folder, "kustomize", "stage", stage)]);
}

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: { readonly server: string } }[];
  readonly users: readonly { readonly user: { readonly token: string } }[];
}

/** Asks the API server as its administrator. */
class Api {
  private readonly server: string;
  private readonly token: string;
  // The server of this run has made its certificate itself, on this machine.
  private readonly agent = new Agent({ keepAlive: true, maxSockets: WRITERS, rejectUnauthorized: false });

  constructor(kubeconfig: string) {
    const { clusters, users } = JSON.parse(readFileSync(kubeconfig, "utf8")) as Kubeconfig;
    this.server = clusters[0]?.cluster.server ?? "";
    this.token = users[0]?.user.token ?? "";
  }

  async call(method: "GET" | "POST", path: string, body?: object): Promise<unknown> {
    const headers = { authorization: `Bearer ${this.token}`, "content-type": "application/json" };
    return new Promise((resolve, reject) => {
      const sent = request(`${this.server}${path}`, { method, headers, agent: this.agent }, (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (chunk: string) => (text += chunk));
        answer.on("end", () => {
          if ((answer.statusCode ?? 500) < 300) resolve(JSON.parse(text));
          else reject(new Error(`${method} ${path}: ${text.slice(0, 300)}`));
        });
      });
      sent.on("error", reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  async createAll(path: string, objects: readonly object[]): Promise<void> {
    const waiting = objects.values();
    const write = async (): Promise<void> => {
      for (const each of waiting) await this.call("POST", path, each);
    };
    await Promise.all(Array.from({ length: WRITERS }, write));
  }

  /** Whether there is an object that the selector fits. */
  async hasAny(path: string, selector: string): Promise<boolean> {
    const list = await this.call("GET", `${path}?limit=1&fieldSelector=${encodeURIComponent(selector)}`);
    return (list as { readonly items: readonly unknown[] }).items.length > 0;
  }
}

function nodeOf(index: number): object {
  const name = `kwok-${index}`;
  const labels = { "kubernetes.io/hostname": name, "kubernetes.io/os": "windows", type: "kwok" };
  return { apiVersion: "v1", kind: "Node", metadata: { name, labels } };
}

function podOf(index: number, nodes: number): object {
  const containers = [{ name: "server", image: "registry.example.com/server:1" }];
  const spec = { nodeName: `kwok-${index % nodes}`, containers };
  return { apiVersion: "v1", kind: "Pod", metadata: { name: `pod-${index}`, namespace: "default" }, spec };
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1_000).toFixed(1)} s`;
}

const { values } = parseArgs({
  options: { nodes: { type: "string", default: "1000" }, pods: { type: "string", default: "10000" } },
});
const [nodes, pods] = [Number(values.nodes), Number(values.pods)];
const kwok = findKwok();
const stages = stageFlags();
const plane = await ControlPlane.start();
try {
  const api = new Api(plane.kubeconfig);
  const begun = performance.now();
  await api.createAll(
    "/api/v1/nodes",
    Array.from({ length: nodes }, (_, index) => nodeOf(index)),
  );
  await api.createAll(
    "/api/v1/namespaces/default/pods",
    Array.from({ length: pods }, (_, index) => podOf(index, nodes)),
  );
  process.stdout.write(`${describeRun()}\n${nodes} nodes and ${pods} pods written in ${seconds(begun)}\n`);
  const started = performance.now();
  const controller = spawn(
    kwok,
    ["--kubeconfig", plane.kubeconfig, "--manage-all-nodes", ...stages, "-v", "4"],
    {
      stdio: "ignore",
    },
  );
  const ended = new Promise<never>((_, reject) => {
    controller.on("exit", (status) => reject(new Error(`kwok ended with ${status}`)));
  });
  ended.catch(() => undefined);
  const running = async (): Promise<void> => {
    while (await api.hasAny("/api/v1/pods", "status.phase!=Running")) await sleep(500);
  };
  await Promise.race([running(), ended]);
  process.stdout.write(`KWOK ${VERSION}: all pods Running after ${seconds(started)}\n`);
  controller.kill();
} finally {
  await plane.stop();
}
