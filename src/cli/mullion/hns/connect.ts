/** Which HNS a verb works on: a service that runs, or one that is made for this command from a dump. */
import { resolve } from "node:path";
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { HnsDumps } from "#contracts/hcn/dumps.ts";
import type { HnsFaults } from "#hns/failures/faults/fault.ts";
import { HttpHnsFaults } from "#hns/failures/faults/http-faults.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { type Variables, findHnsAddress } from "#contracts/hcn/http/find-hns.node.ts";
import { HttpHcnClient, formatHttpAddress } from "#contracts/hcn/http/http-client.node.ts";
import { HttpHnsDumps } from "#contracts/hcn/http/dump-protocol.ts";
import { createHns } from "#hns/local-hns.ts";
import { Failure } from "../failure.ts";
import { usage } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import type { DumpItem } from "#contracts/hcn/dumps.ts";
import { readDumpFiles } from "./read-dump-files.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

export interface HnsServiceTarget {
  /** Dumps that a service is made from; none: a service that runs. */
  readonly files: readonly string[];
  /** The socket of the service; undefined: where programs find it. */
  readonly socket: string | undefined;
}

export interface HnsConnection {
  readonly client: HcnClient;
  readonly dumps: HnsDumps;
  readonly faults: HnsFaults;
  /** `unix:/run/mullion/hns.sock`; the files. */
  readonly where: string;
  /** The objects of the files, where the service is made from files. */
  readonly dumped?: readonly DumpItem[];
  /** A text that was printed of its objects, with numbers as the files write them. */
  readonly asWritten: (text: string) => string;
}

/** What a restored node is run on: an adapter that takes whatever name its networks ask for is not needed to look. */
const SERVICE_OF_DUMP = "ws2022";

function variablesOf(socket: string | undefined): Variables {
  return socket === undefined ? process.env : { ...process.env, MULLION_HNS: `unix:${resolve(socket)}` };
}

function connectRunning(socket: string | undefined): HnsConnection {
  const address = findHnsAddress({ variables: variablesOf(socket) });
  const client = new HttpHcnClient({ address });
  return {
    client,
    dumps: new HttpHnsDumps(client),
    faults: new HttpHnsFaults(client),
    where: formatHttpAddress(address),
    asWritten: (text) => text,
  };
}

async function openDump(files: readonly string[], terminal: Terminal): Promise<HnsConnection> {
  const { objects, asWritten } = await readDumpFiles(files, terminal);
  const { client } = createHns({ profile: SERVICE_OF_DUMP });
  const { dumps } = client;
  await dumps.restore({ objects, isReplacing: true });
  return { client, dumps, faults: client.faults, where: files.join(", "), dumped: objects, asWritten };
}

/** What HNS refused, in the words of the command line. */
export function asFailure(error: unknown): unknown {
  if (!(error instanceof HcnError)) return error;
  const message = error.detail ?? error.message;
  if (error.explanation === "hns-unreachable") {
    return new Failure(
      "hns-unreachable",
      message.replace(/[.;]? Start one with .*$/s, ""),
      WORDS.adviceHnsNotRunning,
    );
  }
  if (error.explanation === "hns-fault-injected") {
    return new Failure("hns-fault-injected", `HNS refuses a call: ${error.message}`, WORDS.adviceRemoveFault);
  }
  if (error.explanation === "hns-restore-refused") {
    return new Failure("hns-restore-refused", message.replace(/^The/, "the"), WORDS.adviceRestoreReplace);
  }
  return error;
}

/** Does something with the service, and ends the connection whatever comes of it. @throws Failure. */
export async function withHns<T>(
  target: HnsServiceTarget,
  terminal: Terminal,
  use: (connection: HnsConnection) => Promise<T>,
): Promise<T> {
  if (target.files.length > 0 && target.socket !== undefined)
    throw usage("-f and --socket both say which HNS is meant", "Leave one of them out.");
  let connection: HnsConnection | undefined;
  try {
    connection =
      target.files.length > 0 ? await openDump(target.files, terminal) : connectRunning(target.socket);
    return await use(connection);
  } catch (error) {
    throw asFailure(error);
  } finally {
    await connection?.client.close();
  }
}
