/** Manifests that were read already, for whoever needs them once more: reading is most of what a large file costs. */
import { loadManifests } from "./load-manifests.ts";
import { type ManifestFile, type Manifests, isLong } from "./manifests.ts";

/** A file, and what was read of it alone. */
export interface KnownFile {
  readonly name: string;
  readonly text: string;
  readonly manifests: Manifests;
}

/** The manifests of several files; of an object that stands in two of them the first counts. */
function joinManifests(all: readonly Manifests[]): Manifests {
  const [only] = all;
  if (only !== undefined && all.length === 1) return only;
  const seen = new Set<string>();
  const objects = all
    .flatMap((each) => each.objects)
    .filter(({ object: { kind, metadata } }) => {
      const key = `${kind} ${metadata.namespace} ${metadata.name}`;
      const isNew = !seen.has(key);
      seen.add(key);
      return isNew;
    });
  return {
    objects,
    policies: all.flatMap(({ policies }) => policies),
    configurations: all.flatMap(({ configurations }) => configurations),
    notes: all.flatMap(({ notes }) => notes),
    problems: all.flatMap(({ problems }) => problems),
  };
}

/** A `loadManifests` that reads no file of `known` again; a text that has changed meanwhile is another one. */
export function loaderOf(known: readonly KnownFile[]): (files: readonly ManifestFile[]) => Manifests {
  const byName = new Map(known.map((each) => [each.name, each]));
  return (files) =>
    joinManifests(
      files.map((file) => {
        const found = isLong(file) ? undefined : byName.get(file.name);
        return found?.text === file.text && found !== undefined ? found.manifests : loadManifests([file]);
      }),
    );
}
