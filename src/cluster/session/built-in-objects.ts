/** The Kubernetes objects that a cluster begins with, before anybody applies anything. */
import { assert } from "#core/base/assert.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { LoadedObject, Manifests } from "#control-plane/load/manifests.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import type { KubeKind, KubeObject } from "#contracts/kubernetes/objects.ts";
import { dnsManifests, findDnsService } from "../names/dns-service.ts";
import type { ClusterFile, NodeSpec } from "../file/cluster-file.ts";
import { nodeManifest } from "./node-object.ts";
import { podManifest } from "../pods/pod-object.ts";
import type { ApiServerPlan } from "../services/api-server.ts";

/** What messages call the objects that every cluster has. */
export const BUILT_IN = "built in";
/** Every API server makes these. */
const BUILT_IN_NAMESPACES: readonly string[] = ["default", "kube-node-lease", "kube-public", "kube-system"];

function load(documents: readonly JsonObject[]): readonly LoadedObject[] {
  const loaded = loadManifests(
    documents.map((document) => ({ name: BUILT_IN, text: JSON.stringify(document) })),
  );
  assert(loaded.problems.length === 0, `objects of our own are good: ${loaded.problems[0]?.message ?? ""}`);
  return loaded.objects;
}

/** The Node that a machine registers when it joins. */
export function nodeObjects(file: ClusterFile, spec: NodeSpec): readonly LoadedObject[] {
  return load([nodeManifest(file, spec)]);
}

/** Service `kubernetes` and its endpoints, as far as the input does not bring them. */
export function apiServerObjects({ objects }: Pick<ApiServerPlan, "objects">): readonly LoadedObject[] {
  return load(objects);
}

/** The pods of the cluster file; those that Kubernetes would refuse are left out. */
export function ownPods(file: ClusterFile): Pick<Manifests, "objects" | "problems"> {
  const { objects, problems } = loadManifests(
    file.pods.map((spec) => ({
      name: `pod ${spec.namespace}/${spec.name}`,
      text: JSON.stringify(podManifest(spec)),
    })),
  );
  return {
    objects: objects.map(({ object }) => ({ object, origin: undefined })),
    problems: problems.map(({ file: pod, path, message, ...problem }) => ({
      ...problem,
      file: file.fileName,
      line: 0,
      column: 0,
      path: "pods",
      message: `${pod}: ${path}: ${message}`,
    })),
  };
}

/**
 * What a cluster has before anybody applies anything: its namespaces, the nodes of the file, and the DNS that kubeadm
 * installs. What `brought` has of these is taken from there; a Node that somebody wrote by hand adds to its machine's.
 */
export function builtInObjects(file: ClusterFile, brought: readonly KubeObject[]): readonly LoadedObject[] {
  const isBrought = (kind: KubeKind, name: string): boolean =>
    brought.some(
      ({ kind: other, metadata }) =>
        other === kind && metadata.name === name && (kind !== "Node" || metadata.uid !== ""),
    );
  const namespaces = [
    ...new Set([...BUILT_IN_NAMESPACES, ...file.pods.map(({ namespace }) => namespace)]),
  ].filter((name) => !isBrought("Namespace", name));
  const nodes = file.nodes.filter(({ name }) => !isBrought("Node", name));
  const services = brought.filter((object) => object.kind === "Service");
  const bringsDns = findDnsService(services, file.network.serviceCIDR) !== undefined;
  // CoreDNS runs on Linux only: without a Linux node it would wait for ever.
  const hasLinux = file.nodes.some(({ os }) => os === "linux");
  return load([
    ...namespaces.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
    ...nodes.map((spec) => nodeManifest(file, spec)),
    ...(file.dns.enabled && hasLinux && !bringsDns ? dnsManifests(file.network.serviceCIDR) : []),
  ]);
}
