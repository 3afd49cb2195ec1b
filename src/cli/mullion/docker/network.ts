/**
 * `mullion docker network`: Docker's networks of a running HNS. Each call is an engine that has just started: it takes the
 * networks that HNS has as Docker takes them (daemon/daemon_windows.go), does its work through HNS v1, and ends. What is
 * printed is what `docker network` prints (docker/cli: cli/command/network).
 */
import { Prng } from "#core/base/prng.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { DockerEngine } from "#programs/docker/engine.ts";
import {
  DAEMON_ANSWERS,
  creationRefusal,
  findNetwork,
  hnsRefusal,
  inspectTexts,
  networkLines,
  networkToRemove,
} from "#programs/docker/network-texts.ts";
import { asFailure, withHns } from "../hns/connect.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import type { DockerCreateRequest, DockerListRequest, DockerNamedRequest } from "./verbs.ts";

/** What Docker writes for a time that it does not know: HNS keeps none. */
const NO_TIME = "0001-01-01T00:00:00Z";
/** The same network has the same id in each call. */
const SEED = "docker";

/** What the daemon answers; the command ends with 1. */
function refuse(message: string, terminal: Terminal): ExitCode {
  terminal.stderr(`${DAEMON_ANSWERS}${message}\n`);
  return 1;
}

/** HNS's own words, behind those of hcsshim; undefined for what is no answer of HNS. */
function hnsText(error: unknown): string | undefined {
  const known = error instanceof HcnError ? asFailure(error) : undefined;
  return known instanceof HcnError ? hnsRefusal(known.toRecord().Error) : undefined;
}

async function withEngine(
  { target }: Pick<DockerListRequest, "target">,
  terminal: Terminal,
  use: (engine: DockerEngine, client: HcnClient) => Promise<ExitCode>,
): Promise<ExitCode> {
  return withHns(target, terminal, async ({ client }) => {
    const engine = new DockerEngine(new Prng(SEED));
    await engine.discover(client, NO_TIME);
    return use(engine, client);
  });
}

export async function createNetwork(request: DockerCreateRequest, terminal: Terminal): Promise<ExitCode> {
  const { network } = request;
  return withEngine(request, terminal, async (engine, client) => {
    const refused = creationRefusal(engine.inspect(), network.name);
    if (refused !== undefined) return refuse(refused, terminal);
    try {
      await engine.createNetwork(client, network, NO_TIME);
    } catch (error) {
      const text = hnsText(error);
      if (text === undefined) throw error;
      return refuse(text, terminal);
    }
    // As the next call finds it: HNS has given it its id.
    const after = new DockerEngine(new Prng(SEED));
    await after.discover(client, NO_TIME);
    const made = findNetwork(after.inspect(), network.name);
    if (made === undefined) return refuse(`network ${network.name} not found`, terminal);
    terminal.stdout(`${made.Id}\n`);
    return 0;
  });
}

export function listNetworks(request: DockerListRequest, terminal: Terminal): Promise<ExitCode> {
  return withEngine(request, terminal, async (engine) => {
    for (const line of networkLines([...engine.inspect(), engine.noNetwork()], request.isQuiet))
      terminal.stdout(`${line}\n`);
    return 0;
  });
}

export function inspectNetworks(request: DockerNamedRequest, terminal: Terminal): Promise<ExitCode> {
  return withEngine(request, terminal, async (engine) => {
    const { out, refused } = inspectTexts(engine.inspect(), request.names);
    terminal.stdout(`${out}\n`);
    for (const line of refused) terminal.stderr(`${line}\n`);
    return refused.length === 0 ? 0 : 1;
  });
}

/** Each in its turn, the others also when one cannot go. */
export function removeNetworks(request: DockerNamedRequest, terminal: Terminal): Promise<ExitCode> {
  return withEngine(request, terminal, async (engine, client) => {
    let code: ExitCode = 0;
    for (const wanted of request.names) {
      const network = networkToRemove(engine.inspect(), wanted);
      code =
        typeof network === "string"
          ? refuse(network, terminal)
          : await removeOne(engine, client, { name: network.Name, wanted, code, terminal });
    }
    return code;
  });
}

async function removeOne(
  engine: DockerEngine,
  client: HcnClient,
  one: {
    readonly name: string;
    readonly wanted: string;
    readonly code: ExitCode;
    readonly terminal: Terminal;
  },
): Promise<ExitCode> {
  const { name, wanted, code, terminal } = one;
  try {
    await engine.removeNetwork(client, name);
  } catch (error) {
    const text = hnsText(error);
    if (text === undefined) throw error;
    return refuse(text, terminal);
  }
  terminal.stdout(`${wanted}\n`);
  return code;
}
