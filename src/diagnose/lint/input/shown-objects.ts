/**
 * Objects as commands show them on a screen: PowerShell's `Format-List` and `Format-Table` of `Get-HnsNetwork` and `Get-HnsEndpoint`, and
 * `kubectl describe`.
 */
import { type Fields, isFields } from "#core/base/json.ts";
import type { SourceText } from "#core/base/source-text.ts";
import { readDump } from "#hns/dump/read-dump.ts";
import { showsTableOfIds } from "#hns/dump/format-list.ts";
import type { LintDocument, Locate } from "./document.ts";

/** A place is the line of its field: the text has no more. */
function locateByLine(
  source: SourceText,
  first: number,
  last: number,
  lineOf: (field: string, inner: string) => RegExp,
): Locate {
  return (places) =>
    places.map((place) => {
      const [name = "", inner = ""] = "path" in place ? place.path.map(String) : [];
      if (name === "") return rangeOfLine(source, first);
      const pattern = lineOf(name, inner);
      for (let line = first; line <= last; line++)
        if (pattern.test(source.lineText(line))) return rangeOfLine(source, line);
      return rangeOfLine(source, first);
    });
}

function rangeOfLine(source: SourceText, line: number): { start: number; end: number } {
  const start = source.offsetAt({ line, column: 1 });
  return { start, end: start + Math.max(1, source.lineText(line).trimEnd().length) };
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** What PowerShell lists of HNS has these, and their colons in one column. */
const LISTED = /^(?:ActivityId|ID|Id|VirtualNetwork|IPAddress|ManagementIP|Subnets|Policies)[ \t]+: /m;
/** Networks, endpoints and load balancers that `Format-List` and `Format-Table` show; empty for another text. */
export function listedObjects(source: SourceText): readonly LintDocument[] {
  if (!LISTED.test(source.text) && !showsTableOfIds(source.text)) return [];
  const { objects } = readDump(source);
  const lines = source.text.split("\n").length;
  return objects.map(({ kind, document, where }, index) => {
    const last = (objects[index + 1]?.where.line ?? lines + 1) - 1;
    const name = document["Name"];
    return {
      kind: "hns",
      source,
      text: source.text,
      value: document,
      locate: locateByLine(
        source,
        where.line,
        last,
        (field) => new RegExp(`^${escapeRegExp(field)}\\s*:`, "i"),
      ),
      traps: [],
      host: undefined,
      title: `${kind}${typeof name === "string" ? ` ${name}` : ""} as PowerShell lists it`,
    };
  });
}

/** `Name:               win-1`, and what stands below it further to the right. */
const DESCRIBED = /^([A-Z][\w .-]*):(?:\s([^]*))?$/;

function sectionsOf(text: string): ReadonlyMap<string, readonly string[]> {
  const sections = new Map<string, string[]>();
  let open: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    const [, name, first = ""] = DESCRIBED.exec(line) ?? [];
    if (name !== undefined) {
      open = [first.trim()];
      if (!sections.has(name)) sections.set(name, open);
    } else open.push(line.trim());
  }
  return sections;
}

function pairsOf(lines: readonly string[] | undefined, separator: RegExp): Fields {
  const pairs = (lines ?? []).flatMap((line) => {
    const [, name = "", value = ""] = separator.exec(line) ?? [];
    return name === "" ? [] : [[name, value]];
  });
  return Object.fromEntries(pairs) as Fields;
}

function describedNode(sections: ReadonlyMap<string, readonly string[]>): Fields {
  const info = pairsOf(sections.get("System Info"), /^([\w -]+):\s+(\S[^]*)$/);
  const range = sections.get("PodCIDR")?.[0] ?? "";
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: sections.get("Name")?.[0] ?? "",
      labels: pairsOf(sections.get("Labels"), /^([^=\s]+)=(.*)$/),
      annotations: pairsOf(sections.get("Annotations"), /^([^\s:]+):\s*(\S[^]*)$/),
    },
    ...(range !== "" && { spec: { podCIDR: range } }),
    ...(isFields(info) &&
      info["Operating System"] !== undefined && {
        status: {
          nodeInfo: {
            operatingSystem: info["Operating System"],
            kernelVersion: info["Kernel Version"],
            osImage: info["OS Image"],
            kubeletVersion: info["Kubelet Version"],
            kubeProxyVersion: info["Kube-Proxy Version"],
          },
        },
      }),
  };
}

/** Where a field of a Node stands in `kubectl describe node`. */
const NODE_LINES: Readonly<Record<string, string>> = {
  spec: "PodCIDR",
  status: "System Info",
  metadata: "Annotations",
};

/** `http  80/TCP`, `<unset>  80/TCP`; node ports have the same form. */
const DESCRIBED_PORT = /^(\S+)\s+(\d{1,5})\/([A-Z]+)$/;

function numberOrName(text: string): number | string {
  return /^\d+$/.test(text) ? Number(text) : text;
}

/** The ports of a Service: lines of one name repeat, each followed by those that belong to it. */
function describedPorts(text: string): readonly Fields[] {
  const ports: Record<string, unknown>[] = [];
  for (const line of text.split(/\r?\n/)) {
    const [, field = "", value = ""] = /^(Port|TargetPort|NodePort):\s+(\S[^]*)$/.exec(line.trimEnd()) ?? [];
    const [, name = "", number = "", protocol = ""] = DESCRIBED_PORT.exec(value) ?? [];
    if (field === "Port" && number !== "")
      ports.push({ ...(!name.startsWith("<") && { name }), port: Number(number), protocol });
    const port = ports.at(-1);
    if (port === undefined) continue;
    if (field === "NodePort" && number !== "") port["nodePort"] = Number(number);
    if (field === "TargetPort") port["targetPort"] = numberOrName(value.split("/")[0] ?? "");
  }
  return ports;
}

/** Lines of `kubectl describe service` with one value each, and the field that each shows. */
const SERVICE_FIELDS: Readonly<Record<string, string>> = {
  Type: "type",
  IP: "clusterIP",
  "Session Affinity": "sessionAffinity",
  "External Traffic Policy": "externalTrafficPolicy",
  "Internal Traffic Policy": "internalTrafficPolicy",
  "IP Family Policy": "ipFamilyPolicy",
};

/** What a line says; undefined for `<none>` and `<unset>`. */
function toldOf(sections: ReadonlyMap<string, readonly string[]>, name: string): string | undefined {
  const text = sections.get(name)?.[0];
  return text === undefined || text === "" || text.startsWith("<") ? undefined : text;
}

function describedMetadata(sections: ReadonlyMap<string, readonly string[]>): Fields {
  const namespace = toldOf(sections, "Namespace");
  return {
    name: toldOf(sections, "Name"),
    ...(namespace !== undefined && { namespace }),
    labels: pairsOf(sections.get("Labels"), /^([^=\s]+)=(.*)$/),
    annotations: pairsOf(sections.get("Annotations"), /^([^\s:]+):\s*(\S[^]*)$/),
  };
}

function describedService(sections: ReadonlyMap<string, readonly string[]>, text: string): Fields {
  const told = Object.entries(SERVICE_FIELDS).flatMap(([line, field]) => {
    const value = toldOf(sections, line);
    return value === undefined ? [] : [[field, value]];
  });
  const selector = pairsOf(toldOf(sections, "Selector")?.split(","), /^([^=\s]+)=(.*)$/);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: describedMetadata(sections),
    spec: { ...(Object.fromEntries(told) as Fields), selector, ports: describedPorts(text) },
  };
}

/** The line on which a field of a Service stands. */
function serviceLine(field: string, inner: string): string {
  if (field !== "spec") return "Name";
  const [line] = Object.entries(SERVICE_FIELDS).find(([, name]) => name === inner) ?? [];
  return line ?? (inner === "ports" ? "Port" : "Type");
}

/** True for what `kubectl describe` prints. */
export function isDescribed(text: string): boolean {
  return /^Name:\s+\S/.test(text.trimStart()) && /^(?:Labels|Annotations):\s/m.test(text);
}

/**
 * The object of `kubectl describe node` or `kubectl describe service`; undefined for other kinds, whose objects it does not
 * print as far as rules ask: of a pod neither `hostNetwork` nor the security context.
 */
export function describedObject(source: SourceText): LintDocument | undefined {
  const sections = sectionsOf(source.text);
  const isNode = sections.has("System Info") && sections.has("Roles");
  const isService = sections.has("Session Affinity") && sections.has("Endpoints");
  if (!isNode && !isService) return undefined;
  const kind = isNode ? "Node" : "Service";
  const value = isNode ? describedNode(sections) : describedService(sections, source.text);
  const last = source.text.split("\n").length;
  const lineOf = (field: string, inner: string): RegExp =>
    new RegExp(`^${isNode ? (NODE_LINES[field] ?? "Name") : serviceLine(field, inner)}:`);
  return {
    kind: "kubernetes",
    source,
    text: source.text,
    value,
    locate: locateByLine(source, 1, last, lineOf),
    traps: [],
    host: undefined,
    title: `${kind} ${toldOf(sections, "Name") ?? ""} as kubectl describes it`,
  };
}
