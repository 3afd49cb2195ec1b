/**
 * Calls of the components of a node, as their logs name them. A code of Windows means something in a call: "the object
 * already exists" is another fault for a route than for an endpoint. A record is judged by its call and its code
 * together (`judge.ts`).
 */
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { errorCalls } from "#data/facts.js";

export const CALL_IDS = [
  "network-create",
  "network-open",
  "network-change",
  "network-delete",
  "endpoint-create",
  "endpoint-attach",
  "endpoint-change",
  "endpoint-open",
  "endpoint-delete",
  "load-balancer-create",
  "load-balancer-change",
  "load-balancer-open",
  "load-balancer-delete",
  "namespace-create",
  "namespace-change",
  "namespace-open",
  "namespace-delete",
  "hns",
  "route",
  "neighbor",
  "address",
  "nat",
  "switch",
  "container",
  "container-process",
  "layer",
  "socket-listen",
  "socket-connect",
  "pipe",
  "file",
  "service",
] as const;

export type CallId = (typeof CALL_IDS)[number];

/** A call and how logs name it. */
export interface Call {
  /** Completes "a call that …". */
  readonly does: string;
  /** Function names, or words that a component prints around the call. */
  readonly marks: readonly string[];
  /** What decides about the cause when the code alone does not. */
  readonly decide: readonly string[];
}

function readCalls(table: CheckedFields): Readonly<Record<CallId, Call>> {
  const [commands, calls] = [table.within("commands"), table.within("calls")];
  const read = CALL_IDS.map((id): [CallId, Call] => {
    const call = calls.within(id);
    const decide = call
      .texts("decide")
      .flatMap((each) => (commands.has(each) ? commands.texts(each) : [each]));
    return [id, { does: call.text("does"), marks: call.texts("marks"), decide }];
  });
  calls.end();
  return Object.fromEntries(read) as Record<CallId, Call>;
}

/** Of `data/facts/error-calls.yaml`. */
export const CALLS: Readonly<Record<CallId, Call>> = readCalls(CheckedFields.ofTable(errorCalls()));

/** Names the service and not the object; any other call in the record says more. */
export const UNNAMED_CALL: CallId = "hns";
