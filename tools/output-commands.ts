/**
 * The commands whose outputs are kept: every verb over every example, as text and as JSON, and for nodes of both modes;
 * what the pages and examples tell to try; every help; and mistakes that people make.
 */
import { runCommand, VERBS } from "./run-command.ts";
import { createProgram } from "#cli/mullion/program.ts";
import { BRING_UP_FAULTS, RUNTIMES, SCRIPT_EDITS, SCRIPT_SETS } from "#cluster/bring-up/options.ts";
import { HNS_KIND_NAMES, KUBE_KIND_NAMES } from "#cli/mullion/get/kinds.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";

/** A program and its words. */
export type Command = readonly string[];
/** Texts by path. */
export type Files = Readonly<Record<string, string>>;

/** The ending of a cluster file whose Windows nodes have the other mode. */
const HARDENED = ".better.yaml";

/** The same cluster file with `compat: hardened` on each Windows node. */
function withBetter(text: string): string {
  return text
    .replaceAll(/^( +)os: windows$/gm, "$1os: windows\n$1compat: hardened")
    .replaceAll(/\bos: windows,/g, "os: windows, compat: hardened,");
}

function isCluster(text: string): boolean {
  return /^apiVersion: mullion\//m.test(text);
}

/** Examples of one fault each: their own tests hold what they show, so here they are asked what their pages ask. */
const ONE_FAULT = /^examples\/(?:trouble-[^/]+|network-policy)\//;

/** The files, and beside each cluster file the one of the other mode. */
export function withTempers(files: Files): Files {
  const hardened = Object.entries(files)
    .filter(([path, text]) => isCluster(text) && !ONE_FAULT.test(path))
    .map(([path, text]) => [path.replace(/\.yaml$/, HARDENED), withBetter(text)] as const);
  return { ...files, ...Object.fromEntries(hardened) };
}

function words(line: string): Command {
  return (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ""));
}

/** What a session has, as `get` lists it. */
interface Inhabitants {
  readonly pods: readonly string[];
  readonly services: readonly string[];
  readonly ports: readonly string[];
}

async function names(command: Command, files: Files): Promise<readonly string[]> {
  const { terminal } = await runCommand(command, files);
  return terminal.output.split("\n").filter((line) => line !== "");
}

async function lookInto(file: string, files: Files): Promise<Inhabitants> {
  const list = async (kind: string): Promise<readonly string[]> => {
    const { terminal } = await runCommand(["mullion", "get", kind, "-A", "-o", "json", "-f", file], files);
    const { items = [] } = JSON.parse(terminal.output === "" ? "{}" : terminal.output) as {
      readonly items?: readonly {
        readonly metadata: { readonly name: string; readonly namespace: string };
      }[];
    };
    return items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  };
  const ports = await names(["mullion", "vfp", "ports", "-o", "name", "-f", file], files);
  return {
    pods: (await list("pods")).map((name) => `pod/${name}`),
    services: (await list("services")).map((name) => `service/${name}`),
    ports: ports.map((name) => name.replace(/^port\//, "")),
  };
}

/** Of the other mode fewer: most of what it does is the same. */
const PODS_MAX = { upstream: 4, hardened: 2 };
const SERVICES_MAX = 6;
const PORTS_MAX = 10;

function tracesOf(file: string, { pods, services }: Inhabitants): readonly Command[] {
  const some = pods.slice(0, file.endsWith(HARDENED) ? PODS_MAX.hardened : PODS_MAX.upstream);
  const pairs = some.flatMap((from) => some.filter((to) => to !== from).map((to) => [from, to] as const));
  const trace = (from: string, to: string, ...rest: readonly string[]): Command => [
    "mullion",
    "trace",
    "-f",
    file,
    from,
    to,
    ...rest,
  ];
  const first = some.slice(0, 1);
  return [
    ...pairs.map(([from, to]) => trace(from, to)),
    ...pairs.slice(0, 3).map(([from, to]) => trace(from, to, "-o", "json")),
    ...pairs
      .slice(0, 1)
      .flatMap(([from, to]) => [
        trace(from, to, "--protocol", "udp", "--port", "53"),
        trace(from, to, "--protocol", "icmp"),
        trace(from, to, "--pcap", "out/walk.pcapng"),
      ]),
    ...some.flatMap((from) => [
      trace(from, "external", "--port", "443"),
      trace(from, "external", "--protocol", "icmp"),
      trace("external", from, "--port", "80"),
    ]),
    ...first.flatMap((from) => [
      ...services.slice(0, SERVICES_MAX).map((to) => trace(from, to)),
      trace("node/win-1", from),
      trace(from, "node/win-1", "--port", "10250", "-o", "json"),
    ]),
  ];
}

const ALL_KINDS = [...KUBE_KIND_NAMES.map((name) => name.split(" ")[0] ?? name), ...HNS_KIND_NAMES].join(",");

function fewCommandsOf(file: string): readonly Command[] {
  return [
    words(`mullion verify -f ${file}`),
    words(`mullion verify -o json -f ${file}`),
    words(`mullion get ${ALL_KINDS} -A -o wide -f ${file}`),
  ];
}

/** What is asked of every cluster. */
async function commandsOf(file: string, files: Files): Promise<readonly Command[]> {
  if (ONE_FAULT.test(file)) return fewCommandsOf(file);
  const inhabitants = await lookInto(file, files);
  const f = ["-f", file];
  const [get, vfp] = [
    ["mullion", "get"],
    ["mullion", "vfp"],
  ] as const;
  return [
    ["mullion", "verify", ...f],
    ["mullion", "verify", "-o", "json", ...f],
    ...["table", "wide", "json"].map((format) => [...get, ALL_KINDS, "-A", "-o", format, ...f]),
    ...["wide", "json"].map((format) => [...vfp, "ports", "-o", format, ...f]),
    ...inhabitants.ports.slice(0, PORTS_MAX).map((port) => [...vfp, "show", port, ...f]),
    ...inhabitants.ports.slice(0, 2).map((port) => [...vfp, "show", port, "-o", "json", ...f]),
    [...vfp, "diff", ...inhabitants.ports.slice(0, 2), ...f],
    ...tracesOf(file, inhabitants),
    ...["-t all", "-t flow --json", "-t drop -r -z"].map((way) => [
      "pktmon",
      "counters",
      "--mullion-file",
      file,
      ...words(way),
    ]),
    ["vfpctrl", "--mullion-file", file, "/list-vmswitch-port"],
  ];
}

/** What only clusters of the first mode are asked: their text does not depend on it. */
function plainCommandsOf(file: string): readonly Command[] {
  return [
    ["mullion", "lint", file],
    ["mullion", "lint", file, "--format", "json"],
    ["mullion", "verify", "-f", file, "-o", "junit"],
    ["mullion", "bring-up", "-f", file],
  ];
}

const VFPCTRL: readonly string[] = [
  ..."list-layer list-group list-rule get-rule-info get-rule-counter get-layer-counter get-port-counter".split(
    " ",
  ),
  ..."get-port-state get-address-info get-port-parser-settings get-port-flow-stats get-flow-stats".split(" "),
  ..."list-nat-pool list-nat-range list-space list-mapping list-unified-flow".split(" "),
];

/** The verbs and tools in all their ways, on a few clusters. */
function thorough(files: Files): readonly Command[] {
  const clusters = ["two-windows-nodes", "mixed-services", "driver-overlay", "flannel-vxlan"]
    .map((name) => `examples/${name}/cluster.yaml`)
    .filter((path) => path in files);
  return clusters.flatMap((file) => [
    ...[...KUBE_KIND_NAMES.map((name) => name.split(" ")[0] ?? name), ...HNS_KIND_NAMES].map((kind) =>
      words(`mullion get ${kind} -A -f ${file}`),
    ),
    ...["yaml", "name"].map((format) => words(`mullion get ${ALL_KINDS} -A -o ${format} -f ${file}`)),
    ...["table", "yaml", "name"].map((format) => words(`mullion vfp ports -o ${format} -f ${file}`)),
    ...VFPCTRL.flatMap((verb) => [
      words(`vfpctrl --mullion-file ${file} --mullion-node win-1 /port host /${verb}`),
      words(`vfpctrl --mullion-file ${file} --mullion-node win-1 /port host /${verb} /format 1`),
    ]),
    words(`vfpctrl --mullion-file ${file} /get-switch-forwarding-settings`),
    words(`vfpctrl --mullion-file ${file} /list-vmswitch-port /format 1`),
    words(`mullion demo -f ${file}`),
    words(`mullion demo --full -f ${file}`),
  ]);
}

const BRING_UP = "examples/flannel-bring-up/cluster.yaml";

function bringUps(): readonly Command[] {
  const begin = `mullion bring-up -f ${BRING_UP}`;
  const ways = [
    ...SCRIPT_SETS.map((name) => `--scripts ${name}`),
    ...RUNTIMES.map((name) => `--scripts KubeCluster.ps1 --runtime ${name}`),
    ...BRING_UP_FAULTS.map((name) => `--fault ${name}`),
    ...SCRIPT_EDITS.map((name) => `--edit ${name}`),
    "--runs 2",
    "--flanneld 0.28.9",
    "--joined-before 10.244.7.0/24",
    "--env HTTPS_PROXY=http://proxy:3128",
  ];
  return ways.flatMap((way) =>
    ["table", "wide", "json"].map((format) => words(`${begin} ${way} -o ${format}`)),
  );
}

function nodeFiles(files: Files): readonly Command[] {
  const dumps = Object.keys(files).filter((path) => path.endsWith("hnsdiag.txt"));
  const rules = Object.keys(files).filter((path) => /\bnode-rules\/.*\.txt$/.test(path));
  return [
    ...dumps.flatMap((file) => [
      ...["networks", "endpoints", "namespaces", "loadbalancers", "all"].flatMap((kind) => [
        words(`hnsdiag list ${kind} --mullion-file ${file}`),
        words(`hnsdiag list ${kind} -d --mullion-file ${file}`),
      ]),
      ...["table", "wide", "json", "yaml", "name"].flatMap((format) => [
        words(`mullion hns get all -f ${file} -o ${format}`),
        words(`mullion hns get all -f ${file} -o ${format} --v1`),
      ]),
      words(`mullion hns dump -f ${file}`),
      words(`mullion lint ${file}`),
    ]),
    ...rules.flatMap((file) => [
      words(`mullion vfp show ${file}`),
      words(`mullion vfp show ${file} -o json`),
      ...rules.flatMap((other) => [
        words(`mullion vfp diff ${file} ${other}`),
        words(`mullion vfp diff ${file} ${other} -o json`),
      ]),
    ]),
  ];
}

function lints(): readonly Command[] {
  return [
    ...["text", "json", "sarif", "junit"].map((format) => words(`mullion lint examples --format ${format}`)),
    ...["ws2019", "ws2022", "ws2025"].map((build) => words(`mullion lint examples --profile ${build}`)),
    words("mullion lint examples --kubernetes 1.28 --windows --severity warning"),
    words("mullion lint --list"),
    words("mullion lint --list --format json"),
  ];
}

async function explanations(files: Files): Promise<readonly Command[]> {
  const list = words("mullion explain --list -o json");
  const { terminal } = await runCommand(list, files);
  const { codes } = JSON.parse(terminal.output) as { readonly codes: readonly { readonly code: string }[] };
  const queries = ["0x803b0013", "803b0013", "10013", "HNS failed", "source vip", "no such thing at all"];
  return [
    list,
    words("mullion explain --list"),
    words("mullion explain --list --group kube-proxy source vip"),
    ...codes.flatMap(({ code }) => [
      words(`mullion explain ${code}`),
      words(`mullion explain ${code} -o json`),
    ]),
    ...queries.flatMap((query) => [
      ["mullion", "explain", query],
      ["mullion", "explain", query, "-o", "json"],
    ]),
  ];
}

/** `--help` of each verb and of the verbs below it. */
function helps(): readonly Command[] {
  const program = createProgram(VERBS, new MemoryTerminal(), "0", async () => undefined);
  const paths: Command[] = [["mullion"]];
  const found: Command[] = [];
  for (let path = paths.shift(); path !== undefined; path = paths.shift()) {
    found.push([...path, "--help"]);
    const command = path.slice(1).reduce((parent, name) => {
      return parent.commands.find((child) => child.name() === name) ?? parent;
    }, program);
    for (const child of command.commands) paths.push([...path, child.name()]);
  }
  return [...found, ...["hnsdiag --help", "vfpctrl", "vfpctrl /?", "pktmon", "pktmon --help"].map(words)];
}

const TWO = "examples/two-windows-nodes/cluster.yaml";

/** Lines of mistakes; files named here hold what is wrong, or are not there. */
const MISTAKES: readonly string[] = [
  "mullion",
  "mullion tarce pod/a pod/b",
  "mullion hns gett networks",
  "mullion --nothing",
  "mullion trace",
  `mullion trace -f ${TWO} pod/client`,
  `mullion trace -f ${TWO} pod/clint pod/web`,
  `mullion trace -f ${TWO} pod/client pod/web --port 0`,
  `mullion trace -f ${TWO} pod/client pod/web --protocol icmp --port 80`,
  `mullion trace -f ${TWO} pod/client pod/web --pcap-on win-1`,
  `mullion trace -f ${TWO} pod/client pod/web --inject`,
  `mullion trace -f ${TWO} pod/client pod/web -o yaml`,
  `mullion get pod -f ${TWO} -o xml`,
  `mullion get podz -f ${TWO}`,
  `mullion get pod nothing -f ${TWO}`,
  `mullion get pods -f ${TWO} --name other`,
  "mullion get pods -R",
  `mullion vfp show nothing -f ${TWO}`,
  "mullion explain no-such-code",
  "mullion explain",
  "mullion lint",
  "mullion lint --profile ws2013 examples",
  "mullion lint --kubernetes new examples",
  "mullion lint nowhere.yaml",
  "mullion bring-up -f examples/two-windows-nodes/cluster.yaml",
  "mullion bring-up -f examples/flannel-bring-up/cluster.yaml --fault nothing",
  "hnsdiag list networkz",
  "hnsdiag list all --mullion-file nowhere.txt",
  "hnsdiag nothing",
  "vfpctrl /nothing",
  `vfpctrl --mullion-file ${TWO} /port nothing /list-rule`,
  "pktmon nothing",
  ...["nowhere.yaml", "empty.yaml", "broken.yaml", "wrong.yaml"].flatMap((file) => [
    `mullion verify -f ${file}`,
    `mullion get pods -f ${file}`,
    `mullion vfp ports -f ${file}`,
    `mullion lint ${file}`,
    `pktmon counters --mullion-file ${file}`,
  ]),
];

/** Files with faults, for the mistakes. */
export const FAULTY_FILES: Files = {
  "empty.yaml": "",
  "broken.yaml": "apiVersion: [\nkind: }\n",
  "wrong.yaml": [
    "apiVersion: mullion/v1alpha1",
    "kind: Cluster",
    "nodes: [{name: a, os: windoes, address: 10.0.0.300}]",
    "netwrok: {}",
    "",
  ].join("\n"),
};

/** Verbs that work in memory, when a cluster file or words are given. */
const IN_MEMORY =
  /^mullion (?:trace|get|verify|vfp|bring-up) .*-f examples\/|^mullion (?:lint|explain) \w|^(?:hnsdiag|vfpctrl|pktmon) .*--mullion-file examples/;

/** Commands that pages and examples show. */
function shownCommands(texts: readonly string[]): readonly Command[] {
  const lines = texts.flatMap((text) => text.match(/\b(?:mullion|hnsdiag|vfpctrl|pktmon) [^\n`]*/g) ?? []);
  return lines
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => IN_MEMORY.test(line) && !/[…<>|;]|-->|\.\.\.|--log/.test(line))
    .map(words);
}

/** A command as it is written in a shell. */
export function spell(command: Command): string {
  return command.map((word) => (/^[\w./:=,@-]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
}

/** All commands, each once, in the order of their spelling. */
export async function listCommands(files: Files, texts: readonly string[]): Promise<readonly Command[]> {
  const all = withTempers(files);
  const clusters = Object.keys(all).filter((path) => isCluster(all[path] ?? ""));
  const commands: Command[] = [];
  for (const file of clusters) {
    commands.push(...(await commandsOf(file, all)));
    if (!file.endsWith(HARDENED)) commands.push(...plainCommandsOf(file));
  }
  commands.push(...thorough(files), ...bringUps(), ...nodeFiles(files), ...lints());
  commands.push(...(await explanations(files)), ...helps(), ...MISTAKES.map(words), ...shownCommands(texts));
  const bySpelling = new Map(commands.map((command) => [spell(command), command]));
  return [...bySpelling].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, command]) => command);
}

/** The files that a command sees: only one that names a file of the other mode sees these. */
export function filesFor(command: Command, files: Files): Files {
  const base = command.some((word) => word.endsWith(HARDENED)) ? withTempers(files) : files;
  return { ...base, ...FAULTY_FILES };
}
