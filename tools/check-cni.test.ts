/** The check of real configurations of CNI. */
import { describe, expect, it } from "vitest";
import { SourceText } from "#core/base/source-text.ts";
import { type CniVerdict, checkCniFile, cniTableRows } from "./check-cni.ts";

async function check(document: object | string, isKnown = false): Promise<readonly CniVerdict[]> {
  const text = typeof document === "string" ? document : JSON.stringify(document);
  return checkCniFile(new SourceText("/real/10-pods.conf", text), isKnown);
}

const BRIDGE = {
  cniVersion: "1.0.0",
  name: "cbr0",
  type: "win-bridge",
  apiVersion: 2,
  capabilities: { dns: true, portMappings: true },
  ipam: { type: "host-local", subnet: "10.244.3.0/24", rangeStart: "10.244.3.3" },
};

describe("the check of real configurations of CNI", () => {
  it("is content with one that brings a pod up and takes it away", async () => {
    const [verdict] = await check(BRIDGE);
    expect(verdict).toMatchObject({ file: "10-pods.conf", refusal: undefined, findings: [] });
    expect(verdict?.runs).toMatchObject([
      { compat: "upstream", sandbox: "namespace", add: "good", check: "good", del: "good", left: 0 },
      { compat: "hardened", sandbox: "namespace", add: "good", check: "good", del: "good", left: 0 },
    ]);
  });

  it("runs flannel with its delegate, and dockershim's sandbox where apiVersion is not 2", async () => {
    const delegate = { type: "win-overlay" };
    const [verdict] = await check({ cniVersion: "0.2.0", name: "vxlan0", type: "flannel", delegate });
    expect(verdict?.runs.map(({ sandbox, add }) => [sandbox, add])).toEqual([
      ["none", "good"],
      ["none", "good"],
    ]);
  });

  it("is content with one that is refused for a field that is named", async () => {
    const [verdict] = await check({ ...BRIDGE, type: "calico" });
    expect(verdict?.findings).toEqual([]);
    expect(verdict?.runs[0]?.add).toContain('failed to find plugin "calico"');
  });

  it("finds a known fault that nobody names", async () => {
    const [verdict] = await check(BRIDGE, true);
    expect(verdict?.findings).toEqual(["its fault is known, and nothing names it"]);
  });

  it("refuses what is no JSON at its line, and runs it repaired", async () => {
    const verdicts = await check(JSON.stringify(BRIDGE, undefined, 1).replaceAll("\n ", "\n\u00a0"));
    expect(verdicts.map(({ refusal }) => refusal?.includes("line 2") ?? false)).toEqual([true, false]);
    const rows = verdicts.flatMap(cniTableRows);
    expect(rows.map(([file]) => file)).toEqual(["10-pods.conf", "10-pods.conf, with plain spaces", ""]);
  });
});
