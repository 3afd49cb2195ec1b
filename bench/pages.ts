/**
 * How long does somebody wait for the pages of `mullion ui` over 1 000 nodes with 50 000 pods? Measured in Debian's Chromium, on
 * its own clock: first paint, until the nodes are there, and from a press until what it asks for is on the screen. The
 * control API is answered from memory, with documents of that size: what a cluster takes to answer is other benchmarks' question.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { type Server, createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type Browser, type CDPSession, type Page, chromium } from "playwright-core";
import { UiServer } from "../src/cli/mullion/web/ui-server.ts";
import { type Figure, publishFigure } from "./measure.ts";
import { NODES, PODS, answersOfLargeCluster } from "./pages-fixture.ts";

const PROGRAM = process.env["MULLION_CHROMIUM"] ?? "/usr/bin/chromium";
const ROUNDS = 5;
const MS = 1_000;
const KIB = 1_024;
const TABLE = `Pages, ${NODES} nodes and ${PODS} pods`;

function serve(socket: string): Server {
  const texts = answersOfLargeCluster();
  const server = createServer((request, response) => {
    const path = (request.url ?? "").split("?")[0] ?? "";
    if (path === "/v1alpha1/events") {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(": events follow\n\n");
      return;
    }
    const text = texts.get(path);
    response.writeHead(text === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(text ?? '{"error":{"code":"unknown-object","message":"not here","advice":"-"}}');
  });
  server.listen(socket);
  return server;
}

/** Milliseconds from a deed until a selector finds something and the browser has painted it. */
async function untilPainted(page: Page, deed: string, selector: string): Promise<number> {
  return page.evaluate<number>(
    `(async () => {
      const begun = performance.now();
      ${deed};
      const frame = () => new Promise((go) => requestAnimationFrame(go));
      while (document.querySelector(${JSON.stringify(selector)}) === null) await frame();
      await frame();
      return performance.now() - begun;
    })()`,
  );
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

const press = (title: string): string =>
  `[...document.querySelectorAll("nav[aria-label=Pages] a")].find((a) => a.textContent === "${title}").click()`;
const type = (text: string): string =>
  `const find = document.querySelector(".find-nodes input"); find.value = ${JSON.stringify(text)}; ` +
  `find.dispatchEvent(new InputEvent("input", { bubbles: true }))`;

const pressButton = (text: string): string =>
  `[...document.querySelectorAll("main button")].find((button) => button.textContent === "${text}").click()`;
const inField = (field: string, text: string): string =>
  `const field = document.querySelector('${field}'); field.value = ${JSON.stringify(text)}; ` +
  `field.dispatchEvent(new InputEvent("input", { bubbles: true }))`;
const scrollMatrix = (top: number, left: number): string =>
  `document.querySelector(".heat").scrollTo(${left}, ${top})`;
const pressKey = (selector: string, key: string): string =>
  `const at = document.querySelector('${selector}'); at.focus(); window.wasAt = document.activeElement; ` +
  `at.dispatchEvent(new KeyboardEvent("keydown", { key: "${key}", bubbles: true, cancelable: true }))`;

/** What is measured, in this order: what is done, and what is on the screen then. */
const DEEDS: readonly (readonly [row: string, deed: string, selector: string])[] = [
  ["finding a node", type("node-00777"), ".nodes .slot:only-child"],
  ["to Packet walk", press("Packet walk"), "[name=from]"],
  ["to Node", press("Node"), "main h1"],
  ["the graph is there", "", ".box"],
  [
    "choosing an object of the graph",
    "document.querySelectorAll('.box')[9].click()",
    ".box[aria-pressed=true].endpoints",
  ],
  [
    "by arrow key in the graph",
    pressKey(".box[aria-pressed=true]", "ArrowDown"),
    ".box:focus:not([aria-pressed=true])",
  ],
  ["finding objects", inField("input[type=search]", "10.96.7.2"), ".found-objects li"],
  [
    "from one found to its graph",
    "document.querySelector('.found-objects button').click()",
    ".box.loadbalancers[aria-pressed=true]",
  ],
  ["to Matrix", press("Matrix"), "main h1"],
  ["the matrix is there", "", ".tile"],
  ["choosing a tile of systems", "document.querySelector('.tile').click()", ".cell"],
  ["by names", pressButton("pods and nodes"), ".heat.large td[data-row]"],
  ["scrolling down", scrollMatrix(44 * 25_000, 0), "[data-row='25005']"],
  ["scrolling aside", scrollMatrix(44 * 25_000, 108 * 30_000), "[data-column='30005']"],
  ["back to its corner", scrollMatrix(0, 0), "[data-row='0'][data-column='0']"],
  ["filtering by a text", inField(".filters input", "web-00777"), ".heat:not(.large) .tile"],
  ["choosing a tile", "document.querySelector('.tile').click()", ".tile[aria-pressed=true]"],
  ["by arrow key in the matrix", pressKey(".tile", "ArrowRight"), ".tile:focus"],
  ["all names again", inField(".filters input", ""), ".heat.large .corner"],
  ["to Life", press("Life"), ".clock"],
  ["back to Cluster", press("Cluster"), "main h1"],
];

const OWN_WORK: readonly string[] = ["ScriptDuration", "RecalcStyleDuration", "LayoutDuration"];

/** Seconds of processor time that script, style and layout have taken so far: what is the page's own, and not the machine's. */
async function workedSeconds(session: CDPSession): Promise<number> {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.reduce((sum, { name, value }) => sum + (OWN_WORK.includes(name) ? value : 0), 0);
}

/** One visit: from an empty browser to the nodes, and then about. */
async function visit(browser: Browser, url: string): Promise<ReadonlyMap<string, number>> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 1000 } });
  const page = await context.newPage();
  await page.goto(url);
  await page.locator(".node-card").first().waitFor();
  const [paint, cards] = await page.evaluate<[number, number]>(
    `[performance.getEntriesByName("first-contentful-paint")[0].startTime, performance.now()]`,
  );
  await page.waitForTimeout(MS);
  const session = await context.newCDPSession(page);
  await session.send("Performance.setTimeDomain", { timeDomain: "threadTicks" });
  await session.send("Performance.enable");
  const figures = new Map([
    ["first paint", paint],
    ["the nodes are there", cards],
  ]);
  for (const [row, deed, selector] of DEEDS) {
    const before = await workedSeconds(session);
    figures.set(row, await untilPainted(page, deed, selector));
    figures.set(`${row}, its own work`, ((await workedSeconds(session)) - before) * MS);
    // What one deed leaves to be done is not counted to the next.
    await page.waitForTimeout(MS / 2);
  }
  await context.close();
  return figures;
}

async function weightKib(url: string): Promise<number> {
  const parts = await Promise.all(
    ["", "ui.js", "style.css", "icon.svg"].map(async (path) =>
      Buffer.from(await (await fetch(`${url}${path}`)).arrayBuffer()),
    ),
  );
  return parts.reduce((sum, part) => sum + gzipSync(part).length, 0) / KIB;
}

function tell(row: string, value: number, unit: Figure["unit"]): void {
  process.stdout.write(`  ${row.padEnd(28)} ${value.toFixed(unit === "s" ? 3 : 0)} ${unit}\n`);
  publishFigure(TABLE, row, value, unit);
}

export async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "mullion-pages-"));
  const socket = join(folder, "large.sock");
  const cluster = serve(socket);
  const ui = await UiServer.listen({
    source: { name: "large", socket, pidFile: "", log: "" },
    address: { host: "127.0.0.1", port: 0 },
    about: { kind: "cluster", name: "", hasFiles: false, profiles: [] },
    examine: async () => Promise.resolve("null"),
  });
  const browser = await chromium.launch({ executablePath: PROGRAM, headless: true });
  try {
    const visits: ReadonlyMap<string, number>[] = [];
    for (let round = 0; round < ROUNDS; round++) visits.push(await visit(browser, ui.url));
    process.stdout.write(`\n${TABLE}, median of ${ROUNDS} visits\n`);
    tell("all that the first page loads", await weightKib(ui.url), "KiB");
    for (const row of visits[0]?.keys() ?? [])
      tell(row, median(visits.map((each) => each.get(row) ?? Number.NaN)) / MS, "s");
  } finally {
    await browser.close();
    await ui.close();
    cluster.closeAllConnections();
    cluster.close();
    rmSync(folder, { recursive: true });
  }
}
