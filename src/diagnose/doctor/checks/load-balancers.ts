/** What load balancers of HNS say of themselves, without a Service beside them. */
import { formatIp } from "#core/net/ip.ts";
import { plural } from "#core/base/text-layout.ts";
import { type CheckFinding, type NodeCheck, check, shows } from "../check.ts";
import { type EndpointRecord, type LoadBalancerRecord, isCut } from "../evidence.ts";
import { DNS_PORT, PROTOCOLS, placeText } from "./front-ends.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

/** Of the Service `kubernetes`, which every cluster has. */
const API_PORT = 443;

const DNS = check(
  "dns-is-balanced",
  function* ({ loadBalancers, networks, endpoints }, { services, slices }) {
    const shown = loadBalancers.filter(({ ports }) => ports !== undefined);
    const [list] = shown;
    // With Services the address itself is looked for.
    if (list === undefined || (services.length > 0 && slices.length > 0)) return;
    const has = (protocol: number): boolean =>
      shown.some(({ ports = [] }) =>
        ports.some((each) => each.external === DNS_PORT && each.protocol === protocol),
      );
    const missing = ["UDP", "TCP"].filter((name) => !has(PROTOCOLS[name] ?? 0));
    // Of a list without the API's port, and with nothing else of HNS beside it, somebody showed a part.
    const isShownAlone = networks.length + endpoints.length === 0;
    const isPart =
      isShownAlone && !shown.some(({ ports = [] }) => ports.some(({ external }) => external === API_PORT));
    if (missing.length === 0 || isPart) return;
    yield {
      certainty: "likely",
      message: `no load balancer of this node has the port 53 by ${missing.join(" and ")}`,
      evidence: [
        shows(
          list.place,
          `${plural(shown.length, "load balancer")}, none for port 53 by ${missing.join(" and ")}`,
        ),
      ],
      breaks: WORDS.breaksNames,
    };
  },
);

export function byId(endpoints: readonly EndpointRecord[]): ReadonlyMap<string, EndpointRecord> {
  return new Map(endpoints.map((each) => [each.id.toLowerCase(), each]));
}

/** The first address and port of a load balancer, as what a finding is about. */
function aboutFrontEnd({ vips: [vip], ports: [port] = [] }: LoadBalancerRecord): Pick<CheckFinding, "about"> {
  if (vip === undefined || port === undefined) return {};
  return { about: { of: "front-end", vip, port: port.external, protocol: port.protocol } };
}

const UNKNOWN = check("back-ends-exist", function* ({ loadBalancers, endpoints }) {
  const known = byId(endpoints);
  const broken = loadBalancers.flatMap((one) => {
    const gone = one.backEnds.find((id) => !known.has(id));
    return gone === undefined ? [] : [{ one, gone }];
  });
  // A list that lacks most of them is another one: endpoints of some networks only.
  const isPartial = broken.length > 1 && broken.length > loadBalancers.length / 2;
  for (const { one, gone } of broken)
    yield {
      name: one.id,
      certainty: isPartial ? "possible" : "likely",
      message: WORDS.refersToUnknown({ id: one.id, endpoint: gone }),
      evidence: [
        shows(
          one.place,
          `load balancer ${one.id} of ${one.vips.map(formatIp).join(", ") || "the node's addresses"}`,
        ),
        ...endpoints
          .slice(0, 1)
          .map(({ place }) => shows(place, `${plural(endpoints.length, "endpoint")}, and not this one`)),
      ],
      breaks: "connections that the load balancer sends there",
      ...aboutFrontEnd(one),
    };
});

const DOUBLED = check("front-ends-are-single", function* ({ loadBalancers }) {
  const first = new Map<string, LoadBalancerRecord>();
  for (const one of loadBalancers)
    for (const vip of one.vips)
      for (const { external, protocol } of one.ports ?? []) {
        const at = placeText({ vip, port: external, protocol });
        const known = first.get(at);
        if (known === undefined) first.set(at, one);
        else if (known !== one)
          yield {
            name: at,
            certainty: "certain",
            message: `two load balancers serve ${at}`,
            evidence: [known, one].map(({ place, id }) => shows(place, `load balancer ${id} has ${at}`)),
            breaks: WORDS.breaksDoubled({ at }),
            about: { of: "front-end", vip, port: external, protocol },
          };
      }
});

const WITHOUT_BACK_ENDS = check("load-balancers-have-back-ends", ({ loadBalancers }) =>
  loadBalancers
    .filter((one) => one.ports !== undefined && one.backEnds.length === 0 && !isCut(one, "References"))
    .map((one) => ({
      name: one.id,
      certainty: "likely",
      message: `load balancer ${one.id} of ${one.vips.map(formatIp).join(", ")} has no back end`,
      evidence: [shows(one.place, `load balancer ${one.id}: no endpoints`)],
      breaks: "connections to its addresses",
      ...aboutFrontEnd(one),
    })),
);

/** v1 and v2 (hcn.md §2.10). */
const DEGRADED_LOAD_BALANCER = 4;

const DEGRADED = check("load-balancers-are-applied", ({ loadBalancers }) =>
  loadBalancers
    .filter(({ document, v1 }) => [document["State"], v1["State"]].includes(DEGRADED_LOAD_BALANCER))
    .map((one) => ({
      name: one.id,
      certainty: "certain",
      message: `load balancer ${one.id} of ${one.vips.map(formatIp).join(", ")} is degraded`,
      evidence: [shows(one.place, `load balancer ${one.id} has State 4`)],
      breaks: "connections to its addresses",
      ...aboutFrontEnd(one),
    })),
);

export const LOAD_BALANCER_CHECKS: readonly NodeCheck[] = [
  DNS,
  UNKNOWN,
  DOUBLED,
  WITHOUT_BACK_ENDS,
  DEGRADED,
];
