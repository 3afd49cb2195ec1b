/** What a check is, and what it finds. */
import type { JsonObject } from "#core/base/json.ts";
import type { ValueOf } from "#core/base/shape.ts";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { KNOWLEDGE_CODES, type KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Ip } from "#core/net/ip.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import {
  type ClusterEvidence,
  KINDS_OF_EVIDENCE,
  type KindOfEvidence,
  type NodeEvidence,
} from "./evidence.ts";
import type { Place } from "./place.ts";
import { doctorChecks } from "#data/facts.js";
import { doctor } from "#data/words.js";

const WORDS = doctor();

/**
 * How sure a finding is, the surest first: `certain` admits no other cause, or two independent objects say it; `likely`
 * is the usual cause; `possible` may be harmless.
 */
export const CERTAINTIES = ["certain", "likely", "possible"] as const;
export type Certainty = (typeof CERTAINTIES)[number];

export const EVIDENCE_LINE = {
  text: "A line that shows it.",
  fields: {
    file: "words",
    line: { is: "position", text: "From 1." },
    says: { is: "words", text: "What stands there." },
  },
} as const;
export type EvidenceLine = ValueOf<typeof EVIDENCE_LINE>;

/** What packets on the twin of the node say. */
export const PROOF = {
  text: (): string => WORDS.proof,
  fields: {
    isProved: { is: "boolean", text: (): string => WORDS.proofIsProved },
    says: { is: "words", text: (): string => WORDS.proofSays },
  },
  optional: {
    observed: { is: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES, text: "Why the packet is lost." },
  },
} as const;
export type Proof = ValueOf<typeof PROOF>;

export const RULED_OUT = {
  text: (): string => WORDS.ruledOutCause,
  fields: {
    code: { is: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES, text: "The other cause." },
    evidence: { list: (): typeof EVIDENCE_LINE => EVIDENCE_LINE, min: 1, text: "What excludes it." },
  },
} as const;
export type RuledOut = ValueOf<typeof RULED_OUT>;

export const NODE_FINDING = {
  text: "What is wrong with a node, and how that is known.",
  fields: {
    code: { is: "words", text: (): string => WORDS.findingCode },
    certainty: { is: (): typeof CERTAINTIES => CERTAINTIES, text: (): string => WORDS.certainty },
    node: { is: "words", text: "The node, or the folder of its files." },
    message: { is: "words", text: "One sentence without a full stop." },
    evidence: {
      list: (): typeof EVIDENCE_LINE => EVIDENCE_LINE,
      min: 1,
      text: "Both sides of a contradiction.",
    },
    breaks: { is: "words", text: "Which traffic suffers." },
    proof: (): typeof PROOF => PROOF,
    remedy: { is: "words", text: "What mends it." },
  },
  optional: {
    others: { list: "words", text: (): string => WORDS.others },
    next: { is: "words", text: (): string => WORDS.next },
    ruledOut: {
      list: (): typeof RULED_OUT => RULED_OUT,
      min: 1,
      text: (): string => WORDS.ruledOut,
    },
  },
} as const;
export type NodeFinding = ValueOf<typeof NODE_FINDING>;

/** A port of a Service's address. */
export interface TwinFrontEnd {
  readonly vip: Ip;
  readonly port: number;
  /** 6 TCP, 17 UDP. */
  readonly protocol: number;
}

/** Which packets an ACL is about. */
export interface TwinAclAim {
  readonly isInbound: boolean;
  /** Addresses and ranges; empty: all. */
  readonly peers: readonly string[];
  /** The packet that tells is with none of these peers. */
  readonly isOutside: boolean;
  readonly port?: number;
  /** 1 ICMP, 6 TCP, 17 UDP. */
  readonly protocol?: number;
}

/** A fault, as something that can be done to a twin. */
export type TwinChange =
  /** `from`: the address of the pod that lacks its rules; else any pod of the node asks. */
  | ({ readonly change: "remove-load-balancer"; readonly from?: Ip } & TwinFrontEnd)
  /** A load balancer leads to an address that nobody has any more. */
  | ({ readonly change: "stale-back-end"; readonly address: Ip } & TwinFrontEnd)
  | { readonly change: "remove-remote-subnet-route"; readonly range: string }
  /** The route to a node has settings that are not the node's. */
  | { readonly change: "wrong-remote-subnet-route"; readonly range: string; readonly settings: JsonObject }
  /** The pod of this address has no endpoint. */
  | { readonly change: "remove-endpoint"; readonly address: Ip }
  /** The pod of this address is not translated towards the outside. */
  | { readonly change: "remove-outbound-nat"; readonly address: Ip }
  /** The pod of this address is translated towards another pod, too: these exceptions do not have it. */
  | {
      readonly change: "wrong-exceptions";
      readonly address: Ip;
      readonly peer: Ip;
      readonly exceptions: readonly string[];
    }
  /** The pod of this address asks these servers, or completes names with these suffixes; what is absent stays. */
  | {
      readonly change: "other-names";
      readonly address: Ip;
      readonly servers?: readonly Ip[];
      readonly search?: readonly string[];
    }
  /** The pod of this address has other ACLs on its port than its endpoint: policies of HNS. */
  | {
      readonly change: "other-acls";
      readonly address: Ip;
      readonly stated: readonly PolicyDocument[];
      readonly programmed: readonly PolicyDocument[];
      readonly aim: TwinAclAim;
    }
  /** A remote endpoint has the address of a pod of the node. */
  | { readonly change: "remote-endpoint"; readonly address: Ip };

/** Which traffic a finding is about: what else would break the same is a competing cause. */
export type Subject =
  | ({ readonly of: "front-end" } & TwinFrontEnd)
  | { readonly of: "pod"; readonly address: Ip }
  /** Connections of the pod of this address to outside of the cluster. */
  | { readonly of: "outside"; readonly address: Ip }
  /** Packets between this node and pods of the one with this range. */
  | { readonly of: "range"; readonly range: string };

/** What a check says; the engine adds node, remedy and proof. */
export interface CheckFinding {
  /** The object that it is of. What one check finds of several such objects is one finding. */
  readonly name?: string;
  readonly certainty: Certainty;
  readonly message: string;
  readonly evidence: readonly EvidenceLine[];
  readonly breaks: string;
  /** Further objects with the same fault. */
  readonly others?: readonly string[];
  /** What to collect next, where files that are missing would say why. */
  readonly next?: string;
  /** When this case has a code of its own. */
  readonly code?: KnowledgeCode;
  /** Brings the fault to a twin of the node, for packets to prove what it breaks. */
  readonly twin?: TwinChange;
  /** Which traffic it is about, where no change of a twin says so. */
  readonly about?: Subject;
}

/** One question that is asked of each node: a row of data/facts/doctor-checks.yaml, and what answers it. */
export interface NodeCheck {
  /** Stable, in kebab-case: how reports name it. */
  readonly id: string;
  readonly code: KnowledgeCode;
  readonly asks: string;
  readonly needs: readonly KindOfEvidence[];
  readonly wholly: readonly KindOfEvidence[];
  readonly insteadOf: KindOfEvidence | undefined;
  find(node: NodeEvidence, cluster: ClusterEvidence): Iterable<CheckFinding>;
}

const QUESTIONS = CheckedFields.ofTable(doctorChecks());

/** @throws Error that names file and line of what is wrong with the row of this id. */
export function check(id: string, find: NodeCheck["find"]): NodeCheck {
  const row = QUESTIONS.within(id);
  const question = {
    id,
    code: row.code("code"),
    asks: row.text("asks"),
    needs: row.words("needs", KINDS_OF_EVIDENCE),
    wholly: row.words("wholly", KINDS_OF_EVIDENCE),
    insteadOf: row.optionalWord("insteadOf", KINDS_OF_EVIDENCE),
  };
  row.end();
  return { ...question, find };
}

/** A line of evidence. */
export function shows({ file, line }: Place, says: string): EvidenceLine {
  return { file, line, says };
}
