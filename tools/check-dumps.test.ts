import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { SourceText } from "#core/base/source-text.ts";
import { checkDump } from "./check-dumps.ts";

const NETWORK = {
  ID: "6F7E13A2-8ADE-48EE-844E-AC0B0AFF2301",
  Name: "External",
  Type: "Overlay",
  ManagementIP: "10.0.0.6",
  NetworkAdapterName: "Ethernet 2",
  Subnets: [{ AddressPrefix: "192.168.255.0/30", GatewayAddress: "192.168.255.1", Colour: "blue" }],
};

async function check(text: string): Promise<Awaited<ReturnType<typeof checkDump>>> {
  return checkDump("network.txt", new SourceText("network.txt", text));
}

describe("the check of real dumps", () => {
  it("is content when every field comes back", async () => {
    const { findings, lines } = await check(JSON.stringify(NETWORK));
    expect(lines).toEqual(["1 objects restored, 0 findings"]);
    expect(findings).toBe(0);
  });

  it("finds a value that came back otherwise", async () => {
    const { findings, lines } = await check(
      // Programs could not decode a text where HNS has a number.
      JSON.stringify({ ...NETWORK, State: "Created" }),
    );
    expect(findings).toBeGreaterThan(0);
    expect(lines.join("\n")).toContain("FINDING Network: State was");
  });

  it("finds a file of which nothing is read", async () => {
    expect((await check("Dear all")).findings).toBeGreaterThan(0);
  });

  it("is content with the dump among the examples", async () => {
    const { findings } = await check(readFileSync("examples/node-dump/hnsdiag.txt", "utf8"));
    expect(findings).toBe(0);
  });
});
