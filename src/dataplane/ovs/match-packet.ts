/** Whether a packet matches: the comparisons of a compiled match, on what the packet and the network are now. */
import type { Match } from "./language/match.ts";
import type { LogicalNetwork } from "./logical-network.ts";
import type { PacketState } from "./packet-state.ts";

function compareValues(match: Extract<Match, { kind: "compare" }>, found: bigint): boolean {
  const { relation, value, mask } = match;
  const masked = found & mask;
  switch (relation) {
    case "==":
      return masked === value;
    case "!=":
      return masked !== value;
    case "<":
      return found < value;
    case "<=":
      return found <= value;
    case ">":
      return found > value;
    case ">=":
      return found >= value;
  }
}

/** Whether a packet matches. `residents` are the ports that this chassis has. */
export function matches(
  match: Match,
  state: PacketState,
  network: LogicalNetwork,
  residents: ReadonlySet<string>,
): boolean {
  switch (match.kind) {
    case "constant":
      return match.value;
    case "and":
      return match.of.every((part) => matches(part, state, network, residents));
    case "or":
      return match.of.some((part) => matches(part, state, network, residents));
    case "compare":
      return compareValues(match, state.read(match.field));
    case "address-set": {
      const found = state.read(match.field);
      const isIn = network
        .addressSet(match.name)
        .some(({ value, mask }) => (mask === undefined ? found : found & mask) === value);
      return isIn !== match.isNegated;
    }
    case "port":
      return (state[match.field] === match.name) !== match.isNegated;
    case "port-group":
      return network.isInGroup(state.datapath, match.name, state[match.field]) !== match.isNegated;
    case "resident":
      return residents.has(match.port) !== match.isNegated;
  }
}
