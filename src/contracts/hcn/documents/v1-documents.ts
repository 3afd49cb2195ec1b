/** HNS v1: documents as requests send them and results hold them (hcn.md §2.12, §3.6). */
import type { ObjectOf, V1Of } from "../description/description.ts";
import type { JsonValue } from "#core/base/json.ts";
import { ATTACH_REQUEST, ENDPOINT } from "./endpoint.ts";
import { LOAD_BALANCER } from "./load-balancer.ts";
import { NAMESPACE } from "./namespace.ts";
import { NETWORK, type SUBNET } from "./network.ts";
import { JsonReader } from "../description/json.ts";
import { type ObjectReader, readerOf } from "../description/object-json.ts";
import { type V1FormOf, v1FormOf } from "../v1-form/v1-form.ts";

export type HnsNetwork = V1Of<typeof NETWORK>;
export type HnsSubnet = V1Of<typeof SUBNET>;
export type HnsEndpoint = V1Of<typeof ENDPOINT>;
/** The body of attach and detach. */
export type EndpointAttachDetachRequest = ObjectOf<typeof ATTACH_REQUEST>;

const INVALID_JSON = "HCN_E_INVALID_JSON";

/** The two forms of each document. */
export const NETWORK_FORM: V1FormOf<typeof NETWORK> = v1FormOf(NETWORK);
export const NAMESPACE_FORM: V1FormOf<typeof NAMESPACE> = v1FormOf(NAMESPACE);
export const LOAD_BALANCER_FORM: V1FormOf<typeof LOAD_BALANCER> = v1FormOf(LOAD_BALANCER);
export const ENDPOINT_FORM: V1FormOf<typeof ENDPOINT> = v1FormOf(ENDPOINT);

/** Checks the shape of a v1 network. @throws HcnError HCN_E_INVALID_JSON. */
export function parseHnsNetwork(document: JsonValue): HnsNetwork {
  return NETWORK_FORM.read(JsonReader.of(document, "network", INVALID_JSON));
}

/** Checks the shape of a v1 endpoint. @throws HcnError HCN_E_INVALID_JSON. */
export function parseHnsEndpoint(document: JsonValue): HnsEndpoint {
  return ENDPOINT_FORM.read(JsonReader.of(document, "endpoint", INVALID_JSON));
}

const ATTACH_READER: ObjectReader<EndpointAttachDetachRequest> = readerOf(ATTACH_REQUEST);

/** Checks the body of attach and detach. @throws HcnError HCN_E_INVALID_JSON. */
export function parseAttachRequest(document: JsonValue): EndpointAttachDetachRequest {
  return ATTACH_READER.read(JsonReader.of(document, "request", INVALID_JSON));
}
