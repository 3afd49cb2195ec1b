/** `mullion hns check` and `mullion hns repair`: state folders that are not as they were written. */
import { plural } from "#core/base/text-layout.ts";
import { resolve } from "node:path";
import { DamagedFileError, StateFolderError } from "#hns/store/folder-files.node.ts";
import {
  type FolderReport,
  type RepairReport,
  checkFolder,
  repairFolder,
} from "#hns/store/repair-folder.node.ts";
import { usage } from "../options.ts";
import { formatDocument } from "../print-document.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import type { HnsFolderRequest } from "./verbs.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

const SHOWN_MAX = 20;

function lines(head: string, texts: readonly string[]): string {
  if (texts.length === 0) return "";
  const more = texts.length > SHOWN_MAX ? [`  … and ${texts.length - SHOWN_MAX} more (-o json has all)`] : [];
  return `${[head, ...texts.slice(0, SHOWN_MAX).map((text) => `  ${text}`), ...more].join("\n")}\n`;
}

function summary({ objects, changes, openings, format }: FolderReport): string {
  if (format === 1) return `${WORDS.checkFormat1({ objects: plural(objects, "object") })}\n`;
  return `${plural(objects, "object")} after ${plural(changes, "change")} and ${plural(openings, "opening")}; format ${format}.\n`;
}

/** @throws Failure for a folder that cannot be used at all. */
function attempt<T>(work: () => T, terminal: Terminal): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof DamagedFileError) {
      terminal.stdout(`${error.message}\n`);
      return undefined;
    }
    if (error instanceof StateFolderError) throw usage("the state folder cannot be used", error.message);
    throw error;
  }
}

/** 0: whole; 1: damaged. */
export async function check({ folder, output }: HnsFolderRequest, terminal: Terminal): Promise<ExitCode> {
  const report = attempt(() => checkFolder(resolve(folder)), terminal);
  if (report === undefined) return Promise.resolve(1);
  const isWhole = report.damages.length === 0;
  if (output !== "text") terminal.stdout(formatDocument(report, output));
  else {
    const verdict = isWhole ? "All acknowledged changes are there" : "Damaged";
    terminal.stdout(`${verdict}: ${summary(report)}`);
    terminal.stdout(lines("What is wrong:", report.damages));
    terminal.stdout(
      lines("Damaged, and whole in another place (the next start mends it):", report.recoveries),
    );
    if (!isWhole) terminal.stdout(`${WORDS.adviceHnsRepair({ folder: report.folder })}\n`);
  }
  return isWhole ? 0 : 1;
}

function repairText({ kept, damages, recoveries, ...report }: RepairReport): string {
  if (kept === undefined) return `Nothing to repair: ${summary({ damages, recoveries, ...report })}`;
  return (
    `Repaired: ${summary({ damages, recoveries, ...report })}` +
    lines("What is lost:", damages) +
    lines("What was taken from another place:", recoveries) +
    `The files as they were: ${kept}\n`
  );
}

/** 0: nothing was lost; 1: some of what was acknowledged is lost. */
export async function repair({ folder, output }: HnsFolderRequest, terminal: Terminal): Promise<ExitCode> {
  const report = attempt(() => repairFolder(resolve(folder)), terminal);
  if (report === undefined) return Promise.resolve(1);
  terminal.stdout(output === "text" ? repairText(report) : formatDocument(report, output));
  return report.damages.length === 0 ? 0 : 1;
}
