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

const openMullionNetns: PluginOpener = (mode) => {
  const client = openHns();
  const runner = new OwnPluginRunner({
    platform: process.platform as Platform,
    open: (name) => openMainPlugin(name, mode),
  });
  const plugin = new MullionNetns({
    client,
    delegate: new RunnerDelegate(runner),
    store: new FileScratchStore(),
    digest: (text) => createHash("sha256").update(text).digest("hex"),
    ...mode,
  });
  return { plugin, close: () => client.close() };
};

/** The executable `mullion-netns`. */
export function startMullionNetns(): Promise<void> {
  return runPluginProcess(openMullionNetns);
}
