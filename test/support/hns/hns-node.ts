/** One node's HNS for tests: a service with an adapter and a datapath that only keeps the books. */
import { VirtualClock } from "#core/base/clock.ts";
import type { Environment } from "#core/base/environment.ts";
import { defined } from "#core/base/assert.ts";
import { Prng } from "#core/base/prng.ts";
import { memoryPair } from "#dataplane/device/memory-pair.ts";
import { RecordingDatapath } from "#hns/recording-datapath.ts";
import { HnsService } from "#hns/service/hns-service.ts";
import { InProcessHcnClient } from "#hns/service/in-process-client.ts";
import type { NetworkingOptions } from "#hns/service/service-context.ts";
import type { PhysicalAdapter } from "#hns/ports/adapter-description.ts";
import { type ServiceVersion, type WindowsBuild, parseProfile } from "#core/catalogue/profiles.ts";
import type { QuirkSettings } from "#core/catalogue/quirks.ts";
import { parseMac } from "#core/net/mac.ts";
import { parseInterfaceAddress } from "#core/net/ip.ts";

/** An adapter as tests write it; the rest as of a physical adapter. */
export type AdapterFields = Pick<PhysicalAdapter, "name" | "medium" | "isVirtual" | "outsideSwitch"> & {
  readonly address: string;
  readonly mac: string;
};

export interface HnsNodeOptions {
  readonly seed?: number;
  /** Default `ws2022`. */
  readonly profile?: string;
  /** In place of the profile's version of HNS, for versions that no profile has. */
  readonly version?: ServiceVersion;
  /** Further addresses of the first adapter. */
  readonly moreAddresses?: readonly string[];
  /** Defects that are set; the others are as the build has them. */
  readonly quirks?: QuirkSettings;
  /** Adapters by name and address; default `Ethernet` with 10.0.2.15/24. */
  readonly adapters?: readonly AdapterFields[];
  readonly networking?: NetworkingOptions;
}

export interface HnsNode {
  readonly env: Environment;
  readonly clock: VirtualClock;
  readonly datapath: RecordingDatapath;
  readonly service: HnsService;
  readonly client: InProcessHcnClient;
}

const ADAPTERS = [{ name: "Ethernet", address: "10.0.2.15/24", mac: "00-22-48-01-02-03" }] as const;

function adapterOf(
  clock: VirtualClock,
  adapter: AdapterFields,
  moreAddresses: readonly string[],
): PhysicalAdapter {
  const { address: _address, ...fields } = adapter;
  return {
    ...fields,
    mac: defined(parseMac(adapter.mac), "the fixture's MAC is one"),
    device: memoryPair(clock, { delayMs: 0 })[0],
    addresses: [adapter.address, ...moreAddresses].map((address) =>
      defined(parseInterfaceAddress(address), "the fixture's address is one"),
    ),
  };
}

function windowsOf(options: HnsNodeOptions): WindowsBuild {
  const build = defined(parseProfile(options.profile ?? "ws2022"), "the fixture names a profile");
  if (options.version === undefined) return build;
  return { ...build, profile: { ...build.profile, hns: options.version, updates: [] } };
}

export function hnsNode(options: HnsNodeOptions = {}): HnsNode {
  const clock = new VirtualClock();
  const env: Environment = { clock, prng: new Prng(options.seed ?? 1), recorder: undefined };
  const datapath = new RecordingDatapath();
  const service = new HnsService(env, {
    node: "w1",
    windows: windowsOf(options),
    datapath,
    ...(options.networking !== undefined && { networking: options.networking }),
    adapters: (options.adapters ?? ADAPTERS).map((adapter, index) =>
      adapterOf(clock, adapter, index === 0 ? (options.moreAddresses ?? []) : []),
    ),
    ...(options.quirks !== undefined && { quirks: options.quirks }),
  });
  return { env, clock, datapath, service, client: new InProcessHcnClient(service) };
}

/** The L2Bridge network of hcn.md §9.4 with the gateway that flannel gives it. */
export const CBR0 = {
  Name: "cbr0",
  Type: "L2Bridge",
  Policies: [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } }],
  Ipams: [
    {
      Type: "Static",
      Subnets: [
        {
          IpAddressPrefix: "10.244.2.0/24",
          Routes: [{ NextHop: "10.244.2.1", DestinationPrefix: "0.0.0.0/0" }],
        },
      ],
    },
  ],
  Dns: { Domain: "cluster.local", ServerList: ["10.96.0.10"] },
  SchemaVersion: { Major: 2, Minor: 0 },
} as const;

/** The pod endpoint of hcn.md §9.12, without the network's id. */
export const POD_ENDPOINT = {
  Name: "1057facc9092f4d8_cbr0",
  IpConfigurations: [{ IpAddress: "10.244.2.10", PrefixLength: 24 }],
  Routes: [{ NextHop: "10.244.2.2", DestinationPrefix: "0.0.0.0/0" }],
  MacAddress: "0E-2A-0A-F4-02-0A",
  Policies: [
    { Type: "OutBoundNAT", Settings: { Exceptions: ["10.96.0.0/12", "10.244.0.0/16", "10.0.2.0/24"] } },
    { Type: "SDNRoute", Settings: { DestinationPrefix: "10.96.0.0/12", NeedEncap: true } },
    { Type: "SDNRoute", Settings: { DestinationPrefix: "10.0.2.15/32", NeedEncap: true } },
    { Type: "PortMapping", Settings: { Protocol: 6, InternalPort: 80, ExternalPort: 8080, Flags: 1 } },
  ],
  SchemaVersion: { Major: 2, Minor: 0 },
} as const;
