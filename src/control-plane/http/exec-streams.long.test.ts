// kubectl exec at its limits: much output, a client that goes away in the middle of it, a pod that does, words that are not text.
import type { Socket } from "node:net";
import { request as requestTls } from "node:https";
import { parse } from "yaml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KubeError } from "#contracts/kubernetes/error.ts";
import { start } from "#test/support/kubernetes/kube.suite.ts";
import { MemoryKubeSource } from "../memory/memory-kube-source.ts";
import type { PodAccess } from "./pod-access.ts";
import { KubeServer } from "./server.node.ts";

const MIB = 1_048_576;
const LINE = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd\r\n";
const MUCH = LINE.repeat((100 * MIB) / LINE.length);

const asked: (readonly string[])[] = [];
const access: PodAccess = {
  exec: async (_pod, command) => {
    asked.push(command);
    if (command[0] === "gone") throw new KubeError("object-not-found", 404, 'pods "web" not found');
    return Promise.resolve({ stdout: command[0] === "much" ? MUCH : "done\r\n", stderr: "", exitCode: 0 });
  },
  logs: async () => Promise.resolve([]),
  connect: async () => Promise.resolve("no port"),
};

let server: KubeServer;
let token = "";
let ca = "";

beforeAll(async () => {
  const source = new MemoryKubeSource(start("", { clusterCIDRs: [] }));
  await source.create("Pod", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "default" },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  server = await KubeServer.listen({ source, access, host: "127.0.0.1", port: 0, gitVersion: "v1.34.0" });
  const config = parse(server.kubeconfig) as {
    users: [{ user: { token: string } }];
    clusters: [{ cluster: Record<string, string> }];
  };
  token = config.users[0].user.token;
  ca = Buffer.from(config.clusters[0].cluster["certificate-authority-data"] ?? "", "base64").toString();
});

afterAll(async () => server.close());

/** The stream of one command, as its socket. */
async function open(query: string): Promise<{ readonly socket: Socket; readonly head: Buffer }> {
  const { host, port } = new URL(server.url);
  const path = `/api/v1/namespaces/default/pods/web/exec?stdout=true&${query}`;
  const headers = {
    authorization: `Bearer ${token}`,
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-protocol": "v5.channel.k8s.io",
  };
  return new Promise((resolve, reject) => {
    const request = requestTls({ host: host.split(":")[0], port, path, ca, headers, agent: false });
    request.on("upgrade", (_response, socket, head) => resolve({ socket, head }));
    request.on("response", (response) => reject(new Error(`status ${response.statusCode ?? 0}`)));
    request.on("error", reject);
    request.end();
  });
}

interface Heard {
  readonly bytes: number;
  readonly isWhole: boolean;
  readonly status: unknown;
}

/** Reads messages to the end, holding no more than one. */
async function listen(query: string): Promise<Heard> {
  const { socket, head } = await open(query);
  let waiting = Buffer.from(head);
  let [bytes, isWhole] = [0, true];
  let status: unknown;
  const take = (channel: number, payload: Buffer): void => {
    if (channel === 3 && payload.length > 0) status = JSON.parse(payload.toString());
    if (channel !== 1) return;
    const expected = LINE.repeat(2);
    const at = bytes % LINE.length;
    isWhole &&= payload.length === 0 || expected.startsWith(payload.toString("latin1", 0, LINE.length), at);
    bytes += payload.length;
  };
  const read = (): void => {
    for (;;) {
      const [, second = 0] = waiting;
      const [lengthAt, begin] = second === 126 ? [2, 4] : [1, 2];
      if (waiting.length < begin) return;
      const length = second === 126 ? waiting.readUInt16BE(lengthAt) : second;
      if (waiting.length < begin + length) return;
      const payload = waiting.subarray(begin, begin + length);
      if (((waiting[0] ?? 0) & 0x0f) === 2) take(payload[0] ?? 0, payload.subarray(1));
      waiting = waiting.subarray(begin + length);
    }
  };
  socket.on("data", (part: Buffer) => {
    waiting = Buffer.concat([waiting, part]);
    read();
  });
  await new Promise((resolve) => {
    socket.on("close", resolve);
    socket.on("end", () => socket.end());
  });
  return { bytes, isWhole, status };
}

describe("kubectl exec", () => {
  it("100 MB of output arrive whole, and the end behind them", async () => {
    const { bytes, isWhole, status } = await listen("command=much");
    expect({ bytes, isWhole }).toEqual({ bytes: MUCH.length, isWhole: true });
    expect(status).toMatchObject({ status: "Success" });
  });

  it("a client that goes away in the middle of it, as by Ctrl-C, leaves the others alone", async () => {
    const { socket } = await open("command=much");
    await new Promise((resolve) => socket.once("data", resolve));
    socket.destroy();
    expect(await listen("command=dir")).toMatchObject({ bytes: 6, status: { status: "Success" } });
  });

  it("a pod that goes away between the question and the command is not found", async () => {
    const { bytes, status } = await listen("command=gone");
    expect(bytes).toBe(0);
    expect(status).toMatchObject({ status: "Failure", reason: "NotFound", code: 404 });
  });

  it("words that are not UTF-8 come with the sign for that, and end nothing", async () => {
    const { status } = await listen("command=ping&command=%FF%FEweb&command=%ED%A0%80");
    expect(status).toMatchObject({ status: "Success" });
    expect(asked.at(-1)).toEqual(["ping", "\uFFFD\uFFFDweb", "\uFFFD\uFFFD\uFFFD"]);
  });

  it("no more words than a command has", async () => {
    await expect(listen("command=x&".repeat(1_025))).rejects.toThrow("status 400");
  });
});
