/**
 * The HCN contract, `mullion/hcn`: what programs send to HNS and get back, on any implementation of `HcnClient`. The
 * functions have the names of hcsshim's; documents are spelled as on the wire. `mullion/hcn/node` finds the node's service,
 * `mullion/hns` is one in the same process.
 *
 * @example
 * const client = findHns({ variables: process.env });
 * const network = await getNetworkByName(client, "cbr0");
 * const endpoint = await createEndpoint(client, network.ID, { Name: "web" });
 */
export {
  type AclAction,
  type AclDirection,
  type AclPolicySetting,
  type AclRuleType,
  type SetPolicySetting,
  type TierAclPolicySetting,
} from "./documents/acl-policy.ts";
export {
  type BaseDocument,
  type Dns,
  type Health,
  type PolicyDocument,
  type Route,
  SCHEMA_V2_0,
} from "./documents/base-document.ts";
export {
  DEFAULT_QUERY,
  type Guid,
  type HcnClient,
  type HcnCreateOptions,
  type HcnNotification,
  type HcnObjectKind,
  type HostComputeQuery,
} from "./client.ts";
export { type JsonObject, type JsonValue } from "#core/base/json.ts";
export {
  ENDPOINT_FLAGS,
  ENDPOINT_STATES,
  type HostComputeEndpoint,
  type IpConfig,
  type StoredEndpoint,
  parseEndpoint,
} from "./documents/endpoint.ts";
export {
  type EndpointPolicy,
  type EndpointPolicySettings,
  NAT_FLAGS,
  type OutBoundNatPolicySetting,
  type PortMappingPolicySetting,
  parseEndpointPolicies,
  parseEndpointPolicy,
} from "./documents/endpoint-policy.ts";
export { HCN_ERRORS, type HcnErrorCode } from "./error-codes.ts";
export {
  type ErrorRecord,
  HcnError,
  type HcnErrorOptions,
  HcnNotFoundError,
  formatHresult,
  isNotFoundError,
} from "./error.ts";
export { type HnsFeature, type HnsVersion, featuresOf, hasFeature } from "./features.ts";
export { ZERO_GUID, equalGuids, formatUpperGuid, parseGuid } from "./guid.ts";
export {
  type HostComputeLoadBalancer,
  LOAD_BALANCER_DISTRIBUTIONS,
  LOAD_BALANCER_FLAGS,
  LOAD_BALANCER_PORT_FLAGS,
  type LoadBalancerPortMapping,
  parseLoadBalancer,
} from "./documents/load-balancer.ts";
export type { ModifyRequest, ModifyRequestType } from "./documents/request.ts";
export {
  type HostComputeNamespace,
  type NamespaceResource,
  type NamespaceType,
  parseNamespace,
} from "./documents/namespace.ts";
export {
  type ComputeSystem,
  type ComputeSystemAdapter,
  type ComputeSystems,
  type ComputeSystemType,
  type PodShims,
  addNetworkAdapter,
  containerDocument,
  removeNetworkAdapter,
  syncNamespace,
} from "./compute-systems.ts";
export {
  type HostComputeNetwork,
  type Ipam,
  NETWORK_FLAGS,
  NETWORK_TYPES,
  type NetworkType,
  type Subnet,
  gatewayOf,
  isDefaultRoute,
  parseNetwork,
  subnetsOf,
} from "./documents/network.ts";
export {
  type NetworkPolicy,
  type NetworkPolicySettings,
  parseNetworkPolicies,
  parseNetworkPolicy,
} from "./documents/network-policy.ts";
export { NOTIFICATION_TYPES } from "./client.ts";
export {
  addLoadBalancerEndpoint,
  addNamespaceContainer,
  addNamespaceEndpoint,
  addSdnRoute,
  addSdnRouteEndpoint,
  createEndpoint,
  createLoadBalancer,
  createNamespace,
  createNetwork,
  createSdnRoute,
  deleteEndpoint,
  deleteLoadBalancer,
  deleteNamespace,
  deleteNetwork,
  deleteSdnRoute,
  getEndpointById,
  getEndpointByName,
  getLoadBalancerById,
  getNamespaceById,
  getNamespaceContainerIds,
  getNamespaceEndpointIds,
  getNetworkById,
  getNetworkByName,
  getSdnRouteById,
  listEndpoints,
  listEndpointsOfNetwork,
  listLoadBalancers,
  listNamespaces,
  listNetworks,
  listSdnRoutes,
  modifyEndpointPolicies,
  modifyLoadBalancer,
  modifyNetworkPolicies,
  modifySdnRoute,
  namespaceOf,
  removeLoadBalancerEndpoint,
  removeNamespaceContainer,
  removeNamespaceEndpoint,
  removeSdnRouteEndpoint,
} from "./operations.ts";
export {
  ENDPOINT_POLICY_TYPES,
  type EndpointPolicyType,
  NETWORK_POLICY_TYPES,
  type NetworkPolicyType,
} from "./documents/policy-type.ts";
export type { L4ProxyPolicySetting, L4WfpProxyPolicySetting } from "./documents/proxy-policy.ts";
export { type HostComputeRoute, type SdnRoutePolicySetting, parseSdnRoute } from "./documents/sdn-route.ts";
export type {
  EndpointAttachDetachRequest,
  HnsEndpoint,
  HnsNetwork,
  HnsSubnet,
} from "./documents/v1-documents.ts";
export type { HnsPolicy, SchemaVersion } from "./description/description.ts";
export {
  HOST_ATTACH,
  attachHnsEndpoint,
  createHnsEndpoint,
  createHnsNetwork,
  deleteHnsEndpoint,
  deleteHnsNetwork,
  detachHnsEndpoint,
  getHnsEndpoint,
  getHnsEndpointByName,
  getHnsNetworkByName,
  getHnsVersion,
  listHnsEndpoints,
  listHnsNetworks,
  requestHns,
} from "./v1-operations.ts";
