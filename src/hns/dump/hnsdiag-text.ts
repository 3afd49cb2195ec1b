/**
 * What `hnsdiag list …` prints without `-d` (dataplane.md §7.13): tables of names and ids, or blocks. It tells which
 * objects there are and little more.
 */
import type { HcnObjectKind } from "#contracts/hcn/client.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import type { TextLine } from "./json-extent.ts";

export interface DiagObject {
  readonly kind: HcnObjectKind;
  /** In v1 form. */
  readonly document: JsonObject;
  readonly line: number;
  /** Where its first letter stands, from 1. */
  readonly column: number;
}

const GUID = "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}";
/** What hnsdiag calls the kinds, in small letters. */
export const SECTIONS: Readonly<Record<string, HcnObjectKind>> = {
  networks: "Network",
  endpoints: "Endpoint",
  namespaces: "Namespace",
  loadbalancers: "LoadBalancer",
  routes: "SdnRoute",
};

/** The kind that a heading such as `Endpoints:` names. */
export function sectionOf(text: string): HcnObjectKind | undefined {
  const name = /^\s*([A-Za-z]+):\s*$/.exec(text)?.[1];
  return name === undefined ? undefined : SECTIONS[name.toLowerCase()];
}

/** The kind of the rows below a line of titles. */
function kindOfTitles(text: string): HcnObjectKind | undefined {
  if (!/^\s*(?:name|id)\s/i.test(text)) return undefined;
  const titles = text.trim().replaceAll(/\s+/g, " ").toLowerCase();
  if (titles === "name id") return "Network";
  if (titles === "name id virtual network name") return "Endpoint";
  if (titles === "id | endpoint ids") return "Namespace";
  return titles === "id | virtual ips | direct ip ids" ? "LoadBalancer" : undefined;
}

const WHOLE_GUID = new RegExp(`\\b${GUID}(?!\\S)`);
const ID_ROW = new RegExp(`^\\s*(${GUID})\\s*\\|([^|]*)(?:\\|([^|]*))?$`);

function words(text: string | undefined): readonly string[] {
  return (text ?? "").split(/[\s,]+/).filter((word) => word !== "");
}

/** A row of a name, an id, and what follows it. */
function namedRow(text: string): readonly [name: string, id: string | undefined, rest: string] {
  const found = WHOLE_GUID.exec(text);
  if (found === null) return ["", undefined, ""];
  const [id] = found;
  return [text.slice(0, found.index).trim(), id, text.slice(found.index + id.length).trim()];
}

function networkRow(text: string): JsonObject | undefined {
  const [Name, ID] = namedRow(text);
  return ID === undefined ? undefined : { ID, Name: Name ?? "" };
}

function endpointRow(text: string): JsonObject | undefined {
  const [Name, ID, network] = namedRow(text);
  if (ID === undefined) return undefined;
  return { ID, Name: Name ?? "", ...(network !== undefined && { VirtualNetworkName: network }) };
}

function namespaceRow(text: string): JsonObject | undefined {
  const [, ID, endpoints] = ID_ROW.exec(text) ?? [];
  if (ID === undefined) return undefined;
  return { ID, ResourceList: words(endpoints).map((Id) => ({ Type: "Endpoint", Data: { Id } })) };
}

function loadBalancer(ID: string, vips: readonly string[], endpoints: readonly string[]): JsonObject {
  return {
    ID,
    Policies: [{ Type: "ELB", ...(vips.length > 0 && { VIPs: vips }) }],
    References: endpoints.map((id) => `/endpoints/${id}`),
  };
}

function loadBalancerRow(text: string): JsonObject | undefined {
  const [, ID, vips, endpoints] = ID_ROW.exec(text) ?? [];
  return ID === undefined ? undefined : loadBalancer(ID, words(vips), words(endpoints));
}

const ROWS: Readonly<Partial<Record<HcnObjectKind, (text: string) => JsonObject | undefined>>> = {
  Network: networkRow,
  Endpoint: endpointRow,
  Namespace: namespaceRow,
  LoadBalancer: loadBalancerRow,
};

/** `Endpoint : GUID`, which begins a block of indented fields. */
const BLOCK = new RegExp(
  `^\\s*(Network|Endpoint|Namespace|Load ?Balancer)\\s*:\\s*\\{?(${GUID})\\}?\\s*$`,
  "i",
);
const BLOCK_TITLE = /^\s+[A-Za-z][A-Za-z \t]*$/;
/** Titles of fields in blocks, and the fields of v1 that they are. */
const BLOCK_FIELDS: Readonly<Record<string, string>> = {
  name: "Name",
  "ip address": "IPAddress",
  "mac address": "MacAddress",
  "virtual network": "VirtualNetwork",
  "virtual network name": "VirtualNetworkName",
  type: "Type",
};

interface Block {
  readonly kind: HcnObjectKind;
  readonly id: string;
  readonly at: TextLine;
  readonly fields: Map<string, string>;
}

function blockDocument({ kind, id, fields }: Block): JsonObject {
  if (kind === "LoadBalancer")
    return loadBalancer(id, words(fields.get("virtual ips")), words(fields.get("direct ip ids")));
  if (kind === "Namespace") {
    const ids = words(fields.get("endpoint ids"));
    return { ID: id, ResourceList: ids.map((Id) => ({ Type: "Endpoint", Data: { Id } })) };
  }
  const document: Record<string, JsonValue> = { ID: id };
  for (const [title, value] of fields) {
    const field = BLOCK_FIELDS[title];
    if (field !== undefined && value !== "") document[field] = value;
  }
  return document;
}

function columnOf(text: string): number {
  return text.length - text.trimStart().length + 1;
}

class DiagReader {
  readonly objects: DiagObject[] = [];
  readonly rest: TextLine[] = [];
  /** Whose rows follow. */
  private kind: HcnObjectKind | undefined;
  private block: Block | undefined;

  read(line: TextLine): void {
    const { text } = line;
    if (this.readBlockField(text)) return;
    const titled = sectionOf(text) ?? kindOfTitles(text);
    if (titled !== undefined) {
      this.kind = titled;
      return;
    }
    if (this.readBlock(line) || this.readRow(line)) return;
    this.rest.push(line);
  }

  end(): void {
    if (this.block === undefined) return;
    const { kind, at } = this.block;
    const place = { line: at.line, column: columnOf(at.text) };
    this.objects.push({ kind, document: blockDocument(this.block), ...place });
    this.block = undefined;
  }

  private readBlock(line: TextLine): boolean {
    const [, name, id] = BLOCK.exec(line.text) ?? [];
    if (name === undefined || id === undefined) return false;
    this.end();
    const kind = SECTIONS[`${name.toLowerCase().replace(" ", "")}s`];
    if (kind === undefined) return false;
    this.block = { kind, id, at: line, fields: new Map() };
    return true;
  }

  private readBlockField(text: string): boolean {
    if (this.block === undefined) return false;
    if (text.trim() === "") return true;
    const colon = text.indexOf(":");
    const title = text.slice(0, Math.max(colon, 0));
    if (BLOCK_TITLE.test(title) && !BLOCK.test(text)) {
      this.block.fields.set(title.trim().toLowerCase(), text.slice(colon + 1).trim());
      return true;
    }
    this.end();
    return false;
  }

  private readRow(line: TextLine): boolean {
    if (this.kind === undefined) return false;
    const document = ROWS[this.kind]?.(line.text);
    if (document === undefined) return false;
    this.objects.push({ kind: this.kind, document, line: line.line, column: columnOf(line.text) });
    return true;
  }
}

/** The objects among some lines, and the lines that belong to none. */
export function readHnsdiagText(lines: readonly TextLine[]): {
  readonly objects: readonly DiagObject[];
  readonly rest: readonly TextLine[];
} {
  const reader = new DiagReader();
  for (const line of lines) reader.read(line);
  reader.end();
  return { objects: reader.objects, rest: reader.rest };
}
