/** The back end vxlan on Linux: a device for each family, and three entries for each other node (control-planes.md §3). */
import { messageOf } from "#core/base/thrown.ts";
import {
  type Ip,
  type IpFamily,
  type Ipv6,
  type Prefix,
  bitsOf,
  equalPrefixes,
  formatIp,
  formatPrefix,
  prefixContains,
  prefixCovers,
  prefixOf,
} from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { type Backend, type BackendParts, LeaseRequest, type Registration } from "../backends/backend.ts";
import { type FlannelFinding, FlannelError, findingOf } from "../reports.ts";
import type { LinuxHost, VxlanDevice, VxlanSettings } from "../node/flannel-host.ts";
import type { Lease, LeaseAttributes, LeaseEvent } from "../leases/lease.ts";
import type { StoredMacs } from "../leases/lease-store.ts";
import { leaseKey } from "../leases/peers.ts";
import { Backoff, type Progress, Recurring, done, failed } from "../progress.ts";
import { VNI_BITS, formatMacWithColons, formatVxlanData, parseVxlanData } from "../backends/vxlan-data.ts";
import {
  type LinuxVxlanOptions,
  type TunnelPeer,
  addEntries,
  ensureVxlanDevice,
  readLinuxVxlanOptions,
  removeEntries,
  routeOf,
} from "./vxlan-device.ts";
import { flannel } from "#data/words.js";

const WORDS = flannel();

export interface LinuxVxlanParts extends BackendParts {
  readonly host: LinuxHost;
}

/** What VXLAN adds around a packet; the same for a device of IPv6, as upstream has it. */
const ENCAPSULATION_BYTES = 50;
/** How often an entry is tried in upstream (the library that upstream retries with). */
const TRIES_MAX = 10;
const ENTRY_RETRY_MS = { first: 100, most: 30_000 } as const;
const DEVICE_RETRY_MS = { first: 1_000, most: 30_000 } as const;
/** How often the device is looked for. The kernel informs upstream. */
const WATCH_MS = 1_000;
/** How often `hardened` compares the machine with what it wants. */
const COMPARE_MS = 60_000;

interface Device {
  readonly family: IpFamily;
  readonly name: string;
  readonly network: Prefix;
  readonly mac: Mac;
}

/** A lease whose entries could not be made. */
interface Pending {
  readonly lease: Lease;
  tries: number;
  readonly backoff: Backoff;
  atMs: number;
}

/** Plain data. */
export class LinuxVxlanBackend implements Backend {
  private readonly parts: LinuxVxlanParts;
  private readonly options: LinuxVxlanOptions;
  private readonly request: LeaseRequest;
  private readonly deviceBackoff = new Backoff(DEVICE_RETRY_MS.first, DEVICE_RETRY_MS.most);
  private devices: readonly Device[] = [];
  private lease: Lease | undefined;
  /** Leases whose entries are there, or should be. */
  private readonly known = new Map<string, Lease>();
  private readonly pending = new Map<string, Pending>();
  private isSynced = false;
  private watchAtMs: number | undefined;
  /** Upstream never compares. */
  private readonly look = new Recurring(COMPARE_MS);
  private trouble: FlannelFinding | undefined;

  constructor(parts: LinuxVxlanParts) {
    this.parts = parts;
    this.options = readLinuxVxlanOptions(parts.config);
    this.request = new LeaseRequest(parts.store);
  }

  async register(nowMs: number): Promise<Progress<Registration>> {
    if (this.devices.length === 0) {
      try {
        await this.makeDevices();
      } catch (error) {
        const finding = findingOf(error, "flannel-network-not-made", "failed to create vxlan device: ");
        if (finding.code !== "flannel-store-unreachable") return failed(finding);
        return { state: "waiting", retryAfterMs: this.parts.store.patience.everyMs, finding };
      }
    }
    const progress = await this.request.acquire(this.attributes(), nowMs);
    if (progress.state !== "done") return progress;
    this.lease = progress.value;
    try {
      await this.configureDevices(progress.value);
    } catch (error) {
      return failed(findingOf(error, "flannel-network-not-made"));
    }
    this.watchAtMs = nowMs + WATCH_MS;
    if (this.parts.differences.keepsWays) this.look.next(nowMs);
    return done({ lease: progress.value, mtuBytes: this.mtuBytes - ENCAPSULATION_BYTES });
  }

  async handle(events: readonly LeaseEvent[], nowMs: number): Promise<void> {
    for (const { type, lease } of events) {
      const key = leaseKey(lease);
      const before = this.known.get(key);
      const peers = await this.peersOrLater(type, lease, nowMs);
      if (peers === undefined) continue;
      this.pending.delete(key);
      if (type === "removed") {
        this.known.delete(key);
        for (const peer of peers) this.log(await removeEntries(this.parts.host, peer));
        continue;
      }
      this.known.set(key, lease);
      // A node that has got another MAC leaves an entry behind, which upstream keeps.
      if (before !== undefined && this.parts.differences.removesOldEntries)
        await this.removeOld(before, peers);
      await this.add(lease, peers, nowMs);
    }
  }

  async synced(nowMs: number): Promise<void> {
    this.isSynced = true;
    if (this.parts.differences.keepsWays) await this.compare(nowMs);
  }

  async tick(nowMs: number): Promise<number | undefined> {
    if (this.watchAtMs === undefined) return undefined;
    this.limitWaits(nowMs);
    if (nowMs >= this.watchAtMs) await this.watchDevices(nowMs);
    for (const { lease, atMs } of this.pending.values()) {
      const peers = nowMs >= atMs ? await this.peersOrLater("added", lease, nowMs) : undefined;
      if (peers !== undefined) await this.add(lease, peers, nowMs);
    }
    if (this.look.isDue(nowMs)) await this.compare(nowMs);
    const waits = [this.watchAtMs - nowMs, this.look.waitMs(nowMs) ?? Number.POSITIVE_INFINITY];
    for (const { atMs } of this.pending.values()) waits.push(atMs - nowMs);
    return Math.max(Math.min(...waits), 0);
  }

  findings(): readonly FlannelFinding[] {
    const pending = [...this.pending.values()].map(
      ({ lease, tries }): FlannelFinding => ({
        code: "flannel-route-not-programmed",
        message: `the way to ${lease.subnet === undefined ? "" : formatPrefix(lease.subnet)} is not made after ${tries} tries`,
      }),
    );
    return this.trouble === undefined ? pending : [this.trouble, ...pending];
  }

  private get mtuBytes(): number {
    const { mtuBytes = 0 } = this.options;
    return mtuBytes === 0 ? this.parts.external.interface.mtuBytes : mtuBytes;
  }

  /** A clock that was set back puts nothing off. */
  private limitWaits(nowMs: number): void {
    if (this.watchAtMs !== undefined) this.watchAtMs = Math.min(this.watchAtMs, nowMs + DEVICE_RETRY_MS.most);
    for (const item of this.pending.values()) item.atMs = Math.min(item.atMs, nowMs + ENTRY_RETRY_MS.most);
  }

  private async makeDevices(): Promise<void> {
    const { config, external, host, log } = this.parts;
    const stored = await this.storedMacs();
    const { vni } = this.options;
    const families = [
      {
        family: 4,
        name: `flannel.${vni}`,
        network: config.network,
        local: external.publicIp,
        mac: stored.ipv4,
      },
      {
        family: 6,
        name: `flannel-v6.${vni}`,
        network: config.ipv6Network,
        local: external.publicIpv6,
        mac: stored.ipv6,
      },
    ] as const;
    log.write(
      "I",
      `VXLAN config: VNI=${vni} Port=${this.options.port} GBP=${this.options.hasGroupPolicy} Learning=${this.options.isLearning} DirectRouting=${this.options.routesDirectly}`,
    );
    const devices: Device[] = [];
    for (const { family, name, network, local, mac } of families) {
      if (!(family === 4 ? config.isIpv4Enabled : config.isIpv6Enabled)) continue;
      if (network === undefined || local === undefined)
        throw new FlannelError("flannel-network-invalid", `there is no network of IPv${family} for ${name}`);
      if (mac !== undefined)
        log.write("I", `Interface ${name} mac address set to: ${formatMacWithColons(mac)}`);
      // What the machine has now wins over what was published: a device that fits is kept with its MAC.
      const known = mac ?? this.devices.find((device) => device.family === family)?.mac;
      const device = await ensureVxlanDevice(host, this.settings(name, local, known), log);
      devices.push(Object.freeze({ family, name, network, mac: device.mac }));
    }
    this.devices = devices;
  }

  /** What the node has published. Devices that are made again have theirs when the store does not answer. */
  private async storedMacs(): Promise<StoredMacs> {
    try {
      return await this.parts.store.readMacs();
    } catch (error) {
      if (this.devices.length === 0) throw error;
      return { ipv4: undefined, ipv6: undefined };
    }
  }

  private settings(name: string, local: Ip, mac: Mac | undefined): VxlanSettings {
    const { vni, port, isLearning, hasGroupPolicy } = this.options;
    return {
      name,
      vni,
      port,
      underlay: this.parts.external.interface.index,
      local,
      mtuBytes: this.mtuBytes - ENCAPSULATION_BYTES,
      isLearning,
      hasGroupPolicy,
      mac,
    };
  }

  /** The first address of the lease, alone, so that no broadcast routes come of it: the source of what the host sends. */
  private async configureDevices(lease: Lease): Promise<void> {
    for (const { family, name, network, mac } of this.devices) {
      const subnet = family === 4 ? lease.subnet : lease.ipv6Subnet;
      if (subnet === undefined)
        throw new FlannelError("flannel-node-without-range", WORDS.leaseWithoutFamily({ name, family }));
      const { host } = this.parts;
      await host.configureVxlan(name, { ip: subnet.address, length: bitsOf(family) }, network);
      const device = await host.findVxlan(name);
      if (device?.mac !== mac)
        throw new FlannelError(
          "flannel-network-not-made",
          `${name}'s mac address wanted: ${formatMacWithColons(mac)}, but got: ${device === undefined ? "none" : formatMacWithColons(device.mac)}`,
        );
    }
  }

  private macOf(family: IpFamily): Mac | undefined {
    return this.devices.find((device) => device.family === family)?.mac;
  }

  private attributes(): LeaseAttributes {
    const { external } = this.parts;
    const { vni } = this.options;
    const data = (mac: Mac | undefined): string | undefined =>
      mac === undefined ? undefined : formatVxlanData(vni, mac);
    return Object.freeze({
      publicIp: external.publicIp,
      publicIpv6: external.publicIpv6 as Ipv6 | undefined,
      backendType: "vxlan",
      backendData: data(this.macOf(4)),
      backendV6Data: data(this.macOf(6)),
    });
  }

  /** As `peersOf`. Where the machine does not say how a node is reached, it is asked again. */
  private async peersOrLater(
    type: LeaseEvent["type"],
    lease: Lease,
    nowMs: number,
  ): Promise<readonly TunnelPeer[] | undefined> {
    try {
      return await this.peersOf(lease);
    } catch (error) {
      // The next comparison takes the entries of a node that is gone away.
      if (type === "removed") {
        this.known.delete(leaseKey(lease));
        return undefined;
      }
      this.known.set(leaseKey(lease), lease);
      this.later(lease, [messageOf(error)], nowMs);
      return undefined;
    }
  }

  /**
   * What a lease asks for; undefined for one that cannot be used here, which is said.
   * @throws what the machine says, where it is asked again.
   */
  private async peersOf(lease: Lease): Promise<readonly TunnelPeer[] | undefined> {
    const { attributes } = lease;
    const shown = lease.subnet === undefined ? "" : formatPrefix(lease.subnet);
    // Small letters only, other than on Windows.
    if (attributes.backendType !== "vxlan") {
      this.parts.log.write("W", `ignoring non-vxlan v4Subnet(${shown}): type=${attributes.backendType}`);
      return undefined;
    }
    const peers: TunnelPeer[] = [];
    for (const { family, name } of this.devices) {
      const subnet = family === 4 ? lease.subnet : lease.ipv6Subnet;
      const publicIp = family === 4 ? attributes.publicIp : attributes.publicIpv6;
      if (subnet === undefined || publicIp === undefined) continue;
      try {
        const { vni, mac } = parseVxlanData(
          family === 4 ? attributes.backendData : attributes.backendV6Data,
          VNI_BITS.linux,
        );
        if (mac === undefined) throw new FlannelError("flannel-peer-lease-unusable", "there is no VtepMAC");
        // Upstream writes entries that lead into another virtual network, where no node hears.
        if (vni !== this.options.vni && this.parts.differences.removesOldEntries)
          throw new FlannelError(
            "flannel-peer-lease-unusable",
            `VNI is ${vni}, and this node's is ${this.options.vni}`,
          );
        peers.push({ device: name, subnet, publicIp, mac, direct: await this.directLink(publicIp) });
      } catch (error) {
        if (this.parts.differences.readsAgain && !(error instanceof FlannelError)) throw error;
        this.parts.log.write(
          "E",
          `error decoding ${family === 6 ? "v6 " : ""}subnet lease JSON: ${messageOf(error)} (${shown})`,
        );
        return undefined;
      }
    }
    return peers;
  }

  /** The interface whose link the other node shares, where such neighbours need no tunnel. */
  private async directLink(publicIp: Ip): Promise<string | undefined> {
    if (!this.options.routesDirectly) return undefined;
    const interfaces = await this.parts.host.listInterfaces();
    return interfaces.find(({ addresses }) =>
      addresses.some(
        ({ ip, length }) =>
          typeof ip === typeof publicIp &&
          length < bitsOf(typeof ip === "number" ? 4 : 6) &&
          prefixContains(prefixOf(ip, length), publicIp),
      ),
    )?.name;
  }

  private log(problems: readonly string[]): void {
    for (const problem of problems) this.parts.log.write("E", problem);
  }

  private async add(lease: Lease, peers: readonly TunnelPeer[], nowMs: number): Promise<void> {
    const problems: string[] = [];
    for (const peer of peers) problems.push(...(await addEntries(this.parts.host, peer)));
    if (problems.length === 0) this.pending.delete(leaseKey(lease));
    else this.later(lease, problems, nowMs);
  }

  /** The entries of a lease are not made, and tried again. */
  private later(lease: Lease, problems: readonly string[], nowMs: number): void {
    const key = leaseKey(lease);
    const item = this.pending.get(key) ?? {
      lease,
      tries: 0,
      backoff: new Backoff(ENTRY_RETRY_MS.first, ENTRY_RETRY_MS.most),
      atMs: nowMs,
    };
    item.tries++;
    item.atMs = nowMs + item.backoff.next();
    this.pending.set(key, item);
    if (item.tries === 1 || item.tries === TRIES_MAX) this.log(problems);
    if (item.tries >= TRIES_MAX && !this.parts.differences.keepsWays) this.pending.delete(key);
  }

  /** Entries of the lease as it was that the new ones do not replace. */
  private async removeOld(before: Lease, peers: readonly TunnelPeer[]): Promise<void> {
    let olds: readonly TunnelPeer[] | undefined;
    try {
      olds = await this.peersOf(before);
    } catch (error) {
      // The next comparison takes them away.
      this.log([messageOf(error)]);
    }
    for (const old of olds ?? []) {
      const now = peers.find(({ device }) => device === old.device);
      const isSame = now?.mac === old.mac && now.publicIp === old.publicIp && now.direct === old.direct;
      if (!isSame) this.log(await removeEntries(this.parts.host, old));
    }
  }

  /** A device that was deleted is made again, with all that belongs to it. */
  private async watchDevices(nowMs: number): Promise<void> {
    const { host, log } = this.parts;
    this.watchAtMs = nowMs + WATCH_MS;
    try {
      const found: (VxlanDevice | undefined)[] = [];
      for (const { name } of this.devices) found.push(await host.findVxlan(name));
      if (found.every((device) => device !== undefined)) {
        this.trouble = undefined;
        return;
      }
      log.write("I", "vxlan device missing, attempting to recreate...");
      await this.makeDevices();
      if (this.lease !== undefined) await this.configureDevices(this.lease);
      this.deviceBackoff.reset();
      this.trouble = undefined;
      log.write(
        "I",
        `VXLAN device ${this.devices.map(({ name }) => name).join(", ")} recreated successfully`,
      );
    } catch (error) {
      this.trouble = findingOf(error, "flannel-network-not-made", "failed to recreate vxlan: ");
      log.write("E", this.trouble.message);
      this.watchAtMs = nowMs + this.deviceBackoff.next();
      return;
    }
    for (const lease of this.known.values()) {
      const peers = await this.peersOrLater("added", lease, nowMs);
      if (peers !== undefined) await this.add(lease, peers, nowMs);
    }
  }

  /** Takes away what belongs to no lease, and puts back what is missing. */
  private async compare(nowMs: number): Promise<void> {
    this.look.next(nowMs);
    try {
      const wanted: TunnelPeer[] = [];
      for (const lease of this.known.values()) wanted.push(...((await this.peersOf(lease)) ?? []));
      if (this.isSynced) await this.clean(wanted);
      for (const lease of this.known.values()) {
        const peers = wanted.filter(({ subnet }) => subnet === lease.subnet || subnet === lease.ipv6Subnet);
        await this.add(lease, peers, nowMs);
      }
    } catch (error) {
      this.parts.log.write("E", `the entries of other nodes cannot be compared: ${messageOf(error)}`);
    }
  }

  private async clean(wanted: readonly TunnelPeer[]): Promise<void> {
    const { host, log } = this.parts;
    for (const { name, family, network } of this.devices) {
      const own = wanted.filter(({ device, direct }) => device === name && direct === undefined);
      for (const { mac, destination } of await host.listForwarding(name))
        if (!own.some((peer) => peer.mac === mac && peer.publicIp === destination)) {
          log.write(
            "I",
            `Removed stale forwarding entry ${formatMacWithColons(mac)} to ${formatIp(destination)}`,
          );
          await host.removeForwarding(name, mac, destination);
        }
      for (const { ip } of await host.listNeighbors(name))
        if (!own.some(({ subnet }) => subnet.address === ip)) await host.removeNeighbor(name, ip);
      for (const route of await host.listRoutes(family)) {
        const isOurs = route.device === name && prefixCovers(network, route.prefix);
        if (!isOurs || wanted.some((peer) => equalPrefixes(routeOf(peer).prefix, route.prefix))) continue;
        log.write("I", `Removed stale route to ${formatPrefix(route.prefix)}`);
        await host.removeRoute(route);
      }
    }
  }
}
