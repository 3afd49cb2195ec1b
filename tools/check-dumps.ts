/**
 * Real files of HNS for `npm run check:real`: each is restored into a service of its own, and every field has to come back
 * out, once from the service and once more after a dump of ours. What `hnsdiag list` printed is printed again.
 */
import { SourceText } from "#core/base/source-text.ts";
import type { HnsDump } from "#contracts/hcn/dumps.ts";
import { dumpItems } from "#hns/dump/dump-items.ts";
import type { DumpedObject } from "#hns/dump/dumped-object.ts";
import { formatDump, readDump } from "#hns/dump/read-dump.ts";
import type { HnsService } from "#hns/service/hns-service.ts";
import { type LocalHnsOptions, createHns } from "#hns/local-hns.ts";
import { runHnsdiag } from "#cli/hnsdiag/program.ts";
import { type FieldDifference, lostFields } from "#test/support/lost-fields.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";

/** What the service works out itself, so that its own value stands. */
const WORKED_OUT =
  /^(?:\w+EndpointCount|TotalEndpoints|MaxConcurrentEndpoints|DNSServerCompartment|Extensions\[|Subnets\[\d+\]\.Health)/;

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
  return lostFields(document, shown).filter(({ path }) => !WORKED_OUT.test(path) && !cut.includes(path));
}

/** What a list of hnsdiag looks like when the service prints it; undefined when the file is none. */
async function printedAgain(file: string, text: string): Promise<boolean | undefined> {
  if (!/^Networks:\s*$/m.test(text)) return undefined;
  const terminal = new MemoryTerminal({ [file]: text });
  await runHnsdiag(["list", "all", "--mullion-file", file], terminal);
  return terminal.output.trim() === text.replaceAll("\r", "").trim();
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
  const printed = await printedAgain(file, source.text);
  if (printed === true) lines.push("hnsdiag prints it again letter by letter");
  if (printed === false) lost.push("FINDING hnsdiag prints it otherwise");
  if (objects.length === 0) lost.push("FINDING no object was read");
  lines.push(`${objects.length} objects restored, ${lost.length} findings`);
  return { lines: [...lines, ...lost], findings: lost.length + problems.length };
}
