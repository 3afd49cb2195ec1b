/**
 * What the service reports about itself. Inferred (hcn.md §11.6): the payloads of `HcnQueryFeatures` and `HcnQueryMetrics`
 * are public nowhere. Here they are the version with the features that clients conclude from it, and counts.
 */
import type { JsonObject } from "#core/base/json.ts";
import { featuresOf } from "#contracts/hcn/features.ts";
import type { ServiceContext } from "../service/service-context.ts";

/** `HcnQueryFeatures`. */
export function featuresDocument(context: ServiceContext): JsonObject {
  return {
    Version: { Major: context.version.Major, Minor: context.version.Minor },
    SchemaVersion: { Major: 2, Minor: context.windows.profile.schemaMinor },
    Features: [...featuresOf(context.version)],
  };
}

/** `HcnQueryMetrics`. */
export function metricsDocument(context: ServiceContext): JsonObject {
  const { state } = context;
  return {
    Networks: state.networks.size,
    Endpoints: state.endpoints.size,
    Namespaces: state.namespaces.size,
    LoadBalancers: state.loadBalancers.size,
    GuestNetworkServices: state.guestNetworkServices.size,
    PortReservations: state.portReservations.list().length,
  };
}
