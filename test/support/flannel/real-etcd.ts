/** A real etcd in a folder of its own, for live tests: Debian's `etcd-server`. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where it is; says what is missing otherwise. */
export function requireEtcd(): void {
  try {
    execFileSync("etcd", ["--version"], { stdio: "ignore" });
  } catch {
    throw new Error("etcd is missing: apt-get install etcd-server (.ci/run does)");
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

export class RealEtcd {
  readonly endpoint: string;
  private readonly peer: string;
  private readonly folder: string = mkdtempSync(join(tmpdir(), "mullion-etcd-"));
  private process: ChildProcess | undefined;

  private constructor(port: number, peerPort: number) {
    this.endpoint = `http://127.0.0.1:${port}`;
    this.peer = `http://127.0.0.1:${peerPort}`;
  }

  static async start(): Promise<RealEtcd> {
    const etcd = new RealEtcd(await freePort(), await freePort());
    await etcd.up();
    return etcd;
  }

  /** Starts it on the data that it has. */
  async up(): Promise<void> {
    const { endpoint, peer, folder } = this;
    const words = [
      ["--name", "m"],
      ["--data-dir", folder],
      ["--listen-client-urls", endpoint],
      ["--advertise-client-urls", endpoint],
      ["--listen-peer-urls", peer],
      ["--initial-advertise-peer-urls", peer],
      ["--initial-cluster", `m=${peer}`],
      ["--logger", "zap"],
    ];
    this.process = spawn("etcd", words.flat(), {
      stdio: "ignore",
      // Debian's etcd wants to be told that it may run on machines that it was not tried on.
      env: { ...process.env, ETCD_UNSUPPORTED_ARCH: process.arch },
    });
    for (let tries = 0; tries < 200; tries++) {
      try {
        const response = await fetch(`${endpoint}/health`);
        if (response.ok && (await response.text()).includes("true")) return;
      } catch {
        // It is not up yet.
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error("etcd did not come up in 10 s");
  }

  /** Kills it; the data stay. */
  async down(): Promise<void> {
    const child = this.process;
    this.process = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  }

  /** A call of its gateway, as an administrator makes with etcdctl. */
  async ask(path: string, body: object): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.endpoint}${path}`, { method: "POST", body: JSON.stringify(body) });
    return (await response.json()) as Record<string, unknown>;
  }

  async close(): Promise<void> {
    await this.down();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
