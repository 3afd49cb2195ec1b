/** host-local with the files of this machine. */
import { LIMITS } from "#core/base/limits.ts";
import { pathRulesOf } from "#core/base/path-rules.ts";
import { FileLeaseStore } from "#programs/plugins/host-local/file-lease-store.node.ts";
import { HostLocal } from "#programs/plugins/host-local/plugin.ts";
import { type PluginOpener, runPluginProcess } from "./plugin-process.ts";
import { TEXT_FILES } from "./text-files.ts";

export const openHostLocal: PluginOpener = ({ compat }) => {
  const { platform } = process;
  const store = new FileLeaseStore({
    paths: pathRulesOf(platform),
    waitMs: LIMITS.leaseLockWaitMs,
    flockProgram: platform === "linux" ? "flock" : "",
  });
  return { plugin: new HostLocal({ store, compat, files: TEXT_FILES }), close: () => Promise.resolve() };
};

/** The executable `host-local`. */
export function startHostLocal(): Promise<void> {
  return runPluginProcess(openHostLocal);
}
