/** What else would keep connections to a port of a Service from its back ends. */
import { textOf } from "#core/base/json.ts";
import { formatIp, parseIp, parsePrefix, prefixContains } from "#core/net/ip.ts";
import { plural } from "#core/base/text-layout.ts";
import { PROTOCOLS, placeText } from "../checks/front-ends.ts";
import { optionOf } from "../checks/programs.ts";
import { addressesOf } from "../checks/services.ts";
import { frontEndOfRule, nameOfRule, rulesOf } from "../checks/rules.ts";
import { BLOCKS_MIN, freeBlocks } from "../checks/windows.ts";
import { type EvidenceLine, shows } from "../check.ts";
import { type ListedEndpoint, networksOfType, subnetsOf } from "../evidence.ts";
import type { At } from "./node-books.ts";
import { type CompetingCause, shownState, showsIf } from "./competing-cause.ts";

/** What HNS says of a load balancer that it applied (hcn.md §2.10). */
const APPLIED = 2;

const NO_BACK_END: CompetingCause<At> = {
  code: "service-without-back-ends",
  excludes(books, at) {
    const frontEnd = books.frontEnd(at);
    return showsIf(
      frontEnd?.ready[0],
      ({ address }) => `the back end ${formatIp(address)} of ${frontEnd?.name ?? ""} is ready`,
    );
  },
};

const MISSING: CompetingCause<At> = {
  code: "load-balancer-missing",
  excludes: (books, at) =>
    showsIf(books.loadBalancers(at)[0], ({ id }) => `load balancer ${id} serves ${placeText(at)}`),
};

const DOUBLED: CompetingCause<At> = {
  code: "load-balancer-doubled",
  excludes(books, at) {
    const [one, other] = books.loadBalancers(at);
    if (other !== undefined || !books.hasAll("load balancers")) return [];
    const count = plural(books.node.loadBalancers.length, "load balancer");
    return showsIf(one, ({ id }) => `${count}, and ${id} alone serves ${placeText(at)}`);
  },
};

const UNKNOWN: CompetingCause<At> = {
  code: "load-balancer-back-end-unknown",
  excludes(books, at) {
    const [one] = books.loadBalancers(at);
    const found = (one?.backEnds ?? []).map((id) => books.endpointsById.get(id));
    const [first] = found;
    if (one === undefined || first === undefined || found.includes(undefined)) return [];
    return [
      shows(one.place, `load balancer ${one.id} leads to ${plural(found.length, "endpoint")}`),
      shows(first.place, `HNS has ${found.map((each) => each?.id).join(", ")}`),
    ];
  },
};

const DIFFER: CompetingCause<At> = {
  code: "load-balancer-back-ends-differ",
  comparesBoth: true,
  excludes(books, at) {
    const frontEnd = books.frontEnd(at);
    const [one] = books.loadBalancers(at);
    const has = one === undefined ? undefined : addressesOf(one, books.endpointsById);
    if (one === undefined || has === undefined || frontEnd === undefined) return [];
    const ready = new Set(frontEnd.ready.map(({ address }) => address));
    const isSame = has.length > 0 && has.length === ready.size && has.every((each) => ready.has(each));
    if (!isSame) return [];
    const texts = has.map(formatIp).join(", ");
    return [
      shows(one.place, `load balancer ${one.id} leads to ${texts}`),
      ...showsIf(frontEnd.ready[0], () => `${frontEnd.name} has the ready back ends ${texts}`),
    ];
  },
};

const PORT: CompetingCause<At> = {
  code: "load-balancer-port-differs",
  comparesBoth: true,
  excludes(books, at) {
    const frontEnd = books.frontEnd(at);
    const [one] = books.loadBalancers(at);
    const internal = one?.ports?.find(
      ({ external, protocol }) => external === at.port && protocol === at.protocol,
    )?.internal;
    if (one === undefined || internal === undefined || frontEnd?.ports.has(internal) !== true) return [];
    return [
      shows(one.place, `load balancer ${one.id}: internal port ${internal}`),
      ...showsIf(frontEnd.ready[0], () => `slice of ${frontEnd.name}: port ${internal}`),
    ];
  },
};

const DEGRADED: CompetingCause<At> = {
  code: "hns-object-degraded",
  excludes: (books, at) =>
    showsIf(
      books.loadBalancers(at).find((each) => shownState(each) === APPLIED),
      ({ id }) => `load balancer ${id} has State ${APPLIED}`,
    ),
};

/** Where the rule of a front end stands on a port. */
function ruleOf({ endpoint, listing }: ListedEndpoint, { vip, port, protocol }: At): readonly EvidenceLine[] {
  const wanted = `${formatIp(vip)} ${port} ${protocol}`;
  const rule = rulesOf(listing).find((each) => frontEndOfRule(each) === wanted);
  if (rule === undefined) return [];
  const says = `${nameOfRule(rule)}, on the port of ${endpoint.addresses.map(formatIp).join(", ")}`;
  return [{ file: listing.place.file, line: rule.line, says }];
}

const RULES: CompetingCause<At> = {
  code: "hns-rules-differ",
  excludes(books, at) {
    const { listed, endpoints } = books.node;
    const ofPods = endpoints.filter(
      ({ isRemote, document }) => !isRemote && textOf(document["HostComputeNamespace"]) !== "",
    );
    // On a port that was not listed the rule may be missing.
    const isAll = ofPods.every(({ id }) => listed.some(({ endpoint }) => endpoint.id === id));
    const found = listed.map((each) => ruleOf(each, at));
    if (!isAll || found.some((lines) => lines.length === 0)) return [];
    return found.flat().slice(0, 2);
  },
};

const NETWORK: CompetingCause<At> = {
  code: "kube-proxy-network-missing",
  excludes({ node }) {
    const told = node.kubeProxy.map((each) => ({
      place: each.place,
      name: optionOf(each, "network-name", "networkName"),
    }));
    const [one] = told.filter(({ name }) => name !== "");
    const network = node.networks.find(({ name }) => name.toLowerCase() === one?.name.toLowerCase());
    if (one === undefined || network === undefined || told.some(({ name }) => name !== one.name)) return [];
    return [
      shows(one.place, `kube-proxy is told the network ${one.name}`),
      shows(network.place, `HNS has the network ${network.name}`),
    ];
  },
};

const SOURCE: CompetingCause<At> = {
  code: "kube-proxy-source-vip-invalid",
  excludes(books, at) {
    const [network] = networksOfType(books.node, "overlay");
    const [one] = books.loadBalancers(at);
    const address = parseIp(textOf(one?.document["SourceVIP"]));
    if (one === undefined || network === undefined || address === undefined) return [];
    const subnets = subnetsOf(network);
    const isInside = subnets.some((text) => {
      const prefix = parsePrefix(text);
      return prefix !== undefined && prefixContains(prefix, address);
    });
    if (!isInside) return [];
    return [
      shows(one.place, `load balancer ${one.id} has the SourceVIP ${formatIp(address)}`),
      shows(network.place, `network ${network.name} has ${subnets.join(", ")}`),
    ];
  },
};

const PROXY: CompetingCause<At> = {
  code: "windows-service-stopped",
  excludes: ({ node: { host } }) =>
    showsIf(
      host["windows services"].find(({ name, isRunning }) => isRunning && /^kube-?proxy$/iu.test(name)),
      ({ name }) => `the service ${name} runs`,
    ),
};

const PORTS: CompetingCause<At> = {
  code: "load-balancer-ports-exhausted",
  excludes({ node: { host } }, { protocol }: At) {
    const excluded = host["excluded ports"].filter(
      (each) => PROTOCOLS[each.protocol.toUpperCase()] === protocol,
    );
    const dynamic = host["dynamic ports"].find((each) => PROTOCOLS[each.protocol.toUpperCase()] === protocol);
    const [one] = excluded;
    if (dynamic === undefined || one === undefined) return [];
    const free = freeBlocks(dynamic.first, dynamic.count, excluded);
    if (free < BLOCKS_MIN) return [];
    return [
      shows(dynamic.place, `${free} blocks of ${dynamic.protocol} ports are free`),
      shows(one.place, `${plural(excluded.length, "range")} of ${dynamic.protocol} ports excluded`),
    ];
  },
};

export const OF_FRONT_ENDS: readonly CompetingCause<At>[] = [
  MISSING,
  NO_BACK_END,
  DIFFER,
  UNKNOWN,
  DOUBLED,
  PORT,
  DEGRADED,
  RULES,
  NETWORK,
  SOURCE,
  PROXY,
  PORTS,
];
