/** Services and EndpointSlices beside the load balancers of HNS, and what load balancers say of themselves. */
import { type Ip, formatIp, parseIp } from "#core/net/ip.ts";
import { formatSocketAddress } from "#core/net/five-tuple.ts";
import { SERVICE_NAME_LABEL } from "#contracts/kubernetes/labels.ts";
import { addToList } from "#core/base/keyed-lists.ts";
import { plural } from "#core/base/text-layout.ts";
import { type CheckFinding, type Found, type NodeCheck, shows, together } from "../check.ts";
import {
  type ClusterEvidence,
  type EndpointRecord,
  type KubeRecord,
  type LoadBalancerRecord,
  type NodeEvidence,
  addressesOfNode,
  isCut,
  typeOfNetwork,
} from "../evidence.ts";
import type { Place } from "../place.ts";
import { addressesOfPod } from "./endpoints.ts";
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
  /** Of the slices. */
  readonly ports: ReadonlySet<number>;
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
): Pick<FrontEnd, "ready" | "named" | "ports"> {
  const ready: BackEnd[] = [];
  const named = new Set<Ip>();
  const numbers = new Set<number>();
  for (const { object, place } of slices) {
    const { ports = [], endpoints } = object;
    const own = ports.filter((each) => (each.name ?? "") === portName);
    if (own.length === 0) continue;
    for (const { port } of own) if (port !== undefined) numbers.add(port);
    for (const { addresses, conditions } of endpoints ?? [])
      for (const text of addresses.slice(0, 1)) {
        const address = parseIp(text);
        if (address === undefined) continue;
        named.add(address);
        if (conditions?.ready !== false) ready.push({ address, place });
      }
  }
  return { ready, named, ports: numbers };
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
          ports: all.ports,
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

/** Load balancers by their addresses: a node has thousands of both. */
function byVip(loadBalancers: readonly LoadBalancerRecord[]): ReadonlyMap<Ip, readonly LoadBalancerRecord[]> {
  const lists = new Map<Ip, LoadBalancerRecord[]>();
  for (const each of loadBalancers) for (const vip of each.vips) addToList(lists, vip, each);
  return lists;
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
  find({ loadBalancers, none, networks }, cluster) {
    // Where no network is one that kube-proxy programs, none runs.
    const isProgrammed =
      networks.length === 0 || networks.some((each) => !/^(?:nat|transparent)$/iu.test(typeOfNetwork(each)));
    if (loadBalancers.length === 0 && !isProgrammed) return [];
    const wanted = frontEndsOf(cluster).filter(({ ready, isLocalOnly }) => ready.length > 0 && !isLocalOnly);
    const known = byVip(loadBalancers);
    const { missing = [], there = [] } = Object.groupBy(wanted, (each) =>
      known.get(each.vip)?.some((one) => serves(one, each)) === true ? "there" : "missing",
    );
    const youngest = there
      .map(({ service }) => createdAt(service))
      .filter(Number.isFinite)
      .reduce((latest, time) => Math.max(latest, time), Number.NEGATIVE_INFINITY);
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

function* backEndsThatDiffer(node: NodeEvidence, cluster: ClusterEvidence): Iterable<Found> {
  const endpoints = byId(node.endpoints);
  const known = byVip(node.loadBalancers.filter(({ ports }) => ports !== undefined));
  for (const each of frontEndsOf(cluster)) {
    if (each.isLocalOnly || each.ready.length === 0) continue;
    for (const one of (known.get(each.vip) ?? []).filter((load) => serves(load, each))) {
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
    const found: Found[] = [];
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

/** An address or a port of a Service beside its cluster address. */
interface OtherFrontEnd {
  readonly service: KubeRecord<"Service">;
  /** Undefined for a node port, which is at the node's addresses. */
  readonly vip: Ip | undefined;
  readonly port: number;
  readonly protocol: number;
  readonly what: string;
}

/** Node ports, and addresses that a cloud or a user gave, of Services with a ready back end. */
function otherFrontEnds(cluster: ClusterEvidence): readonly OtherFrontEnd[] {
  const served = new Set(
    frontEndsOf(cluster)
      .filter(({ ready }) => ready.length > 0)
      .map(({ name }) => name),
  );
  return cluster.services.flatMap((service) => {
    const { spec, status } = service.object;
    if (!served.has(nameOf(service.object)) || spec?.externalTrafficPolicy === "Local") return [];
    const ingress = (status?.loadBalancer?.ingress ?? []).filter(({ ipMode }) => ipMode !== "Proxy");
    const vips = [...ingress.map(({ ip }) => ip), ...(spec?.externalIPs ?? [])].flatMap(
      (text) => parseIp(text ?? "") ?? [],
    );
    return (spec?.ports ?? []).flatMap(
      ({ port, nodePort, protocol: name = "TCP" }): readonly OtherFrontEnd[] => {
        const protocol = PROTOCOLS[name];
        if (protocol === undefined) return [];
        return [
          ...(nodePort === undefined
            ? []
            : [{ service, vip: undefined, port: nodePort, protocol, what: `node port ${nodePort}/${name}` }]),
          ...vips.map((vip) => ({
            service,
            vip,
            port,
            protocol,
            what: `${formatSocketAddress(vip, port)}/${name}`,
          })),
        ];
      },
    );
  });
}

/** Of front ends that are not cluster addresses, those without a load balancer. */
function withoutLoadBalancer(
  { loadBalancers, none }: NodeEvidence,
  wanted: readonly OtherFrontEnd[],
): readonly CheckFinding[] {
  const key = (vip: Ip | undefined, port: number, protocol: number): string =>
    `${vip ?? ""} ${port} ${protocol}`;
  const known = new Set(
    loadBalancers.flatMap(({ vips, ports = [] }) =>
      ports.flatMap(({ external, protocol }) =>
        (vips.length === 0 ? [undefined] : vips).map((vip) => key(vip, external, protocol)),
      ),
    ),
  );
  const isShown = loadBalancers.every(({ ports }) => ports !== undefined);
  const place = loadBalancers[0]?.place ?? none.get("load balancers");
  if (!isShown || place === undefined) return [];
  return together(
    wanted
      .filter(({ vip, port, protocol }) => !known.has(key(vip, port, protocol)))
      .map(({ service, what }) => ({
        name: `${nameOf(service.object)} ${what}`,
        finding: {
          certainty: "likely",
          message: `HNS has no load balancer for ${what} of Service ${nameOf(service.object)}`,
          evidence: [
            shows(service.place, `Service ${nameOf(service.object)} has ${what}`),
            shows(place, WORDS.loadBalancersWithout({ count: loadBalancers.length, at: what })),
          ],
          breaks: `connections to ${what} by way of this node`,
        },
      })),
  );
}

const NODE_PORTS: NodeCheck = {
  id: "node-ports-have-load-balancers",
  code: "load-balancer-missing",
  asks: WORDS.asksNodePorts,
  needs: ["services", "endpoint slices", "load balancers"],
  wholly: ["load balancers"],
  find: (node, cluster) =>
    withoutLoadBalancer(
      node,
      otherFrontEnds(cluster).filter(({ vip }) => vip === undefined),
    ),
};

const OTHER_ADDRESSES: NodeCheck = {
  id: "ingress-addresses-have-load-balancers",
  code: "load-balancer-missing",
  asks: "addresses that a Service got from outside have load balancers",
  needs: ["services", "endpoint slices", "load balancers"],
  wholly: ["load balancers"],
  find: (node, cluster) =>
    withoutLoadBalancer(
      node,
      otherFrontEnds(cluster).filter(({ vip }) => vip !== undefined),
    ),
};

const PORT_DIFFERS: NodeCheck = {
  id: "load-balancers-lead-to-the-port",
  code: "load-balancer-port-differs",
  asks: "load balancers lead to the port of the EndpointSlices",
  needs: ["services", "endpoint slices", "load balancers"],
  find({ loadBalancers }, cluster) {
    const known = byVip(loadBalancers);
    return together(
      frontEndsOf(cluster).flatMap((each): readonly Found[] => {
        const one = known.get(each.vip)?.find((load) => serves(load, each));
        const internal = one?.ports?.find(
          ({ external, protocol }) => external === each.port && protocol === each.protocol,
        )?.internal;
        const [backEnd] = each.ready;
        if (one === undefined || internal === undefined || internal === 0 || backEnd === undefined) return [];
        if (each.ports.size === 0 || each.ports.has(internal)) return [];
        const at = placeText(each);
        const wanted = [...each.ports].join(", ");
        return [
          {
            name: `${each.name} ${at}`,
            finding: {
              certainty: "likely",
              message: WORDS.portDiffers({ at, internal, each: each.name, wanted }),
              evidence: [
                shows(one.place, `load balancer ${one.id}: internal port ${internal}`),
                shows(backEnd.place, `slice of ${each.name}: port ${wanted}`),
              ],
              breaks: `connections to ${at}`,
            },
          },
        ];
      }),
    );
  },
};

const WITHOUT_BACK_ENDS: NodeCheck = {
  id: "load-balancers-have-back-ends",
  code: "hns-load-balancer-without-endpoints",
  asks: "each load balancer has a back end",
  needs: ["load balancers"],
  find: ({ loadBalancers }) =>
    together(
      loadBalancers
        .filter((one) => one.ports !== undefined && one.backEnds.length === 0 && !isCut(one, "References"))
        .map((one) => ({
          name: one.id,
          finding: {
            certainty: "likely",
            message: `load balancer ${one.id} of ${one.vips.map(formatIp).join(", ")} has no back end`,
            evidence: [shows(one.place, `load balancer ${one.id}: no endpoints`)],
            breaks: "connections to its addresses",
          },
        })),
    ),
};

const REMOTE_KNOWN: NodeCheck = {
  id: "remote-endpoints-are-somebody",
  code: "hns-remote-endpoint-left",
  asks: WORDS.asksRemoteKnown,
  needs: ["pods", "services", "endpoint slices", "nodes", "endpoints"],
  wholly: ["pods", "services", "endpoint slices"],
  find({ endpoints, loadBalancers }, { pods, services, slices, nodes }) {
    // Those that a load balancer has are told with it.
    const used = new Set(loadBalancers.flatMap(({ backEnds }) => backEnds));
    const known = new Set([
      // On overlay networks kube-proxy makes an endpoint for the address of a Service, too.
      ...services.flatMap(({ object: { spec, status } }) =>
        [
          ...(spec?.clusterIPs ?? [spec?.clusterIP ?? ""]),
          ...(spec?.externalIPs ?? []),
          ...(status?.loadBalancer?.ingress ?? []).map(({ ip = "" }) => ip),
        ].flatMap((text) => parseIp(text) ?? []),
      ),
      ...pods.flatMap(addressesOfPod),
      ...nodes.flatMap((node) => addressesOfNode(node)),
      ...slices.flatMap(({ object }) =>
        (object.endpoints ?? []).flatMap(({ addresses }) => addresses.flatMap((text) => parseIp(text) ?? [])),
      ),
    ]);
    return together(
      endpoints
        .filter(
          ({ isRemote, addresses, id }) =>
            isRemote &&
            addresses.length > 0 &&
            !used.has(id.toLowerCase()) &&
            !addresses.some((each) => known.has(each)),
        )
        .map(({ addresses, name, id, place }) => ({
          name: addresses.map(formatIp).join(", "),
          finding: {
            certainty: "possible",
            message: `a remote endpoint has ${addresses.map(formatIp).join(", ")}, which nobody has`,
            evidence: [shows(place, `remote endpoint ${name || id}`)],
            breaks: WORDS.breaksLeftEndpoint,
          },
        })),
    );
  },
};

export const SERVICE_CHECKS: readonly NodeCheck[] = [
  MISSING,
  DNS,
  DIFFER,
  PORT_DIFFERS,
  UNKNOWN,
  NODE_PORTS,
  OTHER_ADDRESSES,
  WITHOUT_SERVICE,
  DOUBLED,
  WITHOUT_BACK_ENDS,
  DEGRADED,
  REMOTE_KNOWN,
];
