/** The shape of one defect of HNS in the table (`quirks.ts`): facts, no words for people. */
import type { KnowledgeCode } from "./codes.ts";
import { PROFILE_NAMES, type ProfileName, type ServiceVersion } from "./profiles.ts";

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

/** One defect that users have met. */
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

/** A defect met on several profiles, on all their revisions. */
export function onProfiles(...names: readonly ProfileName[]): readonly BuildSpan[] {
  return Object.freeze(names.map((profile) => Object.freeze({ profile })));
}

/** How Windows is, not what one build has wrong. */
export const ALL_PROFILES: readonly BuildSpan[] = onProfiles(...PROFILE_NAMES);
