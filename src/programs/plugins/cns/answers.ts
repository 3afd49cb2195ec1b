/** Answers of CNS, which are almost all of status 200 with a return code inside. */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import type { HttpAnswer } from "./transport.ts";

const HTTP_OK = 200;

export function answer(body: JsonValue): HttpAnswer {
  return { status: HTTP_OK, text: JSON.stringify(body) };
}

export function outcome(code: number, message = ""): JsonObject {
  return { ReturnCode: code, Message: message };
}
