// The commands of the pages that need tshark, and what the pages say that they print.
import { afterAll, expect, it } from "vitest";
import { readFiles } from "../../tools/source-files.ts";
import { commandsOf } from "../support/pages/page-commands.ts";
import { PageReader } from "../support/pages/page-run.ts";

const PAGE = "docs/how-to/follow-a-frame.md";
const reader = new PageReader();
afterAll(async () => reader.close());

it(`tshark finds the frame of ${PAGE} at every place`, async () => {
  const text = readFiles(PAGE)[0]?.text ?? "";
  const shown = [...text.matchAll(/^```text\n([\s\S]*?)^```$/gm)].map(([, output]) => output);
  const printed: string[] = [];
  for (const { line } of commandsOf(PAGE, text).filter((each) => !each.line.startsWith("PS> "))) {
    const { code, stdout, stderr } = await reader.run(line);
    expect(code, stderr).toBe(0);
    if (line.startsWith("tshark ")) printed.push(stdout);
  }
  expect(printed).toEqual(shown);
});
