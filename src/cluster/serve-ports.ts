/** Lets a built-in server answer on ports. */
import type { IdentificationServer } from "../host/services/identification-server.ts";
import type { SocketFailure } from "../host/socket-failure.ts";
import type { PortSpec } from "./file/cluster-file.ts";

/** A port that could not be served, because somebody in the same compartment has it. */
export interface UnservedPort extends PortSpec {
  readonly failure: SocketFailure;
}

/** Serves `ports`; a pod in the node's own compartment may find one taken, as on a real node. */
export function servePorts(
  server: IdentificationServer,
  ports: readonly PortSpec[],
): readonly UnservedPort[] {
  return ports.flatMap(({ port, protocol }) => {
    const failure = protocol === "TCP" ? server.listenTcp(port) : server.listenUdp(port);
    return failure === undefined ? [] : [{ port, protocol, failure }];
  });
}
