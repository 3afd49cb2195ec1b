/**
 * Real files of HNS for `npm run check:real`: each is restored into a service of its own, and every field has to come back
 * out, once from the service and once more after a dump of ours. What `hnsdiag list` printed is printed again.
 */
import { SourceText } from "#core/base/source-text.ts";
import type { HcnObjectKind } from "#contracts/hcn/client.ts";
import { DUMP_KINDS, type HnsDump } from "#contracts/hcn/dumps.ts";
import type { JsonObject } from "#core/base/json.ts";
import { fromDump } from "#hns/dump/as-given.ts";
import { dumpItems } from "#hns/dump/dump-items.ts";
import type { DumpedObject } from "#hns/dump/dumped-object.ts";
import { formatDump, readDump } from "#hns/dump/read-dump.ts";
import type { HnsService } from "#hns/service/hns-service.ts";
import { type LocalHnsOptions, createHns } from "#hns/local-hns.ts";
import { runHnsdiag } from "#cli/hnsdiag/program.ts";
import { type FieldDifference, lostFields } from "#test/support/lost-fields.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";

/** An adapter of each name that the networks ask for, with the address that they were managed by. */
function adaptersOf(objects: readonly DumpedObject[]): LocalHnsOptions["adapters"] {
  const adapters = new Map<string, string>();
  for (const { document } of objects) {
    const { NetworkAdapterName: name, ManagementIP: address } = document;
    if (typeof name === "string" && typeof address === "string") adapters.set(name, address);
  }
  if (adapters.size === 0) return undefined;
  return [...adapters].map(([name, address]) => ({ name, addresses: [`${address}/24`] }));
}

function restored(items: HnsDump["objects"], adapters: LocalHnsOptions["adapters"]): HnsService {
  const { service } = createHns({ profile: "ws2019", ...(adapters !== undefined && { adapters }) });
  service.restore(items, { keepsUnknownFields: true });
  return service;
}

function missing(object: DumpedObject, service: HnsService): readonly FieldDifference[] {
  const { kind, dialect, document, cut } = object;
  // No node prints what belongs to no object.
  if (kind === "Globals") return [];
  const Major = dialect === "v1" ? 1 : 2;
  const id = typeof document["ID"] === "string" ? document["ID"] : "";
  const shown = service.query(kind, id, { SchemaVersion: { Major, Minor: 0 } });
  return lostFields(document, shown).filter(({ path }) => !cut.includes(path));
}

/** What `mullion hns get -f -o json` shows of the items in a dialect, read as a dump again. */
function shownAgain(items: HnsDump["objects"], service: HnsService, isV1: boolean): readonly DumpedObject[] {
  const documents = (kind: HcnObjectKind): readonly JsonObject[] =>
    items
      .filter((item) => item.kind === kind)
      .map(({ id }) => service.query(kind, id, { SchemaVersion: { Major: isV1 ? 1 : 2, Minor: 0 } }));
  const kinds = DUMP_KINDS.filter((kind) => kind !== "Globals");
  const shown = kinds.flatMap((kind) => fromDump(items, kind, documents(kind), { isV1, isAdding: true }));
  return readDump(new SourceText("view.json", JSON.stringify({ items: shown }))).objects;
}

/** The round trip of the dump, through the view in either dialect: nothing may be lost and nothing come in unmarked. */
function readAgain(items: HnsDump["objects"], service: HnsService): readonly string[] {
  return [true, false].flatMap((isV1) => {
    const again = new Map(dumpItems(shownAgain(items, service, isV1)).map((item) => [item.id, item]));
    return items.flatMap((item) => {
      const { kind, id, document, v1 } = item;
      if (kind === "Globals") return [];
      const back = again.get(id);
      const view = `${kind} in ${isV1 ? "v1" : "v2"}`;
      if (back === undefined || back.kind !== kind) return [`FINDING ${view}: what is shown does not read`];
      const [given, isGivenV1] = v1 === undefined ? [document, false] : [v1, true];
      const [found = {}] = fromDump([back], kind, [{ ID: id }], { isV1: isGivenV1, isAdding: false });
      const differences = [...lostFields(given, found)];
      // In the other dialect some things stand twice, under the names of both.
      if (isV1 === isGivenV1) differences.push(...lostFields(found, given));
      return differences.map(({ path }) => `FINDING ${view}: ${path} is shown otherwise than in the dump`);
    });
  });
}

/** The rows of a list of hnsdiag: without empty lines, and without headings of which a paste has none. */
function rowsOf(text: string): readonly string[] {
  const lines = text.split(/\r?\n/).map((line) => line.trimEnd());
  return lines.filter((line) => line !== "" && !/^\w+:$|^(?:Name|ID) +(?:\||ID)/.test(line));
}

/** What a list of hnsdiag looks like when it is printed again; undefined when the file is none. */
async function printedAgain(file: string, text: string): Promise<boolean | undefined> {
  if (!/^Networks:\s*$/m.test(text)) return undefined;
  const terminal = new MemoryTerminal({ [file]: text });
  await runHnsdiag(["list", "all", "--mullion-file", file], terminal);
  return rowsOf(terminal.output).join("\n") === rowsOf(text).join("\n");
}

/** The verdict on one file of HNS, and how many findings it has. */
export async function checkDump(
  file: string,
  source: SourceText,
): Promise<{ readonly lines: readonly string[]; readonly findings: number }> {
  const { objects, problems, notes } = readDump(source);
  const lines = [...problems, ...notes].map(({ where, message }) => `line ${where.line}: ${message}`);
  const items = dumpItems(objects);
  const adapters = adaptersOf(objects);
  const service = restored(items, adapters);
  const again = readDump(new SourceText("dump.json", formatDump(undefined, service.export())));
  const second = restored(dumpItems(again.objects), adapters);
  const lost = objects.flatMap((object) =>
    [service, second].flatMap((each) =>
      missing(object, each).map(
        ({ path, given, shown }) =>
          `FINDING ${object.kind}: ${path} was ${JSON.stringify(given)} and is ${JSON.stringify(shown) ?? "gone"}`,
      ),
    ),
  );
  lost.push(...readAgain(items, service));
  const printed = await printedAgain(file, source.text);
  if (printed === true) lines.push("hnsdiag prints each row again letter by letter");
  if (printed === false) lost.push("FINDING hnsdiag prints it otherwise");
  if (objects.length === 0) lost.push("FINDING no object was read");
  lines.push(`${objects.length} objects restored, ${lost.length} findings`);
  return { lines: [...lines, ...lost], findings: lost.length + problems.length };
}
