/** What Windows knows of the neighbours of an interface, as `arp` and `Get-NetNeighbor` show it. */
import { type Ip, lastIp, prefixOf } from "#core/net/ip.ts";
import { BROADCAST_MAC, type Mac } from "#core/net/mac.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import type { NeighborState } from "#dataplane/host/ip/neighbor-table.ts";

interface Neighbour {
  readonly ip: Ip;
  /** Undefined where nobody answered. */
  readonly mac: Mac | undefined;
  readonly state: NeighborState;
}

/** Inferred: of what Windows knows for all of a subnet, its broadcast address alone, which stands first; the groups hang on its services. */
export function neighboursOf({ addresses, neighbors }: Interface): readonly Neighbour[] {
  const everybody = addresses.flatMap(({ ip, length }): readonly Neighbour[] =>
    typeof ip !== "number" || length >= 31
      ? []
      : [{ ip: lastIp(prefixOf(ip, length)), mac: BROADCAST_MAC, state: "permanent" }],
  );
  return [...everybody, ...neighbors.list()];
}
