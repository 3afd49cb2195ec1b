/** `subnet.env` on its disk: written when the network stands, and read at the next start (control-planes.md §1.7). */
import { type IpFamily, type Prefix, parseInterfaceAddress, prefixFamily, prefixOf } from "#core/net/ip.ts";
import { isSubnetEnvDamaged } from "#contracts/cni/subnet-env.ts";
import type { FlannelLog } from "../flannel-log.ts";
import { flannel } from "#data/words.js";

const WORDS = flannel();

/** Files of the node. Failing calls reject with an error that says why. */
export interface SubnetFiles {
  /** Undefined when there is none. */
  read(path: string): Promise<string | undefined>;
  /**
   * Makes the folders above it, too. `replaced`: readers see the old text or the new one, never a half;
   * `in-place`, as upstream on Windows: they may see any part.
   */
  write(path: string, text: string, how: "replaced" | "in-place"): Promise<void>;
}

/** The subnet of the run before. What cannot be read, and what is damaged, counts as none. */
export function previousSubnet(
  text: string | undefined,
  key: "FLANNEL_SUBNET" | "FLANNEL_IPV6_SUBNET",
  path: string,
  log: FlannelLog,
): Prefix | undefined {
  if (text !== undefined && isSubnetEnvDamaged(text)) {
    log.write("E", WORDS.subnetFileChecksumWrong({ path, key }));
    return undefined;
  }
  const family: IpFamily = key === "FLANNEL_SUBNET" ? 4 : 6;
  const line = text?.split(/\r?\n/).find((candidate) => candidate.startsWith(`${key}=`));
  if (line === undefined) {
    log.write("W", `no subnet found for key: ${key} in file: ${path}`);
    return undefined;
  }
  const values = line.slice(key.length + 1).split(",");
  const parsed = values.length === 1 ? parseInterfaceAddress(values[0] ?? "") : undefined;
  const prefix = parsed === undefined ? undefined : prefixOf(parsed.ip, parsed.length);
  if (prefix !== undefined && prefixFamily(prefix) === family) return prefix;
  log.write("E", `Couldn't parse previous ${key} from subnet file at ${path}: ${line}`);
  return undefined;
}
