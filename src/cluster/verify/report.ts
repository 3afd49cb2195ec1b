/** What `mullion verify` says: the JSON of `mullion verify -o json` (schemas/verify.v1alpha1.json). */
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { EDITIONS } from "#core/catalogue/edition.ts";
import { FLOWS } from "#core/catalogue/expectations.ts";
import { type JsonSchema, type ValueOf, documentSchema } from "#core/base/shape.ts";
import { LIMIT_REASON } from "../session/flow-limit.ts";
import { CLUSTER_FACT, SESSION_PROBLEM } from "../session/session.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

/** Why a cell is not judged. */
export const CELL_LIMIT = {
  text: "Why a cell is not judged.",
  base: (): typeof LIMIT_REASON => LIMIT_REASON,
  fields: { limit: { is: "integer", text: "Position in basis.notJudged, from 0." } },
} as const;
export type CellLimit = ValueOf<typeof CELL_LIMIT>;

/** How an outcome differs from what the Kubernetes page states. */
export const PAGE_DIFFERENCE = {
  text: (): string => WORDS.pageDifference,
  fields: {
    edition: { is: (): typeof EDITIONS => EDITIONS, text: "The newest edition of the page that says it." },
    sentence: { is: "text", text: "The sentence, by its id." },
    difference: { is: "text", text: "The reason, by its id." },
    evidence: ["observed", "inferred"],
    source: { is: "text", text: "Where the difference is written." },
  },
  // Added by who has the texts.
  optional: {
    says: { is: "text", text: "What the page says." },
    differsBecause: {
      is: "text",
      text: "The update, the release or the source that makes the difference.",
    },
  },
} as const;
export type PageDifferenceReport = ValueOf<typeof PAGE_DIFFERENCE>;

/** What is asked, by whom, of whom. */
export const FLOW_QUESTION = {
  text: "A flow.",
  fields: {
    flow: {
      is: { oneOf: [(): typeof FLOWS => FLOWS, ["cluster-file"]] },
      text: "cluster-file: an expectation of the cluster file.",
    },
    protocol: ["tcp", "udp", "icmp"],
    relation: {
      is: ["same-node", "other-node", "outside", "service"],
      text: "Where the receiver is, seen from the sender.",
    },
    from: { is: "text", text: "As the command line takes it: pod/default/web, node/win-1, external." },
    to: { is: "text", text: "A pod, a node, a host outside, service/default/web or an address." },
    standsFor: {
      is: "integer",
      text: (): string => WORDS.flowQuestionStandsFor,
    },
  },
  optional: {
    family: { is: ["ipv6"], text: "The family of the addresses; absent for IPv4." },
    port: { is: "integer", text: "Absent for ICMP." },
    name: { is: "text", text: "The name that was resolved first." },
  },
} as const;

/** What comparisons read of a cell: reports of other versions have it as well. */
export const COMPARED_CELL = {
  text: "A flow, and what came of it.",
  base: (): typeof FLOW_QUESTION => FLOW_QUESTION,
  fields: {
    fromSystem: { is: "text", text: "ws2022, ws2019.1158, linux, outside." },
    toSystem: { is: "text", text: "As fromSystem; service for what no machine is." },
    expected: ["works", "denied", "not-applicable"],
    row: { is: "text", text: "The row of the table of expectations that decided." },
    verdict: {
      is: ["as-expected", "finding", "not-tried", "not-judged"],
      text: (): string => WORDS.comparedCellVerdict,
    },
  },
  optional: {
    code: {
      is: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES,
      text: "Why it is denied, or does not apply: mullion explain CODE.",
    },
  },
} as const;

/** How a cell came out, beside what was expected. */
export const VERIFY_CELL = {
  text: "One question, the expected and the observed outcome.",
  base: (): typeof COMPARED_CELL => COMPARED_CELL,
  fields: {
    documentedIn: { is: "text", text: "Where the row is written." },
    attempts: { is: "integer", text: "Attempts that count for the verdict." },
  },
  optional: {
    documentation: (): typeof PAGE_DIFFERENCE => PAGE_DIFFERENCE,
    // Added by who has the texts: verify itself knows rows and codes.
    why: { is: "text", text: "Why it does not apply." },
    notJudged: {
      list: (): typeof CELL_LIMIT => CELL_LIMIT,
      text: "With not-judged: why, each cause once.",
    },
    observed: { is: "text", text: "With not-judged: what came of it here." },
    backEnds: { is: "integer", text: "Back ends that answered." },
    keptFrom: { is: "text", text: (): string => WORDS.verifyCellKeptFrom },
    restsOn: {
      is: {
        text: (): string => WORDS.verifyCellRestsOn,
        fields: {
          cell: { is: "integer", text: "Position of the cell that was tried, from 0." },
          how: { is: ["compared", "taken-over"], text: (): string => WORDS.verifyCellRestsOnHow },
        },
      },
      text: (): string => WORDS.verifyCellRestsOn,
    },
  },
} as const;
export type VerifyCell = ValueOf<typeof VERIFY_CELL>;

/** What comparisons read of a finding. */
export const COMPARED_FINDING = {
  text: "A finding.",
  fields: { observed: "text" },
  optional: {
    cell: {
      is: "integer",
      text: (): string => WORDS.comparedFindingCell,
    },
    about: { is: "text", text: (): string => WORDS.comparedFindingAbout },
    code: {
      is: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES,
      text: "What explains it: mullion explain CODE.",
    },
  },
} as const;

/** A cell that did not match the expectation, or something that keeps the answer from being one. */
export const VERIFY_FINDING = {
  text: (): string => WORDS.verifyFinding,
  base: (): typeof COMPARED_FINDING => COMPARED_FINDING,
  fields: { expected: "text" },
  optional: {
    limit: { is: "integer", text: "Of flows that are not judged: position in basis.notJudged, from 0." },
    allowed: { is: [true], text: (): string => WORDS.verifyFindingAllowed },
    // From the entry of the code; added by who has the texts.
    remedy: { is: "text", text: "What to do." },
    trace: { is: "text", text: "The words behind mullion trace that show it, without the file." },
    cause: {
      is: "integer",
      text: (): string => WORDS.verifyFindingCause,
    },
  },
} as const;
export type VerifyFinding = ValueOf<typeof VERIFY_FINDING>;

/** What keeps flows from being judged, and how many. */
export const NOT_JUDGED = {
  text: "What keeps flows from being judged.",
  base: (): typeof SESSION_PROBLEM => SESSION_PROBLEM,
  fields: { flows: { is: "integer", text: "Flows of the full matrix." } },
} as const;
export type NotJudged = ValueOf<typeof NOT_JUDGED>;

/** What the answer rests on besides what was tried. */
export const VERIFY_BASIS = {
  text: "What the answer rests on besides what was tried.",
  fields: {
    facts: { list: (): typeof CLUSTER_FACT => CLUSTER_FACT, text: "One by one, each with who says it." },
    contradictions: {
      list: (): typeof SESSION_PROBLEM => SESSION_PROBLEM,
      text: (): string => WORDS.verifyBasisContradictions,
    },
    assumptions: {
      list: (): typeof SESSION_PROBLEM => SESSION_PROBLEM,
      text: "Assumed, because the input does not say it.",
    },
    refused: {
      list: (): typeof SESSION_PROBLEM => SESSION_PROBLEM,
      text: (): string => WORDS.verifyBasisRefused,
    },
    notJudged: {
      list: (): typeof NOT_JUDGED => NOT_JUDGED,
      text: "Why flows are not judged; each is a finding as well.",
    },
    notes: {
      list: (): typeof SESSION_PROBLEM => SESSION_PROBLEM,
      text: "Passed by, or worth knowing; nothing is wrong.",
    },
  },
} as const;
export type VerifyBasis = ValueOf<typeof VERIFY_BASIS>;

export const VERIFY_COUNTS = {
  text: "Numbers of cells.",
  fields: {
    cells: { is: "integer", text: "Cells of the full matrix: every pair, flow and protocol." },
    tried: { is: "integer", text: "Cells that were tried, each for all equal ones." },
    attempts: { is: "integer", text: "Connections, datagrams and echo requests." },
    works: { is: "integer", text: "Tried cells that work as expected." },
    denied: { is: "integer", text: "Tried cells that are denied as expected." },
    notApplicable: "integer",
    notJudged: {
      is: "integer",
      text: (): string => WORDS.verifyCountsNotJudged,
    },
    findings: { is: "integer", text: "Without those that the user takes." },
  },
  optional: {
    compared: { is: "integer", text: (): string => WORDS.verifyCountsCompared },
    takenOver: { is: "integer", text: (): string => WORDS.verifyCountsTakenOver },
  },
} as const;
export type VerifyCounts = ValueOf<typeof VERIFY_COUNTS>;

export const VERIFY_MACHINES = {
  text: (): string => WORDS.verifyMachines,
  fields: {
    classes: { is: "integer", text: (): string => WORDS.verifyMachinesClasses },
    compared: {
      is: "integer",
      text: (): string => WORDS.verifyMachinesCompared,
    },
    equal: { is: "integer", text: (): string => WORDS.verifyMachinesEqual },
    seed: { is: "text", text: (): string => WORDS.verifyMachinesSeed },
  },
} as const;
export type VerifyMachines = ValueOf<typeof VERIFY_MACHINES>;

export const SHARD_NUMBER = {
  text: "Which one of how many.",
  fields: { index: { is: "position", text: "From 1." }, count: "position" },
} as const;
export type ShardNumber = ValueOf<typeof SHARD_NUMBER>;

/** One machine that does it all. */
export const WHOLE: ShardNumber = Object.freeze({ index: 1, count: 1 });

export const CELL_DISAGREEMENT = {
  text: "How a cell came out otherwise than expected.",
  fields: {
    expected: "text",
    observed: "text",
    sender: { is: "text", text: "The machine that sends." },
    receiver: { is: "text", text: "The machine that is asked; empty for what no machine is." },
  },
  optional: {
    code: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES,
    at: { is: "text", text: "The machine on which the packet ended." },
  },
} as const;
export type CellDisagreement = ValueOf<typeof CELL_DISAGREEMENT>;

export const CELL_OUTCOME = {
  text: "What came of a cell.",
  fields: {
    position: { is: "count", text: "In the cells of the whole report, from 0." },
    cell: (): typeof VERIFY_CELL => VERIFY_CELL,
  },
  optional: {
    disagreement: (): typeof CELL_DISAGREEMENT => CELL_DISAGREEMENT,
    trace: { is: "text", text: "The words behind mullion trace that show it." },
  },
} as const;
export type CellOutcome = ValueOf<typeof CELL_OUTCOME>;

export const VERIFY_PARTIAL = {
  text: "What is missing of a report that is not whole.",
  fields: { cells: { is: "count", text: "Cells without an answer." } },
  optional: {
    missingShards: { list: "position", text: "Shards that gave no report, from 1." },
    stoppedShards: {
      list: "position",
      text: (): string => WORDS.verifyPartialStoppedShards,
    },
  },
} as const;
export type VerifyPartial = ValueOf<typeof VERIFY_PARTIAL>;

export const VERIFY_KEPT = {
  text: (): string => WORDS.verifyKept,
  fields: {
    cells: { is: "integer", text: "Cells whose results are kept." },
    of: { is: "integer", text: "Cells that are tried in all." },
    since: { is: "text", text: "When the first of them was tried." },
  },
} as const;

export const VERIFY_REPORT = {
  text: (): string => WORDS.verifyReport,
  document: "Verification",
  fields: {
    cluster: { is: "text", text: "Its name." },
    compat: {
      list: ["upstream", "hardened"],
      text: (): string => WORDS.verifyReportCompat,
    },
    basis: (): typeof VERIFY_BASIS => VERIFY_BASIS,
    counts: (): typeof VERIFY_COUNTS => VERIFY_COUNTS,
    cells: { list: (): typeof VERIFY_CELL => VERIFY_CELL, text: "In the order of the flows." },
    findings: { list: (): typeof VERIFY_FINDING => VERIFY_FINDING },
  },
  optional: {
    machines: {
      is: (): typeof VERIFY_MACHINES => VERIFY_MACHINES,
      text: (): string => WORDS.verifyReportMachines,
    },
    partial: {
      is: (): typeof VERIFY_PARTIAL => VERIFY_PARTIAL,
      text: "Absent for a report of all cells.",
    },
    kept: {
      is: (): typeof VERIFY_KEPT => VERIFY_KEPT,
      text: "Absent when everything was tried now.",
    },
  },
} as const;
export type VerifyReport = ValueOf<typeof VERIFY_REPORT>;

export const VERIFY_SCHEMA: JsonSchema = documentSchema("Mullion verification", VERIFY_REPORT);
