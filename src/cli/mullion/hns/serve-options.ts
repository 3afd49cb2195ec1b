/** The options of `mullion hns serve`: on the command line, and what they mean. */
import { DEFAULT_ADAPTERS, type AdapterDescription } from "#hns/ports/adapter-description.ts";
import { addToList } from "#core/base/keyed-lists.ts";
import { parseInterfaceAddress } from "#core/net/ip.ts";
import { type HnsVersion, hasFeature } from "#contracts/hcn/features.ts";
import { parseDuration } from "../duration.ts";
import type { Failure } from "../failure.ts";
import { usage, type Run } from "../options.ts";
import type { Command } from "commander";
import { addVerb } from "../described-verb.ts";
import type { Terminal } from "../terminal.ts";
import type { HnsVerbs } from "./verbs.ts";
import { hnsCommands } from "#data/words.js";

const WORDS = hnsCommands();

/** Where to listen with TCP. Port 0: the system chooses. */
export interface TcpAddress {
  readonly host: "127.0.0.1" | "::1";
  readonly port: number;
}

const PORT_MAX = 65_535;
const DELAY_MAX_MS = 600_000;

function badListen(text: string, why: string): Failure {
  return usage(`--listen ${JSON.stringify(text)}: ${why}`, WORDS.adviceListenAddress);
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

/** `15.5`. @throws Failure. */
export function parseHnsVersion(text: string): HnsVersion {
  const [, major = "", minor = ""] = /^(\d{1,2})\.(\d{1,2})$/.exec(text) ?? [];
  const version: HnsVersion = { Major: Number(major), Minor: Number(minor) };
  if (hasFeature(version, "ApiV2")) return version;
  throw usage(WORDS.hnsVersionInvalid({ text: JSON.stringify(text) }), WORDS.adviceHnsVersion);
}

/** Up to ten minutes; a number alone is in milliseconds. @throws Failure. */
export function parseDelay(text: string): number {
  return Math.round(parseDuration(text, { name: "--address-delay", bare: "ms", maxMs: DELAY_MAX_MS }));
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
    addToList(adapters, name, address);
  }
  return [...adapters].map(([name, addresses]) => ({ name, addresses }));
}

interface HnsServeOptions {
  readonly profile: string;
  readonly hnsVersion?: string;
  readonly socket?: string;
  readonly listen?: string;
  readonly tokenFile?: string;
  readonly data?: string;
  readonly addressDelay: string;
  readonly adapter?: readonly string[];
  readonly quirk?: readonly string[];
  readonly faults?: readonly string[];
}

export function addServe(hns: Command, run: Run, serve: HnsVerbs["serve"], terminal: Terminal): void {
  addVerb(hns, "serve").action((options: HnsServeOptions) => {
    const { profile, hnsVersion, socket, listen, tokenFile, data, addressDelay } = options;
    const { adapter: adapters = [], quirk: quirks = [], faults = [] } = options;
    return run(() => {
      const addressDelayMs = parseDelay(addressDelay);
      const place = { socket, listen, tokenFile, data };
      return serve({ profile, hnsVersion, ...place, addressDelayMs, adapters, quirks, faults }, terminal);
    });
  });
}
