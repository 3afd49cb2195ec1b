/** What a failed call of the DLLs says, as an `HcnError`. */
import { errorCodeOf } from "../error-codes.ts";
import { HcnError, formatHresult } from "../error.ts";
import { parseHttpError } from "../http/http-protocol.ts";
import { isJsonObject } from "#core/base/json.ts";
import { parseAnswerText } from "../description/json.ts";

const HNS_GONE: readonly string[] = ["RPC_S_SERVER_UNAVAILABLE", "EPT_S_NOT_REGISTERED", "RPC_S_UNKNOWN_IF"];

/** An HRESULT that came without a record. */
export function errorOfHresult(hresult: number, detail?: string): HcnError {
  const code = errorCodeOf(hresult);
  if (code !== undefined) return new HcnError(code, detail === undefined ? {} : { detail });
  const reported = { Error: `The call failed with ${formatHresult(hresult)}. `, ErrorCode: hresult };
  return new HcnError("unknown", { reported, ...(detail !== undefined && { detail }) });
}

/**
 * The error of a call with its record (hcn.md §6.3). The HRESULT counts; a record that says another number, or is
 * none, is only shown.
 */
export function errorOfRecord(hresult: number, record: string | undefined): HcnError {
  if (record === undefined || record === "") return errorOfHresult(hresult);
  try {
    const value = parseAnswerText(record);
    const error = isJsonObject(value) && value["ErrorCode"] === hresult && parseHttpError({ error: value });
    if (error instanceof HcnError) return error;
  } catch {
    // Shown below, as it came.
  }
  return errorOfHresult(hresult, record);
}

/** The error of a call of HCS: `{"Error":<HRESULT>,"ErrorMessage":"…"}`. */
export function errorOfResult(hresult: number, result: string | undefined): HcnError {
  return errorOfHresult(hresult, result === undefined || result === "" ? undefined : result);
}

/** True when the service did not answer, and so there is nothing that an envelope could say. */
export function isGone(error: HcnError): boolean {
  return HNS_GONE.includes(error.code);
}
