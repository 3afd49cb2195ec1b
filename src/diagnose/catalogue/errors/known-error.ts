/** The shape of one error that Windows or a program of a Windows node prints. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Source } from "../entry.ts";

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

/** What is written about an error. */
export interface ErrorExplanation {
  readonly standing: Standing;
  /** Why it is printed. */
  readonly cause: string;
  /** Commands to run next, on the node unless they begin with `kubectl`. */
  readonly next: readonly string[];
  readonly remedy: string;
  /** The entry of the catalogue with more about it. */
  readonly related?: KnowledgeCode;
  readonly sources: readonly Source[];
  /** True when the cause follows from the name of the code, and no public source explains it. */
  readonly isInferred?: true;
}

/** One error with everything by which it is found. */
export interface KnownError extends ErrorExplanation {
  /** Stable, in kebab-case. Of a code with a symbolic name it is that name. */
  readonly id: string;
  readonly origin: ErrorOrigin;
  /** HRESULTs, unsigned; a Win32 error counts as the HRESULT that holds it. */
  readonly hresults: readonly number[];
  /** The code of the CNI specification, or of the CNI library. */
  readonly cniCode?: number;
  /** Symbolic names. */
  readonly names: readonly string[];
  /** What is printed, in English; `…` stands for words that differ. The first one is shown. */
  readonly texts: readonly string[];
}

/** An error that is known by its text alone. */
export interface PrintedError extends ErrorExplanation {
  readonly texts: readonly string[];
  readonly names?: readonly string[];
  readonly hresults?: readonly number[];
  readonly cniCode?: number;
}

/** Errors of one file by id. */
export type PrintedErrors = Readonly<Record<string, PrintedError>>;
