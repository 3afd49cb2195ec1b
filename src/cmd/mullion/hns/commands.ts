/** `mullion hns` on the command line: one function per verb. */
import type { Command } from "commander";
import type { Run } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import { addServe } from "./serve-command.ts";
import type { HnsVerbs } from "./verbs.ts";

export function addHns(program: Command, run: Run, verbs: HnsVerbs, terminal: Terminal): void {
  const hns = program.command("hns").summary("serve the Host Networking Service to other programs");
  addServe(hns, run, verbs.serve, terminal);
}
