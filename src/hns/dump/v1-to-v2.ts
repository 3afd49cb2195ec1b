/**
 * Objects in v1 form as v2 documents, without a check (hcn.md §2.12, field map). What v2 has no place for is source to the
 * v1 document, which a dump keeps beside this one.
 */
import type { HcnObjectKind } from "#contracts/hcn/client.ts";
import { type JsonObject, type JsonValue, isJsonObject, mappingOf } from "#core/base/json.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { ZERO_GUID, parseGuid } from "#contracts/hcn/guid.ts";
import { ENDPOINT } from "#contracts/hcn/documents/endpoint.ts";
import { NETWORK } from "#contracts/hcn/documents/network.ts";
import {
  ENDPOINT_FORM,
  LOAD_BALANCER_FORM,
  NAMESPACE_FORM,
  NETWORK_FORM,
} from "#contracts/hcn/documents/v1-documents.ts";
import type { HnsPolicy, ObjectDescription, PolicyOwner } from "#contracts/hcn/description/description.ts";
import { NAMESPACE } from "#contracts/hcn/documents/namespace.ts";
import {
  extraFieldsIn,
  fieldPoliciesOf,
  idsOfNames,
  policiesOfFields,
  valuesOfFlags,
} from "#contracts/hcn/v1-form/v1-form.ts";
import { fieldsWithoutV2, policyFromV1 } from "../v1/policy-mapping.ts";

type Fields = Record<string, JsonValue>;

/** A list; undefined where there is none. */
export function listAt(value: JsonValue | undefined): readonly JsonValue[] | undefined {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : undefined;
}

function textAt(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function guidAt(value: JsonValue | undefined): string | undefined {
  const text = textAt(value);
  const id = text === undefined ? undefined : parseGuid(text);
  return id === ZERO_GUID ? undefined : id;
}

/** Without what is undefined, an empty list or an empty object. */
function present(fields: Readonly<Record<string, JsonValue | undefined>>): Fields {
  const kept: Fields = {};
  for (const [field, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (typeof value === "object" && value !== null && Object.keys(value).length === 0) continue;
    kept[field] = value;
  }
  return kept;
}

const SCHEMA_VERSION: JsonObject = Object.freeze({ Major: 2, Minor: 0 });

/** What v2 has in other places: `Resources`, switch and containers are in `Health.Extra` there. */
function healthOf(source: JsonObject, extra: Readonly<Record<string, JsonValue | undefined>> = {}): Fields {
  const Extra = present({ Resources: mappingOf(source["Resources"]), ...extra });
  const Health = present({ Data: mappingOf(source["Health"]), Extra });
  return present({ Health, SchemaVersion: SCHEMA_VERSION });
}

/** A v1 policy in v2 form; what does not read stays as it is. */
export function policyInV2(owner: PolicyOwner, value: JsonValue): JsonValue {
  if (!isJsonObject(value) || typeof value["Type"] !== "string") return value;
  // Newer services show policies of v2 in v1 documents as they are.
  if (isJsonObject(value["Settings"])) return value;
  const policy: HnsPolicy = { ...value, Type: value["Type"] };
  try {
    const { Type, Settings = {} } = policyFromV1(owner, policy);
    return { Type, Settings: { ...Settings, ...fieldsWithoutV2(owner, policy) } };
  } catch (error) {
    if (!(error instanceof HcnError)) throw error;
    const { Type, ...Settings } = policy;
    return { Type, Settings };
  }
}

/** The policies of a document: those that are fields in v1, and its own. */
function policiesOf(
  owner: "endpoint" | "network",
  description: ObjectDescription,
  source: JsonObject,
): readonly JsonValue[] | undefined {
  const own = (listAt(source["Policies"]) ?? []).map((policy) => policyInV2(owner, policy));
  const given = new Set(own.map((policy) => mappingOf(policy)["Type"]));
  const type = textAt(source["Type"])?.toLowerCase();
  const rows = fieldPoliciesOf(description).filter(
    ({ onlyOf }) => onlyOf === undefined || onlyOf.toLowerCase() === type,
  );
  const added = policiesOfFields(description, source).filter(
    ({ Type }) => !given.has(Type) && rows.some((row) => row.type === Type),
  );
  const policies = owner === "network" ? [...added, ...own] : [...own, ...added];
  return policies.length === 0 ? undefined : policies;
}

function networkToV2(source: JsonObject): Fields {
  const switches = { LayeredOn: guidAt(source["LayeredOn"]), SwitchGuid: guidAt(source["SwitchGuid"]) };
  const given = { ...healthOf(source, switches), Policies: policiesOf("network", NETWORK, source) };
  return NETWORK_FORM.fromDump(source, given, policyInV2);
}

function endpointToV2(source: JsonObject, networkId: (name: string) => string | undefined): Fields {
  const given = {
    ...healthOf(source, extraFieldsIn(ENDPOINT, source)),
    Policies: policiesOf("endpoint", ENDPOINT, source),
  };
  const endpoint = ENDPOINT_FORM.fromDump(source, given);
  if (endpoint["HostComputeNetwork"] !== undefined) return endpoint;
  return ENDPOINT_FORM.fromDump(source, { ...given, ...idsOfNames(ENDPOINT, source, networkId) });
}

/** v2 writes ids in lower case, v1 of old builds did not. */
function inLowerCase(resource: JsonValue): JsonValue {
  if (!isJsonObject(resource) || !isJsonObject(resource["Data"])) return resource;
  const { Id: given } = resource["Data"];
  const id = typeof given === "string" ? parseGuid(given) : undefined;
  return id === undefined ? resource : { ...resource, Data: { ...resource["Data"], Id: id } };
}

function resourcesOf(source: JsonObject): readonly JsonValue[] | undefined {
  const resources = (listAt(source["ResourceList"]) ?? []).map(inLowerCase);
  const known = new Set(
    resources.map((each) => (isJsonObject(each) && isJsonObject(each["Data"]) ? each["Data"]["Id"] : "")),
  );
  // `Containers` may name one several times (hcn.md §2.4).
  for (const id of new Set(listAt(source["Containers"]) ?? []))
    if (!known.has(id)) resources.push({ Type: "Container", Data: { Id: id } });
  return resources.length === 0 ? undefined : resources;
}

function namespaceToV2(source: JsonObject): Fields {
  return NAMESPACE_FORM.fromDump(source, {
    ...healthOf(source),
    Type: textAt(source["Type"]) ?? "Host",
    ...valuesOfFlags(NAMESPACE, (field) => source[field] === true),
    Resources: resourcesOf(source),
  });
}

/**
 * The v2 document of an object in v1 form. Never refuses: what does not read stays as it is.
 * @param networkId the id of a network of the same dump, by its name: hnsdiag's tables name no ids.
 */
export function documentFromV1(
  kind: HcnObjectKind,
  document: JsonObject,
  networkId: (name: string) => string | undefined,
): JsonObject {
  switch (kind) {
    case "Network":
      return networkToV2(document);
    case "Endpoint":
      return endpointToV2(document, networkId);
    case "Namespace":
      return namespaceToV2(document);
    case "LoadBalancer":
      return LOAD_BALANCER_FORM.fromDump(document, healthOf(document));
    case "SdnRoute":
    case "GuestNetworkService":
      // v1 has neither.
      return document;
  }
}
