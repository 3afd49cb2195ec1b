/** `mullion hns` on the command line: one function per verb. */
import { type Command, Option } from "commander";
import { type Run, examples } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import type { HnsVerbs } from "./verbs.ts";

interface HnsServeOptions {
  readonly profile: string;
  readonly socket?: string;
}

function addServe(hns: Command, run: Run, serve: HnsVerbs["serve"], terminal: Terminal): void {
  hns
    .command("serve")
    .description(
      "Serves the HNS of a node with one adapter and no networks, in memory, until Ctrl-C. Programs find it\n" +
        "by MULLION_HNS, or without it at the default socket.",
    )
    .addOption(new Option("--profile <name>", "the build of Windows").default("ws2022"))
    .option("--socket <path>", "where to listen; only you can open it")
    .addHelpText(
      "after",
      examples("mullion hns serve", "mullion hns serve --profile ws2019 --socket /tmp/hns.sock"),
    )
    .action(({ profile, socket }: HnsServeOptions) => run(() => serve({ profile, socket }, terminal)));
}

export function addHns(program: Command, run: Run, verbs: HnsVerbs, terminal: Terminal): void {
  const hns = program.command("hns").summary("serve the Host Networking Service to other programs");
  addServe(hns, run, verbs.serve, terminal);
}
