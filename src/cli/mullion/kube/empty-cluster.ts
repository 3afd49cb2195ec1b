/** A control plane without machines: for programs that bring their own nodes. */
import { randomInt } from "node:crypto";
import { defined } from "#core/base/assert.ts";
import { Prng } from "#core/base/prng.ts";
import { MemoryKube } from "#control-plane/memory/memory-kube.ts";
import { MemoryKubeSource } from "#control-plane/memory/memory-kube-source.ts";
import { type Prefix, parsePrefix } from "#core/net/ip.ts";

const SEED_MAX = 2 ** 47;

function range(text: string): Prefix {
  return defined(parsePrefix(text), text);
}

/** With the ranges of the cluster file's defaults. `now` gives the time in RFC 3339. */
export function openEmptyCluster(now: () => string): MemoryKubeSource {
  const options = { clusterCIDRs: [range("10.244.0.0/16")], serviceCIDRs: [range("10.96.0.0/12")] };
  return new MemoryKubeSource(new MemoryKube(new Prng(randomInt(SEED_MAX)), options), { now });
}
