/**
 * Defects of HNS that users have met, by name (hcn.md §3–8, dataplane.md §9, users.md §1). Each is one
 * row of `data/facts/quirks.yaml`: which builds have it, how it strikes, and what people read of it. A service asks
 * `hasQuirk(name)` where the defect would strike.
 *
 * A defect that always strikes is on by default in the builds that it concerns. Inferred: one that strikes now and then is off
 * until a rate is given, because no source says how often it strikes, and a service that always fails is
 * further from Windows than one that never does.
 */
import { type Table, quirks } from "#data/facts.js";
import { CheckedFields } from "./checked-fields.ts";
import type { KnowledgeCode, QuirkName } from "./codes.ts";
import {
  NODE_PROFILE_NAMES,
  PROFILE_NAMES,
  type ProfileName,
  type ServiceVersion,
  WINDOWS_PROFILES,
  type WindowsBuild,
  hnsVersionOf,
  readVersion,
  updateRevision,
} from "./profiles.ts";
import { core } from "#data/words.js";

const WORDS = core();

export { QUIRK_NAMES, type QuirkName } from "./codes.ts";

/** Builds that a defect concerns: one profile, or the part of it between two updates. */
export interface BuildSpan {
  readonly profile: ProfileName;
  /** The update that brought the defect; absent: it was there at release. */
  readonly since?: string;
  /** The update that ended it; absent: none is known. */
  readonly until?: string;
  /** The version of HNS that has it; absent: whatever the build runs. */
  readonly hns?: ServiceVersion;
}

/** One defect that users have met: facts, no words for people. */
export interface QuirkRow {
  /** Builds on which it was met; empty: no build is known, or all can have it. */
  readonly concerns: readonly BuildSpan[];
  /** `always`: each time the situation comes up. `sometimes`: now and then, at a rate that is not published. */
  readonly strikes: "always" | "sometimes";
  /** The entry of the catalogue that explains it to people. */
  readonly explanation: KnowledgeCode;
  /** Sections of the reference, and public threads as `owner/repository#number`. */
  readonly sources: readonly string[];
}

/** How Windows is, not what one build has wrong. */
export const ALL_PROFILES: readonly BuildSpan[] = Object.freeze(
  PROFILE_NAMES.map((profile) => Object.freeze({ profile })),
);

const STRIKES = ["always", "sometimes"] as const;
const UPDATES: readonly string[] = WINDOWS_PROFILES.flatMap(({ updates }) => updates.map(({ kb }) => kb));

function readSpan(fields: CheckedFields): BuildSpan {
  const profile = fields.word("profile", NODE_PROFILE_NAMES);
  const [since, until] = [fields.optionalWord("since", UPDATES), fields.optionalWord("until", UPDATES)];
  const hns = fields.has("hns") ? readVersion(fields.within("hns")) : undefined;
  fields.end();
  return Object.freeze({
    profile,
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(hns !== undefined && { hns }),
  });
}

function readConcerns(row: CheckedFields): readonly BuildSpan[] {
  if (row.take("concerns") === "all") return ALL_PROFILES;
  const spans = row
    .list("concerns")
    .map((each, index) =>
      typeof each === "string"
        ? Object.freeze({ profile: row.toWord("concerns", each, NODE_PROFILE_NAMES) })
        : readSpan(row.item("concerns", index)),
    );
  return Object.freeze(spans);
}

function readQuirk(row: CheckedFields): QuirkRow {
  const quirk: QuirkRow = {
    concerns: readConcerns(row),
    strikes: row.word("strikes", STRIKES),
    explanation: row.code("explanation"),
    sources: row.texts("sources"),
  };
  // The words are for people (diagnose/catalogue/quirk-texts.ts).
  row.text("title");
  row.optionalText("notActedOn");
  row.end();
  return Object.freeze(quirk);
}

/** @throws Error that names file and line of what is wrong. */
export function readQuirks(table: Table): Readonly<Record<string, QuirkRow>> {
  const rows = CheckedFields.ofTable(table).rows();
  return Object.freeze(Object.fromEntries(rows.map(([name, row]) => [name, readQuirk(row)])));
}

/** By name, in the order of the table. `npm run schemas` tells the compiler of its names. */
export const QUIRKS: Readonly<Record<QuirkName, QuirkRow>> = readQuirks(quirks());

export function isQuirkName(text: string): text is QuirkName {
  return Object.hasOwn(QUIRKS, text);
}

function isVersion(build: WindowsBuild, wanted: ServiceVersion): boolean {
  const { Major, Minor } = hnsVersionOf(build);
  return Major === wanted.Major && Minor === wanted.Minor;
}

function spanHolds(span: BuildSpan, build: WindowsBuild): boolean {
  const { profile, revision } = build;
  if (span.profile !== profile.name) return false;
  if (span.hns !== undefined && !isVersion(build, span.hns)) return false;
  // Without a revision a node has all updates.
  if (revision === undefined) return span.until === undefined;
  const isIn = span.since === undefined || revision >= updateRevision(span.since);
  return isIn && (span.until === undefined || revision < updateRevision(span.until));
}

/** True when `build` is one of those that the defect concerns. */
export function concernsBuild(name: QuirkName, build: WindowsBuild): boolean {
  return QUIRKS[name].concerns.some((span) => spanHolds(span, build));
}

/** True when the defect is on unless it is set otherwise. */
export function isDefaultQuirk(name: QuirkName, build: WindowsBuild): boolean {
  return QUIRKS[name].strikes === "always" && concernsBuild(name, build);
}

/** How many back ends HNS takes in one load balancer (kube-proxy.md §3.13). */
export const BACK_ENDS_MAX: Readonly<Record<"limited" | "raised", number>> = Object.freeze({
  limited: 64,
  raised: 1_024,
});

/** How many back ends HNS of `build` takes in one load balancer. */
export function backEndsMaxOf(build: WindowsBuild): number {
  return BACK_ENDS_MAX[isDefaultQuirk("back-ends-limited-to-64", build) ? "limited" : "raised"];
}

/** What is wanted of a defect: never, always, or at a rate (0 to 1) drawn from a seed. */
export type QuirkSetting = "on" | "off" | { readonly rate: number; readonly seed?: string };

/** Defects that are set; all others are as `isDefaultQuirk` says. */
export type QuirkSettings = Readonly<Partial<Record<QuirkName, QuirkSetting>>>;

/** Why a text is no setting. */
export interface QuirkProblem {
  readonly problem: string;
}

const RATE = /^(?:0|1|0?\.\d{1,9}|1\.0+)$/;

function readSetting(text: string): QuirkSetting | undefined {
  if (text === "on" || text === "off") return text;
  const [rate = "", seed] = text.split("@");
  if (!RATE.test(rate)) return undefined;
  return seed === undefined ? { rate: Number(rate) } : { rate: Number(rate), seed };
}

/** A setting as `parseQuirk` reads it. */
export function formatQuirkSetting(setting: QuirkSetting): string {
  if (typeof setting === "string") return setting;
  return setting.seed === undefined ? String(setting.rate) : `${setting.rate}@${setting.seed}`;
}

/**
 * Reads `NAME`, `NAME=on`, `NAME=off`, `NAME=0.1` or `NAME=0.1@SEED`.
 * @returns the name and its setting, or what is wrong with the text.
 */
export function parseQuirk(
  text: string,
): { readonly name: QuirkName; readonly setting: QuirkSetting } | QuirkProblem {
  const [name = "", ...rest] = text.split("=");
  const wanted = rest.length === 0 ? "on" : rest.join("=");
  if (!isQuirkName(name)) return { problem: `there is no defect ${JSON.stringify(name)}` };
  const setting = readSetting(wanted);
  if (setting !== undefined) return { name, setting };
  return {
    problem: WORDS.quirkSettingInvalid({ setting: JSON.stringify(wanted), quirk: name }),
  };
}
