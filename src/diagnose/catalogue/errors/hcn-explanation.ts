/** How the errors are written whose number, name and text `#contracts/hcn/error-codes.ts` holds. */
import type { HcnErrorCode } from "#contracts/hcn/error-codes.ts";
import type { ErrorExplanation } from "./known-error.ts";

export interface HcnExplanation extends ErrorExplanation {
  /** Further texts under which it is met. */
  readonly moreTexts?: readonly string[];
  /** Further names. */
  readonly moreNames?: readonly string[];
  /** Further numbers. */
  readonly moreHresults?: readonly number[];
}

export type HcnExplanations<Code extends HcnErrorCode> = Readonly<Record<Code, HcnExplanation>>;
