import { readFileSync } from "node:fs";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findHns } from "mullion/hcn/node";
import { createHns } from "mullion/hns";
import { HnsHttpServer } from "mullion/hns/node";
import { afterAll, describe, expect, it } from "vitest";
import { runExample } from "./main.ts";

const PRINTED = [
  "network flannel.4096 Overlay",
  expect.stringMatching(/^endpoint web-0 10\.42\.6\.\d+ 00-15-5D-/),
  expect.stringMatching(/^endpoint web-1 10\.42\.6\.\d+ 00-15-5D-/),
  "load balancer 10.96.0.80 with 2 back ends",
];

describe("the example hns-client", () => {
  const folder = mkdtempSync(join(tmpdir(), "mullion-example-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it("runs on a service in its own process", async () => {
    expect(await runExample(createHns().client)).toEqual(PRINTED);
  });

  it("runs on a service that listens on a socket", async () => {
    const socketPath = join(folder, "hns.sock");
    const server = await HnsHttpServer.listen({ client: createHns().client, address: { socketPath } });
    const client = findHns({ variables: { MULLION_HNS: `unix:${socketPath}` } });
    expect(await runExample(client)).toEqual(PRINTED);
    await client.close();
    await server.close();
  });

  it("is shorter than 60 lines", () => {
    expect(readFileSync("examples/hns-client/main.ts", "utf8").trimEnd().split("\n").length).toBeLessThan(60);
  });
});
