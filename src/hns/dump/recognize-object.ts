/**
 * Which kind of object a document is, and in which dialect. Dumps do not say: hnsdiag prints objects one after the
 * other, and files of collectlogs.ps1 are told apart by their names alone. The fields tell (hcn.md §2).
 */
import type { HcnObjectKind } from "#contracts/hcn/client.ts";
import type { JsonObject } from "#core/base/json.ts";
import { NETWORK_TYPES } from "#contracts/hcn/documents/network.ts";
import type { Dialect } from "#contracts/hcn/description/object-json.ts";

export interface ObjectShape {
  readonly kind: HcnObjectKind;
  readonly dialect: Dialect;
}

interface ShapeRow extends ObjectShape {
  /** Fields that no other kind has in either dialect. */
  readonly own: readonly string[];
  /** Fields that go with it and may be elsewhere, too. */
  readonly also: readonly string[];
}

const ROWS: readonly ShapeRow[] = [
  {
    kind: "Network",
    dialect: "v1",
    own: [
      "Subnets",
      "MacPools",
      "NetworkAdapterName",
      "ManagementIP",
      "NatName",
      "DrMacAddress",
      "Extensions",
      "CurrentEndpointCount",
      "TotalEndpoints",
      "MaxConcurrentEndpoints",
      "LayeredOn",
      "SwitchGuid",
      "DNSServerCompartment",
      "IsolateSwitch",
    ],
    also: ["Type", "IPv6", "Policies", "Resources"],
  },
  { kind: "Network", dialect: "v2", own: ["Ipams", "MacPool"], also: ["Type", "Dns", "Policies"] },
  {
    kind: "Endpoint",
    dialect: "v1",
    own: [
      "VirtualNetwork",
      "VirtualNetworkName",
      "IPAddress",
      "IPv6Address",
      "SharedContainers",
      "IsRemoteEndpoint",
      "GatewayAddress",
      "PrefixLength",
    ],
    also: ["MacAddress", "Namespace", "Policies", "Resources"],
  },
  {
    kind: "Endpoint",
    dialect: "v2",
    own: ["IpConfigurations", "HostComputeNamespace"],
    also: ["HostComputeNetwork", "MacAddress", "Routes", "Dns", "Policies"],
  },
  {
    kind: "Namespace",
    dialect: "v1",
    own: ["CompartmentId", "CompartmentGuid", "ResourceList", "Containers", "IsDefault"],
    also: ["Policies"],
  },
  {
    kind: "Namespace",
    dialect: "v2",
    own: ["NamespaceId", "NamespaceGuid", "CreateWithCompartment"],
    also: ["Resources"],
  },
  { kind: "LoadBalancer", dialect: "v1", own: ["References", "IsApplied"], also: ["Policies"] },
  {
    kind: "LoadBalancer",
    dialect: "v2",
    own: ["FrontendVIPs", "PortMappings", "SourceVIP"],
    also: ["HostComputeEndpoints", "HostComputeNetwork"],
  },
  {
    kind: "SdnRoute",
    dialect: "v2",
    own: ["Setting"],
    also: ["HostComputeEndpoints", "HostComputeNetwork", "Routes"],
  },
  {
    kind: "GuestNetworkService",
    dialect: "v2",
    own: ["VirtualMachineId", "MirroredInterfaces", "MirrorHostNetworking", "GnsRpcServerInformation"],
    also: [],
  },
];

const OWN_WEIGHT = 4;
const SCHEMA_WEIGHT = 2;
const NAMESPACE_TYPES: readonly string[] = ["host", "hostdefault", "guest", "guestdefault"];

function isV2(document: JsonObject): boolean {
  const version = document["SchemaVersion"];
  return typeof version === "object" && version !== null && "Major" in version && version["Major"] === 2;
}

/** What the value of `Type` tells: networks and namespaces have one each. */
function kindOfType(type: unknown): HcnObjectKind | undefined {
  if (typeof type !== "string") return undefined;
  const wanted = type.toLowerCase();
  if (NAMESPACE_TYPES.includes(wanted)) return "Namespace";
  return NETWORK_TYPES.some((name) => name.toLowerCase() === wanted) ? "Network" : undefined;
}

function scoreOf(row: ShapeRow, document: JsonObject): number {
  // A view of a v1 dump in v2 form keeps fields of v1 that v2 has no place for.
  if (row.dialect === "v1" && isV2(document)) return 0;
  const count = (fields: readonly string[]): number =>
    fields.filter((field) => Object.hasOwn(document, field)).length;
  const own = count(row.own);
  const also = count(row.also);
  const isOfType = kindOfType(document["Type"]) === row.kind;
  if (own === 0 && !isOfType && also < 2) return 0;
  const schema = row.dialect === "v1" || isV2(document) ? SCHEMA_WEIGHT : 0;
  return own * OWN_WEIGHT + also + (isOfType ? 1 : 0) + schema;
}

/** The kind that the fields fit best; undefined for what is no object of HNS. */
export function recognizeObject(document: JsonObject): ObjectShape | undefined {
  let best: ShapeRow | undefined;
  let bestScore = 0;
  for (const row of ROWS) {
    const score = scoreOf(row, document);
    if (score > bestScore) [best, bestScore] = [row, score];
  }
  return best && { kind: best.kind, dialect: best.dialect };
}

/** The dialect of an object whose kind is known from elsewhere. */
export function recognizeDialect(kind: HcnObjectKind, document: JsonObject): Dialect {
  if (isV2(document)) return "v2";
  const scores = ROWS.filter((row) => row.kind === kind).map((row) => [row, scoreOf(row, document)] as const);
  const [best] = scores.toSorted(([, a], [, b]) => b - a);
  return best?.[0].dialect ?? "v1";
}
