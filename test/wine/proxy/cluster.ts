/** What the steps write to the API server: Services and their slices in short. */
import type { KubeObjects } from "#contracts/kubernetes/objects.ts";
import type { KubeDraft, KubeSource } from "#contracts/kubernetes/source.ts";
import { NODE, OTHER_NODE } from "./columns.ts";

const NAMESPACE = "default";

type ServiceSpec = NonNullable<KubeObjects["Service"]["spec"]>;
type Ingress = NonNullable<
  NonNullable<NonNullable<KubeObjects["Service"]["status"]>["loadBalancer"]>["ingress"]
>;

export interface ServiceText {
  readonly spec: Partial<ServiceSpec>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly ingress?: Ingress;
}

export interface SliceText {
  /** Default: the name of the slice up to its last dash. */
  readonly service?: string;
  /** `4 5 r7 r8~ r9t r10x`: pods of this node, `r` of the other; `~` not ready, `t` terminates and serves, `x` does not. */
  readonly pods: string;
  readonly family?: 4 | 6;
  readonly ports?: readonly { readonly name?: string; readonly port: number; readonly protocol?: string }[];
  readonly labels?: Readonly<Record<string, string>>;
}

const CONDITIONS: Readonly<Record<string, object>> = {
  "": { ready: true, serving: true, terminating: false },
  "~": { ready: false, serving: false, terminating: false },
  t: { ready: false, serving: true, terminating: true },
  x: { ready: false, serving: false, terminating: true },
};

type SliceEndpoint = NonNullable<KubeObjects["EndpointSlice"]["endpoints"]>[number];

function endpoint(text: string, family: 4 | 6): SliceEndpoint {
  const [, remote = "", host = "", state = ""] = /^(r|o)?(\d+)([~tx]?)$/.exec(text) ?? [];
  if (host === "") throw new Error(`${text} is no pod`);
  const node = remote === "r" ? 2 : 1;
  const address = family === 4 ? `10.244.${node}.${host}` : `fd00:10:244:${node}::${host}`;
  // `o`: the address of a pod outside of the cluster, of no node.
  const outside = family === 4 ? `203.0.113.${host}` : `2001:db8:7::${host}`;
  return {
    addresses: [remote === "o" ? outside : address],
    conditions: CONDITIONS[state] ?? {},
    ...(remote !== "o" && { nodeName: remote === "r" ? OTHER_NODE : NODE }),
  };
}

/** An API server; one for versions whose load balancers depend on chance with two families knows one. */
export interface Written {
  readonly source: KubeSource;
  readonly isIpv4Only: boolean;
}

function oneFamily(spec: Partial<ServiceSpec>): Partial<ServiceSpec> {
  if (spec.ipFamilies === undefined) return spec;
  const { clusterIPs = [] } = spec;
  return {
    ...spec,
    clusterIPs: clusterIPs.slice(0, 1),
    ipFamilies: ["IPv4"],
    ipFamilyPolicy: "SingleStack",
  };
}

export class WrittenCluster {
  private readonly sources: readonly Written[];

  constructor(sources: readonly Written[]) {
    this.sources = sources;
  }

  async makeNodes(addresses: readonly [string, string]): Promise<void> {
    for (const { source } of this.sources)
      for (const [index, name] of [NODE, OTHER_NODE].entries()) {
        const address = addresses[index] ?? "";
        await source.create("Node", { metadata: { name } });
        const body = { status: { addresses: [{ type: "InternalIP", address }] } };
        const status = { subresource: "status" } as const;
        await source.patch("Node", { namespace: "", name }, { type: "merge", body }, status);
      }
  }

  /** Makes a Service, or gives it another spec. */
  async service(name: string, { spec, annotations = {}, labels = {}, ingress }: ServiceText): Promise<void> {
    const metadata = { name, namespace: NAMESPACE, annotations, labels };
    for (const { source, isIpv4Only } of this.sources) {
      const written = await apply(source, "Service", { metadata, spec: isIpv4Only ? oneFamily(spec) : spec });
      if (ingress === undefined) continue;
      const status = { loadBalancer: { ingress } };
      await source.update("Service", { ...written, status }, { subresource: "status" });
    }
  }

  /** Makes a slice, or gives it other endpoints. */
  async slice(name: string, text: SliceText): Promise<void> {
    const { family = 4, ports = [{ name: "http", port: 8080 }] } = text;
    const service = text.service ?? name.replace(/-[^-]*$/, "");
    const draft: KubeDraft<"EndpointSlice"> = {
      metadata: {
        name,
        namespace: NAMESPACE,
        labels: { "kubernetes.io/service-name": service, ...text.labels },
      },
      addressType: family === 4 ? "IPv4" : "IPv6",
      endpoints: text.pods
        .split(" ")
        .filter((word) => word !== "")
        .map((word) => endpoint(word, family)),
      ports: ports.map((each) => ({ protocol: "TCP", ...each })),
    };
    for (const { source, isIpv4Only } of this.sources)
      if (!isIpv4Only || family === 4) await apply(source, "EndpointSlice", draft);
  }

  async remove(kind: "Service" | "EndpointSlice", name: string): Promise<void> {
    const isIpv6 = kind === "EndpointSlice" && name.endsWith("-6");
    for (const { source, isIpv4Only } of this.sources)
      if (!isIpv4Only || !isIpv6) await source.delete(kind, { namespace: NAMESPACE, name });
  }
}

async function apply<Kind extends "Service" | "EndpointSlice">(
  source: KubeSource,
  kind: Kind,
  draft: KubeDraft<Kind>,
): Promise<KubeObjects[Kind]> {
  const name = draft.metadata.name ?? "";
  const { items } = await source.list(kind, {
    namespace: NAMESPACE,
    fieldSelector: `metadata.name=${name}`,
  });
  const [there] = items;
  if (there === undefined) return source.create(kind, draft);
  const metadata = { ...there.metadata, ...draft.metadata };
  return source.update(kind, { ...there, ...draft, metadata });
}
