/** Policies of stored documents: those that read become values, with the fields that nobody here knows. */
import { readPolicies } from "#contracts/hcn/description/read-object.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { LenientReader } from "./lenient-reader.ts";

interface Policy {
  readonly Type: string;
  readonly Settings: object;
}

/** Settings as they were written, with the checked values in place of the given ones. */
function withUnknownFields<P extends Policy>(policy: P, document: PolicyDocument): P {
  const given = document.Settings ?? {};
  const isComplete = Object.keys(given).every((field) => field in policy.Settings);
  if (isComplete) return policy;
  return Object.freeze({ ...policy, Settings: Object.freeze({ ...given, ...policy.Settings }) });
}

/** The policies that `parse` takes; the others are noted and left out. */
export function readPolicyRecords<P extends Policy>(
  reader: LenientReader,
  types: readonly (string | undefined)[],
  parse: (document: PolicyDocument, where: string) => P,
): readonly P[] {
  const documents = reader.attempt((strict) => readPolicies(strict, types)) ?? [];
  const records: P[] = [];
  for (const [index, document] of documents.entries()) {
    const policy = reader.attempt(() => parse(document, `Policies[${index}]`));
    if (policy !== undefined) records.push(withUnknownFields(policy, document));
  }
  return Object.freeze(records);
}
