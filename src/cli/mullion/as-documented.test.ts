// `--as-documented YEAR` and the field `asDocumented`: Windows nodes with the limits that an edition of the Kubernetes page
// "Networking on Windows" states (windows-networking-documentation.md §5, §8, §9). All limits: test/long/as-documented.long.test.ts.
import { describe, expect, it } from "vitest";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { LIMITS, run, traced } from "#test/support/cluster/as-documented.suite.ts";
import { published, runAsEdition } from "#test/support/cluster/edition-runs.suite.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "./program.ts";
import { verify } from "./verify.ts";

describe("limits of the Kubernetes page, by packets", () => {
  const few = LIMITS.filter(({ quirk }) => /^(?:own-node-port-unreachable|dsr-flag-ignored)$/.test(quirk));

  it.each(few)("$quirk: as the build has it, and as the page says", async (limit) => {
    expect(await traced(limit)).toMatch(limit.onBuild);
    expect(await traced(limit, "2021")).toMatch(limit.asPage);
  });
});

describe("verify as an edition has it", () => {
  it("2021: expected and observed follow the page, and nothing is marked", async () => {
    const { exitCode, text } = await run("verify --as-documented 2021");
    expect(text).toContain("Observed and expected agree.");
    expect(text).toContain(
      "limits those of the Kubernetes page of 2021, not those of the builds [--as-documented]",
    );
    expect(text).not.toContain("* The Kubernetes page");
    expect(exitCode).toBe(0);
  });

  it("the field of the cluster file does the same", async () => {
    const report = JSON.parse(
      (await run("verify -o json", { more: "asDocumented: 2024" })).text,
    ) as VerifyReport;
    expect(report.basis.facts.find(({ name }) => name === "limits")).toMatchObject({
      value: "those of the Kubernetes page of 2024, not those of the builds",
      source: "c.yaml",
      where: { field: "asDocumented" },
    });
    expect(report.cells.filter(({ documentation }) => documentation !== undefined)).toEqual([]);
    const own = report.cells.find(({ flow }) => flow === "node-to-own-node-port");
    expect(own).toMatchObject({ row: "PAGE-OWN-NODE-PORT", verdict: "as-expected", expected: "denied" });
  });

  it.each([
    ["2019", "the documentation of 2019 describes nodes that are not carried out here"],
    ["2030", 'there is no edition "2030" of the Kubernetes page'],
  ])("edition %s is refused, and why", async (year, why) => {
    const asked = await run(`verify --as-documented ${year}`);
    expect(asked.exitCode).toBe(2);
    expect(asked.text).toContain(why);
    expect(asked.text).toContain("Write one of 2017, 2021, 2024.");
    const written = await run("verify", { more: `asDocumented: "${year}"` });
    expect(written.exitCode).toBe(2);
    expect(written.text).toContain(why);
    expect(written.text).toContain("asDocumented");
  });

  it("flannel's VXLAN has VNI 4096 alone: another one is refused", async () => {
    const more = "network: { plugin: flannel, backend: vxlan, vni: 4097 }";
    const { exitCode, text } = await run("verify --as-documented 2024", { more });
    expect(exitCode).toBe(2);
    expect(text).toContain("the Kubernetes page of 2024 has flannel's VXLAN with VNI 4096 alone, not 4097");
  });

  // All of them, and examples and dumps: test/long/as-documented.long.test.ts.
  it("a manifest as others publish it: each limit by packets, and nothing else comes up", async () => {
    const input = published("a NodePort that leads to a named port", "ws2022", "l2bridge");
    expect(await runAsEdition(input, "2024")).toEqual({
      limits: ["PAGE-OWN-NODE-PORT", "PAGE-SERVICE-FROM-NODE"],
      marked: 0,
      further: [],
    });
  });

  it("a running cluster has its limits", async () => {
    const terminal = new MemoryTerminal({});
    const argv = ["verify", "--as-documented", "2021"];
    expect(await runMullion({ argv, verbs: { verify }, terminal, version: "0", isDebug: false })).toBe(2);
    expect(terminal.errors).toContain("--as-documented builds the cluster anew");
  });
});
