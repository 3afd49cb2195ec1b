/** Runs the commands of a page as its reader does: one after the other, in a folder, with the Node of the system. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";

const ROOT = resolve(".");
/** Longest wait for a server or a command. */
const PATIENCE_MS = 60_000;

/** `PATH` without the Node that the project brings along. */
function systemPath(): string {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => !folder.includes("node_modules"))
    .join(delimiter);
}

/** Version of the Node that a reader has here: `20.20.2`. */
export function systemNode(): string {
  return execFileSync("node", ["--version"], {
    encoding: "utf8",
    env: { ...process.env, PATH: systemPath() },
  })
    .trim()
    .slice(1);
}

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** In the clone npx runs bin/mullion.js, or node_modules/.bin; called directly here, because npx itself takes a second. */
const PRELUDE = `npx() {
  local name=$1; shift
  if [ "$name" = mullion ]; then command node "$MULLION_ROOT/bin/mullion.js" "$@"
  else "$MULLION_ROOT/node_modules/.bin/$name" "$@"; fi
}
`;

/** One reader at one page: a folder that looks like the clone, and nothing of the machine's own state. */
export class PageReader {
  readonly folder: string = mkdtempSync(join(tmpdir(), "mullion-page-"));
  private readonly servers: ChildProcess[] = [];
  private settings = "";
  private readonly env: Record<string, string>;

  constructor(files: ReadonlyMap<string, string> = new Map()) {
    for (const name of readdirSync(ROOT)) {
      if (name !== "out" && !name.startsWith(".git")) symlinkSync(join(ROOT, name), join(this.folder, name));
    }
    for (const [name, text] of files) writeFileSync(join(this.folder, name), text);
    const place = (name: string): string => {
      const path = join(this.folder, ".state", name);
      mkdirSync(path, { recursive: true, mode: 0o700 });
      return path;
    };
    // Where runtimes look for plugins.
    mkdirSync(join(this.folder, ".state", "cni", "bin"), { recursive: true });
    const { HOME = "", LANG = "C.UTF-8" } = process.env;
    this.env = {
      PATH: systemPath(),
      LANG,
      HOME,
      MULLION_ROOT: ROOT,
      XDG_RUNTIME_DIR: place("run"),
      XDG_STATE_HOME: place("state"),
      XDG_CACHE_HOME: place("cache"),
      npm_config_prefix: place("prefix"),
    };
  }

  /** Absolute paths of a page lie in the folder of this reader. */
  private script(line: string): string {
    const here = line.replaceAll(/(?<=[\s=:])\/(?:tmp|opt)\//g, `${this.folder}/.state/`);
    return `${PRELUDE}${this.settings}${here}\n`;
  }

  /** Runs a command, or several lines as one script. `export` lines count for what follows. */
  async run(line: string, folder: string = this.folder): Promise<Ran> {
    if (line.startsWith("export ")) {
      this.settings = this.script(line).slice(PRELUDE.length);
      return { code: 0, stdout: "", stderr: "" };
    }
    const child = spawn("bash", ["-c", this.script(line)], { cwd: folder, env: this.env });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    return new Promise((settle) => {
      child.on("close", (code) => {
        clearTimeout(timer);
        settle({ code, stdout, stderr });
      });
    });
  }

  /** Starts what stays in front. Resolves with what it has said when it is ready. */
  async serve(line: string, isReady: RegExp): Promise<string> {
    const child = spawn("bash", ["-c", this.script(line)], {
      cwd: this.folder,
      env: this.env,
      detached: true,
    });
    this.servers.push(child);
    let said = "";
    return new Promise((settle, refuse) => {
      const fail = (why: string): void => refuse(new Error(`${line}: ${why}:\n${said}`));
      const timer = setTimeout(() => fail("is not ready in time"), PATIENCE_MS);
      const hear = (chunk: Buffer): void => {
        said += chunk.toString();
        if (!isReady.test(said)) return;
        clearTimeout(timer);
        settle(said);
      };
      child.stdout.on("data", hear);
      child.stderr.on("data", hear);
      child.on("close", () => {
        clearTimeout(timer);
        fail("ended");
      });
    });
  }

  /** Ctrl-C in each terminal, and `down`. @returns how the servers ended. */
  async close(): Promise<readonly (number | null)[]> {
    const codes: (number | null)[] = [];
    for (const server of this.servers.toReversed()) {
      if (server.exitCode === null && server.pid !== undefined) {
        const ended = new Promise<number | null>((settle) => server.on("close", settle));
        process.kill(-server.pid, "SIGINT");
        codes.push(await ended);
      } else codes.push(server.exitCode);
    }
    if (readdirSync(join(this.folder, ".state", "run")).length > 0) await this.run("npx mullion down");
    rmSync(this.folder, { recursive: true, force: true });
    return codes;
  }
}
