/** host-local with the files of this machine. */
import { readFileSync } from "node:fs";
import { LIMITS } from "../../base/limits.ts";
import { pathRulesOf } from "../../base/path-rules.ts";
import type { Compat } from "../../cni/parameters.ts";
import { FileLeaseStore, describeSystemError } from "../../plugins/host-local/file-lease-store.node.ts";
import { HostLocal, type TextFiles } from "../../plugins/host-local/plugin.ts";
import type { OpenPlugin } from "./plugin-process.ts";

const FILES: TextFiles = Object.freeze({
  readText: async (path: string): Promise<string> => {
    try {
      return readFileSync(path, "utf8");
    } catch (error) {
      throw new Error(describeSystemError(error), { cause: error });
    }
  },
});

export async function openHostLocal(compat: Compat): Promise<OpenPlugin> {
  const { platform } = process;
  const store = new FileLeaseStore({
    paths: pathRulesOf(platform),
    waitMs: LIMITS.leaseLockWaitMs,
    flockProgram: platform === "linux" ? "flock" : "",
  });
  return { plugin: new HostLocal({ store, compat, files: FILES }), close: () => Promise.resolve() };
}
