// A cluster that goes away and comes back while its pages are open.
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Browser } from "playwright-core";
import { clusterPlace } from "#cluster/api/state-folder.node.ts";
import type { BringUpState } from "#cli/mullion/web/about.ts";
import { UiServer } from "#cli/mullion/web/ui-server.ts";
import { MullionHome } from "#test/support/cli/mullion-process.ts";
import { RunningUi, SHOTS, checkAccessible, openBrowser, watchPage } from "./browser.ts";

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

it("a page that is there before its cluster shows how far that is, and goes on by itself", async () => {
  const socket = join(home.folder, "mullion", "default.sock");
  let state: BringUpState = { isUp: false, text: "", done: 0, total: 0, elapsedMs: 0 };
  const server = await UiServer.listen({
    source: clusterPlace({ name: undefined, socket }, process.env),
    address: { host: "127.0.0.1", port: 0 },
    about: { kind: "cluster", name: "", hasFiles: false, profiles: [] },
    bringUp: () => state,
    examine: async () => Promise.resolve("null"),
  });
  const { page, context, faults } = await watchPage(browser, server.url);
  await page.goto(server.url);
  await page.getByText("The files are read").waitFor();
  state = { ...state, text: "pods start", done: 250, total: 1_000, elapsedMs: 7_200 };
  await page.getByText("pods start (250 of 1000)").waitFor();
  expect(await page.getByRole("progressbar", { name: "pods start" }).getAttribute("value")).toBe("250");
  await checkAccessible(page);
  await page.screenshot({ path: join(SHOTS, "bring-up.png") });
  state = { ...state, isUp: true };
  await page.getByRole("heading", { name: "Cluster two-windows-nodes" }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
  await server.close();
});

it("a cluster that the pages brought up ends with them, however they end", async () => {
  const other = new MullionHome();
  const example = ["-f", "examples/two-windows-nodes/cluster.yaml"];
  const killed = await RunningUi.start(other, ...example);
  expect(other.files()).toContain(join("mullion", "default.sock"));
  await killed.kill();
  await expect.poll(() => other.files().filter((file) => file.endsWith(".sock"))).toEqual([]);
  const ended = await RunningUi.start(other, ...example);
  expect(await other.run("down")).toMatchObject({ code: 0 });
  await ended.close();
  expect(other.files()).toEqual([]);
  await other.close();
});

it("without a cluster it says how to bring one up", async () => {
  const other = new MullionHome();
  const { code, stderr } = await other.run("ui", "--no-open");
  expect(code).toBe(2);
  expect(stderr).toContain("cluster-not-running");
  await other.close();
});
