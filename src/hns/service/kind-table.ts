/**
 * The kinds of objects that the service keeps, each as one row: how a document becomes an object, how an object is
 * changed, deleted, shown and found. What `HcnCreateNetwork`, `HcnModifyEndpoint` … have in common is in
 * `service/hns-service.ts`; what they differ in is here.
 */
import type { HcnCreateOptions, HcnObjectKind } from "#contracts/hcn/client.ts";
import type { JsonObject } from "#core/base/json.ts";
import { type Guid, checkGuid } from "#contracts/hcn/guid.ts";
import { parseEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { parseGuestNetworkService } from "#contracts/hcn/documents/guest-network-service.ts";
import { parseLoadBalancer } from "#contracts/hcn/documents/load-balancer.ts";
import { parseNetwork } from "#contracts/hcn/documents/network.ts";
import type { CheckedQuery } from "#contracts/hcn/documents/request.ts";
import { createEndpoint, deleteEndpoint, modifyEndpoint } from "./endpoint/endpoints.ts";
import { requireEndpoint } from "./endpoint/attachment.ts";
import {
  createGuestNetworkService,
  deleteGuestNetworkService,
  modifyGuestNetworkService,
  requireGuestNetworkService,
} from "./guest/guest-network-services.ts";
import {
  createLoadBalancer,
  modifyLoadBalancer,
  requireLoadBalancer,
  deleteLoadBalancer,
} from "./load-balancer/load-balancers.ts";
import {
  createNamespace,
  deleteNamespace,
  modifyNamespace,
  requireNamespace,
} from "./namespace/namespaces.ts";
import { parseSdnRoute } from "#contracts/hcn/documents/sdn-route.ts";
import { createNetwork, deleteNetwork, modifyNetwork } from "./network/networks.ts";
import { requireNetwork } from "./network/network-facts.ts";
import { createSdnRoute, deleteSdnRoute, modifySdnRoute, requireSdnRoute } from "./sdn-routes.ts";
import { asProcessed } from "./endpoint/endpoint-document.ts";
import type { ServiceContext } from "./service-context.ts";
import type { ServiceState } from "./state.ts";
import { loadBalancerFromV1 } from "../v1/policy-mapping.ts";
import { endpointFromV1, namespaceFromV1, networkFromV1 } from "../v1/request-mapping.ts";
import { endpointDocument, endpointDocumentV1, endpointFilterFields } from "../view/endpoint-view.ts";
import {
  guestNetworkServiceDocument,
  guestNetworkServiceFilterFields,
} from "../view/guest-network-service-view.ts";
import {
  loadBalancerDocument,
  loadBalancerFilterFields,
  policyListDocument,
  sdnRouteDocument,
  sdnRouteFilterFields,
} from "../view/policy-list-view.ts";
import { namespaceDocument, namespaceDocumentV1, namespaceFilterFields } from "../view/namespace-view.ts";
import { networkDocument, networkFilterFields, networkDocumentV1 } from "../view/network-view.ts";

/** Objects of one kind, in order of creation. */
export interface Records {
  has(id: Guid): boolean;
  keys(): Iterable<Guid>;
}

/** A document on its way to become an object. */
export interface CreateRequest {
  readonly document: JsonObject;
  /** True: the document is in v1 form (hcn.md §1.6). */
  readonly isV1: boolean;
  /** The `Id` parameter; undefined when it was zero or absent. */
  readonly id: Guid | undefined;
  readonly options: HcnCreateOptions;
}

export interface KindRow {
  readonly records: (state: ServiceState) => Records;
  /** @returns the new object's id. */
  readonly create: (context: ServiceContext, request: CreateRequest) => Guid;
  readonly modify: (context: ServiceContext, id: Guid, settings: JsonObject) => void;
  readonly delete: (context: ServiceContext, id: Guid) => void;
  /** The object as a query shows it. @throws HcnError when there is none. */
  readonly show: (context: ServiceContext, id: Guid, query: CheckedQuery) => JsonObject;
  /** The fields that filters compare. @throws HcnError when there is no such object. */
  readonly filterFields: (context: ServiceContext, id: Guid) => JsonObject;
}

const NETWORK: KindRow = {
  records: (state) => state.networks,
  create: (context, { document, isV1, id }) =>
    createNetwork(context, isV1 ? networkFromV1(document) : parseNetwork(document), id),
  modify: modifyNetwork,
  delete: deleteNetwork,
  show: (context, id, { dialect, isDetailed }) => {
    const show = dialect === "v1" ? networkDocumentV1 : networkDocument;
    return show(context, requireNetwork(context, id), isDetailed);
  },
  filterFields: (context, id) => networkFilterFields(context, requireNetwork(context, id)),
};

const ENDPOINT: KindRow = {
  records: (state) => state.endpoints,
  create: (context, { document, isV1, id, options }) => {
    const { network: named } = options;
    // A network that is there is named by its GUID: most calls need no other check.
    const isKnown = named === undefined || context.state.networks.has(named);
    const network = isKnown ? named : checkGuid(named);
    const endpoint = isV1 ? endpointFromV1(document) : parseEndpoint(asProcessed(context, document));
    return createEndpoint(context, endpoint, id, network);
  },
  modify: modifyEndpoint,
  delete: deleteEndpoint,
  show: (context, id, { dialect, isDetailed }) => {
    const endpoint = requireEndpoint(context, id);
    return dialect === "v1"
      ? endpointDocumentV1(context, endpoint)
      : endpointDocument(context, endpoint, isDetailed);
  },
  filterFields: (context, id) => endpointFilterFields(context, requireEndpoint(context, id)),
};

const NAMESPACE: KindRow = {
  records: (state) => state.namespaces,
  create: (context, { document, id }) => createNamespace(context, namespaceFromV1(document), id),
  modify: modifyNamespace,
  delete: deleteNamespace,
  show: (context, id, { dialect }) => {
    const show = dialect === "v1" ? namespaceDocumentV1 : namespaceDocument;
    return show(context, requireNamespace(context, id));
  },
  filterFields: (context, id) => namespaceFilterFields(context, requireNamespace(context, id)),
};

const LOAD_BALANCER: KindRow = {
  records: (state) => state.loadBalancers,
  create: (context, { document, isV1, id }) =>
    createLoadBalancer(context, isV1 ? loadBalancerFromV1(document) : parseLoadBalancer(document), id),
  modify: modifyLoadBalancer,
  delete: deleteLoadBalancer,
  show: (context, id, { dialect }) => {
    const show = dialect === "v1" ? policyListDocument : loadBalancerDocument;
    return show(context, requireLoadBalancer(context, id));
  },
  filterFields: (context, id) => loadBalancerFilterFields(context, requireLoadBalancer(context, id)),
};

const GUEST_NETWORK_SERVICE: KindRow = {
  records: (state) => state.guestNetworkServices,
  create: (context, { document, id }) =>
    createGuestNetworkService(context, parseGuestNetworkService(document), id),
  modify: modifyGuestNetworkService,
  delete: deleteGuestNetworkService,
  show: (context, id) => guestNetworkServiceDocument(context, requireGuestNetworkService(context, id)),
  filterFields: (context, id) =>
    guestNetworkServiceFilterFields(context, requireGuestNetworkService(context, id)),
};

/** HNS v1 has no such object, so both dialects are one. */
const SDN_ROUTE: KindRow = {
  records: (state) => state.sdnRoutes,
  create: (context, { document, id }) => createSdnRoute(context, parseSdnRoute(document), id),
  modify: modifySdnRoute,
  delete: deleteSdnRoute,
  show: (context, id) => sdnRouteDocument(context, requireSdnRoute(context, id)),
  filterFields: (context, id) => sdnRouteFilterFields(requireSdnRoute(context, id)),
};

/** One row per kind that is served. */
export const KIND_TABLE: Readonly<Partial<Record<HcnObjectKind, KindRow>>> = {
  Network: NETWORK,
  Endpoint: ENDPOINT,
  Namespace: NAMESPACE,
  LoadBalancer: LOAD_BALANCER,
  GuestNetworkService: GUEST_NETWORK_SERVICE,
  SdnRoute: SDN_ROUTE,
};
