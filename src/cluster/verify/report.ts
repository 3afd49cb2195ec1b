/** What `mullion verify` says, as data: the JSON of `mullion verify -o json` (schemas/verify.v1alpha1.json). */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { FlowProtocol } from "#core/catalogue/expectations.ts";
import type { LimitReason } from "../session/flow-limit.ts";
import type { ClusterFact, SessionProblem } from "../session/session.ts";
import type { Cell } from "./cells/cell.ts";

/** Why a cell is not judged. */
export interface CellLimit extends LimitReason {
  /** Position in `basis.notJudged`, from 0. */
  readonly limit: number;
}

/** How a cell came out, beside what was expected. */
export interface VerifyCell {
  readonly flow: Cell["flow"];
  readonly protocol: FlowProtocol;
  /** Of the addresses; absent for IPv4. */
  readonly family?: "ipv6";
  readonly relation: Cell["relation"];
  readonly from: string;
  /** The sender's system: `ws2022`, `ws2019.1158`, `linux`, `outside`. */
  readonly fromSystem: string;
  readonly to: string;
  readonly toSystem: string;
  /** Absent for ICMP. */
  readonly port?: number;
  /** The name that was resolved first. */
  readonly name?: string;
  readonly expected: "works" | "denied" | "not-applicable";
  /** With `denied`, and with `not-applicable` where an entry explains it. */
  readonly code?: KnowledgeCode;
  /** With `not-applicable`. Added by who has the texts: verify itself knows rows and codes. */
  readonly why?: string;
  /** The row of the table of expectations, and where it is documented. */
  readonly row: string;
  readonly documentedIn: string;
  /**
   * `as-expected`; `finding` when observed and expected differ; `not-tried` for what does not apply; `not-judged` for
   * what was tried in a cluster that lacks something of the real one.
   */
  readonly verdict: "as-expected" | "finding" | "not-tried" | "not-judged";
  /** With `not-judged`: why, each cause once. */
  readonly notJudged?: readonly CellLimit[];
  /** With `not-judged`: what came of it here. */
  readonly observed?: string;
  /** Attempts that were made. */
  readonly attempts: number;
  /** How many back ends answered, for cells that ask a Service's back ends. */
  readonly backEnds?: number;
  /** Equal cells of the full matrix, this one included; 0 when another cell stands for them. */
  readonly standsFor: number;
}

/** A cell that did not match the expectation, or something that keeps the answer from being one. */
export interface VerifyFinding {
  /** Position in `cells`, from 0; absent for what is about the input as a whole. */
  readonly cell?: number;
  /** With no cell: what it is about, such as `cluster/demo` or `cluster.yaml:12:3`. */
  readonly about?: string;
  /** Of flows that are not judged: position in `basis.notJudged`, from 0. */
  readonly limit?: number;
  /** The user takes it: it is shown, and does not count. */
  readonly allowed?: true;
  readonly expected: string;
  readonly observed: string;
  /** The code that explains it; `mullion explain CODE`. */
  readonly code?: KnowledgeCode;
  /** What to do, from the entry of the code. Added by who has the texts. */
  readonly remedy?: string;
  /** The words of a `mullion trace` that shows it, without the file: `pod/default/a external --port 443`. */
  readonly trace?: string;
}

/** What keeps flows from being judged, and how many. */
export interface NotJudged extends SessionProblem {
  /** Flows of the full matrix. */
  readonly flows: number;
}

/** What the answer rests on besides what was tried. */
export interface VerifyBasis {
  /** One by one, each with the object or file that says it, or `assumed`. */
  readonly facts: readonly ClusterFact[];
  /** What the input says against itself, or against what Windows can; each is a finding as well. */
  readonly contradictions: readonly SessionProblem[];
  /** Assumed, because the input does not say it. */
  readonly assumptions: readonly SessionProblem[];
  /** Refused, and left out of the cluster; each is a finding as well. */
  readonly refused: readonly SessionProblem[];
  /** Why flows are not judged; each is a finding as well. */
  readonly notJudged: readonly NotJudged[];
  /** Passed by, or worth knowing; nothing is wrong. */
  readonly notes: readonly SessionProblem[];
}

export interface VerifyCounts {
  /** Cells of the full matrix: every pair, flow and protocol. */
  readonly cells: number;
  /** Cells that were tried, each for all that are equal to it. */
  readonly tried: number;
  /** Connections, datagrams and echo requests that were sent. */
  readonly attempts: number;
  readonly works: number;
  readonly denied: number;
  readonly notApplicable: number;
  /** Tried cells that are not judged; they count as neither working nor denied. */
  readonly notJudged: number;
  /** Without those that the user takes. */
  readonly findings: number;
}

export interface VerifyReport {
  readonly apiVersion: "mullion/v1alpha1";
  readonly kind: "Verification";
  readonly cluster: string;
  /** The modes of the nodes: which behaviour answered. */
  readonly compat: readonly ("upstream" | "hardened")[];
  readonly basis: VerifyBasis;
  readonly counts: VerifyCounts;
  /** In the order of the flows. */
  readonly cells: readonly VerifyCell[];
  readonly findings: readonly VerifyFinding[];
}
