/**
 * hybrid-overlay-node on Windows: an Overlay network for the node's pods, and a RemoteSubnetRoute for each other node that has
 * said where its pods are (control-planes.md §4.1). It reaches HNS through `HcnClient` alone and does nothing for single pods:
 * win-overlay attaches them.
 */
import { textOf } from "#core/base/json.ts";
import { type Compat, byMode } from "#core/base/compat.ts";
import { messageOf } from "#core/base/thrown.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import { getHnsVersion } from "#contracts/hcn/v1-operations.ts";
import { hasFeature } from "#contracts/hcn/features.ts";
import { isNotFoundError } from "#contracts/hcn/error.ts";
import {
  type StoredNetwork,
  createNetwork,
  deleteNetwork,
  getNetworkById,
  getNetworkByName,
  modifyNetworkPolicies,
} from "#contracts/hcn/operations.ts";
import { type Ipv4, type Prefix, addToIp, equalPrefixes, formatIp, formatPrefix } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import {
  ANNOTATIONS,
  type Annotated,
  BASE_NETWORK,
  BASE_VNI,
  DEFAULT_VXLAN_PORT,
  HYBRID_NETWORK,
  HYBRID_VNI,
  type HybridNode,
  missingOf,
} from "./annotations.ts";
import type { HybridOverlayFinding } from "./finding.ts";
import { hybridOverlay } from "#data/words.js";

const WORDS = hybridOverlay();

const GATEWAY_OFFSET = 1;
const PORT_MAX = 65_535;
const ANYWHERE = "0.0.0.0/0";
/** A network with it is gone after a reboot (hcsshim, EnableNonPersistent). */
const NON_PERSISTENT = 8;
/** Seen by no pod and no node: HNS wants a subnet. */
const BASE = { prefix: "100.64.0.0/30", gateway: "100.64.0.2" } as const;

/** Where hybrid-overlay-node behaves in two ways: as it is published (control-planes.md §4.1), and mended. */
interface HybridOverlayDifferences {
  /**
   * The own Node's range is looked at whenever its address is the known one; upstream asks the question the wrong way round, so
   * that each event of the own Node clears all ways to others and makes them anew.
   */
  readonly beginsAnewAtEachEvent: boolean;
  /** The way to a node that has another MAC address or node address now replaces the one before; upstream adds it beside. */
  readonly replacesWays: boolean;
}

const HYBRID_OVERLAY_DIFFERENCES = byMode<HybridOverlayDifferences>({
  beginsAnewAtEachEvent: [true, false],
  replacesWays: [false, true],
});

export interface HybridOverlayWindowsParts {
  readonly client: HcnClient;
  /** `--node`. */
  readonly nodeName: string;
  /** `--hybrid-overlay-vxlan-port`. */
  readonly vxlanPort: number;
  readonly compat: Compat;
  readonly annotate: Annotated;
}

interface NetworkWanted {
  readonly name: string;
  readonly prefix: string;
  readonly gateway: string;
  readonly vsid: number;
  readonly hasAutomaticDns: boolean;
  readonly isPersistent: boolean;
}

function failed(what: string, error: unknown): HybridOverlayFinding {
  return { code: "hybrid-overlay-network-not-made", message: `${what}: ${messageOf(error)}` };
}

function isRemoteSubnetRoute({ Type }: PolicyDocument): boolean {
  return Type === "RemoteSubnetRoute";
}

function routeTo({ subnet, ip, routerMac }: HybridNode): PolicyDocument | undefined {
  if (subnet === undefined || ip === undefined || routerMac === undefined) return undefined;
  return {
    Type: "RemoteSubnetRoute",
    Settings: {
      IsolationId: HYBRID_VNI,
      ProviderAddress: formatIp(ip),
      // As Go prints it, which HNS takes as well.
      DistributedRouterMacAddress: formatMac(routerMac).toLowerCase().replaceAll("-", ":"),
      DestinationPrefix: formatPrefix(subnet),
    },
  };
}

function settingOf(policy: PolicyDocument, name: string): string {
  return textOf((policy.Settings as Readonly<Record<string, unknown>> | undefined)?.[name]);
}

/** Plain data. */
export class HybridOverlayWindowsNode {
  private readonly parts: HybridOverlayWindowsParts;
  private readonly differences: HybridOverlayDifferences;
  private machineId: string | undefined;
  private networkId: string | undefined;
  private ownSubnet: Prefix | undefined;
  private ownIp: Ipv4 | undefined;
  /** Ranges of other nodes, by their machines. */
  private readonly remotes = new Map<string | undefined, string>();
  /** What ended it; it is started again by the service manager. */
  private trouble: HybridOverlayFinding | undefined;
  /** What HNS refused; upstream discards it. */
  private readonly refusals = new Map<string, HybridOverlayFinding>();
  private hasStarted = false;

  constructor(parts: HybridOverlayWindowsParts) {
    this.parts = parts;
    this.differences = HYBRID_OVERLAY_DIFFERENCES[parts.compat];
  }

  get isRunning(): boolean {
    return this.hasStarted;
  }

  /** The start of a process: what HNS has to be able to do, and the base network. It knows nothing of what ran before. */
  async start(own: HybridNode): Promise<void> {
    this.hasStarted = false;
    this.networkId = undefined;
    this.ownSubnet = undefined;
    this.ownIp = undefined;
    this.remotes.clear();
    this.refusals.clear();
    this.machineId = own.machineId;
    this.trouble = (await this.checkHns()) ?? (await this.ensureBaseNetwork());
    this.hasStarted = this.trouble === undefined;
  }

  /** Ends the process; what it has made stays. */
  stop(): void {
    this.hasStarted = false;
    this.trouble = undefined;
  }

  /** A Node is new or has changed. `all`: the Nodes as the API server lists them now. */
  async nodeChanged(node: HybridNode, all: readonly HybridNode[]): Promise<void> {
    if (!this.hasStarted) return;
    if (node.machineId === this.machineId) await this.ownChanged(node, all);
    else await this.otherChanged(node);
  }

  async nodeDeleted(node: HybridNode): Promise<void> {
    if (!this.hasStarted || this.networkId === undefined) return;
    if (node.machineId !== this.machineId) {
      await this.removeWay(node.machineId);
      return;
    }
    const id = this.networkId;
    this.networkId = undefined;
    this.ownSubnet = undefined;
    this.remotes.clear();
    await this.call(HYBRID_NETWORK, () => deleteNetwork(this.parts.client, id));
  }

  findings(): readonly HybridOverlayFinding[] {
    if (this.trouble !== undefined) return [this.trouble];
    if (!this.hasStarted) return [];
    const waits: readonly HybridOverlayFinding[] =
      this.networkId === undefined
        ? [
            {
              code: "hybrid-overlay-annotation-missing",
              message: WORDS.ownSubnetMissing({ annotation: ANNOTATIONS.nodeSubnet }),
            },
          ]
        : [];
    return [...waits, ...this.refusals.values()];
  }

  private async checkHns(): Promise<HybridOverlayFinding | undefined> {
    const { client, vxlanPort } = this.parts;
    try {
      const version = await getHnsVersion(client);
      if (!hasFeature(version, "HostRoute"))
        return { code: "hybrid-overlay-network-not-made", message: WORDS.hostRouteMissing };
      if (vxlanPort !== DEFAULT_VXLAN_PORT && !hasFeature(version, "VxlanPort"))
        return { code: "hybrid-overlay-port-unsupported", message: WORDS.vxlanPortMissing };
    } catch (error) {
      return failed("HNS does not report its version", error);
    }
    if (vxlanPort <= PORT_MAX) return undefined;
    return { code: "hybrid-overlay-port-unsupported", message: WORDS.vxlanPortTooLarge({ vxlanPort }) };
  }

  /**
   * The first Overlay network takes the node off its network for a while; one that outlives reboots keeps the switch. HNS chooses
   * the adapter.
   */
  private async ensureBaseNetwork(): Promise<HybridOverlayFinding | undefined> {
    const wanted: NetworkWanted = {
      name: BASE_NETWORK,
      ...BASE,
      vsid: BASE_VNI,
      hasAutomaticDns: false,
      isPersistent: true,
    };
    try {
      if ((await this.findUsable(wanted)) === undefined)
        await createNetwork(this.parts.client, this.documentOf(wanted));
      return undefined;
    } catch (error) {
      return failed("unable to create the base overlay network", error);
    }
  }

  /** One that has other addresses is deleted. */
  private async findUsable({ name, prefix, gateway }: NetworkWanted): Promise<StoredNetwork | undefined> {
    const { client } = this.parts;
    let found: StoredNetwork;
    try {
      found = await getNetworkByName(client, name);
    } catch (error) {
      if (isNotFoundError(error)) return undefined;
      throw error;
    }
    if (found.Type !== "Overlay") return undefined;
    const isUsable = (found.Ipams ?? []).some(({ Subnets = [] }) =>
      Subnets.some(
        ({ IpAddressPrefix, Routes = [] }) =>
          IpAddressPrefix === prefix &&
          Routes.some((route) => route.DestinationPrefix === ANYWHERE && route.NextHop === gateway),
      ),
    );
    if (isUsable) return found;
    await deleteNetwork(client, found.ID);
    return undefined;
  }

  private documentOf(wanted: NetworkWanted): Parameters<typeof createNetwork>[1] {
    const { name, prefix, gateway, vsid, hasAutomaticDns, isPersistent } = wanted;
    const { vxlanPort } = this.parts;
    return {
      Name: name,
      Type: "Overlay",
      Ipams: [
        {
          Type: "Static",
          Subnets: [
            {
              IpAddressPrefix: prefix,
              Routes: [{ NextHop: gateway, DestinationPrefix: ANYWHERE }],
              Policies: [{ Type: "VSID", Settings: { IsolationId: vsid } }],
            },
          ],
        },
      ],
      ...(isPersistent ? {} : { Flags: NON_PERSISTENT }),
      Policies: [
        { Type: "AutomaticDNS", Settings: { Enable: hasAutomaticDns } },
        ...(vxlanPort === DEFAULT_VXLAN_PORT
          ? []
          : [{ Type: "VxlanPort", Settings: { Port: vxlanPort } } as const]),
      ],
    };
  }

  private async ownChanged(node: HybridNode, all: readonly HybridNode[]): Promise<void> {
    const { hybridSubnet: subnet, ip } = node;
    const isNew =
      subnet !== undefined && (this.ownSubnet === undefined || !equalPrefixes(subnet, this.ownSubnet));
    const isKnownIp = ip !== undefined && ip === this.ownIp;
    const beginsAnew = this.differences.beginsAnewAtEachEvent ? isKnownIp : !isKnownIp && ip !== undefined;
    if (subnet === undefined || !(isNew || beginsAnew)) return;
    this.ownSubnet = subnet;
    this.ownIp = ip;
    const network = await this.ensureNetwork(subnet);
    if (network === undefined) return;
    this.networkId = network.ID;
    await this.publish(node, network);
    for (const other of all) if (other.machineId !== this.machineId) await this.otherChanged(other);
  }

  private async ensureNetwork(subnet: Prefix): Promise<StoredNetwork | undefined> {
    const { client } = this.parts;
    const wanted: NetworkWanted = {
      name: HYBRID_NETWORK,
      prefix: formatPrefix(subnet),
      gateway: formatIp(addToIp(subnet.address, GATEWAY_OFFSET) ?? subnet.address),
      vsid: HYBRID_VNI,
      hasAutomaticDns: true,
      isPersistent: false,
    };
    this.remotes.clear();
    try {
      const existing = await this.findUsable(wanted);
      if (existing === undefined) {
        const made = await createNetwork(client, this.documentOf(wanted));
        this.trouble = undefined;
        return await modifyNetworkPolicies(client, made.ID, "Add", [{ Type: "HostRoute", Settings: {} }]);
      }
      for (const policy of (existing.Policies ?? []).filter(isRemoteSubnetRoute))
        await this.call(settingOf(policy, "DestinationPrefix"), () =>
          modifyNetworkPolicies(client, existing.ID, "Remove", [policy]),
        );
      return existing;
    } catch (error) {
      this.trouble = failed("unable to create the overlay network", error);
      return undefined;
    }
  }

  /** Tells the others where to send: the MAC address that HNS gave to the network's router. */
  private async publish(node: HybridNode, { Policies = [] }: StoredNetwork): Promise<void> {
    const policy = Policies.find(({ Type }) => Type === "DrMacAddress");
    if (policy === undefined) return;
    const mac = settingOf(policy, "Address");
    if (mac !== "") await this.parts.annotate(node.name, { [ANNOTATIONS.routerMac]: mac });
  }

  private async otherChanged(node: HybridNode): Promise<void> {
    // Before there is a network the event is lost; the network begins with all nodes.
    if (this.networkId === undefined) return;
    const route = routeTo(node);
    if (missingOf(node) !== undefined || route === undefined) {
      await this.removeWay(node.machineId);
      return;
    }
    const prefix = settingOf(route, "DestinationPrefix");
    const { client } = this.parts;
    const id = this.networkId;
    await this.call(prefix, async () => {
      const { Policies = [] } = await getNetworkById(client, id);
      const before = Policies.filter(
        (policy) => isRemoteSubnetRoute(policy) && settingOf(policy, "DestinationPrefix") === prefix,
      );
      const isThere = before.some((policy) =>
        ["ProviderAddress", "DistributedRouterMacAddress"].every(
          (name) => settingOf(policy, name).toLowerCase() === settingOf(route, name),
        ),
      );
      if (this.differences.replacesWays && before.length > 0 && !isThere)
        await modifyNetworkPolicies(client, id, "Remove", before);
      if (!isThere) await modifyNetworkPolicies(client, id, "Add", [route]);
    });
    this.remotes.set(node.machineId, prefix);
  }

  private async removeWay(machineId: string | undefined): Promise<void> {
    const prefix = this.remotes.get(machineId);
    const id = this.networkId;
    if (prefix === undefined || id === undefined) return;
    this.remotes.delete(machineId);
    this.refusals.delete(prefix);
    await this.call(prefix, async () => {
      const { Policies = [] } = await getNetworkById(this.parts.client, id);
      for (const policy of Policies)
        if (isRemoteSubnetRoute(policy) && settingOf(policy, "DestinationPrefix") === prefix)
          await modifyNetworkPolicies(this.parts.client, id, "Remove", [policy]);
    });
  }

  /** Upstream goes on after each refusal and does not look at it. */
  private async call(what: string, make: () => Promise<unknown>): Promise<void> {
    try {
      await make();
      this.refusals.delete(what);
    } catch (error) {
      this.refusals.set(what, failed(`HNS refuses a change of ${what}`, error));
    }
  }
}
