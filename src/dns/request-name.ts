/**
 * What a name under the cluster's domain asks for: `service.namespace.svc`, `endpoint.service.namespace.svc`,
 * `_port._protocol.service.namespace.svc`, `a-b-c-d.namespace.pod`, and the shorter ones above them.
 */

/** Parts that the name does not have are empty. All in lower case. */
export interface RequestName {
  readonly subject: "apex" | "svc" | "pod";
  readonly namespace: string;
  /** The Service, or the first label of a pod's name. */
  readonly service: string;
  readonly endpoint: string;
  readonly port: string;
  readonly protocol: string;
}

function withoutUnderscore(label: string): string {
  return label.startsWith("_") ? label.slice(1) : label;
}

/** Reads a comparable name of the zone; undefined when the schema has no such name. */
export function parseRequestName(name: string, zone: string): RequestName | undefined {
  const empty = { namespace: "", service: "", endpoint: "", port: "", protocol: "" };
  if (name === zone) return { subject: "apex", ...empty };
  const labels = name
    .slice(0, -zone.length - 1)
    .split(".")
    .toReversed();
  const [subject, namespace = "", service = "", ...rest] = labels;
  if (subject !== "svc" && subject !== "pod") return undefined;
  const common = { ...empty, subject, namespace, service } as const;
  if (rest.length === 0) return common;
  if (rest.length === 1) return { ...common, endpoint: rest[0] ?? "" };
  if (rest.length > 2) return undefined;
  return {
    ...common,
    protocol: withoutUnderscore(rest[0] ?? ""),
    port: withoutUnderscore(rest[1] ?? ""),
  };
}
