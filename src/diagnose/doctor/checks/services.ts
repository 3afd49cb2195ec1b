/** Services and EndpointSlices beside the load balancers of HNS, and what load balancers say of themselves. */
import { type Ip, formatIp, parseIp } from "#core/net/ip.ts";
import { formatSocketAddress } from "#core/net/five-tuple.ts";
import { SERVICE_NAME_LABEL } from "#contracts/kubernetes/labels.ts";
import { plural } from "#core/base/text-layout.ts";
import { type CheckFinding, type NodeCheck, together } from "../check.ts";
import type {
  ClusterEvidence,
  EndpointRecord,
  KubeRecord,
  LoadBalancerRecord,
  NodeEvidence,
  Place,
} from "../evidence.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

const PROTOCOLS: Readonly<Record<string, number>> = { TCP: 6, UDP: 17 };
const DNS_PORT = 53;
/** Services with these labels are another proxy's, or nobody's. */
const NOT_OURS = ["service.kubernetes.io/service-proxy-name", "service.kubernetes.io/headless"];

/** A port of a Service at one of its cluster addresses. */
interface FrontEnd {
  readonly service: KubeRecord<"Service">;
  readonly name: string;
  readonly vip: Ip;
  readonly port: number;
  readonly protocol: number;
  /** Those of slices that get traffic: all that are ready. */
  readonly ready: readonly BackEnd[];
  /** All that slices name, ready or not. */
  readonly named: ReadonlySet<Ip>;
  readonly isLocalOnly: boolean;
}

interface BackEnd {
  readonly address: Ip;
  readonly place: Place;
}

function nameOf({ metadata }: KubeRecord<"Service">["object"]): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function protocolName(protocol: number): string {
  return protocol === PROTOCOLS["UDP"] ? "UDP" : "TCP";
}

function placeText({ vip, port, protocol }: Pick<FrontEnd, "vip" | "port" | "protocol">): string {
  return `${formatSocketAddress(vip, port)}/${protocolName(protocol)}`;
}

/** Back ends of one port of a Service, from its slices. */
function backEndsOf(
  slices: readonly KubeRecord<"EndpointSlice">[],
  portName: string,
): { readonly ready: readonly BackEnd[]; readonly named: ReadonlySet<Ip> } {
  const ready: BackEnd[] = [];
  const named = new Set<Ip>();
  for (const { object, place } of slices) {
    const { ports = [], endpoints } = object;
    if (!ports.some((each) => (each.name ?? "") === portName)) continue;
    for (const { addresses, conditions } of endpoints ?? [])
      for (const text of addresses.slice(0, 1)) {
        const address = parseIp(text);
        if (address === undefined) continue;
        named.add(address);
        if (conditions?.ready !== false) ready.push({ address, place });
      }
  }
  return { ready, named };
}

function isProxied({ metadata, spec }: KubeRecord<"Service">["object"]): boolean {
  return spec?.type !== "ExternalName" && !NOT_OURS.some((label) => metadata.labels?.[label] !== undefined);
}

/** What kube-proxy of a node has to program for cluster addresses. */
function frontEndsOf({ services, slices }: ClusterEvidence): readonly FrontEnd[] {
  const byService = Map.groupBy(
    slices,
    ({ object: { metadata } }) => `${metadata.namespace}/${metadata.labels?.[SERVICE_NAME_LABEL] ?? ""}`,
  );
  return services.flatMap((service) => {
    const { object } = service;
    const { spec } = object;
    if (!isProxied(object) || spec === undefined) return [];
    const texts = spec.clusterIPs ?? (spec.clusterIP === undefined ? [] : [spec.clusterIP]);
    const vips = texts.flatMap((text) => parseIp(text) ?? []);
    return vips.flatMap((vip) =>
      (spec.ports ?? []).flatMap(({ name = "", port, protocol = "TCP" }) => {
        const number = PROTOCOLS[protocol];
        if (number === undefined) return [];
        const all = backEndsOf(byService.get(nameOf(object)) ?? [], name);
        const isSame = (address: Ip): boolean => typeof address === typeof vip;
        return {
          service,
          name: nameOf(object),
          vip,
          port,
          protocol: number,
          ready: all.ready.filter(({ address }) => isSame(address)),
          named: all.named,
          isLocalOnly: spec.internalTrafficPolicy === "Local",
        };
      }),
    );
  });
}

/** True where a load balancer may serve the front end: one whose ports are not shown may have any. */
function serves({ vips, ports }: LoadBalancerRecord, { vip, port, protocol }: FrontEnd): boolean {
  return (
    vips.includes(vip) &&
    (ports === undefined || ports.some((each) => each.external === port && each.protocol === protocol))
  );
}

function createdAt(service: KubeRecord<"Service">): number {
  return Date.parse(service.object.metadata.creationTimestamp ?? "") || Number.POSITIVE_INFINITY;
}

/** DNS first: without it nothing else is found. */
function byHarm(a: FrontEnd, b: FrontEnd): number {
  return Number(b.port === DNS_PORT) - Number(a.port === DNS_PORT);
}

const MISSING: NodeCheck = {
  id: "services-have-load-balancers",
  code: "load-balancer-missing",
  asks: "each Service with ready endpoints has a load balancer",
  needs: ["services", "endpoint slices", "load balancers"],
  wholly: ["load balancers"],
  find({ loadBalancers, none }, cluster) {
    const wanted = frontEndsOf(cluster).filter(({ ready, isLocalOnly }) => ready.length > 0 && !isLocalOnly);
    const { missing = [], there = [] } = Object.groupBy(wanted, (each) =>
      loadBalancers.some((one) => serves(one, each)) ? "there" : "missing",
    );
    const youngest = Math.max(...there.map(({ service }) => createdAt(service)).filter(Number.isFinite));
    const place = loadBalancers[0]?.place ?? none.get("load balancers");
    return together(
      missing.toSorted(byHarm).map((each) => {
        const at = placeText(each);
        const [backEnd] = each.ready;
        // A younger Service is programmed: the dump was made after kube-proxy had seen this one.
        const isOlder = createdAt(each.service) < youngest;
        return {
          name: `${each.name} ${at}`,
          finding: {
            certainty: isOlder ? "certain" : "likely",
            message: `HNS has no load balancer for ${at} of Service ${each.name}`,
            evidence: [
              { ...each.service.place, says: `Service ${each.name} has the address ${at}` },
              ...(backEnd === undefined
                ? []
                : [{ ...backEnd.place, says: `its back end ${formatIp(backEnd.address)} is ready` }]),
              ...(place === undefined
                ? []
                : [{ ...place, says: WORDS.loadBalancersWithout({ count: loadBalancers.length, at }) }]),
            ],
            breaks: `pods of this node that ask ${at}`,
            twin: { change: "remove-load-balancer", vip: each.vip, port: each.port, protocol: each.protocol },
          },
        } as const;
      }),
    );
  },
};

/** Addresses of a load balancer's back ends; undefined where one of them is not in the dump. */
function addressesOf(
  { backEnds }: LoadBalancerRecord,
  endpoints: ReadonlyMap<string, EndpointRecord>,
): readonly Ip[] | undefined {
  const found = backEnds.map((id) => endpoints.get(id));
  if (found.includes(undefined)) return undefined;
  return found.flatMap((each) => each?.addresses.slice(0, 1) ?? []);
}

function byId(endpoints: readonly EndpointRecord[]): ReadonlyMap<string, EndpointRecord> {
  return new Map(endpoints.map((each) => [each.id.toLowerCase(), each]));
}

function* backEndsThatDiffer(
  node: NodeEvidence,
  cluster: ClusterEvidence,
): Iterable<{
  readonly finding: CheckFinding;
  readonly name: string;
}> {
  const endpoints = byId(node.endpoints);
  for (const each of frontEndsOf(cluster)) {
    if (each.isLocalOnly || each.ready.length === 0) continue;
    for (const one of node.loadBalancers.filter((load) => serves(load, each) && load.ports !== undefined)) {
      const has = addressesOf(one, endpoints);
      if (has === undefined) continue;
      const stale = has.filter((address) => !each.named.has(address));
      const missing = each.ready.filter(({ address }) => !has.includes(address));
      if (stale.length + missing.length === 0) continue;
      const at = placeText(each);
      const [gone] = stale;
      const [late] = missing;
      yield {
        name: `${each.name} ${at}`,
        finding: {
          // Pods come and go between two files; an address that no slice knows is no pod of the Service any more.
          certainty: stale.length > 0 ? "likely" : "possible",
          message:
            gone === undefined
              ? `the load balancer of ${at} lacks the back end ${late === undefined ? "" : formatIp(late.address)}`
              : WORDS.leadsToStale({ at, address: formatIp(gone), service: each.name }),
          evidence: [
            { ...one.place, says: `load balancer ${one.id} leads to ${has.map(formatIp).join(", ")}` },
            {
              ...(late ?? each.ready[0] ?? { place: each.service.place }).place,
              says: `${each.name} has the ready back ends ${each.ready.map(({ address }) => formatIp(address)).join(", ")}`,
            },
          ],
          breaks:
            gone === undefined
              ? `the share of ${at} that the pod should take`
              : `connections to ${at} that it chooses`,
          ...(gone === undefined
            ? {}
            : {
                twin: {
                  change: "stale-back-end",
                  vip: each.vip,
                  port: each.port,
                  protocol: each.protocol,
                  address: gone,
                },
              }),
        },
      };
    }
  }
}

const DIFFER: NodeCheck = {
  id: "back-ends-are-those-of-slices",
  code: "load-balancer-back-ends-differ",
  asks: "load balancers lead to the back ends of the EndpointSlices",
  needs: ["services", "endpoint slices", "load balancers", "endpoints"],
  wholly: ["endpoint slices"],
  find: (node, cluster) => together([...backEndsThatDiffer(node, cluster)]),
};

const UNKNOWN: NodeCheck = {
  id: "back-ends-exist",
  code: "load-balancer-back-end-unknown",
  asks: "load balancers refer to endpoints that exist",
  needs: ["load balancers", "endpoints"],
  wholly: ["endpoints"],
  find({ loadBalancers, endpoints }) {
    const known = byId(endpoints);
    const broken = loadBalancers.flatMap((one) => {
      const gone = one.backEnds.find((id) => !known.has(id));
      return gone === undefined ? [] : [{ one, gone }];
    });
    // A list that lacks most of them is another one: endpoints of some networks only.
    const isPartial = broken.length > 1 && broken.length > loadBalancers.length / 2;
    return together(
      broken.map(({ one, gone }) => ({
        name: one.id,
        finding: {
          certainty: isPartial ? "possible" : "likely",
          message: WORDS.refersToUnknown({ id: one.id, endpoint: gone }),
          evidence: [
            {
              ...one.place,
              says: `load balancer ${one.id} of ${one.vips.map(formatIp).join(", ") || "the node's addresses"}`,
            },
            ...endpoints.slice(0, 1).map(({ place }) => ({
              ...place,
              says: `${plural(endpoints.length, "endpoint")}, and not this one`,
            })),
          ],
          breaks: "connections that the load balancer sends there",
        },
      })),
    );
  },
};

const WITHOUT_SERVICE: NodeCheck = {
  id: "load-balancers-have-services",
  code: "load-balancer-without-service",
  asks: "each load balancer belongs to a Service",
  needs: ["services", "load balancers"],
  wholly: ["services"],
  find({ loadBalancers }, { services }) {
    // All namespaces were asked for where the Service of the API server is there.
    const whole = services.find(({ object }) => nameOf(object) === "default/kubernetes");
    if (whole === undefined) return [];
    const known = new Set(
      services.flatMap(({ object: { spec, status } }) => [
        ...(spec?.clusterIPs ?? []),
        spec?.clusterIP ?? "",
        ...(spec?.externalIPs ?? []),
        spec?.loadBalancerIP ?? "",
        ...(status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip ?? ""),
      ]),
    );
    const stale = loadBalancers.filter(
      ({ vips }) => vips.length > 0 && !vips.some((vip) => known.has(formatIp(vip))),
    );
    return together(
      stale.map((one) => {
        const vip = one.vips.map(formatIp).join(", ");
        return {
          name: `${one.id} ${vip}`,
          finding: {
            certainty: "likely",
            message: `load balancer ${one.id} serves ${vip}, which is no Service's address`,
            evidence: [
              { ...one.place, says: `load balancer ${one.id} has the address ${vip}` },
              { ...whole.place, says: `${services.length} Services, none with ${vip}` },
            ],
            breaks: WORDS.breaksStaleVip,
          },
        };
      }),
    );
  },
};

const DOUBLED: NodeCheck = {
  id: "front-ends-are-single",
  code: "load-balancer-doubled",
  asks: "no two load balancers serve the same address and port",
  needs: ["load balancers"],
  find({ loadBalancers }) {
    const first = new Map<string, LoadBalancerRecord>();
    const found: { readonly name: string; readonly finding: CheckFinding }[] = [];
    for (const one of loadBalancers)
      for (const vip of one.vips)
        for (const { external, protocol } of one.ports ?? []) {
          const at = placeText({ vip, port: external, protocol });
          const known = first.get(at);
          if (known === undefined) first.set(at, one);
          else if (known !== one)
            found.push({
              name: at,
              finding: {
                certainty: "certain",
                message: `two load balancers serve ${at}`,
                evidence: [known, one].map(({ place, id }) => ({
                  ...place,
                  says: `load balancer ${id} has ${at}`,
                })),
                breaks: WORDS.breaksDoubled({ at }),
              },
            });
        }
    return together(found);
  },
};

const DNS: NodeCheck = {
  id: "dns-is-balanced",
  code: "load-balancer-missing",
  asks: "names can be asked for by UDP and by TCP",
  needs: ["load balancers"],
  wholly: ["load balancers"],
  find({ loadBalancers }, { services, slices }) {
    const shown = loadBalancers.filter(({ ports }) => ports !== undefined);
    const [list] = shown;
    // With Services the address itself is looked for.
    if (list === undefined || (services.length > 0 && slices.length > 0)) return [];
    const has = (protocol: number): boolean =>
      shown.some(({ ports = [] }) =>
        ports.some((each) => each.external === DNS_PORT && each.protocol === protocol),
      );
    const missing = ["UDP", "TCP"].filter((name) => !has(PROTOCOLS[name] ?? 0));
    if (missing.length === 0) return [];
    return [
      {
        certainty: "likely",
        message: `no load balancer of this node has the port 53 by ${missing.join(" and ")}`,
        evidence: [
          {
            ...list.place,
            says: `${shown.length} load balancers, none for port 53 by ${missing.join(" and ")}`,
          },
        ],
        breaks: WORDS.breaksNames,
      },
    ];
  },
};

/** v1 and v2 (hcn.md §2.10). */
const DEGRADED_LOAD_BALANCER = 4;

const DEGRADED: NodeCheck = {
  id: "load-balancers-are-applied",
  code: "hns-object-degraded",
  asks: "no load balancer is degraded",
  needs: ["load balancers"],
  find: ({ loadBalancers }) =>
    together(
      loadBalancers
        .filter(({ document, v1 }) => [document["State"], v1["State"]].includes(DEGRADED_LOAD_BALANCER))
        .map((one) => ({
          name: one.id,
          finding: {
            certainty: "certain",
            message: `load balancer ${one.id} of ${one.vips.map(formatIp).join(", ")} is degraded`,
            evidence: [{ ...one.place, says: `load balancer ${one.id} has State 4` }],
            breaks: "connections to its addresses",
          },
        })),
    ),
};

export const SERVICE_CHECKS: readonly NodeCheck[] = [
  MISSING,
  DNS,
  DIFFER,
  UNKNOWN,
  WITHOUT_SERVICE,
  DOUBLED,
  DEGRADED,
];
