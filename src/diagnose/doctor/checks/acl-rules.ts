/**
 * ACLs of endpoints beside the rules of ACL_ENDPOINT_LAYER on their ports: a policy without its rule, a rule without its
 * policy, and a rule that is wider than its policy.
 */
import { plural } from "#core/base/text-layout.ts";
import { type Ip, formatIp, formatPrefix, parsePrefix } from "#core/net/ip.ts";
import { parseIpRange, prefixesOfRange } from "#core/net/ip-range.ts";
import { type Fields, textOf } from "#core/base/json.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import {
  type CheckFinding,
  type NodeCheck,
  type TwinAclAim,
  type TwinChange,
  check,
  shows,
} from "../check.ts";
import {
  type HnsRecord,
  type ListedEndpoint,
  type NodeEvidence,
  isCut,
  networkOf,
  policiesOf,
  typeOfNetwork,
} from "../evidence.ts";
import type { ReadRule } from "../../vfp-text/parse-rules.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

type Side = "in" | "out";

/** A policy that VFP has to have a rule of. */
interface StatedAcl {
  readonly name: string;
  readonly side: Side;
  readonly action: "Allow" | "Block";
  readonly priority: number;
  readonly settings: Fields;
  readonly owner: HnsRecord;
}

interface AclRule {
  readonly side: Side;
  readonly rule: ReadRule;
}

/** What stands in the fields that say which packets an ACL is about, by the names of v2. */
const TUPLE = ["Protocols", "LocalAddresses", "RemoteAddresses", "LocalPorts", "RemotePorts"] as const;
type TupleField = (typeof TUPLE)[number];

/** 256 is all protocols; 0 is what v1 writes for no port. */
function tupleText(settings: Fields, field: TupleField): string {
  const value = settings[field];
  const text = typeof value === "number" ? String(value) : textOf(value).trim();
  return text === "0" || (field === "Protocols" && text === "256") ? "" : text;
}

function addressesIn(settings: Fields, field: "LocalAddresses" | "RemoteAddresses"): readonly string[] {
  return tupleText(settings, field)
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

function isAddress(text: string): boolean {
  return parsePrefix(text.includes("/") ? text : `${text}/${text.includes(":") ? 128 : 32}`) !== undefined;
}

/** A set may be empty: then there is no rule of the ACL, and nothing is wrong. */
function namesSet(settings: Fields): boolean {
  return [...addressesIn(settings, "LocalAddresses"), ...addressesIn(settings, "RemoteAddresses")].some(
    (each) => !isAddress(each),
  );
}

function stateOf(settings: Fields, owner: HnsRecord): readonly StatedAcl[] {
  const { Action: action, Direction: direction, Priority: priority = 0 } = settings;
  const isOfSwitch = (textOf(settings["RuleType"]) || "Switch") === "Switch";
  if (!isOfSwitch || (action !== "Allow" && action !== "Block") || typeof priority !== "number") return [];
  const side = direction === "In" ? "in" : "out";
  return [{ name: textOf(settings["Id"]), side, action, priority, settings, owner }];
}

/** Those of the endpoint, and those of its network, which are for each endpoint. */
function statedFor({ endpoint }: ListedEndpoint, node: NodeEvidence): readonly StatedAcl[] {
  const network = networkOf(node, endpoint);
  return [
    ...policiesOf(endpoint, "ACL").flatMap((each) => stateOf(each, endpoint)),
    ...(network === undefined ? [] : policiesOf(network, "NetworkACL")).flatMap((each) =>
      network === undefined ? [] : stateOf(each, network),
    ),
  ];
}

const GROUP = /^ACL_ENDPOINT_GROUP/iu;

/** What the listing shows of the layer, and for which directions it shows it. */
function programmedOn({ listing }: ListedEndpoint): {
  readonly rules: readonly AclRule[];
  readonly sides: ReadonlySet<Side>;
} {
  const groups = listing.port.layers
    .flatMap((layer) => layer.groups)
    .filter(({ id, name }) => GROUP.test(id) || GROUP.test(name))
    .map((group) => ({ ...group, side: group.direction === "IN" ? ("in" as const) : ("out" as const) }));
  return {
    rules: groups.flatMap(({ side, rules }) => rules.map((rule) => ({ side, rule }))),
    sides: new Set(groups.map(({ side }) => side)),
  };
}

/** The friendly name is that of the ACL; the id is a GUID. */
function nameOfRule({ id, name }: ReadRule): string {
  return name === "" ? id : name;
}

function hasFormOf({ side, action, priority }: StatedAcl, { rule, side: listed }: AclRule): boolean {
  return side === listed && rule.type === action.toLowerCase() && rule.priority === priority;
}

/** By its name, where rules of the port have the names of policies; else by direction, action and priority. */
function rulesFor(acl: StatedAcl, rules: readonly AclRule[], all: readonly StatedAcl[]): readonly AclRule[] {
  const names = new Set(rules.map(({ rule }) => rule.name));
  const isNamed = acl.name !== "" && all.some(({ name }) => name !== "" && names.has(name));
  return rules.filter((each) => hasFormOf(acl, each) && (!isNamed || each.rule.name === acl.name));
}

function describe(acl: StatedAcl): string {
  const { settings, action, side, priority } = acl;
  const of = (label: string, field: TupleField): string => {
    const text = tupleText(settings, field);
    return text === "" ? "" : `${label} ${text}`;
  };
  const peer = side === "in" ? "from" : "to";
  const parts = [
    of("protocol", "Protocols"),
    of(peer, "RemoteAddresses"),
    of("local", "LocalAddresses"),
    of("local port", "LocalPorts"),
    of("remote port", "RemotePorts"),
  ].filter((each) => each !== "");
  const packets = parts.length === 0 ? "all packets" : parts.join(", ");
  return `${action} ${side === "in" ? "In" : "Out"} ${priority} (${packets})`;
}

/** The policy as the twin takes it. */
function documentOf(settings: Fields): PolicyDocument {
  const texts = TUPLE.map((field) => [field, tupleText(settings, field)] as const).filter(
    ([, text]) => text !== "",
  );
  return {
    Type: "ACL",
    Settings: {
      Action: textOf(settings["Action"]),
      Direction: textOf(settings["Direction"]),
      Priority: typeof settings["Priority"] === "number" ? settings["Priority"] : 0,
      RuleType: "Switch",
      ...Object.fromEntries(texts),
    },
  };
}

/** The port that the ACL is about, and the peers; the packet that tells with it from without. */
function aimAt({ settings, side }: StatedAcl, isOutside = false): TwinAclAim {
  const port = Number.parseInt(tupleText(settings, side === "in" ? "LocalPorts" : "RemotePorts"), 10);
  const protocol = Number.parseInt(tupleText(settings, "Protocols"), 10);
  return {
    isInbound: side === "in",
    peers: addressesIn(settings, "RemoteAddresses"),
    isOutside,
    ...(port > 0 && { port }),
    ...(protocol > 0 && { protocol }),
  };
}

function changeOf(
  [address]: readonly Ip[],
  [stated, programmed]: readonly [readonly StatedAcl[], readonly Fields[]],
  aim: TwinAclAim,
): Pick<CheckFinding, "twin"> {
  if (address === undefined) return {};
  const known = (all: readonly Fields[]): PolicyDocument[] =>
    all.filter((each) => !namesSet(each)).map(documentOf);
  const twin: TwinChange = {
    change: "other-acls",
    address,
    stated: known(stated.map(({ settings }) => settings)),
    programmed: known(programmed),
    aim,
  };
  return { twin };
}

/** Networks whose ACLs are rules of VFP. */
const OF_VFP: readonly string[] = ["overlay", "l2bridge", "l2tunnel"];

interface Compared {
  readonly of: ListedEndpoint;
  readonly text: string;
  readonly stated: readonly StatedAcl[];
  readonly rules: readonly AclRule[];
  readonly sides: ReadonlySet<Side>;
}

/** Endpoints whose ACLs are all there, beside a port that shows the layer. */
function comparedOn(node: NodeEvidence): readonly Compared[] {
  return node.listed.flatMap((of): readonly Compared[] => {
    const { endpoint } = of;
    const network = networkOf(node, endpoint);
    if (network === undefined || !OF_VFP.includes(typeOfNetwork(network).toLowerCase())) return [];
    const { rules, sides } = programmedOn(of);
    const text = endpoint.addresses.map(formatIp).join(", ");
    return sides.size === 0 ? [] : [{ of, text, stated: statedFor(of, node), rules, sides }];
  });
}

const MISSING = check("acls-are-programmed", function* (node) {
  for (const {
    of: { endpoint, listing },
    text,
    stated,
    rules,
    sides,
  } of comparedOn(node)) {
    const checked = stated.filter(({ side, settings }) => sides.has(side) && !namesSet(settings));
    const lacking = checked.filter((acl) => rulesFor(acl, rules, stated).length === 0);
    for (const acl of lacking) {
      const left = stated.filter((each) => !lacking.includes(each));
      const said = describe(acl);
      yield {
        name: `${said} of ${text}`,
        certainty: "certain",
        message: WORDS.aclNotProgrammed({ address: text, acl: said }),
        evidence: [
          shows(acl.owner.place, `${acl.owner.name || acl.owner.id} has the ACL ${said}`),
          shows(listing.place, WORDS.aclRulesWithout({ rules: plural(rules.length, "rule") })),
        ],
        breaks:
          acl.action === "Block"
            ? WORDS.breaksAclBlock({ address: text })
            : WORDS.breaksAclAllow({ address: text }),
        ...changeOf(endpoint.addresses, [stated, left.map(({ settings }) => settings)], aimAt(acl)),
      };
    }
  }
});

/** True for an ACL that is not about all packets of its direction. */
function isNarrow({ settings }: StatedAcl): boolean {
  return TUPLE.some((field) => field !== "LocalAddresses" && tupleText(settings, field) !== "");
}

const WIDER = check("acl-rules-are-as-narrow-as-acls", function* (node) {
  for (const {
    of: { endpoint },
    of: { listing },
    text,
    stated,
    rules,
  } of comparedOn(node)) {
    for (const acl of stated.filter(isNarrow)) {
      const own = rulesFor(acl, rules, stated);
      const [first] = own;
      if (first === undefined || own.some(({ rule }) => rule.conditions.length > 0)) continue;
      // Another ACL of the same strength may be the one that is for all packets.
      if (stated.some((each) => !isNarrow(each) && hasFormOf(each, first))) continue;
      const said = describe(acl);
      const wide = TUPLE.reduce<Fields>((all, field) => ({ ...all, [field]: "" }), acl.settings);
      const programmed = stated.map((each) => (each === acl ? wide : each.settings));
      yield {
        name: `${said} of ${text}`,
        certainty: "certain",
        message: WORDS.aclRuleWider({ address: text, acl: said }),
        evidence: [
          shows(acl.owner.place, `${acl.owner.name || acl.owner.id} has the ACL ${said}`),
          {
            file: listing.place.file,
            line: first.rule.line,
            says: WORDS.aclRuleWithoutConditions({ rule: nameOfRule(first.rule) }),
          },
        ],
        breaks:
          acl.action === "Block"
            ? WORDS.breaksAclAllow({ address: text })
            : WORDS.breaksAclBlock({ address: text }),
        ...changeOf(endpoint.addresses, [stated, programmed], aimAt(acl, true)),
      };
    }
  }
});

/** What a rule's conditions say, as fields of an ACL. */
function settingsOf({ rule, side }: AclRule): Fields {
  const value = (label: string): string =>
    rule.conditions.find((each) => each.label === label)?.value.replaceAll(", ", ",") ?? "";
  const addresses = (label: string): string =>
    value(label)
      .split(",")
      .flatMap((text) => {
        const range = parseIpRange(text);
        return range === undefined ? [] : prefixesOfRange(range).map(formatPrefix);
      })
      .join(",");
  const [local, remote] = side === "out" ? ["Source", "Destination"] : ["Destination", "Source"];
  return {
    Action: rule.type === "block" ? "Block" : "Allow",
    Direction: side === "out" ? "Out" : "In",
    Priority: rule.priority,
    Protocols: value("Protocols"),
    LocalPorts: value(`${local} ports`),
    RemotePorts: value(`${remote} ports`),
    RemoteAddresses: addresses(`${remote} IP`),
  };
}

const STALE = check("acl-rules-have-acls", function* (node) {
  for (const {
    of: { endpoint, listing },
    text,
    stated,
    rules,
  } of comparedOn(node)) {
    if (isCut(endpoint, "Policies") || policiesOf(endpoint, "TierAcl").length > 0) continue;
    const stale = rules.filter(
      (each) =>
        // HNS programs rules by itself that allow all packets.
        (each.rule.type === "block" || (each.rule.type === "allow" && each.rule.conditions.length > 0)) &&
        !stated.some((acl) => hasFormOf(acl, each) || (acl.name !== "" && acl.name === each.rule.name)),
    );
    for (const each of stale) {
      const { rule, side } = each;
      const [own] = stateOf(settingsOf(each), endpoint);
      const said = `${nameOfRule(rule)} (${rule.type}, ${rule.priority})`;
      const all = [...stated.map(({ settings }) => settings), ...(own === undefined ? [] : [own.settings])];
      yield {
        name: `${said} at ${text}`,
        certainty: "likely",
        message: WORDS.aclRuleStale({ address: text, rule: said }),
        evidence: [
          { file: listing.place.file, line: rule.line, says: nameOfRule(rule) },
          shows(endpoint.place, WORDS.aclsWithout({ acls: plural(stated.length, "ACL"), side })),
        ],
        breaks:
          rule.type === "block"
            ? WORDS.breaksAclAllow({ address: text })
            : WORDS.breaksAclBlock({ address: text }),
        ...(own !== undefined && changeOf(endpoint.addresses, [stated, all], aimAt(own))),
      };
    }
  }
});

export const ACL_CHECKS: readonly NodeCheck[] = [MISSING, WIDER, STALE];
