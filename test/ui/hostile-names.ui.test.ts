// Names with markup, and with characters that turn the direction of a line, on every page of mullion ui: shown as text.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { MullionHome } from "#test/support/cli/mullion-process.ts";
import { RunningUi, SHOTS, type WatchedPage, openBrowser, watchPage } from "./browser.ts";

const HOSTILE = "<img src=x onerror=window.taken=1>\u202egnp\u2066";
const VISIBLE = String.raw`<img src=x onerror=window.taken=1>\u202egnp\u2066`;
/** Kubernetes refuses such names; what refuses them repeats them. */
const MANIFEST = `apiVersion: v1
kind: Service
metadata: {name: ${JSON.stringify(HOSTILE)}, namespace: default}
spec: {ports: [{port: 80}]}
`;

let browser: Browser;
let home: MullionHome;
let ui: RunningUi;
let watched: WatchedPage;
beforeAll(async () => {
  home = new MullionHome();
  browser = await openBrowser();
  const manifest = join(home.folder, "hostile.yaml");
  writeFileSync(manifest, MANIFEST);
  ui = await RunningUi.start(home, "-f", "examples/trouble-hostname/cluster.yaml", "-f", manifest);
  watched = await watchPage(browser, ui.url);
});
afterAll(async () => {
  await watched.context.close();
  await browser.close();
  await ui.close();
  await home.close();
});

/** A hostile server: wherever a pod or the Service is named, it answers the other name. */
async function serveHostile(page: Page): Promise<void> {
  const written = JSON.stringify(HOSTILE).slice(1, -1);
  let isTold = false;
  await page.route(/\/(?:api|run)\//, async (route) => {
    if (route.request().url().includes("/events")) {
      // A browser that has heard it asks for more, and waits.
      if (isTold) return;
      isTold = true;
      const event = { id: 1, atMs: 0, type: "note", node: HOSTILE, text: HOSTILE };
      const body = `event: note\nid: 1\ndata: ${JSON.stringify(event)}\n\n`;
      await route.fulfill({ contentType: "text/event-stream", body });
      return;
    }
    const response = await route.fetch();
    const text = await response.text();
    await route.fulfill({ response, body: text.replaceAll("front", written) });
  });
}

/** What a page must not have: elements made of a name, a script that ran, a character that turns a line. */
async function checkPage(page: Page): Promise<void> {
  await expect.poll(async () => page.locator("main").textContent()).toContain(VISIBLE);
  expect(await page.locator("img").count()).toBe(0);
  expect(await page.evaluate("window.taken")).toBe(undefined);
  const html = await page.evaluate<string>("document.documentElement.outerHTML + document.title");
  expect(html).not.toMatch(/[\u202e\u2066]/);
}

const NODE = encodeURIComponent(HOSTILE);

it.each([
  ["Cluster", "", ".pod.service"],
  ["Matrix", "matrix", ".found"],
  ["Packet walk", "walk?from=external&to=service/default/front", ".step"],
  ["Packet walk, refused", `walk?from=external&to=${NODE}`, "[role=alert]"],
  ["Node, HNS", "node/win-1?view=hns", ".box.namespaces"],
  ["Node, VFP", "node/win-1?view=vfp", ".layer"],
  ["Node, DNS", "node/win-1?view=names", "select option"],
  ["a node that is not there", `node/${NODE}`, ".empty"],
  ["Services", "services", ".service-section"],
  ["Services, of one", `services?service=${NODE}`, "h1"],
  ["Life", "life", ".events li"],
] as const)("%s", async (_page, path, ready) => {
  const { page, faults } = watched;
  await serveHostile(page);
  await page.goto(`${ui.url}${path}`);
  await page.locator(ready).first().waitFor({ state: "attached" });
  await checkPage(page);
  expect(faults).toEqual([]);
  await page.goto("about:blank");
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

it("Node, shell, and what the matrix says was refused", async () => {
  const { page, faults } = watched;
  await page.goto(`${ui.url}node/win-1?view=shell`);
  await page.getByLabel("Command").fill(HOSTILE);
  await page.keyboard.press("Enter");
  await page.locator(".shell pre").waitFor();
  await checkPage(page);
  await page.goto(`${ui.url}matrix`);
  await page.locator("#basis .problems").first().waitFor();
  await checkPage(page);
  await page.screenshot({ path: join(SHOTS, "hostile-matrix.png"), fullPage: true });
  expect(faults).toEqual([]);
});

it("Lint and doctor: a file's name and what is in it", async () => {
  const { page, faults } = watched;
  await page.goto(`${ui.url}files`);
  const buffer = Buffer.from(MANIFEST.replace("ports: [{port: 80}]", "ports: [{port: 800000}]"));
  await page
    .locator("input[type=file]")
    .setInputFiles([{ name: `${HOSTILE}.yaml`, mimeType: "text/yaml", buffer }]);
  await page.getByRole("button", { name: "Lint", exact: true }).click();
  await page.locator(".fault, .found").first().waitFor();
  await checkPage(page);
  await page.screenshot({ path: join(SHOTS, "hostile-files.png"), fullPage: true });
  expect(faults).toEqual([]);
});
