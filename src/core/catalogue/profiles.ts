/**
 * Windows profiles: what differs by build and update revision (hcn.md §1.6, §7.2), from `data/facts/profiles.yaml`.
 * Behaviour that a profile lacks or has wrong is looked up by the numbers here, never by the profile's name.
 */
import { profiles } from "#data/facts.js";
import { core } from "#data/words.js";
import { CheckedFields } from "./checked-fields.ts";

const WORDS = core();

/** A service version: what `/globals/version` answers. */
export interface ServiceVersion {
  readonly Major: number;
  readonly Minor: number;
}

/** A cumulative update that a behaviour hangs on. */
export interface WindowsUpdate {
  /** `KB5040437`. */
  readonly kb: string;
  /** The revision that it brings the build to. */
  readonly revision: number;
  /** The version of HNS from this revision on; absent: as before. */
  readonly hns?: ServiceVersion;
}

const NAMES = ["ws2016", "1709", "ws2019", "1903", "2004", "ws2022", "win11-21h2", "23h2", "ws2025"] as const;
export type ProfileName = (typeof NAMES)[number];

export interface WindowsProfile {
  readonly name: ProfileName;
  readonly title: string;
  readonly build: number;
  /** The version of HNS with all updates that are in use, unless an entry of `updates` says otherwise. */
  readonly hns: ServiceVersion;
  /** The version of HNS before the first update that names one; absent: `hns`. */
  readonly hnsAtRelease?: ServiceVersion;
  /** The newest minor of schema 2 that the build knows. */
  readonly schemaMinor: number;
  /** Oldest first. */
  readonly updates: readonly WindowsUpdate[];
}

/** A version of HNS in a table of facts. */
export function readVersion(fields: CheckedFields): ServiceVersion {
  const version = { Major: fields.number("Major"), Minor: fields.number("Minor") };
  fields.end();
  return Object.freeze(version);
}

function readUpdate(row: CheckedFields): WindowsUpdate {
  const [kb, revision] = [row.text("kb"), row.number("revision")];
  const update = { kb, revision, ...(row.has("hns") && { hns: readVersion(row.within("hns")) }) };
  row.end();
  return Object.freeze(update);
}

function readProfile(row: CheckedFields): WindowsProfile {
  const profile: WindowsProfile = {
    name: row.word("name", NAMES),
    title: row.text("title"),
    build: row.number("build"),
    hns: readVersion(row.within("hns")),
    ...(row.has("hnsAtRelease") && { hnsAtRelease: readVersion(row.within("hnsAtRelease")) }),
    schemaMinor: row.number("schemaMinor"),
    updates: Object.freeze(row.items("updates").map(readUpdate)),
  };
  row.end();
  return Object.freeze(profile);
}

const TABLE = CheckedFields.ofTable(profiles());

/** Oldest first. */
export const WINDOWS_PROFILES: readonly WindowsProfile[] = Object.freeze(
  TABLE.items("windows").map(readProfile),
);

/** Builds of before HCN, whose HNS has the calls of v1 alone. Oldest first. */
export const EARLY_PROFILES: readonly WindowsProfile[] = Object.freeze(TABLE.items("early").map(readProfile));

/** A node's Windows: a profile and, when it is known, the update revision. */
export interface WindowsBuild {
  readonly profile: WindowsProfile;
  /** The number behind the build in `10.0.20348.2582`. Undefined: all updates. */
  readonly revision: number | undefined;
  /** Set when the text named a build that has no profile: the next lower one took its place, and this says so. */
  readonly note: string | undefined;
  /** With a note: the number of the build that was named. */
  readonly named?: number;
  /**
   * A version of HNS that the profile does not have, to try what programs do on one. Inferred: everything but the features
   * of that version is as the profile has it.
   */
  readonly hns?: ServiceVersion | undefined;
}

export const PROFILE_NAMES: readonly ProfileName[] = Object.freeze(WINDOWS_PROFILES.map(({ name }) => name));

/** The profiles that a node of a cluster file can have. */
export const NODE_PROFILE_NAMES: readonly ProfileName[] = Object.freeze([
  ...EARLY_PROFILES.map(({ name }) => name),
  ...PROFILE_NAMES,
]);

/** The profile of that name. */
export function getProfile(name: ProfileName): WindowsProfile {
  const found = [...EARLY_PROFILES, ...WINDOWS_PROFILES].find((candidate) => candidate.name === name);
  if (found === undefined) throw new RangeError(`no profile ${name}`);
  return found;
}

function profileOfBuild(build: number): WindowsBuild | undefined {
  const candidates = WINDOWS_PROFILES.filter((candidate) => candidate.build <= build);
  const nearest = candidates.at(-1);
  if (nearest === undefined) return undefined;
  if (nearest.build === build) return { profile: nearest, revision: undefined, note: undefined };
  const note = WORDS.buildWithoutProfile({ build, lowerName: nearest.name, lowerBuild: nearest.build });
  return { profile: nearest, revision: undefined, note, named: build };
}

/**
 * Parses a profile: a name (`ws2022`), a name with a revision (`ws2022.2582`), a build with or without one (`20348`,
 * `20348.2582`), or a Node's kernel version (`10.0.20348.2582`). Letter case does not matter. A build without a
 * profile of its own takes the next lower one and says so.
 * @returns undefined when the text is none of these or older than every profile.
 */
export function parseProfile(text: string): WindowsBuild | undefined {
  const wanted = text.trim().toLowerCase();
  const named = WINDOWS_PROFILES.find(({ name }) => wanted === name || wanted.startsWith(`${name}.`));
  const numbers = named === undefined ? wanted : `${named.build}${wanted.slice(named.name.length)}`;
  const match = /^(?:10\.0\.)?(\d{5})(?:\.(\d{1,6}))?$/.exec(numbers);
  const found = match === null ? undefined : profileOfBuild(Number(match[1]));
  if (match === null || found === undefined) return undefined;
  return match[2] === undefined ? found : { ...found, revision: Number(match[2]) };
}

/** The same for a node of a cluster file, which can be one of the early builds. */
export function parseNodeBuild(text: string): WindowsBuild | undefined {
  const wanted = text.trim().toLowerCase();
  const early = EARLY_PROFILES.find(({ name, build }) =>
    [name, `${build}`, `10.0.${build}`].includes(wanted),
  );
  return early === undefined ? parseProfile(text) : { profile: early, revision: undefined, note: undefined };
}

/** True for a build whose HNS has the calls of v1 alone. */
export function isEarly({ profile: { build } }: WindowsBuild): boolean {
  return EARLY_PROFILES.some((each) => each.build === build);
}

/** The version of HNS on `build`: its own, else that of the newest update at or below its revision which names one. */
export function hnsVersionOf(build: WindowsBuild): ServiceVersion {
  const { profile: row, revision } = build;
  if (build.hns !== undefined) return build.hns;
  const applied = row.updates.filter((update) => revision === undefined || update.revision <= revision);
  const newest = applied.findLast((update) => update.hns !== undefined)?.hns;
  return newest ?? row.hnsAtRelease ?? row.hns;
}

/** True when `build` contains the update `kb`: its revision is reached, or no revision is known. */
export function hasUpdate(build: WindowsBuild, kb: string): boolean {
  const update = build.profile.updates.find((each) => each.kb === kb);
  return update !== undefined && (build.revision === undefined || build.revision >= update.revision);
}

/** The revision that `kb` brings its build to. @throws RangeError for an update that no profile names. */
export function updateRevision(kb: string): number {
  for (const { updates } of WINDOWS_PROFILES) {
    const found = updates.find((update) => update.kb === kb);
    if (found !== undefined) return found.revision;
  }
  throw new RangeError(`no profile names ${kb}`);
}

/** True where ports of overlay networks process neighbour discovery: seen on WS2025, not on WS2022 (dataplane.md §2.10). */
export function processesNeighborDiscovery(build: WindowsBuild): boolean {
  return build.profile.build >= getProfile("ws2025").build;
}

/** Long-term releases since which a host runs containers of the one before it, too. Oldest first. */
const STABLE_RELEASES: readonly number[] = [20_348, 26_100];

/**
 * True when a host of `build` runs a container that is made for `image`, with process isolation: up to Server 2019 the
 * builds are equal; from Server 2022 on a host takes every build from the last long-term release before it to its own
 * (Microsoft: "Windows container version compatibility"; microsoft/hcsshim, `osversion`).
 * @returns undefined when the host's own build is not known exactly.
 */
export function runsContainersOf(build: WindowsBuild, image: number): boolean | undefined {
  if (build.note !== undefined) return undefined;
  const host = build.profile.build;
  const [first = 0] = STABLE_RELEASES;
  if (host < first) return host === image;
  const oldest = STABLE_RELEASES.findLast((release) => release < host) ?? first;
  return oldest <= image && image <= host;
}
