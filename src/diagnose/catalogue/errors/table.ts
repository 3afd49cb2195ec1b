/** The table of errors: one row per error, from the files of `data/errors/`. */
import { listSubjects, readText } from "#data/texts.js";
import { HCN_ERRORS, type HcnErrorCode } from "#contracts/hcn/error-codes.ts";
import { FrontMatter } from "../front-matter.ts";
import { CALL_IDS } from "./calls.ts";
import { ERROR_ORIGINS, type ErrorOrigin, type KnownError, STANDINGS } from "./known-error.ts";

const SHELF = "errors";
const ANY_CALL = "any";
const HCN_NAMES = Object.keys(HCN_ERRORS) as HcnErrorCode[];

/** The calls in which a code has this cause: a list, or `any`. */
function callsOf(file: FrontMatter): Pick<KnownError, "calls"> {
  const calls = file.words("calls", [...CALL_IDS, ANY_CALL]);
  if (calls.includes(ANY_CALL)) return { calls: ANY_CALL };
  return calls.length === 0 ? {} : { calls: calls.filter((call) => call !== ANY_CALL) };
}

function readError(origin: ErrorOrigin, id: string): KnownError {
  const file = new FrontMatter(`${SHELF}/${origin}/${id}`, readText(SHELF, origin, id));
  // Its number, name and text the contract has, too.
  const hcn = file.optionalWord("hcn", HCN_NAMES);
  const facts = hcn === undefined ? undefined : HCN_ERRORS[hcn];
  const cniCode = file.optionalNumber("cniCode");
  const related = file.optionalCode("related");
  const certainty = file.optionalWord("certainty", ["likely"] as const);
  const codes = file.texts("codes").map(Number);
  const error: KnownError = {
    id,
    origin,
    hresults: [...(facts === undefined ? [] : [facts.hresult]), ...file.texts("numbers").map(Number)],
    ...(cniCode !== undefined && { cniCode }),
    names: [...(hcn === undefined ? [] : [hcn]), ...file.texts("names")],
    texts: [...(facts === undefined ? [] : [facts.text]), ...file.texts("texts")],
    standing: file.word("standing", STANDINGS),
    cause: file.section(""),
    next: file.texts("next"),
    remedy: file.section("Remedy"),
    ...(related !== undefined && { related }),
    sources: file.sources(),
    ...(file.isSet("inferred") && { isInferred: true }),
    ...(certainty !== undefined && { certainty }),
    ...callsOf(file),
    ...(codes.length > 0 && { codes }),
  };
  file.end();
  return Object.freeze(error);
}

/** Codes of HNS are in the order of the contract, which is that of their numbers, and before other texts. */
function rankOf({ names }: KnownError): number {
  const index = HCN_NAMES.findIndex((name) => name === names[0]);
  return index < 0 ? HCN_NAMES.length : index;
}

/** Every error, by origin. */
export const KNOWN_ERRORS: readonly KnownError[] = Object.freeze(
  listSubjects(SHELF).flatMap(({ folder, names }) => {
    const origin = ERROR_ORIGINS.find((each) => each === folder);
    const errors = origin === undefined ? [] : names.map((id) => readError(origin, id));
    return errors.toSorted((a, b) => rankOf(a) - rankOf(b));
  }),
);
