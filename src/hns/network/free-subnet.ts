/** The subnet that the service picks for a network that names none (hcn.md §4.1). */
import type { Prng } from "../../base/prng.ts";
import { HcnError } from "../../hcn/error.ts";
import type { Ipv4 } from "../../net/ip.ts";
import { type Prefix, prefixesOverlap } from "../../net/prefix.ts";

/** Results that were seen have 20 bits (hcn.md §4.1). */
const LENGTH = 20;
const BLOCK_SIZE = 2 ** (32 - LENGTH);

/**
 * Private ranges (RFC 1918) in the order in which they are tried: 172.16.0.0/12, where all published results lie.
 * Inferred: then 192.168.0.0/16 and 10.0.0.0/8.
 */
const RANGES = [
  { start: 0xac10_0000, blocks: 256 },
  { start: 0xc0a8_0000, blocks: 16 },
  { start: 0x0a00_0000, blocks: 4_096 },
] as const;

/**
 * A private /20 that overlaps nothing in `taken`.
 * @throws HcnError HCN_E_INVALID_NETWORK when all are taken.
 */
export function chooseFreeSubnet(taken: readonly Prefix[], prng: Prng): Prefix {
  for (const { start, blocks } of RANGES) {
    const offset = prng.below(blocks);
    for (let tried = 0; tried < blocks; tried++) {
      const address = (start + ((offset + tried) % blocks) * BLOCK_SIZE) as Ipv4;
      const candidate: Prefix = Object.freeze({ address, length: LENGTH });
      if (!taken.some((prefix) => prefixesOverlap(prefix, candidate))) return candidate;
    }
  }
  throw new HcnError("HCN_E_INVALID_NETWORK", {
    detail: `No private /${LENGTH} is free on the node; give the network an Ipams entry`,
  });
}
