/** `mullion hns` on the command line: one function per verb. */
import type { Command } from "commander";
import { EXIT_CODES, type Run, examples } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import { addServe } from "./serve-options.ts";
import { addDump, addFolderVerbs, addGet, addRestore, addWatch } from "./object-commands.ts";
import { addCreate, addDelete, addModify } from "./change-commands.ts";
import { addFaults } from "./fault-commands.ts";
import type { HnsVerbs } from "./verbs.ts";
import { hnsCommands } from "#data/words.js";

const WORDS = hnsCommands();

export function addHns(program: Command, run: Run, verbs: Partial<HnsVerbs>, terminal: Terminal): void {
  const hns = program
    .command("hns")
    .summary("serve, look at, change, restore and break a Host Networking Service")
    .description(WORDS.hnsDescription)
    .addHelpText(
      "after",
      examples(
        "mullion hns serve --socket /tmp/hns.sock",
        "mullion hns get all",
        "mullion hns dump --to node.json",
        "mullion hns fault list",
      ) + EXIT_CODES,
    );
  if (verbs.serve !== undefined) addServe(hns, run, verbs.serve, terminal);
  if (verbs.get !== undefined) addGet(hns, run, verbs.get, terminal);
  if (verbs.create !== undefined) addCreate(hns, run, verbs.create, terminal);
  if (verbs.modify !== undefined) addModify(hns, run, verbs.modify, terminal);
  if (verbs.delete !== undefined) addDelete(hns, run, verbs.delete, terminal);
  if (verbs.watch !== undefined) addWatch(hns, run, verbs.watch, terminal);
  if (verbs.dump !== undefined) addDump(hns, run, verbs.dump, terminal);
  if (verbs.restore !== undefined) addRestore(hns, run, verbs.restore, terminal);
  addFolderVerbs(hns, run, verbs, terminal);
  if (verbs.fault !== undefined) addFaults(hns, run, verbs.fault, terminal);
}
