/**
 * The EndpointSlice mirroring controller (k8s.io/kubernetes, `pkg/controller/endpointslicemirroring`): slices for Endpoints
 * that people or old programs wrote.
 */
import type { Prng } from "#core/base/prng.ts";
import { equalJson } from "#core/base/json.ts";
import { SERVICE_NAME_LABEL } from "#contracts/kubernetes/labels.ts";
import type { EndpointSlice, Endpoints, Service } from "#contracts/kubernetes/objects.ts";
import { type WantedChanges, NO_CHANGES } from "./changes.ts";
import { type Endpoint, MANAGED_BY_LABEL, makeSlice, sliceNames } from "./endpoint-slices.ts";

export const MIRRORING_CONTROLLER = "endpointslicemirroring-controller.k8s.io";
const SKIP_LABEL = "endpointslice.kubernetes.io/skip-mirror";
/** `--mirroring-max-endpoints-per-subset`. */
const ENDPOINTS_MAX = 1_000;

type Subset = NonNullable<Endpoints["subsets"]>[number];
type Address = NonNullable<Subset["addresses"]>[number];

/** Whether an Endpoints object says that it is not to be mirrored. */
export function isMirrored({ metadata }: Endpoints): boolean {
  return metadata.labels?.[SKIP_LABEL] !== "true";
}

function endpointOf(address: Address, isReady: boolean): Endpoint {
  const { ip, hostname, nodeName, targetRef } = address;
  return {
    addresses: [ip],
    conditions: { ready: isReady, serving: isReady, terminating: false },
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(targetRef === undefined ? {} : { targetRef }),
  };
}

type Content = Pick<EndpointSlice, "addressType" | "endpoints" | "ports">;

/** What the slices of one subset hold: one slice per family. */
function contentsOf(subset: Subset): Content[] {
  const endpoints = [
    ...(subset.addresses ?? []).map((address) => endpointOf(address, true)),
    ...(subset.notReadyAddresses ?? []).map((address) => endpointOf(address, false)),
  ];
  const ports = (subset.ports ?? []).map((port) => ({
    name: port.name ?? "",
    port: port.port,
    protocol: port.protocol ?? "TCP",
  }));
  const contents: Content[] = [];
  for (const addressType of ["IPv4", "IPv6"]) {
    const own = endpoints.filter(
      ({ addresses }) => (addresses[0] ?? "").includes(":") === (addressType === "IPv6"),
    );
    if (own.length > 0) contents.push({ addressType, endpoints: own.slice(0, ENDPOINTS_MAX), ports });
  }
  return contents;
}

/** The mirrored slices of a Service, made equal to its Endpoints; `slices` are those that were mirrored before. */
export function reconcileMirror(
  service: Service,
  endpoints: Endpoints | undefined,
  slices: readonly EndpointSlice[],
  taken: readonly EndpointSlice[],
  prng: Prng,
): WantedChanges {
  const isWanted = endpoints !== undefined && isMirrored(endpoints);
  const contents = isWanted ? (endpoints.subsets ?? []).flatMap(contentsOf) : [];
  const nextName = sliceNames(service, taken, prng);
  const labels = {
    ...endpoints?.metadata.labels,
    [SERVICE_NAME_LABEL]: service.metadata.name,
    [MANAGED_BY_LABEL]: MIRRORING_CONTROLLER,
  };
  const left = [...slices];
  const create: EndpointSlice[] = [];
  for (const content of contents) {
    const index = left.findIndex(({ addressType, endpoints: own, ports }) =>
      equalJson({ addressType, endpoints: own, ports }, content),
    );
    if (index >= 0) left.splice(index, 1);
    else create.push(makeSlice(service, labels, nextName(), content));
  }
  if (create.length + left.length === 0) return NO_CHANGES;
  return { create, update: [], remove: left };
}
