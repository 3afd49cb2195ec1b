/** `mullion hns dump` and `mullion hns restore`. */
import { type HnsDump, DUMP_KINDS } from "#contracts/hcn/dumps.ts";
import { formatDump } from "#hns/dump/read-dump.ts";
import { Failure, describeSystemError } from "../failure.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import { withHns } from "./connect.ts";
import { HNS_OBJECT_KINDS } from "./hns-kinds.ts";
import { readDumpFiles } from "./read-dump-files.ts";
import type { HnsDumpRequest, HnsRestoreRequest } from "./verbs.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

const NOTES_SHOWN = 20;

/** `3 networks, 1 namespace`. */
function countObjects(objects: HnsDump["objects"]): string {
  const counts = DUMP_KINDS.map((kind) => {
    const count = objects.filter((object) => object.kind === kind).length;
    const names = HNS_OBJECT_KINDS.find((each) => each.kind === kind);
    const noun = names?.noun ?? "settings";
    return count === 0 ? "" : `${count} ${count === 1 ? noun.replace(/s$/, "") : noun}`;
  });
  return counts.filter((text) => text !== "").join(", ") || "no objects";
}

async function write(text: string, path: string | undefined, terminal: Terminal): Promise<void> {
  if (path === undefined || path === "-") {
    terminal.stdout(text);
    return;
  }
  try {
    await terminal.writeFile(path, text);
  } catch (error) {
    throw new Failure(
      "bad-usage",
      `cannot write ${JSON.stringify(path)}: ${describeSystemError(error)}`,
      WORDS.adviceDumpFile,
    );
  }
}

export async function dump(request: HnsDumpRequest, terminal: Terminal): Promise<ExitCode> {
  const { target, output } = request;
  if (target.files.length > 0) {
    const { objects, problemCount, asWritten } = await readDumpFiles(target.files, terminal);
    await write(asWritten(formatDump(undefined, objects)), output, terminal);
    if (output !== undefined && output !== "-")
      terminal.stderr(`${output} holds ${countObjects(objects)}.\n`);
    return problemCount === 0 ? 0 : 1;
  }
  return withHns<ExitCode>(target, terminal, async ({ dumps }) => {
    const { service, objects } = await dumps.dump();
    await write(formatDump(service, objects), output, terminal);
    if (output !== undefined && output !== "-")
      terminal.stderr(`${output} holds ${countObjects(objects)}.\n`);
    return 0;
  });
}

export async function restore(request: HnsRestoreRequest, terminal: Terminal): Promise<ExitCode> {
  const { target, files, isReplacing } = request;
  const { objects, problemCount } = await readDumpFiles(files, terminal);
  return withHns<ExitCode>(target, terminal, async ({ dumps, where }) => {
    const notes = await dumps.restore({ objects, isReplacing });
    for (const { kind, id, text } of notes.slice(0, NOTES_SHOWN))
      terminal.stderr(`note: ${kind} ${id}: ${text}\n`);
    const hidden = notes.length - NOTES_SHOWN;
    if (hidden > 0) terminal.stderr(`note: … and ${hidden} more\n`);
    terminal.stdout(`Restored ${countObjects(objects)} into the HNS at ${where}.\n`);
    terminal.stdout("Look at them: mullion hns get all, or hnsdiag list all\n");
    return problemCount === 0 ? 0 : 1;
  });
}
