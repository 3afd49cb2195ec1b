// kubectl exec and logs on a served cluster, asked by the project's own client of Kubernetes over the same WebSocket.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { ClientRequest, IncomingMessage } from "node:http";
import { request as requestTls } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { Exec, KubeConfig, Log, type LogOptions, type V1Status } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "../program.ts";
import { serve } from "./serve.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: shop}
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11}
  - {name: linux-1, os: linux, address: 10.0.0.21}
manifests: [m.yaml]
`;

function pod(name: string, os: string): string {
  return `
---
apiVersion: v1
kind: Pod
metadata: {name: ${name}, labels: {app: ${name}}}
spec:
  nodeSelector: {kubernetes.io/os: ${os}}
  containers: [{name: c, image: example.invalid/c, ports: [{containerPort: 80}]}]`;
}

const MANIFESTS = `${pod("win", "windows")}${pod("tux", "linux")}
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
    ["port-forward", EXEC.replace("exec", "portforward"), webSocket(), 400, /portforward is not served here/],
    ["another path", "/api/v1/nodes", webSocket(), 404, /could not find/],
  ])("%s is refused", async (_, path, headers, code, text) => {
    const [status, body] = await ask(path, { ...headers, authorization: authorization() });
    expect(status).toBe(code);
    expect(body).toMatch(text);
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
