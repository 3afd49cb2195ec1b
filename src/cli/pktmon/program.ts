/**
 * The command line of `pktmon`, as far as it counts: `pktmon counters` with the options of Windows' tool (dataplane.md
 * §7.12). Packets themselves are written by `mullion trace --pcap`. What is Mullion's own is spelled `--mullion-…`.
 */
import { addToList } from "#core/base/keyed-lists.ts";
import { describeKnownError } from "#cluster/api/error-details.ts";
import { type ClusterTarget, connectCluster } from "../mullion/cluster/cluster-target.ts";
import type { Connect } from "../vfpctrl/program.ts";
import { SilentFailure } from "../mullion/failure.ts";
import type { Terminal } from "../mullion/terminal.ts";
import { startTool } from "../mullion/process-terminal.ts";
import type { ComponentDrops, NodePacketCounters, PacketComponent } from "#cluster/views/packet-counters.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

// What `pktmon counters` prints. `All counters are zero.` and the JSON are those of the tool: groups with `Components`,
// each with `Id`, `Name` and `Counters` of `Inbound` and `Outbound` with `Packets` and `Bytes`. Inferred: the columns of
// the text, and where the JSON has reasons of drops.

const COUNTER_TYPES = ["all", "flow", "drop"] as const;
type CounterType = (typeof COUNTER_TYPES)[number];

interface CounterChoice {
  readonly type: CounterType;
  readonly withZero: boolean;
  readonly withReasons: boolean;
}

const NAME_WIDTH = 64;
const NUMBER_WIDTH = 11;

function dropped(component: PacketComponent, direction: ComponentDrops["direction"]): number {
  return component.drops
    .filter((drops) => drops.direction === direction)
    .reduce((sum, { packets }) => sum + packets, 0);
}

function isZero(component: PacketComponent): boolean {
  const passed = (component.inbound?.packets ?? 0) + (component.outbound?.packets ?? 0);
  return passed === 0 && component.drops.length === 0;
}

function isShown(component: PacketComponent, { type, withZero }: CounterChoice): boolean {
  if (withZero) return true;
  return type === "drop" ? component.drops.length > 0 : !isZero(component);
}

function row(
  id: string,
  name: string,
  counter: string,
  inbound: readonly (string | number)[],
  outbound: readonly (string | number)[],
): string {
  const numbers = (values: readonly (string | number)[]): string =>
    values.map((value) => `${value}`.padStart(NUMBER_WIDTH)).join("");
  return `${id.padStart(3)} ${name.padEnd(NAME_WIDTH)} ${counter.padEnd(5)}${numbers(inbound)} |${numbers(outbound)}`.trimEnd();
}

function reasonLine({ direction, reason, location, code, packets }: ComponentDrops): string {
  const where = location === "" ? "" : ` , DropLocation ${location}`;
  return `      ${direction} ${packets}: DropReason ${reason}${where} (mullion explain ${code})`;
}

function componentLines(component: PacketComponent, choice: CounterChoice): readonly string[] {
  const { id, name, inbound, outbound, drops } = component;
  const lines: string[] = [];
  if (choice.type !== "drop" && (inbound !== undefined || choice.withZero)) {
    const [a, b] = [inbound ?? { packets: 0, bytes: 0 }, outbound ?? { packets: 0, bytes: 0 }];
    lines.push(row(`${id}`, name, "Flow", [a.packets, a.bytes], [b.packets, b.bytes]));
  }
  if (choice.type !== "flow" && (drops.length > 0 || choice.withZero)) {
    const counts = [dropped(component, "inbound"), dropped(component, "outbound")] as const;
    lines.push(row(`${id}`, name, "Drop", [counts[0], ""], [counts[1], ""]));
  }
  if (choice.withReasons && choice.type !== "flow") lines.push(...drops.map(reasonLine));
  return lines;
}

function byGroup(components: readonly PacketComponent[]): ReadonlyMap<string, readonly PacketComponent[]> {
  const groups = new Map<string, PacketComponent[]>();
  for (const component of components) {
    const group = groups.get(component.group) ?? [];
    groups.set(component.group, [...group, component]);
  }
  return groups;
}

/** A table per group of components; with several nodes, under the name of each. */
function formatCounters(nodes: readonly NodePacketCounters[], choice: CounterChoice): string {
  const lines: string[] = [];
  for (const { node, components } of nodes) {
    const shown = components.filter((component) => isShown(component, choice));
    if (shown.length === 0) continue;
    if (nodes.length > 1) lines.push(`Node ${node}`, "");
    for (const [group, members] of byGroup(shown)) {
      const heading = ["Packets", "Bytes"];
      lines.push(group, row("Id", "Name", "Count", heading, heading));
      for (const component of members) lines.push(...componentLines(component, choice));
      lines.push("");
    }
  }
  return lines.length === 0 ? "All counters are zero.\n" : `${lines.join("\n").trimEnd()}\n`;
}

/** As `--json` prints it. */
function countersJson(nodes: readonly NodePacketCounters[], choice: CounterChoice): readonly object[] {
  return nodes.flatMap(({ node, components }) =>
    [...byGroup(components.filter((component) => isShown(component, choice)))].map(([group, members]) => ({
      Group: group,
      Node: node,
      Components: members.map((component) => ({
        Id: component.id,
        Name: component.name,
        Type: component.type,
        Driver: component.driver,
        Counters: [
          {
            Name: "Flow",
            Inbound: { Packets: component.inbound?.packets ?? 0, Bytes: component.inbound?.bytes ?? 0 },
            Outbound: { Packets: component.outbound?.packets ?? 0, Bytes: component.outbound?.bytes ?? 0 },
          },
          {
            Name: "Drop",
            Inbound: { Packets: dropped(component, "inbound"), Bytes: 0 },
            Outbound: { Packets: dropped(component, "outbound"), Bytes: 0 },
            ...(choice.withReasons && {
              Reasons: component.drops.map(({ direction, reason, location, code, packets }) => ({
                Direction: direction,
                DropReason: reason,
                DropLocation: location,
                Code: code,
                Packets: packets,
              })),
            }),
          },
        ],
      })),
    })),
  );
}

const USAGE = `${WORDS.pktmonUsage}\n`;

class UsageError extends Error {}

interface Words {
  readonly isHelp: boolean;
  readonly type: CounterType;
  readonly withZero: boolean;
  readonly withReasons: boolean;
  readonly isJson: boolean;
  readonly node: string | undefined;
  readonly target: ClusterTarget;
}

const FLAGS: Readonly<Record<string, "zero" | "reasons" | "json" | "hidden" | "help">> = {
  "--zero": "zero",
  "-z": "zero",
  "--drop-reason": "reasons",
  "-r": "reasons",
  "--include-hidden": "hidden",
  "-i": "hidden",
  "--json": "json",
  "--help": "help",
  "-h": "help",
  "/?": "help",
};

const VALUED: Readonly<Record<string, "type" | "file" | "name" | "socket" | "node">> = {
  "--type": "type",
  "-t": "type",
  "--mullion-file": "file",
  "--mullion-name": "name",
  "--mullion-socket": "socket",
  "--mullion-node": "node",
};

function parseWords(argv: readonly string[]): Words {
  const [command, ...rest] = argv;
  const flags = new Set<string>();
  const values = new Map<string, string[]>();
  const words = command === undefined || FLAGS[command] === "help" ? ["--help"] : rest;
  if (command !== undefined && FLAGS[command] !== "help" && command !== "counters")
    throw new UsageError(
      ["start", "stop", "etl2txt", "etl2pcap"].includes(command)
        ? WORDS.pktmonCommandUnsupported({ command })
        : `there is no command ${command}`,
    );
  while (words.length > 0) {
    const word = words.shift() ?? "";
    const flag = FLAGS[word];
    const name = VALUED[word];
    if (word === "--live")
      throw new UsageError("--live needs packets that continue; a simulated cluster has none");
    if (flag !== undefined) flags.add(flag);
    else if (name === undefined) throw new UsageError(`there is no option ${word}`);
    else addToList(values, name, words.shift() ?? missing(word));
  }
  const type = values.get("type")?.at(-1) ?? "all";
  if (!isCounterType(type)) throw new UsageError(`--type is ${COUNTER_TYPES.join(", ")}, not ${type}`);
  return {
    isHelp: flags.has("help"),
    type,
    withZero: flags.has("zero"),
    withReasons: flags.has("reasons"),
    isJson: flags.has("json"),
    node: values.get("node")?.at(-1),
    target: {
      files: values.get("file") ?? [],
      isRecursive: false,
      name: values.get("name")?.at(-1),
      socket: values.get("socket")?.at(-1),
    },
  };
}

function missing(word: string): never {
  throw new UsageError(`${word} needs a value`);
}

function isCounterType(text: string): text is CounterType {
  return (COUNTER_TYPES as readonly string[]).includes(text);
}

/** Runs one command line and returns the exit code. Faults are told on standard error. */
export async function runPktmon(
  argv: readonly string[],
  terminal: Terminal,
  connect: Connect = connectCluster,
): Promise<number> {
  try {
    const words = parseWords(argv);
    if (words.isHelp) {
      terminal.stdout(USAGE);
      return 0;
    }
    const client = await connect(words.target, terminal);
    const { items } = await client.packetCounters(words.node);
    if (words.isJson) terminal.stdout(`${JSON.stringify(countersJson(items, words), undefined, 2)}\n`);
    else terminal.stdout(formatCounters(items, words));
    return 0;
  } catch (error) {
    if (error instanceof SilentFailure) return 1;
    if (error instanceof UsageError) {
      terminal.stderr(`pktmon: ${error.message}\n\n${USAGE}`);
      return 1;
    }
    const known = describeKnownError(error);
    if (known === undefined) throw error;
    terminal.stderr(`pktmon: ${known.message}\n    ${known.advice}\n`);
    return 1;
  }
}

/** The executable `pktmon`. */
export function startPktmon(): Promise<void> {
  return startTool(runPktmon);
}
