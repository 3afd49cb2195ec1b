/** Kubernetes' messages in protobuf: `data/facts/kube-protobuf.yaml`, which says how a field is written. */
import { kubeProtobuf } from "#data/facts.js";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";

function readMessages(): Readonly<Record<string, string>> {
  const fields = CheckedFields.ofTable(kubeProtobuf());
  return Object.fromEntries(fields.names().map((name) => [name, fields.text(name)]));
}

/** The fields of each message: number, name and type, behind commas. */
export const PROTOBUF_MESSAGES: Readonly<Record<string, string>> = Object.freeze(readMessages());
