// What becomes of a client whose server goes: the server here is a socket that says what each test wants.
import { once } from "node:events";
import { type Server, type Socket, createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { JsonMessages } from "./json-messages.ts";
import { OvsdbConnectionError } from "./remotes.node.ts";
import { OvsdbSocketClient } from "./socket-client.node.ts";

interface Request {
  readonly method: string;
  readonly id: number;
  readonly params: readonly unknown[];
}

const NO_TRANSACTION = "00000000-0000-0000-0000-000000000000";
/** As ovsdb-server writes types: a text, texts of any number, a map, a reference or none. */
const COLUMNS = {
  name: { type: "string" },
  nb_cfg: { type: { key: { type: "integer", minInteger: 0 } } },
  transport_zones: { type: { key: "string", min: 0, max: "unlimited" } },
  other_config: { type: { key: "string", value: "string", min: 0, max: "unlimited" } },
  chassis: { type: { key: { type: "uuid", refTable: "Chassis" }, min: 0 } },
};
const ANSWERS: Readonly<Record<string, unknown>> = {
  list_dbs: ["OVN_Southbound"],
  get_schema: { tables: { Chassis: { columns: COLUMNS } } },
  monitor: {},
  monitor_cond_since: [false, NO_TRANSACTION, {}],
  transact: [],
};

let server: Server;
let met: Socket[] = [];
/** The method at which the server ends the connection. */
let ending = "";
/** Answers in place of the usual ones, by method; an error for a text. */
let answers: Record<string, unknown> = {};
/** The method whose answer waits for `release`. */
let holding = "";
let release = (): void => undefined;
let asked: Request[] = [];
/** What the server says in the same piece of the stream as its answer, by method. */
let following: Record<string, (request: Request) => object> = {};

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  met = [];
  [answers, asked, ending, holding, following] = [{}, [], "", "", {}];
  server = createServer((socket) => {
    const messages = new JsonMessages();
    met.push(socket);
    socket.on("error", () => undefined);
    socket.on("data", (piece) => {
      for (const request of messages.take(String(piece)) as readonly Request[]) {
        const { method, id } = request;
        asked.push(request);
        const result = answers[method] ?? ANSWERS[method];
        if (method === ending) socket.destroy();
        // With an error ovsdb-server 3.1 leaves the result out.
        else if (typeof result === "string") socket.write(JSON.stringify({ id, error: result }));
        else {
          const more = following[method]?.(request);
          const rest = more === undefined ? "" : JSON.stringify(more);
          const answer = (): void => void socket.write(JSON.stringify({ id, result, error: null }) + rest);
          if (method === holding) release = answer;
          else answer();
        }
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

/** Lets sockets work until something is so: how long that takes is the machine's business. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

/** An idle client is asked after half of this, and cut off at its end (ovsdb-server(1), inactivity probe). */
const PROBE_MS = 10_000;

describe("a server that probes", () => {
  it("CP-O42: hears an answer to its echo, so that an idle client stays connected", async () => {
    ending = "";
    const client = await OvsdbSocketClient.connect(remote(), "OVN_Southbound");
    const socket = met[0]!;
    const echoes: unknown[] = [];
    let cutOff = 0;
    let limit: ReturnType<typeof setTimeout> | undefined;
    socket.removeAllListeners("data");
    const heard = new JsonMessages();
    socket.on("data", (piece) => {
      echoes.push(...heard.take(String(piece)));
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
    expect(echoes).toEqual(Array.from({ length: 3 }, () => ({ id: "echo", result: [], error: null })));
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
    ending = "monitor_cond_since";
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

describe("a monitor", () => {
  const ALL = Object.keys(COLUMNS);
  const ZONES = ["set", ["a", "b"]];
  const PAIRS = [
    "map",
    [
      ["mtu", "1400"],
      ["x", "1"],
    ],
  ];
  const CHASSIS = { initial: { name: "win1", nb_cfg: 3, transport_zones: ZONES, other_config: PAIRS } };
  const WHOLE = {
    name: "win1",
    nb_cfg: 3,
    transport_zones: ZONES,
    other_config: PAIRS,
    chassis: ["set", []],
  };

  async function followed(): Promise<{ client: OvsdbSocketClient; heard: unknown[] }> {
    const heard: unknown[] = [];
    const client = await OvsdbSocketClient.connect(remote(), "OVN_Southbound");
    await client.monitor({ Chassis: ALL }, (updates) => heard.push(updates["Chassis"]));
    return { client, heard };
  }

  function say(transaction: string, rows: unknown): void {
    const name = asked.findLast(({ method }) => method.startsWith("monitor"))?.params[1];
    const params = [name, transaction, { Chassis: rows }];
    met.at(-1)?.write(JSON.stringify({ id: null, method: "update3", params }));
  }

  /** The connection has ended; the client comes back and asks again. */
  async function isBack(): Promise<void> {
    const last = met.at(-1);
    await until(() => last?.closed === true && vi.getTimerCount() === 1);
    await vi.advanceTimersByTimeAsync(PAUSES_MS[0] ?? 0);
    await until(() => sinceWhen().length === 2);
  }

  const sinceWhen = (): unknown[] =>
    asked.filter(({ method }) => method === "monitor_cond_since").map(({ params }) => params[3]);

  it("CP-O40: of a standalone database begins with all rows, and changes are differences", async () => {
    answers = { monitor_cond_since: [false, NO_TRANSACTION, { Chassis: { u1: CHASSIS } }] };
    const { client, heard } = await followed();
    expect(heard).toEqual([{ u1: { new: WHOLE } }]);
    const modify = {
      nb_cfg: 4,
      transport_zones: ["set", ["a", "c"]],
      other_config: [
        "map",
        [
          ["mtu", "9000"],
          ["x", "1"],
          ["y", "2"],
        ],
      ],
      chassis: ["uuid", "u9"],
    };
    say(NO_TRANSACTION, { u1: { modify }, u2: { insert: { name: "lin1" } } });
    await until(() => heard.length === 2);
    const now = {
      name: "win1",
      nb_cfg: 4,
      transport_zones: ["set", ["b", "c"]],
      other_config: [
        "map",
        [
          ["mtu", "9000"],
          ["y", "2"],
        ],
      ],
      chassis: ["uuid", "u9"],
    };
    const { name: _name, ...changed } = WHOLE;
    const fresh = {
      nb_cfg: 0,
      transport_zones: ["set", []],
      other_config: ["map", []],
      chassis: ["set", []],
    };
    expect(heard[1]).toEqual({
      u1: { old: changed, new: now },
      u2: { new: { name: "lin1", ...fresh } },
    });
    say(NO_TRANSACTION, { u1: { modify: { transport_zones: "b", chassis: ["set", []] } } });
    await until(() => heard.length === 3);
    expect(heard[2]).toMatchObject({ u1: { new: { transport_zones: "c", chassis: ["set", []] } } });
    say(NO_TRANSACTION, { u1: { delete: null } });
    await until(() => heard.length === 4);
    expect(heard[3]).toMatchObject({ u1: { old: { name: "win1" } } });
    met.at(-1)?.destroy();
    await isBack();
    await until(() => heard.length === 5);
    // The server does not know what has come since: it tells all rows again, and the difference is heard.
    expect(sinceWhen()).toEqual([NO_TRANSACTION, NO_TRANSACTION]);
    expect(heard[4]).toMatchObject({ u1: { new: WHOLE }, u2: { old: { name: "lin1" } } });
    client.close();
  });

  it("of a clustered database goes on after the last transaction that was heard", async () => {
    answers = { monitor_cond_since: [false, "t1", { Chassis: { u1: CHASSIS } }] };
    const { client, heard } = await followed();
    say("t2", { u1: { modify: { nb_cfg: 4 } } });
    await until(() => heard.length === 2);
    answers = { monitor_cond_since: [true, "t3", { Chassis: { u1: { modify: { nb_cfg: 5 } } } }] };
    met.at(-1)?.destroy();
    await isBack();
    await until(() => heard.length === 3);
    expect(sinceWhen()).toEqual([NO_TRANSACTION, "t2"]);
    expect(heard[2]).toEqual({ u1: { old: { nb_cfg: 4 }, new: { ...WHOLE, nb_cfg: 5 } } });
    client.close();
  });

  // A server that is written to at that moment: its answer and the first change come in one piece.
  it("hears what comes right behind its beginning after it", async () => {
    answers = { monitor_cond_since: [false, "t1", { Chassis: { u1: CHASSIS } }] };
    following = {
      monitor_cond_since: ({ params }) => ({
        id: null,
        method: "update3",
        params: [params[1], "t2", { Chassis: { u1: { modify: { nb_cfg: 4 } } } }],
      }),
    };
    const { client, heard } = await followed();
    expect(heard).toEqual([
      { u1: { new: WHOLE } },
      { u1: { old: { nb_cfg: 3 }, new: { ...WHOLE, nb_cfg: 4 } } },
    ]);
    met.at(-1)?.destroy();
    following = {};
    answers = { monitor_cond_since: [true, "t2", {}] };
    await isBack();
    expect(sinceWhen()).toEqual([NO_TRANSACTION, "t2"]);
    client.close();
  });

  it("that begins again has begun before anything else is asked", async () => {
    answers = { monitor_cond_since: [false, "t1", { Chassis: { u1: CHASSIS } }] };
    const { client, heard } = await followed();
    holding = "monitor_cond_since";
    answers = { monitor_cond_since: [true, "t2", { Chassis: { u1: { modify: { nb_cfg: 4 } } } }] };
    met.at(-1)?.destroy();
    await isBack();
    const asking = [client.transact([]), client.monitor({ Chassis: ALL }, () => undefined)];
    for (const each of asking) await expect(each).rejects.toThrow(/is not connected/);
    expect(heard).toHaveLength(1);
    release();
    await until(() => heard.length === 2);
    await settle();
    expect(await client.transact([])).toEqual([]);
    client.close();
  });

  it("that cannot be read ends the connection, and who waits hears why", async () => {
    const client = await OvsdbSocketClient.connect(remote(), "OVN_Southbound");
    holding = "transact";
    const asking = client.transact([]);
    await until(() => asked.some(({ method }) => method === "transact"));
    met[0]?.write("]");
    await expect(asking).rejects.toThrow(/has gone before it answered: it closes what is not open/);
    client.close();
  });

  it("of an older server is one of RFC 7047", async () => {
    answers = { monitor_cond_since: "unknown method", monitor: { Chassis: { u1: { new: WHOLE } } } };
    const { client, heard } = await followed();
    expect(heard).toEqual([{ u1: { new: WHOLE } }]);
    client.close();
  });

  // The half of a message is no change: what was told before stays, and the whole of it is told again.
  it("whose server goes in the middle of an update keeps what it has, and hears all of that update once", async () => {
    answers = { monitor_cond_since: [false, "t1", { Chassis: { u1: CHASSIS } }] };
    const { client, heard } = await followed();
    const name = asked.findLast(({ method }) => method === "monitor_cond_since")?.params[1];
    const rows = { u1: { modify: { nb_cfg: 4 } }, u2: { insert: { name: "lin1" } } };
    const update = JSON.stringify({ id: null, method: "update3", params: [name, "t2", { Chassis: rows }] });
    met.at(-1)?.end(update.slice(0, update.indexOf("lin1")));
    answers = { monitor_cond_since: [true, "t2", { Chassis: rows }] };
    await isBack();
    await until(() => heard.length === 2);
    expect(sinceWhen()).toEqual([NO_TRANSACTION, "t1"]);
    expect(heard[1]).toMatchObject({ u1: { new: { ...WHOLE, nb_cfg: 4 } }, u2: { new: { name: "lin1" } } });
    client.close();
  });

  it("of a server whose schema lacks a table and a column, or has others besides, follows what is there", async () => {
    answers = {
      monitor_cond_since: [false, "t1", { Chassis: { u1: { initial: { name: "win1", nb_cfg: 3 } } } }],
    };
    const heard: unknown[] = [];
    const client = await OvsdbSocketClient.connect(remote(), "OVN_Southbound");
    const tables = { Chassis: ["name", "flux"], Wormhole: ["name"] };
    await client.monitor(tables, (updates) => heard.push(updates));
    const [, , wanted] = asked.findLast(({ method }) => method === "monitor_cond_since")?.params ?? [];
    expect(wanted).toEqual({ Chassis: [{ columns: ["name"] }] });
    expect(client.lacking).toEqual(["Chassis.flux", "Wormhole"]);
    expect(heard).toMatchObject([{ Chassis: { u1: { new: { name: "win1" } } } }]);
    client.close();
  });

  it("that has missed a change is begun anew, and nothing is made up", async () => {
    answers = { monitor_cond_since: [false, "t1", { Chassis: { u1: CHASSIS } }] };
    const { client, heard } = await followed();
    say("t3", { u2: { modify: { nb_cfg: 5 } } });
    await isBack();
    expect(heard).toHaveLength(1);
    expect(sinceWhen()).toEqual([NO_TRANSACTION, NO_TRANSACTION]);
    client.close();
  });
});

describe("a server of a cluster", () => {
  const BOTH = { list_dbs: ["OVN_Southbound", "_Server"] };
  const told = (leader: boolean, more: object = {}): object => ({
    Database: {
      d1: { new: { name: "OVN_Southbound", model: "clustered", connected: true, leader, ...more } },
    },
  });

  it.each([
    ["does not lead", told(false), /does not lead its cluster/],
    ["has lost the others", told(true, { connected: false }), /has lost its cluster/],
  ])("that %s is not taken", async (_title, monitor, message) => {
    answers = { ...BOTH, monitor };
    await expect(OvsdbSocketClient.connect(remote(), "OVN_Southbound")).rejects.toThrow(message);
  });

  it("that is alone is taken, whatever it says of a leader", async () => {
    answers = { ...BOTH, monitor: told(false, { model: "standalone" }) };
    const client = await OvsdbSocketClient.connect(remote(), "OVN_Southbound");
    expect(await client.transact([])).toEqual([]);
    client.close();
  });

  it("that leads no more is left, and looked for among all again", async () => {
    answers = { ...BOTH, monitor: told(true) };
    const client = await OvsdbSocketClient.connect(`${remote()},${remote()}`, "OVN_Southbound");
    const first = met[0];
    const asking = client.transact([]);
    answers = { ...answers, monitor: told(false) };
    await until(() => asked.some(({ method }) => method === "transact"));
    await asking;
    first?.write(JSON.stringify({ id: null, method: "update", params: ["server", told(false)] }));
    await until(() => first?.closed === true && vi.getTimerCount() === 1);
    await expect(client.transact([])).rejects.toThrow(/is not connected/);
    await vi.advanceTimersByTimeAsync(PAUSES_MS[0] ?? 0);
    await until(() => met.length === 3 && vi.getTimerCount() === 1);
    answers = { ...answers, monitor: told(true) };
    await vi.advanceTimersByTimeAsync(PAUSES_MS[1] ?? 0);
    await until(() => met.length === 4);
    await settle();
    expect(await client.transact([])).toEqual([]);
    client.close();
  });

  it("that is left while somebody asks it leaves nobody without an answer", async () => {
    answers = { ...BOTH, monitor: told(true) };
    const client = await OvsdbSocketClient.connect(remote(), "OVN_Southbound");
    answers = { ...answers, monitor: told(false) };
    met[0]?.destroy();
    await until(() => vi.getTimerCount() === 1);
    ending = "transact";
    await vi.advanceTimersByTimeAsync(PAUSES_MS[0] ?? 0);
    await until(() => met.length === 2);
    await expect(client.transact([])).rejects.toThrow(OvsdbConnectionError);
    client.close();
  });
});
