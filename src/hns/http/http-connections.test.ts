// A served HNS among many clients, slow ones and those that never end.
import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { type Socket, createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LIMITS } from "#core/base/limits.ts";
import { type HcnClient, type HcnNotification, NOTIFICATION_TYPES } from "#contracts/hcn/client.ts";
import { HttpHcnClient } from "#contracts/hcn/http/http-client.node.ts";
import { createEndpoint, createNetwork, listNetworks } from "#contracts/hcn/operations.ts";
import { CBR0, hnsNode } from "#test/support/hns/hns-node.ts";
import { HnsHttpServer } from "./http-server.node.ts";
import { NotificationFeed } from "./http-app.node.ts";

let folder = "";
let socketPath = "";
const servers: HnsHttpServer[] = [];
const clients: HttpHcnClient[] = [];
const sockets: Socket[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mullion-http-"));
  socketPath = join(folder, "hns.sock");
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) await server.close();
  rmSync(folder, { recursive: true, force: true });
});

async function serve(client: HcnClient, requestTimeoutMs = 30_000): Promise<HnsHttpServer> {
  const server = await HnsHttpServer.listen({ client, address: { socketPath }, requestTimeoutMs });
  servers.push(server);
  return server;
}

function connect(): HttpHcnClient {
  const client = new HttpHcnClient({ address: { socketPath } });
  clients.push(client);
  return client;
}

/** A connection that says `text` and then nothing; what it hears is collected. */
async function speak(
  text: string,
): Promise<{ readonly socket: Socket; heard: () => string; closed: Promise<void> }> {
  const socket = createConnection(socketPath);
  sockets.push(socket);
  let heard = "";
  socket.on("data", (bytes) => (heard += bytes.toString("utf8")));
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => {
    socket.on("close", () => resolve());
  });
  await new Promise<void>((resolve) => {
    socket.once("connect", resolve);
  });
  socket.write(text);
  return { socket, heard: () => heard, closed };
}

describe("many at a time", () => {
  it("a program may make more calls at once than the service has connections", async () => {
    await serve(hnsNode().client);
    const client = connect();
    const network = await createNetwork(client, CBR0);
    const calls = LIMITS.httpConnectionsMax + 50;
    const answers = await Promise.all(
      Array.from({ length: calls }, async () => client.query("Network", network.ID)),
    );
    expect(answers).toHaveLength(calls);
  });

  it("connections beyond the limit are refused until one is given up", async () => {
    await serve(hnsNode().client);
    const silent = await Promise.all(
      Array.from({ length: LIMITS.httpConnectionsMax }, async () => speak("")),
    );
    const client = connect();
    await expect(client.enumerate("Network")).rejects.toMatchObject({ code: "RPC_S_SERVER_UNAVAILABLE" });
    silent[0]!.socket.destroy();
    await expect.poll(async () => client.enumerate("Network").catch(() => "refused")).toEqual([]);
  });

  it("of two writers one gets the name, and the other one hears why not", async () => {
    await serve(hnsNode().client);
    const outcomes = await Promise.allSettled(
      [connect(), connect()].map(async (client) => createNetwork(client, CBR0)),
    );
    expect(outcomes.map((outcome) => outcome.status).toSorted()).toEqual(["fulfilled", "rejected"]);
    const refused = outcomes.find((outcome) => outcome.status === "rejected");
    expect(refused?.reason).toMatchObject({ code: "HCN_E_NETWORK_ALREADY_EXISTS" });
  });

  it("writers who make endpoints at the same time never get the same address", async () => {
    await serve(hnsNode().client);
    const [first, second] = [connect(), connect()];
    const network = await createNetwork(first, CBR0);
    const made = await Promise.all(
      Array.from({ length: 40 }, async (_, index) =>
        createEndpoint(index % 2 === 0 ? first : second, network.ID, { Name: `e${index}` }),
      ),
    );
    const addresses = made.map((endpoint) => endpoint.IpConfigurations?.[0]?.IpAddress);
    expect(new Set(addresses).size).toBe(40);
  });
});

describe("requests that never end", () => {
  it.each([
    ["before the headers are complete", "POST /hcn/enumerate HTTP/1.1\r\nhost: hns\r\n"],
    [
      "before the body is complete",
      'POST /hcn/enumerate HTTP/1.1\r\nhost: hns\r\ncontent-length: 18\r\n\r\n{"kind":',
    ],
  ])("%s are ended, and others are served meanwhile", async (_where, text) => {
    await serve(hnsNode().client, 600);
    const slow = await speak(text);
    expect(await connect().enumerate("Network")).toEqual([]);
    await slow.closed;
    expect(slow.heard()).toMatch(/^HTTP\/1\.1 408 Request Timeout/);
  });

  it("one with more values than are read in a moment is refused, and says how to go on", async () => {
    await serve(hnsNode().client);
    const Search = Array.from({ length: 100_001 }, () => "a");
    await expect(connect().create("Network", { ...CBR0, Dns: { Search } })).rejects.toThrowError(
      /The request has 1000\d\d brackets, braces and commas, of at most 100000; ask for its objects, or their parts, one by one/,
    );
  });

  it("thousands of subnets are compared in time, and the first two that share addresses are named", async () => {
    await serve(hnsNode().client);
    const Subnets = Array.from({ length: 4_000 }, (_, index) => ({
      IpAddressPrefix: `10.${index >> 8}.${index & 255}.0/24`,
    }));
    const more = [...Subnets, { IpAddressPrefix: "10.2.0.0/22" }, { IpAddressPrefix: "10.1.0.0/16" }];
    const before = process.cpuUsage();
    await expect(
      connect().create("Network", { ...CBR0, Ipams: [{ Type: "Static", Subnets: more }] }),
    ).rejects.toThrowError(/The subnets 10\.2\.0\.0\/24 and 10\.2\.0\.0\/22 overlap/);
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(1);
  });

  it("what is no HTTP is answered 400", async () => {
    await serve(hnsNode().client);
    const odd = await speak("\u0016\u0003\u0001 hello\r\n\r\n");
    await odd.closed;
    expect(odd.heard()).toMatch(/^HTTP\/1\.1 400 Bad Request/);
  });
});

/** A client whose notifications the test makes. */
function announcer(): { client: HcnClient; announce: (notification: HcnNotification) => void } {
  const listeners = new Set<(notification: HcnNotification) => void>();
  const client = Object.create(hnsNode().client, {
    subscribe: {
      value: (listener: (notification: HcnNotification) => void) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
  }) as HcnClient;
  return {
    client,
    announce: (notification) => {
      for (const listener of listeners) listener(notification);
    },
  };
}

const STREAM = "GET /hcn/notifications HTTP/1.1\r\nhost: hns\r\n\r\n";
const EVENT: HcnNotification = {
  type: NOTIFICATION_TYPES.NetworkCreate,
  status: 0,
  data: { ID: "0fb28d70-306c-469d-9690-3245a82d882a", Flags: 0, Data: "x".repeat(4_096) },
};

describe("listeners", () => {
  it("one that does not read is cut off, and the others hear everything", async () => {
    const { client, announce } = announcer();
    await serve(client);
    const deaf = await speak(STREAM);
    const good = await speak(STREAM);
    await expect.poll(() => deaf.heard() !== "" && good.heard() !== "").toBe(true);
    deaf.socket.pause();
    const count = 1_000;
    for (let index = 0; index < count; index++) {
      announce(EVENT);
      if (index % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await expect.poll(() => good.heard().split('"type":2').length - 1).toBe(count);
    deaf.socket.resume();
    await deaf.closed;
    expect(deaf.heard().split('"type":2').length - 1).toBeLessThan(count);
  });

  it("more than the limit are refused", async () => {
    await serve(hnsNode().client);
    const wanted = Array.from({ length: LIMITS.notificationStreamsMax }, async () => speak(STREAM));
    const listeners = await Promise.all(wanted);
    await expect.poll(() => listeners.every(({ heard }) => heard().startsWith("HTTP/1.1 200"))).toBe(true);
    const late = await speak(STREAM);
    await expect
      .poll(() => late.heard())
      .toMatch(/^HTTP\/1\.1 400[^]*64 streams of notifications are open already/);
  });

  it("an empty line keeps a stream alive", () => {
    vi.useFakeTimers();
    try {
      const feed = new NotificationFeed(hnsNode().client, () => undefined);
      const response = Object.assign(new PassThrough(), {
        writeHead: () => undefined,
        flushHeaders: () => undefined,
      });
      feed.open(response as unknown as ServerResponse, "service");
      vi.advanceTimersByTime(31_000);
      expect(String(response.read())).toBe("\n\n");
      feed.close();
    } finally {
      vi.useRealTimers();
    }
  });

  it("the last line is the good-bye of the service", async () => {
    const server = await serve(hnsNode().client);
    const listener = await speak(STREAM);
    await expect.poll(() => listener.heard()).toMatch(/^HTTP\/1\.1 200/);
    await server.close();
    await listener.closed;
    expect(listener.heard()).toContain('{"type":16777216,"status":0,"data":{"ID":"00000000-');
  });
});

describe("a service that is started anew", () => {
  it("is used by clients that were there before, whatever they ask first", async () => {
    const { client: service } = hnsNode();
    const client = connect();
    for (let round = 0; round < 5; round++) {
      const server = await serve(service);
      await createNetwork(client, { ...CBR0, Name: `cbr${round}` });
      expect(await listNetworks(client)).toHaveLength(round + 1);
      await server.close();
      servers.pop();
      await expect(client.enumerate("Network")).rejects.toMatchObject({ code: "RPC_S_SERVER_UNAVAILABLE" });
    }
  });

  it("finishes the answers that are under way", async () => {
    let release: (() => void) | undefined;
    const held = Object.create(hnsNode().client, {
      enumerate: {
        value: async () =>
          new Promise((resolve) => {
            release = () => resolve([]);
          }),
      },
    }) as HcnClient;
    const server = await serve(held);
    const asked = connect().enumerate("Network");
    await expect.poll(() => release !== undefined).toBe(true);
    const closed = server.close();
    release?.();
    expect(await asked).toEqual([]);
    await closed;
  });
});
