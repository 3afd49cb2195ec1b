/** `mullion cni` on the command line: one function per verb. */
import { Argument, type Command, Option } from "commander";
import { type Run, collect, examples, usage } from "../options.ts";
import { type TextFormat, outputOption } from "../print-document.ts";
import type { Terminal } from "../terminal.ts";
import { type CapabilityOptions, readCapabilityOptions } from "./capability-options.ts";
import { type AttachmentCommand, type CniTarget, type CniVerbs, type KeptAttachment } from "./verbs.ts";
import { commandLine } from "#data/words.js";

const WORDS = commandLine();

interface TargetOptions {
  readonly confDir?: string;
  readonly pluginDir?: readonly string[];
  readonly cacheDir?: string;
  readonly output: TextFormat;
}

interface AttachOptions extends TargetOptions, CapabilityOptions {
  readonly containerId?: string;
  readonly ifname?: string;
  readonly args?: string;
}

function repeated(flags: string, help: string): Option {
  const [what = "", ...defaults] = help.split(/(?= \(default)/);
  return new Option(flags, `${what}; may be repeated${defaults.join("")}`).argParser(collect);
}

function addTarget(command: Command): Command {
  return command
    .optionsGroup("Where things are:")
    .option("--conf-dir <folder>", "networks by name (default: NETCONFPATH, or /etc/cni/net.d)")
    .addOption(
      repeated("--plugin-dir <folder>", "plugins (default: CNI_PATH, or ours and those of /opt/cni/bin)"),
    )
    .option("--cache-dir <folder>", "what is attached (default: ~/.local/state/mullion/cni)")
    .optionsGroup("Options:")
    .addOption(outputOption());
}

function cniTarget(list: string, { confDir, pluginDir = [], cacheDir, output }: TargetOptions): CniTarget {
  return { list, confFolder: confDir, pluginFolders: pluginDir, cacheFolder: cacheDir, output };
}

function listArgument(): Argument {
  return new Argument("<conflist>", 'a .conflist (or .conf) file, "-", or the name of a network');
}

function addAttachmentOptions(command: Command): Command {
  return command
    .option("-i, --ifname <name>", "the interface in the container (default: CNI_IFNAME, or eth0)")
    .option("--container-id <id>", "the container (default: made of NETNS, as cnitool makes it)")
    .option("--args <pairs>", "K=V;K2=V2 (default: CNI_ARGS)")
    .optionsGroup("What plugins get that declare the capability:")
    .addOption(repeated("--port-mapping <mapping>", "[HOSTIP:]HOSTPORT:CONTAINERPORT[/PROTOCOL]"))
    .option("--bandwidth <rates>", "ingressRate=BITS,ingressBurst=BITS,egressRate=BITS,egressBurst=BITS")
    .addOption(repeated("--ip-range <range>", "SUBNET[,rangeStart=IP][,rangeEnd=IP][,gateway=IP]"))
    .addOption(repeated("--ip <address>", "the address to have"))
    .option("--mac <address>", "the MAC address to have")
    .addOption(repeated("--dns-server <address>", "a name server"))
    .addOption(repeated("--dns-search <domain>", "a domain to search"))
    .addOption(repeated("--dns-option <option>", "an option of the resolver"))
    .addOption(repeated("--alias <name>", "another name of the container"))
    .option("--capability-args <json>", "any of them by name, as CAP_ARGS has them");
}

const SUMMARIES: Readonly<Record<AttachmentCommand, string>> = {
  ADD: "attach a namespace to a network, and print the result",
  DEL: "detach it",
  CHECK: "compare what is there with what ADD has made",
};

function addAttach(
  cni: Command,
  command: AttachmentCommand,
  lines: readonly string[],
  run: Run,
  attach: CniVerbs["attach"],
  terminal: Terminal,
): void {
  const name = command.toLowerCase();
  const isNetnsNeeded = command === "ADD";
  const verb = cni
    .command(name)
    .summary(SUMMARIES[command])
    .description(`${command} of a list of plugins: ${SUMMARIES[command]}.`)
    .addArgument(listArgument())
    .addArgument(
      new Argument(
        isNetnsNeeded ? "<netns>" : "[netns]",
        "GUID of an HNS namespace, a path, none, container:ID",
      ),
    );
  addAttachmentOptions(addTarget(verb))
    .addHelpText("after", examples(...lines))
    .action((list: string, netns: string | undefined, options: AttachOptions) =>
      run(() => {
        const { containerId, ifname, args } = options;
        const capabilityArgs = readCapabilityOptions(options);
        const target = cniTarget(list, options);
        return attach(
          { target, command, netns, containerId, ifName: ifname, args, capabilityArgs },
          terminal,
        );
      }),
    );
}

function readKept(text: string): KeptAttachment {
  const [containerId = "", ifName, ...more] = text.split("/");
  if (containerId === "" || ifName === "" || more.length > 0)
    throw usage(`--keep cannot be ${JSON.stringify(text)}`, "Write CONTAINER or CONTAINER/INTERFACE.");
  return { containerId, ifName };
}

interface GcOptions extends TargetOptions {
  readonly keep?: readonly string[];
  readonly keepNone?: boolean;
}

function addGc(cni: Command, run: Run, gc: CniVerbs["gc"], terminal: Terminal): void {
  const command = cni
    .command("gc")
    .summary("detach what no longer exists, and let the plugins clean up")
    .description(WORDS.cniGcDescription)
    .addArgument(listArgument());
  addTarget(command)
    .addOption(repeated("--keep <container>", "CONTAINER[/INTERFACE] that lives"))
    .option("--keep-none", "none lives: the plugins free whatever they have on this network")
    .addHelpText(
      "after",
      examples("mullion cni gc cbr0", "mullion cni gc 10-cbr0.conflist --keep web --keep db/eth0"),
    )
    .action((list: string, options: GcOptions) =>
      run(() => {
        if (options.keep !== undefined && options.keepNone === true)
          throw usage("--keep and --keep-none contradict each other", "Leave one of them out.");
        const keep = options.keepNone === true ? [] : options.keep?.map(readKept);
        return gc({ target: cniTarget(list, options), keep }, terminal);
      }),
    );
}

function addSimple(
  cni: Command,
  name: "status" | "version",
  description: string,
  run: Run,
  verb: CniVerbs["status"],
  terminal: Terminal,
): void {
  const summary =
    name === "status" ? "ask whether ADD would work" : "ask the plugins of a list which versions they speak";
  const command = cni.command(name).summary(summary).description(description).addArgument(listArgument());
  addTarget(command)
    .addHelpText(
      "after",
      examples(`mullion cni ${name} cbr0`, `mullion cni ${name} 10-cbr0.conflist -o json`),
    )
    .action((list: string, options: TargetOptions) => run(() => verb(cniTarget(list, options), terminal)));
}

const ABOUT = WORDS.cniDescription;

const EXIT_CODES = `\n${WORDS.cniExitCodes}\n`;

export function addCni(program: Command, run: Run, verbs: Partial<CniVerbs>, terminal: Terminal): void {
  const cni = program
    .command("cni")
    .summary("run CNI plugins as a container runtime does")
    .description(ABOUT)
    .addHelpText(
      "after",
      examples("mullion cni add cbr0 none --container-id web", "mullion cni gc cbr0") + EXIT_CODES,
    );
  if (verbs.attach !== undefined) {
    const add = [
      "mullion cni add 10-cbr0.conflist 7cb720c0-ac4c-4266-92e1-dc277b2a9b94",
      "mullion cni add cbr0 /var/run/netns/web --container-id web --port-mapping 8080:80",
    ];
    addAttach(cni, "ADD", add, run, verbs.attach, terminal);
    const del = ["mullion cni del cbr0 /var/run/netns/web", "mullion cni del cbr0 --container-id web"];
    addAttach(cni, "DEL", del, run, verbs.attach, terminal);
    addAttach(cni, "CHECK", ["mullion cni check cbr0 --container-id web"], run, verbs.attach, terminal);
  }
  if (verbs.gc !== undefined) addGc(cni, run, verbs.gc, terminal);
  if (verbs.status !== undefined)
    addSimple(cni, "status", WORDS.cniStatusDescription, run, verbs.status, terminal);
  if (verbs.version !== undefined)
    addSimple(cni, "version", "VERSION of each plugin of a list.", run, verbs.version, terminal);
}
