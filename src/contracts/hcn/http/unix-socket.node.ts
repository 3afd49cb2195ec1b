/** Unix sockets of services: private ones, and whether one is in use, or left over from a process that died. */
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync, rmdirSync } from "node:fs";
import { type Server, createConnection } from "node:net";
import { dirname, join } from "node:path";

/** A process that does not answer within this time is busy, not gone. */
const PROBE_TIMEOUT_MS = 2_000;
const OWNER_ONLY = 0o600;
const OWNER_ONLY_FOLDER = 0o700;

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

/** Resolves when the server listens. @throws an error of the system. */
export async function listen(
  server: Server,
  where: { path: string } | { host: string; port: number },
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(where, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/**
 * Listens on a socket that nobody else can open at any moment: it is made in a private folder and then moved to its
 * name. A left-over of a process that died is replaced.
 * @throws Error when something else has that name.
 */
export async function listenOnSocket(server: Server, socketPath: string): Promise<void> {
  const folder = dirname(socketPath);
  mkdirSync(folder, { recursive: true, mode: OWNER_ONLY_FOLDER });
  const present = lstatSync(socketPath, { throwIfNoEntry: false });
  if (present !== undefined && !present.isSocket())
    throw new Error(`${socketPath} exists already and is not a socket; choose another path`);
  if (present !== undefined && (await isListening(socketPath)))
    throw new Error(`Another service listens on ${socketPath}; stop it or choose another path`);
  const privateFolder = mkdtempSync(join(folder, ".hns-"));
  try {
    const madeAt = join(privateFolder, "s");
    await listen(server, { path: madeAt });
    chmodSync(madeAt, OWNER_ONLY);
    renameSync(madeAt, socketPath);
    rmdirSync(privateFolder);
  } catch (error) {
    rmSync(privateFolder, { recursive: true, force: true });
    throw error;
  }
}
