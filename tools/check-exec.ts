/**
 * Holds what `mullion exec` prints against what Windows printed: the form of each line of a real text (labels with their dots,
 * titles of tables, sentences, the width of columns), not its values. Forms are taken from our own outputs on a small cluster.
 */
import { openSession } from "#cluster/session/open-session.ts";
import { type Cluster, forkCluster } from "#cluster/cluster.ts";
import { COMMANDS, execute } from "#cluster/exec/exec.ts";
import { readInput } from "#cluster/input/read-input.ts";
import { RequestError } from "#cluster/request-error.ts";
import { assert } from "#core/base/assert.ts";
import { addToList } from "#core/base/keyed-lists.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: forms }
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.0.0.11 }
  - { name: linux-1, os: linux, address: 10.0.0.21 }
---
apiVersion: v1
kind: Pod
metadata: { name: web-1, namespace: default, labels: { app: web-1 } }
spec:
  nodeSelector: { kubernetes.io/os: windows }
  containers: [{ name: c, image: example.invalid/c, ports: [{ containerPort: 80 }] }]
---
apiVersion: v1
kind: Service
metadata: { name: short-1, namespace: default }
spec: { type: ExternalName, externalName: kubernetes.default.svc.cluster.local }
---
apiVersion: v1
kind: Service
metadata: { name: web-1, namespace: default }
spec: { clusterIP: 10.96.0.20, selector: { app: web-1 }, ports: [{ name: http, port: 80 }] }
`;

/** Docker's NAT network has objects of HNS with fields that bridges do not have. */
const DOCKER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: docker }
network: { plugin: docker, driver: NAT }
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.0.0.11 }
pods:
  - { name: web-1, node: win-1 }
`;
const OF_HNS: readonly string[] = ["Get-HnsNetwork", "Get-HnsEndpoint"];

/** What shows each program's forms, on the pod and on its node. */
const SHOWN: readonly string[] = [
  "ipconfig",
  "ipconfig /all",
  "ipconfig /displaydns",
  "ipconfig /flushdns",
  "route print",
  "route add 10.9.0.0 mask 255.255.0.0 10.0.0.1",
  "arp -a",
  "netstat -an",
  "netstat -ano",
  "ping 10.0.0.21",
  "ping -n 1 10.0.0.99",
  "ping kubernetes",
  "ping gone-1.",
  "tracert -d 10.0.0.21",
  "nslookup kubernetes.default.svc.cluster.local",
  "nslookup short-1.default.svc.cluster.local",
  "nslookup gone-1.",
  "nslookup gone-1. 10.96.0.99",
  "nslookup 10.96.0.1",
  "nslookup -type=SRV _https._tcp.kubernetes.default.svc.cluster.local",
  "nslookup -type=SOA cluster.local",
  "nslookup -type=NS cluster.local",
  "nslookup -type=MX web-1.default.svc.cluster.local",
  "netsh interface ipv4 show interfaces",
  "netsh interface ipv4 show addresses",
  "netsh interface ipv4 show dnsservers",
  "netsh interface ipv4 show route",
  "netsh interface ipv4 show excludedportrange tcp",
  "netsh interface ipv4 show excludedportrange udp",
  "hnsdiag list networks",
  "hnsdiag list endpoints",
  "hnsdiag list all",
  "Get-NetAdapter",
  "Get-NetAdapter | fl",
  "Get-NetRoute",
  "Get-NetIPConfiguration",
  "Get-DnsClientServerAddress",
  "Get-DnsClientGlobalSetting",
  "Get-NetCompartment",
  "Get-HnsNetwork",
  "Get-HnsEndpoint",
  "Test-NetConnection 10.0.0.21",
  "Test-NetConnection 10.96.0.99 -Port 53",
  "Test-NetConnection kubernetes -Port 443",
  "Resolve-DnsName kubernetes",
  "Resolve-DnsName short-1",
  "Resolve-DnsName gone-1.",
  "Resolve-DnsName -Type SRV _https._tcp.kubernetes.default.svc.cluster.local",
  "Resolve-DnsName -Type MX web-1.default.svc.cluster.local",
  "Resolve-DnsName -Type TXT dns-version.cluster.local",
  "Resolve-DnsName -Type NS cluster.local",
];

/** Lines that Windows has and we leave out on purpose (src/cluster/exec/README.md). */
const LEFT_OUT: readonly (readonly [string, string])[] = [
  ["Link-local IPv6 Address", "a pod without IPv6 has none"],
  ["DHCPv6 IAID", "nothing of the machine holds it"],
  ["DHCPv6 Client DUID", "nothing of the machine holds it"],
  ["Lease Obtained", "no lease has a time"],
  ["Lease Expires", "no lease has a time"],
  ["DHCP Server", "no lease has a time"],
  ["Non-authoritative answer:", "inferred: answers are authoritative (fidelity.md)"],
  ["EncapOverhead", "the view of an endpoint has it among its policies alone"],
  ["Resources", "networks have no allocators here"],
  ["Load Balancer    :", "hnsdiag lists load balancers as a table; blocks are of one thread"],
  ["Virtual IPs      :", "hnsdiag lists load balancers as a table; blocks are of one thread"],
  ["Direct IP IDs    :", "hnsdiag lists load balancers as a table; blocks are of one thread"],
];

/** A form: words, with null for a value; what a label is, is written out. */
interface Form {
  readonly indent: number;
  readonly words: readonly (string | null)[];
}

/** What is a value by its look: it has a digit, or a sign that names, paths and lists have in them. */
function isValue(word: string): boolean {
  return /\d|[:.\\/@{}()[\]"*%~]/.test(word) || /^[.-]+$/.test(word);
}

function withoutTabs(line: string): string {
  let out = "";
  for (const sign of line.trimEnd()) out += sign === "\t" ? " ".repeat(8 - (out.length % 8)) : sign;
  return out;
}

/** `   DNS Servers . . . :` or `TcpTestSucceeded :`, with its colon; undefined: the line has no label. */
function labelOf(line: string): string | undefined {
  const at = line.indexOf(" :");
  const dotted = line.indexOf(". :");
  const end = dotted >= 0 ? dotted + 1 : at;
  if (end < 0) return /^[A-Za-z][\w ]*:(?: |$)/.exec(line)?.[0]?.trimEnd();
  const label = line.slice(0, end + 2).trimEnd();
  // A sentence with a port in it is no label.
  return /^[ A-Za-z]/.test(label) && !/\d\.\d/.test(label) ? label : undefined;
}

function formOf(line: string): Form {
  const text = withoutTabs(line);
  const label = labelOf(text);
  const indent = text.length - text.trimStart().length;
  if (label !== undefined) return { indent, words: [label.trimStart(), null] };
  const words: (string | null)[] = [];
  for (const word of text.trim().split(/ +/)) {
    const next = isValue(word) ? null : word;
    if (next !== null || words.at(-1) !== null) words.push(next);
  }
  return { indent, words };
}

/** True where the words of a real line follow the form: a value stands for any words, or none behind a label. */
function follows(form: Form, text: string): boolean {
  const label = labelOf(text);
  const [first, second] = form.words;
  if (label !== undefined)
    return second === null && label.trimStart() === first && label.length === form.indent + first.length;
  const words = text.trim().split(/ +/);
  // A line of values alone has no words of its own to know it by.
  if (form.words.every((word) => word === null)) return words.every(isValue);
  const reached = (at: number, place: number): boolean => {
    if (place === form.words.length) return at === words.length;
    const wanted = form.words[place];
    if (wanted !== null) return words[at] === wanted && reached(at + 1, place + 1);
    for (let end = at + 1; end <= words.length; end++) if (reached(end, place + 1)) return true;
    return false;
  };
  const indent = text.length - text.trimStart().length;
  return (form.words[0] === null || indent === form.indent) && reached(0, 0);
}

/** The program that a command line runs, as the table of commands names it; undefined: Mullion does not have it. */
function programOf(command: string): string | undefined {
  const words = command.trim().split(/\s+/);
  const at = words.findIndex(
    (word) => !/^(?:cmd(?:\.exe)?|powershell(?:\.exe)?|[/-]c|-command)$/i.test(word),
  );
  const name = (words[at] ?? "").toLowerCase().replace(/\.exe$/, "");
  const found = COMMANDS.find(
    (each) => each.os === "windows" && (each.name === name || each.aliases?.includes(name) === true),
  );
  return found?.name;
}

export interface Forms {
  /** Of the lines that each program prints, by its name. */
  readonly byProgram: ReadonlyMap<string, readonly Form[]>;
  /** False: the program is one of ours, and does not take these arguments. */
  readonly takes: (command: string) => boolean;
}

function takes(cluster: Cluster, command: string): boolean {
  try {
    execute(forkCluster(cluster), { from: "node/win-1", command: ["powershell", command] });
    return true;
  } catch (error) {
    if (error instanceof RequestError) return false;
    throw error;
  }
}

function addForms(
  forms: Map<string, Form[]>,
  cluster: Cluster,
  { machines, commands }: { readonly machines: readonly string[]; readonly commands: readonly string[] },
): void {
  for (const from of machines) {
    for (const command of commands) {
      const program = programOf(command);
      assert(program !== undefined, `${command} is one of the commands`);
      const { stdout, stderr } = execute(forkCluster(cluster), { from, command: ["powershell", command] });
      const lines = `${stdout}\r\n${stderr}`.split(/\r\n/).filter((line) => line.trim() !== "");
      for (const line of lines) addToList(forms, program, formOf(line));
    }
  }
}

async function clusterOf(text: string): Promise<Cluster> {
  const read = readInput([{ name: "forms.yaml", text }]);
  assert("input" in read, "the cluster of the forms is in order");
  const { session } = await openSession({ file: read.input.file, objects: read.input.objects });
  await session.raise();
  return session.cluster;
}

/** Opens the clusters whose outputs are the forms. */
export async function readForms(): Promise<Forms> {
  const forms = new Map<string, Form[]>();
  const cluster = await clusterOf(CLUSTER);
  addForms(forms, cluster, { machines: ["pod/default/web-1", "node/win-1"], commands: SHOWN });
  addForms(forms, await clusterOf(DOCKER), { machines: ["node/win-1"], commands: OF_HNS });
  return { byProgram: forms, takes: (command) => takes(cluster, command) };
}

interface Section {
  readonly command: string;
  readonly lines: readonly { readonly number: number; readonly text: string }[];
}

const PROMPT = /^(?:PS )?[A-Za-z]:\\[^>]{0,200}>(.*)$|^> ?(\S.*)$|^[\w.@:~/-]{0,80}[$#] (\S.*)$/;

/** A session cut at its prompts; a text without one is the output of `named`. */
function sectionsOf(text: string, named: string): readonly Section[] {
  const sections: { command: string; lines: { number: number; text: string }[] }[] = [];
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.trimEnd();
    const prompt = PROMPT.exec(line);
    if (prompt !== null) sections.push({ command: commandIn(line, prompt), lines: [] });
    else if (line.trim() !== "") {
      if (sections.length === 0) sections.push({ command: named, lines: [] });
      sections.at(-1)?.lines.push({ number: index + 1, text: withoutTabs(line) });
    }
  }
  return sections;
}

/** Behind `kubectl exec POD [--]` stands the command. */
function commandIn(line: string, prompt: RegExpExecArray): string {
  const typed = (prompt[1] ?? prompt[2] ?? prompt[3] ?? "").trim();
  const at = line.indexOf("kubectl exec");
  if (at < 0) return typed;
  const words = line.slice(at).split(/\s+/).slice(2);
  const dashes = words.indexOf("--");
  if (dashes >= 0) return words.slice(dashes + 1).join(" ");
  return words
    .filter((word) => !word.startsWith("-"))
    .slice(1)
    .join(" ");
}

export interface ExecVerdict {
  readonly command: string;
  /** Lines whose form we print, too. */
  readonly same: number;
  /** Lines that we leave out, with the reason. */
  readonly leftOut: readonly string[];
  /** Lines of no form of ours. */
  readonly other: readonly string[];
}

/** From here on a console breaks a line, and exec does not: nothing says how wide the terminal is. */
const BROKEN_AT = 115;

function goesOn(lines: Section["lines"], index: number): boolean {
  const [before, line] = [lines[index - 1], lines[index]];
  return before !== undefined && before.text.length >= BROKEN_AT && line?.number === before.number + 1;
}

/** `nat   B5083512-…`: hnsdiag's objects, by their names. */
const OBJECT_ROW = /^\S+ +[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-/;

/**
 * Of a table behind its rule of dashes only the titles count: how wide its columns are follows from the values. A row of
 * `Interface List` has the name of an adapter.
 */
function isRow(lines: Section["lines"], index: number): boolean {
  const text = lines[index]?.text ?? "";
  if (/^ *\d+\.{3}/.test(text) || OBJECT_ROW.test(text)) return true;
  for (let at = index - 1; at >= 0; at--) {
    const [line, next] = [lines[at], lines[at + 1]];
    if (line === undefined || next === undefined || next.number !== line.number + 1) return false;
    if (/^ *--[ -]*$/.test(line.text)) return true;
  }
  return false;
}

/** @param named the command of a text without a prompt, as its source names it. */
export function checkExecText(text: string, named: string, forms: Forms): readonly ExecVerdict[] {
  return sectionsOf(text, named).flatMap(({ command, lines }) => {
    const known = forms.byProgram.get(programOf(command) ?? "");
    if (known === undefined || lines.length === 0) return [];
    if (command !== named && !forms.takes(command))
      return [{ command, same: 0, leftOut: ["Mullion does not take these arguments"], other: [] }];
    const leftOut: string[] = [];
    const other: string[] = [];
    for (const [index, { number, text: line }] of lines.entries()) {
      const omission = LEFT_OUT.find(([words]) => line.trim().startsWith(words));
      if (goesOn(lines, index)) leftOut.push(`line ${number}: goes on from the line above`);
      else if (omission !== undefined) leftOut.push(`line ${number}: ${omission[0]}: ${omission[1]}`);
      else if (!isRow(lines, index) && !known.some((form) => follows(form, line)))
        other.push(`line ${number}: ${JSON.stringify(line)}`);
    }
    return [{ command, same: lines.length - leftOut.length - other.length, leftOut, other }];
  });
}
