/** Asks the control API below the token, and keeps what a page shows fresh. */
import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { ErrorDetails } from "#cluster/api/documents.ts";
import { type Explanations, shown } from "./document.ts";

/** The token is the first part of the address. */
export const BASE = location.pathname.split("/").slice(0, 2).join("/");
const API = `${BASE}/api/v1alpha1`;

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
  const body: unknown = await response.json();
  if (response.ok) return shown(body);
  const { error } = body as { readonly error?: ErrorDetails };
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
export async function examine<T>(
  verb: "lint" | "doctor",
  inputs?: readonly { readonly name: string; readonly text: string }[],
): Promise<T | null> {
  return ask(`${BASE}/run/${verb}`, inputs === undefined ? undefined : jsonBody({ inputs }));
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
export function useAnswer<T>(question: (() => Promise<T>) | undefined, key: string): Answer<T> {
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
  }, [key, changes, tries]);
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
  const codes = [...codesOf(document, new Set())].sort().join(",");
  const { value } = useAnswer(
    codes === "" ? undefined : () => ask<Explanations>(`${BASE}/explain/${codes}`),
    codes,
  );
  return value ?? NO_EXPLANATIONS;
}
