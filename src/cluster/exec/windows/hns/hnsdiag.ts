/** `hnsdiag list`, as the executable of that name prints it (dataplane.md §7.13). */
import { textOf } from "#core/base/json.ts";
import { HNSDIAG_KINDS, formatDetails, formatTables } from "#hns/dump/hnsdiag-tables.ts";
import { type CommandOutput, type ListedCommand, notBuilt } from "../../command.ts";
import type { Machine } from "../../machine.ts";
import { unknownCommand } from "../../shells.ts";
import { hnsOf, v1Documents } from "./hns-of-node.ts";

const NAME = "hnsdiag";
const USAGES: readonly string[] = [
  "hnsdiag list all|networks|endpoints|namespaces|loadbalancers [ID…] [-d|-df] (on nodes)",
];

function run(machine: Machine, args: readonly string[]): CommandOutput {
  const hns = hnsOf(machine);
  if (hns === undefined) return unknownCommand("cmd", NAME);
  const words = args.filter((word) => !word.startsWith("-"));
  const options = args.filter((word) => word.startsWith("-"));
  const [verb, kind = "", ...ids] = words.map((word) => word.toLowerCase());
  const kinds = HNSDIAG_KINDS.filter(({ plural }) => kind === "all" || kind === plural);
  const isKnown = options.every((option) => /^-[dfl]+$/i.test(option));
  if (verb !== "list" || kinds.length === 0 || !isKnown)
    return notBuilt({ name: NAME, usages: USAGES }, args.join(" "));
  const listed = kinds.map((each) => ({
    plural: each.plural,
    documents: v1Documents(hns, each.kind).filter(
      (document) => ids.length === 0 || ids.includes(textOf(document["ID"]).toLowerCase()),
    ),
  }));
  const isDetailed = options.some((option) => option.toLowerCase().includes("d"));
  const text = isDetailed ? formatDetails(listed) : formatTables(listed);
  return { stdout: text.replace(/\n$/, "").split("\n"), exitCode: 0 };
}

export const HNSDIAG: ListedCommand = { name: NAME, os: "windows", usages: USAGES, run };
