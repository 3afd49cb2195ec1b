import { request } from "node:http";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LIMITS } from "#core/base/limits.ts";
import { describeHcnClient } from "#test/support/hns/client.suite.ts";
import { type HcnClient, type HcnNotification, NOTIFICATION_TYPES } from "#contracts/hcn/client.ts";
import { findHns } from "#contracts/hcn/http/find-hns.node.ts";
import { HttpHcnClient, PooledExchange } from "#contracts/hcn/http/http-client.node.ts";
import type { HttpAddress, HttpExchange } from "#contracts/hcn/http/http-exchange.node.ts";
import { createNetwork } from "#contracts/hcn/operations.ts";
import { SerialExchange } from "#contracts/hcn/http/serial-exchange.node.ts";
import { CBR0, hnsNode } from "#test/support/hns/hns-node.ts";
import { HnsHttpServer } from "./http-server.node.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";
const opened: HnsHttpServer[] = [];
const folders: string[] = [];

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "mullion-test-"));
  folders.push(path);
  return path;
}

async function serveSocket(client: HcnClient = hnsNode().client): Promise<string> {
  const socketPath = join(folder(), "hns.sock");
  opened.push(await HnsHttpServer.listen({ client, address: { socketPath } }));
  return socketPath;
}

async function serveTcp(): Promise<number> {
  const address = { host: "127.0.0.1", port: 0, token: TOKEN } as const;
  const server = await HnsHttpServer.listen({ client: hnsNode().client, address });
  opened.push(server);
  return server.port!;
}

afterEach(async () => {
  for (const server of opened.splice(0)) await server.close();
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true });
});

describeHcnClient("the client over a Unix socket", async () => {
  return new HttpHcnClient({ address: { socketPath: await serveSocket() } });
});

describeHcnClient("the client over loopback TCP", async () => {
  return new HttpHcnClient({ address: { host: "127.0.0.1", port: await serveTcp(), token: TOKEN } });
});

describeHcnClient("the client over one connection, a Unix socket", async () => {
  const address = { socketPath: await serveSocket() };
  return new HttpHcnClient({ address, exchange: new SerialExchange(address) });
});

describeHcnClient("the client over one connection, loopback TCP", async () => {
  const address = { host: "127.0.0.1", port: await serveTcp(), token: TOKEN };
  return new HttpHcnClient({ address, exchange: new SerialExchange(address) });
});

describe("the server", () => {
  it("makes a socket that only its owner can open, and takes it away again", async () => {
    const socketPath = await serveSocket();
    expect(statSync(socketPath).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(socketPath, ".."))).toEqual(["hns.sock"]);
    await opened.pop()!.close();
    expect(readdirSync(join(socketPath, ".."))).toEqual([]);
  });

  it("takes over a socket that nobody listens on any more, but not one in use", async () => {
    const socketPath = await serveSocket();
    const { client } = hnsNode();
    await expect(HnsHttpServer.listen({ client, address: { socketPath } })).rejects.toThrow(
      `Another service listens on ${socketPath}`,
    );
    const dead = join(folder(), "hns.sock");
    const other = createServer();
    await new Promise<void>((resolve) => {
      other.listen(dead, resolve);
    });
    other.close();
    opened.push(await HnsHttpServer.listen({ client, address: { socketPath: dead } }));
    expect(await new HttpHcnClient({ address: { socketPath: dead } }).enumerate("Network")).toEqual([]);
  });

  it("does not touch a file that is no socket", async () => {
    const path = join(folder(), "hns.sock");
    writeFileSync(path, "precious");
    await expect(
      HnsHttpServer.listen({ client: hnsNode().client, address: { socketPath: path } }),
    ).rejects.toThrow("is not a socket");
  });

  it("refuses a wrong token and one that is too short to be one", async () => {
    const port = await serveTcp();
    const client = new HttpHcnClient({ address: { host: "127.0.0.1", port, token: "wrong" } });
    await expect(client.enumerate("Network")).rejects.toMatchObject({ code: "E_ACCESSDENIED" });
    const address = { host: "127.0.0.1", port: 0, token: "short" } as const;
    await expect(HnsHttpServer.listen({ client: hnsNode().client, address })).rejects.toThrow(
      "16 characters",
    );
  });

  it.each([
    ["bearer", "127.0.0.1", 200],
    ["BEARER ", "localhost:8080", 200],
    ["Bearer", "[::1]:80", 200],
    ["Basic", "127.0.0.1", 401],
    ["Bearerx", "127.0.0.1", 401],
    // A page of a browser, whose name leads to this machine.
    ["Bearer", "evil.example", 421],
    ["Bearer", "127.0.0.1.evil.example:80", 421],
    ["Bearer", "localhost.evil.example", 421],
  ])("a scheme %j with Host %s: %d (RFC 9110 §11.1, §7.4)", async (scheme, host, status) => {
    const port = await serveTcp();
    const headers = { authorization: `${scheme} ${TOKEN}`, host };
    const options = { host: "127.0.0.1", port, path: "/hcn/enumerate", method: "POST", headers };
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    request(options, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    }).end('{"kind":"Network"}');
    const answered = await promise;
    // A refusal of access is an answer of HNS.
    expect(status === 401 ? answered !== 200 && answered !== 421 : answered === status).toBe(true);
  });

  it.each([
    ["POST", "/hcn/enumerate", "{", 400],
    ["POST", "/hcn/enumerate", '{"kind":"Pod"}', 400],
    ["POST", "/hcn/toString", "{}", 400],
    ["POST", "/etc/passwd", "{}", 400],
    ["GET", "/hcn/enumerate", "", 400],
    ["POST", "/hcn/create", '{"kind":"Network"}', 400],
    ["POST", "/hcn/delete", '{"kind":"Network","id":"0fb28d70-306c-469d-9690-3245a82d882a"}', 404],
  ])("%s %s %s answers %d with a record", async (method, path, body, status) => {
    const port = await serveTcp();
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}` },
      ...(body !== "" && { body }),
    });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { Success: false } });
  });

  it("refuses a request that is too long and lives on", async () => {
    const client = new HttpHcnClient({ address: { socketPath: await serveSocket() } });
    const body = "x".repeat(LIMITS.jsonBytesMax + 1);
    await expect(client.call("POST", "/networks/", body)).rejects.toThrow(
      /longer than 10485760 bytes|the service closed the connection/,
    );
    expect(await client.enumerate("Network")).toEqual([]);
    await client.close();
  });

  it("says that a request failed, and not how, when the service breaks", async () => {
    const { client } = hnsNode();
    const broken: HcnClient = Object.create(client, {
      enumerate: { value: async () => Promise.reject(new Error("disk full at /secret")) },
    }) as HcnClient;
    const over = new HttpHcnClient({ address: { socketPath: await serveSocket(broken) } });
    const error = await over.enumerate("Network").catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "unknown", hresult: 0x80004005 });
    expect(String(error)).not.toContain("secret");
    await over.close();
  });
});

/** What carries calls. */
const CARRIERS: readonly (readonly [string, (address: HttpAddress) => HttpExchange])[] = [
  ["with a pool of connections", (address) => new PooledExchange(address)],
  ["with one connection", (address) => new SerialExchange(address)],
];

describe.each(CARRIERS)("the client %s", (_, carrierOf) => {
  let socketPath: string;
  const connect = (timeoutMs?: number): HttpHcnClient => {
    const address = { socketPath };
    const exchange = carrierOf(address);
    return new HttpHcnClient({ address, exchange, ...(timeoutMs !== undefined && { timeoutMs }) });
  };
  beforeEach(() => {
    socketPath = join(folder(), "hns.sock");
  });

  it("says that nobody answers, where, and what to do", async () => {
    const client = connect();
    await expect(client.enumerate("Network")).rejects.toMatchObject({
      code: "RPC_S_SERVER_UNAVAILABLE",
      explanation: "hns-unreachable",
      detail: `No HNS answers at unix:${socketPath}: there is no such socket. Start one with "mullion hns serve" or set MULLION_HNS`,
    });
  });

  it("waits no longer than it was told", async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => {
      silent.listen(socketPath, resolve);
    });
    const client = connect(50);
    await expect(client.enumerate("Network")).rejects.toThrow("no answer within 0.05 s");
    await client.close();
    silent.close();
  });

  it("does not take what is no HNS for one", async () => {
    const other = createServer((socket) => {
      socket.once("data", () => {
        socket.end("HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n[1,2,3]");
      });
    });
    await new Promise<void>((resolve) => {
      other.listen(socketPath, resolve);
    });
    const client = connect();
    await expect(client.enumerate("Network")).rejects.toThrow("is it a Mullion HNS of this version?");
    await client.close();
    other.close();
  });

  it("goes on with a service that was started anew", async () => {
    const first = await HnsHttpServer.listen({ client: hnsNode().client, address: { socketPath } });
    const client = connect();
    await createNetwork(client, CBR0);
    await first.close();
    const second = await HnsHttpServer.listen({ client: hnsNode().client, address: { socketPath } });
    expect(await client.enumerate("Network")).toEqual([]);
    await createNetwork(client, CBR0);
    expect(await client.enumerate("Network")).toHaveLength(1);
    await client.close();
    await second.close();
  });

  it("asks again when the connection ends within the answer to a question, and not to a change", async () => {
    let requests = 0;
    const dying = createServer((socket) => {
      socket.once("data", () => {
        requests += 1;
        socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{");
      });
    });
    await new Promise<void>((resolve) => {
      dying.listen(socketPath, resolve);
    });
    const client = connect();
    await expect(client.enumerate("Network")).rejects.toThrow("the service closed the connection");
    expect(requests).toBe(2);
    await expect(client.create("Network", {})).rejects.toThrow("the service closed the connection");
    expect(requests).toBe(3);
    await client.close();
    dying.close();
  });

  it("HCN-095 tells its listeners when the service goes away", async () => {
    const path = await serveSocket();
    const client = new HttpHcnClient({ address: { socketPath: path } });
    const heard: HcnNotification[] = [];
    client.subscribe((notification) => heard.push(notification));
    await createNetwork(client, CBR0);
    await expect.poll(() => heard.length).toBe(2);
    await opened.pop()!.close();
    await expect.poll(() => heard.at(-1)?.type).toBe(NOTIFICATION_TYPES.ServiceDisconnect);
    await client.close();
  });
});

describe("findHns", () => {
  it("takes MULLION_HNS first", async () => {
    const socketPath = await serveSocket();
    const client = findHns({ variables: { MULLION_HNS: `unix:${socketPath}` } });
    expect(await client.enumerate("Network")).toEqual([]);
    await client.close();
    const port = await serveTcp();
    const variables = { MULLION_HNS: `http://127.0.0.1:${port}`, MULLION_HNS_TOKEN: TOKEN };
    const overTcp = findHns({ variables });
    expect(await overTcp.enumerate("Network")).toEqual([]);
    await overTcp.close();
  });

  it("then the user's own socket", async () => {
    const runtime = folder();
    const uid = process.getuid?.() === 0 ? 0 : (process.getuid?.() ?? 1000);
    const socketPath = join(runtime, "mullion", "hns.sock");
    opened.push(await HnsHttpServer.listen({ client: hnsNode().client, address: { socketPath } }));
    const client = findHns({
      variables: { XDG_RUNTIME_DIR: runtime },
      platform: "linux",
      uid: uid === 0 ? 1000 : uid,
    });
    expect(await client.enumerate("Network")).toEqual([]);
    await client.close();
  });

  it.each([
    ["unix:relative.sock", undefined, "unix: and an absolute path"],
    ["tcp://127.0.0.1:80", TOKEN, "unix:/path/to.sock, npipe:////./pipe/NAME or http://127.0.0.1:PORT"],
    ["nonsense", TOKEN, "unix:/path/to.sock, npipe:////./pipe/NAME or http://127.0.0.1:PORT"],
    ["http://10.0.0.1:80", TOKEN, "a loopback address"],
    ["http://127.0.0.1", TOKEN, "unix:/path/to.sock, npipe:////./pipe/NAME or http://127.0.0.1:PORT"],
    ["http://127.0.0.1:8080", undefined, "MULLION_HNS_TOKEN"],
  ])("MULLION_HNS=%s is refused with what to write", (address, token, expected) => {
    const variables = { MULLION_HNS: address, ...(token !== undefined && { MULLION_HNS_TOKEN: token }) };
    expect(() => findHns({ variables })).toThrow(expected);
  });

  it("says where it looked when there is none", () => {
    const runtime = folder();
    expect(() => findHns({ variables: { XDG_RUNTIME_DIR: runtime }, platform: "linux", uid: 1000 })).toThrow(
      `No HNS was found: MULLION_HNS is not set; there is no socket ${join(runtime, "mullion", "hns.sock")}. Start one with "mullion hns serve"`,
    );
    const root = { SystemRoot: "D:\\Windows" };
    expect(() => findHns({ variables: root, platform: "win32" })).toThrow(
      "there is no D:\\Windows\\System32\\computenetwork.dll",
    );
  });
});

it("a peer that connects and says nothing does not stop others", async () => {
  const socketPath = await serveSocket();
  const silent = createConnection(socketPath);
  await new Promise<void>((resolve) => {
    silent.once("connect", resolve);
  });
  const client = new HttpHcnClient({ address: { socketPath } });
  expect(await client.enumerate("Network")).toEqual([]);
  silent.destroy();
  await client.close();
});
