/** Asks the control API below the token, and keeps what a page shows fresh. */
import { createContext } from "preact";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { BringUpState, UiAbout } from "#cli/mullion/web/about.ts";
import type { ErrorDetails } from "#cluster/api/documents.ts";
import { visibleText } from "#core/base/visible-text.ts";
import { type Explanations, shown } from "./document.ts";

/** The token is the first part of the address. */
export const BASE = location.pathname.split("/").slice(0, 2).join("/");
const API = `${BASE}/api/v1alpha1`;

/** What the pages are over: it stands in the page. */
export const ABOUT = shown(
  JSON.parse(document.querySelector<HTMLElement>("#root")?.dataset["about"] ?? "") as UiAbout,
);

/** Of the cluster that is not up yet. */
export async function getBringUp(): Promise<BringUpState> {
  return ask(`${BASE}/bring-up`);
}

/** A file that is sent along. */
export interface GivenText {
  readonly name: string;
  readonly text: string;
}

/** What the server refused, or that it is not there. */
export class Problem extends Error {
  readonly details: ErrorDetails;

  constructor(details: ErrorDetails) {
    super(details.message);
    this.details = details;
  }
}

const AWAY: ErrorDetails = {
  code: "cluster-unreachable",
  message: "mullion ui does not answer",
  advice: "It may have been ended: run mullion ui again. This page goes on when it is back.",
};

async function answerOf(response: Response): Promise<unknown> {
  const text = await response.text();
  const body = JSON.parse(text) as unknown;
  // Where nothing is to be made visible, escaped or not, megabytes need no second look.
  const isPlain = !text.includes("\\u") && visibleText(text) === text;
  const answer = isPlain ? body : shown(body);
  if (response.ok) return answer;
  const { error } = answer as { readonly error?: ErrorDetails };
  throw new Problem(error ?? { ...AWAY, message: `the server answers ${response.status}` });
}

async function ask<T>(url: string, init?: RequestInit): Promise<T> {
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch {
    throw new Problem(AWAY);
  }
  return (await answerOf(response)) as T;
}

export async function get<T>(path: string): Promise<T> {
  return ask(`${API}${path}`);
}

function jsonBody(body: object): RequestInit {
  return { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

export async function post<T>(path: string, body: object): Promise<T> {
  return ask(`${API}${path}`, jsonBody(body));
}

/** Lint and doctor, of the files of the command line or of those given. */
export async function examine<T>(verb: "lint" | "doctor", inputs?: readonly GivenText[]): Promise<T | null> {
  return ask(`${BASE}/run/${verb}`, inputs === undefined ? undefined : jsonBody({ inputs }));
}

/** A line of an answer that comes in lines. */
interface AnswerLine {
  readonly progress?: string;
  readonly answer?: unknown;
  readonly error?: ErrorDetails;
}

const STOPPED: ErrorDetails = {
  code: "verification-incomplete",
  message: "the comparison was stopped",
  advice: "It begins anew with Try again.",
};

async function lastLine(response: Response, onProgress: (text: string) => void): Promise<AnswerLine> {
  let [rest, last] = ["", {} as AnswerLine];
  const reader = (response.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  for (;;) {
    const { done, value = "" } = await reader.read();
    const lines = `${rest}${value}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      last = JSON.parse(line) as AnswerLine;
      if (last.progress !== undefined) onProgress(last.progress);
    }
    if (done) return last;
  }
}

/** The files on several builds, or texts of before and the cluster that runs. */
export async function runCompare<T>(
  question: { readonly profiles: readonly string[] } | { readonly before: readonly GivenText[] },
  onProgress: (text: string) => void,
  signal: AbortSignal,
): Promise<T> {
  try {
    const response = await fetch(`${BASE}/run/compare`, { ...jsonBody(question), signal });
    if (!response.ok) return (await answerOf(response)) as T;
    const { answer, error } = await lastLine(response, onProgress);
    if (answer !== undefined) return shown(answer) as T;
    throw new Problem(error ?? AWAY);
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(signal.aborted ? STOPPED : AWAY);
  }
}

/** Grows with each thing that happens in the cluster. */
export const Changes = createContext(0);

export interface Answer<T> {
  /** The newest; what was there before stays until the next one is. */
  readonly value: T | undefined;
  readonly problem: ErrorDetails | undefined;
  readonly isWaiting: boolean;
  readonly reload: () => void;
}

function problemOf(error: unknown): ErrorDetails {
  if (error instanceof Problem) return error.details;
  return { code: "internal-fault", message: String(error), advice: "Load the page again." };
}

/** Answers a question now and again when the cluster changes; undefined asks nothing. */
export function useAnswer<T>(
  question: (() => Promise<T>) | undefined,
  key: string,
  isReady = true,
): Answer<T> {
  const changes = useContext(Changes);
  const [tries, setTries] = useState(0);
  const [state, setState] = useState<Omit<Answer<T>, "reload">>({
    value: undefined,
    problem: undefined,
    isWaiting: true,
  });
  const lastKey = useRef(key);
  useEffect(() => {
    if (question === undefined) return undefined;
    let isCurrent = true;
    const isOther = lastKey.current !== key;
    lastKey.current = key;
    setState(({ value, problem }) => ({ value: isOther ? undefined : value, problem, isWaiting: true }));
    question().then(
      (value) => isCurrent && setState({ value, problem: undefined, isWaiting: false }),
      (error: unknown) =>
        isCurrent && setState(({ value }) => ({ value, problem: problemOf(error), isWaiting: false })),
    );
    return () => {
      isCurrent = false;
    };
  }, [key, changes, tries, isReady]);
  return { ...state, reload: () => setTries(tries + 1) };
}

const CODE_FIELDS: readonly string[] = ["code", "observed"];

function codesOf(value: unknown, found: Set<string>, name = ""): Set<string> {
  if (typeof value === "string" && CODE_FIELDS.includes(name) && /^[a-z0-9-]+$/.test(value)) found.add(value);
  if (typeof value === "object" && value !== null)
    for (const [field, each] of Object.entries(value)) codesOf(each, found, field);
  return found;
}

const NO_EXPLANATIONS: Explanations = {};

/** What the catalogue says of the codes in a document. */
export function useExplanations(document: unknown): Explanations {
  // A report of a large cluster is not looked through for each letter that somebody types.
  const codes = useMemo(() => [...codesOf(document, new Set())].sort().join(","), [document]);
  const { value } = useAnswer(
    codes === "" ? undefined : () => ask<Explanations>(`${BASE}/explain/${codes}`),
    codes,
  );
  return value ?? NO_EXPLANATIONS;
}
