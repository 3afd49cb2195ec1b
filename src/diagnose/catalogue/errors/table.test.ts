import { describe, expect, it } from "vitest";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { findCode } from "../find-code.ts";
import { numberSpellings } from "../log/signatures.ts";
import { piecesOf } from "../log/squeeze.ts";
import { blocksOf } from "../prose.ts";
import { findError } from "./find-error.ts";
import { formatNumber } from "./windows/hresult.ts";
import type { KnownError } from "./known-error.ts";
import { KNOWN_ERRORS } from "./table.ts";

/** Stands in for the words that differ. */
const FILLED = "cbr0";

function idsFor(query: string): readonly string[] {
  return findError(query).errors.map((error) => error.id);
}

function duplicatesOf(items: readonly string[]): readonly string[] {
  return items.filter((item, index) => items.indexOf(item) !== index);
}

describe("the table of errors", () => {
  it("has at least 90 errors, with different ids that are no codes of the catalogue", () => {
    const ids = KNOWN_ERRORS.map((error) => error.id);
    expect(ids.length).toBeGreaterThanOrEqual(90);
    expect(duplicatesOf(ids)).toEqual([]);
    expect(ids.filter((id) => findCode(id).code !== undefined)).toEqual([]);
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
      "hcs-e-unexpected-exit in hcs-e-terminated-during-start",
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
    const filled = text.replaceAll("…", FILLED);
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
    ...(error.hresults.length + error.texts.length + error.names.length > 0 || error.cniCode !== undefined
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
