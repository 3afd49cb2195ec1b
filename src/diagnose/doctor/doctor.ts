/** The engine: evidence to findings, with what was checked, what could not be, and what packets on a twin prove. */
import { DOCUMENT_VERSION, type JsonSchema, type ValueOf, documentSchema } from "#core/base/shape.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { getEntry } from "../catalogue/catalogue.ts";
import { patternOf, textAsSaid } from "../catalogue/errors/holes.ts";
import type { ErrorOrigin } from "../catalogue/errors/known-error.ts";
import type { LogFinding } from "../catalogue/log/findings.ts";
import { squeeze } from "../catalogue/log/squeeze.ts";
import { loaderOf } from "#control-plane/load/known-manifests.ts";
import { lint } from "../lint/lint.ts";
import {
  type CheckFinding,
  NODE_FINDING,
  type NodeCheck,
  type NodeFinding,
  type Proof,
  type RuledOut,
  shows,
} from "./check.ts";
import { type Staged, causesFirst, stageOfLog } from "./causes-first.ts";
import { NODE_CHECKS } from "./checks/all-checks.ts";
import { NodeBooks } from "./competing/node-books.ts";
import { CausesOfNode, subjectOf } from "./competing/ruled-out.ts";
import {
  type Evidence,
  type KindOfEvidence,
  type NodeEvidence,
  OF_CLUSTER,
  OF_HNS,
  countOf,
  isPartial,
} from "./evidence.ts";
import { type TimesApart, daysBefore, timesApart } from "./file-times.ts";
import { HOST_READERS, KINDS_OF_HOST_FACTS, type KindOfHostFact } from "./host-facts.ts";
import { type FileReading, type ReadEvidence, type ScannedLog, readEvidence } from "./read-evidence.ts";
import { redact } from "./redact.ts";
import { Twin } from "./twin.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

export const DOCTOR_REPORT = {
  text: (): string => WORDS.report,
  document: "DoctorReport",
  fields: {
    nodes: { list: "words", text: "Whose files were read." },
    findings: { list: (): typeof NODE_FINDING => NODE_FINDING, text: "The surest first." },
    checksMade: { is: "count", text: (): string => WORDS.reportChecks },
    checksNotMade: {
      list: {
        text: (): string => WORDS.reportNotMade,
        fields: {
          node: "words",
          check: "words",
          asks: { is: "words", text: "What it looks for." },
          missing: { list: "words", min: 1, text: "Kinds of evidence." },
          collect: { list: "words", text: "Commands that bring them." },
        },
      },
    },
    files: {
      list: { text: "A file, and what it holds.", fields: { file: "words", holds: { list: "words" } } },
    },
    notRead: {
      list: {
        text: "A file, or a part of one, that was not read.",
        fields: { file: "words", line: { is: "position", text: "From 1." }, reason: "words" },
      },
    },
  },
} as const;
export type DoctorReport = ValueOf<typeof DOCTOR_REPORT>;

/** Without a single check nobody knows that nothing is wrong. */
export function isChecked({ checksMade, findings }: DoctorReport): boolean {
  return checksMade > 0 || findings.length > 0;
}

/** Of `mullion doctor -o json`. */
export function doctorSchema(): JsonSchema {
  return documentSchema("Mullion doctor report", DOCTOR_REPORT, "draft-07");
}

function collectHostFacts(): Readonly<Record<KindOfHostFact, string>> {
  return Object.fromEntries(
    KINDS_OF_HOST_FACTS.map((kind) => [kind, HOST_READERS[kind].collect]),
  ) as Readonly<Record<KindOfHostFact, string>>;
}

/** Which command shows a kind of evidence. */
export const COLLECT: Readonly<Record<KindOfEvidence, string>> = {
  nodes: WORDS.collectNodes,
  pods: WORDS.collectNodes,
  services: WORDS.collectNodes,
  "endpoint slices": WORDS.collectNodes,
  networks: WORDS.collectHns,
  endpoints: WORDS.collectHns,
  namespaces: WORDS.collectHns,
  "load balancers": WORDS.collectHns,
  rules: WORDS.collectRules,
  links: "ip -d link",
  "listed nodes": "kubectl get nodes -o wide",
  "listed pods": "kubectl get pods -A -o wide",
  "cni configuration": WORDS.collectCni,
  "kube-proxy configuration": WORDS.collectKubeProxy,
  logs: WORDS.collectLogs,
  ...collectHostFacts(),
};

const NO_TWIN: Proof = { isProved: false, says: WORDS.notBrought };

/** What one check found on a node; packets have not been asked yet. */
interface Claim {
  readonly node: string;
  readonly check: NodeCheck;
  readonly found: CheckFinding;
}

function codeOf({ check, found }: Claim): KnowledgeCode {
  return found.code ?? check.code;
}

/** Asks packets of one twin about all claims that can be brought to it; without any there is no twin. */
async function proofsOf({ manifests }: ReadEvidence, claims: readonly Claim[]): Promise<readonly Proof[]> {
  const changes = claims.flatMap(({ found }) => found.twin ?? []);
  const twin = changes.length === 0 ? undefined : await Twin.open(manifests, changes);
  const proofs: Proof[] = [];
  for (const { node, found } of claims)
    if (found.twin === undefined || twin === undefined) proofs.push(NO_TWIN);
    else
      proofs.push(
        typeof twin === "string" ? { isProved: false, says: twin } : await twin.prove(node, found.twin),
      );
  return proofs;
}

/** What the catalogue or the table of errors says of the cause. */
interface Explained {
  readonly code: string;
  readonly remedy: string;
}

function byEntry(code: KnowledgeCode): Explained {
  return { code, remedy: getEntry(code).remedy };
}

function draft(node: string, { code, remedy }: Explained, found: CheckFinding, proof: Proof): NodeFinding {
  const { certainty, message, evidence, breaks, others, next } = found;
  return {
    code,
    certainty,
    node,
    message,
    evidence,
    breaks,
    proof,
    remedy,
    ...(others === undefined ? {} : { others }),
    ...(next === undefined ? {} : { next }),
  };
}

/** What is asked of logs: an error of whom is in one. All origins of the table stand in one row each. */
const LOG_QUESTIONS: readonly {
  readonly id: string;
  readonly who: string;
  readonly origins: readonly ErrorOrigin[];
}[] = [
  { id: "logs-show-no-error-of-hns", who: "HNS", origins: ["hns", "vfp"] },
  { id: "events-show-no-error-of-windows", who: "Windows", origins: ["win32", "powershell"] },
  { id: "logs-show-no-error-of-kube-proxy", who: "kube-proxy", origins: ["kube-proxy"] },
  { id: "logs-show-no-error-of-flanneld", who: "flanneld", origins: ["flanneld"] },
  { id: "logs-show-no-error-of-plugins", who: "CNI plugins", origins: ["cni"] },
  { id: "logs-show-no-error-of-kubelet", who: "kubelet or containerd", origins: ["kubelet", "hcs"] },
  { id: "logs-show-no-error-of-calico", who: "Calico", origins: ["calico"] },
  { id: "logs-show-no-error-of-azure", who: "Azure's plugins", origins: ["azure"] },
  { id: "logs-show-no-error-of-agents", who: "Antrea or OVN", origins: ["antrea", "ovn"] },
];

/**
 * Of the texts of an error the longest that a line holds: programs and releases word it differently. One that is told by its
 * number alone has no text: then the line is what the log says.
 */
function textIn(line: string, { texts, names }: LogFinding["error"]): string {
  const said = squeeze(line);
  const own = texts
    .filter((text) => patternOf(text).pieces.every((piece) => said.includes(piece)))
    .toSorted((a, b) => b.length - a.length);
  const text = own[0] ?? texts[0];
  return text === undefined ? (names[0] ?? line.trim().replace(/\.$/u, "")) : textAsSaid(line, text);
}

/** What logs of the node tell of some programs: an error with one cause is likely, for it may be over. */
function* findingsOfLogs(node: NodeEvidence, origins: readonly ErrorOrigin[]): Generator<Staged> {
  const isWithoutNetwork = node.networks.length === 0;
  for (const { file, findings } of node.logs)
    for (const logged of findings) {
      const { error, standing, firstLine, lastLine, line } = logged;
      if (!origins.includes(error.origin) || error.certainty === "unknown" || standing === "wrapper")
        continue;
      const isSure = error.certainty === "certain" && standing === "root";
      const { related, remedy, cause } = error;
      const older = firstLine === lastLine ? daysBefore(line, node) : undefined;
      const finding = draft(
        node.name,
        related === undefined ? { code: error.id, remedy } : byEntry(related),
        {
          // What happened days before the dump may be over.
          certainty: isSure && older === undefined ? "likely" : "possible",
          message: `the log says: ${textIn(line, error)}`,
          evidence: [
            { file, line: firstLine, says: line },
            ...(older === undefined ? [] : [shows(older.place, older.says)]),
          ],
          breaks: related === undefined ? (cause.split("\n\n")[0] ?? cause) : getEntry(related).title,
        },
        NO_TWIN,
      );
      yield { finding, stage: stageOfLog(logged, findings), isLogged: older === undefined, isWithoutNetwork };
    }
}

/** With the causes that evidence excludes; of what may be harmless nobody asks what else it may be. */
function withRuledOut(finding: NodeFinding, ruledOut: readonly RuledOut[]): NodeFinding {
  const { certainty } = finding;
  return certainty === "possible" || ruledOut.length === 0 ? finding : { ...finding, ruledOut };
}

/** A warning of lint, for files are often templates: beside networks of HNS they are what programs of the node read. */
const OF_FILES_IN_USE = "placeholder-left";

/** Errors of configuration, as lint finds them. */
function ofLint(
  { evidence: { sources }, manifests }: ReadEvidence,
  only: NodeEvidence | undefined,
): readonly Staged[] {
  const { findings } = lint({ sources, load: loaderOf(manifests) });
  const isInUse = only !== undefined && only.networks.length > 0;
  return findings
    .filter(
      ({ code, severity, causedBy }) =>
        causedBy === undefined && (severity === "error" || (isInUse && code === OF_FILES_IN_USE)),
    )
    .map(({ code, severity, file, line, message, lineText, title, fix }) => ({
      finding: {
        code,
        certainty: severity === "error" ? "likely" : "possible",
        node: only?.name ?? "the cluster",
        message,
        evidence: [{ file, line, says: lineText.trim() === "" ? title : lineText.trim() }],
        breaks: getEntry(code).title,
        proof: NO_TWIN,
        remedy: fix === "" ? getEntry(code).remedy : fix,
      },
    }));
}

/** What a check lacks: a kind of evidence, or the rest of one. */
interface Lack {
  readonly kind: KindOfEvidence;
  readonly isPartial: boolean;
}

function lacksOf({ needs, wholly }: NodeCheck, node: NodeEvidence, { cluster }: Evidence): readonly Lack[] {
  return [
    ...needs
      .filter((kind) => countOf(kind, node, cluster) === 0 && !node.none.has(kind))
      .map((kind) => ({ kind, isPartial: false })),
    ...wholly
      .filter((kind) => countOf(kind, node, cluster) > 0 && isPartial(kind, node, cluster))
      .map((kind) => ({ kind, isPartial: true })),
  ];
}

/** Says of a fault that several ways lead to once. */
function withoutDoubles(findings: readonly Staged[]): readonly Staged[] {
  const seen = new Set<string>();
  return findings.filter(({ finding: { code, node, message } }) => {
    const key = `${code} ${node} ${message}`;
    const isNew = !seen.has(key);
    seen.add(key);
    return isNew;
  });
}

export interface ExamineOptions {
  readonly logs?: readonly ScannedLog[];
  /** Files that were not read, or parts of them. */
  readonly left?: DoctorReport["notRead"];
  /** Addresses and names of the cluster are replaced, the same by the same. */
  readonly isRedacted?: boolean;
  /** The only node that is examined; default: all. */
  readonly node?: string | undefined;
}

/** Examines what files show. */
export async function examineNodes(
  readings: readonly FileReading[],
  { logs = [], left = [], isRedacted = false, node }: ExamineOptions = {},
): Promise<DoctorReport> {
  const whole = readEvidence(readings, logs);
  const nodes = whole.evidence.nodes.filter(({ name }) => node === undefined || name === node);
  const read = { ...whole, evidence: { ...whole.evidence, nodes } };
  const examined = await reportOf(read);
  const report = { ...examined, notRead: [...examined.notRead, ...left] };
  return isRedacted ? redact(report, read.evidence) : report;
}

/** The nodes that files are of. */
export function nodeNames(readings: readonly FileReading[], logs: readonly ScannedLog[]): readonly string[] {
  return readEvidence(readings, logs).evidence.nodes.map(({ name }) => name);
}

type NotMade = DoctorReport["checksNotMade"][number];

/** What was asked of one node. */
interface Examination {
  readonly claims: readonly Claim[];
  readonly causes: CausesOfNode;
  readonly ofLogs: readonly Staged[];
  readonly made: number;
  readonly notMade: readonly NotMade[];
  readonly apart: TimesApart | undefined;
}

/** A check that compares HNS with objects of the cluster. */
function comparesBoth({ needs }: NodeCheck): boolean {
  return needs.some((kind) => OF_CLUSTER.includes(kind)) && needs.some((kind) => OF_HNS.includes(kind));
}

/** One step less sure. */
function lessSure(found: CheckFinding): CheckFinding {
  return { ...found, certainty: found.certainty === "certain" ? "likely" : "possible" };
}

/** What a check finds of named objects is one finding: of the first, with the others by name. */
function together(found: readonly CheckFinding[]): readonly CheckFinding[] {
  const [first, ...others] = found;
  if (first?.name === undefined || others.length === 0) return found;
  return [{ ...first, others: others.flatMap(({ name }) => name ?? []) }];
}

function examineNode(node: NodeEvidence, evidence: Evidence): Examination {
  const notMade: NotMade[] = [];
  const claims: Claim[] = [];
  const apart = timesApart(node, evidence.cluster);
  let made = 0;
  for (const check of NODE_CHECKS) {
    const lacks = lacksOf(check, node, evidence);
    if (lacks.length > 0 && check.insteadOf && countOf(check.insteadOf, node, evidence.cluster) > 0) continue;
    if (lacks.length > 0) {
      const missing = lacks.map((lack) => (lack.isPartial ? `all ${lack.kind}` : lack.kind));
      const collect = [...new Set(lacks.map(({ kind }) => COLLECT[kind]))];
      notMade.push({ node: node.name, check: check.id, asks: check.asks, missing, collect });
      continue;
    }
    made++;
    const isLessSure = apart !== undefined && comparesBoth(check);
    for (const found of together([...check.find(node, evidence.cluster)]))
      claims.push({ node: node.name, check, found: isLessSure ? lessSure(found) : found });
  }
  const logged = LOG_QUESTIONS.flatMap(({ origins }) => [...findingsOfLogs(node, origins)]);
  if (node.logs.length === 0)
    for (const { id, who } of LOG_QUESTIONS) {
      const asks = `no log shows an error of ${who} with a known cause`;
      notMade.push({ node: node.name, check: id, asks, missing: ["logs"], collect: [COLLECT.logs] });
    }
  // A log alone, in which nothing is known, says nothing of the node.
  else if (made > 0) made += LOG_QUESTIONS.length;
  const causes = new CausesOfNode(new NodeBooks(node, evidence.cluster), {
    found: new Set<string>([...claims.map(codeOf), ...logged.map(({ finding }) => finding.code)]),
    isApart: apart !== undefined,
  });
  const ofLogs = logged.map((each) => ({
    ...each,
    finding: withRuledOut(each.finding, causes.ruledOut(each.finding.code, undefined)),
  }));
  return { claims, causes, ofLogs, made, notMade, apart };
}

async function reportOf(read: ReadEvidence): Promise<DoctorReport> {
  const { evidence, files, problems } = read;
  const examined = evidence.nodes.map((node) => examineNode(node, evidence));
  const proofs = (
    await proofsOf(
      read,
      examined.flatMap(({ claims }) => claims),
    )
  ).values();
  const findings = examined.flatMap(({ claims, causes, ofLogs }): Staged[] => [
    ...claims.map((claim) => {
      const { node, found } = claim;
      const finding = draft(node, byEntry(codeOf(claim)), found, proofs.next().value ?? NO_TWIN);
      return { finding: withRuledOut(finding, causes.ruledOut(codeOf(claim), subjectOf(found))) };
    }),
    ...ofLogs,
  ]);
  const [only] = evidence.nodes.length === 1 ? evidence.nodes : [];
  findings.push(...ofLint(read, only));
  return {
    apiVersion: DOCUMENT_VERSION,
    kind: "DoctorReport",
    nodes: evidence.nodes.map(({ name }) => name),
    findings: causesFirst(withoutDoubles(findings)),
    checksMade: examined.reduce((sum, { made }) => sum + made, 0),
    checksNotMade: examined.flatMap(({ notMade }) => notMade),
    files: files.filter(({ holds }) => holds.length > 0),
    notRead: [
      ...files
        .filter(({ holds }) => holds.length === 0)
        .map(({ file }) => ({ file, line: 1, reason: "nothing in it is recognised" })),
      ...[...problems, ...examined.flatMap(({ apart }) => apart ?? [])].map(({ file, line, message }) => ({
        file,
        line: Math.max(1, line),
        reason: message,
      })),
    ],
  };
}
