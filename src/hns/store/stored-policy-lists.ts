/** Policy lists in stored form: load balancers and SDN routes, which name endpoints of one network. */
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import { type Guid, parseGuid } from "#contracts/hcn/guid.ts";
import { LOAD_BALANCER_DISTRIBUTIONS, parseLoadBalancer } from "#contracts/hcn/documents/load-balancer.ts";
import { type Ip, parseIp } from "#core/net/ip.ts";
import type {
  SdnRouteRecord,
  LoadBalancerPortMappingRecord,
  LoadBalancerRecord,
} from "../service/records.ts";
import type { ServiceContext } from "../service/service-context.ts";
import type { ServiceState } from "../service/state.ts";
import {
  IGNORED_UPDATE,
  loadBalancerDocument,
  policyListDocument,
  sdnRouteDocument,
} from "../view/policy-list-view.ts";
import { type LenientReader, type Report, readBaseFields } from "./lenient-reader.ts";
import { type RecordTable, type StoredKindRow, storedKind } from "./stored-kind.ts";
import { parseSdnRoute, routesOfSdnRoute } from "#contracts/hcn/documents/sdn-route.ts";

interface Referring {
  readonly networkId: Guid;
  readonly endpointIds: readonly Guid[];
}

/** The network of an object that names endpoints. Schemas before 2.5 do not say it: then it is that of the endpoints. */
function networkOfBackEnds(context: ServiceContext, { networkId, endpointIds }: Referring): Guid {
  if (networkId !== "") return networkId;
  for (const id of endpointIds) {
    const endpoint = context.state.endpoints.get(id);
    if (endpoint !== undefined) return endpoint.networkId;
  }
  return "";
}

// Load balancers.

function readMappings(reader: LenientReader): readonly LoadBalancerPortMappingRecord[] {
  const list = reader.document["PortMappings"];
  const parsed = reader.attempt(() => parseLoadBalancer({ PortMappings: list ?? null }));
  return Object.freeze(
    (parsed?.PortMappings ?? []).map((mapping) =>
      Object.freeze({
        protocol: mapping.Protocol ?? 0,
        internalPort: mapping.InternalPort ?? 0,
        externalPort: mapping.ExternalPort ?? 0,
        distribution: LOAD_BALANCER_DISTRIBUTIONS[mapping.DistributionType ?? 0] ?? "None",
        flags: mapping.Flags ?? 0,
      }),
    ),
  );
}

function readVips(reader: LenientReader): readonly Ip[] {
  const vips: Ip[] = [];
  for (const text of reader.texts("FrontendVIPs")) {
    const ip = parseIp(text);
    if (ip === undefined) reader.note(`The front end ${JSON.stringify(text)} is not an address; left out`);
    else vips.push(ip);
  }
  return Object.freeze(vips);
}

function readLoadBalancer(context: ServiceContext, reader: LenientReader): LoadBalancerRecord {
  const endpointIds = reader.texts("HostComputeEndpoints").map(parseGuid);
  return {
    ...readBaseFields(context, reader),
    networkId: reader.guid("HostComputeNetwork") ?? "",
    endpointIds: Object.freeze(endpointIds.filter((id): id is Guid => id !== undefined)),
    sourceVip: parseIp(reader.text("SourceVIP")),
    frontendVips: readVips(reader),
    portMappings: readMappings(reader),
    flags: reader.number("Flags"),
  };
}

/** The document says that an update was taken and not carried out. */
function hasIgnoredUpdate(document: JsonObject): boolean {
  const health = isJsonObject(document["Health"]) ? document["Health"]["Data"] : undefined;
  const list = isJsonObject(health) ? health["NotEnforced"] : undefined;
  const entries = Array.isArray(list) ? (list as readonly JsonValue[]) : [];
  return entries.some((entry) => isJsonObject(entry) && entry["Type"] === IGNORED_UPDATE.Type);
}

function check(context: ServiceContext, loadBalancer: LoadBalancerRecord, report: Report): void {
  const { state } = context;
  if (!state.networks.has(loadBalancer.networkId))
    report(`There is no network ${loadBalancer.networkId}; the load balancer has no effect`);
  const missing = loadBalancer.endpointIds.filter((id) => !state.endpoints.has(id));
  if (missing.length > 0) report(`There is no endpoint ${missing.join(", ")}; the others serve`);
}

/** Those of the service, and those that it has not yet restored: what they come back from is stored. */
function storedLoadBalancers({ loadBalancers, restoration }: ServiceState): RecordTable<LoadBalancerRecord> {
  if (restoration === undefined) return loadBalancers;
  const waiting = restoration.loadBalancers;
  return new Map([...waiting, ...loadBalancers.values()].map((each) => [each.id, each]));
}

export const STORED_LOAD_BALANCER: StoredKindRow = storedKind<LoadBalancerRecord>({
  kind: "LoadBalancer",
  records: storedLoadBalancers,
  document: loadBalancerDocument,
  documentV1: policyListDocument,
  replace: (state, loadBalancer) => state.replaceLoadBalancer(loadBalancer),
  read: readLoadBalancer,
  enter: (context, given, report, document) => {
    const loadBalancer = Object.freeze({ ...given, networkId: networkOfBackEnds(context, given) });
    check(context, loadBalancer, report);
    context.state.addLoadBalancer(loadBalancer);
    if (hasIgnoredUpdate(document)) context.state.ignoredUpdates.add(loadBalancer.id);
  },
});

// SDN routes.

function readSdnRoute(context: ServiceContext, reader: LenientReader): SdnRouteRecord {
  const { Routes = null, Setting = null } = reader.document;
  const routes = reader.attempt(() => routesOfSdnRoute(parseSdnRoute({ Routes, Setting })));
  const endpointIds = reader.texts("HostComputeEndpoints").map(parseGuid);
  return {
    ...readBaseFields(context, reader),
    networkId: reader.guid("HostComputeNetwork") ?? "",
    endpointIds: Object.freeze(endpointIds.filter((id): id is Guid => id !== undefined)),
    routes: Object.freeze([...(routes ?? [])]),
  };
}

export const STORED_SDN_ROUTE: StoredKindRow = storedKind<SdnRouteRecord>({
  kind: "SdnRoute",
  records: (state) => state.sdnRoutes,
  document: sdnRouteDocument,
  documentV1: sdnRouteDocument,
  replace: (state, route) => state.setSdnRoute(route),
  read: readSdnRoute,
  enter: (context, given, report) => {
    const route = Object.freeze({ ...given, networkId: networkOfBackEnds(context, given) });
    if (!context.state.networks.has(route.networkId))
      report(`There is no network ${route.networkId}; the route has no effect`);
    context.state.setSdnRoute(route);
  },
});
