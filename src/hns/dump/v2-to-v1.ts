/**
 * What a v2 document says, in the words of v1 (hcn.md §2.12, field map): the reverse of `v1-to-v2.ts`. Nothing is worked
 * out. What v1 has no words for stays under its v2 name, so that nothing of a dump is lost on the way.
 */
import type { HcnObjectKind } from "#contracts/hcn/client.ts";
import type { PolicyOwner } from "#contracts/hcn/description/description.ts";
import { ENDPOINT } from "#contracts/hcn/documents/endpoint.ts";
import { NETWORK } from "#contracts/hcn/documents/network.ts";
import {
  ENDPOINT_FORM,
  LOAD_BALANCER_FORM,
  NAMESPACE_FORM,
  NETWORK_FORM,
} from "#contracts/hcn/documents/v1-documents.ts";
import { NAMESPACE } from "#contracts/hcn/documents/namespace.ts";
import {
  type PrintedParts,
  extraFieldsIn,
  fieldPoliciesOf,
  fieldsOfPolicies,
  flagsOfValues,
} from "#contracts/hcn/v1-form/v1-form.ts";
import { type JsonObject, type JsonValue, isJsonObject, mappingOf } from "#core/base/json.ts";
import { policyToV1 } from "../v1/policy-mapping.ts";
import { documentFromV1, listAt, policyInV2 } from "./v1-to-v2.ts";

type Fields = Record<string, JsonValue | undefined>;

/** A flat policy; settings that v1 has no name for keep theirs. */
function policyOf(owner: PolicyOwner, value: JsonValue): JsonValue {
  if (!isJsonObject(value) || typeof value["Type"] !== "string" || !isJsonObject(value["Settings"]))
    return value;
  const { Type, Settings, ...beside } = value;
  const flat = policyToV1(owner, { Type, Settings });
  const back = mappingOf(mappingOf(policyInV2(owner, flat))["Settings"]);
  const rest = Object.entries(Settings).filter(([name, setting]) => {
    const taken = back[name] !== undefined || flat[name] !== undefined;
    return setting !== undefined && !taken;
  });
  return { ...flat, ...Object.fromEntries(rest), ...beside };
}

const PARTS: PrintedParts = {
  policy: policyOf,
  entry: (form, entry, printed) => withUnsaid(printed, entry, form.fromDump(printed, {}, policyInV2)),
};

function policiesIn(
  document: JsonObject,
): readonly { readonly Type: string; readonly Settings: JsonObject }[] {
  return (listAt(document["Policies"]) ?? []).flatMap((policy) => {
    const { Type, Settings } = mappingOf(policy);
    return typeof Type === "string" ? [{ Type, Settings: mappingOf(Settings) }] : [];
  });
}

function networkToV1(document: JsonObject): Fields {
  const rows = fieldPoliciesOf(NETWORK);
  const fields = fieldsOfPolicies(NETWORK, policiesIn(document));
  for (const { field, onlyOf } of rows)
    if (onlyOf !== undefined && document["Type"] !== onlyOf) delete fields[field];
  const isField = (policy: JsonValue): boolean =>
    rows.some(({ type, isShownTwice }) => isShownTwice !== true && mappingOf(policy)["Type"] === type);
  const { LayeredOn, SwitchGuid } = mappingOf(mappingOf(document["Health"])["Extra"]);
  const policies = listAt(document["Policies"]);
  const shown = { ...document, ...(policies && { Policies: policies.filter((policy) => !isField(policy)) }) };
  return { ...NETWORK_FORM.print(shown as object, PARTS), ...fields, LayeredOn, SwitchGuid };
}

function endpointToV1(document: JsonObject): Fields {
  const extra = mappingOf(mappingOf(document["Health"])["Extra"]);
  const fields = fieldsOfPolicies(ENDPOINT, policiesIn(document));
  const { VirtualMachine } = extra;
  return {
    ...ENDPOINT_FORM.print(document, PARTS),
    ...fields,
    ...extraFieldsIn(ENDPOINT, extra),
    VirtualMachine,
  };
}

function namespaceToV1(document: JsonObject): Fields {
  return { ...NAMESPACE_FORM.print(document, PARTS), ...flagsOfValues(NAMESPACE, document) };
}

function loadBalancerToV1(document: JsonObject): Fields {
  return LOAD_BALANCER_FORM.print(document, PARTS);
}

/** Without fields that are not there. */
function said(fields: Fields): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Everything of `value` stands in `other`; ids are written in either letter case. */
function standsIn(value: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === "" || value === 0 || value === false) return true;
  if (typeof value === "string" && typeof other === "string")
    return value.toLowerCase() === other.toLowerCase();
  if (typeof value !== "object") return value === other;
  if (Array.isArray(value)) {
    const items = listAt(other) ?? [];
    return (value as readonly JsonValue[]).every((item, index) => standsIn(item, items[index]));
  }
  return Object.entries(value).every(([field, item]) => standsIn(item, mappingOf(other)[field]));
}

/**
 * A document in another form, with what of it that form has no words for: such a field keeps its name.
 * @param back the other form in the words of the first.
 */
export function withUnsaid(other: JsonObject, document: JsonObject, back: JsonObject): JsonObject {
  const kept = Object.entries(document).filter(([field, value]) =>
    other[field] === undefined
      ? !standsIn(value, back[field])
      : // A view of the one form in the other has lists and objects of both; numbers mean different things.
        typeof value === "object" && back[field] === undefined,
  );
  return { ...other, ...Object.fromEntries(kept) };
}

const FORMS: Partial<Record<HcnObjectKind, (document: JsonObject) => Fields>> = {
  Network: networkToV1,
  Endpoint: endpointToV1,
  Namespace: namespaceToV1,
  LoadBalancer: loadBalancerToV1,
};

/** The v1 form of a v2 document, with what the document says and nothing else. v1 has no routes and no guests. */
export function documentToV1(kind: HcnObjectKind, document: JsonObject): JsonObject {
  const form = FORMS[kind];
  if (form === undefined) return document;
  const { SchemaVersion: _dialect, ...fields } = document;
  const health = mappingOf(document["Health"]);
  const v1 = said({
    Owner: fields["Owner"],
    ...form(document),
    Health: health["Data"] ?? undefined,
    Resources: mappingOf(health["Extra"])["Resources"],
  });
  const back = documentFromV1(kind, v1, () => undefined);
  const both = withUnsaid(v1, fields, back);
  return Object.fromEntries(Object.entries(both).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
