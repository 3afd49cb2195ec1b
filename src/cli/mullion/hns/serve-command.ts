/** `mullion hns serve` on the command line. */
import { type Command, Option } from "commander";
import { type Run, examples } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import { parseDelay } from "./serve-options.ts";
import type { HnsVerbs } from "./verbs.ts";

interface HnsServeOptions {
  readonly profile: string;
  readonly socket?: string;
  readonly listen?: string;
  readonly tokenFile?: string;
  readonly data?: string;
  readonly addressDelay: string;
  readonly adapter?: readonly string[];
  readonly quirk?: readonly string[];
  readonly faults?: readonly string[];
}

function collect(text: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), text];
}

export function addServe(hns: Command, run: Run, serve: HnsVerbs["serve"], terminal: Terminal): void {
  hns
    .command("serve")
    .summary("serve the HNS of a Windows node to other programs")
    .description(
      "Serves the HNS of a node that has adapters and no networks, until Ctrl-C. Programs find it by MULLION_HNS,\n" +
        "or without it at the default socket.",
    )
    .addOption(new Option("--profile <name>", "the build of Windows").default("ws2022"))
    .option("--data <folder>", "keep the objects in this folder; without it they are in memory")
    .option("--socket <path>", "where to listen; only you can open it")
    .option("--listen <address>", "listen on loopback TCP instead, as 127.0.0.1:8080; needs --token-file")
    .option("--token-file <path>", "the token that TCP clients send; made when it is missing")
    .addOption(
      new Option(
        "--adapter <name=address/length>",
        "a network adapter of the node, as often as wanted (default: Ethernet=10.0.0.11/24)",
      ).argParser(collect),
    )
    .addOption(
      new Option(
        "--address-delay <ms>",
        "how long addresses on a new switch, and mirrored networks, take to appear (milliseconds)",
      ).default("2000"),
    )
    .addOption(
      new Option(
        "--quirk <name=setting>",
        "a defect of HNS: NAME=on, NAME=off, NAME=0.1 for a likelihood; as often as wanted",
      ).argParser(collect),
    )
    .addOption(new Option("--faults <path>", "a plan of faults to begin with").argParser(collect))
    .addHelpText(
      "after",
      examples(
        "mullion hns serve",
        "mullion hns serve --profile ws2019 --socket /tmp/hns.sock",
        "mullion hns serve --data hns-state",
        'mullion hns serve --adapter "Ethernet=192.168.1.5/24" --adapter "Ethernet=fd00::5/64"',
        "mullion hns serve --listen 127.0.0.1:8080 --token-file hns.token",
        "mullion hns serve --profile ws2019 --quirk reattach-refused=off --faults plan.json",
      ),
    )
    .action((options: HnsServeOptions) => {
      const { profile, socket, listen, tokenFile, data, addressDelay } = options;
      const { adapter: adapters = [], quirk: quirks = [], faults = [] } = options;
      return run(() => {
        const addressDelayMs = parseDelay(addressDelay);
        const place = { socket, listen, tokenFile, data };
        return serve({ profile, ...place, addressDelayMs, adapters, quirks, faults }, terminal);
      });
    });
}
