/**
 * Long datagrams, a router with a smaller MTU, and closed ports, on every driver and both ways (dataplane.md §1.10,
 * §2.17 step 4, DT-022, DT-187): all through the stacks, the switch and the wire.
 */
import { describe, expect, it } from "vitest";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { HostComputeNetwork } from "#contracts/hcn/documents/network.ts";
import { createEndpoint, createLoadBalancerOnly } from "#contracts/hcn/operations.ts";
import { HOST_ATTACH, attachHnsEndpoint } from "#contracts/hcn/v1-operations.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import {
  type DriverPod,
  DriverWorld,
  type DriverWorldOptions,
} from "#test/support/dataplane/driver-world.ts";
import { datagrams, echoOn, stream } from "#test/support/dataplane/conversation.ts";

const X = "203.0.113.10";
const NODE = "10.0.0.11";
const MTU = 1_300;

interface Driver {
  readonly name: string;
  /** What X sees and E speaks to. */
  readonly seenAs: string;
  readonly make: () => Promise<{ world: DriverWorld; a: DriverPod }>;
}

const OUTBOUND: PolicyDocument = {
  Type: "OutBoundNAT",
  Settings: { Exceptions: ["10.244.0.0/16", "10.96.0.0/12"] },
};

/** Port 8080 of the node is port 80 of the pod, for both protocols; on 8081 nobody listens behind it. */
const PUBLISHED: readonly PolicyDocument[] = [6, 17].flatMap((Protocol) => [
  { Type: "PortMapping", Settings: { Protocol, InternalPort: 80, ExternalPort: 8080 } },
  { Type: "PortMapping", Settings: { Protocol, InternalPort: 81, ExternalPort: 8081 } },
]);

async function pod(
  type: NonNullable<HostComputeNetwork["Type"]>,
  subnet: { readonly prefix: string; readonly gateway: string } | undefined,
  address: string,
  policies: readonly PolicyDocument[],
  options: {
    readonly world?: DriverWorldOptions;
    readonly fields?: HostComputeNetwork;
    readonly hop?: string;
  } = {},
): Promise<{ world: DriverWorld; a: DriverPod }> {
  const world = new DriverWorld(options.world);
  const network = await world.network(type, subnet, options.fields);
  if (options.hop !== undefined) {
    const IpConfigurations = [{ IpAddress: options.hop }];
    const leg = await createEndpoint(world.client, network, { Name: "cbr0_ep", IpConfigurations });
    await attachHnsEndpoint(world.client, leg.ID ?? "", HOST_ATTACH);
    for (const each of world.node.root.listInterfaces()) each.isForwarding = true;
  }
  const NextHop = options.hop ?? subnet?.gateway ?? "10.0.0.1";
  const a = await world.pod("A", network, {
    IpConfigurations: [{ IpAddress: address, PrefixLength: 24 }],
    Routes: [{ NextHop, DestinationPrefix: "0.0.0.0/0" }],
    Policies: [...policies],
  });
  return { world, a };
}

const OVERLAY: HostComputeNetwork = {
  Ipams: [
    {
      Type: "Static",
      Subnets: [
        {
          IpAddressPrefix: "10.244.1.0/24",
          Routes: [{ NextHop: "10.244.1.1", DestinationPrefix: "0.0.0.0/0" }],
          Policies: [{ Type: "VSID", Settings: { IsolationId: 4096 } }],
        },
      ],
    },
  ],
  Policies: [
    { Type: "DrMacAddress", Settings: { Address: "00-15-5D-AA-01-01" } },
    { Type: "HostRoute", Settings: {} },
  ],
};

const DRIVERS: readonly Driver[] = [
  {
    name: "L2Bridge, pods in a range of their own",
    seenAs: NODE,
    make: () =>
      pod(
        "L2Bridge",
        { prefix: "10.244.1.0/24", gateway: "10.244.1.1" },
        "10.244.1.10",
        [OUTBOUND, ...PUBLISHED],
        {
          hop: "10.244.1.2",
        },
      ),
  },
  {
    name: "L2Bridge, pods in the node's subnet",
    seenAs: NODE,
    make: () =>
      pod("L2Bridge", { prefix: "10.0.0.0/24", gateway: "10.0.0.1" }, "10.0.0.50", [OUTBOUND, ...PUBLISHED]),
  },
  {
    name: "L2Tunnel",
    seenAs: NODE,
    make: () =>
      pod("L2Tunnel", { prefix: "10.0.0.0/24", gateway: "10.0.0.1" }, "10.0.0.50", [OUTBOUND, ...PUBLISHED], {
        world: { fabricAddresses: ["10.0.0.50"] },
      }),
  },
  {
    name: "Overlay",
    seenAs: NODE,
    make: () =>
      pod(
        "Overlay",
        { prefix: "10.244.1.0/24", gateway: "10.244.1.1" },
        "10.244.1.10",
        [OUTBOUND, ...PUBLISHED],
        { fields: OVERLAY },
      ),
  },
  {
    name: "NAT",
    seenAs: NODE,
    make: () => pod("NAT", { prefix: "172.20.1.0/24", gateway: "172.20.1.1" }, "172.20.1.5", PUBLISHED),
  },
  { name: "Transparent", seenAs: "10.0.0.50", make: () => pod("Transparent", undefined, "10.0.0.50", []) },
];

/** X and E are behind legs of the router that take 1300 bytes. */
function shrink(world: DriverWorld): void {
  for (const leg of world.underlay.router.compartment.listInterfaces())
    if (leg.name !== "eth0") leg.mtuBytes = MTU;
}

describe.each(DRIVERS)("$name", ({ seenAs, make }) => {
  async function small(): Promise<{ world: DriverWorld; a: Compartment; e: Compartment; run: () => void }> {
    const { world, a } = await make();
    shrink(world);
    echoOn(world.x.compartment, 80);
    echoOn(a.compartment, 80);
    const run = (): void => {
      world.run(3_000);
    };
    return { world, a: a.compartment, e: world.e.compartment, run };
  }
  const isPublished = seenAs === NODE;
  const open = [seenAs, isPublished ? 8080 : 80] as const;
  const closed = [seenAs, isPublished ? 8081 : 81] as const;

  it("datagrams of 3000 bytes go out and come back", async () => {
    const { a, run } = await small();
    expect(datagrams(a, [X, 80], [3_000, 3_000], run)).toEqual([
      `3000 bytes from ${X}`,
      `3000 bytes from ${X}`,
    ]);
  });

  it("datagrams of 3000 bytes come in and are answered", async () => {
    const { e, run } = await small();
    expect(datagrams(e, open, [3_000, 3_000], run)).toEqual([
      `3000 bytes from ${seenAs}`,
      `3000 bytes from ${seenAs}`,
    ]);
  });

  it("a connection outwards learns the path's MTU", async () => {
    const { a, run } = await small();
    expect(stream(a, [X, 80], 20_000, run)).toEqual(["finished after 20000 bytes"]);
  });

  it("a connection from outside learns it, too: the server's answers are long", async () => {
    const { e, run } = await small();
    expect(stream(e, open, 20_000, run)).toEqual(["finished after 20000 bytes"]);
  });

  it("closed ports outside are told to the pod", async () => {
    const { a, run } = await small();
    expect(datagrams(a, [X, 81], [10, 3_000], run)).toEqual(["port-unreachable", "port-unreachable"]);
    expect(stream(a, [X, 81], 10, run)).toEqual(["refused after 0 bytes"]);
  });

  it("closed ports of the pod are told to the outside", async () => {
    const { e, run } = await small();
    expect(datagrams(e, closed, [10, 3_000], run)).toEqual(["port-unreachable", "port-unreachable"]);
    expect(stream(e, closed, 10, run)).toEqual(["refused after 0 bytes"]);
  });
});

/**
 * The node port of a Service leads to the pod of the node; without DSR the node translates both ends. On an overlay that
 * takes a source VIP, which these nodes have not (dataplane.md §2.3).
 */
describe.each(DRIVERS.filter(({ name }) => name !== "NAT" && name !== "Transparent"))(
  "a node port, $name",
  ({ name, make }) => {
    it.each([0, 1].filter((flags) => flags === 1 || name !== "Overlay"))(
      "flags %d: long datagrams, a smaller MTU and a closed port",
      async (Flags) => {
        const { world, a } = await make();
        shrink(world);
        for (const Protocol of [6, 17])
          await createLoadBalancerOnly(world.client, {
            HostComputeEndpoints: [a.endpoint],
            FrontendVIPs: [],
            PortMappings: [
              { Protocol, ExternalPort: 30_080, InternalPort: 80 },
              { Protocol, ExternalPort: 30_081, InternalPort: 81 },
            ],
            Flags,
            SchemaVersion: { Major: 2, Minor: 0 },
          });
        echoOn(a.compartment, 80);
        const run = (): void => {
          world.run(3_000);
        };
        const e = world.e.compartment;
        expect(datagrams(e, [NODE, 30_080], [3_000, 3_000], run)).toEqual([
          `3000 bytes from ${NODE}`,
          `3000 bytes from ${NODE}`,
        ]);
        expect(stream(e, [NODE, 30_080], 20_000, run)).toEqual(["finished after 20000 bytes"]);
        expect(datagrams(e, [NODE, 30_081], [10, 3_000], run)).toEqual([
          "port-unreachable",
          "port-unreachable",
        ]);
        expect(stream(e, [NODE, 30_081], 10, run)).toEqual(["refused after 0 bytes"]);
      },
    );
  },
);
