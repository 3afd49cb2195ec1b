// Debian's ovn-central for tests: databases on sockets of a temporary folder, ovn-northd between them, ovn-trace beside.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type Socket, createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { JsonMessages } from "#contracts/ovsdb/json-messages.ts";

export const TABLES: readonly string[] = [
  "Datapath_Binding",
  "Logical_DP_Group",
  "Port_Binding",
  "Logical_Flow",
  "Multicast_Group",
  "Address_Set",
  "Port_Group",
  "MAC_Binding",
  "Static_MAC_Binding",
  "Load_Balancer",
  "FDB",
];

function run(program: string, options: readonly string[], input?: string): string {
  return execFileSync(program, options, {
    encoding: "utf8",
    timeout: 60_000,
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    ...(input === undefined ? {} : { input }),
  });
}

/** Look-ups of one packet, and of one copy in each of a few ports. */
const LOOKUPS_MAX = 64;
const PACKETS_PER_TRACER = 100;

/** An ovn-trace that stays. It is asked over its control socket, in JSON-RPC. */
class Tracer {
  asked = 0;
  private readonly socket: Socket;
  private readonly answers: ((answer: { result?: unknown; error?: unknown }) => void)[] = [];

  private constructor(socket: Socket) {
    this.socket = socket;
    const messages = new JsonMessages();
    socket.setEncoding("utf8");
    socket.on("data", (piece) => {
      for (const message of messages.take(String(piece)))
        this.answers.shift()?.(message as { result?: unknown });
    });
    // It ends with a failed assertion at some packets: that is an answer, too; and by our exit.
    socket.on("error", () => undefined);
    socket.on("close", () =>
      this.answers.splice(0).forEach((answer) => answer({ error: "ovn-trace has ended" })),
    );
  }

  static async connect(path: string): Promise<Tracer> {
    const socket = createConnection({ path });
    await once(socket, "connect");
    return new Tracer(socket);
  }

  /** @throws Error with what ovn-trace said */
  async trace(datapath: string, microflow: string): Promise<string> {
    this.asked += 1;
    const request = { id: 1, method: "trace", params: [datapath, microflow] };
    const { result, error } = await new Promise<{ result?: unknown; error?: unknown }>((resolve) => {
      this.answers.push(resolve);
      this.socket.write(JSON.stringify(request));
    });
    if (typeof result === "string") return result;
    throw new Error(String(error));
  }

  close(): void {
    this.socket.end(JSON.stringify({ id: 1, method: "exit", params: [] }));
  }
}

export class OvnCentral {
  private readonly tracers = new Map<string, Tracer>();
  private started = 0;
  private readonly folder = mkdtempSync(join(tmpdir(), "mullion-ovn-"));

  constructor() {
    for (const name of ["nb", "sb"] as const) {
      run("ovsdb-tool", ["create", this.path(name), `/usr/share/ovn/ovn-${name}.ovsschema`]);
      this.serve(name);
    }
    this.daemon("ovn-northd", "northd", `--ovnnb-db=${this.socket("nb")}`, `--ovnsb-db=${this.socket("sb")}`);
  }

  private path(name: "nb" | "sb"): string {
    return join(this.folder, `${name}.db`);
  }

  private serve(name: "nb" | "sb"): void {
    this.daemon("ovsdb-server", name, `--remote=p${this.socket(name)}`, this.path(name));
  }

  /** The server of a database ends, a transaction changes its file, and it is there again. */
  async restart(name: "nb" | "sb", change: readonly unknown[]): Promise<void> {
    const pid = Number(readFileSync(join(this.folder, `${name}.pid`), "utf8"));
    process.kill(pid);
    while (existsSync(`/proc/${pid}`)) await new Promise((resolve) => setTimeout(resolve, 20));
    run("ovsdb-tool", ["transact", this.path(name), JSON.stringify(change)]);
    this.serve(name);
  }

  socket(name: string): string {
    return `unix:${this.folder}/${name}.sock`;
  }

  private daemon(program: string, name: string, ...options: string[]): void {
    const [pid, control] = [join(this.folder, `${name}.pid`), join(this.folder, `${name}.ctl`)];
    // A daemon keeps the pipes of its starter open: it must not have any.
    const all = ["--detach", "--no-chdir", `--pidfile=${pid}`, `--unixctl=${control}`, ...options];
    execFileSync(program, all, { timeout: 30_000, stdio: "ignore" });
  }

  /** Runs a script in which `nb` is ovn-nbctl and `sb` is ovn-sbctl, and waits for ovn-northd. */
  script(text: string): void {
    const start = [
      "set -e",
      `nb() { ovn-nbctl --db=${this.socket("nb")} "$@"; }`,
      `sb() { ovn-sbctl --db=${this.socket("sb")} "$@"; }`,
    ];
    run("sh", ["-s"], [...start, text, "nb --wait=sb sync", ""].join("\n"));
  }

  /** The southbound database as `ovsdb-client dump` prints it. */
  dump(): string {
    return this.dumpOf(TABLES);
  }

  /** Some of its tables. */
  dumpOf(tables: readonly string[]): string {
    return tables
      .map((table) =>
        run("ovsdb-client", ["dump", "--format=json", this.socket("sb"), "OVN_Southbound", table]),
      )
      .join("\n");
  }

  /** Tables of the northbound database, in the same form. */
  northbound(tables: readonly string[]): string {
    return tables
      .map((table) =>
        run("ovsdb-client", ["dump", "--format=json", this.socket("nb"), "OVN_Northbound", table]),
      )
      .join("\n");
  }

  /** What ovn-nbctl, ovn-sbctl or a single ovn-trace prints. */
  ask(name: "nb" | "sb" | "trace", ...words: readonly string[]): string {
    const [program, database] = name === "trace" ? ["ovn-trace", "sb"] : [`ovn-${name}ctl`, name];
    return run(program, [`--db=${this.socket(database)}`, ...words]);
  }

  /** The file of a database. */
  file(name: "nb" | "sb"): Uint8Array {
    return readFileSync(this.path(name));
  }

  /**
   * What ovn-trace prints. One that stays has the database already, where a process for each packet reads it (ovn-trace(8), "Daemon
   * mode"). It takes states and back ends at its start alone and uses them up packet by packet: it is asked where all look-ups find one
   * state, and one back end is chosen.
   */
  async trace(datapath: string, microflow: string, options: readonly string[]): Promise<string> {
    const each = [...new Set(options)];
    const kinds = new Set(each.map((option) => option.split("=")[0]));
    if (kinds.size < each.length)
      return run("ovn-trace", [`--db=${this.socket("sb")}`, ...options, datapath, microflow]);
    const key = each.join(" ");
    let tracer = this.tracers.get(key);
    if (tracer === undefined || tracer.asked >= PACKETS_PER_TRACER) {
      tracer?.close();
      tracer = await this.startTracer(each);
      this.tracers.set(key, tracer);
    }
    return tracer.trace(datapath, microflow);
  }

  private async startTracer(options: readonly string[]): Promise<Tracer> {
    const name = `trace-${this.started++}`;
    const times = PACKETS_PER_TRACER * LOOKUPS_MAX;
    const all = options.flatMap((option) => Array.from({ length: times }, () => option));
    this.daemon("ovn-trace", name, `--db=${this.socket("sb")}`, ...all);
    return Tracer.connect(join(this.folder, `${name}.ctl`));
  }

  stop(): void {
    for (const tracer of this.tracers.values()) tracer.close();
    const tracers = Array.from({ length: this.started }, (_, index) => `trace-${index}`);
    for (const name of [...tracers, "northd", "sb", "nb"]) {
      try {
        process.kill(Number(readFileSync(join(this.folder, `${name}.pid`), "utf8")));
      } catch {
        // It was not started.
      }
    }
    rmSync(this.folder, { recursive: true });
  }
}
