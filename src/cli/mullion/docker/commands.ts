/** `mullion docker network` on the command line: the options of `docker network` that Windows takes. */
import { type Command, Option } from "commander";
import { DOCKER_DRIVERS } from "#programs/docker/network-request.ts";
import {
  DockerUsageError,
  NOT_ON_WINDOWS,
  type NetworkOptions,
  readNetworkOptions,
  refuseOnWindows,
} from "#programs/docker/network-options.ts";
import { type Run, runningName, usage } from "../options.ts";
import { addVerb } from "../described-verb.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import type { Verbs } from "../verbs.ts";
import type { DockerVerbs } from "./verbs.ts";

interface SocketOptions {
  readonly socket?: string;
  readonly node?: string;
  readonly name?: string;
}

/** What the commands are given: the verbs beside an HNS, and the one that runs a command on a host of a cluster. */
export interface DockerCommands {
  readonly verbs: Partial<DockerVerbs>;
  readonly exec: Verbs["exec"] | undefined;
  readonly run: Run;
  readonly terminal: Terminal;
}

/** The same words typed on a host of a running cluster; undefined where no host is named. @throws Failure. */
function onNode(
  { exec, terminal }: DockerCommands,
  options: SocketOptions,
  words: readonly string[],
): Promise<ExitCode> | undefined {
  const { node } = options;
  if (node === undefined) {
    if (options.name !== undefined) throw usage("--name needs --node", "Name a host of that cluster.");
    return undefined;
  }
  if (exec === undefined) return undefined;
  const target = { ...runningName(options), files: [], isRecursive: false };
  const command = ["docker", "network", ...words];
  const from = `node/${node.replace(/^node\//, "")}`;
  const how = { output: "text", isTraced: false, isSimulated: true } as const;
  return exec({ target, asDocumented: undefined, from, command, ...how }, terminal).then((code) =>
    code === 0 ? 0 : 1,
  );
}

interface CreateOptions extends SocketOptions {
  readonly driver: string;
  readonly subnet?: string;
  readonly gateway?: string;
  readonly opt: readonly string[];
}

function targetOf({ socket }: SocketOptions): {
  readonly files: readonly string[];
  readonly socket: string | undefined;
} {
  return { files: [], socket };
}

/** What Docker's own reading of options refuses is bad usage here, too. @throws Failure. */
function asUsage<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DockerUsageError) throw usage(error.message, error.advice);
    throw error;
  }
}

function addCreate(docker: Command, given: DockerCommands, create: DockerVerbs["create"]): void {
  const { run, terminal } = given;
  const command = addVerb(docker, "create", { holes: { drivers: DOCKER_DRIVERS.join(", ") } });
  for (const flag of NOT_ON_WINDOWS)
    command.addOption(
      new Option(`${flag} [value]`).hideHelp().argParser(() => asUsage(() => refuseOnWindows(flag))),
    );
  command.action((name: string, options: CreateOptions) =>
    run(() => {
      const { driver, subnet, gateway, opt } = options;
      const asked: NetworkOptions = { name, driver, subnet, gateway, opt };
      const network = asUsage(() => readNetworkOptions(asked));
      return (
        onNode(given, options, ["create", ...wordsOf(asked)]) ??
        create({ target: targetOf(options), network }, terminal)
      );
    }),
  );
}

/** As they are typed on the host. */
function wordsOf({ name, driver, subnet, gateway, opt }: NetworkOptions): readonly string[] {
  return [
    "-d",
    driver,
    ...(subnet === undefined ? [] : ["--subnet", subnet]),
    ...(gateway === undefined ? [] : ["--gateway", gateway]),
    ...opt.flatMap((each) => ["-o", each]),
    name,
  ];
}

function addNamed(docker: Command, given: DockerCommands, name: string, verb: DockerVerbs["inspect"]): void {
  const { run, terminal } = given;
  addVerb(docker, name).action((names: readonly string[], options: SocketOptions) =>
    run(
      () => onNode(given, options, [name, ...names]) ?? verb({ target: targetOf(options), names }, terminal),
    ),
  );
}

function addList(docker: Command, given: DockerCommands, list: DockerVerbs["list"]): void {
  const { run, terminal } = given;
  addVerb(docker, "ls").action((options: SocketOptions & { readonly quiet?: true }) =>
    run(() => {
      const isQuiet = options.quiet === true;
      return (
        onNode(given, options, ["ls", ...(isQuiet ? ["-q"] : [])]) ??
        list({ target: targetOf(options), isQuiet }, terminal)
      );
    }),
  );
}

export function addDocker(program: Command, given: DockerCommands): void {
  const network = addVerb(addVerb(program, "docker"), "network");
  const { create, list, inspect, remove } = given.verbs;
  if (create !== undefined) addCreate(network, given, create);
  if (list !== undefined) addList(network, given, list);
  if (inspect !== undefined) addNamed(network, given, "inspect", inspect);
  if (remove !== undefined) addNamed(network, given, "rm", remove);
}
