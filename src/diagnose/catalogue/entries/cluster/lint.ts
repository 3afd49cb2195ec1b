/** Traps of texts, and what lint says about its own input. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, reference, thread } from "../entry-text.ts";

type LintCode = "manifest-no-break-space" | "lint-suppression-invalid";

export const LINT_ENTRIES: EntryTable<LintCode> = {
  "manifest-no-break-space": {
    title: "A no-break space instead of a space",
    cause: prose`
      Text that was copied from a web page or a chat often has no-break spaces (U+00A0) instead of spaces. An editor
      shows no difference. For YAML they are letters: they become part of a field's name or of a value, and what was
      meant is not found.`,
    onNode: prose`
      Nothing to see on a node: the API server drops the unknown field, or refuses the value.

          kubectl apply --validate=strict --dry-run=server -f <file>`,
    remedy: prose`Delete the space and type it again, or replace all of them (U+00A0) in an editor.`,
    sources: [reference("users.md G12"), thread("microsoft/windows-container-networking", 38)],
    profiles: ALL,
    severity: "error",
  },

  "lint-suppression-invalid": {
    title: "A suppression without a reason, or of a code that does not exist",
    cause: prose`
      Findings can be silenced for one object by an annotation and for files by .mullion-lint.yaml. Both want the
      code of the finding and a reason, so that later readers of the file know why it was silenced, and whether
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
