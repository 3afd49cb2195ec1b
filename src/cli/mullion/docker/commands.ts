/** `mullion docker network` on the command line: the options of `docker network` that Windows takes. */
import { type Command, Option } from "commander";
import { DOCKER_DRIVERS, DOCKER_OPTION, UNASKED } from "#programs/docker/network-request.ts";
import {
  DockerUsageError,
  NOT_ON_WINDOWS,
  type NetworkOptions,
  readNetworkOptions,
  refuseOnWindows,
} from "#programs/docker/network-options.ts";
import { type Run, collect, examples, runningName, usage } from "../options.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import type { Verbs } from "../verbs.ts";
import type { DockerVerbs } from "./verbs.ts";
import { commandLine, hnsCommands } from "#data/words.js";

const WORDS = commandLine();
const SOCKET = hnsCommands().socketOption;

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

function addWhere(command: Command): Command {
  return command
    .option("--socket <path>", SOCKET)
    .option("--node <name>", WORDS.dockerNode)
    .option("--name <name>", WORDS.dockerClusterName);
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
  const command = docker
    .command("create")
    .summary(WORDS.dockerCreateSummary)
    .description(WORDS.dockerCreateDescription)
    .argument("<name>", WORDS.dockerNetworkName)
    .option("-d, --driver <driver>", DOCKER_DRIVERS.join(", "), UNASKED.driver)
    .option("--subnet <range>", WORDS.dockerSubnet)
    .option("--gateway <address>", WORDS.dockerGateway)
    .option("--opt <key=value>", WORDS.dockerOpt, collect, []);
  addWhere(command).addHelpText(
    "after",
    examples(
      "mullion docker network create -d nat --subnet 172.20.0.0/24 web",
      "mullion docker network create -d nat --node host-1 web",
      `mullion docker network create -d l2bridge --subnet 10.0.0.0/24 --gateway 10.0.0.1 --opt ${DOCKER_OPTION}.vlanid=7 lan`,
    ),
  );
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

interface NamedVerb {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly summary: string;
  readonly example: string;
  readonly verb: DockerVerbs["inspect"];
}

function addNamed(
  docker: Command,
  given: DockerCommands,
  { name, aliases, summary, example, verb }: NamedVerb,
): void {
  const { run, terminal } = given;
  const command = docker
    .command(name)
    .aliases([...aliases])
    .summary(summary)
    .description(`    ${summary[0]?.toUpperCase() ?? ""}${summary.slice(1)}.`)
    .argument("<name...>", WORDS.dockerNetworkNames);
  addWhere(command)
    .addHelpText("after", examples(example))
    .action((names: readonly string[], options: SocketOptions) =>
      run(
        () =>
          onNode(given, options, [name, ...names]) ?? verb({ target: targetOf(options), names }, terminal),
      ),
    );
}

function addList(docker: Command, given: DockerCommands, list: DockerVerbs["list"]): void {
  const { run, terminal } = given;
  const command = docker
    .command("ls")
    .alias("list")
    .summary(WORDS.dockerListSummary)
    .description(WORDS.dockerListDescription)
    .option("-q, --quiet", "ids alone");
  addWhere(command)
    .addHelpText("after", examples("mullion docker network ls", "mullion docker network ls --node host-1"))
    .action((options: SocketOptions & { readonly quiet?: true }) =>
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
  const docker = program
    .command("docker")
    .summary(WORDS.dockerSummary)
    .description(WORDS.dockerDescription)
    .addHelpText("after", examples("mullion docker network ls"));
  const network = docker
    .command("network")
    .summary(WORDS.dockerSummary)
    .description(WORDS.dockerDescription)
    .addHelpText("after", examples("mullion docker network create -d nat web", "mullion docker network ls"));
  const { create, list, inspect, remove } = given.verbs;
  if (create !== undefined) addCreate(network, given, create);
  if (list !== undefined) addList(network, given, list);
  if (inspect !== undefined)
    addNamed(network, given, {
      name: "inspect",
      aliases: [],
      summary: WORDS.dockerInspectSummary,
      example: "mullion docker network inspect nat",
      verb: inspect,
    });
  if (remove !== undefined)
    addNamed(network, given, {
      name: "rm",
      aliases: ["remove"],
      summary: WORDS.dockerRemoveSummary,
      example: "mullion docker network rm web",
      verb: remove,
    });
}
