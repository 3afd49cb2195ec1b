/**
 * Where the addresses of a node come from, and the pools made of them: its interfaces as Azure describes them, or its own
 * range of IPv6 in Kubernetes (cni.md §5.9, `ipv6NodeIpam`).
 */
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
import { StructReader, parseJson } from "#contracts/cni/json.ts";
import { mappingOf } from "#core/base/json.ts";
import type { AddressPool, Pools } from "./pools.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

/** What Kubernetes says of the node that the plugin runs on. */
export interface NodeFacts {
  /** `major` and `minor` as the API server has them; the minor may have a `+`. */
  readonly major: string;
  readonly minor: string;
  readonly podCIDRs: readonly string[];
}

/** A node has a /64: its first /120 is enough state. */
const POOL_LENGTH = 120;
/** The network's own address and the gateway stay free. */
const FIRST_OFFSET = 2;
/** Kubernetes must be newer. */
const OLD = { major: 1, minor: 16 } as const;

function requireDualStack({ major, minor }: NodeFacts): void {
  const digits = /\d+/.exec(minor)?.[0];
  const number = Number(major);
  if (digits === undefined || !Number.isInteger(number) || major === "") {
    throw new CniError(CNI_CODES.internal, "Error comparing Kubernetes API versions");
  }
  if (number > OLD.major || (number === OLD.major && Number(digits) > OLD.minor)) return;
  throw new CniError(CNI_CODES.internal, "Incompatible Kubernetes version for dual stack");
}

/** @throws CniError for a node without a range of IPv6, and for a Kubernetes that has none */
function nodePools(facts: NodeFacts): Pools {
  requireDualStack(facts);
  const range = facts.podCIDRs
    .map(parseInterfaceAddress)
    .find((each) => each !== undefined && familyOf(each.ip) === 6);
  if (range === undefined) {
    const message = WORDS.ipamIpv6SubnetMissing;
    const details = `the node's spec.podCIDRs are [${facts.podCIDRs.join(", ")}]`;
    throw new CniError(CNI_CODES.internal, message, { details });
  }
  const network = prefixOf(range.ip, POOL_LENGTH);
  const pool: AddressPool = {
    id: formatPrefix(network),
    interfaceName: "",
    subnet: { ip: network.address, length: POOL_LENGTH },
    gateway: addToIp(network.address, 1) ?? network.address,
    isIpv6: true,
    priority: 0,
    references: 0,
    addresses: new Map(),
  };
  for (let offset = FIRST_OFFSET; ; offset++) {
    const ip = addToIp(network.address, offset);
    if (ip === undefined || !prefixContains(network, ip)) break;
    pool.addresses.set(formatIp(ip), { id: "", ip, isInUse: false, isStale: false });
  }
  return new Map([[pool.id, pool]]);
}

/** Addresses of the node's own range of IPv6. */
export const NODE_ENVIRONMENT = "ipv6NodeIpam";

/** A network interface as Azure describes it. */
interface AzureInterface {
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
  /** The node in Kubernetes; absent: Kubernetes cannot be asked. */
  queryNode?(): Promise<NodeFacts>;
  /** The time, as the state file has it (RFC 3339). */
  now(): string;
}

const ATTRIBUTE = /(?<![A-Za-z])([A-Za-z]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const ELEMENT = /<(Interface|IPSubnet|IPAddress)\b([^<>]*)>/g;

function isTrue(text: string | undefined): boolean {
  return text?.toLowerCase() === "true";
}

/** Reads the wire server's document, which says everything in attributes of three kinds of elements. */
function parseWireServer(text: string): readonly AzureInterface[] {
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
function parseInterfacesFile(text: string): readonly AzureInterface[] {
  const document = parseJson(text);
  const reader = new StructReader(mappingOf(document));
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
