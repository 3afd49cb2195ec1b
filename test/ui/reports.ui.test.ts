// Reports that stand alone, opened from the disk without a network: what they show is what -o json says.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TraceReport } from "#cluster/trace/trace-report.ts";
import type { VerifyComparison } from "#cluster/verify/compare.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { formatHtml } from "#cli/mullion/web/pages.ts";
import type { DoctorReport } from "#diagnose/doctor/doctor.ts";
import { MullionHome } from "#test/support/cli/mullion-process.ts";
import { SHOTS, checkAccessible, openBrowser, textsOf, watchPage } from "./browser.ts";

let browser: Browser;
let home: MullionHome;
const folder = mkdtempSync(join(tmpdir(), "mullion-reports-"));
beforeAll(async () => {
  browser = await openBrowser();
  home = new MullionHome();
});
afterAll(async () => {
  await browser.close();
  await home.close();
  rmSync(folder, { recursive: true });
});

/** Opens a page as a file; what `look` finds wrong, and any fault or request, fails. */
async function openFile(
  html: string,
  look: (page: Page) => Promise<void>,
  { dark = false, width = 1440 } = {},
): Promise<void> {
  const file = join(folder, "report.html");
  writeFileSync(file, html);
  const { page, context, faults } = await watchPage(browser, undefined, { dark, width, offline: true });
  await page.goto(pathToFileURL(file).href);
  await look(page);
  await checkAccessible(page);
  expect(faults).toEqual([]);
  await context.close();
}

/** The report of a command as a page, and as data. */
async function report<T>(...words: readonly string[]): Promise<readonly [html: string, json: T]> {
  const [page, data] = await Promise.all([
    home.run(...words, "-o", "html"),
    home.run(...words, "-o", "json"),
  ]);
  return [page.stdout, JSON.parse(data.stdout) as T];
}

describe("a report from the disk", () => {
  it("verify: a square for each cell, findings, and all that the answer rests on", async () => {
    const [html, { cells, findings, basis }] = await report<VerifyReport>(
      "verify",
      "-f",
      "examples/network-policy/cluster.yaml",
      "-f",
      "examples/network-policy/limit.yaml",
    );
    await openFile(html, async (page) => {
      expect(await page.locator(".tile .square").count()).toBe(cells.length);
      expect(await page.locator(".found").count()).toBe(findings.length);
      expect(await textsOf(page, "#basis tbody th")).toEqual(basis.facts.map(({ name }) => name));
      const notJudged = cells.filter(({ verdict }) => verdict === "not-judged").length;
      expect(await page.locator(".tile .square.not-judged").count()).toBe(notJudged);
      for (const { message } of basis.notJudged) expect(await page.textContent("#basis")).toContain(message);
      await page.screenshot({ path: join(SHOTS, "report-verify.png") });
    });
  });

  it("verify of two builds: what came out otherwise, side by side", async () => {
    const [html, { changes, sides }] = await report<VerifyComparison>(
      "verify",
      "-f",
      "examples/mixed-services/cluster.yaml",
      "--profile",
      "ws2019,ws2022",
    );
    expect(changes.length).toBeGreaterThan(0);
    await openFile(html, async (page) => {
      const table = '[role="region"][aria-label="Flows that came out otherwise"]';
      expect(await page.locator(`${table} tbody tr`).count()).toBe(changes.length);
      expect((await textsOf(page, `${table} thead th`)).slice(1)).toEqual(sides.map(({ label }) => label));
      await page.screenshot({ path: join(SHOTS, "report-comparison.png") });
    });
  });

  it("doctor: each finding with its evidence and what packets on a twin prove", async () => {
    const [html, { findings, checksMade }] = await report<DoctorReport>(
      "doctor",
      "examples/broken-node/collected",
    );
    await openFile(
      html,
      async (page) => {
        expect(await page.locator(".found").count()).toBe(findings.length);
        expect(await page.locator(".evidence:not(.ruled-out) li").count()).toBe(
          findings.flatMap(({ evidence }) => evidence).length,
        );
        const ruledOut = findings.flatMap(({ ruledOut: causes = [] }) => causes);
        expect(ruledOut).not.toEqual([]);
        expect(await page.locator(".ruled-out li").count()).toBe(
          ruledOut.flatMap(({ evidence }) => evidence).length,
        );
        expect(await page.locator(".proved").count()).toBe(
          findings.filter(({ proof }) => proof.isProved).length,
        );
        expect(await page.locator(".headline").textContent()).toContain(String(checksMade));
        await page.screenshot({ path: join(SHOTS, "report-doctor.png") });
      },
      { dark: true },
    );
  });

  it("fits a narrow window, with names that no blank takes apart", async () => {
    const width = 360;
    const example = "examples/two-windows-nodes/cluster.yaml";
    const [verified, found] = await Promise.all([
      home.run("verify", "-f", example, "-o", "json"),
      home.run("doctor", "examples/broken-node/collected", "-o", "json"),
    ]);
    const long = `/srv/${"collected-".repeat(40)}.txt`;
    const machines = { classes: 2, compared: 1, equal: 1, seed: "c0ffee".repeat(12) };
    const notRead = [{ file: long, line: 1, reason: long }];
    const pages = [
      await formatHtml({ ...(JSON.parse(verified.stdout) as VerifyReport), machines }, long, long),
      await formatHtml({ ...(JSON.parse(found.stdout) as DoctorReport), notRead }, long, long),
    ];
    for (const html of pages)
      await openFile(
        html,
        async (page) => {
          expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
        },
        { width, dark: true },
      );
    await openFile(pages[0] ?? "", async (page) => {
      expect(await page.locator("main").textContent()).toContain("2 classes of equal machines");
    });
  });

  it.each([
    ["l2bridge", "two-windows-nodes", "pod/client", "pod/api"],
    ["overlay", "flannel-vxlan", "pod/ledger-0", "service/orders"],
    ["nat", "driver-nat", "external", "node/win-1"],
    ["transparent", "driver-transparent", "node/win-1", "node/win-2"],
    ["l2tunnel", "driver-l2tunnel", "node/win-1", "node/win-2"],
  ])("trace with driver %s: every step of both directions", async (driver, example, from, to) => {
    const protocol = driver === "l2bridge" || driver === "overlay" ? "tcp" : "icmp";
    const words = ["-f", `examples/${example}/cluster.yaml`, from, to, "--protocol", protocol];
    const [html, { forward, reply, summary }] = await report<TraceReport>("trace", ...words);
    await openFile(html, async (page) => {
      expect(await page.locator(".step").count()).toBe(forward.steps.length);
      expect(await page.locator(".headline").textContent()).toContain(summary);
      const lanes = [...new Set(forward.steps.map(({ node }) => node))];
      expect(await textsOf(page, ".lane")).toEqual(lanes);
      await page.screenshot({ path: join(SHOTS, `report-walk-${driver}.png`) });
      if (reply === undefined) return;
      await page.getByRole("button", { name: "Side by side" }).click();
      expect(await page.locator(".step").count()).toBe(forward.steps.length + reply.steps.length);
    });
  });

  it("shows names with markup and with characters that turn a line as text", async () => {
    const [, data] = await report<VerifyReport>("verify", "-f", "examples/two-windows-nodes/cluster.yaml");
    const hostile = "<img src=x onerror=alert(1)></script><script>document.title='taken'</script>\u202egnp";
    const text = JSON.stringify({ ...data, cluster: hostile }).replaceAll("pod/default/client", () =>
      JSON.stringify(`pod/default/${hostile}`).slice(1, -1),
    );
    await openFile(await formatHtml(JSON.parse(text) as VerifyReport, hostile, hostile), async (page) => {
      const visible = hostile.replace("\u202e", "\\u202e");
      expect(await page.locator("h1").textContent()).toBe(`Cluster ${visible}`);
      expect((await textsOf(page, ".end b")).filter((name) => name === visible).length).toBeGreaterThan(0);
      expect(await page.locator("img").count()).toBe(0);
      expect(await page.title()).toContain("<img");
    });
  });

  it("says the same without scripts", async () => {
    const [html] = await report<VerifyReport>("verify", "-f", "examples/two-windows-nodes/cluster.yaml");
    const plain = html.replace(/<script>[^]*<\/script>/, "");
    await openFile(plain, async (page) => {
      expect(await page.locator("pre").textContent()).toContain("Observed and expected agree.");
    });
  });
});
