/** Programs that a test starts, with what they wrote, and their end. */
import { type ChildProcess, spawn } from "node:child_process";
import { openSync, readFileSync } from "node:fs";
import { createServer } from "node:net";

const LOG_SHOWN = 3_000;

export class Program {
  private readonly child: ChildProcess;
  private readonly log: string;
  private readonly name: string;
  private readonly kill: () => void;
  private readonly ended: Promise<void>;
  private hasEnded = false;

  /** Starts it; what it writes goes to the file `log`. */
  constructor(command: readonly string[], log: string, variables: Readonly<Record<string, string>> = {}) {
    const [program = "", ...args] = command;
    this.name = program;
    this.log = log;
    const file = openSync(log, "a");
    this.child = spawn(program, args, {
      env: { ...process.env, ...variables },
      stdio: ["ignore", file, file],
    });
    this.kill = () => this.child.kill("SIGKILL");
    process.once("exit", this.kill);
    this.ended = new Promise((resolve) => {
      const end = (): void => {
        this.hasEnded = true;
        resolve();
      };
      this.child.once("exit", end);
      this.child.once("error", end);
    });
  }

  /** What it wrote last. */
  get written(): string {
    return readFileSync(this.log, "utf8").slice(-LOG_SHOWN);
  }

  /** Waits until `isReady` says so. @throws Error with what the program wrote, when it ended or takes too long. */
  async until(isReady: () => Promise<boolean> | boolean, timeoutMs: number): Promise<void> {
    const end = performance.now() + timeoutMs;
    while (!(await isReady())) {
      if (this.hasEnded) throw new Error(`${this.name} has ended:\n${this.written}`);
      if (performance.now() > end) throw new Error(`${this.name} is not ready:\n${this.written}`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  async end(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    this.child.kill(signal);
    await this.ended;
    process.off("exit", this.kill);
  }
}

/** Ports of loopback that nobody listens on at the moment. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports: number[] = [];
  for (const server of servers) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    ports.push(typeof address === "object" && address !== null ? address.port : 0);
  }
  for (const server of servers) await new Promise((resolve) => server.close(resolve));
  return ports;
}
