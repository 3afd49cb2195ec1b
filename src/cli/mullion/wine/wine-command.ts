/** `mullion wine` on the command line. */
import { Argument, type Command, Option } from "commander";
import { type Run, collect, examples } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import type { Verbs } from "../verbs.ts";
import { parseAdapters } from "../hns/serve-options.ts";
import { commandLine } from "#data/words.js";

const WORDS = commandLine();

interface WineOptions {
  readonly profile?: string;
  readonly data?: string;
  readonly adapter?: readonly string[];
  readonly traceCalls?: string;
}

export function addWine(program: Command, run: Run, wine: Verbs["wine"], terminal: Terminal): void {
  program
    .command("wine")
    .summary("run a Windows program on our HNS, under Wine")
    .description(WORDS.wineDescription)
    .usage("[options] -- PROGRAM [ARGUMENT...]")
    .addArgument(new Argument("<program...>", "the executable, and what it is given"))
    .addOption(new Option("--profile <build>", "the build of Windows of a private service (default: ws2022)"))
    .option("--data <folder>", "keep the objects of a private service in this folder")
    .option("--adapter <name=address/length>", WORDS.wineAdapter, collect)
    .option("--trace-calls <file>", WORDS.wineTraceCalls)
    .addHelpText(
      "after",
      examples(
        "mullion wine -- ./hcn.test.exe -test.v",
        "mullion wine --profile ws2019 -- ./win-bridge.exe",
        'mullion wine --adapter "Ethernet=192.168.1.5/24" -- ./flanneld.exe --iface=192.168.1.5',
        "mullion wine --trace-calls calls.jsonl -- ./kube-proxy.exe --hostname-override=win-1",
      ) + "\nExit code: the program's.\n",
    )
    .action(
      ([path = "", ...args]: readonly string[], { profile, data, adapter = [], traceCalls }: WineOptions) =>
        run(() => {
          parseAdapters(adapter);
          return wine({ program: path, args, profile, data, adapters: adapter, traceCalls }, terminal);
        }),
    );
}
