/** What each defect of HNS is, in words (`data/facts/quirks.yaml`), and the known faults. The facts are in `#core/catalogue/quirks.ts`. */
import { knownFaults, quirks } from "#data/facts.js";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { QUIRK_NAMES, type QuirkName } from "#core/catalogue/quirks.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";

export interface QuirkText {
  /** One line: what happens. */
  readonly title: string;
  /** Why nothing here acts on it. Absent: the service does. */
  readonly notActedOn?: string;
}

function readText(row: CheckedFields): QuirkText {
  const notActedOn = row.optionalText("notActedOn");
  return Object.freeze({ title: row.text("title"), ...(notActedOn !== undefined && { notActedOn }) });
}

/** Of every defect. */
export const QUIRK_TEXTS: Readonly<Record<QuirkName, QuirkText>> = Object.freeze(
  Object.fromEntries(
    CheckedFields.ofTable(quirks())
      .rows()
      .map(([name, row]) => [name, readText(row)]),
  ),
) as Readonly<Record<QuirkName, QuirkText>>;

/*
 * The known faults of the data plane by their numbers (dataplane.md §9), and where each lives here:
 * `data/facts/known-faults.yaml`. Most are defects that can be switched. Some are how Windows is by design, some come of a configuration, and some belonged to
 * versions of kube-proxy; those follow from the cluster and need no switch.
 */

/** `F-07`. */
export type KnownFaultId = `F-${number}${number}`;

export type KnownFault =
  /** Switched by name; the first one is the fault itself. */
  | { readonly kind: "quirk"; readonly quirks: readonly [QuirkName, ...QuirkName[]] }
  /** By design of Windows: always so. */
  | { readonly kind: "behaviour"; readonly what: string; readonly code?: KnowledgeCode }
  /** Comes of what somebody configured. */
  | { readonly kind: "configuration"; readonly what: string; readonly code: KnowledgeCode }
  /** Comes of the version of kube-proxy that the cluster file names (`#programs/kube-proxy/behaviour.ts`). */
  | { readonly kind: "kube-proxy"; readonly what: string; readonly code: KnowledgeCode };

const FAULT_KINDS = ["quirk", "behaviour", "configuration", "kube-proxy"] as const;

function readFault(row: CheckedFields): KnownFault {
  const kind = row.word("kind", FAULT_KINDS);
  if (kind === "quirk") {
    const [first, ...others] = row.words("quirks", QUIRK_NAMES);
    return { kind, quirks: [first ?? row.fail("quirks is missing"), ...others] };
  }
  const what = row.text("what");
  if (kind === "behaviour") {
    const code = row.optionalCode("code");
    return { kind, what, ...(code !== undefined && { code }) };
  }
  const rest = { what, code: row.code("code") };
  return kind === "configuration" ? { kind, ...rest } : { kind, ...rest };
}

export const KNOWN_FAULTS: Readonly<Record<KnownFaultId, KnownFault>> = Object.freeze(
  Object.fromEntries(
    CheckedFields.ofTable(knownFaults())
      .rows()
      .map(([id, row]) => [id, Object.freeze(readFault(row))]),
  ),
);

/** The numbers of the faults that a defect stands for. */
export function faultsOf(name: QuirkName): readonly KnownFaultId[] {
  return (Object.keys(KNOWN_FAULTS) as KnownFaultId[]).filter((id) => {
    const fault = KNOWN_FAULTS[id];
    return fault?.kind === "quirk" && fault.quirks.includes(name);
  });
}
