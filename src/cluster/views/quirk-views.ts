/** The defects of Windows that nodes have, and how each is set. */
import type { ValueOf } from "#core/base/shape.ts";
import { QUIRKS, QUIRK_NAMES, formatQuirkSetting } from "#core/catalogue/quirks.ts";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import type { Cluster } from "../cluster.ts";
import { selectNodes } from "./inventory.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

export const QUIRK_VIEW = {
  text: (): string => WORDS.quirkView,
  fields: {
    node: "text",
    name: (): typeof QUIRK_NAMES => QUIRK_NAMES,
    setting: { is: "text", text: (): string => WORDS.quirkSetting },
    concernsBuild: { is: "boolean", text: "The node's build has it on Windows." },
    explanation: { is: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES, text: "What explains it." },
  },
} as const;
export type QuirkView = ValueOf<typeof QUIRK_VIEW>;

/** @throws RequestError for a node that does not exist. */
export function viewQuirks(cluster: Cluster, name?: string): readonly QuirkView[] {
  return selectNodes(cluster, name).flatMap(({ spec, hns }) =>
    (hns?.quirks.list() ?? []).map((quirk) => ({
      node: spec.name,
      name: quirk.name,
      setting: formatQuirkSetting(quirk.setting),
      concernsBuild: quirk.concernsBuild,
      explanation: QUIRKS[quirk.name].explanation,
    })),
  );
}
