/** Where what takes long to make is kept for all clones on a machine: in the user's cache folder. */
import { homedir } from "node:os";
import { join } from "node:path";
import { env } from "node:process";

/** `~/.cache/mullion/NAME`, or where XDG_CACHE_HOME says. It need not be there yet. */
export function cacheFolder(name: string): string {
  const cache = env["XDG_CACHE_HOME"] ?? "";
  return join(cache === "" ? join(homedir(), ".cache") : cache, "mullion", name);
}
