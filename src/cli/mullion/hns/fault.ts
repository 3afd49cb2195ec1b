/** `mullion hns fault …` and `mullion hns quirk …`: faults and defects of an HNS that runs, and their tables. */
import type { FaultStatus, HnsFault, HnsFaults, QuirkStatus } from "#hns/failures/faults/fault.ts";
import { isFaultPlan, readFault, readFaultPlan } from "#hns/failures/faults/read-fault.ts";
import { parseJsonText } from "#contracts/hcn/description/json.ts";
import { LIMITS } from "#core/base/limits.ts";
import { QUIRK_TEXTS } from "#diagnose/catalogue/quirk-texts.ts";
import { Failure, describeSystemError } from "../failure.ts";
import { formatListing, type Listing } from "../table.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import { withHns } from "./connect.ts";
import { type HnsFaultAction, type HnsFaultRequest, asFaultFailure } from "./fault-request.ts";
import { QUIRKS, formatQuirkSetting } from "#core/catalogue/quirks.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** Fields of a fault beside its id and effect, as `key=value`. */
function describeFault(one: HnsFault): string {
  const { effect: _effect, id: _id, ...others } = one;
  const { calls, ...rest } = "calls" in others ? others : { ...others, calls: undefined };
  const pairs = [...Object.entries(calls ?? {}), ...Object.entries(rest)];
  return pairs.map(([name, value]) => `${name}=${String(value)}`).join(" ");
}

export function faultListing(rows: readonly FaultStatus[]): Listing<FaultStatus> {
  return {
    singular: "fault",
    plural: "faults in force",
    columns: [
      { title: "ID", text: ({ id }) => id },
      { title: "EFFECT", text: ({ fault: { effect } }) => effect },
      { title: "SEEN", isRightAligned: true, text: ({ seen }) => String(seen) },
      { title: "STRUCK", isRightAligned: true, text: ({ struck }) => String(struck) },
      { title: "WAITING", isRightAligned: true, text: ({ waiting }) => String(waiting) },
      { title: "WHICH", text: ({ fault: one }) => describeFault(one) },
    ],
    rows,
    name: ({ id }) => id,
  };
}

export function quirkListing(rows: readonly QuirkStatus[]): Listing<QuirkStatus> {
  return {
    singular: "defect",
    plural: "defects",
    columns: [
      { title: "NAME", text: ({ name }) => name },
      { title: "SETTING", text: ({ setting }) => formatQuirkSetting(setting) },
      { title: "BUILD HAS IT", text: ({ concernsBuild }) => (concernsBuild ? "yes" : "no") },
      { title: "ACTS", text: ({ name }) => (QUIRK_TEXTS[name].notActedOn === undefined ? "yes" : "no") },
      { title: "TITLE", isWide: true, text: ({ name }) => QUIRK_TEXTS[name].title },
      { title: "EXPLAINED BY", isWide: true, text: ({ name }) => QUIRKS[name].explanation },
    ],
    rows,
    name: ({ name }) => name,
    data: (status) => {
      const { title, notActedOn } = QUIRK_TEXTS[status.name];
      const { explanation } = QUIRKS[status.name];
      return { ...status, title, explanation, ...(notActedOn !== undefined && { notActedOn }) };
    },
  };
}

async function readPlan(path: string, terminal: Terminal): Promise<string> {
  try {
    return await terminal.readFile(path, LIMITS.jsonBytesMax);
  } catch (error) {
    throw new Failure(
      "hns-fault-invalid",
      `cannot read ${JSON.stringify(path)}: ${describeSystemError(error)}`,
      "The path is relative to the folder you are in.",
    );
  }
}

/** Puts the plan, or the one fault, of a file in force. @returns ids. */
export async function applyFile(
  faults: HnsFaults,
  path: string,
  terminal: Terminal,
): Promise<readonly string[]> {
  const document = parseJsonText(await readPlan(path, terminal));
  return isFaultPlan(document)
    ? faults.apply(readFaultPlan(document))
    : [await faults.add(readFault(document))];
}

function count(number: number, one: string, several: string): string {
  return `${number} ${number === 1 ? one : several}`;
}

async function act(faults: HnsFaults, action: HnsFaultAction, terminal: Terminal): Promise<void> {
  const say = (text: string): void => terminal.stdout(`${text}\n`);
  switch (action.verb) {
    case "add":
      if (action.seed === undefined) say(await faults.add(action.fault));
      else say((await faults.apply({ seed: action.seed, faults: [action.fault] })).join("\n"));
      return;
    case "apply":
      for (const path of action.files) for (const id of await applyFile(faults, path, terminal)) say(id);
      return;
    case "list":
      terminal.stdout(formatListing(faultListing(await faults.list()), action.output));
      return;
    case "remove":
      for (const id of action.ids) await faults.remove(id);
      return;
    case "clear":
      return faults.clear();
    case "release":
      say(`${count(await faults.release(action.id), "call continues", "calls continue")}.`);
      return;
    case "forget-loadbalancers": {
      const ids = await faults.forgetLoadBalancers(action.ids.length === 0 ? undefined : action.ids);
      say(`${count(ids.length, "load balancer is", "load balancers are")} forgotten.`);
      return;
    }
    case "restart":
      return faults.restart(action.state);
    case "reboot":
      return faults.reboot();
    case "list-quirks":
      terminal.stdout(formatListing(quirkListing(await faults.quirks()), action.output));
      return;
    case "set-quirks":
      for (const { name, setting } of action.settings) {
        await faults.setQuirk(name, setting);
        const { notActedOn } = QUIRK_TEXTS[name];
        if (notActedOn !== undefined) terminal.stderr(`${WORDS.quirkNotActedOn({ name, notActedOn })}\n`);
      }
  }
}

/** @throws Failure. */
export async function fault({ target, action }: HnsFaultRequest, terminal: Terminal): Promise<ExitCode> {
  try {
    await withHns(target, terminal, async ({ faults }) => act(faults, action, terminal));
    return 0;
  } catch (error) {
    throw asFaultFailure(error);
  }
}
