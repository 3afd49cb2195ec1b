/** flannel with the files of this machine, and with delegates from `CNI_PATH`; our own run in this process. */
import { RunnerDelegate } from "#contracts/cni/plugin-runner.ts";
import type { Platform } from "#contracts/cni/plugin.ts";
import { FileScratchStore } from "#programs/plugins/flannel/file-scratch-store.node.ts";
import { Flannel } from "#programs/plugins/flannel/plugin.ts";
import { openMainPlugin } from "./open-main-plugin.ts";
import { OwnPluginRunner } from "./own-plugin-runner.ts";
import { type PluginOpener, runPluginProcess } from "./plugin-process.ts";
import { TEXT_FILES } from "./text-files.ts";

/** flannel. */
export const openFlannel: PluginOpener = (place) => {
  const runner = new OwnPluginRunner({
    platform: process.platform as Platform,
    open: (name) => openMainPlugin(name, place),
  });
  const delegate = new RunnerDelegate(runner);
  const scratch = new FileScratchStore();
  return {
    plugin: new Flannel({ delegate, files: TEXT_FILES, scratch, compat: place.compat }),
    close: () => Promise.resolve(),
  };
};

/** The executable `flannel`. */
export function startFlannel(): Promise<void> {
  return runPluginProcess(openFlannel);
}
