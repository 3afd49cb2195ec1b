/** An id that is missing is not the empty text: it is undefined, so that nobody asks for the object "". */
import { type SourceFile, isTest } from "./source-files.ts";

/** An id, of whatever object, that becomes the empty text where there is none. */
const EMPTY_ID =
  /(?:\b(?:id|ID|Id|\w+Id|\w+ID|\w+Guid)\b(?:\s*[:=]|\(|")[^\n?{]*|\bguid(?:At)?\([^)\n]*\)\s*|\b(?:id|ID|Id|\w+Id|\w+ID|\w+Guid)\s*)\?\? ""/g;

/** Where the empty text is what the other side has for "none": how often in the file, and why. */
const REASONED: ReadonlyMap<string, { readonly count: number; readonly why: string }> = new Map([
  [
    "src/programs/plugins/cns/documents.ts",
    { count: 2, why: "a Go struct of CNS has empty texts, and its JSON shows them" },
  ],
  ["src/cli/mullion/get/listings-hns.ts", { count: 1, why: "a cell of a table" }],
  ["src/cluster/verify/shard.ts", { count: 1, why: "a place in a sentence" }],
  ["src/cluster/input/evidence.ts", { count: 1, why: "a text that a pattern is tried on" }],
  ["src/diagnose/vfp-text/compare-listings.ts", { count: 2, why: "names in a listing, as they are printed" }],
  ["src/hns/http/http-app.node.ts", { count: 1, why: "one table of paths, some of which have no id" }],
  [
    "src/hns/service/policies/endpoint-policies.ts",
    { count: 1, why: "HNS takes the empty id of an ACL for one that was not given" },
  ],
  [
    "src/hns/store/restore.ts",
    { count: 1, why: "records of a store that lack a field are read all the same" },
  ],
  [
    "src/hns/store/lenient-reader.ts",
    { count: 2, why: "documents of dumps that were cut are shown as they are" },
  ],
  ["src/hns/store/stored-network.ts", { count: 5, why: "as in lenient-reader.ts" }],
  ["src/hns/store/stored-endpoint.ts", { count: 1, why: "as in lenient-reader.ts" }],
  ["src/hns/store/stored-policy-lists.ts", { count: 2, why: "as in lenient-reader.ts" }],
  ["src/contracts/cni/runtime.ts", { count: 1, why: "a variable of the environment is a text" }],
  ["src/contracts/cni/plugin-input.ts", { count: 1, why: "a variable of the environment is a text" }],
  [
    "src/contracts/hcn/http/http-protocol.ts",
    { count: 1, why: "notifications about no object have an empty ID" },
  ],
  [
    "src/contracts/hcn/documents/compute-system-document.ts",
    { count: 4, why: "HCS shows documents of compute systems with empty texts; one is a path" },
  ],
]);

/** Ids that become the empty text without a reason, and reasons that nothing needs any more. */
export function findEmptyIds(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(({ path }) => path.startsWith("src/") && path.endsWith(".ts") && !isTest(path))
    .flatMap(({ path, text }) => {
      const found = [...text.matchAll(EMPTY_ID)].length;
      const reasoned = REASONED.get(path)?.count ?? 0;
      if (found > reasoned) return [`${path}: ${found - reasoned} more ids become ""; leave them undefined`];
      return found < reasoned ? [`${path}: ${reasoned} ids are excused, and it has ${found}`] : [];
    });
}
