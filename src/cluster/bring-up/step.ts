/** One step of a script, and how it stops its script. */
import type { ScriptNode } from "./script-node.ts";
import type { BringUpFinding } from "./report.ts";

export interface Step {
  /** The file that holds it. When it throws, the rest of that file does not run. */
  readonly script: string;
  readonly name: string;
  /** What it runs. */
  readonly command: string;
  /** @throws ScriptEnds and WaitsForEver, as the script does. */
  perform(node: ScriptNode): Promise<void>;
}

/** Why a script goes no further. */
abstract class ScriptStops extends Error {
  readonly finding: BringUpFinding;

  constructor(finding: BringUpFinding) {
    super(finding.message);
    this.finding = finding;
  }
}

/** PowerShell's `throw`, or an exit: the rest of the script does not run; its caller continues. */
export class ScriptEnds extends ScriptStops {}

/** A loop that nothing ends any more. */
export class WaitsForEver extends ScriptStops {}
