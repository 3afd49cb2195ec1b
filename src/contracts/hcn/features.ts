/**
 * Which features an HNS version has, as hcsshim and hnslib decide: from the number that `/globals/version` answers,
 * never by trying (hcn.md §7.1).
 */
import type { ServiceVersion } from "#core/catalogue/profiles.ts";

export type HnsVersion = ServiceVersion;

export type HnsFeature =
  | "AclAddressLists"
  | "AclHostRulePriority"
  | "AclPortRanges"
  | "AclRuleId"
  | "ApiV2"
  | "RemoteSubnet"
  | "HostRoute"
  | "DSR"
  | "Slash32EndpointPrefixes"
  | "AclSupportForProtocol252"
  | "IPv6DualStack"
  | "SessionAffinity"
  | "SetPolicy"
  | "VxlanPort"
  | "L4Proxy"
  | "L4WfpProxy"
  | "TierAcl"
  | "NetworkACL"
  | "NestedIpSet"
  | "DisableHostPort"
  | "ModifyLoadbalancer"
  | "Accelnet";

/** A range of versions, both ends included. */
interface VersionRange {
  readonly from: readonly [major: number, minor: number];
  readonly to: readonly [major: number, minor: number];
}

const TO_THE_END = Number.POSITIVE_INFINITY;

/** From a version for ever. */
function since(major: number, minor: number): VersionRange {
  return { from: [major, minor], to: [TO_THE_END, TO_THE_END] };
}

/** From a version to the end of its major: a feature that was brought to an older branch. */
function within(major: number, minor: number): VersionRange {
  return { from: [major, minor], to: [major, TO_THE_END] };
}

const FEATURES: Readonly<Record<HnsFeature, readonly VersionRange[]>> = {
  AclAddressLists: [since(7, 2)],
  AclHostRulePriority: [since(7, 2)],
  AclPortRanges: [since(7, 2)],
  AclRuleId: [since(7, 2)],
  ApiV2: [since(9, 2)],
  RemoteSubnet: [since(9, 2)],
  HostRoute: [since(9, 2)],
  DSR: [within(9, 3), since(10, 2)],
  Slash32EndpointPrefixes: [within(9, 3), since(10, 4)],
  AclSupportForProtocol252: [since(11, 0)],
  IPv6DualStack: [since(11, 10)],
  SessionAffinity: [since(12, 0)],
  SetPolicy: [since(13, 0)],
  VxlanPort: [since(10, 3)],
  L4Proxy: [within(9, 5), within(10, 5), within(11, 11), within(12, 1), since(13, 1)],
  L4WfpProxy: [since(13, 2)],
  TierAcl: [since(14, 0)],
  NetworkACL: [since(15, 0)],
  NestedIpSet: [since(15, 0)],
  DisableHostPort: [since(15, 1)],
  // hnslib's range: a released 15.4 took the call and did nothing.
  ModifyLoadbalancer: [within(15, 5), since(16, 0)],
  Accelnet: [since(15, 4)],
};

function compareVersions(a: readonly [number, number], b: readonly [number, number]): number {
  return a[0] === b[0] ? a[1] - b[1] : a[0] - b[0];
}

/** True when `version` has `feature`. */
export function hasFeature(version: HnsVersion, feature: HnsFeature): boolean {
  const current = [version.Major, version.Minor] as const;
  return FEATURES[feature].some(
    (range) => compareVersions(current, range.from) >= 0 && compareVersions(current, range.to) <= 0,
  );
}

/** All features of `version`. */
export function featuresOf(version: HnsVersion): readonly HnsFeature[] {
  return (Object.keys(FEATURES) as HnsFeature[]).filter((feature) => hasFeature(version, feature));
}
