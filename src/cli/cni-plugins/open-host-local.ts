/** host-local with the files of this machine, and those files for other plugins that read one. */
import { readFileSync } from "node:fs";
import { LIMITS } from "#core/base/limits.ts";
import { pathRulesOf } from "#core/base/path-rules.ts";
import { FileLeaseStore, inSystemWords } from "#programs/plugins/host-local/file-lease-store.node.ts";
import { HostLocal, type TextFiles } from "#programs/plugins/host-local/plugin.ts";
import { type PluginOpener, runPluginProcess } from "./plugin-process.ts";

export const TEXT_FILES: TextFiles = Object.freeze({
  readText: (path: string) => inSystemWords(() => readFileSync(path, "utf8")),
});

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
