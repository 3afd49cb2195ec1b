/** Arbitrary packets, rules and ports for properties of the engine: few values, so that packets meet rules and flows. */
import fc from "fast-check";
import { type Ip, type Ipv4, type Ipv6, type Prefix, parseIp, parsePrefix, prefixOf } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { AddressSet, type Condition } from "#dataplane/vfp/matching/condition.ts";
import { createGroup } from "#dataplane/vfp/group.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import { type Mapping, MappingSpace } from "#dataplane/vfp/actions/encapsulation.ts";
import { NatPool } from "#dataplane/vfp/actions/nat-pool.ts";
import type { Action, VfpDirection, LayerDefinition, Rule } from "#dataplane/vfp/rule.ts";
import { VfpPort } from "#dataplane/vfp/vfp-port.ts";
import {
  buildArpFrame,
  buildIcmpFrame,
  buildIcmpv6Frame,
  buildIpFrame,
  buildTcpFrame,
  buildUdpFrame,
} from "#core/wire/build-frame.ts";
import { encapsulateNvgre, encapsulateVxlan } from "#core/wire/tunnels/encapsulation.ts";
import { Packet } from "#core/wire/packet.ts";
import type { TcpOption } from "#core/wire/tcp-options.ts";
import { ReferenceEngine } from "./reference-engine.ts";

function macs(...texts: string[]): Mac[] {
  return texts.map((text) => parseMac(text) as Mac);
}
function ips(...texts: string[]): Ip[] {
  return texts.map((text) => parseIp(text) as Ip);
}
function prefixes(...texts: string[]): Prefix[] {
  return texts.map((text) => parsePrefix(text) as Prefix);
}

const MACS = macs("00-15-5D-00-00-01", "00-15-5D-00-00-02", "52-54-00-00-00-01");
const IPV4 = ips("10.244.1.10", "10.244.1.11", "10.0.0.11", "203.0.113.10");
const IPV6 = ips("fd00::1", "fd00::2", "2001:db8::10");
const IPV4_PREFIXES = prefixes(
  "10.244.1.10/32",
  "10.244.0.0/16",
  "10.0.0.0/8",
  "203.0.113.0/24",
  "0.0.0.0/0",
);
const IPV6_PREFIXES = prefixes("fd00::/64", "fd00::1/128", "::/0");
const PORTS = [80, 443, 8080, 49_152, 49_153];
const SETS = [
  new AddressSet("nodes", prefixes("10.0.0.0/24")),
  new AddressSet("pods", prefixes("10.244.1.10/32", "fd00::/64")),
];
const NAT_IP = parseIp("10.0.0.11") as Ipv4;

export interface Sent {
  readonly direction: VfpDirection;
  readonly frame: Uint8Array;
  /** The virtual subnet it comes with. */
  readonly tni: number;
  /** Milliseconds that pass before it. */
  readonly waitMs: number;
}

const port = fc.constantFrom(...PORTS);
const link = fc.record({ sourceMac: fc.constantFrom(...MACS), destinationMac: fc.constantFrom(...MACS) });
const payload = fc.uint8Array({ maxLength: 9 });
/** Numbers of tunnels and virtual subnets. */
const TNIS = [4096, 4097];
const tni = fc.constantFrom(...TNIS);
const dscp = fc.constantFrom(0, 8, 46);
const mss: fc.Arbitrary<readonly TcpOption[]> = fc.oneof(
  fc.constant([]),
  fc.constantFrom(1410, 40).map((mssBytes): TcpOption[] => [{ kind: "mss", mssBytes }]),
  // At an odd offset.
  fc.constant<TcpOption[]>([{ kind: "nop" }, { kind: "mss", mssBytes: 1460 }]),
);

function ipFields(family: readonly Ip[]): fc.Arbitrary<Parameters<typeof buildTcpFrame>[0]["ip"]> {
  return fc.record({
    source: fc.constantFrom(...family),
    destination: fc.constantFrom(...family),
    ttl: fc.constantFrom(1, 2, 64, 128),
    identification: fc.integer({ min: 0, max: 3 }),
    isDontFragment: fc.boolean(),
    dscp,
  });
}

function transportFrame(family: readonly Ip[]): fc.Arbitrary<Packet> {
  const tcp = fc.record({
    link,
    ip: ipFields(family),
    tcp: fc.record({
      sourcePort: port,
      destinationPort: port,
      sequence: fc.nat(0xffff),
      acknowledgment: fc.nat(0xffff),
      flags: fc.constantFrom(0x02, 0x12, 0x10, 0x10, 0x10, 0x11, 0x04),
      window: fc.nat(0xffff),
      options: mss,
    }),
    payload,
  });
  const udp = fc.record({
    link,
    ip: ipFields(family),
    udp: fc.record({ sourcePort: port, destinationPort: port }),
    payload,
    checksum: fc.constantFrom<"computed" | "none">("computed", "none"),
  });
  return fc.oneof(tcp.map(buildTcpFrame), udp.map(buildUdpFrame));
}

const echo = fc
  .record({
    link,
    ip: ipFields(IPV4),
    icmp: fc.record({
      type: fc.constantFrom<"echo-request" | "echo-reply">("echo-request", "echo-reply"),
      identifier: fc.constant(1),
      sequence: fc.nat(5),
      payload,
    }),
  })
  .map(buildIcmpFrame);

/** UDP fragments: the first carries the header, later ones bytes only. */
const fragment = fc
  .record({
    link,
    ip: ipFields(IPV4),
    offset: fc.constantFrom(0, 0, 16),
    hasMore: fc.boolean(),
  })
  .map(({ offset, hasMore, ...rest }) =>
    buildIpFrame({
      ...rest,
      protocol: 17,
      payload: Uint8Array.of(0, 80, 31, 144, 0, 40, 1, 2, 9, 9, 9, 9, 9, 9, 9, 9),
      fragment: { offset, hasMore: hasMore || offset === 0 },
    }),
  );

/** An error about a packet: cut behind its ports, or whole. */
function error(family: readonly Ip[]): fc.Arbitrary<Packet> {
  return fc
    .record({ link, ip: ipFields(family), about: transportFrame(family), isCut: fc.boolean() })
    .map(({ link: ends, ip, about, isCut }) => {
      const quoted = about.frame.slice(14);
      const headerBytes = typeof ip.source === "number" ? 20 : 40;
      const invoking = isCut ? quoted.subarray(0, headerBytes + 8) : quoted;
      const fields = { type: "destination-unreachable" as const, code: 3, invoking };
      return typeof ip.source === "number"
        ? buildIcmpFrame({ link: ends, ip, icmp: fields })
        : buildIcmpv6Frame({ link: ends, ip, icmpv6: fields });
    });
}

const arp = fc
  .record({ link, senderIp: fc.constantFrom(...IPV4), targetIp: fc.constantFrom(...IPV4) })
  .map(({ link: ends, senderIp, targetIp }) =>
    buildArpFrame({
      link: ends,
      arp: {
        operation: "request",
        senderMac: ends.sourceMac,
        senderIp: senderIp as Ipv4,
        targetIp: targetIp as Ipv4,
      },
    }),
  );

/** A frame in VXLAN or NVGRE. */
const tunnelled = fc
  .record({
    inner: fc.oneof(
      { weight: 4, arbitrary: transportFrame(IPV4) },
      { weight: 1, arbitrary: transportFrame(IPV6) },
      { weight: 1, arbitrary: fragment },
      { weight: 1, arbitrary: echo },
      { weight: 1, arbitrary: arp },
    ),
    link,
    ip: fc.oneof({ weight: 3, arbitrary: ipFields(IPV4) }, { weight: 1, arbitrary: ipFields(IPV6) }),
    sourcePort: port,
    vni: tni,
    isVxlan: fc.boolean(),
  })
  .map(({ inner, isVxlan, vni, ...outer }) => {
    const packet = Packet.fromFrame(inner.frame);
    if (isVxlan) encapsulateVxlan(packet, { ...outer, vni });
    else encapsulateNvgre(packet, { ...outer, virtualSubnetId: vni, flowId: 7 });
    return packet;
  });

export const arbitrarySent: fc.Arbitrary<Sent> = fc
  .record({
    direction: fc.constantFrom<VfpDirection>("out", "in"),
    packet: fc.oneof(
      { weight: 6, arbitrary: transportFrame(IPV4) },
      { weight: 2, arbitrary: transportFrame(IPV6) },
      { weight: 1, arbitrary: echo },
      { weight: 1, arbitrary: fragment },
      { weight: 2, arbitrary: tunnelled },
      { weight: 1, arbitrary: error(IPV4) },
      { weight: 1, arbitrary: error(IPV6) },
    ),
    waitMs: fc.constantFrom(0, 0, 0, 1_000, 31_000, 241_000),
    tni: fc.constantFrom(0, 0, 0, ...TNIS),
  })
  .map(({ packet, ...fields }) => ({ ...fields, frame: packet.frame.slice() }));

/** Back ends of services: few, so that lists overlap and flows keep or lose theirs when rules change. */
function lbnat(family: 4 | 6): fc.Arbitrary<Action> {
  const backEnd = fc.record(
    {
      ip: fc.constantFrom(...(family === 4 ? IPV4 : IPV6)),
      port: fc.constantFrom(80, 8080),
      mac: fc.constantFrom(...MACS),
    },
    { requiredKeys: ["ip", "port"] },
  );
  return fc.record({
    type: fc.constant("lbnat" as const),
    backEnds: fc.array(backEnd, { minLength: 1, maxLength: 3 }),
    distribution: fc.constantFrom("5-tuple", "3-tuple", "2-tuple"),
    rewrites: fc.constantFrom("address-and-port", "address-and-port", "mac"),
  });
}

const encapsulation = fc.constantFrom<"vxlan" | "nvgre">("vxlan", "vxlan", "nvgre");

const routeencap: fc.Arbitrary<Action> = fc.record({
  type: fc.constant("routeencap" as const),
  encapsulation,
  tni,
  destinations: fc.array(
    fc.record({
      providerAddress: fc.constantFrom(...IPV4, IPV6[0]!),
      innerMac: fc.constantFrom(...MACS),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  decrementTtl: fc.boolean(),
});

const mapencap: fc.Arbitrary<Action> = fc.record({
  type: fc.constant("mapencap" as const),
  encapsulation,
  tni,
  space: fc.constant("space"),
  rewritesMac: fc.boolean(),
});

const decap: fc.Arbitrary<Action> = fc.record({
  type: fc.constant("decap" as const),
  pushesTni: fc.boolean(),
});

/** What changes the tuple must end its layer. */
const ENDING: ReadonlySet<string> = new Set(["nat", "lbnat", "redirect", "routeencap", "mapencap", "decap"]);

function endsLayer(made: Action): boolean {
  if (made.type === "transpose") return made.source !== undefined || made.destination !== undefined;
  return ENDING.has(made.type);
}

function action(family: 4 | 6): fc.Arbitrary<Action> {
  const ip = fc.constantFrom(...(family === 4 ? IPV4 : IPV6));
  const side = fc.constantFrom<"source" | "destination">("source", "destination");
  const rewrites: fc.Arbitrary<Action>[] = [
    fc.constant({ type: "allow" }),
    fc.constant({ type: "block", code: "acl-rule-blocked" }),
    fc.record({ type: fc.constant("nat" as const), side, ip }),
    fc.record({ type: fc.constant("nat" as const), side, ip, port }),
    lbnat(family),
    fc.record({ type: fc.constant("transpose" as const), destinationMac: fc.constantFrom(...MACS) }),
    fc.record({ type: fc.constant("transpose" as const), decrementTtl: fc.constant(true) }),
    fc.constant({ type: "paroute" }),
    fc.record({ type: fc.constant("transpose" as const), source: ip, dscp }),
    fc.record({ type: fc.constant("transpose" as const), destination: ip, tni: fc.constantFrom(0, ...TNIS) }),
    fc.record({ type: fc.constant("mark" as const), dscp }),
    fc.record({ type: fc.constant("redirect" as const), ip, port, mac: fc.constantFrom(...MACS) }),
    fc.constantFrom<Action>(
      { type: "qos", bytesPerSecond: 100, burstBytes: 200, queueBytes: 0 },
      { type: "qos", bytesPerSecond: 1_000, burstBytes: 100, queueBytes: 300 },
    ),
    routeencap,
    routeencap,
    mapencap,
    decap,
    decap,
  ];
  return fc.oneof(...rewrites);
}

function rule(family: 4 | 6): fc.Arbitrary<Rule> {
  const lists = family === 4 ? IPV4_PREFIXES : IPV6_PREFIXES;
  const some = fc.uniqueArray(fc.constantFrom(...lists), { minLength: 1, maxLength: 2 });
  const ranges = port.map((first) => [{ first, last: first + 1 }]);
  // Few parts per condition, so that packets meet rules.
  const part = fc.oneof(
    fc.record({ protocols: fc.constantFrom([6], [17], [1], [6, 17], [252], [47, 252], [58]) }),
    fc.record({ sourceSets: fc.constantFrom(SETS, SETS.slice(1)) }),
    fc.record({ destinationSets: fc.constantFrom(SETS, SETS.slice(1)), destination: some }),
    fc.record({ tni: fc.constantFrom(0, ...TNIS) }),
    fc.record({ tunnelId: tni }),
    fc.record({ source: some }),
    fc.record({ destination: some }),
    fc.record({ destinationExcept: some }),
    fc.record({ sourcePorts: ranges }),
    fc.record({ destinationPorts: ranges }),
    fc.record({ destinationMac: fc.constantFrom(...MACS) }),
    fc.record({ sourceMac: fc.constantFrom(...MACS) }),
    fc.record({ tcpSyn: fc.constantFrom("only" as const, "never" as const) }),
    // What rules of services ask for.
    fc
      .record({ protocol: fc.constantFrom(6, 17), ip: fc.constantFrom(...lists), port })
      .map(({ protocol, ip, port: first }) => ({
        protocols: [protocol],
        destination: [prefixOf(ip.address, ip.length)],
        destinationPorts: [{ first, last: first }],
      })),
  );
  const condition: fc.Arbitrary<Condition> = fc
    .array(part, { maxLength: 2 })
    .map((parts) => Object.assign({}, ...parts) as Condition);
  const snat: fc.Arbitrary<{ action: Action; protocols: number[] }> = fc
    .constantFrom(6, 17)
    .map((protocol) => ({ action: { type: "dynnat", pool: `pool-${protocol}` }, protocols: [protocol] }));
  return fc
    .record({
      // Ids come again, as those of a changed service do.
      id: fc.oneof(fc.uuid(), fc.constantFrom("service-1", "service-2")),
      priority: fc.integer({ min: 1, max: 5 }),
      condition,
      isTranslatedOnly: fc.boolean(),
      action: action(family),
      isTerminating: fc.boolean(),
      isStateful: fc.boolean(),
      extras: fc.constantFrom<Partial<Rule>>(
        {},
        {},
        {},
        { mssDelta: 50, reverseMssDelta: 20 },
        { mirrorTo: "sniffer" },
        { flowTtlMs: 30_000 },
        { skipsHairpin: true },
      ),
      snat: fc.option(snat, { freq: 4, nil: undefined }),
    })
    .map(({ snat: dynamic, isTranslatedOnly, extras, ...fields }): Rule => {
      const { type } = fields.action;
      const isTerminating = fields.isTerminating || endsLayer(fields.action);
      const isStateful = fields.isStateful || type === "lbnat";
      const made: Rule = {
        ...fields,
        ...extras,
        name: fields.id,
        provenance: { object: "test", id: fields.id, name: fields.id },
        isTerminating,
        isStateful,
      };
      // A port is only allocated where a flow will hold it.
      if (dynamic !== undefined && family === 4) {
        const protocols = { ...fields.condition, protocols: dynamic.protocols };
        return {
          ...made,
          action: dynamic.action,
          isStateful: true,
          isTerminating: true,
          condition: protocols,
        };
      }
      const isForTranslated = isTranslatedOnly && isTerminating && !isStateful;
      return isForTranslated ? { ...made, condition: { ...made.condition, isSourceTranslated: true } } : made;
    });
}

/** Rules by prefix are found by nothing else. */
function withoutSets(condition: Condition): Condition {
  const { destinationSets, ...rest } = condition;
  return destinationSets === undefined ? condition : rest;
}

export const arbitraryGroup: fc.Arbitrary<Group> = fc
  .record({
    family: fc.constantFrom<4 | 6>(4, 4, 4, 6),
    direction: fc.constantFrom<VfpDirection>("out", "in"),
    priority: fc.integer({ min: 1, max: 3 }),
    isLpm: fc.boolean(),
    condition: fc.constantFrom<(Condition | undefined)[]>(
      undefined,
      undefined,
      undefined,
      { protocols: [6, 17] },
      { tni: 0 },
    ),
  })
  .chain(({ family, direction, priority, isLpm, condition }) =>
    fc.array(rule(family), { minLength: 1, maxLength: 10 }).map((rules) =>
      createGroup({
        name: `${direction}${family}-${priority}`,
        direction,
        family,
        priority,
        condition,
        match: isLpm ? "lpm-destination" : "priority",
        rules: isLpm
          ? rules.map((each) => ({
              ...each,
              condition: {
                ...withoutSets(each.condition),
                destination: [
                  family === 4 ? IPV4_PREFIXES[each.priority - 1]! : IPV6_PREFIXES[each.priority % 3]!,
                ],
              },
            }))
          : rules,
      }),
    ),
  );

export const LAYERS: readonly LayerDefinition[] = [
  { name: "A", priority: 7, isStateful: true, isDefaultAllow: true },
  { name: "B", priority: 15, isStateful: true, isDefaultAllow: true },
  { name: "H", priority: 50, isStateful: true, isDefaultAllow: true, isHairpin: true },
  { name: "C", priority: 75, isStateful: false, isDefaultAllow: true, clearsTni: true },
  { name: "D", priority: 2000, isStateful: false, isDefaultAllow: true },
];

const MAPPINGS: readonly Mapping[] = [
  { customerAddress: IPV4[0]!, providerAddress: IPV4[2]!, mac: MACS[1]! },
  { customerAddress: IPV4[1]!, providerAddress: IPV6[1]!, mac: MACS[2]!, tni: 5000 },
];
const NEXT_HOP = { sourceMac: MACS[0]!, destinationMac: MACS[2]! };
const PROVIDERS = { 4: parseIp("10.0.0.11") as Ipv4, 6: parseIp("fd00::1") as Ipv6 };
const TTL_MS = { halfOpen: 30_000, timeWait: 20_000, other: 240_000 };

/** Small pools: 4 ports for TCP and 4 for UDP. */
function makePools(): NatPool[] {
  return [6, 17].map((protocol) => {
    let given = 0;
    return new NatPool({
      name: `pool-${protocol}`,
      ip: NAT_IP,
      protocol,
      portsMax: 4,
      blocks: {
        acquire: () => (given++ === 0 ? { first: 49_152, last: 49_155 } : undefined),
        release: () => undefined,
      },
    });
  });
}

/** The naive twin of `makeRandomPort`. */
export function makeReferenceEngine(): ReferenceEngine {
  return new ReferenceEngine({
    layers: LAYERS,
    pools: makePools(),
    mappings: MAPPINGS,
    providers: PROVIDERS,
    providerMac: MACS[0]!,
    nextHop: NEXT_HOP,
    ttlMs: TTL_MS,
  });
}

/** A port with small NAT pools and a next hop that is always known. */
export function makeRandomPort(unifiedFlows: boolean): VfpPort {
  const made = new VfpPort({
    id: "p",
    name: "port",
    node: "node",
    layers: LAYERS,
    unifiedFlows,
    nextHopResolver: { resolve: () => NEXT_HOP },
  });
  made.address = {
    providerIpv4: PROVIDERS[4],
    providerIpv6: PROVIDERS[6],
    customerAddresses: [],
    fakeMac: MACS[0]!,
    flags: 0,
  };
  made.setSpace(MappingSpace.of("space", MAPPINGS));
  const { halfOpen: halfOpenTtlMs, timeWait: timeWaitTtlMs } = TTL_MS;
  made.flowSettings = { ...made.flowSettings, halfOpenTtlMs, timeWaitTtlMs };
  for (const pool of makePools()) made.addNatPool(pool);
  return made;
}
