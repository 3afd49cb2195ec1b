/**
 * Objects of API versions that Kubernetes has removed, as objects of the present ones. Kubernetes documentation:
 * Deprecated API Migration Guide.
 */
import type { KubeKind } from "#contracts/kubernetes/objects.ts";
import { type Fields, isFields, mappingOf } from "#core/base/json.ts";

const WORKLOADS: readonly KubeKind[] = ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"];

/** The old workload APIs took a missing selector from the labels of the template. */
function withSelector(object: Fields): Fields {
  const spec = object["spec"];
  if (!isFields(spec) || isFields(spec["selector"])) return object;
  const labels = mappingOf(mappingOf(spec["template"])["metadata"])["labels"];
  if (!isFields(labels)) return object;
  return { ...object, spec: { ...spec, selector: { matchLabels: labels } } };
}

const HOST_LABEL = "kubernetes.io/hostname";
const ZONE_LABEL = "topology.kubernetes.io/zone";

/** v1beta1 slices said node and zone in a map of labels. */
function withTopologyFields(object: Fields): Fields {
  const { endpoints } = object;
  if (!Array.isArray(endpoints)) return object;
  const converted = endpoints.map((endpoint: unknown) => {
    if (!isFields(endpoint)) return endpoint;
    const { topology, ...rest } = endpoint;
    if (!isFields(topology)) return endpoint;
    const { [HOST_LABEL]: nodeName, [ZONE_LABEL]: zone, ...deprecatedTopology } = topology;
    return {
      ...(nodeName === undefined ? {} : { nodeName }),
      ...(zone === undefined ? {} : { zone }),
      ...(Object.keys(deprecatedTopology).length === 0 ? {} : { deprecatedTopology }),
      ...rest,
    };
  });
  return { ...object, endpoints: converted };
}

/** The object with the fields of the present version; its `apiVersion` is not touched. */
export function convertOld(kind: KubeKind, object: Fields): Fields {
  if (WORKLOADS.includes(kind)) return withSelector(object);
  return kind === "EndpointSlice" ? withTopologyFields(object) : object;
}
