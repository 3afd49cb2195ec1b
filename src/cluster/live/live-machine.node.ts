/** A namespace of this machine that is a machine of the cluster: its only network is a TAP at the end of a simulated cable. */
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createFile } from "#core/base/owner-only.node.ts";
import type { Mac } from "#core/net/mac.ts";
import { type InterfaceAddress, type Ip, formatIp } from "#core/net/ip.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { Device, Receiver } from "#dataplane/device/device.ts";
import { MemoryDevice } from "#dataplane/device/memory-pair.ts";
import { InterfaceSettings } from "#dataplane/device/linux/interface-settings.node.ts";
import {
  NAMESPACES,
  NetworkNamespace,
  removeLeftName,
} from "#dataplane/device/linux/network-namespace.node.ts";
import {
  NoForeignCallsError,
  SystemCallError,
  SystemCalls,
} from "#dataplane/device/linux/system-calls.node.ts";
import { TapDevice, tapFailure } from "#dataplane/device/linux/tap.node.ts";
import type { DnsSettings } from "#dataplane/host/stack.ts";
import { ApiError } from "../api/error-details.ts";
import type { Cluster } from "../cluster.ts";
import { NOWHERE, Outlet } from "./outlet.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();
const REFUSED = 400;

/** What the interface of each is called. */
export const LIVE_INTERFACE = "eth0";
const PREFIX = "mullion-";
/** Of no name of a cluster. */
const BEHIND_CLUSTER = "_";
/** What `ip netns exec` puts in the place of /etc. */
const SETTINGS = "/etc/netns";
const READABLE = 0o644;

/** The namespace of a running cluster, or of a pod of it. */
export function namespaceOf(cluster: string, pod = ""): string {
  return pod === "" ? `${PREFIX}${cluster}` : `${PREFIX}${cluster}${BEHIND_CLUSTER}${pod}`;
}

/** Carries frames from one side to the other. */
class Relay implements Receiver {
  private readonly to: Device;

  constructor(to: Device) {
    this.to = to;
  }

  receive(packet: Packet): void {
    this.to.transmit(packet);
  }
}

/** What a TAP takes the place of. */
interface Behind {
  /** The simulated one whose place it takes. */
  readonly simulated?: Receiver;
  /** Told of each frame that the kernel does not take: the interface is down, or its queue is full. */
  readonly lost?: () => void;
}

/**
 * Joins the end of a cable and a TAP. Copies of the cluster have the `simulated` one behind the cable.
 * @returns a function that gives the simulated one its place back.
 */
export function joinTap(cluster: Cluster, device: Device, tap: TapDevice, behind: Behind = {}): () => void {
  const { simulated, lost } = behind;
  const outside = new Relay(tap);
  tap.onLost = lost;
  if (device instanceof MemoryDevice) device.joinFrames();
  cluster.outlets.add(outside);
  device.attach(new Outlet(outside, simulated));
  tap.attach(new Relay(device));
  return () => {
    cluster.outlets.delete(outside);
    device.attach(simulated ?? NOWHERE);
  };
}

/** What the interface of a machine has. */
export interface LiveInterface {
  /** Of each family one at most; that of IPv4 first. */
  readonly addresses: readonly InterfaceAddress[];
  readonly mac: Mac;
  readonly mtuBytes: number;
  /** Of each family one at most. None: it knows its own networks alone. */
  readonly gateways: readonly Ip[];
  /** It may have VXLAN devices of its own. */
  readonly hasTunnels?: boolean;
}

export interface LiveMachineOptions extends Behind, LiveInterface {
  /** Of its namespace. */
  readonly name: string;
  readonly dns?: DnsSettings;
  /** The end of its cable. */
  readonly device: Device;
}

export class LiveMachine {
  readonly tap: TapDevice;
  readonly addresses: readonly Ip[];
  private readonly namespace: NetworkNamespace;
  /** What `ip netns exec` puts over files of /etc, once it is there. */
  private settings: string | undefined;

  private constructor(tap: TapDevice, addresses: readonly Ip[], namespace: NetworkNamespace) {
    this.tap = tap;
    this.addresses = addresses;
    this.namespace = namespace;
  }

  /** @throws ApiError `live-name-taken`; SystemCallError with what this machine does not allow. */
  static open(cluster: Cluster, calls: SystemCalls, options: LiveMachineOptions): LiveMachine {
    const { name, addresses, device } = options;
    if (!removeLeftMachine(calls, name)) {
      const message = WORDS.liveNameTaken({ name });
      throw new ApiError(REFUSED, "live-name-taken", message, WORDS.adviceLiveNameTaken);
    }
    const { namespace, built: tap } = NetworkNamespace.make(calls, () => openInterface(calls, options));
    const own = addresses.map(({ ip }) => ip);
    const machine = new LiveMachine(tap, own, namespace);
    try {
      if (tryName(namespace, name) && options.dns !== undefined) {
        machine.settings = join(SETTINGS, name);
        writeResolver(name, options.dns);
      }
    } catch (error) {
      machine.close();
      throw error;
    }
    joinTap(cluster, device, tap, options);
    return machine;
  }

  /** As `ip netns` calls it; undefined: it has none (any more), and is that of the file that `path` names. */
  get name(): string | undefined {
    return this.namespace.name;
  }

  /** Who opens it is in the namespace. */
  get path(): string {
    const { name } = this;
    return name === undefined ? `/proc/${process.pid}/fd/${this.namespace.fd}` : join(NAMESPACES, name);
  }

  close(): void {
    this.tap.close();
    if (this.settings !== undefined) rmSync(this.settings, { recursive: true, force: true });
    this.namespace.close();
  }
}

/** A TAP in the namespace of this thread, with what a machine has. */
export function openInterface(calls: SystemCalls, options: LiveInterface): TapDevice {
  const tap = TapDevice.open(calls, {
    name: LIVE_INTERFACE,
    mtuBytes: options.mtuBytes,
    hasOffloads: true,
    hasTunnels: options.hasTunnels ?? false,
  });
  try {
    configure(calls, options);
    return tap;
  } catch (error) {
    tap.close();
    throw error;
  }
}

function configure(calls: SystemCalls, { addresses, mac, gateways }: LiveInterface): void {
  const settings = new InterfaceSettings(calls);
  try {
    settings.setMac(LIVE_INTERFACE, mac);
    for (const { ip, length } of addresses) settings.setAddress(LIVE_INTERFACE, ip, length);
    settings.setUp("lo");
    settings.setUp(LIVE_INTERFACE);
    for (const gateway of gateways) settings.addDefaultRoute(LIVE_INTERFACE, gateway);
  } finally {
    settings.close();
  }
}

/** Without the rights to mount there is no name, and it works without. */
function tryName(namespace: NetworkNamespace, name: string): boolean {
  try {
    namespace.setName(name);
    return true;
  } catch (error) {
    const code = error instanceof SystemCallError ? error.code : (error as NodeJS.ErrnoException).code;
    if (code === "EPERM" || code === "EACCES" || code === "EROFS") return false;
    throw error;
  }
}

/** Windows reads no options; a resolver of Linux does, and a pod of Windows has none for it. */
export function resolverText({ servers, search, options = [] }: DnsSettings): string {
  const lines = [
    ...servers.map((server) => `nameserver ${formatIp(server)}`),
    ...(search.length === 0 ? [] : [`search ${search.join(" ")}`]),
    ...(options.length === 0 ? [] : [`options ${options.join(" ")}`]),
  ];
  return `${lines.join("\n")}\n`;
}

function writeResolver(name: string, dns: DnsSettings): void {
  mkdirSync(join(SETTINGS, name), { recursive: true });
  createFile(join(SETTINGS, name, "resolv.conf"), resolverText(dns), READABLE);
}

/** Takes away what a killed process left of a machine. @returns false: it is somebody's. */
function removeLeftMachine(calls: SystemCalls, name: string): boolean {
  if (!removeLeftName(calls, name, LIVE_INTERFACE)) return false;
  rmSync(join(SETTINGS, name), { recursive: true, force: true });
  return true;
}

/** Takes away what a cluster left that was killed. */
function removeLeftMachines(calls: SystemCalls, cluster: string): void {
  if (!existsSync(NAMESPACES)) return;
  const own = namespaceOf(cluster);
  for (const name of readdirSync(NAMESPACES))
    if (name === own || name.startsWith(`${own}${BEHIND_CLUSTER}`)) removeLeftMachine(calls, name);
}

/** The same on any machine, also one that has no live clusters. */
export function removeLiveLeftovers(name: string): void {
  if (process.platform !== "linux") return;
  try {
    removeLeftMachines(new SystemCalls(), name);
  } catch (error) {
    // Who may not do this could not have left anything.
    if (!(error instanceof NoForeignCallsError) && tapFailure(error) !== "not-permitted") throw error;
  }
}
