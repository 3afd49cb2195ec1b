/** What calls fail with because of faults: each error names its fault, so that nobody looks for it in Windows. */
import { HcnError } from "#contracts/hcn/error.ts";
import { type HcnErrorCode, errorCodeOf } from "#contracts/hcn/error-codes.ts";
import { hresultOf } from "#contracts/hcn/faults/read-fault.ts";

/** An error of a fault, given by name or number. */
export function injectedError(error: string | number, faultId: string, what: string): HcnError {
  const options = {
    detail: `injected fault ${faultId}: ${what}`,
    explanation: "hns-fault-injected",
  } as const;
  const hresult = hresultOf(error) ?? 0;
  const code: HcnErrorCode | undefined = errorCodeOf(hresult);
  if (code !== undefined) return new HcnError(code, options);
  const text = `Injected error 0x${hresult.toString(16).padStart(8, "0")}. `;
  return HcnError.fromRecord({ Error: text, ErrorCode: hresult }, options);
}

/** True when a failing v1 call has to fail as a whole, and not in its envelope: nobody is there to write one. */
export function isUnreachable(error: HcnError): boolean {
  return error.code === "RPC_S_SERVER_UNAVAILABLE" || error.code === "EPT_S_NOT_REGISTERED";
}
