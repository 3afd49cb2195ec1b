// hcn.md §9: each worked example as a golden file, over both transports. The same seed gives the same bytes on both.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { HttpHcnClient } from "#contracts/hcn/http/http-client.node.ts";
import { type Golden, GoldenRun, type GoldenService } from "#test/support/hns/golden.ts";
import { type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";
import { HnsHttpServer } from "./http/http-server.node.ts";

const FOLDER = "src/hns/golden";
const GOLDENS = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".json"))
  .toSorted()
  .map((name) => JSON.parse(readFileSync(join(FOLDER, name), "utf8")) as Golden);

const DEFAULT_NODE = { profile: "ws2025", version: { Major: 15, Minor: 5 } } as const;
const folder = mkdtempSync(join(tmpdir(), "mullion-golden-"));
afterAll(() => rmSync(folder, { recursive: true }));

function nodeOf({ node }: Golden): HnsNode {
  return hnsNode({ ...DEFAULT_NODE, ...node });
}

function advancing({ clock, client }: HnsNode): GoldenService["advance"] {
  return async (ms) => {
    clock.runUntil(clock.nowMs + ms);
    await client.flush();
  };
}

async function runInProcess(golden: Golden): Promise<GoldenRun> {
  const node = nodeOf(golden);
  const run = new GoldenRun({ client: node.client, advance: advancing(node) });
  await run.run(golden);
  return run;
}

async function runOverHttp(golden: Golden): Promise<GoldenRun> {
  const node = nodeOf(golden);
  const socketPath = join(folder, `${golden.section}.sock`);
  const server = await HnsHttpServer.listen({ client: node.client, address: { socketPath } });
  const client = new HttpHcnClient({ address: { socketPath } });
  const run = new GoldenRun({ client, advance: advancing(node) });
  try {
    await run.run(golden);
  } finally {
    await client.close();
    await server.close();
  }
  return run;
}

describe("the worked examples", () => {
  it("are all there: hcn.md §9.1 to §9.25", () => {
    const sections = new Set(GOLDENS.map(({ section }) => section));
    expect([...sections]).toEqual(
      expect.arrayContaining(Array.from({ length: 25 }, (_, index) => `9.${index + 1}`)),
    );
  });

  it.each(GOLDENS.map((golden) => [golden.section, golden.title, golden] as const))(
    "hcn.md §%s: %s",
    async (_section, _title, golden) => {
      const inProcess = await runInProcess(golden);
      expect(inProcess.problems).toEqual([]);
      const overHttp = await runOverHttp(golden);
      expect(overHttp.problems).toEqual([]);
      expect(overHttp.transcript).toEqual(inProcess.transcript);
    },
  );
});
