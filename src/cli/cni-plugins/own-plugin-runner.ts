/**
 * Delegates of a plugin's process. They are found in `CNI_PATH` as ever; when what is found there is a
 * launcher of this very installation, it runs in this process, which saves the start of another Node.
 */
import { realpathSync } from "node:fs";
import { ExecRunner, findPlugin } from "#contracts/cni/exec-plugin.node.ts";
import {
  InProcessRunner,
  type PluginCall,
  type PluginExit,
  type PluginRunner,
  splitPluginPath,
} from "#contracts/cni/plugin-runner.ts";
import { type Platform, choosePlatform } from "#contracts/cni/plugin.ts";
import { packageRoot } from "../installation.ts";
import { ownProgramOf } from "../programs/launcher-mark.ts";
import type { OpenPlugin } from "./plugin-process.ts";

export interface OwnPluginRunnerOptions {
  /** The machine's. */
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
    const own = ownProgramOf(path, packageRoot());
    const opened = own === undefined ? undefined : await open(own);
    if (opened === undefined) return this.processes.run(call);
    try {
      const behaved = choosePlatform(undefined, call.env, platform);
      return await new InProcessRunner(new Map([[call.type, opened.plugin]]), behaved).run(call);
    } finally {
      await opened.close();
    }
  }
}
