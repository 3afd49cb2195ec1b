// Debian's ovn-central for tests: databases on sockets of a temporary folder, ovn-northd between them, ovn-trace beside.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const TABLES = [
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

export class OvnCentral {
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

  /** What ovn-nbctl or ovn-sbctl prints. */
  ask(name: "nb" | "sb", ...words: readonly string[]): string {
    return run(`ovn-${name}ctl`, [`--db=${this.socket(name)}`, ...words]);
  }

  /** The file of a database. */
  file(name: "nb" | "sb"): Uint8Array {
    return readFileSync(this.path(name));
  }

  trace(datapath: string, microflow: string, options: readonly string[]): string {
    return run("ovn-trace", [`--db=${this.socket("sb")}`, ...options, datapath, microflow]);
  }

  stop(): void {
    for (const name of ["northd", "sb", "nb"]) {
      try {
        process.kill(Number(readFileSync(join(this.folder, `${name}.pid`), "utf8")));
      } catch {
        // It was not started.
      }
    }
    rmSync(this.folder, { recursive: true });
  }
}
