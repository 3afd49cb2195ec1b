import { describe, expect, it } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { explain } from "./explain/explain.ts";
import { runMullion } from "./program.ts";
import { textColumns } from "./terminal.ts";
import { trace } from "./trace.ts";
import { verify } from "./verify.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: shop}
nodes:
  - {name: win-1, os: windows, build: ws2022, address: 10.0.0.11}
  - {name: win-2, os: windows, build: ws2022, address: 10.0.0.12}
pods:
  - {name: web, node: win-1, labels: {app: web}}
  - {name: client, node: win-2}
`;
const SERVICE = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
`;

describe("textColumns", () => {
  it.each([
    ["a terminal", { isTTY: true, columns: 132 }, 132],
    ["a very narrow terminal", { isTTY: true, columns: 20 }, 60],
    ["a very wide terminal", { isTTY: true, columns: 400 }, 160],
    ["a terminal that does not know its width", { isTTY: true, columns: 0 }, 100],
    ["a file or a pipe", {}, 100],
    ["a pipe in a shell with COLUMNS", { isTTY: false, columns: 132 }, 100],
  ])("%s", (_what, stream, expected) => {
    expect(textColumns(stream)).toBe(expected);
  });
});

async function run(line: string, columns: number): Promise<readonly string[]> {
  const terminal = new MemoryTerminal({ "c.yaml": CLUSTER, "s.yaml": SERVICE }, columns);
  const argv = line.split(" ");
  await runMullion({ argv, verbs: { trace, verify }, terminal, version: "0", isDebug: false });
  return terminal.output.trimEnd().split("\n");
}

/** A word that is longer than a line has a line of its own; commands are never cut: they are there to be copied. */
function tooLong(lines: readonly string[], columns: number): readonly string[] {
  return lines.filter(
    (line) => line.length > columns && line.trim().includes(" ") && !/mullion |vfpctrl /.test(line),
  );
}

describe("on a terminal of 60, 100 and 160 columns", () => {
  it.each([
    "trace -f c.yaml pod/client pod/web --port 8080",
    "verify -f c.yaml",
    "verify -f c.yaml -f s.yaml --profile ws2019,ws2022",
    "explain icmp-outbound-not-translated",
  ])("%s keeps to the width, and uses it", async (line) => {
    const outputs = await Promise.all([60, 100, 160].map((columns) => run(line, columns)));
    const [narrow = [], usual = [], wide = []] = outputs;
    expect(tooLong(narrow, 60)).toEqual([]);
    expect(tooLong(usual, 100)).toEqual([]);
    expect(tooLong(wide, 160)).toEqual([]);
    expect(narrow.length).toBeGreaterThan(usual.length);
    expect(wide.length).toBeLessThanOrEqual(usual.length);
    // The words are the same, wherever the lines end.
    const words = (lines: readonly string[]): readonly string[] => lines.join(" ").split(/\s+/).toSorted();
    expect(words(narrow)).toEqual(words(usual));
    expect(words(wide)).toEqual(words(usual));
  });
});

it("explains an error at the width of the terminal, too", () => {
  const terminal = new MemoryTerminal({}, 60);
  explain("0x803b0013", "text", terminal);
  expect(tooLong(terminal.output.split("\n"), 60)).toEqual([]);
});
