/** The version of this package. */
import { readFileSync } from "node:fs";

/** Read from package.json, which stands at the root both in a clone and in an installed package. */
export function packageVersion(): string {
  const text = readFileSync(new URL("../../../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
