/**
 * `wget` of BusyBox, which most small images have. Its sentences are those of docker-library/busybox#118 (an unknown name),
 * weaveworks/weave#3738 (no answer of HTTP) and networking/wget.c of BusyBox.
 *
 * Inferred: of a page that goes to the terminal, what `-q` leaves out is a picture of progress, so it is asked for.
 */
import { formatIp } from "#core/net/ip.ts";
import { type CommandOutput, type ListedCommand, notBuilt } from "../command.ts";
import { type OptionTable, numberOf, readOptions } from "../getopt.ts";
import type { Machine } from "../machine.ts";
import { type FailedPage, fetchPage, readStatus, readUrl } from "../web-page.ts";

const OPTIONS: OptionTable = {
  "-q": "quiet",
  "-O": "output=",
  "-T": "timeout=",
  "--timeout": "timeout=",
  "--spider": "spider",
};
/** Of BusyBox' own: it waits for 900 seconds unless told otherwise. */
const TIMEOUT_SECONDS = 900;

function failure(text: string): CommandOutput {
  return { stdout: [], stderr: [`wget: ${text}`], exitCode: 1 };
}

const REASONS: Readonly<Record<Exclude<FailedPage["outcome"], "no-name" | "over-time">, string>> = {
  refused: "Connection refused",
  unreachable: "Host is unreachable",
  silent: "Connection timed out",
};

function fetch(machine: Machine, args: readonly string[]): CommandOutput {
  const { flags, values, operands, unknown } = readOptions(OPTIONS, args);
  const refuse = (): never => notBuilt(WGET, args.join(" ") || "without an address");
  const [url, ...others] = operands;
  const address = url === undefined ? undefined : readUrl(url);
  if (unknown !== undefined || others.length > 0 || address === undefined || !flags.has("quiet"))
    return refuse();
  const isSpider = flags.has("spider");
  const output = values.get("output");
  if (!isSpider && output !== "-" && output !== "/dev/null") return refuse();
  const timeout = values.get("timeout");
  const seconds =
    timeout === undefined ? TIMEOUT_SECONDS : numberOf(timeout, { least: 1, most: TIMEOUT_SECONDS });
  const page = fetchPage(machine, address, (seconds ?? refuse()) * 1_000);
  if (page.outcome === "no-name") return failure(`bad address '${address.host}'`);
  if (page.outcome === "over-time") return failure("download timed out");
  if (page.outcome !== "answered") {
    const place = page.ip === undefined ? address.host : formatIp(page.ip);
    return failure(`can't connect to remote host (${place}): ${REASONS[page.outcome]}`);
  }
  const status = readStatus(page);
  if (status === undefined) return failure("error getting response");
  if (status.code >= 400) return failure(`server returned error: HTTP/1.1 ${status.code} ${status.text}`);
  const lines = page.body.endsWith("\n") ? page.body.slice(0, -1).split("\n") : page.body.split("\n");
  return { stdout: isSpider || output === "/dev/null" ? [] : lines, exitCode: 0 };
}

export const WGET: ListedCommand = {
  name: "wget",
  os: "linux",
  usages: [
    "wget -q -O -|/dev/null [-T SECONDS] http://HOST[:PORT][/PATH]",
    "wget -q --spider [-T SECONDS] URL",
  ],
  run: fetch,
};
