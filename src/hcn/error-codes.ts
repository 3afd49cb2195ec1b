/** The HRESULTs of HNS as the contract knows them; their facts stand in the table of errors. */
import { HCN_ERRORS, type HcnErrorCode } from "../knowledge/errors/hcn-errors.ts";

export { HCN_ERRORS, type HcnErrorCode };

/** The name of an HRESULT; undefined when HNS is not known to answer with it. */
export function errorCodeOf(hresult: number): HcnErrorCode | undefined {
  const value = hresult >>> 0;
  for (const [code, facts] of Object.entries(HCN_ERRORS)) {
    if (facts.hresult === value) return code as HcnErrorCode;
  }
  return undefined;
}
