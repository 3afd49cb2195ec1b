/** A main plugin with the node's HNS, and with delegates from `CNI_PATH`. What not every call needs is loaded by need. */
import { RunnerDelegate } from "#contracts/cni/plugin-runner.ts";
import type { CniPlugin, Platform } from "#contracts/cni/plugin.ts";
import type { WindowsPluginOptions } from "#programs/plugins/windows-endpoint/windows-plugin.ts";
import { openHns } from "./lazy-hcn-client.ts";
import { OwnPluginRunner } from "./own-plugin-runner.ts";
import type { OpenPlugin, PluginPlace } from "./plugin-process.ts";

/** `openOther`: IPAM plugins that this plugin may well call, beside host-local. */
export function openWindowsPlugin(
  make: (options: WindowsPluginOptions) => CniPlugin,
  place: PluginPlace,
  openOther: (name: string) => OpenPlugin | undefined = () => undefined,
): OpenPlugin {
  const { client, close } = openHns(place.hns);
  const runner = new OwnPluginRunner({
    platform: process.platform as Platform,
    open: async (name) => {
      if (name !== "host-local") return openOther(name);
      const { openHostLocal } = await import("./open-host-local.ts");
      return openHostLocal(place);
    },
  });
  const delegate = new RunnerDelegate(runner);
  return { plugin: make({ client, delegate, compat: place.compat }), close };
}
