/** The program `kube-proxy`: words and files to a running proxy, and its end to an exit code. */
import { behaviourOf } from "#programs/kube-proxy/behaviour.ts";
import { stringify } from "yaml";
import type { Clock } from "#core/base/clock.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { describeConfiguration } from "#programs/kube-proxy/configuration/configuration.ts";
import type { Listen } from "#programs/kube-proxy/daemon/health/http-answer.ts";
import { Klog, type KlogOptions } from "#programs/kube-proxy/daemon/klog.ts";
import type { ObjectFeed } from "#programs/kube-proxy/daemon/object-feed.ts";
import { type Ended, ProxyServer } from "#programs/kube-proxy/daemon/proxy-server.ts";
import type { ProxyInterface } from "#programs/kube-proxy/options.ts";
import { Failure, describeSystemError } from "../mullion/failure.ts";
import type { Terminal } from "../mullion/terminal.ts";
import { StartFailure, complaintOf, formatFailure } from "./complaint.ts";
import { helpText, versionText } from "./help.ts";
import { type Settings, type Variables, chooseVersion, loadSettings } from "./load-settings.ts";

/** What the program sees of its process. */
export interface ProgramProcess {
  readonly argv: readonly string[];
  readonly variables: Variables;
  readonly pid: number;
  readonly machineName: string;
  /** Of this package. */
  readonly version: string;
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly wallMs: () => number;
  readonly listen: Listen;
  readonly hostInterfaces: () => readonly ProxyInterface[];
  /** Calls back after a change of a file or folder, until the returned function is called. */
  readonly watchFile: (path: string, changed: () => void) => () => void;
  readonly openHns: () => HcnClient;
  /** @throws StartFailure or Failure when there is no way to the objects. */
  readonly openFeed: (settings: Settings, hostname: string, log: Klog) => Promise<ObjectFeed>;
}

const FILE_UPDATED = "content of the proxy server's configuration file was updated";

function logOf({ configuration }: Settings, { terminal, wallMs, pid }: ProgramProcess): Klog {
  const { logging } = configuration;
  const format = logging.format === "json" ? "json" : "text";
  const { splitStream } = logging.options[format];
  // Only lines of information have their own stream, and only when that is asked for.
  const write: KlogOptions["write"] = (text, severity) => {
    if (splitStream && severity === "I") terminal.stdout(text);
    else terminal.stderr(text);
  };
  return new Klog({ write, wallMs, pid, verbosity: logging.verbosity, format });
}

/** The node's name: upstream trims it and writes it small. */
function hostnameOf({ configuration }: Settings, machineName: string): string {
  const name = (configuration.hostnameOverride === "" ? machineName : configuration.hostnameOverride).trim();
  if (name !== "") return name.toLowerCase();
  throw new StartFailure([
    {
      code: "kube-proxy-configuration-invalid",
      message: "empty hostname is invalid",
      advice: "Give the name of this node's Node object with --hostname-override.",
    },
  ]);
}

async function writeConfiguration(
  path: string,
  { configuration }: Settings,
  { terminal }: ProgramProcess,
): Promise<void> {
  const text = stringify(describeConfiguration(configuration), {
    version: "1.1",
    lineWidth: 0,
    nullStr: "null",
  });
  try {
    await terminal.writeFile(path, text);
  } catch (error) {
    throw new StartFailure([
      {
        code: "kube-proxy-configuration-invalid",
        message: `cannot write ${path}: ${describeSystemError(error)}`,
        advice: "Name another file with --write-config-to.",
      },
    ]);
  }
}

function notOnWindows(flag: string): StartFailure {
  return new StartFailure([
    {
      code: "kube-proxy-flag-refused",
      message: `--${flag} is not implemented on Windows`,
      advice: "Nothing was changed. Leave the flag out.",
    },
  ]);
}

/** Ends the run when the configuration file says something else; who supervises it starts it anew. */
function watchConfiguration(
  { configFile, kubernetes, compat }: Settings,
  { watchFile, terminal }: ProgramProcess,
  changed: () => void,
): () => void {
  if (configFile === undefined || configFile.path === "-") return () => undefined;
  const { path, text } = configFile;
  return watchFile(path, () => {
    if (behaviourOf(kubernetes, compat).process.endsAtEachWrite) changed();
    else
      void terminal.readFile(path).then(
        (now) => (now === text ? undefined : changed()),
        () => undefined,
      );
  });
}

/** The interfaces of the machine, and the one whose MAC address was given. */
function interfacesOf(settings: Settings, proxy: ProgramProcess): readonly ProxyInterface[] {
  const mac = settings.flags.get("mullion-host-mac");
  const { bindAddress } = settings.configuration;
  const reported = typeof mac === "string" && mac !== "" ? [{ mac, addresses: [bindAddress] }] : [];
  // Of several with the node's address the last one counts.
  return [...proxy.hostInterfaces(), ...reported];
}

async function serve(settings: Settings, process: ProgramProcess, log: Klog): Promise<Ended> {
  const { terminal, clock, wallMs, listen, variables } = process;
  const hostname = hostnameOf(settings, process.machineName);
  const feed = await process.openFeed(settings, hostname, log);
  const client = process.openHns();
  const { configuration, kubernetes, compat } = settings;
  const server = new ProxyServer({
    configuration,
    kubernetes,
    compat,
    hostname,
    kubeNetwork: variables["KUBE_NETWORK"],
    flags: settings.flags,
    client,
    feed,
    clock,
    wallMs,
    log,
    listen,
    hostInterfaces: () => interfacesOf(settings, process),
  });
  let isFileChanged = false;
  const unwatch = watchConfiguration(settings, process, () => {
    isFileChanged = true;
    void server.stop();
  });
  void terminal.untilInterrupted().then(() => {
    log.info(0, "Ending; load balancers stay as they are");
    return server.stop();
  });
  try {
    const ended = await server.run();
    return isFileChanged ? { exitCode: 1, message: FILE_UPDATED } : ended;
  } finally {
    unwatch();
    await feed.close();
    await client.close();
  }
}

async function perform(process: ProgramProcess): Promise<0 | 1> {
  const { argv, variables, terminal, version } = process;
  const request = await loadSettings(argv, variables, (path) => terminal.readFile(path));
  if (request.kind === "help") {
    terminal.stdout(helpText(chooseVersion(argv, variables)));
    return 0;
  }
  if (request.kind === "version") {
    terminal.stdout(versionText(chooseVersion(argv, variables), version, request.isRaw));
    return 0;
  }
  const { settings } = request;
  const log = logOf(settings, process);
  for (const warning of settings.warnings) log.warning(warning);
  for (const [name, value] of settings.flags)
    log.info(1, `FLAG: --${name}`, { value: name === "mullion-compat" ? settings.compat : String(value) });
  const target = settings.flags.get("write-config-to");
  if (typeof target === "string" && target !== "") {
    await writeConfiguration(target, settings, process);
    log.info(0, "Wrote configuration", { file: target });
    return 0;
  }
  if (settings.flags.get("cleanup") === true) throw notOnWindows("cleanup-and-exit");
  if (settings.flags.get("init-only") === true) throw notOnWindows("init-only");
  const ended = await serve(settings, process, log);
  if (ended.message !== undefined && ended.message !== FILE_UPDATED)
    throw new StartFailure([complaintOf(ended.message)]);
  if (ended.message === FILE_UPDATED) log.error("command failed", { err: FILE_UPDATED });
  return ended.exitCode;
}

/** Runs kube-proxy until it ends, and returns its exit code: 0, or 1 as upstream for everything that fails. */
export async function runKubeProxy(process: ProgramProcess): Promise<0 | 1> {
  const { terminal } = process;
  try {
    return await perform(process);
  } catch (error) {
    if (error instanceof StartFailure) terminal.stderr(formatFailure(error));
    else if (error instanceof Failure)
      terminal.stderr(`Error: ${error.message} [${error.code}]\n    ${error.advice}\n`);
    else throw error;
    return 1;
  }
}
