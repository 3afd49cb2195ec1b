/** Where an ovsdb-server is, and a connection to it (ovsdb(7), "Active Connection Methods"). */
import { type Socket, createConnection } from "node:net";
import { connect as connectTls } from "node:tls";
import { messageOf } from "#core/base/thrown.ts";

/** The server cannot be reached, has gone, or refuses. */
export class OvsdbConnectionError extends Error {
  override readonly name = "OvsdbConnectionError";
}

/** What a client of `ssl:` shows, and whom it believes: texts in PEM. */
export interface OvsdbTls {
  readonly privateKey: string;
  readonly certificate: string;
  readonly caCertificate: string;
}

const CONNECT_MS = 5_000;

type Address =
  | { readonly path: string }
  | { readonly host: string; readonly port: number; readonly isTls: boolean };

/** `unix:/run/ovn/ovnnb_db.sock`, `tcp:127.0.0.1:6641`, `ssl:[fd00::1]:6641`; undefined for another text. */
function parseRemote(text: string): Address | undefined {
  const [, method = "", rest = ""] = /^(unix|tcp|ssl):(.+)$/.exec(text) ?? [];
  if (method === "") return undefined;
  if (method === "unix") return { path: rest };
  const colon = rest.lastIndexOf(":");
  const written = rest.slice(0, colon);
  const host = written.startsWith("[") && written.endsWith("]") ? written.slice(1, -1) : written;
  const port = Number(rest.slice(colon + 1));
  const isPort = Number.isInteger(port) && port > 0 && port < 65_536;
  return host !== "" && isPort ? { host, port, isTls: method === "ssl" } : undefined;
}

/** `tcp:10.0.0.1:6641,tcp:10.0.0.2:6641`: the servers of a cluster, in the order in which they are tried. */
export function splitRemotes(text: string): readonly string[] {
  return text.split(",").map((each) => each.trim());
}

/** What of an error is for people: OpenSSL writes its alerts between places in its source (RFC 8446, section 6). */
export function reasonOf(error: unknown): string {
  const parts = messageOf(error).split(":");
  const at = parts.indexOf("SSL routines");
  return (at < 0 ? undefined : parts[at + 2]) ?? messageOf(error);
}

/** Names of hosts are not looked at: Open vSwitch's clients believe whom their CA has signed, too. */
function begin(
  address: Address,
  tls: OvsdbTls | undefined,
  remote: string,
): { socket: Socket; ready: string } {
  if ("path" in address || !address.isTls) return { socket: createConnection(address), ready: "connect" };
  if (tls === undefined)
    throw new OvsdbConnectionError(`${remote}: TLS needs a private key, a certificate and a CA`);
  const { host, port } = address;
  const socket = connectTls({
    host,
    port,
    key: tls.privateKey,
    cert: tls.certificate,
    ca: tls.caCertificate,
    checkServerIdentity: () => undefined,
  });
  return { socket, ready: "secureConnect" };
}

/** @throws OvsdbConnectionError */
export async function openRemote(remote: string, tls: OvsdbTls | undefined): Promise<Socket> {
  const address = parseRemote(remote);
  if (address === undefined)
    throw new OvsdbConnectionError(`${remote} is none of unix:PATH, tcp:HOST:PORT and ssl:HOST:PORT`);
  let begun: ReturnType<typeof begin>;
  try {
    begun = begin(address, tls, remote);
  } catch (error) {
    // A key that is none is told before anything is sent.
    throw error instanceof OvsdbConnectionError
      ? error
      : new OvsdbConnectionError(`${remote}: ${messageOf(error)}`);
  }
  const { socket, ready } = begun;
  return new Promise((resolve, reject) => {
    const fail = (text: string): void => {
      socket.destroy();
      reject(new OvsdbConnectionError(`${remote}: ${text}`));
    };
    const late = setTimeout(() => fail("no answer"), CONNECT_MS);
    socket.once("error", (error) => {
      clearTimeout(late);
      fail(reasonOf(error));
    });
    socket.once(ready, () => {
      clearTimeout(late);
      socket.removeAllListeners("error");
      resolve(socket);
    });
  });
}
