/** Failures of HNS as kube-proxy distinguishes them (kube-proxy.md §3.7). */
import { HcnError, HcnNotFoundError, formatHresult, isNotFoundError } from "#contracts/hcn/error.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";

/** A call that HNS refused or did not answer. */
export type HnsFailure = HcnError | HcnNotFoundError;

/** What a call came to. */
export type Attempt<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: HnsFailure };

/** Makes a call whose failure is expected. Anything that is no failure of HNS is a bug of ours and goes on. */
export async function attempt<T>(call: () => Promise<T>): Promise<Attempt<T>> {
  try {
    return { ok: true, value: await call() };
  } catch (error) {
    if (error instanceof HcnError || error instanceof HcnNotFoundError) return { ok: false, failure: error };
    throw error;
  }
}

export function isNotFound(failure: HnsFailure): boolean {
  return isNotFoundError(failure);
}

export function isNotImplemented(failure: HnsFailure): boolean {
  return failure instanceof HcnError && failure.code === "E_NOTIMPL";
}

/** Upstream's test for an HNS that does not run: the interface is not registered. */
export function isNotRunning(failure: HnsFailure): boolean {
  return failure instanceof HcnError && failure.code === "RPC_S_UNKNOWN_IF";
}

/** The service does not run, or cannot be reached: it may come back. */
export function isAway(failure: HnsFailure): boolean {
  return isUnanswered(failure) || (failure instanceof HcnError && failure.code === "EPT_S_NOT_REGISTERED");
}

/** Something stands where the new object should: its front end, or its address. */
export function isAlreadyThere(failure: HnsFailure): boolean {
  return (
    failure instanceof HcnError &&
    (failure.code === "HCN_E_PORT_ALREADY_EXISTS" || failure.code === "ERROR_ALREADY_EXISTS")
  );
}

/** No answer came, or not in time: the call may have been carried out. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof HcnError && error.code === "RPC_S_SERVER_UNAVAILABLE";
}

/** What HNS said, with its number. */
export function failureText(failure: HnsFailure): string {
  return failure instanceof HcnError
    ? `${failure.message} (${formatHresult(failure.hresult)})`
    : failure.message;
}

/** Back ends that every build takes in one load balancer. */
const BACK_ENDS_ALWAYS = 64;

/** The entry that explains a refused load balancer. Windows says "invalid parameter" to too many back ends. */
export function explanationOfRefusal(failure: HnsFailure, backEnds: number): KnowledgeCode {
  if (isAlreadyThere(failure)) return explanationOf(failure, "load-balancer-port-already-exists");
  const isInvalid = failure instanceof HcnError && failure.code === "ERROR_INVALID_PARAMETER";
  const areMany = isInvalid && backEnds > BACK_ENDS_ALWAYS;
  return explanationOf(failure, areMany ? "too-many-back-ends" : "service-load-balancer-refused");
}

/** The entry that explains why the source VIP has no endpoint: most often it is of another subnet (kube-proxy.md §2.3). */
export function explanationOfSourceVip(failure: HnsFailure): KnowledgeCode {
  const isAddress =
    failure instanceof HcnError &&
    (failure.code === "HCN_E_INVALID_IP" || failure.code === "HCN_E_ADDR_INVALID_OR_RESERVED");
  return isAddress
    ? "kube-proxy-source-vip-invalid"
    : explanationOf(failure, "service-remote-endpoint-refused");
}

/** The entry that explains it: the one HNS names, or `otherwise`. */
export function explanationOf(failure: HnsFailure, otherwise: KnowledgeCode): KnowledgeCode {
  return (failure instanceof HcnError ? failure.explanation : undefined) ?? otherwise;
}
