/**
 * The kinds that are stored, each one row, in the order in which they come back: what stands below may refer to what
 * stands above.
 */
import { STORED_ENDPOINT } from "./stored-endpoint.ts";
import { STORED_GUEST_NETWORK_SERVICE } from "./stored-guest-network-service.ts";
import { STORED_GLOBALS } from "./stored-globals.ts";
import type { StoredKindRow } from "./stored-kind.ts";
import { STORED_LOAD_BALANCER } from "./stored-load-balancer.ts";
import { STORED_NAMESPACE } from "./stored-namespace.ts";
import { STORED_SDN_ROUTE } from "./stored-sdn-route.ts";
import { STORED_NETWORK } from "./stored-network.ts";

export const STORED_KINDS: readonly StoredKindRow[] = [
  STORED_NETWORK,
  STORED_NAMESPACE,
  STORED_ENDPOINT,
  STORED_LOAD_BALANCER,
  STORED_SDN_ROUTE,
  STORED_GUEST_NETWORK_SERVICE,
  STORED_GLOBALS,
];
