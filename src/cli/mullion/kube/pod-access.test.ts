// kubectl exec, logs and port-forward on a served cluster, asked by the project's own client of Kubernetes over the same WebSocket.
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { ClientRequest, IncomingMessage } from "node:http";
import { request as requestTls } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { CoreV1Api, Exec, KubeConfig, Log, type LogOptions, type V1Status } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { PortForwardClient } from "#test/support/kubernetes/port-forward-client.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "../program.ts";
import { serve } from "./serve.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: shop}
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11}
  - {name: win-2, os: windows, address: 10.0.0.12, portForward: wincat}
  - {name: win-3, os: windows, address: 10.0.0.13, portForward: without-wincat}
  - {name: linux-1, os: linux, address: 10.0.0.21}
manifests: [m.yaml]
`;

function pod(name: string, os: string, node = ""): string {
  return `
---
apiVersion: v1
kind: Pod
metadata: {name: ${name}, labels: {app: ${name}}}
spec:
  nodeSelector: {kubernetes.io/os: ${os}}
  ${node === "" ? "" : `nodeName: ${node}`}
  containers: [{name: c, image: example.invalid/c, ports: [{containerPort: 80}]}]`;
}

const MANIFESTS = `${pod("win", "windows", "win-1")}${pod("cat", "windows", "win-2")}${pod("lost", "windows", "win-3")}${pod("tux", "linux")}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: 10.96.0.20, selector: {app: tux}, ports: [{port: 80}]}`;

let folder = "";
let config: KubeConfig;
let terminal: MemoryTerminal;
let ended: Promise<number>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mullion-pod-access-"));
  const kubeconfig = join(folder, "config");
  terminal = new MemoryTerminal({ "c.yaml": CLUSTER, "m.yaml": MANIFESTS });
  ended = runMullion({
    argv: ["kube", "serve", "-f", "c.yaml", "--kubeconfig", kubeconfig],
    verbs: { kube: { serve } },
    terminal,
    version: "0",
    isDebug: false,
  });
  await vi.waitUntil(() => terminal.output.includes("Ctrl-C"), { timeout: 30_000 });
  config = new KubeConfig();
  config.loadFromString(readFileSync(kubeconfig, "utf8"));
}, 60_000);

afterAll(async () => {
  terminal.interrupt();
  const code = await ended;
  if (code !== 0) throw new Error(`the server ended with ${code}`);
  rmSync(folder, { recursive: true, force: true });
});

function textOf(stream: PassThrough): () => string {
  const parts: Buffer[] = [];
  stream.on("data", (part: Buffer) => parts.push(part));
  return () => Buffer.concat(parts).toString();
}

interface Ending {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: V1Status;
}

async function exec(name: string, command: readonly string[], isTerminal = false): Promise<Ending> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const [readStdout, readStderr] = [textOf(stdout), textOf(stderr)];
  const status = await new Promise<V1Status>((resolve, reject) => {
    new Exec(config)
      .exec("default", name, "c", [...command], stdout, stderr, null, isTerminal, resolve)
      .catch(reject);
  });
  return { stdout: readStdout(), stderr: readStderr(), status };
}

function exitCode({ status }: Ending): string | undefined {
  return status.details?.causes?.find(({ reason }) => reason === "ExitCode")?.message;
}

/** A request of which the answer's status and text are looked at. */
async function ask(
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<readonly [number, string]> {
  const { server = "", caData = "" } = config.getCurrentCluster() ?? {};
  const ca = Buffer.from(caData, "base64");
  return new Promise((resolve, reject) => {
    const request: ClientRequest = requestTls(`${server}${path}`, { ca, headers, agent: false });
    request.on("response", (response: IncomingMessage) => {
      let text = "";
      response.on("data", (part: Buffer) => (text += part.toString()));
      response.on("end", () => resolve([response.statusCode ?? 0, text]));
    });
    request.on("upgrade", (_response, socket) => {
      socket.destroy();
      reject(new Error("upgraded"));
    });
    request.on("error", reject);
    request.end();
  });
}

function authorization(): string {
  return `Bearer ${config.getCurrentUser()?.token ?? ""}`;
}

const EXEC = "/api/v1/namespaces/default/pods/win/exec?command=ipconfig&stdout=true";

describe("exec", () => {
  it("brings what a command prints on Windows, and its good end", async () => {
    const { stdout, stderr, status } = await exec("win", ["ipconfig", "/all"]);
    expect(stdout).toMatch(/^\r\nWindows IP Configuration\r\n\r\n {3}Host Name/);
    expect({ stderr, status: status.status }).toEqual({ stderr: "", status: "Success" });
  });

  it("brings stderr and exit code of a command that fails on Linux", async () => {
    const ending = await exec("tux", ["curl", "http://gone."]);
    expect(ending).toMatchObject({ stdout: "", stderr: "curl: (6) Could not resolve host: gone.\n" });
    expect(ending.status).toMatchObject({ status: "Failure", reason: "NonZeroExitCode" });
    expect(exitCode(ending)).toBe("6");
  });

  it("on a terminal both come together, each line from the first column", async () => {
    const { stdout, stderr } = await exec("tux", ["nmap"], true);
    expect({ stdout, stderr }).toEqual({ stdout: "sh: 1: nmap: not found\r\n", stderr: "" });
  });

  it("what a command changes stays in the cluster", async () => {
    expect(exitCode(await exec("win", ["Resolve-DnsName", "web"]))).toBe(undefined);
    const { stdout } = await exec("win", ["ipconfig", "/displaydns"]);
    expect(stdout).toContain("web.default.svc.cluster.local");
  });

  it("a command that is refused says what there is", async () => {
    const { stdout, status } = await exec("win", ["ipconfig", "/renew"]);
    expect(stdout).toBe("");
    expect(status).toMatchObject({ status: "Failure", reason: "BadRequest", code: 400 });
    expect(status.message).toMatch(/ipconfig \/renew is not one of the commands .*ipconfig \/all/);
  });

  it.each([
    [
      "a client that speaks SPDY",
      EXEC,
      { upgrade: "SPDY/3.1", connection: "Upgrade" },
      400,
      /kubectl 1\.31 or later/,
    ],
    ["a protocol of before", EXEC, webSocket("channel.k8s.io"), 400, /v5\.channel\.k8s\.io/],
    ["a pod that is not there", EXEC.replace("win", "gone"), webSocket(), 404, /pods \\"gone\\" not found/],
    [
      "a container of another name",
      `${EXEC}&container=d`,
      webSocket(),
      400,
      /container d is not valid for pod win/,
    ],
    ["no command", EXEC.replace("command=ipconfig&", ""), webSocket(), 400, /you must specify a command/],
    ["attach", EXEC.replace("exec", "attach"), webSocket(), 400, /attach is not served here/],
    [
      "port-forward by SPDY alone",
      EXEC.replace("exec", "portforward"),
      { upgrade: "SPDY/3.1", connection: "Upgrade" },
      400,
      /port-forward is served over WebSocket .*kubectl 1\.31 or later/,
    ],
    ["another path", "/api/v1/nodes", webSocket(), 404, /could not find/],
  ])("%s is refused", async (_, path, headers, code, text) => {
    const [status, body] = await ask(path, { ...headers, authorization: authorization() });
    expect(status).toBe(code);
    expect(body).toMatch(text);
  });

  it("a pod that goes away while the command waits for its turn is not found", async () => {
    const api = config.makeApiClient(CoreV1Api);
    await api.createNamespacedPod({
      namespace: "default",
      body: {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "brief" },
        spec: {
          nodeName: "win-1",
          nodeSelector: { "kubernetes.io/os": "windows" },
          containers: [{ name: "c", image: "example.invalid/c" }],
        },
      },
    });
    const reasonOf = async (): Promise<string> => {
      try {
        const { status } = await exec("brief", ["ipconfig"]);
        return status.reason ?? status.status ?? "";
      } catch (error) {
        return String(error);
      }
    };
    await vi.waitUntil(async () => (await reasonOf()) === "Success");
    const [, ...answers] = await Promise.all([
      api.deleteNamespacedPod({ namespace: "default", name: "brief", gracePeriodSeconds: 0 }),
      ...Array.from({ length: 6 }, reasonOf),
    ]);
    // Each of them met the pod, or was told that it is gone.
    for (const each of answers) expect(each).toMatch(/^(?:Success|NotFound)$|404/);
    const left = await exec("win", ["ipconfig"]);
    expect(left.status.status).toBe("Success");
  });

  it("without the token there is no stream", async () => {
    expect((await ask(EXEC, webSocket()))[0]).toBe(401);
  });
});

function webSocket(protocol = "v5.channel.k8s.io"): Record<string, string> {
  return {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-protocol": protocol,
  };
}

describe("port-forward", () => {
  const path = (name: string): string => `/api/v1/namespaces/default/pods/${name}/portforward`;
  const GET = Buffer.from("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");

  function post(body: Uint8Array): Buffer {
    return Buffer.concat([Buffer.from(`POST / HTTP/1.1\r\nContent-Length: ${body.length}\r\n\r\n`), body]);
  }

  async function withClient<T>(name: string, work: (client: PortForwardClient) => Promise<T>): Promise<T> {
    const client = await PortForwardClient.open(config, path(name));
    try {
      return await work(client);
    } finally {
      client.end();
    }
  }

  it("on Windows the node asks the pod's address, on Linux the pod itself", async () => {
    const [windows, linux] = await Promise.all(
      ["win", "tux"].map(async (name) => withClient(name, async (client) => client.exchange(80, GET))),
    );
    expect(windows?.bytes.toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*win saw 10\.244\.\d+\.2:\d+\n$/);
    expect(linux?.bytes.toString()).toMatch(/tux saw 127\.0\.0\.1:\d+\n$/);
    expect([windows?.error, linux?.error]).toEqual(["", ""]);
  });

  it("DOC 9.11: a runtime of before runs wincat of the pause image in the pod, and without it there is none", async () => {
    const [cat, lost] = await Promise.all(
      ["cat", "lost"].map(async (name) => withClient(name, async (client) => client.exchange(80, GET))),
    );
    expect(cat?.bytes.toString()).toMatch(/cat saw 127\.0\.0\.1:\d+\n$/);
    expect(lost?.error).toBe(
      "error forwarding port 80 to pod lost, uid : unable to do port forwarding: wincat not found",
    );
  });

  it("many bytes of any kind arrive whole, on several connections at once", async () => {
    const bodies = [1, 70_000, 1_000_000].map((length) => randomBytes(length));
    const answers = await withClient("win", async (client) =>
      Promise.all(bodies.map(async (body) => client.exchange(80, post(body)))),
    );
    for (const [index, { bytes, error }] of answers.entries()) {
      const body = bytes.subarray(bytes.indexOf("\r\n\r\n") + 4);
      expect(body.equals(bodies[index] as Buffer)).toBe(true);
      expect(error).toBe("");
    }
  });

  it.each([
    [
      "win",
      /^error forwarding port 9 to pod win, uid : failed to connect to 10\.\S+:9 .*actively refused it\.$/,
    ],
    [
      "tux",
      /^error forwarding port 9 to pod tux, uid : failed to connect to localhost:9 .*connection refused$/,
    ],
  ])("%s: a port without a server is told on the error stream", async (name, text) => {
    const { bytes, error } = await withClient(name, async (client) => client.exchange(9, GET));
    expect(bytes).toHaveLength(0);
    expect(error).toMatch(text);
  });

  it("a pod that goes away meanwhile ends its connections, and tells why", async () => {
    const api = config.makeApiClient(CoreV1Api);
    const body = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "late" },
      spec: {
        containers: [{ name: "c", image: "i", ports: [{ containerPort: 80 }] }],
        nodeSelector: { "kubernetes.io/os": "windows" },
      },
    };
    await api.createNamespacedPod({ namespace: "default", body });
    const ending = withClient("late", async (client) =>
      client.exchange(80, Buffer.from("GET / HT"), { isHeldOpen: true }),
    );
    await exec("late", ["ipconfig"]);
    await api.deleteNamespacedPod({ namespace: "default", name: "late" });
    expect((await ending).error).toMatch(/the pod is gone$/);
  });

  it("bytes that are no frames end the connection, and nothing else", async () => {
    await withClient("win", async (client) => {
      client.send(Buffer.from("GET / HTTP/1.1\r\n\r\n"));
      await expect.poll(() => client.isClosed).toBe(true);
    });
    expect((await withClient("win", async (client) => client.exchange(80, GET))).error).toBe("");
  });
});

describe("logs", () => {
  const LINE = /^answered 10\.\d+\.\d+\.\d+:\d+ on TCP port 80$/;

  async function logs(options: LogOptions): Promise<() => string> {
    const stream = new PassThrough();
    const read = textOf(stream);
    await new Log(config).log("default", "tux", "c", stream, options);
    return read;
  }

  it("has a line for each client that was answered; -f those that come, and --tail the last", async () => {
    await exec("win", ["curl", "http://web"]);
    const read = await logs({});
    await expect.poll(read).toMatch(/on TCP port 80\n$/);
    const before = read().trimEnd().split("\n");
    expect(before.at(-1)).toMatch(LINE);
    // The server ends it when it ends.
    const followed = await logs({ follow: true, tailLines: 1 });
    await exec("tux", ["wget", "-qO-", "http://127.0.0.1"]);
    await expect.poll(followed).toMatch(/\nanswered 127\.0\.0\.1:\d+ on TCP port 80\n$/);
    const last = await logs({ tailLines: 1, timestamps: true });
    await expect.poll(last).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z answered 127\.0\.0\.1:\d+ on TCP port 80\n$/);
  });

  it.each([
    ["previous=true", /previous terminated container not found/],
    ["tailLines=-1", /tailLines is not a number/],
    ["sinceSeconds=5", /sinceSeconds is not served here/],
    ["container=d", /container d is not valid for pod tux/],
  ])("?%s is refused", async (query, text) => {
    const path = `/api/v1/namespaces/default/pods/tux/log?${query}`;
    const [status, body] = await ask(path, { authorization: authorization() });
    expect(status).toBe(400);
    expect(body).toMatch(text);
  });
});
