/** The envelope of an answer of HNS v1 (hcn.md §1.7). Its keys come in alphabetical order, as Windows writes them. */
import type { JsonObject, JsonValue } from "../../hcn/client.ts";
import type { HcnError } from "../../hcn/error.ts";
import type { HnsVersion } from "../../hcn/features.ts";

/** From 1809 on failures have a number; before, HNS 7 and 8 said only the text. */
const ERROR_CODE_SINCE_MAJOR = 9;

/** `output` is undefined for calls without a result. */
export function successEnvelope(output: JsonValue | undefined): JsonObject {
  return output === undefined ? { Success: true } : { Output: output, Success: true };
}

/** The envelope of a refusal, as `version` of HNS writes it. */
export function failureEnvelope(error: HcnError, version: HnsVersion): JsonObject {
  const { Error: text, ErrorCode } = error.toRecord();
  if (version.Major < ERROR_CODE_SINCE_MAJOR) return { Error: text, Success: false };
  return { Error: text, ErrorCode, Success: false };
}
