/** Documents inside Kubernetes objects: configuration in ConfigMaps, and kube-proxy's flags in pods. */
import { readYaml } from "#contracts/kubernetes/text/yaml-value.ts";
import { commandDocument, flagsOf, isKubeProxyCall, locateParts } from "./command-text.ts";
import type { LintDocument, Locate } from "./document.ts";
import { isFields } from "#core/base/json.ts";
import { type LintPath, fieldsAt, listAt, textAt } from "./fields.ts";
import { readJsonText } from "./json-text.ts";
import { kindOfJson, titleOf } from "./kinds-of-json.ts";
import { locateInHost, locateInJson, locateInYaml } from "./locate.ts";
import { podSpecPath } from "../views/pods.ts";

function jsonDocument(host: LintDocument, name: string, text: string): LintDocument | undefined {
  if (!/^[\s\u00a0]*\{/.test(text)) return undefined;
  const { value, range, traps } = readJsonText(text);
  const kind = isFields(value) ? kindOfJson(value, name) : undefined;
  if (kind === undefined || !isFields(value)) return undefined;
  const inner = locateInJson(() => range, 0, []);
  const locate = locateInHost(host, ["data", name], text, inner);
  return { kind, source: host.source, text, value, locate, traps, host, title: titleOf(kind, value) };
}

function kubeProxyDocument(host: LintDocument, name: string, text: string): LintDocument | undefined {
  if (!/^apiVersion:[ \t]*["']?kubeproxy\.config\.k8s\.io\//m.test(text)) return undefined;
  const read = readYaml(text);
  const [value] = "values" in read ? read.values : [];
  if (!isFields(value)) return undefined;
  const locate = locateInHost(host, ["data", name], text, locateInYaml(text, 0, []));
  const title = "kube-proxy's configuration";
  return { kind: "kube-proxy", source: host.source, text, value, locate, traps: [], host, title };
}

function scriptDocument(host: LintDocument, name: string, text: string): LintDocument | undefined {
  const flags = flagsOf(text);
  if (!isKubeProxyCall(flags)) return undefined;
  const inner = locateParts(new Map(flags.map((flag) => [flag.name, flag])), 0);
  const locate = locateInHost(host, ["data", name], text, inner);
  return commandDocument(flags, { source: host.source, text, host, locate });
}

function* inConfigMap(host: LintDocument): Generator<LintDocument> {
  for (const [name, text] of Object.entries(fieldsAt(host.value, "data"))) {
    if (typeof text !== "string") continue;
    const found =
      jsonDocument(host, name, text) ??
      kubeProxyDocument(host, name, text) ??
      scriptDocument(host, name, text);
    if (found !== undefined) yield found;
  }
}

/** The flags of a container's command and arguments: each in an item of its own, or all in one script. */
function commandOf(host: LintDocument, container: LintPath): LintDocument | undefined {
  const items = ["command", "args"].flatMap((field) =>
    listAt(host.value, ...container, field).flatMap((item, index) =>
      typeof item === "string" ? [{ item, path: [...container, field, index] }] : [],
    ),
  );
  const all = items.map(({ item }) => item).join("\n");
  if (!/kube-?proxy/i.test(all) || !all.includes("--")) return undefined;
  const places = new Map<string, LintPath>();
  const flags = items.flatMap(({ item, path }) => {
    const isOne = /^--[a-z]/.test(item);
    const found = isOne ? flagsOf(`kube-proxy ${item}`) : flagsOf(item);
    for (const { name } of found) places.set(name, path);
    return found;
  });
  if (!isKubeProxyCall(flags)) return undefined;
  const locate: Locate = (asked) =>
    host.locate(
      asked.map((place) => {
        const name = "path" in place ? String(place.path.at(-1) ?? "") : "";
        return { path: places.get(name) ?? [...container, "args"] };
      }),
    );
  return commandDocument(flags, { source: host.source, text: host.text, host, locate });
}

function* inPod(host: LintDocument, spec: LintPath): Generator<LintDocument> {
  for (const field of ["containers", "initContainers"]) {
    for (const index of listAt(host.value, ...spec, field).keys()) {
      const image = textAt(host.value, ...spec, field, index, "image") ?? "";
      const name = textAt(host.value, ...spec, field, index, "name") ?? "";
      if (!/kube-?proxy/i.test(`${image} ${name}`)) continue;
      const found = commandOf(host, [...spec, field, index]);
      if (found !== undefined) yield found;
    }
  }
}

/** The documents that stand inside a Kubernetes object. */
export function* embeddedDocuments(host: LintDocument): Generator<LintDocument> {
  if (host.kind !== "kubernetes") return;
  if (host.value["kind"] === "ConfigMap") yield* inConfigMap(host);
  const spec = podSpecPath(host.value);
  if (spec !== undefined) yield* inPod(host, spec);
}
