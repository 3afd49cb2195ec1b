/**
 * With several tenants: a pod's interfaces are the network containers that CNS has for it, and the node's agent says by
 * the calls that it knows whether pods need source NAT on the host (cni.md §5.7).
 */
import type { AzureDifferences } from "./differences.ts";
import { DecodeError, readStruct, JsonError, parseJson } from "#contracts/cni/json.ts";
import { CNI_CODES, CniError, describeError } from "#contracts/cni/error.ts";
import type { CniIp, CniRoute } from "#contracts/cni/result.ts";
import {
  type InterfaceAddress,
  type Ip,
  familyOf,
  formatIp,
  parseInterfaceAddress,
  parseIp,
} from "#core/net/ip.ts";
import { withGateway } from "../windows-endpoint/hcn-endpoint.ts";
import type { CnsClient } from "../cns/client.ts";
import type { IpConfiguration, NetworkContainer, PodContext } from "../cns/documents.ts";
import type { AzureConfiguration } from "./conf.ts";
import type { AzureHost } from "./host.ts";
import {
  type AzureSnat,
  type AzureAllocation,
  type AzureNic,
  PLAIN_NIC,
  type AddressSource,
} from "./address-source.ts";
import { addressesWhenReady, cnsFailure } from "./cns-failure.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

const WIRE_SERVER = "168.63.129.16";
const TEST_WIRE_SERVER = "127.0.0.1:11281";
const TIMEOUT_MS = 5_000;
const DNS_SUPPORT = "NetworkManagementDNSSupport";
const SNAT_SUPPORT = "NetworkManagementSnatSupport";
const HTTP_OK = 200;

/** What is written; it need not be what is read. */
const CACHE = "snatConfig.json";

function parseCache(text: string): AzureSnat | undefined {
  try {
    const reader = readStruct(parseJson(text), "");
    return { forDns: reader.boolean("EnableSnatForDns"), onHost: reader.boolean("EnableSnatOnHost") };
  } catch (error) {
    if (error instanceof JsonError || error instanceof DecodeError) return undefined;
    throw error;
  }
}

async function readCache({ temporaryFiles }: AzureHost, cache: string): Promise<AzureSnat | undefined> {
  const text = await temporaryFiles.read(cache);
  return text === undefined ? undefined : parseCache(text);
}

async function askAgent(
  host: AzureHost,
  { env }: AzureConfiguration,
  differences: AzureDifferences,
): Promise<string> {
  const server = env === "test" ? TEST_WIRE_SERVER : WIRE_SERVER;
  const url = `http://${server}/machine/plugins/?comp=nmagent&type=GetSupportedApis`;
  const fail = (message: string, cause?: unknown): CniError =>
    new CniError(differences.tryAgainCode, message, {
      details: differences.explains ? WORDS.adviceWireServer({ url }) : "",
      knowledge: "azure-wire-server-unreachable",
      cause,
    });
  try {
    const { status, text } = await host.http({ method: "GET", url, timeoutMs: TIMEOUT_MS });
    if (status === HTTP_OK) return text;
    throw fail(`nmagent request status code:${status}`);
  } catch (error) {
    if (error instanceof CniError) throw error;
    throw fail(`Get ${JSON.stringify(url)}: ${describeError(error)}`, error);
  }
}

/** @throws CniError when the agent does not answer */
async function determineSnat(
  host: AzureHost,
  configuration: AzureConfiguration,
  differences: AzureDifferences,
): Promise<AzureSnat> {
  const known = await readCache(host, differences.snatCache);
  if (known !== undefined) return known;
  const supported = await askAgent(host, configuration, differences);
  const forDns = !supported.includes(DNS_SUPPORT);
  const snat = { forDns, onHost: forDns && !supported.includes(SNAT_SUPPORT) };
  try {
    const text = JSON.stringify({ EnableSnatOnHost: snat.onHost, EnableSnatForDns: snat.forDns });
    await host.temporaryFiles.write(CACHE, text);
  } catch {
    // What is not remembered is asked again.
  }
  return snat;
}

interface NetworkContainersOptions {
  readonly client: CnsClient;
  readonly host: AzureHost;
  readonly configuration: AzureConfiguration;
  readonly pod: PodContext;
  readonly differences: AzureDifferences;
}

/** The name without what a ReplicaSet and its Deployment put behind it. */
function withoutSuffix(podName: string): string {
  const parts = podName.split("-");
  return parts.length > 2 ? parts.slice(0, -2).join("-") : podName;
}

function wrong(message: string, member: string): CniError {
  const details = `CNS answered this in "NetworkContainers[].${member}"`;
  return new CniError(CNI_CODES.internal, message, { details, knowledge: "azure-cns-answer-wrong" });
}

function readIp({ IPSubnet, GatewayIPAddress }: IpConfiguration, member: string): CniIp {
  const text = `${IPSubnet.IPAddress}/${IPSubnet.PrefixLength}`;
  const address = parseInterfaceAddress(text);
  if (address === undefined) throw wrong(`cns returned invalid CIDR ${text}`, `${member}.IPSubnet`);
  return withGateway(address, parseIp(GatewayIPAddress));
}

function readIps({ IPConfiguration, IPv6Configuration }: NetworkContainer): readonly CniIp[] {
  const first = readIp(IPConfiguration, "IPConfiguration");
  if (IPv6Configuration.IPSubnet.IPAddress === "") return [first];
  return [first, readIp(IPv6Configuration, "IPv6Configuration")];
}

/** Routes of CNS, then those to the tenant's own address space. */
function readRoutes(
  { Routes, CnetAddressSpace }: NetworkContainer,
  ips: readonly CniIp[],
): readonly CniRoute[] {
  const route = (text: string, gateway: Ip | undefined, member: string): CniRoute => {
    const destination = parseInterfaceAddress(text);
    if (destination === undefined) throw wrong(`cns returned invalid CIDR ${text}`, member);
    return gateway === undefined ? { destination } : { destination, gateway };
  };
  const gatewayOf = (text: string): Ip | undefined => {
    const ip = parseIp(text);
    return ips.find(({ address }) => ip !== undefined && familyOf(address.ip) === familyOf(ip))?.gateway;
  };
  return [
    ...Routes.map((each) => route(each.IPAddress, parseIp(each.GatewayIPAddress), "Routes")),
    ...CnetAddressSpace.map(({ IPAddress, PrefixLength }) =>
      route(`${IPAddress}/${PrefixLength}`, gatewayOf(IPAddress), "CnetAddressSpace"),
    ),
  ];
}

export class NetworkContainers implements AddressSource {
  private readonly options: NetworkContainersOptions;

  constructor(options: NetworkContainersOptions) {
    this.options = options;
  }

  async add(): Promise<AzureAllocation> {
    const { client, host, configuration, pod, differences } = this.options;
    const snat = await determineSnat(host, configuration, differences);
    try {
      const context = configuration.hasExactPodNames ? pod : { ...pod, podName: withoutSuffix(pod.podName) };
      const containers = await client.networkContainersOf(context);
      const subnets = containers.map((container) => this.hostSubnetOf(container));
      if (snat.onHost && containers.some((each) => each.LocalIPConfiguration.IPSubnet.IPAddress === ""))
        throw wrong("Snat IP not populated", "LocalIPConfiguration");
      if (containers.length === 0 && differences.refusesNothingKnown)
        throw wrong("CNS has no network container for this pod", "NetworkContainerID");
      const nics = containers.map((container, index) => this.nicOf(container, subnets[index]));
      return { nics, primaryIp: "", snat };
    } catch (error) {
      const action = `GetAllNetworkContainers failed for podname ${pod.podName} namespace ${pod.podNamespace}. error`;
      throw cnsFailure(action, error, client, differences);
    }
  }

  /** The addresses are the container's, for as long as CNS has it. */
  async release(): Promise<void> {}

  async check(): Promise<void> {}

  /** Ready when CNS answers. */
  async status(): Promise<void> {
    await addressesWhenReady(this.options.client);
  }

  async gc(): Promise<void> {}

  private nicOf(container: NetworkContainer, hostSubnet: InterfaceAddress | undefined): AzureNic {
    const ips = readIps(container);
    return {
      ...PLAIN_NIC,
      ips,
      routes: readRoutes(container, ips),
      hostSubnet,
      skipsDefaultRoutes: container.SkipDefaultRoutes,
      container,
      // Without a VLAN upstream leaves these out.
      ...(container.MultiTenancyInfo.ID !== 0 && {
        networkContainerId: container.NetworkContainerID,
        allowsHostToContainer: container.AllowHostToNCCommunication,
        allowsContainerToHost: container.AllowNCToHostCommunication,
      }),
    };
  }

  /** The subnet in which the node has the container's primary address. */
  private hostSubnetOf({ PrimaryInterfaceIdentifier: text }: NetworkContainer): InterfaceAddress {
    const addresses = this.options.host.interfaces().flatMap((each) => each.addresses);
    const found = addresses.find(({ ip }) => formatIp(ip) === text);
    if (found !== undefined) return found;
    const details = `no interface of this machine has the address ${JSON.stringify(text)}`;
    throw new CniError(CNI_CODES.internal, "Interface not found for this ip", { details });
  }
}
