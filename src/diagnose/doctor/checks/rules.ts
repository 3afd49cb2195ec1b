/** Rules of VFP on the ports of pods, beside what HNS says that it has programmed. */
import { plural } from "#core/base/text-layout.ts";
import { type Ip, formatIp, parseIp } from "#core/net/ip.ts";
import {
  type CheckFinding,
  type NodeCheck,
  type TwinChange,
  type TwinFrontEnd,
  check,
  shows,
} from "../check.ts";
import { type LoadBalancerRecord, type RuleListing, policiesOf } from "../evidence.ts";
import type { ReadRule } from "../../vfp-text/parse-rules.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

export function rulesOf({ port }: RuleListing): readonly ReadRule[] {
  return port.layers.flatMap(({ groups }) => groups.flatMap(({ rules }) => rules));
}

const OUTBOUND_NAT = check("outbound-nat-is-programmed", function* ({ listed }) {
  for (const { endpoint: each, listing } of listed) {
    if (policiesOf(each, "OutBoundNAT").length === 0) continue;
    const rules = rulesOf(listing);
    if (rules.length === 0 || rules.some(({ id, name }) => /OUTBOUNDNAT/iu.test(`${id} ${name}`))) continue;
    const address = each.addresses.map(formatIp).join(", ");
    yield {
      name: address,
      certainty: "certain",
      message: WORDS.outboundNatNotProgrammed({ address }),
      evidence: [
        shows(each.place, `endpoint ${each.name} has the policy OutBoundNAT`),
        shows(listing.place, `${plural(rules.length, "rule")} on its port, none of OutBoundNAT`),
      ],
      breaks: `connections of ${address} to outside of the cluster`,
      ...twinOf(each.addresses, (own) => ({ change: "remove-outbound-nat", address: own })),
    };
  }
});

/**
 * Of `LB_DSR_…_<VIP>_<external>_<internal>_<protocol>…`: address, port, protocol. Both spellings that scripts look for have
 * these four one after the other (https://github.com/microsoft/SDN, https://github.com/microsoft/wcnscripts).
 */
function frontEndIn(text: string): string | undefined {
  if (!text.startsWith("LB_DSR_")) return undefined;
  const parts = text.split("_");
  const at = parts.findIndex(
    (part, index) =>
      parseIp(part) !== undefined &&
      parts.slice(index + 1, index + 4).filter((each) => /^\d{1,5}$/u.test(each)).length === 3,
  );
  return at < 0 ? undefined : `${parts[at] ?? ""} ${parts[at + 1] ?? ""} ${parts[at + 3] ?? ""}`;
}

export function frontEndOfRule({ id, name }: ReadRule): string | undefined {
  return frontEndIn(id) ?? frontEndIn(name);
}

function frontEndsOf({ vips, ports = [] }: LoadBalancerRecord): readonly string[] {
  return vips.flatMap((vip) =>
    ports.map(({ external, protocol }) => `${formatIp(vip)} ${external} ${protocol}`),
  );
}

/** Address, port and protocol of what a rule is told by. */
function frontEndFrom(text: string): TwinFrontEnd | undefined {
  const [address = "", port, protocol] = text.split(" ");
  const vip = parseIp(address);
  return vip === undefined ? undefined : { vip, port: Number(port), protocol: Number(protocol) };
}

/** A pod whose port lacks the rules of a front end is one without the load balancer. */
function withoutRules(text: string, from: Ip): TwinChange | undefined {
  const frontEnd = frontEndFrom(text);
  return frontEnd === undefined ? undefined : { change: "remove-load-balancer", ...frontEnd, from };
}

function aboutFrontEnd(text: string): Pick<CheckFinding, "about"> {
  const frontEnd = frontEndFrom(text);
  return frontEnd === undefined ? {} : { about: { of: "front-end", ...frontEnd } };
}

/** A change of the twin for the first address of an endpoint. */
function twinOf(
  [address]: readonly Ip[],
  changeOf: (address: Ip) => TwinChange | undefined,
): Pick<CheckFinding, "twin"> {
  const twin = address === undefined ? undefined : changeOf(address);
  return twin === undefined ? {} : { twin };
}

const DSR_RULES = check("load-balancers-are-programmed", function* (node) {
  for (const { endpoint, listing } of node.listed) {
    const has = new Set(rulesOf(listing).map(frontEndOfRule));
    // A port without any is one that the listing does not show these layers of.
    if (![...has].some((each) => each !== undefined)) continue;
    for (const one of node.loadBalancers.filter(({ isDsr }) => isDsr))
      for (const frontEnd of frontEndsOf(one).filter((each) => !has.has(each))) {
        const at = frontEnd.split(" ").slice(0, 2).join(":");
        yield {
          name: `${at} at ${endpoint.addresses.map(formatIp).join(", ")}`,
          certainty: "certain",
          message: WORDS.dsrRuleMissing({ at, address: endpoint.addresses.map(formatIp).join(", ") }),
          evidence: [
            shows(one.place, `load balancer ${one.id} serves ${at} with DSR`),
            shows(listing.place, `${has.size} front ends on the pod's port, and not this one`),
          ],
          breaks: `connections of that pod to ${at}`,
          ...twinOf(endpoint.addresses, (own) => withoutRules(frontEnd, own)),
        };
      }
  }
});

const STALE_RULES = check("rules-have-load-balancers", function* (node) {
  const known = new Set(node.loadBalancers.flatMap(frontEndsOf));
  if (known.size === 0) return;
  for (const { endpoint, listing } of node.listed) {
    for (const rule of rulesOf(listing)) {
      const frontEnd = frontEndOfRule(rule);
      if (frontEnd === undefined || known.has(frontEnd)) continue;
      const at = frontEnd.split(" ").slice(0, 2).join(":");
      yield {
        name: `${at} at ${endpoint.addresses.map(formatIp).join(", ")}`,
        certainty: "likely",
        message: WORDS.ruleWithoutLoadBalancer({ at, rule: nameOfRule(rule) }),
        evidence: [
          { file: listing.place.file, line: rule.line, says: nameOfRule(rule) },
          ...node.loadBalancers
            .slice(0, 1)
            .map(({ place }) =>
              shows(place, `${plural(node.loadBalancers.length, "load balancer")}, none with ${at}`),
            ),
        ],
        breaks: `connections of that pod to ${at}`,
        ...aboutFrontEnd(frontEnd),
      };
    }
  }
});

/** Where wcnscripts looks for rules that stand twice: two ids, the same conditions. */
const REWRITE_LAYER = "EXTERNAL_L2_REWRITE_LAYER";

/** What a rule is called: some have a friendly name alone. */
export function nameOfRule({ id, name }: ReadRule): string {
  return id === "" ? name : id;
}

function conditionsOf({ type, conditions }: ReadRule): string {
  return [type, ...conditions.map(({ label, value }) => `${label} ${value}`)].join("; ");
}

/** The first of a group's rules that are there more than once. */
function doubledIn(layer: string, rules: readonly ReadRule[]): readonly ReadRule[] {
  const keyOf = layer === REWRITE_LAYER ? conditionsOf : frontEndOfRule;
  const groups = [...Map.groupBy(rules, keyOf)];
  return groups.find(([key, found]) => key !== undefined && found.length > 1)?.[1] ?? [];
}

const DOUBLED_RULES = check("rules-are-single", function* (node) {
  for (const { endpoint, listing } of node.listed) {
    for (const { name: layer, groups } of listing.port.layers) {
      for (const { rules } of groups) {
        const twice = doubledIn(layer, rules);
        const [rule] = twice;
        if (rule === undefined) continue;
        const frontEnd = frontEndOfRule(rule);
        const at = frontEnd?.split(" ").slice(0, 2).join(":") ?? nameOfRule(rule);
        yield {
          name: `${at} at ${endpoint.addresses.map(formatIp).join(", ")}`,
          certainty: "certain",
          message: WORDS.rulesTwice({ at, count: twice.length }),
          evidence: twice.slice(0, 2).map((each) => ({
            file: listing.place.file,
            line: each.line,
            says: nameOfRule(each),
          })),
          breaks: WORDS.breaksDoubled({ at }),
          ...(frontEnd !== undefined && aboutFrontEnd(frontEnd)),
        };
      }
    }
  }
});

const DNS_RULES = check("dns-rules-are-on-all-ports", function* ({ listed }) {
  const ports = listed
    .map((each) => ({ ...each, has: new Set(rulesOf(each.listing).map(frontEndOfRule)) }))
    .filter(({ has }) => [...has].some((each) => each !== undefined));
  const dns = new Set(
    ports.flatMap(({ has }) => [...has].filter((each) => / 53 (?:6|17)$/u.test(each ?? ""))),
  );
  for (const { endpoint, listing, has } of ports) {
    const missing = [...dns].find((each) => !has.has(each));
    const other = ports.find((each) => each.has.has(missing));
    if (missing === undefined || other === undefined) continue;
    const at = missing.split(" ").slice(0, 2).join(":");
    const address = endpoint.addresses.map(formatIp).join(", ");
    yield {
      name: address,
      certainty: "certain",
      message: WORDS.dsrRuleMissing({ at, address }),
      evidence: [
        shows(listing.place, WORDS.frontEndsWithout({ frontEnds: plural(has.size, "front end"), address })),
        shows(other.listing.place, `the port of ${other.endpoint.addresses.map(formatIp).join(", ")} has it`),
      ],
      breaks: `names in the pod of ${address}`,
      ...twinOf(endpoint.addresses, (own) => withoutRules(missing, own)),
    };
  }
});

export const RULE_CHECKS: readonly NodeCheck[] = [
  OUTBOUND_NAT,
  DNS_RULES,
  DSR_RULES,
  STALE_RULES,
  DOUBLED_RULES,
];
