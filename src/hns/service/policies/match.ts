/** When a policy of a request is one that an object has: what `Remove` goes by (hcn.md §5.3). */
import type { EndpointPolicy, PortMappingPolicySetting } from "#contracts/hcn/documents/endpoint-policy.ts";
import type { JsonObject } from "#core/base/json.ts";
import { equalJson } from "#contracts/hcn/description/json.ts";
import type { NetworkPolicy } from "#contracts/hcn/documents/network-policy.ts";

/** Fields that say nothing: a client that writes them out means the same as one that leaves them out. */
function withoutDefaults(settings: object): JsonObject {
  const isDefault = (value: unknown): boolean =>
    value === false || value === 0 || value === "" || (Array.isArray(value) && value.length === 0);
  const fields = Object.entries(settings as JsonObject).filter(([, value]) => !isDefault(value));
  return Object.fromEntries(fields);
}

/** All of what the request says; a port or an address that the service chose is not in it. */
function isMapping(wanted: PortMappingPolicySetting, present: PortMappingPolicySetting): boolean {
  const chosen = {
    ...((wanted.ExternalPort ?? 0) === 0 && { ExternalPort: 0 }),
    ...((wanted.VIP ?? "") === "" && { VIP: "" }),
  };
  return equalJson(withoutDefaults(wanted), withoutDefaults({ ...present, ...chosen }));
}

/**
 * True when `present` is what `wanted` names: equal settings, or the fields that clients match on. An ACL is known by
 * its Id, a set by its Id, and a route to a subnet by prefix and provider (hcn.md §3.5, §5.3).
 */
export function isSamePolicy<P extends EndpointPolicy | NetworkPolicy>(wanted: P, present: P): boolean {
  const [a, b]: readonly (EndpointPolicy | NetworkPolicy)[] = [wanted, present];
  if (a === undefined || b === undefined || a.Type !== b.Type) return false;
  if (a.Type === "SetPolicy" && b.Type === "SetPolicy") return a.Settings.Id === b.Settings.Id;
  if (a.Type === "PortMapping" && b.Type === "PortMapping") return isMapping(a.Settings, b.Settings);
  if (a.Type === "RemoteSubnetRoute" && b.Type === "RemoteSubnetRoute") {
    return (
      a.Settings.DestinationPrefix === b.Settings.DestinationPrefix &&
      a.Settings.ProviderAddress === b.Settings.ProviderAddress
    );
  }
  if ((a.Type === "ACL" && b.Type === "ACL") || (a.Type === "NetworkACL" && b.Type === "NetworkACL"))
    if ((a.Settings.Id ?? "") !== "") return a.Settings.Id === b.Settings.Id;
  return equalJson(withoutDefaults(a.Settings), withoutDefaults(b.Settings));
}
