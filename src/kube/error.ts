/** An error of the Kubernetes API that a program meets in the course of its work. */
import type { KnowledgeCode } from "../knowledge/codes.ts";

export class KubeError extends Error {
  override readonly name = "KubeError";
  readonly code: KnowledgeCode;
  /** The status of HTTP that goes with it. */
  readonly status: number;

  constructor(code: KnowledgeCode, status: number, message: string) {
    super(message);
    this.code = code;
    this.status = status;
  }
}
