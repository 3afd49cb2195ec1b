/** The back end vxlan on Windows: an Overlay network of HNS, and a policy for each other node (control-planes.md §1.8). */
import { type StoredNetwork, listNetworks } from "#contracts/hcn/operations.ts";
import { messageOf } from "#core/base/thrown.ts";
import { defined } from "#core/base/assert.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { hasFeature } from "#contracts/hcn/features.ts";
import { getHnsVersion } from "#contracts/hcn/v1-operations.ts";
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { type Backend, type BackendParts, LeaseRequest, type Registration } from "../backends/backend.ts";
import { FlannelError, type FlannelFinding } from "../reports.ts";
import type { WindowsHost } from "../node/flannel-host.ts";
import { type Lease, type LeaseAttributes, type LeaseEvent, makeAttributes } from "../leases/lease.ts";
import { type Progress, done, failed } from "../progress.ts";
import { VNI_BITS, formatVxlanData, parseVxlanData } from "../backends/vxlan-data.ts";
import {
  type OverlayDefinition,
  type RemoteSubnet,
  managementIpOf,
  routerMacOf,
  routerMacTextOf,
} from "./overlay-network.ts";
import { OverlaySetup } from "./overlay-setup.ts";
import { RemoteSubnets } from "./remote-subnets.ts";
import { WINDOWS_VNI_MAX, WINDOWS_VNI_MIN, WINDOWS_VXLAN } from "../net-conf.ts";
import { flannel } from "#data/words.js";
import type { FlanneldDifferences } from "../differences.ts";
import { readConfig } from "../config-fields.ts";
import { BACKEND_PLACE, type NetworkConfig } from "../network-config.ts";

const WORDS = flannel();

// What the configuration may say (control-planes.md §1.3, §1.8).

interface WindowsVxlanOptions {
  /** Of the HNS network. */
  readonly networkName: string;
  readonly vni: number;
}

const VXLAN_PORT = 4_789;
/** Five characters with a hyphen in the middle; what they are is not looked at. */
const MAC_PREFIX = /^..-..$/s;
const DEFAULT_MAC_PREFIX = "0E-2A";

/** @throws FlannelError with what upstream says. */
export function readWindowsVxlanOptions(
  config: NetworkConfig,
  { refusesBadConfiguration }: FlanneldDifferences,
): WindowsVxlanOptions {
  const given = readConfig(WINDOWS_VXLAN, config.backend, BACKEND_PLACE);
  const {
    VNI: vni = WINDOWS_VNI_MIN,
    Port: port = VXLAN_PORT,
    MacPrefix: macPrefix = DEFAULT_MAC_PREFIX,
  } = given;
  const { Name: name = "" } = given;
  if (vni < WINDOWS_VNI_MIN)
    throw new FlannelError("flannel-vni-below-4096", WORDS.vniBelowMinimum({ vni, vniMin: WINDOWS_VNI_MIN }));
  if (vni > WINDOWS_VNI_MAX && refusesBadConfiguration)
    throw new FlannelError(
      "flannel-vni-other-than-4096",
      WORDS.vniTooLarge({ vni, vniMin: WINDOWS_VNI_MIN, vniMax: WINDOWS_VNI_MAX }),
    );
  if (port !== VXLAN_PORT)
    throw new FlannelError(
      "flannel-vxlan-port-not-4789",
      WORDS.vxlanPortUnsupported({ port, vxlanPort: VXLAN_PORT }),
    );
  for (const option of ["DirectRouting", "GBP"] as const)
    if (given[option] === true)
      throw new FlannelError(
        "flannel-option-not-for-windows",
        `invalid VXLAN backend config. ${option} is not supported on Windows`,
      );
  if (!MAC_PREFIX.test(macPrefix))
    throw new FlannelError("flannel-option-not-for-windows", WORDS.macPrefixInvalid({ macPrefix }));
  return Object.freeze({ networkName: name === "" ? `flannel.${vni}` : name, vni });
}

export interface WindowsVxlanParts extends BackendParts {
  readonly host: WindowsHost;
  readonly client: HcnClient;
}

/** What VXLAN adds around a packet. */
export const ENCAPSULATION_BYTES = 50;

export type Phase = "checks" | "first-lease" | "network" | "second-lease" | "running";

/**
 * The way to a network of HNS, and what leases ask of it; `upstream-vxlan.ts` and `repairing-vxlan.ts` say how HNS is brought to
 * have that. Plain data.
 */
export abstract class WindowsVxlanBackend implements Backend {
  protected readonly parts: WindowsVxlanParts;
  protected readonly options: WindowsVxlanOptions;
  protected readonly remotes: RemoteSubnets;
  private readonly request: LeaseRequest;
  protected phase: Phase = "checks";
  private lease: Lease | undefined;
  private setup: OverlaySetup | undefined;
  protected routerMac: Mac | undefined;
  protected trouble: FlannelFinding | undefined;

  /** @throws FlannelError for a configuration that Windows does not take. */
  constructor(parts: WindowsVxlanParts) {
    this.parts = parts;
    this.options = readWindowsVxlanOptions(parts.config, parts.differences);
    this.remotes = new RemoteSubnets(parts.client, this.options.networkName);
    this.request = new LeaseRequest(parts.store);
  }

  async register(nowMs: number): Promise<Progress<Registration>> {
    const progress = await this.advance(nowMs);
    if (progress.state !== "done") return progress;
    this.registered(nowMs);
    const { mtuBytes } = this.parts.external.interface;
    return done({ lease: progress.value, mtuBytes: mtuBytes - ENCAPSULATION_BYTES });
  }

  async handle(events: readonly LeaseEvent[], nowMs: number): Promise<void> {
    for (const { type, lease } of events) {
      const remote = this.remoteOf(type, lease);
      if (remote !== undefined) await this.program(type, remote, nowMs);
    }
  }

  abstract synced(nowMs: number): Promise<void>;

  abstract tick(nowMs: number): Promise<number | undefined>;

  findings(): readonly FlannelFinding[] {
    return this.trouble === undefined ? [] : [this.trouble];
  }

  /** The network stands. */
  protected abstract registered(nowMs: number): void;

  /** Programs what a lease asks for, or takes it away. */
  protected abstract program(type: LeaseEvent["type"], remote: RemoteSubnet, nowMs: number): Promise<void>;

  protected async advance(nowMs: number): Promise<Progress<Lease>> {
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
          message: WORDS.drMacMissing({
            routerMacText: routerMacTextOf(progress.value),
            networkName: this.options.networkName,
          }),
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

  private async makeNetwork(nowMs: number): Promise<Progress<StoredNetwork>> {
    const definition = this.definition();
    if (definition === undefined)
      return failed({
        code: "flannel-node-without-range",
        message: WORDS.ipv4SubnetMissing,
      });
    this.setup ??= new OverlaySetup(this.parts, definition);
    const progress = await this.setup.advance(nowMs);
    if (progress.state !== "waiting") this.setup = undefined;
    return progress;
  }

  protected definition(): OverlayDefinition | undefined {
    const subnet = this.lease?.subnet;
    if (subnet === undefined) return undefined;
    const { networkName: name, vni } = this.options;
    const { behaviour } = this.parts;
    // Without a name HNS chooses: an adapter that already carries an Overlay network will do.
    const interfaceName = behaviour.namesAdapter ? this.parts.external.interface.name : "";
    // HNS refuses the name of a switch's own vNIC (hcn.md §3.1), which is what flanneld finds at its second start.
    const adapterName = this.parts.differences.namesAdapterBehindSwitch
      ? adapterBehind(interfaceName)
      : interfaceName;
    return { name, vni, subnet, adapterName };
  }

  private attributes(mac: Mac | undefined): LeaseAttributes {
    const { publicIp } = this.parts.external;
    // Upstream keeps 16 bits of it.
    const backendData = formatVxlanData(this.options.vni % 2 ** VNI_BITS.windows, mac);
    return makeAttributes({ publicIp, backendType: "vxlan", backendData });
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
      if (vni < WINDOWS_VNI_MIN)
        throw new FlannelError("flannel-peer-lease-unusable", WORDS.peerVniBelowMinimum({ vni }));
      const providerAddress = attributes.publicIp === undefined ? "" : formatIp(attributes.publicIp);
      return { destinationPrefix: shown, vni, providerAddress, mac };
    } catch (error) {
      log.write("E", `error decoding subnet lease JSON: ${messageOf(error)} (${type} ${shown})`);
      return undefined;
    }
  }
}

/** The adapter that carries a switch whose vNIC has that name. */
function adapterBehind(interfaceName: string): string {
  return /^vEthernet \((.+)\)$/.exec(interfaceName)?.[1] ?? interfaceName;
}
