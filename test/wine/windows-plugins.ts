/** CNI plugins as Windows programs: the launchers, the bundles, and Node for Windows under Wine. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type WinePrefix, prepareWinePrefix } from "#cli/mullion/wine/wine-prefix.ts";
import { type ProgramResult, ROOT, resultOf } from "./test-daemon.ts";
import { windowsNode, windowsPath } from "./windows-node.ts";

const PROGRAMS = join(ROOT, "dist", "programs");
const FAKE_NODE = join(ROOT, "out", "launcher", "node.exe");

const PREFIX = join(ROOT, "out", "wine", "prefix");
/** Where Wine keeps `C:\\`; plugins start there, so that a path without a drive is one below it. */
const DRIVE_C = join(PREFIX, "drive_c");

/** A container of a runtime that names no namespace. */
const CALL = { CNI_CONTAINERID: "SBX", CNI_NETNS: "none", CNI_IFNAME: "eth0" };

export class WindowsPlugins {
  /** A folder with a name that is neither ASCII nor without blanks. */
  readonly folder: string;
  private readonly prefix: WinePrefix;
  /**
   * A program that runs all the time. Without one Wine ends Windows' services between two programs, and the next program
   * starts them again, with its own streams, which then stay open as long as any service runs.
   */
  private readonly keeper: ChildProcess;

  private constructor(prefix: WinePrefix) {
    this.prefix = prefix;
    this.folder = join(mkdtempSync(join(tmpdir(), "mullion-plugins-")), "Größe ネット 🪟");
    mkdirSync(this.folder);
    const env = { ...process.env, ...prefix.variables };
    this.keeper = spawn(prefix.wine, [FAKE_NODE, "wait"], { env, stdio: "ignore" });
  }

  /** Builds what Windows programs are made of. */
  static async open(): Promise<WindowsPlugins> {
    execFileSync(process.execPath, [join(ROOT, "tools", "build.ts"), "--all"], { stdio: "inherit" });
    return new WindowsPlugins(await prepareWinePrefix(PREFIX, join(ROOT, "dist", "shim")));
  }

  own(...names: readonly string[]): string {
    return join(this.folder, ...names);
  }

  /** What stands below `C:\\` as this machine sees it. */
  onDriveC(...names: readonly string[]): string {
    return join(DRIVE_C, ...names);
  }

  /** A path in that folder as Windows programs see it. */
  windows(...names: readonly string[]): string {
    return windowsPath(this.own(...names));
  }

  /**
   * Runs a plugin. Delegates are found behind a folder that there is not. A plugin that fails says why on standard output; one
   * that ended without a word was ended by Wine (seen once in thousands of starts on a busy machine), and is started again.
   */
  async run(
    name: string,
    variables: Readonly<Record<string, string>>,
    configuration: object,
  ): Promise<ProgramResult> {
    const first = await this.start(name, variables, configuration);
    if (first.code === 0 || first.stdout !== "" || first.stderr !== "") return first;
    return this.start(name, variables, configuration);
  }

  private async start(
    name: string,
    variables: Readonly<Record<string, string>>,
    configuration: object,
  ): Promise<ProgramResult> {
    const CNI_PATH = `C:\\none;${windowsPath(PROGRAMS)}`;
    const own = { MULLION_NODE: windowsPath(windowsNode()), CNI_PATH, ...CALL, ...variables };
    const env = { ...process.env, ...this.prefix.variables, ...own };
    // koffi loads node:assert, which makes a stream of the standard error; Node cannot make one of Wine's pipes.
    const path = this.own("errors.txt");
    const errors = openSync(path, "w");
    const program = join(PROGRAMS, `${name}.exe`);
    const child = spawn(this.prefix.wine, [program], { env, cwd: DRIVE_C, stdio: ["pipe", "pipe", errors] });
    child.stdin?.end(JSON.stringify(configuration));
    const result = await resultOf(child);
    closeSync(errors);
    return { ...result, stderr: readFileSync(path, "utf8") };
  }

  close(): void {
    this.keeper.kill("SIGKILL");
    const env = { ...process.env, ...this.prefix.variables };
    execFileSync(this.prefix.server, ["-w"], { env, stdio: "ignore" });
    rmSync(join(this.folder, ".."), { recursive: true });
  }
}
