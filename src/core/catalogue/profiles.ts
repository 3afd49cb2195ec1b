/**
 * Windows profiles: what differs by build and update revision (hcn.md §1.6, §7.2; design: a build plus its revision).
 * Behaviour that a profile lacks or has wrong is looked up by the numbers here, never by the profile's name.
 */
import { core } from "#data/words.js";

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

export type ProfileName =
  | "ws2016"
  | "1709"
  | "ws2019"
  | "1903"
  | "2004"
  | "ws2022"
  | "win11-21h2"
  | "23h2"
  | "ws2025";

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

function profile(row: WindowsProfile): WindowsProfile {
  return Object.freeze(row);
}

/** Oldest first. */
export const WINDOWS_PROFILES: readonly WindowsProfile[] = Object.freeze([
  profile({
    name: "ws2019",
    title: "Windows Server 2019",
    build: 17_763,
    hns: { Major: 9, Minor: 5 },
    // 9.1 as released, seen on two nodes (hcn.md §7.2).
    hnsAtRelease: { Major: 9, Minor: 1 },
    schemaMinor: 0,
    // Revisions: Microsoft's release history of build 17763.
    updates: [
      { kb: "KB4482887", revision: 348 },
      { kb: "KB4489899", revision: 379, hns: { Major: 9, Minor: 2 } },
      { kb: "KB4551853", revision: 1_217 },
      { kb: "KB4565349", revision: 1_397 },
      // DSR needs 9.3 and came with this update (kube-proxy.md §1.3, dataplane.md §3.3).
      { kb: "KB4571748", revision: 1_432, hns: { Major: 9, Minor: 5 } },
      { kb: "KB4577668", revision: 1_518 },
      { kb: "KB5016623", revision: 3_287 },
    ],
    // Inferred: HNS 9.5. Updated 17763 nodes run 9.2 or later; DSR, which the documentation promises there, needs
    // 9.3, and the highest feature that was brought back to the 9 branch needs 9.5. HNS 9.2 with KB4489899, which
    // brought the policies HostRoute and RemoteSubnetRoute that need it.
  }),
  profile({
    name: "1903",
    title: "Windows Server, version 1903",
    build: 18_362,
    hns: { Major: 10, Minor: 3 },
    schemaMinor: 0,
    updates: [],
    // Inferred: schema 2.0. The schema page names no minor for this build, and the build before it has 2.0.
  }),
  profile({
    name: "2004",
    title: "Windows Server, version 2004",
    build: 19_041,
    hns: { Major: 11, Minor: 10 },
    schemaMinor: 6,
    updates: [],
  }),
  profile({
    name: "ws2022",
    title: "Windows Server 2022",
    build: 20_348,
    hns: { Major: 13, Minor: 3 },
    schemaMinor: 11,
    // Revisions: Microsoft's release history of build 20348.
    updates: [
      { kb: "KB5005619", revision: 261 },
      { kb: "KB5016627", revision: 887 },
      { kb: "KB5040437", revision: 2_582 },
      { kb: "KB5044281", revision: 2_762 },
    ],
  }),
  profile({
    name: "win11-21h2",
    title: "Windows 11, version 21H2",
    build: 22_000,
    hns: { Major: 14, Minor: 0 },
    schemaMinor: 14,
    updates: [],
    // Inferred: HNS 14, from the order of the schema minors; nobody has published the number.
  }),
  profile({
    name: "23h2",
    title: "Windows Server, version 23H2",
    build: 25_398,
    hns: { Major: 15, Minor: 0 },
    schemaMinor: 14,
    updates: [],
    // Inferred: HNS 15.0. Nobody has published the number, and by its build it lies between the 15.0 of 2024 and
    // the 15.4 of Server 2025; schema 2.14 is that of the build before it.
  }),
  profile({
    name: "ws2025",
    title: "Windows Server 2025",
    build: 26_100,
    hns: { Major: 15, Minor: 4 },
    schemaMinor: 16,
    updates: [],
    // Inferred: schema 2.16, the highest minor that clients were seen to send.
  }),
]);

/**
 * Builds of before HCN, whose HNS has the calls of v1 alone: nodes that Docker's engine makes the networks of, and no others.
 * Oldest first. Inferred: their versions of HNS, below that of 1803, the oldest of which hcsshim knows one (7.2); `schemaMinor`
 * stands for no schema of theirs.
 */
export const EARLY_PROFILES: readonly WindowsProfile[] = Object.freeze([
  profile({
    name: "ws2016",
    title: "Windows Server 2016",
    build: 14_393,
    hns: { Major: 5, Minor: 0 },
    schemaMinor: 0,
    updates: [],
  }),
  profile({
    name: "1709",
    title: "Windows Server, version 1709",
    build: 16_299,
    hns: { Major: 6, Minor: 0 },
    schemaMinor: 0,
    updates: [],
  }),
]);

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
