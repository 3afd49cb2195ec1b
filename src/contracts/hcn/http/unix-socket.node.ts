/** Whether a Unix socket is in use, or left over from a process that died. */
import { createConnection } from "node:net";

/** A process that does not answer within this time is busy, not gone. */
const PROBE_TIMEOUT_MS = 2_000;

/** True when a process accepts connections on the socket, however slow. */
export async function isListening(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createConnection(socket);
    const finish = (isOpen: boolean): void => {
      probe.destroy();
      resolve(isOpen);
    };
    probe.setTimeout(PROBE_TIMEOUT_MS, () => finish(true));
    probe.on("connect", () => finish(true));
    probe.on("error", () => finish(false));
  });
}
