/**
 * A client of a real ovsdb-server over a socket (RFC 7047, 4). It answers the server's probes, finds a server again that has
 * gone, and then tells what has changed meanwhile as one change.
 *
 * It asks with `monitor_cond_since` and the last transaction that it has heard of: a server that still knows it tells what has come
 * after, another one tells all again, which is compared. A server that does not know the method is asked with `monitor`.
 *
 * Of a cluster it takes the server that leads, which its table `_Server.Database` tells, and leaves one that leads no more or that has
 * lost the others (ovsdb(7), "Clustered Database Service Model"): then it looks through all remotes again.
 */
import type { Socket } from "node:net";
import { isFields } from "#core/base/json.ts";
import { messageOf } from "#core/base/thrown.ts";
import type {
  OvsdbClient,
  OvsdbMonitor,
  OvsdbOperation,
  OvsdbResult,
  OvsdbRow,
  OvsdbUpdates,
} from "./client.ts";
import { JsonMessages } from "./json-messages.ts";
import { OvsdbConnectionError, reasonOf, type OvsdbTls, openRemote, splitRemotes } from "./remotes.node.ts";
import { type KnownRows, RowDifferences, type SchemaShapes, shapesOf } from "./row-differences.ts";

/** Between attempts to find a server again, as Open vSwitch's own clients wait: twice as long each time (ovsdb(7)). */
const PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 8_000;

type Tables = Readonly<Record<string, readonly string[]>>;

/** The id of no transaction: everything is news to who has heard of none. */
const NO_TRANSACTION = "00000000-0000-0000-0000-000000000000";

/** `hear` is done with an answer as it comes: what the server says next may build on it, in the same piece of the stream. */
interface Waiting {
  readonly hear: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface Followed {
  readonly tables: Tables;
  readonly listener: (updates: OvsdbUpdates) => void;
  readonly rows: KnownRows;
  readonly differences: RowDifferences;
  lastTransaction: string;
}

/** What leads from rows that were known to those that are there. */
function difference(before: KnownRows, after: OvsdbUpdates): OvsdbUpdates {
  const updates: Record<string, Record<string, { old?: OvsdbRow; new?: OvsdbRow }>> = {};
  for (const table of new Set([...before.keys(), ...Object.keys(after)])) {
    const [known, now] = [before.get(table) ?? new Map<string, OvsdbRow>(), after[table] ?? {}];
    const changes: Record<string, { old?: OvsdbRow; new?: OvsdbRow }> = {};
    for (const [id, row] of known) if (now[id]?.new === undefined) changes[id] = { old: row };
    for (const [id, { new: row }] of Object.entries(now)) {
      const old = known.get(id);
      if (row === undefined || JSON.stringify(old) === JSON.stringify(row)) continue;
      changes[id] = old === undefined ? { new: row } : { old, new: row };
    }
    if (Object.keys(changes).length > 0) updates[table] = changes;
  }
  return updates;
}

function remember(rows: KnownRows, updates: OvsdbUpdates): void {
  for (const [table, changes] of Object.entries(updates)) {
    const known = rows.get(table) ?? new Map<string, OvsdbRow>();
    rows.set(table, known);
    for (const [id, { new: row }] of Object.entries(changes)) {
      if (row === undefined) known.delete(id);
      else known.set(id, row);
    }
  }
}

/** What a schema has of these tables and columns. */
function knownIn(shapes: SchemaShapes, tables: Tables): Tables {
  return Object.fromEntries(
    Object.entries(tables).flatMap(([table, columns]) => {
      const has = shapes.get(table);
      return has === undefined ? [] : [[table, columns.filter((column) => has.has(column))] as const];
    }),
  );
}

/** `Chassis.flux`, `Wormhole`: what of these a schema has not. */
function lackingIn(shapes: SchemaShapes, tables: Tables): readonly string[] {
  return Object.entries(tables).flatMap(([table, columns]) => {
    const has = shapes.get(table);
    if (has === undefined) return [table];
    return columns.filter((column) => !has.has(column)).map((column) => `${table}.${column}`);
  });
}

/** The database of a server that says what it is of each of its databases. */
const SERVER_DATABASE = "_Server";
const SERVER_MONITOR = "server";

/** Why a server does not do for its database now; undefined for one that leads, or that is alone. */
function unfitness(row: OvsdbRow | undefined): string | undefined {
  if (row === undefined || row["model"] !== "clustered") return undefined;
  if (row["connected"] === false) return "the server has lost its cluster";
  return row["leader"] === false ? "the server does not lead its cluster" : undefined;
}

export class OvsdbSocketClient implements OvsdbClient {
  /** As it was given, for messages; the servers in it one by one. */
  private readonly remote: string;
  private readonly remotes: readonly string[];
  private readonly tls: OvsdbTls | undefined;
  private readonly database: string;
  /** What the server said of its database last. */
  private serverRow: OvsdbRow | undefined;
  private socket: Socket | undefined;
  private readonly waiting = new Map<number, Waiting>();
  private readonly followed = new Map<string, Followed>();
  private readonly missed = new Set<string>();
  private nextId = 1;
  private isClosed = false;
  private isSearching = false;
  private retry: NodeJS.Timeout | undefined;

  private constructor(remote: string, database: string, tls: OvsdbTls | undefined) {
    this.remote = remote;
    this.remotes = splitRemotes(remote);
    this.database = database;
    this.tls = tls;
  }

  /**
   * @param remote - one server, or those of a cluster with commas between them
   * @throws OvsdbConnectionError when no server with that database is there
   */
  static async connect(remote: string, database: string, tls?: OvsdbTls): Promise<OvsdbSocketClient> {
    const client = new OvsdbSocketClient(remote, database, tls);
    try {
      await client.find();
      return client;
    } catch (error) {
      client.close();
      throw error;
    }
  }

  /** Takes the first server that will do, and then does `after`. @throws OvsdbConnectionError that says why none does */
  private async find(after: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    this.isSearching = true;
    try {
      await this.takeFirst();
      await after();
      if (this.socket === undefined) throw new OvsdbConnectionError(`${this.remote} has gone`);
    } finally {
      this.isSearching = false;
    }
  }

  private async takeFirst(): Promise<void> {
    const problems: string[] = [];
    for (const remote of this.remotes) {
      try {
        const socket = await openRemote(remote, this.tls);
        this.take(socket);
        if (this.isClosed) throw new OvsdbConnectionError(`${remote} is not asked for any more`);
        await this.check(remote);
        return;
      } catch (error) {
        problems.push(messageOf(error));
        this.leave();
      }
    }
    throw new OvsdbConnectionError(problems.join("; "));
  }

  /** Follows what the server says of its database from here on. @throws OvsdbConnectionError when it will not do */
  private async check(remote: string): Promise<void> {
    const names = await this.request("list_dbs", []);
    if (!Array.isArray(names) || !names.includes(this.database))
      throw new OvsdbConnectionError(
        `${remote} has no database ${this.database}, but ${JSON.stringify(names)}`,
      );
    if (!names.includes(SERVER_DATABASE)) return;
    const columns = ["name", "model", "connected", "leader"];
    const asked = { Database: [{ columns }] };
    await this.request("monitor", [SERVER_DATABASE, SERVER_MONITOR, asked], (updates) =>
      this.hearServer(updates as OvsdbUpdates),
    );
    const problem = unfitness(this.serverRow);
    if (problem !== undefined) throw new OvsdbConnectionError(`${remote}: ${problem}`);
  }

  private hearServer(updates: OvsdbUpdates): void {
    for (const { new: row } of Object.values(updates["Database"] ?? {}))
      if (row?.["name"] === this.database) this.serverRow = row;
  }

  /** Lets go of a server, without looking for it again. What others have asked it meanwhile has no answer. */
  private leave(reason?: string): void {
    const { socket } = this;
    this.socket = undefined;
    this.serverRow = undefined;
    socket?.destroy();
    const why = reason === undefined ? "" : `: ${reason}`;
    for (const { reject } of this.waiting.values())
      reject(new OvsdbConnectionError(`${this.remote} has gone before it answered${why}`));
    this.waiting.clear();
  }

  /** Between servers nothing is asked: what is written there would be answered before the monitors have told of it. */
  private checkReady(): void {
    if (this.isSearching) throw new OvsdbConnectionError(`${this.remote} is not connected`);
  }

  async transact(operations: readonly OvsdbOperation[]): Promise<readonly (OvsdbResult | null)[]> {
    this.checkReady();
    return this.request<readonly (OvsdbResult | null)[]>("transact", [this.database, ...operations]);
  }

  /** Tables (`Wormhole`) and columns (`Chassis.flux`) that were asked for and the server's schema has not. */
  get lacking(): readonly string[] {
    return [...this.missed];
  }

  /** Tables and columns that the server's schema has not, which is older or newer than ours, are left out: `lacking` names them. */
  async monitor(tables: Tables, listener: (updates: OvsdbUpdates) => void): Promise<OvsdbMonitor> {
    this.checkReady();
    const id = `m${this.nextId}`;
    const shapes = shapesOf(await this.request("get_schema", [this.database]));
    const known = knownIn(shapes, tables);
    for (const name of lackingIn(shapes, tables)) this.missed.add(name);
    const differences = new RowDifferences(shapes, known);
    const rows: KnownRows = new Map();
    const followed = { tables: known, listener, rows, differences, lastTransaction: NO_TRANSACTION };
    this.followed.set(id, followed);
    try {
      await this.begin(id, followed);
    } catch (error) {
      this.followed.delete(id);
      throw error;
    }
    return {
      cancel: () => {
        this.followed.delete(id);
        if (this.socket !== undefined) this.request("monitor_cancel", [id]).catch(() => undefined);
      },
    };
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.retry);
    this.socket?.destroy();
  }

  private async begin(id: string, followed: Followed): Promise<void> {
    const { tables, rows, lastTransaction } = followed;
    const asked = Object.fromEntries(Object.entries(tables).map(([name, columns]) => [name, [{ columns }]]));
    const params = [this.database, id, asked];
    try {
      await this.request("monitor_cond_since", [...params, lastTransaction], (answer) =>
        this.beginSince(followed, answer),
      );
    } catch (error) {
      if (!messageOf(error).includes("unknown method")) throw error;
      await this.request("monitor", params, (told) =>
        this.tell(followed, difference(rows, told as OvsdbUpdates)),
      );
    }
  }

  private beginSince(followed: Followed, answer: unknown): void {
    const { rows, differences } = followed;
    const [isFound, transaction, told] = answer as readonly [boolean, string, unknown];
    const updates = isFound
      ? differences.read(rows, told)
      : difference(rows, differences.read(new Map(), told));
    followed.lastTransaction = transaction;
    this.tell(followed, updates);
  }

  /** @param read - makes of the answer what is asked for, before anything that the server says behind it is heard */
  private async request<T = unknown>(
    method: string,
    params: readonly unknown[],
    read: (result: unknown) => T = (result) => result as T,
  ): Promise<T> {
    const { socket } = this;
    if (socket === undefined) throw new OvsdbConnectionError(`${this.remote} is not connected`);
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { hear: (result) => resolve(read(result)), reject });
      socket.write(JSON.stringify({ method, params, id }));
    });
  }

  private take(socket: Socket): void {
    const messages = new JsonMessages();
    this.socket = socket;
    socket.setEncoding("utf8");
    socket.on("data", (piece) => {
      try {
        for (const message of messages.take(String(piece))) this.hear(message, socket);
      } catch (error) {
        socket.destroy(new OvsdbConnectionError(messageOf(error)));
      }
    });
    let reason: string | undefined;
    socket.on("error", (error) => (reason = reasonOf(error)));
    socket.on("close", () => this.lost(socket, reason));
  }

  private hear(message: unknown, socket: Socket): void {
    if (!isFields(message)) return;
    const { method, params, id, result, error } = message;
    if (method === "echo") socket.write(JSON.stringify({ id, result: params, error: null }));
    else if (method === "update" && Array.isArray(params)) {
      const [name, updates] = params as [unknown, OvsdbUpdates];
      if (name === SERVER_MONITOR) {
        this.hearServer(updates);
        if (unfitness(this.serverRow) !== undefined) socket.destroy();
        return;
      }
      this.hearChange(String(name), () => updates);
    } else if (method === "update3" && Array.isArray(params)) {
      const [name, transaction, differences] = params as [unknown, string, unknown];
      this.hearChange(String(name), (followed) => {
        // What is missed now must be told again: from the beginning, unless it can be read.
        followed.lastTransaction = NO_TRANSACTION;
        const updates = followed.differences.read(followed.rows, differences);
        followed.lastTransaction = transaction;
        return updates;
      });
    } else if (typeof id === "number") {
      this.answer(id, result, error);
    }
  }

  private answer(id: number, result: unknown, error: unknown): void {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    if (error !== null && error !== undefined)
      waiting?.reject(new OvsdbConnectionError(`${this.remote}: ${JSON.stringify(error)}`));
    else
      try {
        waiting?.hear(result);
      } catch (thrown) {
        waiting?.reject(new OvsdbConnectionError(messageOf(thrown)));
        throw thrown;
      }
  }

  private hearChange(name: string, read: (followed: Followed) => OvsdbUpdates): void {
    const followed = this.followed.get(name);
    if (followed !== undefined) this.tell(followed, read(followed));
  }

  private tell({ rows, listener }: Followed, updates: OvsdbUpdates): void {
    remember(rows, updates);
    listener(updates);
  }

  /** A server that was let go concerns nobody; one that was in use is looked for again. */
  private lost(socket: Socket, reason?: string): void {
    if (this.socket !== socket) return;
    this.leave(reason);
    if (!this.isSearching) this.findAgain(PAUSE_MS);
  }

  /** One attempt at a time: a server that goes in the middle of one is told by that attempt. */
  private findAgain(pauseMs: number): void {
    clearTimeout(this.retry);
    if (this.isClosed) return;
    this.retry = setTimeout(() => {
      this.comeBack().catch(() => {
        this.leave();
        this.findAgain(Math.min(pauseMs * 2, PAUSE_MS_MAX));
      });
    }, pauseMs);
  }

  private async comeBack(): Promise<void> {
    await this.find(async () => {
      for (const [id, followed] of this.followed) await this.begin(id, followed);
    });
  }
}
