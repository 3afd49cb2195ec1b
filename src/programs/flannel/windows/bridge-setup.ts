/** Makes the L2Bridge network of host-gw and the host's leg in it, and waits until they are ready (control-planes.md §1.9). */
import { defined } from "#core/base/assert.ts";
import type { FlanneldDifferences } from "../differences.ts";
import { messageOf } from "#core/base/thrown.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { HcnError, isNotFoundError } from "#contracts/hcn/error.ts";
import type { HnsEndpoint, HnsNetwork } from "#contracts/hcn/documents/v1-documents.ts";
import {
  HOST_ATTACH,
  attachHnsEndpoint,
  createHnsEndpoint,
  createHnsNetwork,
  deleteHnsEndpoint,
  deleteHnsNetwork,
  getHnsEndpointByName,
  getHnsNetworkByName,
  listHnsNetworks,
} from "#contracts/hcn/v1-operations.ts";
import { type Prefix, addToIp, formatIp, formatPrefix, parseIpv4 } from "#core/net/ip.ts";
import { FlannelError, type FlannelFinding, type FlannelLog, findingOf } from "../reports.ts";
import { type FlannelInterface, type WindowsHost, interfaceWith } from "../node/flannel-host.ts";
import { Poll, type Progress, done, failed } from "../progress.ts";
import { flannel } from "#data/words.js";
import { readConfig } from "../config-fields.ts";
import { WINDOWS_HOST_GW } from "../net-conf.ts";
import { BACKEND_PLACE, type NetworkConfig } from "../network-config.ts";

const WORDS = flannel();

// host-gw on Windows: what its configuration may say (control-planes.md §1.3, §1.9).

export interface WindowsHostGwOptions {
  /** Of the HNS network. */
  readonly networkName: string;
  /** As HNS takes it: a comma list. */
  readonly dnsServerList: string;
}

const HOST_GW_NAME = "cbr0";

export function readWindowsHostGwOptions(config: NetworkConfig): WindowsHostGwOptions {
  const { Name: name = "", DNSServerList: dnsServerList = "" } = readConfig(
    WINDOWS_HOST_GW,
    config.backend,
    BACKEND_PLACE,
  );
  return Object.freeze({ networkName: name === "" ? HOST_GW_NAME : name, dnsServerList });
}

export interface BridgeSetupParts {
  readonly client: HcnClient;
  readonly host: WindowsHost;
  readonly differences: FlanneldDifferences;
  readonly log: FlannelLog;
}

type Phase = "network" | "management-ip" | "interface" | "endpoint" | "attach" | "forwarding";

/** Offsets in the node's subnet: HNS's own gateway, and the host's leg, which is what pods send to. */
const GATEWAY_OFFSET = 1;
const POD_GATEWAY_OFFSET = 2;

const POLL = { everyMs: 500, timeoutMs: 5_000 } as const;
/** What may be there, and is looked for again. */
const UNREPORTED = "hns-unreachable";
const ALREADY_ATTACHED = "This endpoint is already attached to the switch";

function addressIn(subnet: Prefix, offset: number): string {
  return formatIp(addToIp(subnet.address, offset) ?? subnet.address);
}

function notMade(message: string): FlannelFinding {
  return { code: "flannel-network-not-made", message };
}

function notReady(message: string): FlannelFinding {
  return { code: "flannel-network-not-ready", message };
}

function isAlreadyAttached(error: unknown): boolean {
  if (messageOf(error).includes(ALREADY_ATTACHED)) return true;
  return error instanceof HcnError && error.toRecord().Error.includes(ALREADY_ATTACHED);
}

/** Plain data. */
export class BridgeSetup {
  private readonly parts: BridgeSetupParts;
  private readonly options: WindowsHostGwOptions;
  private readonly subnet: Prefix;
  private readonly poll = new Poll(POLL.everyMs, POLL.timeoutMs);
  private phase: Phase = "network";
  private network: HnsNetwork = {};
  private endpoint: HnsEndpoint = {};
  private isNew = false;

  constructor(parts: BridgeSetupParts, options: WindowsHostGwOptions, subnet: Prefix) {
    this.parts = parts;
    this.options = options;
    this.subnet = subnet;
  }

  /** Call again while it waits. @returns the interface by which the node reaches others. */
  async advance(nowMs: number): Promise<Progress<FlannelInterface>> {
    for (;;) {
      const progress = await this.step(nowMs);
      if (progress !== undefined) return progress;
    }
  }

  private async step(nowMs: number): Promise<Progress<FlannelInterface> | undefined> {
    try {
      switch (this.phase) {
        case "network":
          return await this.ensureNetwork();
        case "management-ip":
          return await this.waitForManagementIp(nowMs);
        case "interface":
          return await this.waitForInterface(nowMs);
        case "endpoint":
          return await this.ensureEndpoint();
        case "attach":
          return await this.attach(nowMs);
        case "forwarding":
          return done(await this.enableForwarding());
      }
    } catch (error) {
      const finding = findingOf(error, "flannel-network-not-made");
      return finding.code === UNREPORTED ? this.wait(nowMs, finding) : failed(finding);
    }
  }

  /** A name that cannot be looked up counts as not being there, as upstream has it. @throws what is looked at again. */
  private async find<T>(look: () => Promise<T>, what: string): Promise<T | undefined> {
    try {
      return await look();
    } catch (error) {
      if (isNotFoundError(error)) return undefined;
      const message = `HNS does not report ${what}: ${messageOf(error)}`;
      this.parts.log.write("W", message);
      if (this.parts.differences.readsAgain) throw new FlannelError(UNREPORTED, message, { cause: error });
      return undefined;
    }
  }

  private async ensureNetwork(): Promise<undefined> {
    const { client, differences, log } = this.parts;
    const { networkName: name, dnsServerList } = this.options;
    const AddressPrefix = formatPrefix(this.subnet);
    const GatewayAddress = addressIn(this.subnet, GATEWAY_OFFSET);
    const existing = await this.find(() => getHnsNetworkByName(client, name), `the network ${name}`);
    const isSame = existing?.Subnets?.some(
      (subnet) => subnet.AddressPrefix === AddressPrefix && subnet.GatewayAddress === GatewayAddress,
    );
    if (existing !== undefined && isSame === true) {
      log.write("I", `Found existing HNSNetwork ${name}`);
      this.network = existing;
      return this.goOn(differences.checksFoundNetwork ? "management-ip" : "endpoint");
    }
    if (existing !== undefined) {
      await this.call(
        () => deleteHnsNetwork(client, existing.ID),
        `failed to delete existing HNSNetwork ${name}`,
      );
      log.write("I", `Deleted stale HNSNetwork ${name}`);
    }
    const wanted: HnsNetwork = {
      Name: name,
      Type: "L2Bridge",
      ...(dnsServerList !== "" && { DNSServerList: dnsServerList }),
      Subnets: [{ AddressPrefix, GatewayAddress }],
    };
    log.write("I", `Attempting to create HNSNetwork ${JSON.stringify(wanted)}`);
    this.network = await this.call(
      () => createHnsNetwork(client, wanted),
      `failed to create HNSNetwork ${name}`,
    );
    this.isNew = true;
    log.write("I", `Waiting to get ManagementIP from HNSNetwork ${name}`);
    return this.goOn("management-ip");
  }

  private async call<T>(make: () => Promise<T>, what: string): Promise<T> {
    try {
      return await make();
    } catch (error) {
      throw new FlannelError("flannel-network-not-made", `${what}: ${messageOf(error)}`, { cause: error });
    }
  }

  private async waitForManagementIp(nowMs: number): Promise<Progress<FlannelInterface> | undefined> {
    const { client } = this.parts;
    const { networkName: name } = this.options;
    const { ID } = this.network;
    const networks = await this.find(() => listHnsNetworks(client), `the network ${name}`);
    const network = networks?.find((candidate) => candidate.ID === ID);
    if (network !== undefined && (network.ManagementIP ?? "") !== "") {
      this.network = network;
      return this.goOn("interface");
    }
    return this.wait(nowMs, notReady(`timeout, failed to get management IP from HNSNetwork ${name}`));
  }

  private async waitForInterface(nowMs: number): Promise<Progress<FlannelInterface> | undefined> {
    const { networkName: name } = this.options;
    const address = this.network.ManagementIP ?? "";
    const ip = parseIpv4(address);
    if (ip === undefined) return failed(notReady(`Failed to parse management ip (${address})`));
    if (interfaceWith(await this.parts.host.listInterfaces(), ip) !== undefined) {
      if (this.isNew) this.parts.log.write("I", `Created HNSNetwork ${name}`);
      return this.goOn("endpoint");
    }
    return this.wait(
      nowMs,
      notReady(`timeout, failed to get net interface for HNSNetwork ${name} (${address})`),
    );
  }

  private async ensureEndpoint(): Promise<undefined> {
    const { client, differences, log } = this.parts;
    const name = `${this.options.networkName}_ep`;
    const IPAddress = addressIn(this.subnet, POD_GATEWAY_OFFSET);
    const existing = await this.find(() => getHnsEndpointByName(client, name), `the endpoint ${name}`);
    // One that is left over from a network that has gone has the right address, too, and leads nowhere.
    const isOnNetwork = !differences.checksFoundNetwork || existing?.VirtualNetwork === this.network.ID;
    if (existing !== undefined && existing.IPAddress === IPAddress && isOnNetwork) {
      log.write("I", `Found existing bridge HNSEndpoint ${name}`);
      this.endpoint = existing;
    } else {
      if (existing !== undefined) {
        await this.call(
          () => deleteHnsEndpoint(client, existing.ID),
          `failed to delete existing bridge HNSEndpoint ${name}`,
        );
        log.write("I", `Deleted stale bridge HNSEndpoint ${name}`);
      }
      const wanted: HnsEndpoint = {
        Name: name,
        IPAddress,
        ...(this.network.ID !== undefined && { VirtualNetwork: this.network.ID }),
      };
      this.endpoint = await this.call(
        () => createHnsEndpoint(client, wanted),
        `failed to create bridge HNSEndpoint ${name}`,
      );
      log.write("I", `Created bridge HNSEndpoint ${name}`);
    }
    log.write("I", `Waiting to attach bridge endpoint ${name} to host`);
    return this.goOn("attach");
  }

  private async attach(nowMs: number): Promise<Progress<FlannelInterface> | undefined> {
    const name = `${this.options.networkName}_ep`;
    try {
      await attachHnsEndpoint(
        this.parts.client,
        defined(this.endpoint.ID, "HNS has answered the endpoint"),
        HOST_ATTACH,
      );
    } catch (error) {
      if (!isAlreadyAttached(error))
        return this.wait(
          nowMs,
          notMade(`failed to hot attach bridge HNSEndpoint ${name} to host compartment: ${messageOf(error)}`),
        );
    }
    this.parts.log.write("I", `Attached bridge endpoint ${name} to host successfully`);
    return this.goOn("forwarding");
  }

  /** Making the network gave the node's interface another name and index. */
  private async enableForwarding(): Promise<FlannelInterface> {
    const { host, log } = this.parts;
    const interfaces = await host.listInterfaces();
    const found: FlannelInterface[] = [];
    for (const address of [this.network.ManagementIP ?? "", this.endpoint.IPAddress ?? ""]) {
      const ip = parseIpv4(address);
      if (ip === undefined)
        throw new FlannelError(
          "flannel-network-not-ready",
          `Failed to parse expected net interface ip (${address})`,
        );
      const carrier = interfaceWith(interfaces, ip);
      if (carrier === undefined)
        throw new FlannelError("flannel-network-not-ready", WORDS.addressWithoutInterface({ address }));
      await host.enableForwarding(carrier.index);
      log.write("I", `Enabled forwarding on ${carrier.name} index ${carrier.index}`);
      found.push(carrier);
    }
    const [management] = found;
    if (management === undefined)
      throw new FlannelError("flannel-network-not-ready", "the node has no interface");
    return management;
  }

  private goOn(phase: Phase): undefined {
    this.poll.reset();
    this.phase = phase;
  }

  private wait(nowMs: number, finding: FlannelFinding): Progress<FlannelInterface> {
    const retryAfterMs = this.poll.next(nowMs);
    return retryAfterMs === undefined ? failed(finding) : { state: "waiting", retryAfterMs, finding };
  }
}
