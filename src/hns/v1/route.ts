/** What the routes of HNS v1 are made of (hcn.md §1.7). */
import type { JsonValue } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { parseJsonText } from "#contracts/hcn/description/json.ts";
import type { ServiceContext } from "../service/service-context.ts";

export interface V1Request {
  readonly context: ServiceContext;
  /** The id in the path; empty for lists. */
  readonly id: Guid;
  readonly body: string;
  /** The switch layer is wanted, too: `?detailed=true`. */
  readonly isDetailed: boolean;
}

/** @returns `Output`; undefined for calls without a result. */
export type Handler = (request: V1Request) => JsonValue | undefined;

/** Method and pattern of the path to what is done: `GET /networks/{id}`. */
export type Routes = Readonly<Record<string, Handler>>;

/** @throws HcnError HCN_E_INVALID_JSON. */
export function bodyOf(request: V1Request): JsonValue {
  return parseJsonText(request.body);
}
