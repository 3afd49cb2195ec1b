/** Kubernetes objects for tests of names: only the fields that names come from. */
import type { EndpointSlice, Namespace, Service } from "#contracts/kubernetes/objects.ts";

function metadata(namespace: string, name: string): Service["metadata"] {
  return { namespace, name, uid: `uid-${namespace}-${name}`, resourceVersion: "1" };
}

export function namespaceObject(name: string): Namespace {
  return { apiVersion: "v1", kind: "Namespace", metadata: metadata("", name) };
}

/** `upstream` is `namespace/name`. */
export function serviceObject(reference: string, spec: Service["spec"]): Service {
  const [namespace = "", name = ""] = reference.split("/");
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: metadata(namespace, name),
    ...(spec === undefined ? {} : { spec }),
  };
}

/** One endpoint: its address, and what else a slice says about it. */
export interface EndpointFields {
  readonly address: string;
  readonly hostname?: string;
  readonly ready?: boolean;
}

/** A slice of the Service `upstream`; ports as `name/protocol/number`. */
export function sliceObject(
  reference: string,
  endpoints: readonly EndpointFields[],
  options: {
    readonly ports?: readonly string[];
    readonly slice?: string;
    readonly addressType?: string;
  } = {},
): EndpointSlice {
  const [namespace = "", service = ""] = reference.split("/");
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      ...metadata(namespace, options.slice ?? `${service}-x7k2p`),
      labels: { "kubernetes.io/service-name": service },
    },
    addressType: options.addressType ?? "IPv4",
    endpoints: endpoints.map(({ address, hostname, ready }) => ({
      addresses: [address],
      ...(hostname === undefined ? {} : { hostname }),
      ...(ready === undefined ? {} : { conditions: { ready } }),
    })),
    ports: (options.ports ?? ["http/TCP/8080"]).map((text) => {
      const [name = "", protocol = "", port = ""] = text.split("/");
      return { name, protocol, port: Number(port) };
    }),
  };
}
