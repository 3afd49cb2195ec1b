// Pages over what is no cluster: an HNS that is served, and what doctor says of files.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Browser } from "playwright-core";
import type { DoctorReport } from "#diagnose/doctor/doctor.ts";
import { MullionHome } from "#test/support/cli/mullion-process.ts";
import { RunningUi, SHOTS, checkAccessible, openBrowser, textsOf, watchPage } from "./browser.ts";

const COLLECTED = "examples/broken-node/collected";
let browser: Browser;
let home: MullionHome;
beforeAll(async () => {
  browser = await openBrowser();
  home = new MullionHome();
});
afterAll(async () => {
  await browser.close();
  await home.close();
});

it("mullion ui --hns: objects as they come, defects and faults as switches, away and back", async () => {
  const socket = join(home.folder, "hns.sock");
  const served = home.start("hns", "serve", "--socket", socket);
  while (!served.printed().includes("MULLION_HNS")) await sleep(50);
  const hns = async (...words: readonly string[]): Promise<string> =>
    (await home.run("hns", ...words, "--socket", socket)).stdout;
  const ui = await RunningUi.start(home, "--hns", socket);
  const { page, context, faults } = await watchPage(browser, ui.url);
  await page.goto(ui.url);
  expect(await textsOf(page, "nav[aria-label=Pages] a")).toEqual(["HNS", "Life", "Lint and doctor"]);
  await page.getByText("connected", { exact: true }).waitFor();
  const file = join(home.folder, "network.json");
  const ipam = { Type: "Static", Subnets: [{ IpAddressPrefix: "10.244.1.0/24" }] };
  writeFileSync(file, JSON.stringify({ Name: "<b>cbr0", Type: "L2Bridge", Ipams: [ipam] }));
  await hns("create", "network", "-f", file);
  await page.locator(".box.networks").waitFor();
  expect(await textsOf(page, ".box.networks b")).toEqual(["<b>cbr0"]);
  await checkAccessible(page);
  await page.screenshot({ path: join(SHOTS, "attached-hns.png") });
  await page.getByRole("link", { name: "Life" }).click();
  await page.getByText("NetworkCreate").first().waitFor();
  await page.getByRole("switch", { name: "no ports are left for load balancers" }).click();
  await page.getByRole("region", { name: "Faults in force" }).waitFor();
  expect(await hns("fault", "list")).toContain("exhaust-ports");
  const quirk = page.locator(".quirk [aria-checked=true]").first();
  const name = (await quirk.textContent()) ?? "";
  await quirk.click();
  await expect
    .poll(async () => hns("quirk", "list"), { timeout: 20_000 })
    .toMatch(new RegExp(`${name} +off`));
  await checkAccessible(page);
  await page.screenshot({ path: join(SHOTS, "attached-hns-life.png") });
  served.child.kill("SIGTERM");
  await served.ended;
  await page.getByText("away, trying again").waitFor();
  expect(faults).toEqual([]);
  await context.close();
  await ui.close();
});

it("mullion ui PATH: a saved report and the files themselves show the same", async () => {
  const { stdout } = await home.run("doctor", COLLECTED, "-o", "json");
  const { findings, checksMade } = JSON.parse(stdout) as DoctorReport;
  const saved = join(home.folder, "doctor.json");
  writeFileSync(saved, stdout);
  for (const path of [saved, COLLECTED]) {
    const ui = await RunningUi.start(home, path);
    const { page, context, faults } = await watchPage(browser, ui.url, { dark: true });
    await page.goto(ui.url);
    await page.locator(".found").first().waitFor();
    expect(await page.locator(".found").count()).toBe(findings.length);
    expect(await page.locator(".headline").textContent()).toContain(String(checksMade));
    expect(await textsOf(page, "nav[aria-label=Pages] a")).toEqual(["Doctor", "Lint and doctor"]);
    await checkAccessible(page);
    await page.screenshot({ path: join(SHOTS, "attached-doctor.png") });
    expect(faults).toEqual([]);
    await context.close();
    await ui.close();
  }
  expect(readFileSync(saved, "utf8")).toBe(stdout);
});
