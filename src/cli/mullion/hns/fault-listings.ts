/** Faults and defects as tables. */
import { QUIRK_TEXTS } from "#diagnose/catalogue/quirk-texts.ts";
import type { FaultStatus, HnsFault } from "#contracts/hcn/faults/fault.ts";
import type { QuirkStatus } from "#contracts/hcn/faults/hns-faults.ts";
import { QUIRKS, type QuirkSetting } from "#core/catalogue/quirks.ts";
import type { Listing } from "../table.ts";

/** Fields of a fault beside its id and effect, as `key=value`. */
function describeFault(fault: HnsFault): string {
  const { effect: _effect, id: _id, ...others } = fault;
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
      { title: "EFFECT", text: ({ fault }) => fault.effect },
      { title: "SEEN", isRightAligned: true, text: ({ seen }) => String(seen) },
      { title: "STRUCK", isRightAligned: true, text: ({ struck }) => String(struck) },
      { title: "WAITING", isRightAligned: true, text: ({ waiting }) => String(waiting) },
      { title: "WHICH", text: ({ fault }) => describeFault(fault) },
    ],
    rows,
    name: ({ id }) => id,
    data: (status) => status,
  };
}

function describeSetting(setting: QuirkSetting): string {
  if (typeof setting === "string") return setting;
  return setting.seed === undefined ? String(setting.rate) : `${setting.rate}@${setting.seed}`;
}

export function quirkListing(rows: readonly QuirkStatus[]): Listing<QuirkStatus> {
  return {
    singular: "defect",
    plural: "defects",
    columns: [
      { title: "NAME", text: ({ name }) => name },
      { title: "SETTING", text: ({ setting }) => describeSetting(setting) },
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
