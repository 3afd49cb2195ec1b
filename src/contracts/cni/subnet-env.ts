/**
 * The file in which flanneld says what it has leased for the node: the contract between flanneld, which writes it, and
 * the CNI plugin flannel (cni.md §3.2, control-planes.md §1.7).
 */
import {
  type InterfaceAddress,
  type Prefix,
  addToIp,
  formatIp,
  formatPrefix,
  maskIp,
  parseInterfaceAddress,
} from "#core/net/ip.ts";
import { type SealMarks, isSealBroken, seal } from "#core/base/seal.ts";
import { CNI_CODES, CniError, PluginPanic } from "./error.ts";
import { contracts } from "#data/words.js";

const WORDS = contracts();

/** What it says. At least one of each family's pairs is there. */
export interface SubnetEnv {
  /** The ranges of the cluster, IPv4; without repetitions. */
  readonly networks: readonly Prefix[];
  /** The range of this node, IPv4. */
  readonly subnet: Prefix | undefined;
  readonly ipv6Networks: readonly Prefix[];
  readonly ipv6Subnet: Prefix | undefined;
  readonly mtuBytes: number;
  readonly isMasqueraded: boolean;
}

const MTU = /^[0-9]+$/;
const MTU_MAX = 0xffff_ffff;

function fail(message: string): CniError {
  return new CniError(CNI_CODES.internal, message, { knowledge: "subnet-env-incomplete" });
}

function networkOf({ ip, length }: InterfaceAddress): Prefix {
  return { address: maskIp(ip, length), length };
}

function readPrefix(text: string): Prefix {
  const address = parseInterfaceAddress(text);
  if (address === undefined) throw fail(`invalid CIDR address: ${text}`);
  return networkOf(address);
}

function readPrefixes(text: string): readonly Prefix[] {
  const prefixes = text.split(",").map(readPrefix);
  return prefixes.filter(
    (prefix, index) =>
      prefixes.findIndex(({ address, length }) => address === prefix.address && length === prefix.length) ===
      index,
  );
}

function readMtu(text: string): number {
  if (MTU.test(text) && Number(text) <= MTU_MAX) return Number(text);
  const problem = MTU.test(text) ? "value out of range" : "invalid syntax";
  throw fail(`strconv.ParseUint: parsing ${JSON.stringify(text)}: ${problem}`);
}

const KEYS: ReadonlySet<string> = new Set([
  "FLANNEL_NETWORK",
  "FLANNEL_SUBNET",
  "FLANNEL_IPV6_NETWORK",
  "FLANNEL_IPV6_SUBNET",
  "FLANNEL_MTU",
  "FLANNEL_IPMASQ",
]);

/** The values of known keys; of a key that is there twice the later one. */
function readValues(text: string, path: string, crashes: boolean): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const [index, line] of text.split("\n").entries()) {
    const [key = "", ...rest] = line.replace(/\r$/, "").split("=");
    if (!KEYS.has(key)) continue;
    if (rest.length === 0) {
      if (crashes) throw new PluginPanic("runtime error: index out of range [1] with length 1");
      throw fail(`${path}:${index + 1}: ${key} has no value; write ${key}=…`);
    }
    values.set(key, rest.join("="));
  }
  return values;
}

/** A comment as the last line: who reads keys skips it. */
const SEAL: SealMarks = { before: "# mullion-crc32 ", after: "\n" };

/** The text with a checksum. */
export function sealSubnetEnv(text: string): string {
  return seal(text, SEAL);
}

/** True for a text whose checksum is not its own; false without one. */
export function isSubnetEnvDamaged(text: string): boolean {
  return isSealBroken(text, SEAL);
}

/**
 * Reads the file's text. @throws CniError that names what is missing or wrong; PluginPanic for a known key without `=`
 * where a Go program crashes.
 */
export function parseSubnetEnv(
  text: string,
  path: string,
  { crashes, checksSeal = false }: { readonly crashes: boolean; readonly checksSeal?: boolean },
): SubnetEnv {
  if (checksSeal && isSubnetEnvDamaged(text)) throw fail(WORDS.subnetFileChecksumWrong({ path }));
  const values = readValues(text, path, crashes);
  const given = <T>(key: string, read: (value: string) => T): T | undefined => {
    const value = values.get(key);
    return value === undefined ? undefined : read(value);
  };
  const networks = given("FLANNEL_NETWORK", readPrefixes) ?? [];
  const subnet = given("FLANNEL_SUBNET", readPrefix);
  const ipv6Networks = given("FLANNEL_IPV6_NETWORK", readPrefixes) ?? [];
  const ipv6Subnet = given("FLANNEL_IPV6_SUBNET", readPrefix);
  const mtuBytes = given("FLANNEL_MTU", readMtu);
  const isMasqueraded = given("FLANNEL_IPMASQ", (value) => value === "true");
  const missing = [
    ...(networks.length + ipv6Networks.length === 0 ? ["FLANNEL_NETWORK", "FLANNEL_IPV6_NETWORK"] : []),
    ...(subnet === undefined && ipv6Subnet === undefined ? ["FLANNEL_SUBNET", "FLANNEL_IPV6_SUBNET"] : []),
    ...(mtuBytes === undefined ? ["FLANNEL_MTU"] : []),
    ...(isMasqueraded === undefined ? ["FLANNEL_IPMASQ"] : []),
  ];
  if (mtuBytes === undefined || isMasqueraded === undefined || missing.length > 0)
    throw fail(`${path} is missing ${missing.join(", ")}`);
  return { networks, subnet, ipv6Networks, ipv6Subnet, mtuBytes, isMasqueraded };
}

/** What flanneld writes down: one network and one subnet for each family that it runs. */
export interface LeasedSubnets {
  readonly network?: Prefix | undefined;
  readonly subnet?: Prefix | undefined;
  readonly ipv6Network?: Prefix | undefined;
  readonly ipv6Subnet?: Prefix | undefined;
  readonly mtuBytes: number;
  readonly isMasqueraded: boolean;
}

/** The subnet by its first address, as the gateway of the pods would be written. */
function formatFirstAddress({ address, length }: Prefix): string {
  return `${formatIp(addToIp(address, 1) ?? address)}/${length}`;
}

/** The text of the file, in the order in which flanneld writes it. */
export function formatSubnetEnv(leased: LeasedSubnets): string {
  const { network, subnet, ipv6Network, ipv6Subnet, mtuBytes, isMasqueraded } = leased;
  const lines = [
    ...(network === undefined ? [] : [`FLANNEL_NETWORK=${formatPrefix(network)}`]),
    ...(subnet === undefined ? [] : [`FLANNEL_SUBNET=${formatFirstAddress(subnet)}`]),
    ...(ipv6Network === undefined ? [] : [`FLANNEL_IPV6_NETWORK=${formatPrefix(ipv6Network)}`]),
    ...(ipv6Subnet === undefined ? [] : [`FLANNEL_IPV6_SUBNET=${formatFirstAddress(ipv6Subnet)}`]),
    `FLANNEL_MTU=${mtuBytes}`,
    `FLANNEL_IPMASQ=${isMasqueraded}`,
  ];
  return lines.map((line) => `${line}\n`).join("");
}
