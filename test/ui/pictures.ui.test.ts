// The pictures of the documents are what the pages look like. MULLION_PICTURES=write npm run test:ui writes them again.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { MullionHome } from "#test/support/cli/mullion-process.ts";
import { RunningUi, openBrowser, watchPage } from "./browser.ts";

const FOLDER = "docs/pictures";
/** Of 255, on average over small squares: another font is a few, another page is dozens. */
const DIFFERENCE_MAX = 14;

let browser: Browser;
let home: MullionHome;
let ui: RunningUi;
beforeAll(async () => {
  browser = await openBrowser();
  home = new MullionHome();
  ui = await RunningUi.start(home, "-f", "examples/trouble-hostname/cluster.yaml");
});
afterAll(async () => {
  await browser.close();
  await ui.close();
  await home.close();
});

/** How different two pictures are, seen from afar. */
async function differenceOf(page: Page, one: Buffer, other: Buffer): Promise<number> {
  const [left, right] = [one, other].map((png) => `data:image/png;base64,${png.toString("base64")}`);
  return page.evaluate(
    `(async () => {
      const look = async (url) => {
        const image = new Image();
        image.src = url;
        await image.decode();
        const canvas = new OffscreenCanvas(60, 40);
        const context = canvas.getContext("2d");
        context.imageSmoothingQuality = "high";
        context.drawImage(image, 0, 0, 60, 40);
        return context.getImageData(0, 0, 60, 40).data;
      };
      const [a, b] = [await look(${JSON.stringify(left)}), await look(${JSON.stringify(right)})];
      return a.reduce((sum, value, index) => sum + Math.abs(value - b[index]), 0) / a.length;
    })()`,
  );
}

it.each([
  ["cluster", "", ".pod.service.glows"],
  ["matrix", "matrix", ".tile"],
  ["walk", "walk?from=external&to=service/default/front", ".step"],
  ["hns", "node/win-1", ".box"],
])("docs/pictures/%s.png is the page", async (name, path, selector) => {
  const { page, context } = await watchPage(browser, ui.url, { width: 1240 });
  await page.goto(`${ui.url}${path}`);
  await page.locator(selector).first().waitFor();
  const picture = await page.screenshot({ animations: "disabled" });
  const file = `${FOLDER}/${name}.png`;
  if (process.env["MULLION_PICTURES"] === "write") {
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(file, picture);
  }
  await page.goto("about:blank");
  expect(await differenceOf(page, readFileSync(file), picture)).toBeLessThan(DIFFERENCE_MAX);
  await context.close();
});
