/** What keeps a node from the hybrid overlay, or others from the node. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";

export interface HybridOverlayFinding {
  readonly code: KnowledgeCode;
  /** One sentence without a full stop. */
  readonly message: string;
}
