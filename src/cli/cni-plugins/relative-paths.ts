/** Whether a configuration names files from where its reader stands. */

/** Of what plugins read: `dataDir`, `resolvConf`, `subnetFile`, `stateDir` and their like. */
const PATH_KEY = /(?:dir|file|conf|path)$/i;

/** True for a text that cannot be read: who reads it says so. */
export function hasRelativePaths(configurationText: string): boolean {
  let isFound = false;
  try {
    JSON.parse(configurationText, (key, value: unknown) => {
      isFound ||= typeof value === "string" && value !== "" && PATH_KEY.test(key) && !value.startsWith("/");
      return value;
    });
  } catch {
    return true;
  }
  return isFound;
}
