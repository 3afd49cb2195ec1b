/** The JSON Schema of a line of `mullion wine --trace-calls`, published as schemas/hns-calls.v1alpha1.json. */
import { type JsonSchema, closedObject } from "#core/base/json-schema.ts";

const TEXT: JsonSchema = { type: "string" };
const TIME: JsonSchema = {
  type: "string",
  pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$",
  description: "By the clock of this machine.",
};
const HRESULT: JsonSchema = { type: "string", pattern: "^0x[0-9a-f]{8}$" };

const CALL = closedObject(
  "A call that reached HNS.",
  {
    event: { const: "call" },
    at: { ...TIME, description: "When it began, by the clock of this machine." },
    milliseconds: { type: "number", minimum: 0, description: "How long the service took for it." },
    function: { ...TEXT, description: "The function of Windows' DLL." },
    arguments: {
      type: "object",
      description: "As the HTTP API of HNS takes them; JSON documents as JSON, others as text.",
    },
    hresult: { ...HRESULT, description: "What HNS answered; zero for success." },
  },
  {
    name: { ...TEXT, description: "The name of an hresult that is not a success." },
    result: { description: "What it answered; for HNSCall the envelope of HNS v1. HcnOpen… has none." },
    error: { type: "object", description: "The error record of a refused call." },
    failure: { ...TEXT, description: "Why there is no answer." },
  },
);

const NOTIFICATION = closedObject(
  "A notification that a callback was given.",
  {
    event: { const: "notification" },
    at: TIME,
    type: {
      type: "integer",
      minimum: 0,
      description: "The number of HCN_NOTIFICATIONS; of a compute system, of HCS_NOTIFICATIONS.",
    },
    status: HRESULT,
    data: { description: "NotificationData." },
  },
  {
    name: { ...TEXT, description: "The name of the type." },
    scope: {
      ...TEXT,
      description: "The network, guest network service or compute system whose callback received it.",
    },
  },
);

/** Of one line. */
export function callSchema(): JsonSchema {
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "A line of mullion wine --trace-calls",
    oneOf: [CALL, NOTIFICATION],
  };
}
