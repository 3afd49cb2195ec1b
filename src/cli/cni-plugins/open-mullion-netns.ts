/** mullion-netns with the node's HNS, the files of this machine, and delegates from `CNI_PATH`. */
import { createHash } from "node:crypto";
import { RunnerDelegate } from "#contracts/cni/plugin-runner.ts";
import type { Platform } from "#contracts/cni/plugin.ts";
import { FileScratchStore } from "#programs/plugins/flannel/file-scratch-store.node.ts";
import { MullionNetns } from "#programs/plugins/mullion-netns/plugin.ts";
import { openHns } from "./lazy-hcn-client.ts";
import { openMainPlugin } from "./open-main-plugin.ts";
import { OwnPluginRunner } from "./own-plugin-runner.ts";
import { type PluginOpener, runPluginProcess } from "./plugin-process.ts";

/** mullion-netns. */
export const openMullionNetns: PluginOpener = (place) => {
  const { client, close } = openHns(place.hns);
  const runner = new OwnPluginRunner({
    platform: process.platform as Platform,
    open: (name) => openMainPlugin(name, place),
  });
  const plugin = new MullionNetns({
    client,
    delegate: new RunnerDelegate(runner),
    store: new FileScratchStore(),
    digest: (text) => createHash("sha256").update(text).digest("hex"),
    compat: place.compat,
  });
  return { plugin, close };
};

/** The executable `mullion-netns`. */
export function startMullionNetns(): Promise<void> {
  return runPluginProcess(openMullionNetns);
}
