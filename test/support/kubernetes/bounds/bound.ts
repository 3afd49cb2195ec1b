/**
 * How far a real kube-apiserver 1.34 goes with a field: values at the edge that it takes, and values behind it that it refuses. The
 * fast test asks the loader, the live test the server.
 */
import type { VerdictRow } from "../server-verdicts.ts";

export type Fields = Readonly<Record<string, unknown>>;
type Make = (value: never) => VerdictRow["object"];

export interface Bound {
  readonly what: string;
  /** The object that has the value. */
  readonly object: Make;
  readonly taken: readonly unknown[];
  readonly refused: readonly unknown[];
}

export const x = (count: number): string => "x".repeat(count);
export const times = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index));

export const made = (
  apiVersion: string,
  kind: string,
  fields: Fields,
  metadata: Fields = {},
): VerdictRow["object"] => ({
  apiVersion,
  kind,
  metadata: { name: "a", ...metadata },
  ...fields,
});
export const POD: Fields = { containers: [{ name: "c", image: "i" }] };
export const pod = (spec: Fields): VerdictRow["object"] => made("v1", "Pod", { spec: { ...POD, ...spec } });
export const container = (fields: Fields): VerdictRow["object"] =>
  pod({ containers: [{ name: "c", image: "i", ...fields }], volumes: [{ name: "v", emptyDir: {} }] });
export const service = (spec: Fields, metadata: Fields = {}): VerdictRow["object"] =>
  made("v1", "Service", { spec: { ports: [{ port: 80 }], ...spec } }, metadata);
export const configMap = (fields: Fields, metadata: Fields = {}): VerdictRow["object"] =>
  made("v1", "ConfigMap", fields, metadata);
export const template = (spec: Fields): Fields => ({
  metadata: { labels: { app: "a" } },
  spec: { ...POD, ...spec },
});
export const workload = (kind: string, spec: Fields): VerdictRow["object"] =>
  made("apps/v1", kind, {
    spec: { selector: { matchLabels: { app: "a" } }, template: template({}), ...spec },
  });
export const job = (spec: Fields): VerdictRow["object"] =>
  made("batch/v1", "Job", { spec: { template: template({ restartPolicy: "Never" }), ...spec } });
export const cron = (spec: Fields): VerdictRow["object"] =>
  made("batch/v1", "CronJob", {
    spec: {
      schedule: "@daily",
      jobTemplate: { spec: { template: template({ restartPolicy: "Never" }) } },
      ...spec,
    },
  });
export const slice = (fields: Fields): VerdictRow["object"] =>
  made("discovery.k8s.io/v1", "EndpointSlice", {
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.1.2.3"] }],
    ...fields,
  });
export const policy = (spec: Fields): VerdictRow["object"] =>
  made("networking.k8s.io/v1", "NetworkPolicy", { spec: { podSelector: {}, ...spec } });
export const node = (spec: Fields): VerdictRow["object"] => made("v1", "Node", { spec });
export const term = (weight: number): Fields => ({
  preferredDuringSchedulingIgnoredDuringExecution: [
    { weight, podAffinityTerm: { topologyKey: "kubernetes.io/hostname", labelSelector: {} } },
  ],
});
export const EXTERNAL = { type: "ExternalName", externalName: "a.b" };

function show(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const long = /x{10,}/.exec(text)?.[0];
  return long === undefined ? text : text.replace(long, `x×${long.length}`);
}

/** A row for each value. */
export function rowsOfBounds(bounds: readonly Bound[]): readonly VerdictRow[] {
  return bounds.flatMap(({ what, object, taken, refused }) =>
    [...taken, ...refused].map((value, index) => ({
      what: `${what}: ${show(value)}`,
      isTaken: index < taken.length,
      object: object(value as never),
    })),
  );
}
