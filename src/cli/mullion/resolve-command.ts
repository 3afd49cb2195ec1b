/** The command line of `mullion resolve`. */
import type { Command } from "commander";
import { LOOKUP_PROGRAMS, type LookupProgram } from "#cluster/trace/resolve-report.ts";
import { parseDuration } from "./duration.ts";
import {
  type EditionOptions,
  type Run,
  type TargetOptions,
  clusterTarget,
  countFor,
  editionAsked,
  usage,
} from "./options.ts";
import { TEXT_FORMATS, type TextFormat } from "./print-document.ts";
import { addVerb } from "./described-verb.ts";
import type { Terminal } from "./terminal.ts";
import type { Verbs } from "./verbs.ts";

const TIMES_MAX = 100;
const INTERVAL_MS = 1_000;
const INTERVAL_MS_MAX = 3_600_000;

interface ResolveOptions extends TargetOptions, EditionOptions {
  readonly as: LookupProgram;
  readonly family?: "ipv4" | "ipv6";
  readonly times?: number;
  readonly interval?: number;
  readonly output: TextFormat;
}

function parseInterval(text: string): number {
  return parseDuration(text, { name: "--interval", maxMs: INTERVAL_MS_MAX });
}

/** Senders with commas between them, as kinds are written. @throws Failure for an empty one. */
function sendersOf(text: string): readonly string[] {
  const senders = text.split(",").map((sender) => sender.trim());
  if (senders.every((sender) => sender !== "")) return senders;
  throw usage(
    `${JSON.stringify(text)} leaves out a sender`,
    "Write one, or several with commas: pod/web-win,pod/web-linux.",
  );
}

export function addResolve(program: Command, run: Run, resolve: Verbs["resolve"], terminal: Terminal): void {
  const values = {
    "--as": LOOKUP_PROGRAMS,
    "--family": ["ipv4", "ipv6"],
    "--times": countFor("--times", { max: TIMES_MAX }),
    "--interval": parseInterval,
    "--output": TEXT_FORMATS,
  };
  addVerb(program, "resolve", { values }).action((from: string, name: string, options: ResolveOptions) =>
    run(() => {
      const { as: asked, family, times = 1, interval, output } = options;
      if (interval !== undefined && times === 1)
        throw usage("--interval is the time between two lookups", "Say how many with --times.");
      const target = clusterTarget(options);
      const asDocumented = editionAsked(options, target);
      const how = { program: asked, family, times, intervalMs: interval ?? INTERVAL_MS, output };
      return resolve({ target, asDocumented, from: sendersOf(from), name, ...how }, terminal);
    }),
  );
}
