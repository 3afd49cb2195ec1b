/** The node's HNS for a process that lives for one call. */
import { LazyHcnClient } from "./lazy-hcn-client.ts";

/** Looked for by the first call, over one connection. */
export function openHns(): LazyHcnClient {
  return new LazyHcnClient(async () => {
    const { findHns } = await import("../../hcn/find-hns.node.ts");
    const { SerialExchange } = await import("../../hcn/serial-exchange.node.ts");
    return findHns({ variables: process.env, exchange: (address) => new SerialExchange(address) });
  });
}
