/**
 * Objects as commands show them on a screen: PowerShell's `Format-List` and `Format-Table` of `Get-HnsNetwork` and `Get-HnsEndpoint`, and
 * `kubectl describe`.
 */
import { type Fields, isFields } from "#core/base/json.ts";
import type { SourceText } from "#core/base/source-text.ts";
import { readDump } from "#hns/dump/read-dump.ts";
import { showsTableOfIds } from "#hns/dump/format-list.ts";
import type { LintDocument, Locate } from "./document.ts";
import type { LintPath } from "./fields.ts";

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

/** A container as `kubectl describe pod` prints it, with the line of each of its fields. */
interface DescribedContainer {
  readonly name: string;
  readonly field: "containers" | "initContainers";
  readonly line: number;
  readonly told: Map<string, { readonly value: string; readonly line: number }>;
}

const CONTAINER_SECTIONS: Readonly<Record<string, DescribedContainer["field"]>> = {
  "Containers:": "containers",
  "Init Containers:": "initContainers",
};

/** @param first the line of the file that `text` begins with. */
function describedContainers(text: string, first: number): readonly DescribedContainer[] {
  const containers: DescribedContainer[] = [];
  let field: DescribedContainer["field"] | undefined;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\S/.test(line)) field = CONTAINER_SECTIONS[line.trimEnd()];
    if (field === undefined) continue;
    const [, name] = /^ {2}([a-z\d][a-z\d.-]*):\s*$/.exec(line) ?? [];
    if (name !== undefined) containers.push({ name, field, line: first + index, told: new Map() });
    const [, key = "", value = ""] = /^ {4}([A-Z][\w ]*):(?:\s+(\S[^]*))?$/.exec(line) ?? [];
    if (key !== "") containers.at(-1)?.told.set(key, { value: value.trim(), line: first + index });
  }
  return containers;
}

/** `80/TCP, 443/TCP (tls)`, with host ports in the same order. */
function portsOfContainer({ told }: DescribedContainer): readonly Fields[] {
  const partsOf = (name: string): readonly string[] =>
    (told.get(name) ?? told.get(`${name}s`))?.value.split(",").map((part) => part.trim()) ?? [];
  const hostPorts = partsOf("Host Port");
  return partsOf("Port").flatMap((part, index) => {
    const [, port = "", protocol = ""] = /^(\d{1,5})\/([A-Z]+)/.exec(part) ?? [];
    const [, hostPort = "0"] = /^(\d{1,5})\//.exec(hostPorts[index] ?? "") ?? [];
    if (port === "") return [];
    return [
      { containerPort: Number(port), protocol, ...(hostPort !== "0" && { hostPort: Number(hostPort) }) },
    ];
  });
}

function specOfContainer(container: DescribedContainer): Fields {
  const ports = portsOfContainer(container);
  return {
    name: container.name,
    image: container.told.get("Image")?.value ?? "",
    ...(ports.length > 0 && { ports }),
  };
}

function statusOfContainer({ name, told }: DescribedContainer): Fields {
  const state = told.get("State")?.value.toLowerCase() ?? "";
  return {
    name,
    ready: told.get("Ready")?.value === "True",
    ...(state !== "" && { state: { [state]: {} } }),
  };
}

/** A node that is not named is "", as the API has it: neither affinity nor why a pod waits is in a description. */
function describedPod(
  sections: ReadonlyMap<string, readonly string[]>,
  containers: readonly DescribedContainer[],
): Fields {
  const [nodeName] = (toldOf(sections, "Node") ?? "").split("/");
  const of = (field: DescribedContainer["field"]): readonly DescribedContainer[] =>
    containers.filter((each) => each.field === field);
  const [initContainers, podIP] = [of("initContainers"), toldOf(sections, "IP")];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: describedMetadata(sections),
    spec: {
      nodeName,
      nodeSelector: pairsOf(sections.get("Node-Selectors"), /^([^=\s]+)=(.*)$/),
      containers: of("containers").map(specOfContainer),
      ...(initContainers.length > 0 && { initContainers: initContainers.map(specOfContainer) }),
    },
    status: {
      phase: toldOf(sections, "Status") ?? "Unknown",
      ...(podIP !== undefined && { podIP }),
      containerStatuses: of("containers").map(statusOfContainer),
      initContainerStatuses: initContainers.map(statusOfContainer),
    },
  };
}

/** Lines of a container with a field of its spec. */
const CONTAINER_LINES: Readonly<Record<string, readonly string[]>> = {
  image: ["Image"],
  containerPort: ["Port", "Ports"],
  hostPort: ["Host Port", "Host Ports"],
};

/** The line of a field of a container; undefined for a path that leads elsewhere. */
function lineInContainers(containers: readonly DescribedContainer[], path: LintPath): number | undefined {
  const [, field, index] = path;
  const own = containers.filter((container) => container.field === field);
  const container = typeof index === "number" ? own[index] : undefined;
  const names = CONTAINER_LINES[String(path.at(-1))] ?? [];
  return names.flatMap((name) => container?.told.get(name)?.line ?? [])[0] ?? container?.line;
}

/** `~ $ kubectl describe pod web`: what people type has other prompts than those that are known. */
const TYPED_DESCRIBE = /^[^\n]{0,200}\bdescribe\b[^\n]{0,400}\n/;

/** True for what `kubectl describe` prints. */
export function isDescribed(text: string): boolean {
  const begin = text.trimStart().replace(TYPED_DESCRIBE, "").trimStart();
  return /^Name:\s+\S/.test(begin) && /^(?:Labels|Annotations):\s/m.test(text);
}

/** A piece of a file with one description, and the line of the file that it begins with. */
interface DescribedPiece {
  readonly text: string;
  readonly line: number;
}

/** `kubectl describe nodes` prints one after the other. */
function piecesOf(text: string): readonly DescribedPiece[] {
  const lines = text.split("\n");
  const begins = lines.flatMap((line, index) => (/^Name:\s+\S/.test(line) ? [index] : []));
  return begins.map((begin, index) => ({
    text: lines.slice(begin, begins[index + 1]).join("\n"),
    line: begin + 1,
  }));
}

/** An object of a description, or why there is none: its line, and for a pod that it has its node's address. */
export type DescribedObject = LintDocument | { readonly line: number; readonly isOfNode: boolean };

function objectOf(source: SourceText, piece: DescribedPiece): DescribedObject {
  const sections = sectionsOf(piece.text);
  const containers = describedContainers(piece.text, piece.line);
  const isNode = sections.has("System Info") && sections.has("Roles");
  const isService = sections.has("Session Affinity") && sections.has("Endpoints");
  const isPod = containers.length > 0 && sections.has("Node") && sections.has("Status");
  const address = toldOf(sections, "IP");
  const isOfNode = isPod && address !== undefined && toldOf(sections, "Node")?.split("/")[1] === address;
  if ((!isNode && !isService && !isPod) || isOfNode) return { line: piece.line, isOfNode };
  const [kind, value] = isNode
    ? ["Node", describedNode(sections)]
    : isService
      ? ["Service", describedService(sections, piece.text)]
      : ["Pod", describedPod(sections, containers)];
  const last = piece.line + piece.text.split("\n").length - 1;
  const lineOf = (field: string, inner: string): RegExp =>
    new RegExp(`^${isService ? serviceLine(field, inner) : (NODE_LINES[isNode ? field : ""] ?? "Name")}:`);
  const locate = locateByLine(source, piece.line, last, lineOf);
  return {
    kind: "kubernetes",
    source,
    text: source.text,
    value,
    locate: (places) =>
      places.flatMap((place) => {
        const line = "path" in place ? lineInContainers(containers, place.path) : undefined;
        return line === undefined ? locate([place]) : [rangeOfLine(source, line)];
      }),
    traps: [],
    host: undefined,
    title: `${kind} ${toldOf(sections, "Name") ?? ""} as kubectl describes it`,
  };
}

/**
 * The objects of `kubectl describe` of nodes, Services and pods. Of other kinds it does not print what rules ask for; of a pod with its
 * node's address it does not say whether it is a HostProcess pod.
 */
export function describedObjects(source: SourceText): readonly DescribedObject[] {
  return piecesOf(source.text).map((piece) => objectOf(source, piece));
}
