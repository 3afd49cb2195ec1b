/** Failures of CNS in the words of CNI. */
import type { AzureDifferences } from "./differences.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { type AddressStatus, CNS_CODES } from "../cns/documents.ts";
import { type CnsClient, CnsError } from "../cns/client.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

interface Meaning {
  /** What the runtime is asked to do; upstream has one code for all. */
  readonly code: number;
  readonly knowledge: KnowledgeCode;
  readonly step: (origin: string) => string;
}

const UNREACHABLE: Meaning = {
  code: CNI_CODES.tryAgainLater,
  knowledge: "azure-cns-down",
  step: (origin) => WORDS.adviceCnsDown({ origin }),
};
const EXHAUSTED: Meaning = {
  code: CNI_CODES.tryAgainLater,
  knowledge: "azure-cns-pool-exhausted",
  step: () => WORDS.adviceCnsPoolExhausted,
};
const REFUSED: Meaning = {
  code: CNI_CODES.internal,
  knowledge: "azure-cns-refused",
  step: (origin) => `CNS at ${origin} refuses; its log says why`,
};
const BROKEN: Meaning = {
  code: CNI_CODES.decodingFailure,
  knowledge: "azure-cns-answer-wrong",
  step: (origin) => WORDS.adviceCnsAnswerWrong({ origin }),
};
const FAILING: Meaning = {
  code: CNI_CODES.tryAgainLater,
  knowledge: "azure-cns-refused",
  step: (origin) => WORDS.adviceCnsRefused({ origin }),
};

function meaningOf({ failure, code, message }: CnsError): Meaning {
  switch (failure) {
    case "unreachable":
      return UNREACHABLE;
    case "http":
      return FAILING;
    case "broken":
    case "unsupported":
      return BROKEN;
    case "refused": {
      const isExhausted =
        code === CNS_CODES.addressUnavailable ||
        (code === CNS_CODES.failedToAllocate && /not enough IPs|available/i.test(message));
      return isExhausted ? EXHAUSTED : REFUSED;
    }
  }
}

/** Asks CNS, which has to be ready: what STATUS says. @throws CniError (50) */
export async function addressesWhenReady(client: CnsClient): Promise<readonly AddressStatus[]> {
  try {
    return await client.addressesIn("Available");
  } catch (error) {
    const { message, details, knowledge } = cnsFailure("CNS is not ready", error, client, { explains: true });
    throw new CniError(CNI_CODES.pluginNotAvailable, message, { details, knowledge, cause: error });
  }
}

/** The error with what was being done; what is no failure of CNS keeps its code. */
export function cnsFailure(
  action: string,
  error: unknown,
  { origin }: CnsClient,
  { explains }: Pick<AzureDifferences, "explains">,
): CniError {
  if (!(error instanceof CnsError)) {
    const { message, details, knowledge } =
      error instanceof CniError ? error : { message: String(error), details: "", knowledge: undefined };
    return new CniError(CNI_CODES.internal, `${action}: ${message}`, { details, knowledge, cause: error });
  }
  const { code, knowledge, step } = meaningOf(error);
  return new CniError(explains ? code : CNI_CODES.internal, `${action}: ${error.message}`, {
    details: explains ? step(origin) : "",
    knowledge,
    cause: error,
  });
}
