/**
 * API versions that Kubernetes has removed, of all kinds that it has itself: also of those that Mullion reads past, such as
 * Ingress. Kubernetes documentation: Deprecated API Migration Guide.
 */
import { removedVersions } from "#data/facts.js";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { KINDS, isKubeKind } from "./kinds.ts";

/** What became of an API version of a kind. */
export interface RemovedVersion {
  /** The release that no longer serves it: `1.22`. */
  readonly removed: string;
  /** What to write instead; undefined when the kind is gone. */
  readonly present: string | undefined;
}

/** Of kinds that Mullion does not read, by version and kind. */
function readOthers(rows: readonly CheckedFields[]): ReadonlyMap<string, RemovedVersion> {
  const read = rows.flatMap((row) => {
    const [version, kinds] = [row.text("version"), row.texts("kinds")];
    const fate = { removed: row.text("removed"), present: row.optionalText("present") };
    row.end();
    return kinds.map((kind) => [`${version} ${kind}`, fate] as const);
  });
  return new Map(read);
}

const OTHERS = readOthers(CheckedFields.ofTable(removedVersions()).items("rows"));

/** What became of `version` of a kind; undefined for a version that is served, or was never there. */
export function removedVersion(kind: string, version: string): RemovedVersion | undefined {
  const removed = isKubeKind(kind) ? KINDS[kind].oldVersions[version] : undefined;
  if (removed !== undefined && isKubeKind(kind)) return { removed, present: KINDS[kind].apiVersion };
  return OTHERS.get(`${version} ${kind}`);
}
