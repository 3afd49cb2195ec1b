/** flannel and mullion-netns with the files of this machine, and with delegates from `CNI_PATH`; our own run in this process. */
import { createHash } from "node:crypto";
import type { Delegate } from "#contracts/cni/plugin-runner.ts";
import { FileScratchStore } from "#programs/plugins/flannel/file-scratch-store.node.ts";
import { Flannel } from "#programs/plugins/flannel/plugin.ts";
import { MullionNetns } from "#programs/plugins/mullion-netns/plugin.ts";
import { openHns } from "./lazy-hcn-client.ts";
import { TEXT_FILES } from "./open-host-local.ts";
import { openMainPlugin } from "./open-main-plugin.ts";
import { ownDelegate } from "./own-plugin-runner.ts";
import { type PluginOpener, type PluginPlace, runPluginProcess } from "./plugin-process.ts";

function mainDelegate(place: PluginPlace): Delegate {
  return ownDelegate((name) => openMainPlugin(name, place));
}

/** flannel. */
export const openFlannel: PluginOpener = (place) => {
  const scratch = new FileScratchStore();
  const options = { delegate: mainDelegate(place), files: TEXT_FILES, scratch, compat: place.compat };
  return { plugin: new Flannel(options), close: () => Promise.resolve() };
};

/** mullion-netns, which needs the node's HNS, too. */
export const openMullionNetns: PluginOpener = (place) => {
  const { client, close } = openHns(place.hns);
  const plugin = new MullionNetns({
    client,
    delegate: mainDelegate(place),
    store: new FileScratchStore(),
    digest: (text) => createHash("sha256").update(text).digest("hex"),
    compat: place.compat,
  });
  return { plugin, close };
};

/** The executable `flannel`. */
export function startFlannel(): Promise<void> {
  return runPluginProcess(openFlannel);
}

/** The executable `mullion-netns`. */
export function startMullionNetns(): Promise<void> {
  return runPluginProcess(openMullionNetns);
}
