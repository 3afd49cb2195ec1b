/** The back end vxlan on Windows: an Overlay network of HNS, and a policy for each other node (control-planes.md §1.8). */
import { messageOf } from "#core/base/thrown.ts";
import { defined } from "#core/base/assert.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { isNotFoundError } from "#contracts/hcn/error.ts";
import { hasFeature } from "#contracts/hcn/features.ts";
import type { HostComputeNetwork } from "#contracts/hcn/documents/network.ts";
import { getNetworkByName, listNetworks } from "#contracts/hcn/operations.ts";
import { getHnsVersion } from "#contracts/hcn/v1-operations.ts";
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { type Backend, type BackendParts, type Registration, LeaseRequest } from "../backends/backend.ts";
import { type FlannelFinding, FlannelError, findingOf } from "../flannel-error.ts";
import type { WindowsHost } from "../node/flannel-host.ts";
import type { Lease, LeaseAttributes, LeaseEvent } from "../leases/lease.ts";
import { Backoff, type Progress, Recurring, done, failed } from "../progress.ts";
import { VNI_BITS, formatVxlanData, parseVxlanData } from "../backends/vxlan-data.ts";
import {
  type OverlayDefinition,
  type RemoteSubnet,
  isSameOverlay,
  managementIpOf,
  routerMacOf,
  routerMacTextOf,
} from "./overlay-network.ts";
import { OverlaySetup } from "./overlay-setup.ts";
import { RemoteSubnets } from "./remote-subnets.ts";
import { type WindowsVxlanOptions, readWindowsVxlanOptions } from "./options.ts";

export interface WindowsVxlanParts extends BackendParts {
  readonly host: WindowsHost;
  readonly client: HcnClient;
}

/** What VXLAN adds around a packet. */
export const ENCAPSULATION_BYTES = 50;
const VNI_MIN = 4_096;

/** How often `hardened` compares HNS with what it wants, and how it tries again what failed. */
const COMPARE_MS = 60_000;
const RETRY_MS = { first: 1_000, most: 60_000 } as const;

type Phase = "checks" | "first-lease" | "network" | "second-lease" | "running";

/** Plain data. */
export class WindowsVxlanBackend implements Backend {
  private readonly parts: WindowsVxlanParts;
  private readonly options: WindowsVxlanOptions;
  private readonly remotes: RemoteSubnets;
  private readonly request: LeaseRequest;
  private readonly backoff = new Backoff(RETRY_MS.first, RETRY_MS.most);
  private phase: Phase = "checks";
  private lease: Lease | undefined;
  private setup: OverlaySetup | undefined;
  private routerMac: Mac | undefined;
  /** What `hardened` wants HNS to have, by the prefix. */
  private readonly wanted = new Map<string, RemoteSubnet>();
  /** Policies for prefixes that no lease has may go: all leases are known. */
  private isSynced = false;
  /** When to compare next: upstream never does. */
  private readonly look = new Recurring(COMPARE_MS);
  private trouble: FlannelFinding | undefined;

  /** @throws FlannelError for a configuration that Windows does not take. */
  constructor(parts: WindowsVxlanParts) {
    this.parts = parts;
    this.options = readWindowsVxlanOptions(parts.config, parts.compat);
    this.remotes = new RemoteSubnets(parts.client, this.options.networkName);
    this.request = new LeaseRequest(parts.store);
  }

  async register(nowMs: number): Promise<Progress<Registration>> {
    const progress = await this.advance(nowMs);
    if (progress.state !== "done") return progress;
    if (this.parts.compat === "hardened" && this.look.waitMs(nowMs) === undefined) this.look.next(nowMs);
    const { mtuBytes } = this.parts.external.interface;
    return done({ lease: progress.value, mtuBytes: mtuBytes - ENCAPSULATION_BYTES });
  }

  async handle(events: readonly LeaseEvent[], nowMs: number): Promise<void> {
    for (const { type, lease } of events) {
      const remote = this.remoteOf(type, lease);
      if (remote === undefined) continue;
      if (this.parts.compat === "hardened") await this.want(type, remote, nowMs);
      else await this.programOnce(type, remote);
    }
  }

  async synced(nowMs: number): Promise<void> {
    this.isSynced = true;
    if (this.parts.compat === "hardened") await this.compare(nowMs);
  }

  async tick(nowMs: number): Promise<number | undefined> {
    if (this.look.isDue(nowMs)) await this.compare(nowMs);
    return this.look.waitMs(nowMs);
  }

  findings(): readonly FlannelFinding[] {
    return this.trouble === undefined ? [] : [this.trouble];
  }

  private async advance(nowMs: number): Promise<Progress<Lease>> {
    if (this.phase === "checks") {
      const refused = await this.checkHns();
      if (refused !== undefined) return failed(refused);
      this.phase = "first-lease";
    }
    if (this.phase === "first-lease") {
      if (this.parts.behaviour.borrowsRouterMac && this.routerMac === undefined) {
        const mac = await this.borrowRouterMac();
        if (typeof mac !== "number") return failed(mac);
        this.routerMac = mac;
      }
      // The subnet has to be known before there is a network, so others see an empty MAC for a while.
      const progress = await this.request.acquire(this.attributes(this.routerMac), nowMs);
      if (progress.state !== "done") return progress;
      this.lease = progress.value;
      this.phase = "network";
    }
    if (this.phase === "network") {
      const progress = await this.makeNetwork(nowMs);
      if (progress.state !== "done") return progress;
      if (this.parts.behaviour.borrowsRouterMac) {
        this.phase = "running";
        return done(defined(this.lease, "the lease was taken before the network"));
      }
      const mac = routerMacOf(progress.value);
      if (mac === undefined)
        return failed({
          code: "flannel-network-not-ready",
          message: `cannot parse DR MAC ${routerMacTextOf(progress.value)}: the network ${this.options.networkName} has no MAC address of its router`,
        });
      this.routerMac = mac;
      this.phase = "second-lease";
    }
    if (this.phase === "second-lease") {
      const progress = await this.request.acquire(this.attributes(this.routerMac), nowMs);
      if (progress.state !== "done") return progress;
      this.lease = progress.value;
      this.phase = "running";
    }
    return this.lease === undefined
      ? failed({ code: "flanneld-cannot-start", message: "there is no lease" })
      : done(this.lease);
  }

  private async checkHns(): Promise<FlannelFinding | undefined> {
    const { networkName, vni } = this.options;
    this.parts.log.write("I", `VXLAN config: Name=${networkName} VNI=${vni} Port=4789`);
    try {
      if (hasFeature(await getHnsVersion(this.parts.client), "RemoteSubnet")) return undefined;
    } catch (error) {
      return {
        code: "flannel-network-not-made",
        message: `HNS does not report its version: ${messageOf(error)}`,
      };
    }
    return { code: "flannel-network-not-made", message: "platform does not support feature RemoteSubnet" };
  }

  /** As 0.11 looks through the networks: the first with this node's address lends the MAC of its router. */
  private async borrowRouterMac(): Promise<Mac | FlannelFinding> {
    const { client, external, log } = this.parts;
    const own = external.publicIp === undefined ? "" : formatIp(external.publicIp);
    let [mac, address] = ["", ""];
    try {
      for (const network of await listNetworks(client)) {
        if (mac !== "") break;
        address = managementIpOf(network) || address;
        if (address === own) mac = routerMacTextOf(network);
        else log.write("I", `Cannot use DR MAC since PA ${address} does not match ${own}`);
      }
    } catch (error) {
      return { code: "flannel-network-not-made", message: `Cannot get HNS networks [${messageOf(error)}]` };
    }
    const code = "flannel-router-mac-missing";
    if (address === "") return { code, message: `Cannot find network with Management IP ${own}` };
    if (mac === "") return { code, message: `Could not find remote DR MAC for Management IP ${own}` };
    return parseMac(mac) ?? { code, message: `Cannot parse DR MAC ${mac}` };
  }

  private async makeNetwork(nowMs: number): Promise<Progress<HostComputeNetwork>> {
    const definition = this.definition();
    if (definition === undefined)
      return failed({
        code: "flannel-node-without-range",
        message: "the node has no IPv4 subnet, and flanneld on Windows knows no other",
      });
    this.setup ??= new OverlaySetup(this.parts, definition);
    const progress = await this.setup.advance(nowMs);
    if (progress.state !== "waiting") this.setup = undefined;
    return progress;
  }

  private definition(): OverlayDefinition | undefined {
    const subnet = this.lease?.subnet;
    if (subnet === undefined) return undefined;
    const { networkName: name, vni } = this.options;
    const { behaviour } = this.parts;
    // Without a name HNS chooses: an adapter that already carries an Overlay network will do.
    const interfaceName = behaviour.namesAdapter ? this.parts.external.interface.name : "";
    // HNS refuses the name of a switch's own vNIC (hcn.md §3.1), which is what flanneld finds at its second start.
    const adapterName = this.parts.compat === "hardened" ? adapterBehind(interfaceName) : interfaceName;
    return { name, vni, subnet, adapterName };
  }

  private attributes(mac: Mac | undefined): LeaseAttributes {
    return Object.freeze({
      publicIp: this.parts.external.publicIp,
      publicIpv6: undefined,
      backendType: "vxlan",
      // Upstream keeps 16 bits of it.
      backendData: formatVxlanData(this.options.vni % 2 ** VNI_BITS.windows, mac),
      backendV6Data: undefined,
    });
  }

  /** What a lease asks HNS for; undefined for one that cannot be used here, which is said. */
  private remoteOf(type: LeaseEvent["type"], lease: Lease): RemoteSubnet | undefined {
    const { log } = this.parts;
    const { subnet, attributes } = lease;
    const shown = subnet === undefined ? "" : formatPrefix(subnet);
    if (attributes.backendType.toLowerCase() !== "vxlan") {
      log.write("W", `ignoring non-vxlan subnet(${shown}): type=${attributes.backendType}`);
      return undefined;
    }
    try {
      const { vni, mac } = parseVxlanData(attributes.backendData, VNI_BITS.windows);
      if (vni < VNI_MIN)
        throw new FlannelError(
          "flannel-peer-lease-unusable",
          `VNI is ${vni} but it is required to be greater than or equal to 4096 on Windows.`,
        );
      const providerAddress = attributes.publicIp === undefined ? "" : formatIp(attributes.publicIp);
      return { destinationPrefix: shown, vni, providerAddress, mac };
    } catch (error) {
      log.write("E", `error decoding subnet lease JSON: ${messageOf(error)} (${type} ${shown})`);
      return undefined;
    }
  }

  /** As upstream: what HNS answers is not looked at. */
  private async programOnce(type: LeaseEvent["type"], remote: RemoteSubnet): Promise<void> {
    const { networkName } = this.options;
    try {
      await this.remotes.read();
    } catch (error) {
      this.parts.log.write("E", `Unable to find network ${networkName}, error: ${messageOf(error)}`);
      return;
    }
    if (type === "added") {
      await this.remotes.clear(remote.destinationPrefix);
      if (remote.mac !== undefined) this.note(remote, await this.remotes.add(remote));
    } else if (remote.mac !== undefined) await this.remotes.remove(remote);
  }

  /** Upstream reports it nowhere; here it is a finding. */
  private note(remote: RemoteSubnet, failure: Error | undefined): void {
    if (failure === undefined) return;
    this.trouble = findingOf(
      failure,
      "flannel-route-not-programmed",
      `the way to ${remote.destinationPrefix} over ${remote.providerAddress} is not programmed: `,
    );
  }

  private async want(type: LeaseEvent["type"], remote: RemoteSubnet, nowMs: number): Promise<void> {
    const { destinationPrefix: prefix } = remote;
    if (type === "added" && remote.mac !== undefined) this.wanted.set(prefix, remote);
    else this.wanted.delete(prefix);
    try {
      await this.remotes.read();
      await this.put(prefix);
    } catch (error) {
      this.fail(error, nowMs);
    }
  }

  /** Makes HNS have for a prefix what is wanted for it. @throws what HNS answers. */
  private async put(prefix: string): Promise<void> {
    const remote = this.wanted.get(prefix);
    if (remote !== undefined && this.remotes.has(remote)) return;
    const [failure] = await this.remotes.clear(prefix);
    if (failure !== undefined) throw failure;
    const refused = remote === undefined ? undefined : await this.remotes.add(remote);
    if (refused !== undefined) throw refused;
  }

  private fail(error: unknown, nowMs: number): void {
    this.trouble = findingOf(
      error,
      "flannel-route-not-programmed",
      `the ways to other nodes are not all programmed, and are tried again: `,
    );
    this.parts.log.write("E", this.trouble.message);
    this.look.next(nowMs, this.backoff.next());
  }

  /** Makes HNS have what is wanted, and nothing from before; the network, too, if it has gone. */
  private async compare(nowMs: number): Promise<void> {
    try {
      const waitMs = await this.keepNetwork(nowMs);
      if (waitMs !== undefined) {
        this.look.next(nowMs, waitMs);
        return;
      }
      await this.remotes.read();
      const stale = this.isSynced ? this.remotes.prefixes().filter((prefix) => !this.wanted.has(prefix)) : [];
      for (const prefix of [...stale, ...this.wanted.keys()]) await this.put(prefix);
      this.trouble = undefined;
      this.backoff.reset();
      this.look.next(nowMs);
    } catch (error) {
      this.fail(error, nowMs);
    }
  }

  /** Finds the network, or makes it again. @returns how long to wait for it. @throws FlannelError when it cannot be made. */
  private async keepNetwork(nowMs: number): Promise<number | undefined> {
    if (this.phase === "running") {
      if (await this.isNetworkThere()) return undefined;
      this.parts.log.write("W", `network ${this.options.networkName} is gone or changed: it is made again`);
      this.phase = "network";
    }
    // What others know of this node is written again only where it differs.
    const progress = await this.advance(nowMs);
    if (progress.state === "failed") throw new FlannelError(progress.finding.code, progress.finding.message);
    if (progress.state === "done") return undefined;
    this.trouble = progress.finding;
    return progress.retryAfterMs;
  }

  private async isNetworkThere(): Promise<boolean> {
    const definition = this.definition();
    try {
      const network = await getNetworkByName(this.parts.client, this.options.networkName);
      return (
        definition !== undefined &&
        isSameOverlay(network, definition, true) &&
        routerMacOf(network) === this.routerMac
      );
    } catch (error) {
      if (isNotFoundError(error)) return false;
      throw error;
    }
  }
}

/** The adapter that carries a switch whose vNIC has that name. */
function adapterBehind(interfaceName: string): string {
  return /^vEthernet \((.+)\)$/.exec(interfaceName)?.[1] ?? interfaceName;
}
