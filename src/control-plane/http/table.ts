/** Lists as kubectl shows them: the server gives columns and cells (k8s.io/apimachinery, `meta/v1.Table`). */
import type { KubeObject } from "#contracts/kubernetes/objects.ts";
import { type ShownColumn, kubectlColumns } from "./columns.ts";
import type { ServedResource } from "./served-resources.ts";

/** Whether the client prefers a table to the objects. */
export function wantsTable(accept: string | undefined): boolean {
  return /^application\/json\s*;[^,]*\bas=Table\b/.test((accept ?? "").split(",")[0]?.trim() ?? "");
}

/** What of each object is in its row: `includeObject` of the request. */
export type IncludeObject = "None" | "Metadata" | "Object";

export interface TableOptions {
  readonly include: IncludeObject;
  readonly resourceVersion: string;
  readonly nowMs: number;
}

function definitionOf({ name, isWide }: ShownColumn): object {
  const format = name === "Name" ? "name" : "";
  return { name, type: "string", format, description: "", priority: isWide ? 1 : 0 };
}

function included(object: KubeObject, { toServed }: ServedResource, include: IncludeObject): object {
  if (include === "None") return {};
  if (include === "Object") return { object: toServed(object) };
  const { metadata } = toServed(object) as { readonly metadata: object };
  return { object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata } };
}

/** A table of objects of one kind. `withColumns` is false for all but the first table of a watch. */
export function tableOf(
  resource: ServedResource,
  objects: readonly KubeObject[],
  { include, resourceVersion, nowMs }: TableOptions,
  withColumns = true,
): object {
  const columns = kubectlColumns(resource.kind);
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: { resourceVersion },
    columnDefinitions: withColumns ? columns.map(definitionOf) : null,
    rows: objects.map((object) => ({
      cells: columns.map(({ cell }) => cell(object, nowMs)),
      ...included(object, resource, include),
    })),
  };
}
