/** win-bridge with the node's HNS, and with delegates from `CNI_PATH`. What not every call needs is loaded by need. */
import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import { RunnerDelegate } from "../../cni/delegate.ts";
import type { Compat } from "../../cni/parameters.ts";
import type { Platform } from "../../cni/plugin.ts";
import { WinBridge } from "../../plugins/win-bridge/plugin.ts";
import { LazyHcnClient } from "./lazy-hcn-client.ts";
import { OwnPluginRunner } from "./own-plugin-runner.ts";
import type { OpenPlugin } from "./plugin-process.ts";

export async function openWinBridge(compat: Compat): Promise<OpenPlugin> {
  const client = new LazyHcnClient(async () => {
    const { findHns } = await import("../../hcn/find-hns.node.ts");
    return findHns({ variables: process.env });
  });
  const runner = new OwnPluginRunner({
    platform: process.platform as Platform,
    // The executables of an installation lie side by side.
    binFolder: dirname(realpathSync(process.argv[1] ?? "")),
    open: async (name) => {
      if (name !== "host-local") return undefined;
      const { openHostLocal } = await import("./open-host-local.ts");
      return (await openHostLocal(compat)).plugin;
    },
  });
  const delegate = new RunnerDelegate(runner);
  return { plugin: new WinBridge({ client, delegate, compat }), close: () => client.close() };
}
