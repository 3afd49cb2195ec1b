/** Parse of emit is identity: any record, stored and made again in another service, is the same record. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "#core/base/clock.ts";
import { defined } from "#core/base/assert.ts";
import { Prng } from "#core/base/prng.ts";
import { parseEndpointPolicies } from "#contracts/hcn/documents/endpoint-policy.ts";
import { parseNetworkPolicies } from "#contracts/hcn/documents/network-policy.ts";
import { NETWORK_TYPES } from "#contracts/hcn/documents/network.ts";
import { parseProfile } from "#core/catalogue/profiles.ts";
import { type Ip, type Ipv4, type Ipv6, type Prefix, prefixOf } from "#core/net/ip.ts";
import { type Mac, formatMac } from "#core/net/mac.ts";
import { networkRecord } from "#test/support/hns/endpoint-record.ts";
import { AddressPool } from "../service/address-pool.ts";
import { RecordingDatapath } from "../recording-datapath.ts";
import type {
  NamespaceRecord,
  LoadBalancerRecord,
  EndpointAttachment,
  EndpointRecord,
  IpConfigRecord,
  VirtualMachinePort,
  NetworkRecord,
  RecordBase,
  RouteRecord,
  SubnetRecord,
} from "../service/records.ts";
import { ServiceContext } from "../service/service-context.ts";
import { equalValues } from "./stored-kind.ts";
import { storedRowOf } from "./restore.ts";
import type { StoredKind } from "./stored-object.ts";

const RUNS = { numRuns: 150 } as const;
const NETWORK_ID = "11111111-1111-4111-8111-111111111111";
const NAMESPACE_ID = "22222222-2222-4222-8222-222222222222";
const GUEST_ID = "33333333-3333-4333-8333-333333333333";

/** A service with one network and two namespaces; its clock began elsewhere than that of others. */
function contextOf(epochMs: number): ServiceContext {
  const env = { clock: new VirtualClock(), prng: new Prng(epochMs), recorder: undefined };
  const context = new ServiceContext(env, {
    node: "w1",
    windows: defined(parseProfile("ws2025"), "there is such a profile"),
    datapath: new RecordingDatapath(),
    adapters: [],
    epochMs,
  });
  context.state.addNetwork({ ...networkRecord(), id: NETWORK_ID }, new AddressPool([]));
  for (const [id, type] of [
    [NAMESPACE_ID, "Host"],
    [GUEST_ID, "Guest"],
  ] as const) {
    const base = {
      ...networkRecord(),
      id,
      compartmentGuid: id,
      containers: [],
      endpointIds: [],
      isBuiltIn: false,
      wasUsed: false,
      isTeardownBlocked: false,
    };
    const compartmentId = type === "Host" ? 2 : undefined;
    context.state.namespaces.set(id, { ...base, type, compartmentId });
  }
  return context;
}

const U32 = fc.nat({ max: 0xffff_ffff });
const GUID = fc.uuid({ version: 4 });
const TEXT = fc.string({ unit: "grapheme", maxLength: 12 });
const MAC = fc.integer({ min: 1, max: 0xfffe_ffff_ffff }).map((value) => value as Mac);
const IPV4 = U32.map((value) => value as Ipv4);
const IPV6 = fc.bigInt({ min: 2n, max: (1n << 128n) - 1n }).map((value) => value as Ipv6);
const IP: fc.Arbitrary<Ip> = fc.oneof(IPV4, IPV6);
const PREFIX: fc.Arbitrary<Prefix> = fc.oneof(
  fc.tuple(IPV4, fc.nat({ max: 32 })).map(([ip, length]) => prefixOf(ip, length)),
  fc.tuple(IPV6, fc.nat({ max: 128 })).map(([ip, length]) => prefixOf(ip, length)),
);
const ROUTE: fc.Arbitrary<RouteRecord> = fc.record({
  destination: PREFIX,
  nextHop: fc.option(IP, { nil: undefined }),
  metric: fc.option(fc.nat({ max: 0xffff }), { nil: undefined }),
});
const DNS = fc.option(
  fc.record({
    Domain: fc.option(TEXT, { nil: "" }),
    Search: fc.array(TEXT, { maxLength: 2 }),
    ServerList: fc.array(fc.ipV4(), { maxLength: 2 }),
  }),
  { nil: undefined },
);
const JSON_VALUE = fc.jsonValue({ maxDepth: 3 }).map((value) => value as never);

const BASE: fc.Arbitrary<RecordBase> = fc.record({
  id: GUID,
  owner: TEXT,
  name: TEXT,
  additionalParams: fc.option(JSON_VALUE, { nil: undefined }),
  schemaVersion: fc.record({ Major: fc.integer({ min: 2, max: 3 }), Minor: fc.nat({ max: 20 }) }),
  version: fc.constantFrom(0, 64_424_509_440, 38_654_705_666),
  changedAtMs: fc.nat({ max: 10_000_000 }),
  activityId: GUID,
  kept: fc.option(
    fc.dictionary(
      TEXT.map((text) => `X${text}`),
      JSON_VALUE,
    ),
    { nil: undefined },
  ),
});

const ENDPOINT_POLICIES = fc
  .array(
    fc.oneof(
      fc.record({
        Type: fc.constant("PortMapping"),
        Settings: fc.record({
          Protocol: fc.constantFrom(6, 17),
          InternalPort: fc.nat({ max: 65_535 }),
          ExternalPort: fc.integer({ min: 1, max: 65_535 }),
        }),
      }),
      fc.record({
        Type: fc.constant("ACL"),
        Settings: fc.record({
          Action: fc.constantFrom("Allow", "Block"),
          Direction: fc.constantFrom("In", "Out"),
          Protocols: fc.constantFrom("6", "17", ""),
          LocalPorts: fc.constantFrom("80", "80-90", ""),
          Priority: fc.nat({ max: 65_500 }),
        }),
      }),
      fc.record({
        Type: fc.constant("OutBoundNAT"),
        Settings: fc.record({
          Exceptions: fc.array(fc.constantFrom("10.0.0.0/8", "10.96.0.0/12"), { maxLength: 2 }),
        }),
      }),
      fc.record({ Type: fc.constant("Firewall"), Settings: fc.dictionary(TEXT, JSON_VALUE) }),
      fc.constant({ Type: "L2Driver", Settings: {} }),
    ),
    { maxLength: 4 },
  )
  .map((documents) => parseEndpointPolicies(documents));

const IP_CONFIG: fc.Arbitrary<IpConfigRecord> = IP.chain((ip) =>
  fc.record({
    ip: fc.constant(ip),
    length: fc.nat({ max: typeof ip === "number" ? 32 : 128 }),
    ipSubnetId: fc.option(GUID, { nil: undefined }),
  }),
);

const ATTACHMENT: fc.Arbitrary<EndpointAttachment | undefined> = fc.oneof(
  fc.constant(undefined),
  GUID.map((portId) => ({ kind: "host" as const, namespaceId: undefined, portId })),
  GUID.map((portId) => ({ kind: "namespace" as const, namespaceId: NAMESPACE_ID, portId })),
  fc.constant({ kind: "guest" as const, namespaceId: GUEST_ID, portId: undefined }),
);

const MACHINE_PORT: fc.Arbitrary<VirtualMachinePort | undefined> = fc.option(
  fc.record({ virtualMachineId: GUID, portId: GUID, nicName: TEXT }),
  { nil: undefined },
);

const ENDPOINT: fc.Arbitrary<EndpointRecord> = fc
  .tuple(
    BASE,
    fc.record({
      networkId: fc.constant(NETWORK_ID),
      policies: ENDPOINT_POLICIES,
      ipConfigs: fc.array(IP_CONFIG, { maxLength: 2 }),
      dns: DNS,
      routes: fc.array(ROUTE, { maxLength: 3 }),
      mac: MAC,
      flags: U32.map((flags) => (flags >>> 1) * 2),
      attachment: ATTACHMENT,
      isPortGone: fc.boolean(),
      containers: fc.array(TEXT, { maxLength: 2 }),
      virtualMachine: MACHINE_PORT,
      wasUsed: fc.boolean(),
      errorCode: U32,
    }),
    fc.boolean(),
  )
  .map(([base, own, isLower]) => ({
    ...base,
    ...own,
    macText: isLower ? formatMac(own.mac).toLowerCase().replaceAll("-", ":") : formatMac(own.mac),
  }));

const REMOTE_ENDPOINT = ENDPOINT.map((endpoint) => ({
  ...endpoint,
  policies: [],
  flags: 1,
  virtualMachine: undefined,
  attachment: undefined,
}));

const SUBNET: fc.Arbitrary<SubnetRecord> = fc
  .record({
    id: GUID,
    name: TEXT,
    prefix: PREFIX,
    routes: fc.array(ROUTE, { maxLength: 2 }),
    policies: fc.constant([]),
    ipSubnets: fc.array(fc.record({ id: GUID, name: TEXT, prefix: PREFIX, flags: U32 }), {
      minLength: 1,
      maxLength: 2,
    }),
    flags: U32,
  })
  .map((subnet) => ({
    ...subnet,
    gateway: subnet.routes.find((route) => route.destination.length === 0)?.nextHop,
  }));

const NETWORK_POLICIES = fc
  .subarray([
    { Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet 2" } },
    { Type: "VxlanPort", Settings: { Port: 4789 } },
    { Type: "RemoteSubnetRoute", Settings: { DestinationPrefix: "10.244.3.0/24", IsolationId: 4096 } },
    { Type: "HostRoute", Settings: {} },
  ])
  .map((documents) => parseNetworkPolicies(documents));

const NETWORK: fc.Arbitrary<NetworkRecord> = fc
  .tuple(
    BASE,
    fc.record({
      type: fc.constantFrom(...NETWORK_TYPES),
      switchKind: fc.constantFrom("external" as const, "internal" as const, "private" as const),
      adapterName: fc.option(TEXT, { nil: undefined }),
      switchId: GUID,
      layerId: GUID,
      policies: NETWORK_POLICIES,
      macRanges: fc.array(
        MAC.map((first) => ({ first, last: first })),
        { minLength: 1, maxLength: 2 },
      ),
      dns: DNS,
      ipamType: fc.constantFrom(undefined, "Static" as const, "Dhcp" as const),
      subnets: fc.array(SUBNET, { maxLength: 3 }),
      bareSubnets: fc.constant([]),
      flags: U32,
      drMac: MAC,
      hostMac: fc.option(MAC, { nil: undefined }),
      isIsolated: fc.boolean(),
      extensions: fc.dictionary(GUID, fc.boolean(), { maxKeys: 2 }),
      addressedAtMs: fc.integer({ min: 1, max: 100_000 }),
    }),
  )
  .map(([base, own]) => ({ ...base, ...own }));

const LOAD_BALANCER: fc.Arbitrary<LoadBalancerRecord> = fc
  .tuple(
    BASE,
    fc.record({
      networkId: fc.constant(NETWORK_ID),
      endpointIds: fc.array(GUID, { maxLength: 3 }),
      sourceVip: fc.option(IP, { nil: undefined }),
      frontendVips: fc.array(IP, { maxLength: 2 }),
      portMappings: fc.array(
        fc.record({
          protocol: fc.constantFrom(6, 17, 132),
          internalPort: fc.nat({ max: 65_535 }),
          externalPort: fc.nat({ max: 65_535 }),
          distribution: fc.constantFrom("None" as const, "SourceIPProtocol" as const, "SourceIP" as const),
          flags: U32,
        }),
        { maxLength: 2 },
      ),
      flags: U32,
    }),
  )
  .map(([base, own]) => ({ ...base, ...own }));

const NAMESPACE: fc.Arbitrary<NamespaceRecord> = fc
  .tuple(
    BASE,
    fc.record({
      type: fc.constantFrom(
        "Host" as const,
        "HostDefault" as const,
        "Guest" as const,
        "GuestDefault" as const,
      ),
      compartmentGuid: GUID,
      containers: fc.array(TEXT, { maxLength: 2 }),
      endpointIds: fc.array(GUID, { maxLength: 2 }),
      isBuiltIn: fc.boolean(),
      wasUsed: fc.boolean(),
      isTeardownBlocked: fc.boolean(),
    }),
    fc.integer({ min: 7, max: 1_000 }),
  )
  .map(([base, own, number]) => {
    const hostId = own.type === "HostDefault" ? 1 : undefined;
    return { ...base, ...own, compartmentId: own.type === "Host" ? number : hostId };
  });

interface Case {
  readonly name: string;
  readonly kind: StoredKind;
  readonly record: fc.Arbitrary<RecordBase>;
  readonly enter: (context: ServiceContext, record: RecordBase) => void;
  readonly get: (context: ServiceContext, id: string) => RecordBase | undefined;
}

const CASES: readonly Case[] = [
  {
    name: "network",
    kind: "Network",
    record: NETWORK,
    enter: ({ state }, record) => state.addNetwork(record as NetworkRecord, new AddressPool([])),
    get: ({ state }, id) => state.networks.get(id),
  },
  {
    name: "endpoint",
    kind: "Endpoint",
    record: ENDPOINT,
    enter: ({ state }, record) => state.addEndpoint(record as EndpointRecord),
    get: ({ state }, id) => state.endpoints.get(id),
  },
  {
    name: "remote endpoint",
    kind: "Endpoint",
    record: REMOTE_ENDPOINT,
    enter: ({ state }, record) => state.addEndpoint(record as EndpointRecord),
    get: ({ state }, id) => state.endpoints.get(id),
  },
  {
    name: "namespace",
    kind: "Namespace",
    record: NAMESPACE,
    enter: ({ state }, record) => void state.namespaces.set(record.id, record as NamespaceRecord),
    get: ({ state }, id) => state.namespaces.get(id),
  },
  {
    name: "load balancer",
    kind: "LoadBalancer",
    record: LOAD_BALANCER,
    enter: ({ state }, record) => state.addLoadBalancer(record as LoadBalancerRecord),
    get: ({ state }, id) => state.loadBalancers.get(id),
  },
];

describe("any record", () => {
  it.each(CASES)(
    "of a $name is the same after it was stored and made again",
    ({ kind, record, enter, get }) => {
      const row = defined(storedRowOf(kind), "the kind is stored");
      fc.assert(
        fc.property(record, (before) => {
          const [from, to] = [contextOf(1_000_000), contextOf(2_000_000)];
          enter(from, before);
          const text = JSON.stringify(row.store(from, before.id));
          row.enter(to, JSON.parse(text) as never, () => undefined);
          const after = defined(get(to, before.id), "it is there");
          // Times are those of the world, and the clocks differ.
          const expected = {
            ...before,
            changedAtMs: before.changedAtMs - 1_000_000,
            ...("addressedAtMs" in before && { addressedAtMs: Number(before.addressedAtMs) - 1_000_000 }),
          };
          if (!equalValues(after, expected)) expect(after).toEqual(expected);
        }),
        RUNS,
      );
    },
  );
});
