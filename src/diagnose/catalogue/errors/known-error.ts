/** The shape of one error that Windows or a program of a Windows node prints. */
import type { Leaf, ValueOf } from "#core/base/shape.ts";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { SOURCE } from "../entry.ts";
import { CALL_IDS } from "./calls.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

/** Who prints it. */
export const ERROR_ORIGINS = [
  "hns",
  "hcs",
  "win32",
  "cni",
  "kube-proxy",
  "flanneld",
  "kubelet",
  "calico",
  "azure",
  "antrea",
  "ovn",
  "powershell",
  "vfp",
] as const;

export type ErrorOrigin = (typeof ERROR_ORIGINS)[number];

/** The origins in words, as headings. */
export const ORIGIN_TITLES: Readonly<Record<ErrorOrigin, string>> = {
  hns: "Host Networking Service (HNS)",
  hcs: "Host Compute Service (HCS)",
  win32: "Windows",
  cni: "CNI plugins and IPAM",
  "kube-proxy": "kube-proxy",
  flanneld: "flanneld",
  kubelet: "kubelet and containerd",
  calico: "Calico",
  azure: "Azure CNI and CNS",
  antrea: "Antrea",
  ovn: "ovn-kubernetes hybrid overlay",
  powershell: "PowerShell, netsh and the event log",
  vfp: "VFP and the switch",
};

/**
 * What an error in a log tells about the fault, the strongest first:
 * - `root`: names what is missing or wrong;
 * - `refusal`: names the rule that a call broke, and not who broke it;
 * - `wrapper`: says only that something below failed.
 */
export const STANDINGS = ["root", "refusal", "wrapper"] as const;

export type Standing = (typeof STANDINGS)[number];

/**
 * How sure it is that an explanation is the cause of what was read:
 * - `certain`: the text, or the call together with its code, has this one cause;
 * - `likely`: the usual cause; others print the same;
 * - `unknown`: what was read does not tell the cause.
 */
export const CERTAINTIES = ["certain", "likely", "unknown"] as const;

export type Certainty = (typeof CERTAINTIES)[number];

/** What is written about an error, in the table and in documents. */
export const EXPLANATION = {
  text: "What is written about an error.",
  fields: {
    standing: {
      is: (): typeof STANDINGS => STANDINGS,
      text: (): string => WORDS.explanationStanding,
    },
    cause: { is: "words", text: "Why it is printed. Paragraphs are separated by an empty line." },
    next: {
      list: "words",
      min: 1,
      text: (): string => WORDS.explanationNext,
    },
    remedy: "words",
    sources: { list: (): typeof SOURCE => SOURCE, min: 1 },
  },
  optional: {
    related: {
      is: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES,
      text: "The entry of the catalogue with more about it.",
    },
    isInferred: {
      is: [true],
      text: (): string => WORDS.explanationIsInferred,
    },
    calls: {
      is: { oneOf: [["any"], { list: (): typeof CALL_IDS => CALL_IDS, min: 1 }] },
      text: (): string => WORDS.explanationCalls,
    },
  },
} as const;

/** What only the table says. */
interface TableMarks {
  /** Set when the text or code has further causes; else a root is certain. */
  readonly certainty?: "likely";
  /**
   * HRESULTs that may stand beside it. With texts: another code in the same record means another cause. Without texts
   * and with `calls`: the code means this in these calls.
   */
  readonly codes?: readonly number[];
}

/** Stable, in kebab-case. Of a code with a symbolic name it is that name. */
export const ERROR_ID: Leaf<string> = { schema: { type: "string", pattern: "^[a-z0-9-]+$" } };

/** With everything by which it is found. */
export const NAMED_ERROR = {
  text: (): string => WORDS.errorDocument,
  base: (): typeof EXPLANATION => EXPLANATION,
  fields: {
    id: { is: (): typeof ERROR_ID => ERROR_ID, text: "Stable." },
    origin: { is: (): typeof ERROR_ORIGINS => ERROR_ORIGINS, text: "Who prints it." },
    names: { list: "words", text: "Symbolic names." },
    texts: { list: "words", text: "What is printed; … stands for words that differ." },
  },
  optional: {
    cniCode: { is: "integer", text: "The code of the CNI specification, or of its library." },
  },
} as const;

/** In the table `texts` have holes of a kind (`holes.ts`) for words that differ. The first one is shown. */
export interface KnownError extends ValueOf<typeof NAMED_ERROR>, TableMarks {
  /** HRESULTs, unsigned; a Win32 error counts as the HRESULT that holds it. */
  readonly hresults: readonly number[];
}

// The order of errors: what names the fault comes before what follows from it.

/** What was found in a log, as far as its order depends on it. */
export interface Counted {
  readonly standing: Standing;
  readonly certainty: Certainty;
  readonly count: number;
  readonly firstLine: number;
}

/**
 * The order of findings in a log, the likeliest fault first:
 * 1. what names the fault (`root`), then refused calls (`refusal`), then what only passes a failure on (`wrapper`);
 * 2. what occurs more often: single ones are often passing, such as those of a start;
 * 3. what came first;
 * 4. on one line, what has a cause, then what stands last, since programs put the reason behind.
 */
export function byLikelihood(a: Counted, b: Counted): number {
  return (
    STANDINGS.indexOf(a.standing) - STANDINGS.indexOf(b.standing) ||
    b.count - a.count ||
    a.firstLine - b.firstLine ||
    Number(a.certainty === "unknown") - Number(b.certainty === "unknown")
  );
}
