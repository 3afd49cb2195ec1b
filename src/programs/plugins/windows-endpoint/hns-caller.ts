/** Calls to HNS with their failures as errors of CNI, in the sentences of the Go client (cni.md §2.1, hcn.md §6.3). */
import type { EndpointDifferences } from "./differences.ts";
import { CNI_CODES, CniError, annotate, attemptAll, toCniError } from "#contracts/cni/error.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { HcnError, HcnNotFoundError, formatFailedCall, isNotFoundError } from "#contracts/hcn/error.ts";
import { ComputeSystemError } from "#contracts/hcn/v1-operations.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";

function explanationOf(error: HcnError): KnowledgeCode | undefined {
  if (error.explanation !== undefined) return error.explanation;
  const isDown = error.code === "RPC_S_SERVER_UNAVAILABLE" || error.code === "EPT_S_NOT_REGISTERED";
  return isDown ? "hns-unreachable" : undefined;
}

function hnsFailure(error: unknown): unknown {
  if (error instanceof ComputeSystemError) {
    return new CniError(CNI_CODES.internal, error.message, { cause: error.cause });
  }
  if (error instanceof HcnNotFoundError) {
    // The v1 client puts names without quotes.
    const what = error.what.split(" ")[0] ?? error.what;
    return new CniError(CNI_CODES.internal, `${what} ${error.value} not found`, { cause: error });
  }
  if (!(error instanceof HcnError)) return error;
  const text = error.toRecord().Error;
  return new CniError(CNI_CODES.internal, `hns failed with error : ${text}`, {
    knowledge: explanationOf(error),
    cause: error,
  });
}

/** Chooses the name of the native function that failed. */
export type CallNamer = (error: HcnError) => string;

/** A namespace that is gone fails to open, before it can be modified. */
export function namespaceCall(error: HcnError): string {
  return error.code === "ERROR_NOT_FOUND" ? "hcnOpenNamespace" : "hcnModifyNamespace";
}

/** Makes calls to HNS and puts their failures into the words of CNI. */
export class HnsCaller {
  readonly client: HcnClient;
  private readonly tellsDetails: boolean;

  constructor(client: HcnClient, { tellsDetails }: Pick<EndpointDifferences, "tellsDetails">) {
    this.client = client;
    this.tellsDetails = tellsDetails;
  }

  /**
   * Makes an HCN call; `name` is the native function with its first letter small, which may depend on the
   * failure. Look-ups that find nothing keep their `HcnNotFoundError`. Hardened adds what is wrong, where the
   * service says it.
   */
  async hcn<T>(name: string | CallNamer, run: (client: HcnClient) => Promise<T>): Promise<T> {
    try {
      return await run(this.client);
    } catch (error) {
      if (!(error instanceof HcnError)) throw error;
      const call = typeof name === "string" ? name : name(error);
      throw new CniError(CNI_CODES.internal, formatFailedCall(call, error), {
        knowledge: explanationOf(error),
        details: this.tellsDetails ? (error.detail ?? "") : "",
        cause: error,
      });
    }
  }

  /** Makes an HNS v1 call. */
  async hns<T>(run: (client: HcnClient) => Promise<T>): Promise<T> {
    try {
      return await run(this.client);
    } catch (error) {
      throw hnsFailure(error);
    }
  }
}

/** The error below annotations and translations. */
function rootCause(error: unknown): unknown {
  let cause = error;
  while (cause instanceof CniError && cause.cause !== undefined) cause = cause.cause;
  return cause;
}

/** True when what was called for does not exist. */
export function isMissing(error: unknown): boolean {
  return isNotFoundError(rootCause(error));
}

/** What `work` gives; undefined when what it called for does not exist. */
export async function unlessMissing<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Clears away after a failure: that one is reported, and what is left is found again by its name. */
export async function quietly(work: () => Promise<unknown>): Promise<void> {
  await attemptAll([work]);
}

/** Upstream's test, which does not know HCN's own codes (cni.md §2.0). */
export function isMissingForUpstream(error: unknown): boolean {
  const cause = rootCause(error);
  if (cause instanceof HcnNotFoundError) return true;
  return cause instanceof HcnError && cause.code === "ERROR_NOT_FOUND";
}

/** True when the failure is HNS's code `code`. */
export function hasHcnCode(error: unknown, code: HcnError["code"]): boolean {
  const cause = rootCause(error);
  return cause instanceof HcnError && cause.code === code;
}

/** The same error with the entry of the catalogue that explains it. */
export function withKnowledge(error: unknown, knowledge: KnowledgeCode): CniError {
  const { code, message, details, knowledge: known } = toCniError(error);
  return new CniError(code, message, { details, knowledge: known ?? knowledge, cause: error });
}

/** The network of a look-up. @throws CniError, which explains one that is missing */
export async function requireFound<T>(sentence: string, look: () => Promise<T>): Promise<T> {
  try {
    return await look();
  } catch (error) {
    const failure = annotate(error, sentence);
    throw isMissing(error) ? withKnowledge(failure, "cni-network-not-found") : failure;
  }
}
