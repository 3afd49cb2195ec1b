/** The faults and defects that `mullion hns serve` begins with. */
import type { FaultInjector } from "#hns/failures/faults/fault-injector.ts";
import { parseQuirk } from "#core/catalogue/quirks.ts";
import { usage } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import { applyFile } from "./fault.ts";
import { asFaultFailure } from "./fault-request.ts";
import type { HnsServeRequest } from "./verbs.ts";

/**
 * Sets defects and puts plans in force, and says which.
 * @throws Failure for a defect that is none, and for a plan that cannot be read.
 */
export async function beginFaults(
  faults: FaultInjector,
  { quirks, faults: plans }: Pick<HnsServeRequest, "quirks" | "faults">,
  terminal: Terminal,
): Promise<void> {
  for (const text of quirks) {
    const parsed = parseQuirk(text);
    if ("problem" in parsed)
      throw usage(`--quirk ${JSON.stringify(text)}: ${parsed.problem}`, "See docs/reference/hns-faults.md.");
    await faults.setQuirk(parsed.name, parsed.setting);
  }
  const ids: string[] = [];
  try {
    for (const path of plans) ids.push(...(await applyFile(faults, path, terminal)));
  } catch (error) {
    throw asFaultFailure(error);
  }
  if (quirks.length > 0) terminal.stdout(`Defects set: ${quirks.join(", ")}\n`);
  if (ids.length > 0) terminal.stdout(`Faults in force: ${ids.join(", ")}\n`);
}
