/** The list `HostComputeEndpoints` of load balancers and SDN routes (hcn.md §4.7). */
import type { Guid } from "../hcn/client.ts";
import { HcnError } from "../hcn/error.ts";
import { parseGuid } from "../hcn/guid.ts";
import type { EndpointRecord } from "./endpoint-record.ts";
import type { ServiceContext } from "./service-context.ts";

/** @throws HcnError HCN_E_GUID_CONVERSION_FAILURE, HCN_E_ENDPOINT_NOT_FOUND. */
function requireReferenced(context: ServiceContext, text: string, where: string): EndpointRecord {
  const id = parseGuid(text);
  if (id === undefined) {
    throw new HcnError("HCN_E_GUID_CONVERSION_FAILURE", {
      detail: `${where} is ${JSON.stringify(text)}; it has to be the GUID of an endpoint`,
    });
  }
  const endpoint = context.state.endpoints.get(id);
  if (endpoint !== undefined) return endpoint;
  throw new HcnError("HCN_E_ENDPOINT_NOT_FOUND", { detail: `${where}: there is no endpoint ${id}` });
}

/**
 * The endpoints that a document names: at least one, all known, all of one network. `what` names the object that the
 * document describes.
 *
 * Inferred (hcn.md §11.9): one unknown endpoint among others refuses the whole request.
 * @throws HcnError HCN_E_INVALID_JSON_REFERENCE, HCN_E_GUID_CONVERSION_FAILURE, HCN_E_ENDPOINT_NOT_FOUND.
 */
export function readBackEndList(
  context: ServiceContext,
  texts: readonly string[],
  what: string,
): readonly [EndpointRecord, ...EndpointRecord[]] {
  const [first, ...others] = texts.map((text, index) =>
    requireReferenced(context, text, `HostComputeEndpoints[${index}]`),
  );
  if (first === undefined) {
    throw new HcnError("HCN_E_INVALID_JSON_REFERENCE", {
      appendix: "A Reference is required",
      detail: "HostComputeEndpoints is empty; name at least one endpoint",
    });
  }
  const stranger = others.find((endpoint) => endpoint.networkId !== first.networkId);
  if (stranger === undefined) return [first, ...others];
  // Inferred: the network is found through the references (hcn.md §8.5), so they have to agree.
  throw new HcnError("HCN_E_INVALID_JSON_REFERENCE", {
    detail: `Endpoint ${stranger.id} is of network ${stranger.networkId}, the first one of network ${first.networkId}; ${what} belongs to one network`,
  });
}

/**
 * Inferred: the code. An object stays in its network, because it is programmed into the ports of one.
 * @throws HcnError HCN_E_INVALID_JSON_REFERENCE.
 */
export function checkSameNetwork(before: Guid, after: Guid, what: string): void {
  if (before === after) return;
  throw new HcnError("HCN_E_INVALID_JSON_REFERENCE", {
    detail: `The endpoints are of network ${after}; ${what} belongs to ${before}`,
  });
}
