// What becomes of a client whose server goes: the server here is a socket that says what each test wants.
import { once } from "node:events";
import { type Server, type Socket, createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { JsonMessages } from "./json-messages.ts";
import { OvsdbConnectionError, OvsdbSocketClient } from "./socket-client.node.ts";

interface Request {
  readonly method: string;
  readonly id: number;
}

const ANSWERS: Readonly<Record<string, unknown>> = {
  list_dbs: ["OVN_Southbound"],
  get_schema: { tables: { Chassis: { columns: { name: {} } } } },
  monitor: {},
};

let server: Server;
let met: Socket[] = [];
/** The method at which the server ends the connection. */
let ending = "";

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  met = [];
  server = createServer((socket) => {
    const messages = new JsonMessages();
    met.push(socket);
    socket.on("error", () => undefined);
    socket.on("data", (piece) => {
      for (const { method, id } of messages.take(String(piece)) as readonly Request[]) {
        if (method === ending) socket.destroy();
        else socket.write(JSON.stringify({ id, result: ANSWERS[method], error: null }));
      }
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});

afterEach(() => {
  vi.useRealTimers();
  for (const socket of met) socket.destroy();
  server.close();
});

function remote(): string {
  const address = server.address();
  return `tcp:127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}

/** Lets sockets do what they have begun. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** An idle client is asked after half of this, and cut off at its end (ovsdb-server(1), inactivity probe). */
const PROBE_MS = 10_000;

describe("a server that probes", () => {
  it("CP-O42: hears an answer to its echo, so that an idle client stays connected", async () => {
    ending = "";
    const client = await OvsdbSocketClient.connect(remote(), "OVN_Southbound");
    const socket = met[0]!;
    const answers: unknown[] = [];
    let cutOff = 0;
    let limit: ReturnType<typeof setTimeout> | undefined;
    socket.removeAllListeners("data");
    const heard = new JsonMessages();
    socket.on("data", (piece) => {
      answers.push(...heard.take(String(piece)));
      clearTimeout(limit);
    });
    for (let probe = 0; probe < 3; probe++) {
      limit = setTimeout(() => (cutOff += 1), PROBE_MS);
      await vi.advanceTimersByTimeAsync(PROBE_MS / 2);
      socket.write(JSON.stringify({ id: "echo", method: "echo", params: [] }));
      await settle();
      await vi.advanceTimersByTimeAsync(PROBE_MS / 2);
    }
    expect([cutOff, met.length]).toEqual([0, 1]);
    expect(answers).toEqual(Array.from({ length: 3 }, () => ({ id: "echo", result: [], error: null })));
    client.close();
  });
});

const PAUSES_MS = [1_000, 2_000, 4_000, 8_000];

describe("a server that goes", () => {
  it("before it has said what it holds is not looked for again", async () => {
    ending = "list_dbs";
    await expect(OvsdbSocketClient.connect(remote(), "OVN_Southbound")).rejects.toThrow(OvsdbConnectionError);
    for (const pause of PAUSES_MS) await vi.advanceTimersByTimeAsync(pause);
    await settle();
    expect(met).toHaveLength(1);
  });

  it("again and again while it is found again has one connection at a time", async () => {
    ending = "";
    const client = await OvsdbSocketClient.connect(remote(), "OVN_Southbound");
    await client.monitor({ Chassis: ["name"] }, () => undefined);
    ending = "monitor";
    met[0]?.destroy();
    await settle();
    const counts: number[] = [];
    for (const pause of PAUSES_MS.slice(0, 3)) {
      await vi.advanceTimersByTimeAsync(pause);
      await settle();
      counts.push(met.length);
    }
    // One more after each pause: two timers would each make one.
    expect(counts).toEqual([2, 3, 4]);
    client.close();
    for (const pause of PAUSES_MS) await vi.advanceTimersByTimeAsync(pause);
    await settle();
    expect(met).toHaveLength(4);
  });
});
