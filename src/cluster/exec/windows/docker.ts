/** `docker network` on a host whose containers Docker runs: networks are made in the host's HNS, as the engine makes them. */
import { HcnError } from "#contracts/hcn/error.ts";
import type { DockerEngine } from "#programs/docker/engine.ts";
import { DockerUsageError, readCreateWords } from "#programs/docker/network-options.ts";
import {
  DAEMON_ANSWERS,
  creationRefusal,
  hnsRefusal,
  inspectTexts,
  networkLines,
  networkToRemove,
} from "#programs/docker/network-texts.ts";
import type { ClusterNode } from "../../cluster.ts";
import { hcnClientOf } from "../../machines/windows-node.ts";
import { RequestError } from "../../request-error.ts";
import { CAPTURE_EPOCH_MS } from "../../trace/capture.ts";
import { type CommandOutput, type ListedCommand, notBuilt } from "../command.ts";
import type { Machine } from "../machine.ts";
import { unknownCommand } from "../shells.ts";

const NAME = "docker";
const USAGES: readonly string[] = [
  "docker network ls [-q]",
  "docker network inspect NETWORK… (on hosts with Docker)",
  "docker network create [-d DRIVER] [--subnet=RANGE] [--gateway=ADDRESS] [-o KEY=VALUE]… NETWORK",
  "docker network rm NETWORK…",
];
const QUIET: ReadonlySet<string> = new Set(["-q", "--quiet"]);
const REMOVE: ReadonlySet<string | undefined> = new Set(["rm", "remove"]);

function hostOf({ cluster, compartment }: Machine): ClusterNode | undefined {
  return cluster.nodes.find(({ host }) => host.root === compartment);
}

function run(machine: Machine, args: readonly string[]): CommandOutput {
  const engine = hostOf(machine)?.docker;
  if (engine === undefined) return unknownCommand("cmd", NAME);
  const [object, verb = "", ...rest] = args;
  const isList = (verb === "ls" || verb === "list") && rest.every((arg) => QUIET.has(arg));
  if (object === "network" && isList)
    return { stdout: networkLines([...engine.inspect(), engine.noNetwork()], rest.length > 0), exitCode: 0 };
  const isInspect = verb === "inspect" && rest.length > 0 && rest.every((arg) => !arg.startsWith("-"));
  if (object !== "network" || !isInspect) return notBuilt({ name: NAME, usages: USAGES }, args.join(" "));
  const { out, refused } = inspectTexts(engine.inspect(), rest);
  return { stdout: out.split("\n"), stderr: refused, exitCode: refused.length === 0 ? 0 : 1 };
}

/** The daemon's answer to what it refuses; it ends with 1. */
function daemonRefuses(messages: readonly string[], stdout: readonly string[] = []): CommandOutput {
  return { stdout, stderr: messages.map((each) => DAEMON_ANSWERS + each), exitCode: 1 };
}

/** HNS's own words; undefined: it did what was asked. */
async function refusalOf(call: Promise<void>): Promise<string | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    if (error instanceof HcnError) return hnsRefusal(error.toRecord().Error);
    throw error;
  }
}

/** @throws RequestError for options that Docker on Windows does not take. */
async function create(
  node: ClusterNode,
  engine: DockerEngine,
  words: readonly string[],
): Promise<CommandOutput> {
  try {
    const request = readCreateWords(words);
    const created = new Date(CAPTURE_EPOCH_MS + node.host.root.nowMs).toISOString();
    const said =
      creationRefusal(engine.inspect(), request.name) ??
      (await refusalOf(engine.createNetwork(hcnClientOf(node), request, created)));
    if (said !== undefined) return daemonRefuses([said]);
    const made = engine.inspect().filter((each) => each.Name === request.name);
    return { stdout: made.map(({ Id }) => Id), exitCode: 0 };
  } catch (error) {
    if (error instanceof DockerUsageError) throw new RequestError("bad-usage", error.message, error.advice);
    throw error;
  }
}

/** Each in its turn, the others also when one cannot go. */
async function remove(
  node: ClusterNode,
  engine: DockerEngine,
  names: readonly string[],
): Promise<CommandOutput> {
  const gone: string[] = [];
  const left: string[] = [];
  for (const wanted of names) {
    const network = networkToRemove(engine.inspect(), wanted);
    const said =
      typeof network === "string"
        ? network
        : await refusalOf(engine.removeNetwork(hcnClientOf(node), network.Name));
    if (said === undefined) gone.push(wanted);
    else left.push(said);
  }
  return left.length === 0 ? { stdout: gone, exitCode: 0 } : daemonRefuses(left, gone);
}

async function change(machine: Machine, [, verb, ...words]: readonly string[]): Promise<CommandOutput> {
  const node = hostOf(machine);
  const engine = node?.docker;
  if (node === undefined || engine === undefined) return unknownCommand("cmd", NAME);
  if (verb === "create") return create(node, engine, words);
  if (words.length === 0 || words.some((word) => word.startsWith("-")))
    return notBuilt({ name: NAME, usages: USAGES }, ["network", verb, ...words].join(" "));
  return remove(node, engine, words);
}

export const DOCKER: ListedCommand = {
  name: NAME,
  os: "windows",
  usages: USAGES,
  isChange: ([object, verb]) => object === "network" && (verb === "create" || REMOVE.has(verb)),
  run,
  change,
};
