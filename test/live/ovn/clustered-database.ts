// Debian's ovsdb-server as a cluster of three on the loopback device, over TLS, with a CA of its own (ovsdb(7), "Clustered Database
// Service Model"; ovsdb-tool(1), create-cluster).
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OvsdbTls } from "#contracts/ovsdb/remotes.node.ts";

const SCHEMA = "/usr/share/ovn/ovn-nb.ovsschema";
const DATABASE = "OVN_Northbound";

function run(program: string, ...options: readonly string[]): string {
  return execFileSync(program, options, {
    encoding: "utf8",
    timeout: 30_000,
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** A port of 127.0.0.1 that nobody has now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

/** A key and a certificate that a CA has signed; the CA itself without `signer`. */
export function certify(folder: string, name: string, signer?: string): void {
  const path = (end: string): string => join(folder, `${name}.${end}`);
  const key = ["-newkey", "rsa:2048", "-nodes", "-keyout", path("key"), "-subj", `/CN=${name}`];
  if (signer === undefined) {
    run("openssl", "req", "-x509", ...key, "-days", "2", "-out", path("pem"));
    return;
  }
  run("openssl", "req", "-new", ...key, "-out", path("csr"));
  const ca = [
    "-CA",
    join(folder, `${signer}.pem`),
    "-CAkey",
    join(folder, `${signer}.key`),
    "-CAcreateserial",
  ];
  run("openssl", "x509", "-req", "-in", path("csr"), ...ca, "-days", "2", "-out", path("pem"));
}

export class ClusteredDatabase {
  private readonly folder = mkdtempSync(join(tmpdir(), "mullion-raft-"));
  /** `ssl:127.0.0.1:PORT` of each server. */
  readonly remotes: string[] = [];

  async start(): Promise<void> {
    for (const name of ["ca", "other"]) certify(this.folder, name);
    certify(this.folder, "server", "ca");
    certify(this.folder, "client", "ca");
    certify(this.folder, "stranger", "other");
    let first = "";
    for (const index of [0, 1, 2]) {
      const file = join(this.folder, `${index}.db`);
      const address = `tcp:127.0.0.1:${await freePort()}`;
      if (first === "") run("ovsdb-tool", "create-cluster", file, SCHEMA, address);
      else run("ovsdb-tool", "join-cluster", file, DATABASE, address, first);
      if (first === "") first = address;
      const port = await freePort();
      this.remotes.push(`ssl:127.0.0.1:${port}`);
      this.serve(index, port);
      this.control(index, "cluster/status", DATABASE);
      run("ovsdb-client", "-t", "20", "wait", `unix:${this.socket(index)}`, DATABASE, "connected");
    }
  }

  private socket(index: number): string {
    return join(this.folder, `${index}.sock`);
  }

  private serve(index: number, port: number): void {
    const of = (name: string): string => join(this.folder, name);
    const options = [
      "--detach",
      "--no-chdir",
      `--pidfile=${of(`${index}.pid`)}`,
      `--unixctl=${of(`${index}.ctl`)}`,
      `--log-file=${of(`${index}.log`)}`,
      `--remote=pssl:${port}:127.0.0.1`,
      `--remote=punix:${this.socket(index)}`,
      `--private-key=${of("server.key")}`,
      `--certificate=${of("server.pem")}`,
      `--ca-cert=${of("ca.pem")}`,
      of(`${index}.db`),
    ];
    execFileSync("ovsdb-server", options, { timeout: 30_000, stdio: "ignore" });
  }

  private control(index: number, ...command: readonly string[]): string {
    return run("ovs-appctl", "-t", join(this.folder, `${index}.ctl`), ...command);
  }

  /** What a client shows that the servers know, or one whom another CA has signed. */
  tls(name: "client" | "stranger" = "client"): OvsdbTls {
    const read = (file: string): string => readFileSync(join(this.folder, file), "utf8");
    return {
      privateKey: read(`${name}.key`),
      certificate: read(`${name}.pem`),
      caCertificate: read("ca.pem"),
    };
  }

  /** The CA that has signed no server. */
  otherCa(): string {
    return readFileSync(join(this.folder, "other.pem"), "utf8");
  }

  /** Which of the servers leads, one of them not asked; -1 while they choose. */
  leader(unasked = -1): number {
    return [0, 1, 2].findIndex(
      (index) =>
        index !== unasked &&
        existsSync(join(this.folder, `${index}.pid`)) &&
        this.control(index, "cluster/status", DATABASE).includes("Role: leader"),
    );
  }

  /** The server that leads hands the lead on and leaves. */
  end(index: number): void {
    const pid = Number(readFileSync(join(this.folder, `${index}.pid`), "utf8"));
    process.kill(pid);
    rmSync(join(this.folder, `${index}.pid`), { force: true });
  }

  /** The one that leads stands still until the others have chosen another, and hears of that when it goes on. */
  async handOn(index: number): Promise<void> {
    const pid = Number(readFileSync(join(this.folder, `${index}.pid`), "utf8"));
    process.kill(pid, "SIGSTOP");
    try {
      for (let left = 300; this.leader(index) < 0; left--) {
        if (left === 0) throw new Error("the others choose nobody");
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    } finally {
      process.kill(pid, "SIGCONT");
    }
  }

  stop(): void {
    for (const index of [0, 1, 2]) if (existsSync(join(this.folder, `${index}.pid`))) this.end(index);
    rmSync(this.folder, { recursive: true });
  }
}
