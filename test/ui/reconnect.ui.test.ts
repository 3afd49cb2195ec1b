// A cluster that goes away and comes back while its pages are open.
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Browser } from "playwright-core";
import { MullionHome } from "#test/support/cli/mullion-process.ts";
import { RunningUi, openBrowser, watchPage } from "./browser.ts";

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

it("the pages say that the cluster is away, keep what they had, and go on when it is back", async () => {
  const up = ["up", "-f", "examples/two-windows-nodes/cluster.yaml"];
  expect(await home.run(...up)).toMatchObject({ code: 0 });
  const ui = await RunningUi.start(home);
  const { page, context, faults } = await watchPage(browser, ui.url);
  await page.goto(ui.url);
  await page.locator(".node-card").first().waitFor();
  await home.run("down");
  await page.getByText("away, trying again").waitFor();
  expect(await page.locator(".node-card").count()).toBe(2);
  expect(await home.run(...up)).toMatchObject({ code: 0 });
  await page.getByText("connected", { exact: true }).waitFor();
  await page.getByRole("heading", { name: "Cluster two-windows-nodes" }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
  await ui.close();
});

it("without a cluster it says how to bring one up", async () => {
  const other = new MullionHome();
  const { code, stderr } = await other.run("ui", "--no-open");
  expect(code).toBe(2);
  expect(stderr).toContain("cluster-not-running");
  await other.close();
});
