/** A question that the cluster cannot take: said with its code and what to do. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";

export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly code: KnowledgeCode;
  /** Full sentences: what to write instead. */
  readonly advice: string;

  constructor(code: KnowledgeCode, message: string, advice: string) {
    super(message);
    this.code = code;
    this.advice = advice;
  }
}
