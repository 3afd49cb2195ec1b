/**
 * An HNS in one call, for programs and their tests: a node with its adapters, its clock and a client, nothing else of
 * the world. No packets move.
 */
import { assert } from "#core/base/assert.ts";
import { type Clock, VirtualClock } from "#core/base/clock.ts";
import { Prng } from "#core/base/prng.ts";
import { memoryPair } from "#dataplane/device/memory-pair.ts";
import type { QuirkSettings } from "#core/catalogue/quirks.ts";
import type { HnsVersion } from "#contracts/hcn/features.ts";
import { PROFILE_NAMES, type WindowsBuild, parseProfile } from "#core/catalogue/profiles.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { parseInterfaceAddress } from "#core/net/ip.ts";
import {
  type AdapterDescription,
  DEFAULT_ADAPTERS,
  type PhysicalAdapter,
} from "./ports/adapter-description.ts";
import { RecordingDatapath } from "./recording-datapath.ts";
import { HnsService } from "./service/hns-service.ts";
import { InProcessHcnClient } from "./service/in-process-client.ts";
import type { NetworkingOptions } from "./service/service-context.ts";
import type { ObjectStore } from "./store/stored-object.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

export interface LocalHnsOptions {
  /** The build of Windows: a profile such as `ws2022` or `ws2022.2582`, or a build number. Default `ws2022`. */
  readonly profile?: string;
  /** Another version of HNS than the build has. */
  readonly hnsVersion?: HnsVersion;
  /** Default: one, `Ethernet` with 10.0.0.11/24. */
  readonly adapters?: readonly AdapterDescription[];
  /** Where GUIDs, MACs and addresses come from: equal seeds give equal answers. Default 1. */
  readonly seed?: number | string;
  /** Default: a clock that stands until `advance` moves it. */
  readonly clock?: Clock;
  /** What the clock's zero is, in milliseconds since 1970; times in documents count from it. */
  readonly epochMs?: number;
  /** Defects that are to be otherwise than the build has them. */
  readonly quirks?: QuirkSettings;
  /** What the node's networks depend on besides the build. */
  readonly networking?: NetworkingOptions;
  /** Where changes are kept; `openHns` reads them again. Default: nowhere. */
  readonly store?: ObjectStore;
}

/** One node's HNS, with what a test does to it. */
export interface LocalHns {
  /** How programs see it. */
  readonly client: InProcessHcnClient;
  readonly service: HnsService;
  readonly clock: Clock;
  readonly windows: WindowsBuild;
  /**
   * Lets time pass, so that what HNS does later happens: management addresses appear, delays end.
   * @throws Error when the clock is the caller's own.
   */
  advance(milliseconds: number): Promise<void>;
}

/** `00-15-5D` is the range of Hyper-V's own adapters. */
const FIRST_MAC = 0x0015_5d00_0011;
const FRAME_DELAY_MS = 0;
const SEED_DEFAULT = 1;

const PROFILE_DEFAULT = "ws2022";
/** What the node is called. */
export const LOCAL_NODE = "node";

/** @throws RangeError that lists the profiles. */
function requireProfile(text: string = PROFILE_DEFAULT): WindowsBuild {
  const windows = parseProfile(text);
  if (windows !== undefined) return windows;
  throw new RangeError(
    WORDS.profileUnknown({ text: JSON.stringify(text), profileNames: PROFILE_NAMES.join(", ") }),
  );
}

/** The build of the options, with their version of HNS. @throws RangeError that lists the profiles. */
export function windowsOf({ profile, hnsVersion }: LocalHnsOptions): WindowsBuild {
  const windows = requireProfile(profile);
  return hnsVersion === undefined ? windows : { ...windows, hns: hnsVersion };
}

function readMac(text: string | undefined, index: number): Mac {
  if (text === undefined) return (FIRST_MAC + index) as Mac;
  const mac = parseMac(text);
  if (mac !== undefined) return mac;
  throw new RangeError(`adapters[${index}].mac is ${JSON.stringify(text)}; write it as 00-15-5D-00-00-11`);
}

function readAdapter(clock: Clock, adapter: AdapterDescription, index: number): PhysicalAdapter {
  const { addresses: texts, mac, ...fields } = adapter;
  const addresses = texts.map((text) => {
    const address = parseInterfaceAddress(text);
    if (address !== undefined) return address;
    throw new RangeError(
      `adapters[${index}].addresses holds ${JSON.stringify(text)}; write address and prefix length, as 10.0.0.11/24`,
    );
  });
  const [device] = memoryPair(clock, { delayMs: FRAME_DELAY_MS });
  return { ...fields, mac: readMac(mac, index), device, addresses };
}

/**
 * Makes the HNS of a node that has no networks yet.
 *
 * ```ts
 * const { client } = createHns({ profile: "ws2025" });
 * const network = await createNetwork(client, { Name: "nat", Type: "NAT" });
 * ```
 * @throws RangeError when a profile, an address or a MAC is none.
 */
export function createHns(options: LocalHnsOptions = {}): LocalHns {
  const windows = windowsOf(options);
  const own = options.clock === undefined ? new VirtualClock() : undefined;
  const clock = options.clock ?? own;
  assert(clock !== undefined, "there is a clock");
  const env = { clock, prng: new Prng(options.seed ?? SEED_DEFAULT), recorder: undefined };
  const adapters = options.adapters ?? DEFAULT_ADAPTERS;
  const service = new HnsService(env, {
    node: LOCAL_NODE,
    windows,
    datapath: new RecordingDatapath(),
    adapters: adapters.map((adapter, index) => readAdapter(clock, adapter, index)),
    ...(options.epochMs !== undefined && { epochMs: options.epochMs }),
    ...(options.quirks !== undefined && { quirks: options.quirks }),
    ...(options.networking !== undefined && { networking: options.networking }),
  });
  const client = new InProcessHcnClient(service, options.store);
  const advance = async (milliseconds: number): Promise<void> => {
    if (own === undefined) throw new Error("the clock is the caller's own; move that");
    own.runUntil(own.nowMs + milliseconds);
    await client.flush();
  };
  return { client, service, clock, windows, advance };
}
