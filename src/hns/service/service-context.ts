/** What all parts of one node's service share. */
import { type BaseDocument, SCHEMA_V2_0 } from "#contracts/hcn/documents/base-document.ts";
import type { Clock } from "#core/base/clock.ts";
import type { Environment } from "#core/base/environment.ts";
import type { Prng } from "#core/base/prng.ts";
import type { HcnNotification } from "#contracts/hcn/client.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { JsonValue } from "#core/base/json.ts";
import { type Guid, ZERO_GUID } from "#contracts/hcn/guid.ts";
import { type HnsFeature, type HnsVersion, hasFeature } from "#contracts/hcn/features.ts";
import type { SchemaVersion } from "#contracts/hcn/description/description.ts";
import { type WindowsBuild, hnsVersionOf, processesNeighborDiscovery } from "#core/catalogue/profiles.ts";
import type { QuirkName, QuirkSetting, QuirkSettings } from "#core/catalogue/quirks.ts";
import { CompileCache, SharedValues } from "../compile/compile-cache.ts";
import type { ServiceTraits } from "../compile/load-balancer/load-balancer-plan.ts";
import type { NodeFacts } from "../compile/network-view.ts";
import { ComputeSystemRegistry } from "./object-tables.ts";
import type { Datapath } from "../ports/datapath.ts";
import type { NetworkRecord, RecordBase } from "./records.ts";
import { PolicyIndexes } from "./network/policy-index.ts";
import type { PhysicalAdapter } from "../ports/adapter-description.ts";
import { PROGRAM_QUIRKS } from "../failures/defects/program-defects.ts";
import { PortProgramming } from "./port-programming.ts";
import { QuirkSet } from "../failures/quirk-set.ts";
import type { StoredKind } from "../store/stored-object.ts";
import { ServiceState } from "./state.ts";
import { hns } from "#data/words.js";
import type { AllocationOrder } from "./address-pool.ts";

const WORDS = hns();

// What a node's networks depend on besides its build of Windows.

/** An extension of the Hyper-V switch that is installed on the node. */
export interface InstalledExtension {
  readonly id: Guid;
  readonly name: string;
}

export interface NetworkingOptions {
  /** Without VFP there are no L2Bridge, L2Tunnel and Overlay networks. Default true. */
  readonly hasVfp?: boolean;
  /** The service Internet Connection Sharing (SharedAccess) can run; ICS networks need it. Default true. */
  readonly hasIcs?: boolean;
  /** The network `Default Switch`, which only clients have, not servers. Default false. */
  readonly hasDefaultSwitch?: boolean;
  /** Which free address an endpoint gets that asks for none. Default `random`. */
  readonly allocationOrder?: AllocationOrder;
  /**
   * How long after a new switch the node has its addresses there: ManagementIP, and on Overlay networks ProviderAddress
   * and DrMacAddress, appear then (hcn.md §4.1), and so do mirrored networks. Default 0.
   */
  readonly addressDelayMs?: number;
  /** Extensions besides those of Windows, such as Open vSwitch. */
  readonly switchExtensions?: readonly InstalledExtension[];
}

/** The options with their defaults. */
export type NetworkingSettings = Required<NetworkingOptions>;

export function networkingSettings(options: NetworkingOptions = {}): NetworkingSettings {
  return Object.freeze({
    hasVfp: options.hasVfp ?? true,
    hasIcs: options.hasIcs ?? true,
    hasDefaultSwitch: options.hasDefaultSwitch ?? false,
    allocationOrder: options.allocationOrder ?? "random",
    addressDelayMs: options.addressDelayMs ?? 0,
    switchExtensions: Object.freeze(
      (options.switchExtensions ?? []).map((each) => Object.freeze({ ...each })),
    ),
  });
}

/** An object that was made, changed or deleted. */
export interface ChangedObject {
  readonly kind: StoredKind;
  readonly id: Guid;
}

export interface HnsServiceOptions {
  /** The node, as seeds and traces name it. */
  readonly node: string;
  readonly windows: WindowsBuild;
  readonly datapath: Datapath;
  readonly adapters: readonly PhysicalAdapter[];
  /** The containers and virtual machines of the node; default: none. They outlive the service. */
  readonly computeSystems?: ComputeSystemRegistry;
  /** What the clock's zero is in milliseconds since 1970; times in documents count from it. Default: 2025-01-01. */
  readonly epochMs?: number;
  /** What the node's networks depend on besides the build. */
  readonly networking?: NetworkingOptions;
  /** Defects that are to be otherwise than the build has them. */
  readonly quirks?: QuirkSettings;
  /** What the nodes of a world hold in common; default: nothing. */
  readonly shared?: SharedValues;
}

const EPOCH_DEFAULT_MS = 1_735_689_600_000;
/** Milliseconds from 1601, where Windows' file times begin, to 1970. */
const FILETIME_OFFSET_MS = 11_644_473_600_000;
const FILETIME_PER_MS = 10_000;
const VERSION_MAJOR = 0x1_0000_0000;

/** Defects that rules follow from. They strike for as long as they are set: with a rate, once for all. */
const TRAIT_QUIRKS: readonly QuirkName[] = [
  ...PROGRAM_QUIRKS,
  "session-affinity-not-kept",
  "overlay-nodeport-ws2022",
  "management-address-flips",
  "load-balancer-port-blocks-not-shared",
  "own-node-port-unreachable",
  "services-unreachable-from-node",
];

/** What requests may say of any object. */
type WrittenBase = Pick<BaseDocument, "Owner" | "Name" | "AdditionalParams" | "SchemaVersion">;

/** The dialect that results repeat; undefined for v1 documents: the service itself writes 2.0. */
function schemaVersionOf({ SchemaVersion }: WrittenBase): SchemaVersion | undefined {
  return SchemaVersion !== undefined && SchemaVersion.Major >= 2 ? SchemaVersion : undefined;
}

const NO_NOTIFICATIONS: readonly HcnNotification[] = Object.freeze([]);

export class ServiceContext {
  readonly node: string;
  readonly windows: WindowsBuild;
  readonly version: HnsVersion;
  readonly datapath: Datapath;
  readonly adapters: readonly PhysicalAdapter[];
  readonly quirks: QuirkSet;
  readonly networking: NetworkingSettings;
  readonly state: ServiceState = new ServiceState();
  readonly cache: CompileCache = new CompileCache();
  /** What is worked out of the networks' lists of policies. */
  readonly policies: PolicyIndexes = new PolicyIndexes();
  readonly computeSystems: ComputeSystemRegistry;
  readonly shared: SharedValues;
  readonly ports: PortProgramming;
  readonly clock: Clock;
  private readonly seed: Prng;
  private chance: Prng;
  private readonly epochMs: number;
  private notifications: HcnNotification[] = [];
  private changes: ChangedObject[] = [];
  private changeCount = 0;
  /** Moments of the clock at which objects change, in order. */
  private moments: number[] = [];

  constructor(env: Environment, options: HnsServiceOptions) {
    this.node = options.node;
    this.windows = options.windows;
    this.version = hnsVersionOf(options.windows);
    this.datapath = options.datapath;
    this.adapters = options.adapters;
    this.networking = networkingSettings(options.networking);
    this.computeSystems = options.computeSystems ?? new ComputeSystemRegistry();
    this.shared = options.shared ?? new SharedValues();
    this.seed = env.prng.derive(`hns/${options.node}`);
    this.chance = this.seed;
    this.quirks = new QuirkSet(options.windows, this.prng, options.quirks);
    this.ports = new PortProgramming({
      ...options,
      state: this.state,
      cache: this.cache,
      policies: this.policies,
      shared: this.shared,
      traits: this.serviceTraits(),
      quirks: this.quirks,
      processesNeighborDiscovery: processesNeighborDiscovery(this.windows),
    });
    this.datapath.followDefects(this.quirks);
    this.clock = env.clock;
    this.epochMs = options.epochMs ?? EPOCH_DEFAULT_MS;
    for (const adapter of options.adapters) this.state.macs.take(adapter.mac, `adapter ${adapter.name}`);
  }

  /** Sets a defect; what is programmed follows. */
  setQuirk(name: QuirkName, setting: QuirkSetting): void {
    this.quirks.set(name, setting);
    this.datapath.followDefects(this.quirks);
    if (TRAIT_QUIRKS.includes(name)) this.ports.changeTraits(this.serviceTraits());
  }

  private serviceTraits(): ServiceTraits {
    return Object.freeze({
      sharesPortBlocks: !this.hasQuirk("load-balancer-port-blocks-not-shared"),
      reachesServices: !this.hasQuirk("services-unreachable-from-node"),
      reachesOwnNodePorts: !this.hasQuirk("own-node-port-unreachable"),
      keepsAffinity: !this.hasQuirk("session-affinity-not-kept"),
      losesOverlayNodePorts: this.hasQuirk("overlay-nodeport-ws2022"),
    });
  }

  get nowMs(): number {
    return this.clock.nowMs;
  }

  /** True when a moment has come for which the state holds something back. */
  get isBehind(): boolean {
    const { mirroring, restoration } = this.state;
    if (mirroring === undefined && restoration === undefined) return false;
    return Math.min(mirroring?.atMs ?? Infinity, restoration?.atMs ?? Infinity) <= this.nowMs;
  }

  /** A moment of the clock as Windows writes it: 100 ns since 1601. */
  fileTime(atMs: number): number {
    return Math.round((this.epochMs + atMs + FILETIME_OFFSET_MS) * FILETIME_PER_MS);
  }

  /** The moment of the clock that a file time means; whole milliseconds. */
  clockTime(fileTime: number): number {
    return Math.round(fileTime / FILETIME_PER_MS - FILETIME_OFFSET_MS - this.epochMs);
  }

  /** A moment of the clock in milliseconds since 1970. */
  epochTime(atMs: number): number {
    return this.epochMs + atMs;
  }

  /** A moment in milliseconds since 1970 on the clock. */
  sinceEpoch(epochTimeMs: number): number {
    return epochTimeMs - this.epochMs;
  }

  /** Chance goes on differently from here: a service that starts anew on old objects must not repeat their ids. */
  reseed(incarnation: number): void {
    this.chance = this.seed.derive(`${incarnation}`);
  }

  get prng(): Prng {
    return this.chance;
  }

  /** `Version` of objects that this service writes: major × 2^32 + minor (hcn.md §7.2). */
  get objectVersion(): number {
    return this.version.Major * VERSION_MAJOR + this.version.Minor;
  }

  has(feature: HnsFeature): boolean {
    return hasFeature(this.version, feature);
  }

  /** True when a defect strikes now (`knowledge/quirks.ts`). One with a rate draws: ask once per event. */
  hasQuirk(name: QuirkName): boolean {
    return this.quirks.has(name);
  }

  /** The id of a new object: the one asked for, else a new one. */
  chooseId(wanted: Guid | undefined): Guid {
    return wanted === undefined || wanted === ZERO_GUID ? this.prng.guid() : wanted;
  }

  /**
   * As `chooseId`, for an object that is to be among those `present`.
   * @throws HcnError ERROR_OBJECT_ALREADY_EXISTS.
   */
  newId(wanted: Guid | undefined, present: { has(id: Guid): boolean }, what: string): Guid {
    const id = this.chooseId(wanted);
    if (!present.has(id)) return id;
    throw new HcnError("ERROR_OBJECT_ALREADY_EXISTS", { detail: `There is ${what} ${id} already` });
  }

  /** What a document that describes a whole object changes in its record; owner and name stay where it has none. */
  rewritten(document: WrittenBase): Partial<RecordBase> & Pick<RecordBase, "version" | "changedAtMs"> {
    const { Owner, Name, AdditionalParams } = document;
    const schemaVersion = schemaVersionOf(document);
    return {
      ...(Owner !== undefined && { owner: Owner }),
      ...(Name !== undefined && { name: Name }),
      ...(AdditionalParams !== undefined && { additionalParams: AdditionalParams }),
      ...(schemaVersion !== undefined && { schemaVersion }),
      version: this.objectVersion,
      changedAtMs: this.nowMs,
    };
  }

  /** What every new record begins with. */
  baseOf(id: Guid, document: WrittenBase): RecordBase {
    return {
      id,
      owner: document.Owner ?? "",
      name: document.Name ?? "",
      additionalParams: document.AdditionalParams,
      schemaVersion: schemaVersionOf(document) ?? SCHEMA_V2_0,
      version: this.objectVersion,
      changedAtMs: this.nowMs,
      activityId: this.prng.guid(),
    };
  }

  adapterOf(network: NetworkRecord): PhysicalAdapter | undefined {
    return this.ports.adapterOf(network);
  }

  /** The node as the rules of a network on `adapter` see it. */
  nodeFacts(adapter: PhysicalAdapter): NodeFacts {
    return this.ports.nodeFacts(adapter);
  }

  /** `scope`: the object whose registrations hear it; undefined: those of the service (hcn.md §1.4). */
  notify(type: number, id: Guid, flags = 0, data?: JsonValue, scope?: Guid): void {
    this.notifications.push({
      type,
      status: 0,
      data: data === undefined ? { ID: id, Flags: flags } : { ID: id, Flags: flags, Data: data },
      ...(scope !== undefined && { scope }),
    });
  }

  /** Notifies what has registered with HCS for a compute system. */
  notifyComputeSystem(system: string, type: number, runtimeId: Guid, data: JsonValue): void {
    const reported = { ID: runtimeId, Flags: 0, Data: data };
    this.notifications.push({ type, status: 0, data: reported, computeSystem: system });
  }

  /** Notifications since the last call, in order. */
  takeNotifications(): readonly HcnNotification[] {
    if (this.notifications.length === 0) return NO_NOTIFICATIONS;
    const taken = this.notifications;
    this.notifications = [];
    return taken;
  }

  /** Goes up with every change of an object, by a call or by the clock. */
  get revision(): number {
    this.passMoments();
    return this.changeCount;
  }

  /** Objects show something else from `atMs` on, without a call. */
  changesAt(atMs: number): void {
    if (atMs <= this.nowMs) return;
    this.moments.push(atMs);
    this.moments.sort((a, b) => a - b);
  }

  /** The next moment at which objects change without a call; undefined: there is none. */
  get nextMomentMs(): number | undefined {
    this.passMoments();
    return this.moments[0];
  }

  private passMoments(): void {
    while ((this.moments[0] ?? Infinity) <= this.nowMs) {
      this.moments.shift();
      this.changeCount++;
    }
  }

  /**
   * Programs of the node keep the ports that they listen on from load balancers and mappings on old builds (hcn.md §4.7).
   * Inferred: WinNAT takes no port that a program of the host listens on, whatever the build (`isTranslated`).
   * Inferred: the address does not matter, since what made it known was a front end of its own address (dataplane.md F-56).
   * @throws HcnError HCN_E_PORT_ALREADY_EXISTS where the build has the defect and a program of the host listens there.
   */
  checkNotListening(protocol: number, port: number, isTranslated = false): void {
    if (!this.datapath.isListening(protocol, port)) return;
    if (!isTranslated && !this.hasQuirk("listener-blocks-front-end")) return;
    throw new HcnError("HCN_E_PORT_ALREADY_EXISTS", {
      detail: WORDS.portInUse({ protocol, port }),
      explanation: "load-balancer-port-already-exists",
    });
  }

  /** Notes that an object was made, changed or deleted. */
  changed(kind: StoredKind, id: Guid): void {
    this.changeCount++;
    this.changes.push({ kind, id });
  }

  /** What changed since the last call, each object once, in the order of the first change of each. */
  takeChanges(): readonly ChangedObject[] {
    const taken = new Map(this.changes.map((change) => [`${change.kind}/${change.id}`, change]));
    this.dropChanges();
    return [...taken.values()];
  }

  /** Forgets what changed since the last call. Almost every call changes one object, so nothing is made of it before. */
  dropChanges(): void {
    if (this.changes.length > 0) this.changes = [];
  }
}
