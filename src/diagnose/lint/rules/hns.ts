/** Rules over requests to HNS: networks, their subnets, and load balancers (hcn.md §2, §4). */
import { getProfile } from "#core/catalogue/profiles.ts";
import { backEndsMaxOf } from "#core/catalogue/quirks.ts";
import { parseRange, prefixMeantBy, shown } from "../views/address-ranges.ts";
import { fieldOf } from "../views/cni-view.ts";
import type { LintContext } from "../context.ts";
import type { LintDocument } from "../input/document.ts";
import { type LintPath, keyOf, listAt, numberAt } from "../input/fields.ts";
import { isFields } from "#core/base/json.ts";
import { type HnsPolicyView, type HnsSubnetView, type HnsView, hnsText, hnsView } from "../views/hns-view.ts";
import { type LintRule, type RuleFinding, rule } from "../rule.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

/** A rule over requests; what HNS gave out is as it is. */
export function hnsRule(
  code: LintRule["code"],
  check: (view: HnsView, document: LintDocument, context: LintContext) => Iterable<RuleFinding>,
): LintRule {
  return rule(code, "hns", function* (document, context) {
    const view = hnsView(document);
    if (!view.isOutput) yield* check(view, document, context);
  });
}

const NETWORK_TYPES = new Set(WORDS.hnsNetworkTypes.split(" "));

const TYPE = hnsRule("hns-network-type-unknown", function* (view, { value }) {
  const key = keyOf(value, "Type");
  if (view.object !== "network" || key === undefined || typeof value[key] !== "string") return;
  if (!NETWORK_TYPES.has(view.type))
    yield {
      at: { path: [key], part: "value" },
      message: `HNS has no network type ${shown(value[key])}`,
      fix: "It has NAT, ICS, Transparent, L2Bridge, L2Tunnel, Overlay, Private and Internal.",
    };
});

const NEEDS_SUBNET = new Set(["l2bridge", "l2tunnel", "overlay"]);

const WITHOUT_SUBNET = hnsRule("hns-network-without-subnet", function* (view, { value }) {
  if (view.object !== "network" || !NEEDS_SUBNET.has(view.type) || view.subnets.length > 0) return;
  // What HNS shows of a network has the field: where it is absent, it was not pasted, or no column was asked for.
  const isShown = keyOf(value, "ID") !== undefined && !view.isV2;
  if (isShown && keyOf(value, "Subnets") === undefined) return;
  yield {
    at: { path: [keyOf(value, "Type") ?? "Type"] },
    message: WORDS.networkSubnetMissing({ hnsText: hnsText(value, "Type") }),
    fix: view.isV2 ? "Add Ipams with a subnet." : "Add Subnets with an AddressPrefix and a GatewayAddress.",
  };
});

/** hcn.md §4.1: hcsshim refuses it before HNS is asked. */
const WITHOUT_GATEWAY = hnsRule("hns-network-without-gateway", function* (view) {
  if (view.object !== "network" || !(NEEDS_SUBNET.has(view.type) || view.type === "nat")) return;
  for (const { path, prefix, hasGateway } of view.subnets)
    if (prefix !== undefined && !hasGateway)
      yield {
        at: { path: prefix.path ?? path },
        message: `the subnet ${String(prefix.value)} has no gateway`,
        fix: view.isV2
          ? 'Add Routes: [{"DestinationPrefix": "0.0.0.0/0", "NextHop": …}].'
          : "Add GatewayAddress, usually the first address.",
      };
});

/** hcn.md §4.1: 0x803b000a. */
const HOST_BITS = hnsRule("hns-prefix-host-bits", function* (view, _document, context) {
  for (const { prefix } of view.subnets) yield* hostBitsIn(prefix?.path, prefix?.value, "HNS refuses");
  const build = context.buildWhere(({ profile }) => profile.build >= getProfile("ws2022").build);
  if (build === undefined) return;
  for (const { type, path, value, settings } of view.policies) {
    if (type.toLowerCase() !== "outboundnat") continue;
    const owner = settings ?? { path, value };
    for (const name of ["Exceptions", "ExceptionList"]) {
      const list = fieldOf(owner.value, owner.path, name);
      for (const [index, text] of listAt(list?.value).entries())
        yield* hostBitsIn([...(list?.path ?? []), index], text, `${build.profile.title} was seen to refuse`);
    }
  }
});

function* hostBitsIn(path: LintPath | undefined, text: unknown, whoRefuses: string): Generator<RuleFinding> {
  const meant = typeof text === "string" ? prefixMeantBy(text) : undefined;
  if (meant !== undefined && path !== undefined)
    yield {
      at: { path, part: "value" },
      message: `${shown(text)} has bits set after its prefix length, and ${whoRefuses} that`,
      fix: `Write "${meant}".`,
    };
}

interface Vsid {
  readonly path: HnsPolicyView["path"];
  readonly value: unknown;
}

function vsidOf({ policies }: HnsSubnetView): Vsid | undefined {
  for (const { type, path, value, settings } of policies) {
    if (type.toLowerCase() !== "vsid") continue;
    const owner = settings ?? { path, value };
    return (
      fieldOf(owner.value, owner.path, "IsolationId") ?? fieldOf(owner.value, owner.path, "VSID") ?? owner
    );
  }
  return undefined;
}

/** hcn.md §3.2; windows-networking-documentation.md §8. */
const VSID = hnsRule("hns-vsid-invalid", function* (view, { value }) {
  // Scripts make a network of this name for its switch alone; dumps of it show no policies.
  const isForSwitch = hnsText(value, "Name") === "External";
  if (view.object !== "network" || view.type !== "overlay" || isForSwitch) return;
  for (const subnet of view.subnets) {
    const vsid = vsidOf(subnet);
    const id = numberAt(vsid?.value);
    if (vsid === undefined)
      yield {
        at: { path: subnet.prefix?.path ?? subnet.path },
        message: WORDS.overlaySubnetVsidMissing,
      };
    else if (id === undefined || id < 4_096 || id > 0xff_ff_ff)
      yield {
        at: { path: vsid.path, part: "value" },
        message: `Windows takes VXLAN network identifiers from 4096 on, and not ${shown(vsid.value)}`,
      };
  }
});

function endpointsOf(value: unknown): { readonly path: LintPath; readonly count: number } | undefined {
  const list = fieldOf(value, [], "HostComputeEndpoints") ?? fieldOf(value, [], "References");
  return list === undefined || !Array.isArray(list.value)
    ? undefined
    : { path: list.path, count: list.value.length };
}

/** hcn.md §6: 0x803b001c. */
const WITHOUT_ENDPOINTS = hnsRule("hns-load-balancer-without-endpoints", function* (view, { value }) {
  if (view.object !== "load-balancer") return;
  const endpoints = endpointsOf(value);
  if (endpoints !== undefined && endpoints.count > 0) return;
  yield {
    at: { path: endpoints?.path ?? [Object.keys(value)[0] ?? ""] },
    message: "HNS refuses a load balancer without an endpoint",
    fix: view.isV2 ? "Name at least one in HostComputeEndpoints." : "Name at least one in References.",
  };
});

const TOO_MANY = hnsRule("too-many-back-ends", function* (view, { value }, context) {
  const endpoints = view.object === "load-balancer" ? endpointsOf(value) : undefined;
  if (endpoints === undefined) return;
  const build = context.buildWhere((each) => endpoints.count > backEndsMaxOf(each));
  if (build === undefined) return;
  yield {
    at: { path: endpoints.path },
    message: WORDS.loadBalancerEndpointsTooMany({
      count: endpoints.count,
      backEndsMax: backEndsMaxOf(build),
      title: build.profile.title,
    }),
  };
});

const PROTOCOLS = new Set([6, 17, 132]);

function* portFaults(mapping: unknown, path: LintPath): Generator<RuleFinding> {
  for (const name of ["InternalPort", "ExternalPort"]) {
    const port = fieldOf(mapping, path, name);
    const number = numberAt(port?.value);
    const least = name === "InternalPort" ? 1 : 0;
    if (port === undefined && name === "InternalPort")
      yield { at: { path }, message: "a port mapping needs an InternalPort: HNS refuses it otherwise" };
    else if (port !== undefined && (number === undefined || number < least || number > 65_535))
      yield {
        at: { path: port.path, part: "value" },
        message: `${shown(port.value)} is not a port for ${name}`,
      };
  }
  const protocol = fieldOf(mapping, path, "Protocol");
  const number = numberAt(protocol?.value);
  const isName = typeof protocol?.value === "string" && /^(?:tcp|udp|sctp)$/i.test(protocol.value);
  if (protocol !== undefined && !isName && (number === undefined || !PROTOCOLS.has(number)))
    yield {
      at: { path: protocol.path, part: "value" },
      message: `${shown(protocol.value)} is not a protocol with ports: TCP is 6, UDP is 17`,
    };
}

/** hcn.md §2.7, §6: 0x803b002d. */
const PORTS = hnsRule("hns-port-mapping-invalid", function* (view, { value }) {
  const mappings = fieldOf(value, [], "PortMappings");
  if (view.object === "load-balancer" && mappings !== undefined) {
    if (listAt(mappings.value).length === 0)
      yield { at: { path: mappings.path }, message: "a load balancer needs a port mapping at least" };
    for (const [index, mapping] of listAt(mappings.value).entries())
      if (isFields(mapping)) yield* portFaults(mapping, [...mappings.path, index]);
  }
  for (const { type, settings } of view.policies)
    if (type.toLowerCase() === "portmapping" && isFields(settings?.value))
      yield* portFaults(settings.value, settings.path);
});

/** windows-networking-documentation.md §2. */
const NAT = hnsRule("hns-nat-not-for-kubernetes", function* (view, { value }, context) {
  const key = keyOf(value, "Type");
  const hasPods = context.hasWindows && context.ofKind("kubernetes").length > 0;
  if (view.object !== "network" || view.type !== "nat" || key === undefined || !hasPods) return;
  yield {
    at: { path: [key], part: "value" },
    message: WORDS.natNetworkForCluster,
    fix: "Use L2Bridge or Overlay for pods.",
  };
});

const PREFIX = hnsRule("hns-prefix-invalid", function* (view) {
  for (const { prefix } of view.subnets) {
    const text = prefix?.value;
    if (
      prefix === undefined ||
      (typeof text === "string" && text.includes("/") && parseRange(text) !== undefined)
    )
      continue;
    if (typeof text === "string" && /[<{$]|^$/.test(text)) continue;
    yield { at: { path: prefix.path, part: "value" }, message: `${shown(text)} is not a prefix` };
  }
});

export const HNS_RULES: readonly LintRule[] = [
  TYPE,
  WITHOUT_SUBNET,
  WITHOUT_GATEWAY,
  HOST_BITS,
  PREFIX,
  VSID,
  WITHOUT_ENDPOINTS,
  TOO_MANY,
  PORTS,
  NAT,
];
