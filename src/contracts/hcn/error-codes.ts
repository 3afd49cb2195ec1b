/**
 * The HRESULTs of HNS with their system messages (hcn.md §6.1, §6.2): numbers in `data/facts/hresults.yaml`, texts, which are
 * Microsoft's public ones without the full stop and the blank that Windows puts behind them, in `data/words/hresults.md`.
 */
import { hresults as numbers } from "#data/facts.js";
import { type Hresults, hresults } from "#data/words.js";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";

export type HcnErrorCode = keyof Hresults;

/** An HRESULT: its unsigned value, and the system's message, which is read when it is asked for. */
export interface HcnErrorFacts {
  readonly hresult: number;
  readonly text: string;
}

const WORDS = hresults();
const NUMBERS = CheckedFields.ofTable(numbers());
const CODES = NUMBERS.names() as readonly HcnErrorCode[];

function factsOf(code: HcnErrorCode): HcnErrorFacts {
  return {
    hresult: NUMBERS.number(code),
    get text(): string {
      return WORDS[code];
    },
  };
}

/** All HRESULTs by name. */
export const HCN_ERRORS: Readonly<Record<HcnErrorCode, HcnErrorFacts>> = Object.fromEntries(
  CODES.map((code) => [code, factsOf(code)]),
) as Readonly<Record<HcnErrorCode, HcnErrorFacts>>;

/** The name of an HRESULT; undefined when HNS is not known to answer with it. */
export function errorCodeOf(hresult: number): HcnErrorCode | undefined {
  const value = hresult >>> 0;
  return CODES.find((code) => HCN_ERRORS[code].hresult === value);
}
