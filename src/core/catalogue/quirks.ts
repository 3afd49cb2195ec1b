/**
 * Defects of HNS that users have met, by name (hcn.md §3–8, dataplane.md §9, users.md §1). Each is one row: which
 * builds have it, and how it strikes. What people read of it is in the catalogue. A service asks `hasQuirk(name)` where the defect would strike.
 *
 * A defect that always strikes is on by default in the builds that it concerns. Inferred: one that strikes now and then is off
 * until a rate is given, because no source says how often it strikes, and a service that always fails is
 * further from Windows than one that never does.
 */
import { type ServiceVersion, type WindowsBuild, hnsVersionOf, updateRevision } from "./profiles.ts";
import type { BuildSpan, QuirkRow } from "./quirk.ts";
import { LIFE_CYCLE_QUIRKS, type LifeCycleQuirk } from "./quirk-rows/life-cycle.ts";
import { LOAD_BALANCER_QUIRKS, type LoadBalancerQuirk } from "./quirk-rows/load-balancers.ts";
import { NODE_QUIRKS, type NodeQuirk } from "./quirk-rows/nodes.ts";
import { PACKET_QUIRKS, type PacketQuirk } from "./quirk-rows/packets.ts";
import { PORT_QUIRKS, type PortQuirk } from "./quirk-rows/ports.ts";

/** The name of a defect; stable, as it stands in cluster files and scripts. */
export type QuirkName = LifeCycleQuirk | LoadBalancerQuirk | PacketQuirk | PortQuirk | NodeQuirk;

export const QUIRKS: Readonly<Record<QuirkName, QuirkRow>> = Object.freeze({
  ...LIFE_CYCLE_QUIRKS,
  ...LOAD_BALANCER_QUIRKS,
  ...PACKET_QUIRKS,
  ...PORT_QUIRKS,
  ...NODE_QUIRKS,
});

export const QUIRK_NAMES: readonly QuirkName[] = Object.freeze(Object.keys(QUIRKS) as QuirkName[]);

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
    problem: `${JSON.stringify(wanted)} is not a setting of ${name}; write on, off, a rate such as 0.1, or a rate and a seed such as 0.1@7`,
  };
}
