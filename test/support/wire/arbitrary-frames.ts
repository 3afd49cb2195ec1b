/** Well-formed frames of every kind for property tests. */
import * as fc from "fast-check";
import { type Ipv4, type Ipv6, prefixOf } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { ArpRepr } from "#core/wire/arp.ts";
import {
  type IpFields,
  type LinkFields,
  buildArpFrame,
  buildEthernetFrame,
  buildIcmpFrame,
  buildIcmpv6Frame,
  buildIpFrame,
  buildNdFrame,
  buildTcpFrame,
  buildUdpFrame,
} from "#core/wire/build-frame.ts";
import { encapsulateGeneve, encapsulateNvgre, encapsulateVxlan } from "#core/wire/tunnels/encapsulation.ts";
import type { GeneveOption } from "#core/wire/tunnels/geneve.ts";
import type { IcmpRepr } from "#core/wire/icmp.ts";
import type { Icmpv6Repr } from "#core/wire/icmpv6/icmpv6.ts";
import type { Ipv6Extension } from "#core/wire/ipv6.ts";
import type { NdOption } from "#core/wire/icmpv6/nd-options.ts";
import type { NdRepr } from "#core/wire/icmpv6/nd.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { TcpFields } from "#core/wire/tcp.ts";
import type { TcpOption } from "#core/wire/tcp-options.ts";
import type { VlanTag } from "#core/wire/vlan.ts";

export const arbitraryU8: fc.Arbitrary<number> = fc.integer({ min: 0, max: 0xff });
export const arbitraryU16: fc.Arbitrary<number> = fc.integer({ min: 0, max: 0xffff });
export const arbitraryU32: fc.Arbitrary<number> = fc.integer({ min: 0, max: 0xffff_ffff });
export const arbitraryMac: fc.Arbitrary<Mac> = fc
  .integer({ min: 0, max: 0xffff_ffff_ffff })
  .map((value) => value as Mac);
export const arbitraryIpv4: fc.Arbitrary<Ipv4> = arbitraryU32.map((value) => value as Ipv4);
export const arbitraryIpv6: fc.Arbitrary<Ipv6> = fc
  .bigInt({ min: 0n, max: (1n << 128n) - 1n })
  .map((value) => value as Ipv6);
export const arbitraryBytes: fc.Arbitrary<Uint8Array> = fc.uint8Array({ maxLength: 64 });

export const arbitraryVlan: fc.Arbitrary<Required<VlanTag>> = fc.record({
  id: fc.integer({ min: 0, max: 4095 }),
  priority: fc.integer({ min: 0, max: 7 }),
  isDropEligible: fc.boolean(),
});

export const arbitraryLink: fc.Arbitrary<LinkFields> = fc
  .record({
    sourceMac: arbitraryMac,
    destinationMac: arbitraryMac,
    vlan: fc.option(arbitraryVlan, { nil: undefined }),
  })
  .map(({ sourceMac, destinationMac, vlan }) =>
    vlan === undefined ? { sourceMac, destinationMac } : { sourceMac, destinationMac, vlan },
  );

const ipBase = {
  ttl: arbitraryU8,
  isDontFragment: fc.boolean(),
  dscp: fc.integer({ min: 0, max: 63 }),
  ecn: fc.integer({ min: 0, max: 3 }),
};

export const arbitraryIpv4Fields: fc.Arbitrary<IpFields> = fc.record({
  ...ipBase,
  identification: arbitraryU16,
  source: arbitraryIpv4,
  destination: arbitraryIpv4,
  ipv4Options: fc.oneof(fc.constant(new Uint8Array(0)), fc.uint8Array({ maxLength: 40 })),
});

/** Options extensions only: a routing header with hops left would leave the transport checksum open. */
export const arbitraryExtension: fc.Arbitrary<Ipv6Extension> = fc.record({
  type: fc.constantFrom(0 as const, 60 as const),
  data: fc.uint8Array({ maxLength: 30 }),
});

export const arbitraryIpv6Fields: fc.Arbitrary<IpFields> = fc.record({
  ...ipBase,
  identification: arbitraryU32,
  source: arbitraryIpv6,
  destination: arbitraryIpv6,
  flowLabel: fc.integer({ min: 0, max: 0xf_ffff }),
  extensions: fc.array(arbitraryExtension, { maxLength: 3 }),
});

export const arbitraryIpFields: fc.Arbitrary<IpFields> = fc.oneof(arbitraryIpv4Fields, arbitraryIpv6Fields);

/** Options that fit into 40 bytes. */
export const arbitraryTcpOptions: fc.Arbitrary<TcpOption[]> = fc
  .array(
    fc.oneof(
      fc.record({ kind: fc.constant("nop" as const) }),
      fc.record({ kind: fc.constant("mss" as const), mssBytes: arbitraryU16 }),
      fc.record({ kind: fc.constant("window-scale" as const), shift: arbitraryU8 }),
      fc.record({ kind: fc.constant("sack-permitted" as const) }),
      fc.record({ kind: fc.constant("timestamps" as const), value: arbitraryU32, echo: arbitraryU32 }),
      fc.record({
        kind: fc.constant("sack" as const),
        blocks: fc.array(fc.record({ left: arbitraryU32, right: arbitraryU32 }), {
          minLength: 1,
          maxLength: 2,
        }),
      }),
      fc.record({
        kind: fc.constant("unknown" as const),
        number: fc.integer({ min: 9, max: 255 }),
        data: fc.uint8Array({ maxLength: 6 }),
      }),
    ),
    { maxLength: 6 },
  )
  .filter((options) => tcpOptionBytes(options) <= 40);

function tcpOptionBytes(options: readonly TcpOption[]): number {
  const lengths = { nop: 1, mss: 4, "window-scale": 3, "sack-permitted": 2, timestamps: 10 } as const;
  let bytes = 0;
  for (const option of options) {
    if (option.kind === "sack") bytes += 2 + option.blocks.length * 8;
    else bytes += option.kind === "unknown" ? 2 + option.data.length : lengths[option.kind];
  }
  return bytes;
}

export const arbitraryTcpFields: fc.Arbitrary<TcpFields> = fc.record({
  sourcePort: arbitraryU16,
  destinationPort: arbitraryU16,
  sequence: arbitraryU32,
  acknowledgment: arbitraryU32,
  flags: arbitraryU8,
  window: arbitraryU16,
  urgentPointer: arbitraryU16,
  options: arbitraryTcpOptions,
});

const echo = {
  type: fc.constantFrom("echo-request" as const, "echo-reply" as const),
  identifier: arbitraryU16,
  sequence: arbitraryU16,
  payload: arbitraryBytes,
};

export const arbitraryIcmp: fc.Arbitrary<IcmpRepr> = fc.oneof(
  fc.record(echo),
  fc.record({
    type: fc.constant("destination-unreachable" as const),
    code: arbitraryU8.filter((code) => code !== 4),
    invoking: arbitraryBytes,
  }),
  fc.record({
    type: fc.constant("fragmentation-needed" as const),
    mtuBytes: arbitraryU16,
    invoking: arbitraryBytes,
  }),
  fc.record({ type: fc.constant("time-exceeded" as const), code: arbitraryU8, invoking: arbitraryBytes }),
  fc.record({
    type: fc.constant("parameter-problem" as const),
    pointer: arbitraryU8,
    invoking: arbitraryBytes,
  }),
);

export const arbitraryIcmpv6: fc.Arbitrary<Icmpv6Repr> = fc.oneof(
  fc.record(echo),
  fc.record({
    type: fc.constant("destination-unreachable" as const),
    code: arbitraryU8,
    invoking: arbitraryBytes,
  }),
  fc.record({
    type: fc.constant("packet-too-big" as const),
    mtuBytes: arbitraryU32,
    invoking: arbitraryBytes,
  }),
  fc.record({ type: fc.constant("time-exceeded" as const), code: arbitraryU8, invoking: arbitraryBytes }),
  fc.record({
    type: fc.constant("parameter-problem" as const),
    code: arbitraryU8,
    pointer: arbitraryU32,
    invoking: arbitraryBytes,
  }),
);

export const arbitraryNdOptions: fc.Arbitrary<NdOption[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constantFrom("source-link-layer" as const, "target-link-layer" as const),
      mac: arbitraryMac,
    }),
    fc.record({ kind: fc.constant("mtu" as const), mtuBytes: arbitraryU32 }),
    fc.record({
      kind: fc.constant("prefix-information" as const),
      prefix: fc
        .tuple(arbitraryIpv6, fc.integer({ min: 0, max: 128 }))
        .map(([ip, length]) => prefixOf(ip, length)),
      isOnLink: fc.boolean(),
      isAutonomous: fc.boolean(),
      validSeconds: arbitraryU32,
      preferredSeconds: arbitraryU32,
    }),
    fc.record({
      kind: fc.constant("recursive-dns-servers" as const),
      lifetimeSeconds: arbitraryU32,
      servers: fc.array(arbitraryIpv6, { minLength: 1, maxLength: 3 }),
    }),
    fc.record({
      kind: fc.constant("unknown" as const),
      type: fc.integer({ min: 26, max: 255 }),
      data: fc.uint8Array({ minLength: 6, maxLength: 6 }),
    }),
  ),
  { maxLength: 4 },
);

export const arbitraryNd: fc.Arbitrary<NdRepr> = fc.oneof(
  fc.record({ type: fc.constant("router-solicitation" as const), options: arbitraryNdOptions }),
  fc.record({
    type: fc.constant("router-advertisement" as const),
    hopLimit: arbitraryU8,
    isManaged: fc.boolean(),
    isOtherConfigured: fc.boolean(),
    lifetimeSeconds: arbitraryU16,
    reachableMs: arbitraryU32,
    retransmitMs: arbitraryU32,
    options: arbitraryNdOptions,
  }),
  fc.record({
    type: fc.constant("neighbor-solicitation" as const),
    target: arbitraryIpv6,
    options: arbitraryNdOptions,
  }),
  fc.record({
    type: fc.constant("neighbor-advertisement" as const),
    target: arbitraryIpv6,
    isRouter: fc.boolean(),
    isSolicited: fc.boolean(),
    isOverride: fc.boolean(),
    options: arbitraryNdOptions,
  }),
);

export const arbitraryArp: fc.Arbitrary<ArpRepr> = fc.oneof(
  fc.record({
    operation: fc.constant("request" as const),
    senderMac: arbitraryMac,
    senderIp: arbitraryIpv4,
    targetIp: arbitraryIpv4,
  }),
  fc.record({
    operation: fc.constant("reply" as const),
    senderMac: arbitraryMac,
    senderIp: arbitraryIpv4,
    targetMac: arbitraryMac,
    targetIp: arbitraryIpv4,
  }),
);

const link = arbitraryLink;
const payload = arbitraryBytes;
/** Not the ports of tunnels, whose payload would be read. */
const udp = fc.record({
  sourcePort: arbitraryU16,
  destinationPort: arbitraryU16.filter((port) => port !== 4789 && port !== 6081),
});

export const arbitraryTcpFrame: fc.Arbitrary<Packet> = fc
  .record({ link, ip: arbitraryIpFields, tcp: arbitraryTcpFields, payload })
  .map((options) => buildTcpFrame(options));

export const arbitraryUdpFrame: fc.Arbitrary<Packet> = fc
  .record({ link, ip: arbitraryIpFields, udp, payload })
  .map((options) => buildUdpFrame(options));

const fragment = fc.record({
  offset: fc.integer({ min: 0, max: 8190 }).map((unit) => unit * 8),
  hasMore: fc.boolean(),
});

/** Every kind of frame, without a tunnel. */
export const arbitraryPlainFrame: fc.Arbitrary<Packet> = fc.oneof(
  arbitraryTcpFrame,
  arbitraryUdpFrame,
  fc.record({ link, ip: arbitraryIpv4Fields, icmp: arbitraryIcmp }).map((options) => buildIcmpFrame(options)),
  fc
    .record({ link, ip: arbitraryIpv6Fields, icmpv6: arbitraryIcmpv6 })
    .map((options) => buildIcmpv6Frame(options)),
  fc.record({ link, ip: arbitraryIpv6Fields, nd: arbitraryNd }).map((options) => buildNdFrame(options)),
  fc.record({ link, arp: arbitraryArp }).map((options) => buildArpFrame(options)),
  fc
    .record({ link, ip: arbitraryIpFields, protocol: fc.constantFrom(2, 47, 132), payload })
    .map((options) => buildIpFrame(options)),
  fc
    .record({ link, ip: arbitraryIpFields, protocol: fc.constant(17), payload, fragment })
    .filter((options) => options.fragment.offset > 0)
    .map((options) => buildIpFrame(options)),
  fc
    .record({ link, etherType: fc.constantFrom(0x88cc, 0x0026), payload })
    .map((options) => buildEthernetFrame(options)),
);

/** Options as RFC 8926 lets them be. */
export const arbitraryGeneveOptions: fc.Arbitrary<GeneveOption[]> = fc.array(
  fc.record({
    optionClass: arbitraryU16,
    type: arbitraryU8,
    data: fc.nat(5).chain((words) => fc.uint8Array({ minLength: words * 4, maxLength: words * 4 })),
  }),
  { maxLength: 4 },
);

const id24 = fc.integer({ min: 0, max: 0xff_ffff });

/** Every kind of frame; a part of them in a tunnel. */
export const arbitraryFrame: fc.Arbitrary<Packet> = fc.oneof(
  { weight: 4, arbitrary: arbitraryPlainFrame },
  {
    weight: 1,
    arbitrary: fc
      .record({
        packet: arbitraryPlainFrame,
        link,
        ip: arbitraryIpFields,
        sourcePort: arbitraryU16,
        vni: id24,
      })
      .map(({ packet, ...outer }) => {
        encapsulateVxlan(packet, outer);
        return packet;
      }),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({
        packet: arbitraryPlainFrame,
        link,
        ip: arbitraryIpFields,
        sourcePort: arbitraryU16,
        vni: id24,
        options: arbitraryGeneveOptions,
      })
      .map(({ packet, ...outer }) => {
        encapsulateGeneve(packet, outer);
        return packet;
      }),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({
        packet: arbitraryPlainFrame,
        link,
        ip: arbitraryIpFields,
        virtualSubnetId: id24,
        flowId: arbitraryU8,
      })
      .map(({ packet, ...outer }) => {
        encapsulateNvgre(packet, outer);
        return packet;
      }),
  },
);
