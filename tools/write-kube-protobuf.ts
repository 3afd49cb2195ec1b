/**
 * Writes `data/facts/kube-protobuf.yaml` from the `generated.proto` files of Kubernetes: by number, name and type of
 * the fields of everything that the served kinds consist of. Run when the version in test/live/go/kubernetes changes:
 * `node tools/write-kube-protobuf.ts`.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findGo } from "./go-toolchain.ts";

const ROOT = join(import.meta.dirname, "..");
const OUTPUT = join(ROOT, "data/facts/kube-protobuf.yaml");

/** Go packages with their short names here. */
const PACKAGES: Readonly<Record<string, string>> = {
  "k8s.io/api/core/v1": "v1",
  "k8s.io/api/apps/v1": "apps/v1",
  "k8s.io/api/batch/v1": "batch/v1",
  "k8s.io/api/coordination/v1": "coordination.k8s.io/v1",
  "k8s.io/api/discovery/v1": "discovery.k8s.io/v1",
  "k8s.io/api/events/v1": "events.k8s.io/v1",
  "k8s.io/api/networking/v1": "networking.k8s.io/v1",
  "k8s.io/api/node/v1": "node.k8s.io/v1",
  "k8s.io/apimachinery/pkg/apis/meta/v1": "meta/v1",
  "k8s.io/apimachinery/pkg/runtime": "runtime",
  "k8s.io/apimachinery/pkg/util/intstr": "intstr",
  "k8s.io/apimachinery/pkg/api/resource": "resource",
};

const ROOTS: readonly string[] = [
  ...["Node", "Namespace", "Pod", "Service", "Endpoints", "ConfigMap", "Event"].map((kind) => `v1.${kind}`),
  ...["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"].map((kind) => `apps/v1.${kind}`),
  ...["Job", "CronJob"].map((kind) => `batch/v1.${kind}`),
  "coordination.k8s.io/v1.Lease",
  "discovery.k8s.io/v1.EndpointSlice",
  "events.k8s.io/v1.Event",
  "networking.k8s.io/v1.NetworkPolicy",
  "networking.k8s.io/v1.ServiceCIDR",
  "node.k8s.io/v1.RuntimeClass",
  "meta/v1.DeleteOptions",
];

/** Fields whose message stands in its parent in JSON (Go's `json:",inline"`). */
const INLINE: ReadonlySet<string> = new Set([
  "volumeSource",
  "handler",
  "ephemeralContainerCommon",
  "localObjectReference",
]);

/** What is written as one value in JSON, and read by code. */
const SPECIAL: ReadonlySet<string> = new Set([
  "meta/v1.Time",
  "meta/v1.MicroTime",
  "meta/v1.FieldsV1",
  "intstr.IntOrString",
  "resource.Quantity",
  "runtime.RawExtension",
]);

/** The folders of the Go packages that kubectl consists of. */
function readFolders(): ReadonlyMap<string, string> {
  const cwd = join(ROOT, "test/live/go/kubernetes");
  const env = { ...process.env, GOFLAGS: "-mod=readonly", GOWORK: "off", GOTOOLCHAIN: "local" };
  const args = ["list", "-deps", "-f", "{{.ImportPath}} {{.Dir}}", "k8s.io/kubernetes/cmd/kubectl"];
  const found = spawnSync(findGo({ needed: [1, 24] }), args, { cwd, env, encoding: "utf8" });
  if (found.status !== 0) throw new Error(`the packages are not found: ${found.stderr}`);
  return new Map(found.stdout.split("\n").map((line) => line.split(" ") as [string, string]));
}

/** `v1.PodSpec` of `PodSpec`, or of `.k8s.io.api.core.v1.PodSpec`, seen from a package. */
function resolveType(type: string, own: string): string {
  const scalar = /^(string|bool|bytes|int32|int64|uint32|uint64|double|float)$/.test(type);
  if (scalar) return type;
  if (!type.includes(".")) return `${own}.${type}`;
  const path = type.replace(/^\./, "");
  const match = Object.entries(PACKAGES).find(([name]) => path.startsWith(`${name.replaceAll("/", ".")}.`));
  if (match === undefined) throw new Error(`${type} lies in no known package`);
  return `${match[1]}.${path.slice(match[0].length + 1)}`;
}

const FIELD = /^ {2}(optional|repeated) ([\w.]+) (\w+) = (\d+);$/;
const MAP = /^ {2}map<(\w+), ([\w.]+)> (\w+) = (\d+);$/;

/** The fields of all messages of a file: `1 metadata meta/v1.ObjectMeta`. */
function readMessages(text: string, own: string, messages: Map<string, string[]>): void {
  let fields: string[] | undefined;
  for (const line of text.split("\n")) {
    const message = /^message (\w+) \{/.exec(line);
    if (message !== null) {
      fields = [];
      messages.set(`${own}.${message[1]}`, fields);
    }
    const field = FIELD.exec(line);
    if (field !== null) {
      const [, label, type = "", name = "", number] = field;
      const mark = label === "repeated" ? "*" : INLINE.has(name) && type !== "string" ? "^" : "";
      fields?.push(`${number} ${name} ${mark}${resolveType(type, own)}`);
    }
    const map = MAP.exec(line);
    if (map !== null) fields?.push(`${map[4]} ${map[3]} %${resolveType(map[2] ?? "", own)}`);
  }
}

const folders = readFolders();
const messages = new Map<string, string[]>();
for (const [name, own] of Object.entries(PACKAGES))
  readMessages(readFileSync(join(folders.get(name) ?? name, "generated.proto"), "utf8"), own, messages);

const reached = new Set<string>(ROOTS);
for (const name of reached) {
  if (SPECIAL.has(name)) continue;
  for (const field of messages.get(name) ?? []) {
    const type = (field.split(" ")[2] ?? "").replace(/^[*^%]/, "");
    if (type.includes(".")) reached.add(type);
  }
}
const rows = [...reached]
  .filter((name) => !SPECIAL.has(name))
  .toSorted()
  .map((name) => {
    const fields = (messages.get(name) ?? []).toSorted(
      (a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10),
    );
    return `${name}: ${fields.join(", ")}\n`;
  });
writeFileSync(
  OUTPUT,
  `# Kubernetes' messages in protobuf, written by tools/write-kube-protobuf.ts from their \`generated.proto\`: number, name and
# type of each field. \`*\` is a list, \`%\` a mapping from texts, \`^\` stands in its parent in JSON.
${rows.join("")}`,
);
