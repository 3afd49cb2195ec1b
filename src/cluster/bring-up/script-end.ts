/** How a step stops its script. */
import type { BringUpFinding } from "./report.ts";

/** PowerShell's `throw`, or an exit: the rest of the script does not run; whoever called it goes on. */
export class ScriptEnds extends Error {
  readonly finding: BringUpFinding;

  constructor(finding: BringUpFinding) {
    super(finding.message);
    this.finding = finding;
  }
}

/** A loop that nothing ends any more. */
export class WaitsForEver extends Error {
  readonly finding: BringUpFinding;

  constructor(finding: BringUpFinding) {
    super(finding.message);
    this.finding = finding;
  }
}
