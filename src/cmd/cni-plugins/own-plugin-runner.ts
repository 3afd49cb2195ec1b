/**
 * Delegates of a plugin's process. They are found in `CNI_PATH` as ever; when what is found there is an
 * executable of this very installation, it runs in this process, which saves the start of another Node.
 */
import { realpathSync } from "node:fs";
import { basename, dirname } from "node:path";
import { ExecRunner, findPlugin } from "../../cni/exec-plugin.node.ts";
import { InProcessRunner } from "../../cni/in-process-runner.ts";
import type { CniPlugin, Platform } from "../../cni/plugin.ts";
import {
  type PluginCall,
  type PluginExit,
  type PluginRunner,
  splitPluginPath,
} from "../../cni/plugin-runner.ts";

export interface OwnPluginRunnerOptions {
  readonly platform: Platform;
  /** The folder of this installation's executables. */
  readonly binFolder: string;
  /** Opens a plugin of this installation by the name of its executable; undefined when it has none of that name. */
  readonly open: (name: string) => Promise<CniPlugin | undefined>;
}

export class OwnPluginRunner implements PluginRunner {
  private readonly options: OwnPluginRunnerOptions;
  private readonly processes: ExecRunner;

  constructor(options: OwnPluginRunnerOptions) {
    this.options = options;
    this.processes = new ExecRunner({ platform: options.platform });
  }

  async run(call: PluginCall): Promise<PluginExit> {
    const { platform, binFolder, open } = this.options;
    const folders = splitPluginPath(call.env["CNI_PATH"] ?? "", platform);
    const path = realpathSync(findPlugin(call.type, folders, platform));
    const isOwn = dirname(path) === realpathSync(binFolder);
    // On Windows the executables of this installation are launchers: host-local.exe beside host-local.cjs.
    const plugin = isOwn ? await open(basename(path, ".exe")) : undefined;
    if (plugin === undefined) return this.processes.run(call);
    return new InProcessRunner(new Map([[call.type, plugin]]), platform).run(call);
  }
}
