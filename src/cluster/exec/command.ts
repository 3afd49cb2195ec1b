/** A command of a simulated machine: what the table of them holds. */
import type { OperatingSystem } from "#dataplane/host/stack-profile.ts";
import { RequestError } from "../request-error.ts";
import type { Machine } from "./machine.ts";

/** Who reads the line that was typed. */
export type Shell = "cmd" | "powershell" | "sh";

export interface CommandOutput {
  readonly stdout: readonly string[];
  readonly stderr?: readonly string[];
  readonly exitCode: number;
}

export interface ListedCommand {
  /** In small letters; Windows takes any spelling, with or without `.exe`. */
  readonly name: string;
  readonly os: OperatingSystem;
  /** Other names for it, in small letters. */
  readonly aliases?: readonly string[];
  /** The one shell that knows it. Default: every one. */
  readonly shell?: "powershell";
  /** Each way to call it, as `mullion exec --list` shows it. */
  readonly usages: readonly string[];
  /** True for arguments with which it changes the machine. Default: it never does. */
  readonly isChange?: (args: readonly string[]) => boolean;
  /** Lines without their ends. */
  readonly run: (machine: Machine, args: readonly string[]) => CommandOutput;
  /** In the place of `run` where the machine is changed by calls that take their time: those of HNS. */
  readonly change?: (machine: Machine, args: readonly string[]) => Promise<CommandOutput>;
}

/** An argument of Windows' own programs: `/all`, `-all` and `/ALL` are one option. */
export function optionOf(arg: string): string | undefined {
  return /^[/-]./.test(arg) ? arg.slice(1).toLowerCase() : undefined;
}

/** @throws RequestError for what the real program takes, and Mullion's does not. */
export function notBuilt({ name, usages }: Pick<ListedCommand, "name" | "usages">, text: string): never {
  throw new RequestError(
    "bad-usage",
    `${name} ${text} is not one of the commands that Mullion has`,
    `Mullion has: ${usages.join(", ")}. mullion exec --list shows all.`,
  );
}
