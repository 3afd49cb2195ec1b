/** `mullion ovn nb|sb show|list` and `mullion ovn sb lflow-list`: a database in the forms of ovn-nbctl and ovn-sbctl. */
import { DOCUMENT_VERSION } from "#core/base/shape.ts";
import type { OvsdbColumn } from "#contracts/ovsdb/schema.ts";
import { type OvnDatabaseName, type OvnRow, type OvnRows, schemaOfOvn } from "#cluster/views/ovn-view.ts";
import { Failure } from "../failure.ts";
import { formatDocument, isDocumentFormat } from "../print-document.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import { compareTexts, listOf, mapOf, referred, sorted, textOf } from "./rows.ts";
import { rowsOfTarget } from "./saved-database.ts";
import type { OvnFlowsRequest, OvnListRequest, OvnShowRequest } from "./verbs.ts";

/** Another name of an object, as OpenStack writes it in its external_ids. */
function alias(row: OvnRow, key: string): string {
  const name = mapOf(row, "external_ids")[key];
  return name === undefined || name === "" ? "" : ` (aka ${name})`;
}

function bracketed(texts: readonly string[]): string {
  return `[${texts.map((text) => `"${text}"`).join(", ")}]`;
}

function switchPortLines(port: OvnRow): readonly string[] {
  const [type, parent] = [textOf(port, "type"), textOf(port, "parent_name")];
  const addresses = listOf(port, "addresses");
  const router = mapOf(port, "options")["router-port"];
  const isOfRouter = type === "router" && addresses[0] === "router";
  return [
    `    port ${textOf(port, "name")}${alias(port, "neutron:port_name")}`,
    ...(type === "" ? [] : [`        type: ${type}`]),
    ...(parent === "" ? [] : [`        parent: ${parent}`]),
    ...(textOf(port, "tag") === "" ? [] : [`        tag: ${textOf(port, "tag")}`]),
    ...(addresses.length === 0 || isOfRouter ? [] : [`        addresses: ${bracketed(addresses)}`]),
    ...(router === undefined ? [] : [`        router-port: ${router}`]),
  ];
}

function routerPortLines(rows: OvnRows, port: OvnRow): readonly string[] {
  const chassis = referred(rows, port, "gateway_chassis", "Gateway_Chassis").toSorted(
    (a, b) => Number(b["priority"]) - Number(a["priority"]),
  );
  return [
    `    port ${textOf(port, "name")}`,
    `        mac: "${textOf(port, "mac")}"`,
    `        networks: ${bracketed(listOf(port, "networks"))}`,
    ...(chassis.length === 0
      ? []
      : [`        gateway chassis: [${chassis.map((each) => textOf(each, "chassis_name")).join(", ")}]`]),
  ];
}

function natLines(nat: OvnRow): readonly string[] {
  const range = textOf(nat, "external_port_range");
  return [
    `    nat ${textOf(nat, "_uuid")}`,
    `        external ip: "${textOf(nat, "external_ip")}"`,
    ...(range === "" ? [] : [`        external port(s): "${range}"`]),
    `        logical ip: "${textOf(nat, "logical_ip")}"`,
    `        type: "${textOf(nat, "type")}"`,
  ];
}

function northboundLines(rows: OvnRows, wanted: string | undefined): readonly string[] {
  const isWanted = (row: OvnRow): boolean => wanted === undefined || isNamed(row, wanted);
  return [
    ...sorted(rows, "Logical_Switch")
      .filter(isWanted)
      .flatMap((row) => [
        `switch ${textOf(row, "_uuid")} (${textOf(row, "name")})${alias(row, "neutron:network_name")}`,
        ...referred(rows, row, "ports", "Logical_Switch_Port").flatMap(switchPortLines),
      ]),
    ...sorted(rows, "Logical_Router")
      .filter(isWanted)
      .flatMap((row) => [
        `router ${textOf(row, "_uuid")} (${textOf(row, "name")})${alias(row, "neutron:router_name")}`,
        ...referred(rows, row, "ports", "Logical_Router_Port").flatMap((port) => routerPortLines(rows, port)),
        ...referred(rows, row, "nat", "NAT", "logical_ip").flatMap(natLines),
      ]),
  ];
}

function southboundLines(rows: OvnRows, wanted: string | undefined): readonly string[] {
  const ports = sorted(rows, "Port_Binding", "logical_port");
  return sorted(rows, "Chassis")
    .filter((row) => wanted === undefined || isNamed(row, wanted))
    .flatMap((row) => {
      const hostname = textOf(row, "hostname");
      return [
        `Chassis ${quoted(textOf(row, "name"))}`,
        ...(hostname === "" ? [] : [`    hostname: ${quoted(hostname)}`]),
        ...referred(rows, row, "encaps", "Encap", "type").flatMap((encap) => [
          `    Encap ${textOf(encap, "type")}`,
          `        ip: "${textOf(encap, "ip")}"`,
          `        options: ${formatValue(encap["options"], { kind: "map", min: 0, max: Infinity })}`,
        ]),
        ...ports
          .filter((port) => port["chassis"] === row["_uuid"])
          .map((port) => `    Port_Binding ${quoted(textOf(port, "logical_port"))}`),
      ];
    });
}

/** A text as OVSDB writes an atom: in quotes unless it is an identifier, and no word of its own (ovs-vsctl(8), "Database Values"). */
function quoted(text: string): string {
  const isWord = /^[A-Za-z_][\w.-]*$/.test(text) && text !== "true" && text !== "false" && !isUuid(text);
  return isWord ? text : JSON.stringify(text);
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

function formatAtom(value: unknown, kind: OvsdbColumn["kind"]): string {
  return kind === "uuid" || typeof value !== "string" ? String(value) : quoted(value);
}

function formatValue(value: unknown, { kind, max }: OvsdbColumn): string {
  if (kind === "map") {
    const pairs = Object.entries(value ?? {}).map(([key, text]) => `${quoted(key)}=${quoted(String(text))}`);
    return `{${pairs.toSorted(compareTexts).join(", ")}}`;
  }
  if (max === 1) return value === null || value === undefined ? "[]" : formatAtom(value, kind);
  const members = Array.isArray(value) ? value.map((each: unknown) => formatAtom(each, kind)) : [];
  return `[${members.toSorted(compareTexts).join(", ")}]`;
}

/** Where values begin. */
const COLUMN_WIDTH = 20;

function rowLines(name: OvnDatabaseName, table: string, row: OvnRow): readonly string[] {
  const columns = Object.entries(schemaOfOvn(name).tables[table]?.columns ?? {}).toSorted(([a], [b]) =>
    compareTexts(a, b),
  );
  return [
    `${"_uuid".padEnd(COLUMN_WIDTH)}: ${textOf(row, "_uuid")}`,
    ...columns.map(([column, shape]) => `${column.padEnd(COLUMN_WIDTH)}: ${formatValue(row[column], shape)}`),
  ];
}

/** Columns that tables are named by. */
const NAMES = ["name", "logical_port", "chassis_name"];
/** First digits of a UUID that stand for it. */
const UUID_DIGITS_MIN = 4;

function isNamed(row: OvnRow, wanted: string): boolean {
  if (wanted.length >= UUID_DIGITS_MIN && textOf(row, "_uuid").startsWith(wanted)) return true;
  return NAMES.some((column) => textOf(row, column) === wanted);
}

function refuseUnknown(what: string, known: readonly string[]): never {
  const shown = known.filter((name) => name !== "").toSorted(compareTexts);
  throw new Failure(
    "unknown-object",
    what,
    shown.length === 0 ? "It has no rows." : `There are: ${shown.join(", ")}.`,
  );
}

export async function show(request: OvnShowRequest, terminal: Terminal): Promise<ExitCode> {
  const { database, target, object } = request;
  const rows = await rowsOfTarget(database, target, terminal);
  const lines = database === "nb" ? northboundLines(rows, object) : southboundLines(rows, object);
  if (object !== undefined && lines.length === 0) {
    const tables = database === "nb" ? ["Logical_Switch", "Logical_Router"] : ["Chassis"];
    const known = tables.flatMap((table) => (rows[table] ?? []).map((row) => textOf(row, "name")));
    refuseUnknown(
      `the database has no ${database === "nb" ? "switch or router" : "chassis"} ${object}`,
      known,
    );
  }
  terminal.stdout(lines.map((line) => `${line}\n`).join(""));
  return 0;
}

export async function list(request: OvnListRequest, terminal: Terminal): Promise<ExitCode> {
  const { database, target, records, output } = request;
  const schema = schemaOfOvn(database);
  const asked = request.table.toLowerCase();
  const table = Object.keys(schema.tables).find((each) => each.toLowerCase() === asked);
  if (table === undefined)
    return refuseUnknown(`${schema.name} has no table ${request.table}`, Object.keys(schema.tables));
  const all = (await rowsOfTarget(database, target, terminal))[table] ?? [];
  for (const wanted of records)
    if (!all.some((row) => isNamed(row, wanted)))
      refuseUnknown(
        `${table} has no row ${wanted}`,
        all.map((row) => textOf(row, NAMES.find((column) => textOf(row, column) !== "") ?? "_uuid")),
      );
  const rows =
    records.length === 0 ? all : all.filter((row) => records.some((wanted) => isNamed(row, wanted)));
  if (isDocumentFormat(output)) {
    const document = {
      apiVersion: DOCUMENT_VERSION,
      kind: "OvnDatabase",
      name: schema.name,
      tables: { [table]: rows },
    };
    terminal.stdout(formatDocument(document, output));
  } else {
    const texts = rows.map((row) =>
      rowLines(database, table, row)
        .map((line) => `${line}\n`)
        .join(""),
    );
    terminal.stdout(texts.join("\n"));
  }
  return 0;
}

const PIPELINES = ["ingress", "egress"];
const STAGE_WIDTH = 19;
const PRIORITY_WIDTH = 5;

function flowLine(row: OvnRow): string {
  const stage = mapOf(row, "external_ids")["stage-name"] ?? "";
  const table = textOf(row, "table_id").padEnd(2);
  const priority = textOf(row, "priority").padEnd(PRIORITY_WIDTH);
  return `  table=${table}(${stage.padEnd(STAGE_WIDTH)}), priority=${priority}, match=(${textOf(row, "match")}), action=(${textOf(row, "actions")})`;
}

function compareFlows(a: OvnRow, b: OvnRow): number {
  return (
    PIPELINES.indexOf(textOf(a, "pipeline")) - PIPELINES.indexOf(textOf(b, "pipeline")) ||
    Number(a["table_id"]) - Number(b["table_id"]) ||
    Number(b["priority"]) - Number(a["priority"]) ||
    compareTexts(textOf(a, "match"), textOf(b, "match")) ||
    compareTexts(textOf(a, "actions"), textOf(b, "actions"))
  );
}

/** Flows by datapath: of a row for one, and of one for a group of datapaths. */
function flowsByDatapath(rows: OvnRows): ReadonlyMap<string, readonly OvnRow[]> {
  const groups = new Map(
    (rows["Logical_DP_Group"] ?? []).map((row) => [textOf(row, "_uuid"), listOf(row, "datapaths")]),
  );
  const flows = new Map<string, OvnRow[]>();
  for (const row of rows["Logical_Flow"] ?? []) {
    const one = textOf(row, "logical_datapath");
    const of = [...(one === "" ? [] : [one]), ...(groups.get(textOf(row, "logical_dp_group")) ?? [])];
    for (const datapath of of) {
      const known = flows.get(datapath) ?? [];
      flows.set(datapath, known);
      known.push(row);
    }
  }
  return flows;
}

export async function listFlows(request: OvnFlowsRequest, terminal: Terminal): Promise<ExitCode> {
  const rows = await rowsOfTarget("sb", request.target, terminal);
  const nameOf = (row: OvnRow): string => mapOf(row, "external_ids")["name"] ?? "";
  const datapaths = (rows["Datapath_Binding"] ?? []).toSorted((a, b) => compareTexts(nameOf(a), nameOf(b)));
  const { datapath } = request;
  const wanted = datapaths.filter(
    (row) =>
      datapath === undefined ||
      nameOf(row) === datapath ||
      (datapath.length >= UUID_DIGITS_MIN && textOf(row, "_uuid").startsWith(datapath)),
  );
  if (datapath !== undefined && wanted.length === 0)
    refuseUnknown(`there is no datapath ${datapath}`, datapaths.map(nameOf));
  const flows = flowsByDatapath(rows);
  const lines = wanted.flatMap((row) => {
    const own = (flows.get(textOf(row, "_uuid")) ?? []).toSorted(compareFlows);
    return PIPELINES.flatMap((pipeline) => {
      const of = own.filter((flow) => flow["pipeline"] === pipeline);
      if (of.length === 0) return [];
      const head = `Datapath: "${nameOf(row)}" (${textOf(row, "_uuid")})  Pipeline: ${pipeline}`;
      return [head, ...of.map(flowLine)];
    });
  });
  terminal.stdout(lines.map((line) => `${line}\n`).join(""));
  return 0;
}
