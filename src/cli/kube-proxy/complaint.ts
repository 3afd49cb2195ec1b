/** What ends kube-proxy before it has begun, as the user reads it: upstream's sentence first, then where and what to do. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { type FileProblem, formatProblem } from "#core/catalogue/file-problem.ts";
import { kubeProxy } from "#data/words.js";

const WORDS = kubeProxy();

export interface Complaint {
  /** Upstream's sentence. */
  readonly message: string;
  /** Full sentences; may be empty. */
  readonly advice: string;
  readonly code: KnowledgeCode;
}

/** Ends the program with exit code 1. */
export class StartFailure extends Error {
  override readonly name = "StartFailure";
  readonly complaints: readonly Complaint[];
  readonly problems: readonly FileProblem[];

  constructor(complaints: readonly Complaint[], problems: readonly FileProblem[] = []) {
    super(complaints.map(({ message }) => message).join("; "));
    this.complaints = complaints;
    this.problems = problems;
  }
}

/** Problems that are shown one by one. */
const SHOWN_MAX = 20;

/** All of it, for standard error. */
export function formatFailure({ complaints, problems }: StartFailure): string {
  const lines = complaints.map(
    ({ message, advice, code }) => `Error: ${message} [${code}]\n${advice === "" ? "" : `    ${advice}\n`}`,
  );
  const shown = problems.slice(0, SHOWN_MAX).map((problem) => formatProblem(problem));
  const hidden = problems.length > SHOWN_MAX ? [`… and ${problems.length - SHOWN_MAX} more\n`] : [];
  const codes = [...new Set([...complaints, ...problems].map(({ code }) => code))];
  const more = codes.length === 0 ? "" : `    More: mullion explain ${codes[0]}\n`;
  return [...lines, ...shown, ...hidden, more].join("");
}

/** What to do about a start that failed, by upstream's sentence. */
const ADVICE: readonly (readonly [pattern: RegExp, code: KnowledgeCode, advice: string])[] = [
  [/KUBE_NETWORK and network-flag/, "kube-proxy-without-network-name", WORDS.adviceNetworkName],
  [/source-vip flag not set/, "kube-proxy-without-source-vip", WORDS.adviceSourceVip],
  [
    /WinDSR feature gate/,
    "kube-proxy-dsr-without-gate",
    "Add --feature-gates=WinDSR=true, or featureGates: {WinDSR: true}; or leave out --enable-dsr.",
  ],
  [
    /does not support it|without Direct Server Return/,
    "kube-proxy-dsr-without-support",
    "Leave out --enable-dsr, or bring Windows up to date.",
  ],
  [
    /WinOverlay feature gate/,
    "kube-proxy-feature-gate-refused",
    "Add --feature-gates=WinOverlay=true, or featureGates: {WinOverlay: true}.",
  ],
  [/could not find host mac address/, "kube-proxy-cannot-start", WORDS.adviceHostMac],
  [/HNS lists no policies|HNS does not tell its version/, "hns-unreachable", WORDS.adviceStartHns],
  [/^the Node \S+ (?:has other addresses|was deleted)/, "kube-proxy-cannot-start", WORDS.adviceRestart],
  [
    /failed to start proxy (?:healthz|metrics)/,
    "kube-proxy-port-unavailable",
    "Take another port with --healthz-bind-address or --metrics-bind-address, or leave out --bind-address-hard-fail.",
  ],
];

/** A failed start with advice. */
export function complaintOf(message: string): Complaint {
  const found = ADVICE.find(([pattern]) => pattern.test(message));
  return { message, code: found?.[1] ?? "kube-proxy-cannot-start", advice: found?.[2] ?? "" };
}
