/**
 * Runs the tool over a folder of real files: `npm run check:real -- DIR`. Each file of manifests becomes a cluster of its
 * own, unmodified, with and without direct server return; what Kubernetes would say about it and what its flows do is
 * printed as one verdict. Every file is linted as well: one that its `.source.txt` calls healthy or a reference must give
 * no error, one whose fault is known and visible must give a finding. What HNS printed is restored and has to come back
 * out with every field (`check-dumps.ts`); what vfpctrl printed is read and has to come back with every line. Configurations
 * of CNI run on a node of their own (`check-cni.ts`). What commands printed on Windows is held against the forms that
 * `mullion exec` prints (`check-exec.ts`). Exit code 1 when a flow came out otherwise than documented, when lint
 * did, when a field or line was lost, when a line has a form that exec does not print, when a configuration neither ran nor was refused by name, or when anything broke.
 */
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import { type ClusterInput, readInput } from "#cluster/input/read-input.ts";
import { openSession } from "#cluster/session/open-session.ts";
import { readModel } from "#cluster/verify/model-of-cluster.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { verifyCluster } from "#cluster/verify/verify.ts";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import { decodeSource, lint } from "#diagnose/lint/mod.ts";
import { formatMarkdownTable } from "./markdown-table.ts";
import { CNI_TABLE_TITLES, checkCniFile, cniTableRows } from "./check-cni.ts";
import { checkDump } from "./check-dumps.ts";
import { type Forms, checkExecText, readForms } from "./check-exec.ts";
import { loadListing } from "#diagnose/vfp-text/load-listing.ts";
import { parseRules } from "#diagnose/vfp-text/parse-rules.ts";
import { ruleListLines } from "#dataplane/vfp/listing/print-rules.ts";

const ENDINGS: readonly string[] = [".yaml", ".yml", ".json"];

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function listFiles(folder: string): readonly string[] {
  return readdirSync(folder)
    .toSorted()
    .flatMap((name) => {
      const path = join(folder, name);
      return statSync(path).isDirectory() ? listFiles(path) : [path];
    });
}

/** Where the pods are, or why they are nowhere. */
function describePods(pods: readonly Pod[]): readonly string[] {
  const own = pods.filter(({ metadata }) => metadata.labels?.["k8s-app"] !== "kube-dns");
  return own.map(({ metadata, spec, status }) => {
    const name = `pod ${metadata.namespace}/${metadata.name}`;
    if (status?.phase === "Running")
      return `${name}: ${status.podIP ?? "no address"} on ${spec?.nodeName ?? "?"}`;
    const reason = status?.conditions?.find(({ status: state }) => state === "False")?.message ?? "";
    return `${name}: ${status?.phase ?? "Pending"}: ${reason}`;
  });
}

function describeFlows({ counts, findings, cells }: VerifyReport): readonly string[] {
  const denied = cells.filter(({ expected }) => expected === "denied");
  const codes = [...new Set(denied.map(({ code }) => code))].join(", ");
  return [
    `${counts.works} flows work, ${counts.denied} are denied as documented${codes === "" ? "" : `: ${codes}`}`,
    ...findings.map(({ cell, about, expected, observed }) => {
      if (cell === undefined) return `FINDING ${about ?? ""}: expected ${expected}, observed ${observed}`;
      const { flow, protocol, from, to } = cells[cell] ?? { flow: "", protocol: "", from: "", to: "" };
      return `FINDING ${flow} ${protocol} ${from} → ${to}: expected ${expected}, observed ${observed}`;
    }),
  ];
}

async function checkOne(input: ClusterInput, enableDSR: boolean): Promise<number> {
  const file = { ...input.file, kubeProxy: { ...input.file.kubeProxy, enableDSR } };
  const { session, report } = await openSession({ file, objects: input.objects });
  const verified = verifyCluster(session.cluster, readModel(session.cluster));
  print(`  ${enableDSR ? "with" : "without"} direct server return`);
  const lines = [...describePods(session.cluster.objects.Pod), ...describeFlows(verified)];
  for (const line of lines) print(`    ${line}`);
  for (const { message } of [...report.problems, ...report.notes]) print(`    note: ${message}`);
  return verified.counts.findings;
}

/** The verdict on one file: how many flows came out otherwise than documented. */
async function checkFile(path: string): Promise<number> {
  print(path);
  const read = readInput([{ name: path, text: readFileSync(path, "utf8") }]);
  if (!("input" in read)) {
    for (const { message, advice } of read.problems) print(`  refused: ${message}. ${advice}`);
    return 0;
  }
  const { notes, problems } = read.input;
  for (const { line, path: field, message } of problems)
    print(`  refused: line ${line}: ${field} ${message}`);
  for (const { message } of notes) print(`  note: ${message}`);
  return (await checkOne(read.input, false)) + (await checkOne(read.input, true));
}

/** What is known of a file: the lines of the `.source.txt` beside it. */
function knownOf(path: string): {
  readonly status: string;
  readonly isVisible: boolean;
  /** It is what HNS printed. */
  readonly isOfHns: boolean;
  /** It is what vfpctrl printed of layers, groups or rules. */
  readonly isOfVfp: boolean;
  /** It is a configuration of CNI. */
  readonly isOfCni: boolean;
  /** How it says what it is: `ipconfig in a pod`. */
  readonly command: string;
} {
  const source = path.replace(/\.[^.]+$/, ".source.txt");
  const text = existsSync(source) ? readFileSync(source, "utf8") : "";
  const status = /^diagnosis-status:\s*(\S+)/m.exec(text)?.[1] ?? "unknown";
  return {
    status,
    // What is visible beside another file, or once more is known, is not visible in this one.
    isVisible: /^visible-in-this-file:\s*yes(?!,? (?:against|together|once))/m.test(text),
    isOfHns: /^what:\s*(?:Get-Hns|hnsdiag)/im.test(text),
    isOfVfp: /^what:\s*vfpctrl \/(?:list-(?:layer|group|rule)|get-rule)/im.test(text),
    isOfCni: /^what:.*\bCNI con/im.test(text),
    command: /^what:(.*)$/m.exec(text)?.[1] ?? "",
  };
}

/** The verdict of lint on one file: 1 when it is not what is known of the file. */
function lintFile(path: string): number {
  const source = decodeSource(path, readFileSync(path));
  if (source === undefined) return 0;
  const { findings, counts } = lint({ sources: [source] });
  if (counts.documents === 0 && findings.length === 0) return 0;
  const { status, isVisible } = knownOf(path);
  print(`${path}: ${status}`);
  for (const { line, column, severity, code, message } of findings)
    print(`  ${line}:${column} ${severity} ${code}: ${message}`);
  const isHarmless = status === "healthy" || status === "reference";
  if (isHarmless && counts.error > 0) print("  LINT an error in a file that is in order");
  if (status === "known" && isVisible && findings.length === 0)
    print("  LINT says nothing, and the fault is visible");
  return (isHarmless && counts.error > 0) || (status === "known" && isVisible && findings.length === 0)
    ? 1
    : 0;
}

/** The findings of one file of HNS; 0 for any other. */
async function checkHnsFile(path: string): Promise<number> {
  if (!knownOf(path).isOfHns) return 0;
  const source = decodeSource(path, readFileSync(path));
  if (source === undefined) return 1;
  const { lines, findings } = await checkDump(path, source);
  print(path);
  for (const line of lines) print(`  ${line}`);
  return findings;
}

/** What stands in a line, whatever it is indented by. */
function bare(lines: readonly string[]): readonly string[] {
  return lines.map((line) => line.trim()).filter((line) => line !== "");
}

/** The findings of one text of vfpctrl: lines that were not read, and lines that do not come out again. */
function checkVfpFile(path: string): number {
  if (!knownOf(path).isOfVfp) return 0;
  const source = decodeSource(path, readFileSync(path));
  if (source === undefined) return 1;
  const { ports, problems, otherLines } = parseRules(source.text);
  print(path);
  for (const { line, message } of problems) print(`  line ${line}: ${message}`);
  if (otherLines > 0) print(`  ${otherLines} lines belong to no layer, group or rule`);
  const layers = ports.flatMap((port) => port.layers);
  const printed = bare(ruleListLines(layers, { withLayers: true }));
  const lost = bare(source.text.split(/\r?\n/)).filter((line) => !printed.includes(line));
  for (const line of lost) print(`  LOST ${JSON.stringify(line)}`);
  for (const { rule, effect, message } of loadListing(layers, path).notes)
    print(`  note: ${rule} ${effect}: ${message}`);
  const rules = layers.flatMap((layer) => layer.groups.flatMap((group) => group.rules));
  print(`  ${layers.length} layers, ${rules.length} rules`);
  return problems.length + lost.length;
}

/** The findings of one text of commands: lines of a form that `mullion exec` does not print. */
function checkExecFile(path: string, forms: Forms): number {
  const source = decodeSource(path, readFileSync(path));
  if (source === undefined) return 0;
  const verdicts = checkExecText(source.text, knownOf(path).command, forms);
  if (verdicts.length === 0) return 0;
  print(path);
  for (const { command, same, leftOut, other } of verdicts) {
    print(`  ${command}: ${same} lines of our forms`);
    for (const line of leftOut) print(`    left out, ${line}`);
    for (const line of other) print(`    OTHER ${line}`);
  }
  return verdicts.reduce((count, { other }) => count + other.length, 0);
}

/** Longer texts stand below the table. */
const CELL_MAX = 40;

/** The findings of the configurations of CNI, and their table. */
async function checkCniFiles(paths: readonly string[]): Promise<number> {
  const table: (readonly string[])[] = [CNI_TABLE_TITLES];
  const findings: string[] = [];
  const notes: string[] = [];
  const noteOf = (text: string): number =>
    notes.includes(text) ? notes.indexOf(text) + 1 : notes.push(text);
  const brief = (cell: string): string => (cell.length <= CELL_MAX ? cell : `see ${noteOf(cell)}`);
  for (const path of paths) {
    const { status, isVisible, isOfCni } = knownOf(path);
    const source = isOfCni ? decodeSource(path, readFileSync(path)) : undefined;
    if (source === undefined) continue;
    for (const verdict of await checkCniFile(source, status === "known" && isVisible)) {
      table.push(...cniTableRows(verdict).map(([file = "", ...cells]) => [file, ...cells.map(brief)]));
      findings.push(...verdict.findings.map((text) => `FINDING ${path}: ${text}`));
    }
  }
  if (table.length > 1) print(formatMarkdownTable(table));
  for (const [index, text] of notes.entries()) print(`${index + 1}: ${text}`);
  for (const text of findings) print(text);
  return findings.length;
}

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  process.stderr.write("Say which folder: npm run check:real -- DIR\n");
  process.exit(2);
}
const files = listFiles(folder);
const manifests = files.filter((path) => ENDINGS.includes(extname(path)));
let findings = 0;
for (const path of manifests) findings += await checkFile(path);
print("lint");
const others = files.filter((path) => !path.endsWith(".source.txt"));
for (const path of others) findings += lintFile(path);
print("dumps of HNS");
for (const path of others) findings += await checkHnsFile(path);
print("texts of vfpctrl");
for (const path of others) findings += checkVfpFile(path);
print("outputs of commands");
const forms = await readForms();
for (const path of others) findings += checkExecFile(path, forms);
print("configurations of CNI");
findings += await checkCniFiles(others);
print(
  `${manifests.length} files, ${findings} findings; ${files.length - manifests.length} other files passed by`,
);
process.exitCode = findings === 0 ? 0 : 1;
