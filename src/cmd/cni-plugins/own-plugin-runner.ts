/**
 * Delegates of a plugin's process. They are found in `CNI_PATH` as ever; when what is found there is an
 * executable of this very installation, it runs in this process, which saves the start of another Node.
 */
import { realpathSync } from "node:fs";
import { basename, dirname } from "node:path";
import { ExecRunner, findPlugin } from "../../cni/exec-plugin.node.ts";
import { InProcessRunner } from "../../cni/in-process-runner.ts";
import type { Platform } from "../../cni/plugin.ts";
import {
  type PluginCall,
  type PluginExit,
  type PluginRunner,
  splitPluginPath,
} from "../../cni/plugin-runner.ts";
import type { OpenPlugin } from "./plugin-process.ts";

/** The executables of an installation lie side by side. */
const OWN_FOLDER = dirname(realpathSync(process.argv[1] ?? ""));

export interface OwnPluginRunnerOptions {
  readonly platform: Platform;
  /** Opens a plugin of this installation by the name of its executable; undefined when it has none of that name. */
  readonly open: (name: string) => Promise<OpenPlugin | undefined>;
}

export class OwnPluginRunner implements PluginRunner {
  private readonly options: OwnPluginRunnerOptions;
  private readonly processes: ExecRunner;

  constructor(options: OwnPluginRunnerOptions) {
    this.options = options;
    this.processes = new ExecRunner({ platform: options.platform });
  }

  async run(call: PluginCall): Promise<PluginExit> {
    const { platform, open } = this.options;
    const folders = splitPluginPath(call.env["CNI_PATH"] ?? "", platform);
    const path = realpathSync(findPlugin(call.type, folders, platform));
    const isOwn = dirname(path) === OWN_FOLDER;
    // On Windows the executables of this installation are launchers: host-local.exe beside host-local.cjs.
    const opened = isOwn ? await open(basename(path, ".exe")) : undefined;
    if (opened === undefined) return this.processes.run(call);
    try {
      return await new InProcessRunner(new Map([[call.type, opened.plugin]]), platform).run(call);
    } finally {
      await opened.close();
    }
  }
}
