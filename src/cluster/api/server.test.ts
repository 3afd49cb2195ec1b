// The control API on a real socket: who may listen, who may ask, what is left behind.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ControlClient } from "./client.ts";
import { isListening } from "#contracts/hcn/http/unix-socket.node.ts";
import { ControlServer } from "./server.node.ts";
import { socketTransport } from "./socket-transport.node.ts";
import { type ClusterPlace, clusterPlace } from "./state-folder.node.ts";

let folder = "";
let place: ClusterPlace;
const opened: ControlServer[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mullion-server-"));
  place = clusterPlace({ name: undefined, socket: join(folder, "lab.sock") }, {});
});
afterEach(async () => {
  for (const server of opened.splice(0)) await server.close(0);
  rmSync(folder, { recursive: true, force: true });
});

async function serve(app: Hono = new Hono()): Promise<ControlServer> {
  const server = await ControlServer.listen(app, place);
  opened.push(server);
  return server;
}

function healthy(): Hono {
  return new Hono().get("/v1alpha1/health", (context) => context.json({ status: "ready" }));
}

/** Leaves a socket that nobody listens on, as a process does that was killed. */
function leaveDeadSocket(): void {
  const script = `require("node:net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"))`;
  spawnSync(process.execPath, ["-e", script, place.socket]);
  expect(existsSync(place.socket)).toBe(true);
}

describe("the server", () => {
  it("makes a socket for its owner alone, says which process it is, and takes both away", async () => {
    const server = await serve(healthy());
    expect(statSync(place.socket).mode & 0o777).toBe(0o600);
    expect(readFileSync(place.pidFile, "utf8")).toBe(`${process.pid}\n`);
    expect(await new ControlClient(socketTransport(place)).health()).toEqual({ status: "ready" });
    await server.close(0);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("writes through no link that lies where its files go, and takes no other file away", async () => {
    const victim = join(folder, "victim");
    writeFileSync(victim, "precious");
    symlinkSync(victim, place.pidFile);
    await serve(healthy());
    expect(readFileSync(place.pidFile, "utf8")).toBe(`${process.pid}\n`);
    expect(readFileSync(victim, "utf8")).toBe("precious");
    await opened.pop()?.close(0);
    writeFileSync(place.socket, "a file of the user's");
    await expect(serve()).rejects.toMatchObject({ message: `${place.socket} exists and is not a socket` });
    expect(readFileSync(place.socket, "utf8")).toBe("a file of the user's");
  });

  it("refuses a second one on the same socket, and leaves the first as it is", async () => {
    await serve(healthy());
    await expect(serve()).rejects.toMatchObject({ code: "cluster-already-running" });
    expect(await new ControlClient(socketTransport(place)).health()).toEqual({ status: "ready" });
    expect(readdirSync(folder).toSorted()).toEqual(["lab.pid", "lab.sock"]);
  });

  it("takes the place of a dead one", async () => {
    leaveDeadSocket();
    expect(await isListening(place.socket)).toBe(false);
    await serve(healthy());
    expect(await new ControlClient(socketTransport(place)).health()).toEqual({ status: "ready" });
    expect(readdirSync(folder).toSorted()).toEqual(["lab.pid", "lab.sock"]);
  });

  it("is one of many that start at the same time over a dead one", async () => {
    leaveDeadSocket();
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => serve(healthy())));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await new ControlClient(socketTransport(place)).health()).toEqual({ status: "ready" });
  });

  it("lets an answer that is under way finish when it closes, and cuts one that does not", async () => {
    const later = async (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
    const health = Promise.withResolvers<void>();
    const cluster = Promise.withResolvers<void>();
    const app = new Hono()
      .get("/v1alpha1/health", async (context) => {
        health.resolve();
        await later(50);
        return context.json({ status: "ready" });
      })
      .get("/v1alpha1/cluster", async (context) => {
        cluster.resolve();
        await later(60_000);
        return context.json({});
      });
    const server = await serve(app);
    const client = new ControlClient(socketTransport(place));
    const answers = Promise.allSettled([client.health(), client.cluster()]);
    await Promise.all([health.promise, cluster.promise]);
    await server.close(200);
    expect(await answers).toMatchObject([
      { status: "fulfilled", value: { status: "ready" } },
      { status: "rejected", reason: { code: "cluster-unreachable" } },
    ]);
  });

  it("hears when a listener goes away", async () => {
    let isGone = false;
    const app = new Hono().get("/events", (context) =>
      streamSSE(context, async (stream) => {
        await stream.write(": hello\n\n");
        await new Promise<void>((resolve) => {
          stream.onAbort(() => {
            isGone = true;
            resolve();
          });
        });
      }),
    );
    await serve(app);
    await new Promise<void>((resolve) => {
      const request = httpRequest({ socketPath: place.socket, path: "/events" }, (response) => {
        response.once("data", () => {
          request.destroy();
          resolve();
        });
        response.on("error", () => undefined);
      });
      request.on("error", () => undefined);
      request.end();
    });
    await expect.poll(() => isGone).toBe(true);
  });
});

describe("a client", () => {
  it("says that nobody is there", async () => {
    const client = new ControlClient(socketTransport(place));
    await expect(client.health()).rejects.toMatchObject({ code: "cluster-not-running" });
    leaveDeadSocket();
    await expect(client.health()).rejects.toMatchObject({ code: "cluster-not-running" });
  });

  it("says that somebody else is there", async () => {
    await serve(new Hono().get("*", (context) => context.text("hello")));
    const client = new ControlClient(socketTransport(place));
    await expect(client.health()).rejects.toMatchObject({
      code: "cluster-unreachable",
      message: "what listens on the socket does not speak Mullion's control API",
    });
  });

  it("waits no longer than it was told to", async () => {
    await serve(new Hono().get("*", () => new Promise<Response>(() => undefined)));
    const client = new ControlClient(socketTransport(place, 50));
    await expect(client.health()).rejects.toMatchObject({
      code: "cluster-unreachable",
      message: expect.stringContaining("nothing came in 50 ms") as string,
    });
  });
});

describe("the lock", () => {
  it("of a process that died with it is taken away", async () => {
    const dead = spawnSync(process.execPath, ["-e", ""]).pid;
    writeFileSync(`${place.socket}.lock`, String(dead));
    await serve(healthy());
    expect(readdirSync(folder).toSorted()).toEqual(["lab.pid", "lab.sock"]);
  });

  it("of a process that lives is waited for", async () => {
    writeFileSync(`${place.socket}.lock`, String(process.pid));
    const serving = serve(healthy());
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(existsSync(place.socket)).toBe(false);
    rmSync(`${place.socket}.lock`);
    await serving;
    expect(existsSync(place.socket)).toBe(true);
  });
});
