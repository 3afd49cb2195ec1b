/** What the options of `mullion hns serve` mean. */
import { DEFAULT_ADAPTERS, type AdapterDescription } from "#hns/ports/adapter-description.ts";
import { parseInterfaceAddress } from "#core/net/ip.ts";
import { type Failure } from "../failure.ts";
import { usage } from "../options.ts";

/** Where to listen with TCP. Port 0: the system chooses. */
export interface TcpAddress {
  readonly host: "127.0.0.1" | "::1";
  readonly port: number;
}

const PORT_MAX = 65_535;
const DELAY_MAX_MS = 600_000;

function badListen(text: string, why: string): Failure {
  return usage(
    `--listen ${JSON.stringify(text)}: ${why}`,
    "Write 127.0.0.1:PORT, or [::1]:PORT; port 0 takes a free one. HNS is a service of its own node.",
  );
}

/** `127.0.0.1:8080`, `localhost:0`, `[::1]:8080`. @throws Failure. */
export function parseListen(text: string): TcpAddress {
  const match = /^(\[[^\]]*\]|[^:]*):(\d{1,5})$/.exec(text);
  if (match === null) throw badListen(text, "it is not an address with a port");
  const [, host = "", portText = ""] = match;
  const port = Number(portText);
  if (port > PORT_MAX) throw badListen(text, `there is no port ${portText}`);
  if (host === "127.0.0.1" || host === "localhost") return { host: "127.0.0.1", port };
  if (host === "[::1]") return { host: "::1", port };
  throw badListen(text, `${host === "" ? "an empty host" : host} is not a loopback address`);
}

/** Milliseconds, up to ten minutes. @throws Failure. */
export function parseDelay(text: string): number {
  const delayMs = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (delayMs <= DELAY_MAX_MS) return delayMs;
  throw usage(
    `--address-delay ${JSON.stringify(text)} is not a number of milliseconds`,
    `Write a whole number from 0 to ${DELAY_MAX_MS}.`,
  );
}

/**
 * `Ethernet=10.0.0.11/24`; the same name again adds an address, of the other family for instance.
 * @throws Failure.
 */
export function parseAdapters(texts: readonly string[]): readonly AdapterDescription[] {
  if (texts.length === 0) return DEFAULT_ADAPTERS;
  const adapters = new Map<string, string[]>();
  for (const text of texts) {
    const separator = text.lastIndexOf("=");
    const name = text.slice(0, Math.max(separator, 0)).trim();
    const address = text.slice(separator + 1).trim();
    if (name === "" || parseInterfaceAddress(address) === undefined) {
      throw usage(
        `--adapter ${JSON.stringify(text)} is not a name with an address`,
        'Write --adapter NAME=ADDRESS/LENGTH, such as --adapter "Ethernet 2=192.168.1.5/24".',
      );
    }
    adapters.set(name, [...(adapters.get(name) ?? []), address]);
  }
  return [...adapters].map(([name, addresses]) => ({ name, addresses }));
}
