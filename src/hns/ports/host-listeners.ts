/** Host ports that programs of the node listen on, which old builds keep from load balancers and mappings (hcn.md §4.7). */
import { HcnError } from "#contracts/hcn/error.ts";
import type { ServiceContext } from "../service/service-context.ts";

/**
 * Inferred: WinNAT takes no port that a program of the host listens on, whatever the build (`isTranslated`).
 * Inferred: the address does not matter, since what made it known was a front end of its own address (dataplane.md F-56).
 * @throws HcnError HCN_E_PORT_ALREADY_EXISTS where the build has the defect and a program of the host listens there.
 */
export function checkNotListening(
  context: ServiceContext,
  protocol: number,
  port: number,
  isTranslated = false,
): void {
  if (!context.datapath.isListening(protocol, port)) return;
  if (!isTranslated && !context.hasQuirk("listener-blocks-front-end")) return;
  throw new HcnError("HCN_E_PORT_ALREADY_EXISTS", {
    detail: `A program of the node listens on protocol ${protocol}, port ${port}; end it, or choose another port`,
    explanation: "load-balancer-port-already-exists",
  });
}
