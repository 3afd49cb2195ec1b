/** Services and EndpointSlices beside the load balancers of HNS. */
import { plural } from "#core/base/text-layout.ts";
import { type Ip, formatIp, parseIp } from "#core/net/ip.ts";
import { type CheckFinding, type NodeCheck, check, shows } from "../check.ts";
import {
  type ClusterEvidence,
  type EndpointRecord,
  type KubeRecord,
  type LoadBalancerRecord,
  type NodeEvidence,
  addressesOfNode,
  typeOfNetwork,
} from "../evidence.ts";
import { addressesOfPod } from "./endpoints.ts";
import {
  DNS_PORT,
  type FrontEnd,
  type OtherFrontEnd,
  byVip,
  frontEndsOf,
  nameOf,
  otherFrontEnds,
  placeText,
  serves,
} from "./front-ends.ts";
import { byId } from "./load-balancers.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

function createdAt(service: KubeRecord<"Service">): number {
  return Date.parse(service.object.metadata.creationTimestamp ?? "") || Number.POSITIVE_INFINITY;
}

/** DNS first: without it nothing else is found. */
function byHarm(a: FrontEnd, b: FrontEnd): number {
  return Number(b.port === DNS_PORT) - Number(a.port === DNS_PORT);
}

const MISSING = check("services-have-load-balancers", ({ loadBalancers, none, networks, logs }, cluster) => {
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
  return missing.toSorted(byHarm).map((each) => {
    const at = placeText(each);
    const [backEnd] = each.ready;
    // A younger Service is programmed: the dump was made after kube-proxy had seen this one.
    const isOlder = createdAt(each.service) < youngest;
    return {
      name: `${each.name} ${at}`,
      certainty: isOlder ? "certain" : "likely",
      message: `HNS has no load balancer for ${at} of Service ${each.name}`,
      evidence: [
        shows(each.service.place, `Service ${each.name} has the address ${at}`),
        ...(backEnd === undefined
          ? []
          : [shows(backEnd.place, `its back end ${formatIp(backEnd.address)} is ready`)]),
        ...(place === undefined
          ? []
          : [
              shows(
                place,
                WORDS.loadBalancersWithout({
                  loadBalancers: plural(loadBalancers.length, "load balancer"),
                  at,
                }),
              ),
            ]),
      ],
      breaks: `pods of this node that ask ${at}`,
      // Whether HNS lost it, refused it or was never asked is in logs alone.
      ...(logs.length > 0 ? {} : { next: WORDS.whyIsInLogs }),
      twin: { change: "remove-load-balancer", vip: each.vip, port: each.port, protocol: each.protocol },
    } as const;
  });
});

/** Addresses of a load balancer's back ends; undefined where one of them is not in the dump. */
export function addressesOf(
  { backEnds }: LoadBalancerRecord,
  endpoints: ReadonlyMap<string, EndpointRecord>,
): readonly Ip[] | undefined {
  const found = backEnds.map((id) => endpoints.get(id));
  if (found.includes(undefined)) return undefined;
  return found.flatMap((each) => each?.addresses.slice(0, 1) ?? []);
}

function* backEndsThatDiffer(node: NodeEvidence, cluster: ClusterEvidence): Iterable<CheckFinding> {
  const endpoints = byId(node.endpoints);
  const loads = byVip(node.loadBalancers.filter(({ ports }) => ports !== undefined));
  for (const each of frontEndsOf(cluster)) {
    if (each.isLocalOnly || each.ready.length === 0) continue;
    for (const one of (loads.get(each.vip) ?? []).filter((load) => serves(load, each))) {
      const has = addressesOf(one, endpoints);
      if (has === undefined) continue;
      const stale = has.filter((address) => !each.named.has(address));
      const known = new Set(has);
      const missing = each.ready.filter(({ address }) => !known.has(address));
      if (stale.length + missing.length === 0) continue;
      const at = placeText(each);
      const [gone] = stale;
      const [late] = missing;
      yield {
        name: `${each.name} ${at}`,
        // Pods come and go between two files; an address that no slice knows is no pod of the Service any more.
        certainty: stale.length > 0 ? "likely" : "possible",
        message:
          gone === undefined
            ? `the load balancer of ${at} lacks the back end ${late === undefined ? "" : formatIp(late.address)}`
            : WORDS.leadsToStale({ at, address: formatIp(gone), service: each.name }),
        evidence: [
          shows(one.place, `load balancer ${one.id} leads to ${has.map(formatIp).join(", ") || "nothing"}`),
          shows(
            (late ?? each.ready[0] ?? { place: each.service.place }).place,
            `${each.name} has the ready back ends ${each.ready.map(({ address }) => formatIp(address)).join(", ")}`,
          ),
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
      };
    }
  }
}

const DIFFER = check("back-ends-are-those-of-slices", (node, cluster) => backEndsThatDiffer(node, cluster));

const PORT_DIFFERS = check("load-balancers-lead-to-the-port", function* ({ loadBalancers }, cluster) {
  const known = byVip(loadBalancers);
  for (const each of frontEndsOf(cluster)) {
    const one = known.get(each.vip)?.find((load) => serves(load, each));
    const internal = one?.ports?.find(
      ({ external, protocol }) => external === each.port && protocol === each.protocol,
    )?.internal;
    const [backEnd] = each.ready;
    if (one === undefined || internal === undefined || internal === 0 || backEnd === undefined) continue;
    if (each.ports.size === 0 || each.ports.has(internal)) continue;
    const at = placeText(each);
    const wanted = [...each.ports].join(", ");
    yield {
      name: `${each.name} ${at}`,
      certainty: "likely",
      message: WORDS.portDiffers({ at, internal, each: each.name, wanted }),
      evidence: [
        shows(one.place, `load balancer ${one.id}: internal port ${internal}`),
        shows(backEnd.place, `slice of ${each.name}: port ${wanted}`),
      ],
      breaks: `connections to ${at}`,
      about: { of: "front-end", vip: each.vip, port: each.port, protocol: each.protocol },
    };
  }
});

/** Of front ends that are not cluster addresses, those without a load balancer. */
function* withoutLoadBalancer(
  { loadBalancers, none }: NodeEvidence,
  wanted: readonly OtherFrontEnd[],
): Iterable<CheckFinding> {
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
  if (!isShown || place === undefined) return;
  for (const { service, what } of wanted.filter(
    ({ vip, port, protocol }) => !known.has(key(vip, port, protocol)),
  ))
    yield {
      name: `${nameOf(service.object)} ${what}`,
      certainty: "likely",
      message: `HNS has no load balancer for ${what} of Service ${nameOf(service.object)}`,
      evidence: [
        shows(service.place, `Service ${nameOf(service.object)} has ${what}`),
        shows(
          place,
          WORDS.loadBalancersWithout({
            loadBalancers: plural(loadBalancers.length, "load balancer"),
            at: what,
          }),
        ),
      ],
      breaks: `connections to ${what} by way of this node`,
    };
}

const NODE_PORTS = check("node-ports-have-load-balancers", (node, cluster) =>
  withoutLoadBalancer(
    node,
    otherFrontEnds(cluster).filter(({ vip }) => vip === undefined),
  ),
);

const OTHER_ADDRESSES = check("ingress-addresses-have-load-balancers", (node, cluster) =>
  withoutLoadBalancer(
    node,
    otherFrontEnds(cluster).filter(({ vip }) => vip !== undefined),
  ),
);

/** All addresses that lead to a Service, or that it asked for; IPv6 has several spellings. */
function addressesOfService({ object: { spec, status } }: KubeRecord<"Service">): readonly Ip[] {
  const texts = [
    ...(spec?.clusterIPs ?? [spec?.clusterIP ?? ""]),
    ...(spec?.externalIPs ?? []),
    spec?.loadBalancerIP ?? "",
    ...(status?.loadBalancer?.ingress ?? []).map(({ ip = "" }) => ip),
  ];
  return texts.flatMap((text) => parseIp(text) ?? []);
}

const WITHOUT_SERVICE = check("load-balancers-have-services", ({ loadBalancers }, { services }) => {
  // All namespaces were asked for where the Service of the API server is there.
  const whole = services.find(({ object }) => nameOf(object) === "default/kubernetes");
  if (whole === undefined) return [];
  const known = new Set(services.flatMap(addressesOfService));
  const stale = loadBalancers.filter(({ vips }) => vips.length > 0 && !vips.some((vip) => known.has(vip)));
  return stale.map((one) => {
    const vip = one.vips.map(formatIp).join(", ");
    return {
      name: `${one.id} ${vip}`,
      certainty: "likely",
      message: `load balancer ${one.id} serves ${vip}, which is no Service's address`,
      evidence: [
        shows(one.place, `load balancer ${one.id} has the address ${vip}`),
        shows(whole.place, `${services.length} Services, none with ${vip}`),
      ],
      breaks: WORDS.breaksStaleVip,
    };
  });
});

const REMOTE_KNOWN = check(
  "remote-endpoints-are-somebody",
  function* ({ endpoints, loadBalancers }, { pods, services, slices, nodes }) {
    // Those that a load balancer has are told with it.
    const used = new Set(loadBalancers.flatMap(({ backEnds }) => backEnds));
    const known = new Set([
      // On overlay networks kube-proxy makes an endpoint for the address of a Service, too.
      ...services.flatMap(addressesOfService),
      ...pods.flatMap(addressesOfPod),
      ...nodes.flatMap((node) => addressesOfNode(node)),
      ...slices.flatMap(({ object }) =>
        (object.endpoints ?? []).flatMap(({ addresses }) => addresses.flatMap((text) => parseIp(text) ?? [])),
      ),
    ]);
    for (const { isRemote, addresses, name, id, place } of endpoints) {
      if (!isRemote || addresses.length === 0 || used.has(id.toLowerCase())) continue;
      if (addresses.some((each) => known.has(each))) continue;
      yield {
        name: addresses.map(formatIp).join(", "),
        certainty: "possible",
        message: `a remote endpoint has ${addresses.map(formatIp).join(", ")}, which nobody has`,
        evidence: [shows(place, `remote endpoint ${name || id}`)],
        breaks: WORDS.breaksLeftEndpoint,
      };
    }
  },
);

export const SERVICE_CHECKS: readonly NodeCheck[] = [
  MISSING,
  DIFFER,
  PORT_DIFFERS,
  NODE_PORTS,
  OTHER_ADDRESSES,
  WITHOUT_SERVICE,
  REMOTE_KNOWN,
];
