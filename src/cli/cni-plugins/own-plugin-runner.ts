/**
 * Delegates of a plugin's process, and main plugins that call them. They are found in `CNI_PATH` as ever; when what is found
 * there is a launcher of this very installation, it runs in this process, which saves the start of another Node.
 */
import { realpathSync } from "node:fs";
import { ExecRunner, findPlugin } from "#contracts/cni/exec-plugin.node.ts";
import {
  InProcessRunner,
  type PluginCall,
  type PluginExit,
  type PluginRunner,
  RunnerDelegate,
  splitPluginPath,
} from "#contracts/cni/plugin-runner.ts";
import { type CniPlugin, type Platform, choosePlatform } from "#contracts/cni/plugin.ts";
import type { WindowsPluginOptions } from "#programs/plugins/windows-endpoint/windows-plugin.ts";
import { packageRoot } from "../installation.ts";
import { ownProgramOf } from "../programs/launcher-mark.ts";
import { openHns } from "./lazy-hcn-client.ts";
import type { OpenPlugin, PluginPlace } from "./plugin-process.ts";

/** Opens a plugin of this installation by the name of its executable; undefined when it has none of that name. */
type OpenByName = (name: string) => Promise<OpenPlugin | undefined>;

class OwnPluginRunner implements PluginRunner {
  private readonly platform = process.platform as Platform;
  private readonly open: OpenByName;
  private readonly processes = new ExecRunner({ platform: this.platform });

  constructor(open: OpenByName) {
    this.open = open;
  }

  async run(call: PluginCall): Promise<PluginExit> {
    const { platform } = this;
    const folders = splitPluginPath(call.env["CNI_PATH"] ?? "", platform);
    const path = realpathSync(findPlugin(call.type, folders, platform));
    const own = ownProgramOf(path, packageRoot());
    const opened = own === undefined ? undefined : await this.open(own);
    if (opened === undefined) return this.processes.run(call);
    try {
      const behaved = choosePlatform(undefined, call.env, platform);
      return await new InProcessRunner(new Map([[call.type, opened.plugin]]), behaved).run(call);
    } finally {
      await opened.close();
    }
  }
}

/** Delegates that run in this process where they are its own. */
export function ownDelegate(open: OpenByName): RunnerDelegate {
  return new RunnerDelegate(new OwnPluginRunner(open));
}

/**
 * A main plugin with the node's HNS. What not every call needs is loaded by need. `openOther`: IPAM plugins that this plugin
 * may well call, beside host-local.
 */
export function openWindowsPlugin(
  make: (options: WindowsPluginOptions) => CniPlugin,
  place: PluginPlace,
  openOther: (name: string) => OpenPlugin | undefined = () => undefined,
): OpenPlugin {
  const { client, close } = openHns(place.hns);
  const delegate = ownDelegate(async (name) => {
    if (name !== "host-local") return openOther(name);
    const { openHostLocal } = await import("./open-host-local.ts");
    return openHostLocal(place);
  });
  return { plugin: make({ client, delegate, compat: place.compat }), close };
}
