/**
 * `curl`, and `curl.exe`, which Windows has since Server 2019. Its form is that of `curl` on a terminal: what the server sends, and
 * one line for each way to fail (kubernetes/kubernetes#86243, #97043; curl/curl#10863; yhirose/cpp-httplib#1945; lib/connect.c and
 * lib/cf-socket.c of curl: a system that gave the connection up is number 28 in the words of number 7).
 *
 * Inferred: the line of a simulated pod's server stands for the page of its image.
 */
import type { OperatingSystem } from "#dataplane/host/stack-profile.ts";
import { type CommandOutput, type ListedCommand, notBuilt } from "./command.ts";
import { type GivenOptions, type OptionTable, numberOf, readOptions } from "./getopt.ts";
import type { Machine } from "./machine.ts";
import {
  type Address,
  type AnsweredPage,
  type FailedPage,
  fetchPage,
  readStatus,
  readUrl,
} from "./web-page.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const OPTIONS: OptionTable = {
  "-s": "silent",
  "--silent": "silent",
  "-S": "show-error",
  "--show-error": "show-error",
  "-i": "include",
  "--include": "include",
  "--http0.9": "http0.9",
  "-f": "fail",
  "--fail": "fail",
  "-4": "ipv4",
  "--ipv4": "ipv4",
  "-m": "max-time=",
  "--max-time": "max-time=",
  "--connect-timeout": "connect-timeout=",
  "-o": "output=",
  "--output": "output=",
  "-w": "write-out=",
  "--write-out": "write-out=",
};
const EXIT = { noHttp: 1, noName: 6, noConnection: 7, refusedPage: 22, overTime: 28 } as const;
const SECONDS_MAX = 3_600;
const NULL_DEVICES: Readonly<Record<OperatingSystem, readonly string[]>> = {
  windows: ["nul", "NUL", "/dev/null"],
  linux: ["/dev/null"],
};

interface Ending {
  readonly exitCode: number;
  readonly error: string | undefined;
  readonly httpCode: number;
  /** What the server sent, as far as it is shown. */
  readonly text: string;
}

function failed(page: FailedPage, { host, port }: Address): Ending {
  const ending = (exitCode: number, text: string): Ending => ({
    exitCode,
    error: `curl: (${exitCode}) ${text}`,
    httpCode: 0,
    text: "",
  });
  if (page.outcome === "no-name") return ending(EXIT.noName, `Could not resolve host: ${host}`);
  if (page.outcome === "over-time")
    return ending(EXIT.overTime, `Connection timed out after ${page.tookMs} milliseconds`);
  return ending(
    page.outcome === "silent" ? EXIT.overTime : EXIT.noConnection,
    WORDS.curlNoConnection({ host, port, tookMs: page.tookMs }),
  );
}

function answered(page: AnsweredPage, { flags }: GivenOptions): Ending {
  const status = readStatus(page);
  if (status === undefined && !flags.has("http0.9")) {
    const error = `curl: (${EXIT.noHttp}) Received HTTP/0.9 when not allowed`;
    return { exitCode: EXIT.noHttp, error, httpCode: 0, text: "" };
  }
  const httpCode = status?.code ?? 0;
  if (flags.has("fail") && httpCode >= 400) {
    const error = `curl: (${EXIT.refusedPage}) The requested URL returned error: ${httpCode}`;
    return { exitCode: EXIT.refusedPage, error, httpCode, text: "" };
  }
  return {
    exitCode: 0,
    error: undefined,
    httpCode,
    text: (flags.has("include") ? page.head : "") + page.body,
  };
}

/** What `-w` adds; undefined for a variable that Mullion does not have. */
function writeOut(format: string, httpCode: number): string | undefined {
  const text = format
    .replace(/%\{(http_code|response_code)\}/g, String(httpCode).padStart(3, "0"))
    .replaceAll("\\n", "\n")
    .replaceAll("\\t", "\t");
  return /%\{|\\/.test(text) ? undefined : text;
}

function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  const lines = (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
  return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
}

function run(command: ListedCommand, machine: Machine, args: readonly string[]): CommandOutput {
  const given = readOptions(OPTIONS, args);
  const { flags, values, operands } = given;
  const refuse = (): never => notBuilt(command, args.join(" ") || "without an address");
  const [url, ...others] = operands;
  const address = url === undefined ? undefined : readUrl(url);
  if (given.unknown !== undefined || address === undefined || others.length > 0) return refuse();
  const output = values.get("output");
  const isDiscarded = output !== undefined;
  if (isDiscarded && !NULL_DEVICES[command.os].includes(output)) return refuse();
  const limits = ["max-time", "connect-timeout"].flatMap((name) => {
    const text = values.get(name);
    const seconds = numberOf(text, { least: 0.001, most: SECONDS_MAX, isWhole: false });
    return text === undefined ? [] : (seconds ?? refuse());
  });
  const format = values.get("write-out");
  if (format !== undefined && writeOut(format, 0) === undefined) return refuse();
  const timeoutMs = limits.length === 0 ? undefined : Math.min(...limits) * 1_000;
  const page = fetchPage(machine, address, timeoutMs);
  const ending = page.outcome === "answered" ? answered(page, given) : failed(page, address);
  const shown = isDiscarded ? "" : ending.text;
  const added = format === undefined ? "" : (writeOut(format, ending.httpCode) ?? "");
  const isQuiet = flags.has("silent") && !flags.has("show-error");
  return {
    stdout: linesOf(shown + added),
    stderr: ending.error === undefined || isQuiet ? [] : [ending.error],
    exitCode: ending.exitCode,
  };
}

function curlOf(os: OperatingSystem): ListedCommand {
  const command: ListedCommand = {
    name: "curl",
    os,
    usages: [
      "curl [-sSif4] [-m SECONDS] [--connect-timeout SECONDS] [-o /dev/null] [-w FORMAT] http://HOST[:PORT][/PATH]",
    ],
    run: (machine, args) => run(command, machine, args),
  };
  return command;
}

export const CURLS: readonly ListedCommand[] = [curlOf("windows"), curlOf("linux")];
