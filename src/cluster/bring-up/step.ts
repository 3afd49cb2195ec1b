/** One step of a script. */
import type { ScriptNode } from "./script-node.ts";

export interface Step {
  /** The file that holds it. When it throws, the rest of that file does not run. */
  readonly script: string;
  readonly name: string;
  /** What it runs. */
  readonly command: string;
  /** @throws ScriptEnds and WaitsForEver, as the script does. */
  perform(node: ScriptNode): Promise<void>;
}
