/** `mullion wine` on the command line. */
import type { Command } from "commander";
import type { Run } from "../options.ts";
import { addVerb } from "../described-verb.ts";
import type { Terminal } from "../terminal.ts";
import type { Verbs } from "../verbs.ts";
import { parseAdapters } from "../hns/serve-options.ts";

interface WineOptions {
  readonly profile?: string;
  readonly data?: string;
  readonly adapter?: readonly string[];
  readonly traceCalls?: string;
}

export function addWine(program: Command, run: Run, wine: Verbs["wine"], terminal: Terminal): void {
  addVerb(program, "wine").action(
    ([path = "", ...args]: readonly string[], { profile, data, adapter = [], traceCalls }: WineOptions) =>
      run(() => {
        parseAdapters(adapter);
        return wine({ program: path, args, profile, data, adapters: adapter, traceCalls }, terminal);
      }),
  );
}
