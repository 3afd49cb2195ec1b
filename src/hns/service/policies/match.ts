/** Which policies of an object a policy of a request names: what `Remove` goes by (hcn.md §5.3). */
import type { EndpointPolicy } from "#contracts/hcn/documents/endpoint-policy.ts";
import { type Fields, canonicalJson } from "#core/base/json.ts";
import type { NetworkPolicy } from "#contracts/hcn/documents/network-policy.ts";

type Policy = EndpointPolicy | NetworkPolicy;

/** By which fields a policy is looked for among those of its type: by these alone, or by all but these. */
interface Lens {
  readonly by: "these" | "all-but";
  readonly fields: readonly string[];
}

const BY_ID: Lens = { by: "these", fields: ["Id"] };
const BY_ROUTE: Lens = { by: "these", fields: ["DestinationPrefix", "ProviderAddress"] };

/** A field that says nothing: a client that writes it out means the same as one that leaves it out. */
function isDefault(value: unknown): boolean {
  return value === false || value === 0 || value === "" || (Array.isArray(value) && value.length === 0);
}

/**
 * Equal settings, or the fields that clients match on. An ACL is known by its Id, a set by its Id, and a route to a subnet
 * by prefix and provider (hcn.md §3.5, §5.3). A port or an address that the service chose is not in a mapping of a request.
 */
function lensOf({ Type, Settings }: Policy): Lens {
  const settings = Settings as Fields;
  if (Type === "SetPolicy") return BY_ID;
  if (Type === "RemoteSubnetRoute") return BY_ROUTE;
  if ((Type === "ACL" || Type === "NetworkACL") && !isDefault(settings["Id"] ?? "")) return BY_ID;
  const chosen = Type === "PortMapping" ? ["ExternalPort", "VIP"] : [];
  return { by: "all-but", fields: chosen.filter((field) => isDefault(settings[field] ?? "")) };
}

function keyOf({ Settings }: Policy, { by, fields }: Lens): string {
  const seen = Object.entries(Settings as Fields).filter(
    ([field, value]) => !isDefault(value) && fields.includes(field) === (by === "these"),
  );
  return canonicalJson(Object.fromEntries(seen));
}

/** The policies of an object by what requests name them by: a request with thousands of policies looks each one up. */
export class PolicyMatches<P extends Policy> {
  private readonly present: readonly P[];
  private readonly byLens = new Map<string, ReadonlyMap<string, readonly P[]>>();

  constructor(present: readonly P[]) {
    this.present = present;
  }

  /** Those that `wanted` names, in their order. */
  of(wanted: P): readonly P[] {
    const lens = lensOf(wanted);
    const name = [wanted.Type, lens.by, ...lens.fields].join(" ");
    let byKey = this.byLens.get(name);
    if (byKey === undefined) {
      const ofType = this.present.filter(({ Type }) => Type === wanted.Type);
      byKey = Map.groupBy(ofType, (policy) => keyOf(policy, lens));
      this.byLens.set(name, byKey);
    }
    return byKey.get(keyOf(wanted, lens)) ?? [];
  }
}
