/** Where the objects of each kind are, as the API has it: `/api/v1/namespaces/default/pods/web`. */
import { KINDS } from "../kinds.ts";
import type { KubeKind } from "../objects.ts";
import type { ObjectName, Selection } from "../source.ts";

/** `/api/v1`, `/apis/discovery.k8s.io/v1` */
export function rootOf(kind: KubeKind): string {
  const { apiVersion } = KINDS[kind];
  return apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}

/** All objects of a kind, or those of a namespace. */
export function collectionPath(kind: KubeKind, namespace = ""): string {
  const { isNamespaced, plural } = KINDS[kind];
  const inside = isNamespaced && namespace !== "" ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${rootOf(kind)}${inside}/${plural}`;
}

export function objectPath(kind: KubeKind, { namespace, name }: ObjectName, subresource?: string): string {
  const path = `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** The parameters of a list or a watch. */
export function queryOf(
  { labelSelector = "", fieldSelector = "" }: Selection,
  more: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams(more);
  if (labelSelector !== "") query.set("labelSelector", labelSelector);
  if (fieldSelector !== "") query.set("fieldSelector", fieldSelector);
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}
