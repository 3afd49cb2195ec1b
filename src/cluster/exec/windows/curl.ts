/**
 * `curl.exe`, which Windows has since Server 2019. Its form is that of `curl` on a terminal: what the server sends, and one line for
 * each way to fail (kubernetes/kubernetes#86243, #97043).
 *
 * Inferred: the server of a simulated pod stands for that of the pod's image, so that its line is the page.
 */
import { type CommandOutput, type ListedCommand, notBuilt } from "../command.ts";
import type { Machine } from "../machine.ts";
import { type Address, type Page, fetchPage, readUrl } from "./web-page.ts";

const FLAGS = new Set(["-s", "--silent", "-4", "--ipv4", "-i", "--include"]);
const EXIT = { noName: 6, noConnection: 7, timedOut: 28 } as const;

function failure(exitCode: number, text: string): CommandOutput {
  return { stdout: [], stderr: [`curl: (${exitCode}) ${text}`], exitCode };
}

function explain(
  page: Exclude<Page, { readonly outcome: "answered" }>,
  { host, port }: Address,
): CommandOutput {
  if (page.outcome === "no-name") return failure(EXIT.noName, `Could not resolve host: ${host}`);
  if (page.outcome === "timed-out") return failure(EXIT.timedOut, "Connection timed out");
  const place = `${host} port ${port} after ${page.tookMs} ms`;
  return failure(EXIT.noConnection, `Failed to connect to ${place}: Could not connect to server`);
}

function show(machine: Machine, address: Address, isWithHead: boolean): CommandOutput {
  const page = fetchPage(machine, address);
  if (page.outcome !== "answered") return explain(page, address);
  const shown = (isWithHead ? page.head : "") + page.body;
  const lines = (shown.endsWith("\n") ? shown.slice(0, -1) : shown).split("\n");
  return { stdout: lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line)), exitCode: 0 };
}

export const CURL: ListedCommand = {
  name: "curl",
  os: "windows",
  usages: ["curl [-s] [-i] [-4] http://HOST[:PORT][/PATH]"],
  run: (machine, args) => {
    const [url, ...others] = args.filter((arg) => !FLAGS.has(arg));
    const address = url === undefined ? undefined : readUrl(url);
    if (
      address === undefined ||
      others.length > 0 ||
      args.some((arg) => arg.startsWith("-") && !FLAGS.has(arg))
    )
      return notBuilt(CURL, args.join(" ") || "without an address");
    return show(
      machine,
      address,
      args.some((arg) => arg === "-i" || arg === "--include"),
    );
  },
};
