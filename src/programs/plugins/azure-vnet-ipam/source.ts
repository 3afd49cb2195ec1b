/** Where the addresses of a node's interfaces come from, and the pools made of them (cni.md §5.9). */
import { StructReader, parseJson } from "#contracts/cni/json.ts";
import { isJsonObject } from "#core/base/json.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import {
  addToIp,
  familyOf,
  formatIp,
  formatPrefix,
  parseInterfaceAddress,
  parseIp,
  prefixContains,
  prefixOf,
} from "#core/net/ip.ts";
import { type NodeFacts, nodePools } from "./node-source.ts";
import type { AddressPool, Pools } from "./pools.ts";

/** Addresses of the node's own range of IPv6. */
export const NODE_ENVIRONMENT = "ipv6NodeIpam";

/** A network interface as Azure describes it. */
export interface AzureInterface {
  /** Without separators, or `*` for whatever there is. */
  readonly mac: string;
  readonly isPrimary: boolean;
  readonly subnets: readonly {
    readonly prefix: string;
    readonly addresses: readonly { readonly address: string; readonly isPrimary: boolean }[];
  }[];
}

/** What is asked of the machine. */
export interface AddressSources {
  interfaces(): readonly { readonly name: string; readonly mac: string }[];
  /** The wire server's answer to `getinterfaceinfov1`, XML. */
  queryWireServer(): Promise<string>;
  /** The text of `interfaces.json`. */
  readInterfaces(): Promise<string>;
  /** The node in Kubernetes; absent: there is nobody to ask. */
  queryNode?(): Promise<NodeFacts>;
  /** The time, as the state file has it (RFC 3339). */
  now(): string;
}

const ATTRIBUTE = /([A-Za-z]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const ELEMENT = /<(Interface|IPSubnet|IPAddress)\b([^>]*)>/g;

function isTrue(text: string | undefined): boolean {
  return text?.toLowerCase() === "true";
}

/** Reads the wire server's document, which says everything in attributes of three kinds of elements. */
export function parseWireServer(text: string): readonly AzureInterface[] {
  if (!/<Interfaces\b/.test(text))
    throw new CniError(CNI_CODES.internal, "the wire server's answer has no element Interfaces");
  const interfaces: { mac: string; isPrimary: boolean; subnets: Subnet[] }[] = [];
  interface Subnet {
    prefix: string;
    addresses: { address: string; isPrimary: boolean }[];
  }
  for (const [, element, rest = ""] of text.matchAll(ELEMENT)) {
    const values = new Map([...rest.matchAll(ATTRIBUTE)].map(([, name = "", a, b]) => [name, a ?? b ?? ""]));
    const isPrimary = isTrue(values.get("IsPrimary"));
    const current = interfaces.at(-1);
    if (element === "Interface")
      interfaces.push({ mac: values.get("MacAddress") ?? "", isPrimary, subnets: [] });
    else if (element === "IPSubnet")
      current?.subnets.push({ prefix: values.get("Prefix") ?? "", addresses: [] });
    else current?.subnets.at(-1)?.addresses.push({ address: values.get("Address") ?? "", isPrimary });
  }
  return interfaces;
}

/** Reads `interfaces.json`. @throws JsonError, DecodeError */
export function parseInterfacesFile(text: string): readonly AzureInterface[] {
  const document = parseJson(text);
  const reader = new StructReader(isJsonObject(document) ? document : {});
  return reader.structs("Interfaces").map((each) => ({
    mac: each.text("MacAddress"),
    isPrimary: each.boolean("IsPrimary"),
    subnets: each.structs("IPSubnets").map((subnet) => ({
      prefix: subnet.text("Prefix"),
      addresses: subnet
        .structs("IPAddresses")
        .map((one) => ({ address: one.text("Address"), isPrimary: one.boolean("IsPrimary") })),
    })),
  }));
}

/** @throws CniError for an environment that is not there; whatever the source throws */
async function readSource(environment: string, sources: AddressSources): Promise<readonly AzureInterface[]> {
  if (environment === "azure") return parseWireServer(await sources.queryWireServer());
  return parseInterfacesFile(await sources.readInterfaces());
}

function plainMac(mac: string): string {
  return mac.replace(/[:-]/g, "").toLowerCase();
}

/** The pools of the interfaces that this machine has. Primary addresses belong to the host (row 147). */
export async function readPools(environment: string, sources: AddressSources): Promise<Pools> {
  if (environment === NODE_ENVIRONMENT) {
    if (sources.queryNode === undefined)
      throw new CniError(CNI_CODES.internal, "Kubernetes cannot be asked for the node's range of IPv6");
    return nodePools(await sources.queryNode());
  }
  const described = await readSource(environment, sources);
  const own = sources.interfaces();
  const pools: Pools = new Map();
  for (const { mac, isPrimary, subnets } of described) {
    const found = own.find((each) => mac === "*" || plainMac(each.mac) === plainMac(mac));
    if (found === undefined) continue;
    for (const { prefix, addresses } of subnets) {
      const pool = makePool(prefix, found.name, isPrimary ? 0 : 1);
      if (pool === undefined || pools.has(pool.id)) continue;
      for (const { address, isPrimary: isHosts } of addresses) {
        const ip = parseIp(address);
        if (isHosts || ip === undefined || !prefixContains(prefixOf(pool.subnet.ip, pool.subnet.length), ip))
          continue;
        pool.addresses.set(formatIp(ip), { id: "", ip, isInUse: false, isStale: false });
      }
      pools.set(pool.id, pool);
    }
  }
  return pools;
}

function makePool(text: string, interfaceName: string, priority: number): AddressPool | undefined {
  const address = parseInterfaceAddress(text);
  if (address === undefined) return undefined;
  const network = prefixOf(address.ip, address.length);
  const gateway = addToIp(network.address, 1);
  if (gateway === undefined) return undefined;
  return {
    id: formatPrefix(network),
    interfaceName,
    subnet: { ip: network.address, length: network.length },
    gateway,
    isIpv6: familyOf(network.address) === 6,
    priority,
    references: 0,
    addresses: new Map(),
  };
}
