/** Rules over the policies of requests to HNS (hcn.md §3). */
import { shown } from "../views/address-ranges.ts";
import { fieldOf } from "../views/cni-view.ts";
import { type LintPath, keyOf, listAt, numberAt } from "../input/fields.ts";
import { type HnsPolicyView, type HnsView, hnsText, hnsView } from "../views/hns-view.ts";
import { type LintRule, type RuleFinding, rule } from "../rule.ts";
import { hnsRule } from "./hns.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}

/** hcn.md §3.1–§3.3, §3.6, in lower case. */
const NETWORK_POLICIES = words(WORDS.networkPolicyTypes);
const SUBNET_POLICIES = words("vlan vsid");
const ENDPOINT_POLICIES = words(WORDS.endpointPolicyTypes);
const ALL = new Set([...NETWORK_POLICIES, ...SUBNET_POLICIES, ...ENDPOINT_POLICIES]);

/** What stands at an object of the other kind, without doubt. */
const ONLY_NETWORK = words(
  "sourcemacaddress netadaptername vswitchextension drmacaddress automaticdns remotesubnetroute vxlanport hostroute setpolicy layerconstraint networkacl",
);
const ONLY_ENDPOINT = words(
  "portmapping sdnroute l4wfpproxy portname encapoverhead encryption interfaceparameters iov tieracl",
);

function typePath({ path, value }: HnsPolicyView): RuleFinding["at"] {
  return { path: [...path, keyOf(value, "Type") ?? "Type"], part: "value" };
}

function isEvaluated({ object }: HnsView): boolean {
  return object === "network" || object === "endpoint";
}

function everyPolicy(view: HnsView): readonly HnsPolicyView[] {
  return [...view.policies, ...view.subnets.flatMap(({ policies }) => policies)];
}

/** 0x803b000e. */
const UNKNOWN = hnsRule("hns-policy-type-unknown", function* (view) {
  if (!isEvaluated(view)) return;
  for (const policy of everyPolicy(view))
    if (!ALL.has(policy.type.toLowerCase()))
      yield {
        at: typePath(policy),
        message:
          policy.type === ""
            ? "a policy without a type is refused by HNS"
            : `HNS knows no policy of type ${shown(policy.type)}`,
      };
});

const SCOPE = hnsRule("hns-policy-scope", function* (view) {
  for (const policy of view.policies) {
    const type = policy.type.toLowerCase();
    if (view.object === "network" && ONLY_ENDPOINT.has(type))
      yield {
        at: typePath(policy),
        message: `${policy.type} is a policy of endpoints, and this is a network`,
      };
    if (view.object === "endpoint" && ONLY_NETWORK.has(type))
      yield {
        at: typePath(policy),
        message: `${policy.type} is a policy of networks, and this is an endpoint`,
      };
    if (view.object === "network" && type === "vsid" && view.isV2)
      yield { at: typePath(policy), message: WORDS.vsidOnNetwork };
  }
  for (const { policies } of view.subnets)
    for (const policy of policies)
      if (ALL.has(policy.type.toLowerCase()) && !SUBNET_POLICIES.has(policy.type.toLowerCase()))
        yield {
          at: typePath(policy),
          message: WORDS.notSubnetPolicy({ type: policy.type }),
        };
});

/** Fields that stand flat in v1, and below Settings in v2. Flat VLAN and VSID are known from old samples of v2. */
const SHAPE = hnsRule("hns-policy-shape-mismatch", function* (view) {
  if (!isEvaluated(view)) return;
  for (const { type, path, value, settings } of view.policies) {
    const others = Object.keys(value).filter((key) => !/^(?:type|settings|id|name)$/i.test(key));
    const [flat] = others;
    if (view.isV2 && settings === undefined && flat !== undefined && !/^(?:vlan|vsid)$/i.test(type))
      yield {
        at: { path: [...path, flat] },
        message: WORDS.policyFieldsOutsideSettings({ flat: shown(flat) }),
        fix: 'Put the fields below "Settings".',
      };
    if (!view.isV2 && settings !== undefined)
      yield {
        at: { path: settings.path },
        message: 'HNS v1 reads flat policies, and "Settings" means nothing to it',
        fix: 'Write the fields beside "Type".',
      };
    const list = settings === undefined ? undefined : fieldOf(settings.value, settings.path, "ExceptionList");
    if (view.isV2 && list !== undefined && type.toLowerCase() === "outboundnat")
      yield {
        at: { path: list.path },
        message: WORDS.exceptionListInSettings,
        severity: "warning",
      };
  }
});

const ACTIONS = words("allow block pass");
const DIRECTIONS = words("in out");
/** Protocols of ACLs that have ports: TCP, UDP, SCTP. */
const WITH_PORTS = words("6 17 132 tcp udp");

function* aclFaults(owner: unknown, path: LintPath): Generator<RuleFinding> {
  for (const name of ["LocalAddresses", "RemoteAddresses"]) {
    const field = fieldOf(owner, path, name);
    if (typeof field?.value === "string" && /^(?:any|\*|all)$/i.test(field.value.trim()))
      yield {
        at: { path: field.path, part: "value" },
        message: `HNS refuses ${shown(field.value)} as an address of an ACL`,
        fix: "Leave the field out: that means any address.",
      };
  }
  yield* oneOf(owner, path, "Action", ACTIONS);
  yield* oneOf(owner, path, "Direction", DIRECTIONS);
  const priority = fieldOf(owner, path, "Priority");
  const number = numberAt(priority?.value);
  if (priority !== undefined && number !== undefined && number > 65_500)
    yield {
      at: { path: priority.path, part: "value" },
      message: WORDS.aclPriorityIneffective({ number }),
      severity: "warning",
    };
  yield* portsWithoutProtocol(owner, path);
}

function* oneOf(
  owner: unknown,
  path: LintPath,
  name: string,
  known: ReadonlySet<string>,
): Generator<RuleFinding> {
  const field = fieldOf(owner, path, name);
  if (typeof field?.value !== "string" || known.has(field.value.toLowerCase())) return;
  yield {
    at: { path: field.path, part: "value" },
    message: `${shown(field.value)} is not a valid ${name} of an ACL`,
    fix: `Write ${[...known].map((word) => word[0]?.toUpperCase() + word.slice(1)).join(", ")}.`,
  };
}

function* portsWithoutProtocol(owner: unknown, path: LintPath): Generator<RuleFinding> {
  const protocols =
    hnsText(owner, "Protocols") || String(numberAt(owner, keyOf(owner, "Protocol") ?? "") ?? "");
  if (protocols.split(",").every((each) => WITH_PORTS.has(each.trim().toLowerCase()))) return;
  for (const name of ["LocalPorts", "RemotePorts"]) {
    const field = fieldOf(owner, path, name);
    if (typeof field?.value === "string" && field.value !== "")
      yield {
        at: { path: field.path },
        message: WORDS.aclPortsWithoutProtocol({ protocols: shown(protocols) }),
        fix: 'Write Protocols "6" or "17".',
      };
  }
}

/** hcn.md §3.5; hcsshim#1059. */
const ACL = hnsRule("hns-acl-invalid", function* (view) {
  for (const { type, path, value, settings } of view.policies) {
    if (!/^(?:acl|networkacl)$/i.test(type)) continue;
    const owner = settings ?? { path, value };
    yield* aclFaults(owner.value, owner.path);
  }
});

const LIMITS_OF_ACL = ["LocalAddresses", "RemoteAddresses", "LocalPorts", "RemotePorts", "ServiceName"];
/** Any protocol. */
const ANY_PROTOCOL = words(" 256 0");

/** The ACL holds for all packets of its direction. */
function isWithoutLimit(acl: unknown): boolean {
  const protocols = hnsText(acl, "Protocols") || String(numberAt(acl, keyOf(acl, "Protocol") ?? "") ?? "");
  return ANY_PROTOCOL.has(protocols) && LIMITS_OF_ACL.every((name) => hnsText(acl, name) === "");
}

/** What HNS shows is looked at, too: the policies of an endpoint are all that it has. */
const BLOCKED = rule("hns-acl-blocks-direction", "hns", function* (document) {
  const { object, policies } = hnsView(document);
  if (object === "network" || object === "load-balancer") return;
  const acls = policies
    .filter(({ type }) => type.toLowerCase() === "acl")
    .map(({ path, value, settings }) => settings ?? { path, value });
  for (const direction of DIRECTIONS) {
    const own = acls.filter(({ value }) => hnsText(value, "Direction").toLowerCase() === direction);
    const isOpen = own.some(({ value }) => hnsText(value, "Action").toLowerCase() !== "block");
    // What none allows is dropped, so an ACL for one address does what one for all does (dataplane.md §4.2).
    const blocking = own.find(({ value }) => isWithoutLimit(value)) ?? own[0];
    const field = blocking && fieldOf(blocking.value, blocking.path, "Direction");
    if (isOpen || field === undefined) continue;
    const message = isWithoutLimit(blocking?.value)
      ? WORDS.aclBlocksAll({ direction })
      : WORDS.aclAllowsNothing({ direction });
    yield { at: { path: field.path, part: "value" }, message };
  }
});

const MAC = /^[0-9a-f]{2}(?:[-:][0-9a-f]{2}){5}$/i;
const ROUTE_FIELDS = ["DestinationPrefix", "IsolationId", "ProviderAddress", "DistributedRouterMacAddress"];

/** hcn.md §3.1. */
const REMOTE_SUBNET = hnsRule("hns-remote-subnet-route-invalid", function* (view) {
  for (const { type, path, value, settings } of view.policies) {
    if (type.toLowerCase() !== "remotesubnetroute") continue;
    const owner = settings ?? { path, value };
    const missing = ROUTE_FIELDS.find((name) => fieldOf(owner.value, owner.path, name) === undefined);
    if (missing !== undefined)
      yield { at: { path: owner.path }, message: `a route to another node's subnet needs ${missing}` };
    const mac = fieldOf(owner.value, owner.path, "DistributedRouterMacAddress");
    if (typeof mac?.value === "string" && !MAC.test(mac.value))
      yield { at: { path: mac.path, part: "value" }, message: `${shown(mac.value)} is not a MAC address` };
    const vni = fieldOf(owner.value, owner.path, "IsolationId");
    const id = numberAt(vni?.value);
    if (vni !== undefined && id !== undefined && id < 4_096)
      yield {
        at: { path: vni.path, part: "value" },
        message: `Windows takes VXLAN network identifiers from 4096 on, and not ${id}`,
      };
  }
});

/** hcn.md §2.12: v1 has one text with commas, v2 a list. */
const DNS = hnsRule("hns-dns-shape-mismatch", function* (view, { value }) {
  if (!isEvaluated(view)) return;
  const flat = fieldOf(value, [], "DNSServerList");
  if (flat !== undefined && Array.isArray(flat.value))
    yield {
      at: { path: flat.path, part: "value" },
      message: WORDS.dnsServerListNotText,
    };
  const dns = fieldOf(value, [], "Dns");
  for (const name of ["ServerList", "Search"]) {
    const list = dns === undefined ? undefined : fieldOf(dns.value, dns.path, name);
    if (
      list !== undefined &&
      list.value !== null &&
      listAt(list.value).length === 0 &&
      typeof list.value === "string"
    )
      yield { at: { path: list.path, part: "value" }, message: `${name} is a list of texts in HCN v2` };
  }
});

export const HNS_POLICY_RULES: readonly LintRule[] = [
  UNKNOWN,
  SCOPE,
  SHAPE,
  ACL,
  BLOCKED,
  REMOTE_SUBNET,
  DNS,
];
