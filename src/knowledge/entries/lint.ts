/** What lint says about its own input. */
import { prose } from "../prose.ts";
import { ALL, type EntryTable, reference } from "./entry-text.ts";

type LintCode = "lint-suppression-invalid";

export const LINT_ENTRIES: EntryTable<LintCode> = {
  "lint-suppression-invalid": {
    title: "A suppression without a reason, or of a code that does not exist",
    cause: prose`
      Findings can be silenced for one object by an annotation and for files by .mullion-lint.yaml. Both want the
      code of the finding and a reason, so that whoever reads the file later knows why it was silenced, and whether
      that still holds. A suppression that lacks one of them silences nothing.`,
    onNode: prose`
      Nothing to see on a node: this is about the file alone.`,
    remedy: prose`
      Write code and reason. On an object:

          metadata:
            annotations:
              mullion.dev/lint-ignore: "host-network-unsupported: runs on Linux nodes only"

      In .mullion-lint.yaml beside the manifests:

          ignore:
            - code: host-network-unsupported
              paths: ["legacy/**"]
              reason: these run on Linux nodes only`,
    sources: [reference("docs/reference/lint.md")],
    profiles: ALL,
    severity: "warning",
  },
};
