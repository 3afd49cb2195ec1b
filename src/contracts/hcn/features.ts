/**
 * Which features an HNS version has, as hcsshim and hnslib decide: from the number that `/globals/version` answers,
 * never by trying (hcn.md §7.1).
 */
import type { ServiceVersion } from "#core/catalogue/profiles.ts";

export type HnsVersion = ServiceVersion;

type VersionNumbers = readonly [major: number, minor: number];

/** From a version for ever; and on older branches from a version to the end of its major. */
interface FeatureVersions {
  readonly since: VersionNumbers;
  readonly within?: readonly VersionNumbers[];
}

const FEATURES = {
  AclAddressLists: { since: [7, 2] },
  AclHostRulePriority: { since: [7, 2] },
  AclPortRanges: { since: [7, 2] },
  AclRuleId: { since: [7, 2] },
  ApiV2: { since: [9, 2] },
  RemoteSubnet: { since: [9, 2] },
  HostRoute: { since: [9, 2] },
  DSR: { since: [10, 2], within: [[9, 3]] },
  Slash32EndpointPrefixes: { since: [10, 4], within: [[9, 3]] },
  AclSupportForProtocol252: { since: [11, 0] },
  IPv6DualStack: { since: [11, 10] },
  SessionAffinity: { since: [12, 0] },
  SetPolicy: { since: [13, 0] },
  VxlanPort: { since: [10, 3] },
  L4Proxy: {
    since: [13, 1],
    within: [
      [9, 5],
      [10, 5],
      [11, 11],
      [12, 1],
    ],
  },
  L4WfpProxy: { since: [13, 2] },
  TierAcl: { since: [14, 0] },
  NetworkACL: { since: [15, 0] },
  NestedIpSet: { since: [15, 0] },
  DisableHostPort: { since: [15, 1] },
  // hnslib's range: a released 15.4 took the call and did nothing.
  ModifyLoadbalancer: { since: [16, 0], within: [[15, 5]] },
  Accelnet: { since: [15, 4] },
} as const;

export type HnsFeature = keyof typeof FEATURES;

/** True when `version` has `feature`. */
export function hasFeature({ Major, Minor }: HnsVersion, feature: HnsFeature): boolean {
  const { since, within = [] }: FeatureVersions = FEATURES[feature];
  const [major, minor] = since;
  if (Major > major || (Major === major && Minor >= minor)) return true;
  return within.some(([branch, first]) => Major === branch && Minor >= first);
}

/** All features of `version`. */
export function featuresOf(version: HnsVersion): readonly HnsFeature[] {
  return (Object.keys(FEATURES) as HnsFeature[]).filter((feature) => hasFeature(version, feature));
}
