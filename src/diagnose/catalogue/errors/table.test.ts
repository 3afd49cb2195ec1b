import { describe, expect, it } from "vitest";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { HCN_ERRORS } from "#contracts/hcn/error-codes.ts";
import { findCode } from "../catalogue.ts";
import { buildSignatures, numberSpellings } from "../log/signatures.ts";
import { blocksOf } from "../prose.ts";
import { CALLS, CALL_IDS } from "./calls.ts";
import { findError } from "./find-error.ts";
import { HOLE_KINDS, filledText, patternOf } from "./holes.ts";
import { formatNumber } from "./windows/hresult.ts";
import type { KnownError } from "./known-error.ts";
import { KNOWN_ERRORS } from "./table.ts";

function piecesOf(text: string): readonly string[] {
  return patternOf(text).pieces;
}

const SIGNATURES = buildSignatures();

function idsFor(query: string): readonly string[] {
  return findError(query, SIGNATURES).errors.map((error) => error.id);
}

function duplicatesOf(items: readonly string[]): readonly string[] {
  return items.filter((item, index) => items.indexOf(item) !== index);
}

describe("the table of errors", () => {
  it("has at least 90 errors, with different ids that are no codes of the catalogue", () => {
    const ids = KNOWN_ERRORS.map((error) => error.id);
    expect(ids.length).toBeGreaterThanOrEqual(90);
    expect(duplicatesOf(ids)).toEqual([]);
    // Ids are spelt as codes are, so looking them up as a user's words would find no more.
    const codes = new Set<string>(KNOWLEDGE_CODES);
    expect(ids.filter((id) => codes.has(id))).toEqual([]);
  });

  it("explains every code of HNS", () => {
    const names = new Set(KNOWN_ERRORS.flatMap((error) => error.names));
    expect(Object.keys(HCN_ERRORS).filter((name) => !names.has(name))).toEqual([]);
  });

  it("has each number, CNI code and name once", () => {
    expect(duplicatesOf(KNOWN_ERRORS.flatMap((error) => error.hresults.map(formatNumber)))).toEqual([]);
    expect(duplicatesOf(KNOWN_ERRORS.flatMap((error) => String(error.cniCode ?? error.id)))).toEqual([]);
    expect(duplicatesOf(KNOWN_ERRORS.flatMap((error) => error.names))).toEqual([]);
  });

  it("has each text once, but for the two pairs that Windows prints alike", () => {
    const texts = KNOWN_ERRORS.flatMap((error) => error.texts.map((text) => piecesOf(text).join(" ")));
    expect(duplicatesOf(texts).toSorted()).toEqual([
      "anetworkwiththisnamealreadyexists",
      "thespecifiedrequestisunsupported",
    ]);
  });

  it("has hardly a text within the text of another error; the longer one is meant", () => {
    const texts = KNOWN_ERRORS.flatMap(({ id, texts: own }) =>
      own
        .filter((text) => piecesOf(text).length === 1)
        .map((text) => ({ id, text: piecesOf(text)[0] ?? "" })),
    );
    const within = texts.flatMap(({ id, text }) =>
      texts
        .filter((other) => other.id !== id && other.text !== text && other.text.includes(text))
        .map((other) => `${id} in ${other.id}`),
    );
    expect([...new Set(within)].toSorted()).toEqual([
      "cni-add-failed in cni-plugin-said-nothing",
      "error-file-not-found in kubelet-start-lines",
      "flanneld-no-default-interface in flanneld-two-default-routes",
      "hcs-e-unexpected-exit in hcs-e-terminated-during-start",
      "kube-proxy-flag-unknown in kubelet-flag-unknown",
      "kubelet-pleg in kubelet-start-lines",
    ]);
  });
});

/** What can be asked for an error: one row per spelling. */
const QUESTIONS = KNOWN_ERRORS.flatMap((error) => {
  const numbers = error.hresults.flatMap((hresult) => {
    const hex = hresult.toString(16);
    const isWin32 = hresult >>> 16 === 0x8007;
    const short = isWin32 ? [`0x${(hresult & 0xffff).toString(16)}`, String(hresult & 0xffff)] : [];
    return [...numberSpellings(hresult), hex.toUpperCase(), `hr=0x${hex}`, `(0x${hex})`, ...short];
  });
  const texts = error.texts.flatMap((text) => {
    const filled = filledText(text);
    return [filled, `${filled}.`, filled.toUpperCase()];
  });
  const cni = error.cniCode === undefined ? [] : [String(error.cniCode)];
  return [error.id, ...error.names, ...numbers, ...texts, ...cni].map((query) => [query, error.id] as const);
});

describe("mullion explain reaches", () => {
  it("every error by id, name, number in each spelling, and text", () => {
    expect(QUESTIONS.length).toBeGreaterThan(1_500);
    expect(QUESTIONS.filter(([query, id]) => !idsFor(query).includes(id))).toEqual([]);
  });

  it("every entry of the catalogue by its code", () => {
    expect(KNOWLEDGE_CODES.filter((code) => findCode(code).code !== code)).toEqual([]);
  });
});

function problemsOf(error: KnownError): readonly string[] {
  const paragraphs = [error.cause, error.remedy].flatMap((text) =>
    blocksOf(text).flatMap((block) => (block.kind === "paragraph" ? [block.text] : [])),
  );
  return [
    ...(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(error.id) ? [] : ["id"]),
    ...(error.hresults.length + error.texts.length + error.names.length > 0 ||
    error.cniCode !== undefined ||
    (error.codes !== undefined && error.calls !== undefined)
      ? []
      : ["nothing to find it by"]),
    ...paragraphs.filter((text) => !/[.:…]$/.test(text) || text.includes("  ") || text.length < 8),
    ...(error.next.length > 0 ? [] : ["no next command"]),
    ...error.next.filter((command) => command !== command.trim() || command === ""),
    ...(error.sources.length > 0 ? [] : ["no source"]),
    ...error.sources.flatMap((source) =>
      source.url === undefined || /^https:\/\/\S+$/.test(source.url) ? [] : [source.url],
    ),
    ...error.texts.filter((text) => text.endsWith(".") && text !== "General failure."),
    ...(error.cause.length >= 30 ? [] : ["short cause"]),
  ];
}

describe("each error", () => {
  it("says why, what to run next, what to do, and where it is from", () => {
    const problems = KNOWN_ERRORS.flatMap((error) =>
      problemsOf(error).map((problem) => `${error.id}: ${problem}`),
    );
    expect(problems).toEqual([]);
  });
});

describe("a match names a call or a message, and what may differ in it", () => {
  it("holes say what stands in them; a hole for any words has whole messages around it", () => {
    const texts = KNOWN_ERRORS.flatMap(({ id, texts: own }) => own.map((text) => ({ id, text })));
    const bare = texts.filter(({ text }) => /…|\.\.\./.test(text) || hasUnknownHole(text));
    expect(bare).toEqual([]);
    const WORDS_BETWEEN_MIN = 6;
    const loose = texts.filter(({ text }) => {
      const { pieces, holes } = patternOf(text);
      return holes.includes("words") && pieces.some((piece) => piece.length < WORDS_BETWEEN_MIN);
    });
    expect(loose).toEqual([]);
  });

  it("a code that any call of Windows may return says in which calls it has its cause", () => {
    const WIN32 = 0x8007;
    const boundless = KNOWN_ERRORS.filter(
      ({ hresults, calls }) => calls === undefined && hresults.some((hresult) => hresult >>> 16 === WIN32),
    );
    expect(boundless.map(({ id }) => id)).toEqual([]);
  });

  it("no mark of a call is short, or stands for two calls", () => {
    const marks = CALL_IDS.flatMap((call) => CALLS[call].marks.map((mark) => piecesOf(mark)[0] ?? ""));
    expect(marks.filter((mark) => mark.length < 5)).toEqual([]);
    expect(duplicatesOf(marks)).toEqual([]);
  });

  it("rows without text and number name calls and codes, and no call has two meanings of one code", () => {
    const rows = KNOWN_ERRORS.filter(
      ({ codes, texts, hresults }) => codes && texts.length + hresults.length === 0,
    );
    const pairs = rows.flatMap(({ codes = [], calls = [] }) =>
      codes.flatMap((code) => (calls === "any" ? [] : calls).map((call) => `${formatNumber(code)} ${call}`)),
    );
    expect(rows.length).toBeGreaterThan(10);
    expect(duplicatesOf(pairs)).toEqual([]);
  });
});

function hasUnknownHole(text: string): boolean {
  const kinds = [...text.matchAll(/\{([a-z]+)\}/g)].map(([, kind]) => kind);
  return kinds.some((kind) => !HOLE_KINDS.some((known) => known === kind));
}
