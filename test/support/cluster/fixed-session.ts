/**
 * A running cluster that stays as its file says: it can be listed and traced, and refuses to change. Its Kubernetes
 * objects are those that a cluster file implies: nodes, namespaces and pods.
 */
import type { KubeKind, KubeObject, Namespace, Node, Pod } from "#contracts/kubernetes/objects.ts";
import type { WindowsBuild } from "#core/catalogue/profiles.ts";
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import type { Cluster, ClusterNode, ClusterPod } from "#cluster/cluster.ts";
import { RequestError } from "#cluster/request-error.ts";
import type {
  ApplyReport,
  ClusterSession,
  ControlPlaneReport,
  DeleteReport,
  NodeReport,
  TimeReport,
} from "#cluster/session/session.ts";

function refuseChange(): never {
  throw new RequestError(
    "bad-usage",
    "this version cannot change the objects of a running cluster",
    "Change the cluster file, then: mullion down, and mullion up -f FILE.",
  );
}

/** Stands for what an API server would give: stable, and different for each object. */
function identity(kind: string, namespace: string, name: string): KubeObject["metadata"] {
  return { name, namespace, uid: `${kind}/${namespace}/${name}`, resourceVersion: "1" };
}

function formatBuild({ profile, revision }: WindowsBuild): string {
  return revision === undefined ? `10.0.${profile.build}` : `10.0.${profile.build}.${revision}`;
}

function nodeObject({ spec }: ClusterNode): Node {
  const { build } = spec;
  const ready = { type: "Ready", status: "True", reason: "KubeletReady" };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      ...identity("node", "", spec.name),
      labels: { "kubernetes.io/os": spec.os, "kubernetes.io/hostname": spec.name },
    },
    spec: { podCIDR: formatPrefix(spec.podCIDR), podCIDRs: [formatPrefix(spec.podCIDR)] },
    status: {
      addresses: [
        { type: "InternalIP", address: formatIp(spec.address) },
        { type: "Hostname", address: spec.name },
      ],
      conditions: [ready],
      nodeInfo: {
        architecture: "amd64",
        bootID: "",
        containerRuntimeVersion: "",
        kernelVersion: build === undefined ? "" : formatBuild(build),
        kubeProxyVersion: "",
        kubeletVersion: "",
        machineID: "",
        operatingSystem: spec.os,
        osImage: build?.profile.title ?? "Linux",
        systemUUID: "",
      },
    },
  };
}

function podObject({ spec, node, address }: ClusterPod): Pod {
  const ip = formatIp(address);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: identity("pod", spec.namespace, spec.name),
    spec: {
      nodeName: node.spec.name,
      containers: [
        {
          name: spec.name,
          ports: spec.ports.map(({ port, protocol, hostPort }) => ({
            containerPort: port,
            protocol,
            ...(hostPort === undefined ? {} : { hostPort }),
          })),
        },
      ],
    },
    status: {
      phase: "Running",
      podIP: ip,
      podIPs: [{ ip }],
      hostIP: formatIp(node.spec.address),
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

function namespaceObject(name: string): Namespace {
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: identity("namespace", "", name),
    spec: {},
    status: { phase: "Active" },
  };
}

function byName(a: KubeObject, b: KubeObject): number {
  const [left, right] = [a, b].map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  if (left === right) return 0;
  return (left ?? "") < (right ?? "") ? -1 : 1;
}

export class FixedSession implements ClusterSession {
  readonly nodesAtRest: number = 0;
  readonly cluster: Cluster;

  constructor(cluster: Cluster) {
    this.cluster = cluster;
  }

  /** Its machines are up. */
  async raise(): Promise<void> {
    return Promise.resolve();
  }

  async ask<T>(question: (cluster: Cluster) => T): Promise<T> {
    return Promise.resolve().then(() => question(this.cluster));
  }

  async *askInSteps<P, T>(
    question: (cluster: Cluster) => Generator<P, T, undefined>,
  ): AsyncGenerator<P, T, undefined> {
    await this.raise();
    return yield* question(this.cluster);
  }

  async apply(): Promise<ApplyReport> {
    return Promise.resolve().then(refuseChange);
  }

  async delete(): Promise<DeleteReport> {
    return Promise.resolve().then(refuseChange);
  }

  async changeNode(): Promise<NodeReport> {
    return Promise.resolve().then(refuseChange);
  }

  standingOf(): "joined" {
    return "joined";
  }

  get hasApiServer(): boolean {
    return true;
  }

  async setApiServer(): Promise<ControlPlaneReport> {
    return Promise.resolve().then(refuseChange);
  }

  listObjects(kind: KubeKind, namespace?: string): readonly KubeObject[] {
    const objects = this.objectsOf(kind).toSorted(byName);
    return namespace === undefined
      ? objects
      : objects.filter(({ metadata }) => metadata.namespace === namespace);
  }

  async passTime(milliseconds: number): Promise<TimeReport> {
    const { clock } = this.cluster;
    clock.runUntil(clock.nowMs + milliseconds);
    return Promise.resolve({ atMs: clock.nowMs, notes: [] });
  }

  /** There is nothing to say about it. */
  notes(): readonly [] {
    return [];
  }

  /** Nothing of it is left to be carried out. */
  limits(): readonly [] {
    return [];
  }

  /** Its pods have their networks. */
  troubles(): readonly [] {
    return [];
  }

  readonly ovn = undefined;

  /** No kube-proxy runs here. */
  followRealTime(): void {}

  repairs(): readonly [] {
    return [];
  }

  /** No kube-proxy runs here. */
  servicesOn(): undefined {
    return undefined;
  }

  /** Nothing ever happens here. */
  subscribe(): () => void {
    return () => undefined;
  }

  private objectsOf(kind: KubeKind): readonly KubeObject[] {
    const { nodes, pods } = this.cluster;
    if (kind === "Node") return nodes.map(nodeObject);
    if (kind === "Pod") return pods.map(podObject);
    if (kind !== "Namespace") return [];
    const names = new Set(["default", ...pods.map(({ spec }) => spec.namespace)]);
    return [...names].map(namespaceObject);
  }
}

/** Manifests are refused with the same words. */
export function refuseManifests(): never {
  return refuseChange();
}
