/** Files of this machine, for plugins that read one. */
import { readFileSync } from "node:fs";
import { describeSystemError } from "#programs/plugins/host-local/file-lease-store.node.ts";
import type { TextFiles } from "#programs/plugins/host-local/plugin.ts";

export const TEXT_FILES: TextFiles = Object.freeze({
  readText: async (path: string): Promise<string> => {
    try {
      return readFileSync(path, "utf8");
    } catch (error) {
      throw new Error(describeSystemError(error), { cause: error });
    }
  },
});
