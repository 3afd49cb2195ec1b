/** MAC addresses of endpoints (hcn.md §4.3): one range of 4096 per network, `00-15-5D-xx-x0-00` to `…-xF-FF`. */
import type { Prng } from "../base/prng.ts";
import type { Guid } from "../hcn/client.ts";
import { HcnError } from "../hcn/error.ts";
import type { Mac } from "../net/mac.ts";
import type { MacRange } from "./network-record.ts";

/** 00-15-5D-00-00-00: the prefix of Hyper-V. */
const HYPER_V_BASE = 0x00155d000000;
const RANGE_SIZE = 0x1000;
const RANGE_COUNT = 0x1000;

/** A range that no network of the node has yet. */
export function chooseMacRange(taken: readonly MacRange[], prng: Prng): MacRange {
  const start = prng.below(RANGE_COUNT);
  for (let tried = 0; tried < RANGE_COUNT; tried++) {
    const first = HYPER_V_BASE + ((start + tried) % RANGE_COUNT) * RANGE_SIZE;
    if (taken.some((range) => range.first < first + RANGE_SIZE && range.last >= first)) continue;
    return Object.freeze({ first: first as Mac, last: (first + RANGE_SIZE - 1) as Mac });
  }
  throw new HcnError("HCN_E_INVALID_NETWORK", { detail: "All 4096 MAC ranges of the node are in use" });
}

/** A MAC address outside the ranges of the node's networks, for vNICs of the service itself. */
export function chooseMac(prng: Prng): Mac {
  return (HYPER_V_BASE + prng.below(RANGE_COUNT * RANGE_SIZE)) as Mac;
}

/** The MAC addresses of one network's local endpoints. */
export class MacPool {
  private readonly owners = new Map<Mac, Guid>();

  /**
   * A free MAC of the ranges.
   * @throws HcnError HCN_E_INVALID_ENDPOINT when all are taken.
   */
  allocate(ranges: readonly MacRange[], prng: Prng): Mac {
    for (const range of ranges) {
      const count = range.last - range.first + 1;
      const start = prng.below(Math.min(count, 0x1_0000_0000));
      for (let tried = 0; tried < count && tried <= this.owners.size; tried++) {
        const mac = (range.first + ((start + tried) % count)) as Mac;
        if (!this.owners.has(mac)) return mac;
      }
    }
    // Inferred: no source shows what an exhausted pool answers.
    throw new HcnError("HCN_E_INVALID_ENDPOINT", {
      detail: "The MAC pool of the network is used up; delete endpoints or give the network a larger MacPool",
    });
  }

  ownerOf(mac: Mac): Guid | undefined {
    return this.owners.get(mac);
  }

  /** Whoever is first has it: restored endpoints may claim one address twice. */
  take(mac: Mac, owner: Guid): void {
    if (!this.owners.has(mac)) this.owners.set(mac, owner);
  }

  release(mac: Mac, owner: Guid): void {
    if (this.owners.get(mac) === owner) this.owners.delete(mac);
  }
}
