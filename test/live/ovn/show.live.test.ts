// What `mullion ovn nb|sb` prints of a database file beside what ovn-nbctl and ovn-sbctl print of the same database.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runMullion } from "#cli/mullion/program.ts";
import { list, listFlows, show } from "#cli/mullion/ovn/show.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { OvnCentral } from "./ovn-central.ts";
import { KUBERNETES } from "./kubernetes-topology.ts";

let central: OvnCentral;
beforeAll(() => {
  central = new OvnCentral();
  central.script(`${KUBERNETES}\nsb lsp-bind default_p15 win1`);
}, 60_000);
afterAll(() => central.stop());

async function ours(name: "nb" | "sb", ...words: readonly string[]): Promise<string> {
  const terminal = new MemoryTerminal();
  terminal.files.set("saved.db", central.file(name));
  const argv = ["ovn", name, ...words, "-f", "saved.db"];
  const verbs = { ovn: { show, list, listFlows } };
  expect(await runMullion({ argv, verbs, terminal, version: "0", isDebug: false })).toBe(0);
  return terminal.output;
}

/** Theirs follow the order of a hash: lines of one depth are sorted below the line that they stand under. */
function sortedBlocks(text: string, depth = 0): string {
  const blocks: string[] = [];
  for (const line of text.split("\n").filter((each) => each !== "")) {
    const isHead = line.length - line.trimStart().length === depth;
    if (isHead) blocks.push(line);
    else blocks[blocks.length - 1] += `\n${line}`;
  }
  return blocks
    .map((block) => {
      const [head = "", ...rest] = block.split("\n");
      // Lines of a port stand in an order of their own.
      return depth > 0 || rest.length === 0 ? block : `${head}\n${sortedBlocks(rest.join("\n"), 4)}`;
    })
    .toSorted()
    .join("\n");
}

describe("the same as OVN's own programs", () => {
  it.each(["nb", "sb"] as const)("%s show", async (name) => {
    const theirs = central.ask(name, "show");
    expect(theirs.split("\n").length).toBeGreaterThan(8);
    expect(sortedBlocks(await ours(name, "show"))).toBe(sortedBlocks(theirs));
  });

  it("sb lflow-list", async () => {
    expect(await ours("sb", "lflow-list")).toBe(central.ask("sb", "lflow-list"));
  });

  it.each([
    ["nb", "Logical_Switch_Port"],
    ["nb", "NAT"],
    ["nb", "Load_Balancer"],
    ["sb", "Port_Binding"],
    ["sb", "Multicast_Group"],
  ] as const)("%s list %s", async (name, table) => {
    const rowsOf = (text: string): readonly string[] => text.trim().split("\n\n").toSorted();
    expect(rowsOf(await ours(name, "list", table))).toEqual(rowsOf(central.ask(name, "list", table)));
  });
});
