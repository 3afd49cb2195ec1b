// Every page by keyboard alone: Tab reaches all that can be pressed, the focus is seen, nothing holds it, and the page's job is done.
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ClusterSummary, TraceAnswer } from "#cluster/api/documents.ts";
import type { ExecReport } from "#cluster/exec/exec-report.ts";
import { MullionHome } from "#test/support/cli/mullion-process.ts";
import { RunningUi, type WatchedPage, openBrowser, textsOf, watchPage } from "./browser.ts";

let browser: Browser;
let home: MullionHome;
let ui: RunningUi;
let watched: WatchedPage;
let page: Page;

beforeAll(async () => {
  home = new MullionHome();
  browser = await openBrowser();
  ui = await RunningUi.start(home, "-f", "examples/trouble-hostname/cluster.yaml");
});
afterAll(async () => {
  await browser.close();
  await ui.close();
  await home.close();
});
beforeEach(async () => {
  watched = await watchPage(browser, ui.url);
  ({ page } = watched);
});
afterEach(async () => {
  await watched.context.close();
  if (watched.faults.length > 0) throw new Error(watched.faults.join("\n"));
});

async function press(...keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

/** What is said of the element that has the focus; `fault`: why nobody sees that it has. */
interface Focus {
  readonly name: string;
  readonly isNew: boolean;
  readonly isPageEnd: boolean;
  readonly fault?: string;
}

/**
 * Says of the focused element whether it is seen: a ring around it, and a point of it that nothing lies over. Each element
 * counts once, so that a walk ends where it began.
 */
const LOOK = `(() => {
  const at = document.activeElement;
  if (at === null || at === document.body || at === document.documentElement)
    return { name: "the page", isNew: false, isPageEnd: true };
  window.reached ??= new Set();
  const isNew = !window.reached.has(at);
  window.reached.add(at);
  const name = at.tagName.toLowerCase() + " " + (at.getAttribute("aria-label") ?? at.name ?? "") + at.textContent.slice(0, 40);
  const { outlineStyle, outlineWidth } = getComputedStyle(at);
  const box = at.getBoundingClientRect();
  const [left, right] = [Math.max(box.left, 0), Math.min(box.right, innerWidth)];
  const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
  const isSeen = [0.1, 0.5, 0.9].some((part) => {
    const hit = document.elementFromPoint(left + (right - left) / 2, top + (bottom - top) * part);
    return hit !== null && (at.contains(hit) || hit.contains(at));
  });
  const ring = at.matches(":focus-visible") && outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
  const fault = !ring ? "no ring" : right <= left || bottom <= top ? "out of the window" : isSeen ? undefined : "covered";
  return { name, isNew, isPageEnd: false, ...(fault === undefined ? {} : { fault }) };
})()`;

/** What can be pressed or typed into and was not reached; of things that arrow keys go among, one stop is enough. */
const MISSED = `[...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
  .filter((each) => each.checkVisibility() && !each.disabled && each.tabIndex >= 0 && !window.reached.has(each))
  .map((each) => each.outerHTML.slice(0, 120))`;

/** Tab through the whole page, and some steps back: all that is there, seen, and no way in without a way out. */
async function walkPage(): Promise<readonly string[]> {
  const names: string[] = [];
  const faults: string[] = [];
  await page.evaluate("window.reached = new Set(); document.activeElement.blur(); scrollTo(0, 0)");
  for (let [steps, ends] = [0, 0]; steps < 600 && ends < 2; steps++) {
    await press("Tab");
    const { name, isNew, isPageEnd, fault } = await page.evaluate<Focus>(LOOK);
    // Behind the last element the browser's own bars follow, and then the first one.
    if (isPageEnd) ends++;
    if (isPageEnd) continue;
    if (!isNew) break;
    names.push(name);
    if (fault !== undefined) faults.push(`${name}: ${fault}`);
  }
  expect(faults).toEqual([]);
  expect(await page.evaluate(MISSED)).toEqual([]);
  const before = await page.evaluate<Focus>(LOOK);
  await press("Shift+Tab", "Shift+Tab");
  expect((await page.evaluate<Focus>(LOOK)).name).not.toBe(before.name);
  return names;
}

/** Tab until an element has the focus; fails when the page ends before. */
async function tabTo(selector: string): Promise<void> {
  for (let steps = 0; steps < 600; steps++) {
    if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return;
    await press("Tab");
  }
  throw new Error(`Tab does not reach ${selector}`);
}

async function focused(): Promise<string> {
  return page.evaluate<string>("document.activeElement.textContent");
}

async function open(path: string, ready: string): Promise<void> {
  await page.goto(`${ui.url}${path}`);
  await page.locator(ready).first().waitFor();
}

describe("by keyboard alone", () => {
  it("Cluster: from a node to its page", async () => {
    await open("", ".pod.service.glows");
    await page.locator(".port-dot").first().waitFor();
    expect((await walkPage()).length).toBeGreaterThan(25);
    await tabTo(".node-card a");
    const node = await focused();
    await press("Enter");
    await page.getByRole("heading", { name: `Node ${node}` }).waitFor();
    await tabTo("[aria-label=Nodes] a:not([aria-current])");
    await press("Enter");
    await page.getByRole("heading", { name: "Node win-2" }).waitFor();
    // What was pressed keeps the focus.
    expect(await focused()).toBe("win-2");
  });

  it("Matrix: to a tile, over tiles by arrow keys, into the walk of a cell", async () => {
    await open("matrix", ".tile");
    const names = await walkPage();
    expect(names.filter((name) => name.startsWith("button pod/")).length).toBe(1);
    await tabTo(".tile");
    const first = await page.evaluate("document.activeElement.title");
    await press("ArrowRight", "ArrowDown", "Enter");
    expect(await page.evaluate("document.activeElement.getAttribute('aria-pressed')")).toBe("true");
    const chosen = await page.evaluate("document.activeElement.title");
    expect(chosen).not.toBe(first);
    await tabTo(".cell .link");
    await press("Enter");
    await page.locator(".step").first().waitFor();
    await page.goBack();
    await page.locator(".tile").first().waitFor();
    await tabTo("main .bar > button");
    const answered = page.waitForResponse(/\/verify$/);
    await press("Enter");
    await answered;
    // Busy until then, it is not left.
    await expect.poll(focused).toBe("Try all flows again");
  });

  it("Packet walk: the question is typed, the steps are walked, the reply is read", async () => {
    await open("walk", "[name=from]");
    await tabTo("[name=from]");
    await page.keyboard.type("external");
    await press("Escape", "Tab");
    await page.keyboard.type("service/default/front");
    await press("Escape", "Enter");
    await page.locator(".step").first().waitFor();
    const { report } = await ui.ask<TraceAnswer>("/trace", {
      from: "external",
      to: "service/default/front",
      protocol: "tcp",
    });
    await walkPage();
    await tabTo(".step");
    await press("Home", "ArrowDown");
    expect(await page.locator(".details h3").textContent()).toBe(`2 ${report.forward.steps[1]?.text ?? ""}`);
    await press("End");
    expect(await page.evaluate("document.activeElement.dataset.step")).toBe(
      String(report.forward.steps.length),
    );
    await press("Tab");
    expect(await page.evaluate("document.activeElement.closest('.details') !== null")).toBe(true);
  });

  it("Node: objects by arrow keys with their JSON, every view, a command in the shell", async () => {
    await open("node/win-1?view=hns", ".box");
    await walkPage();
    await tabTo(".box");
    await press("ArrowRight", "Enter");
    expect(await page.evaluate("document.activeElement.className")).toContain("endpoints");
    expect(await page.evaluate("document.activeElement.getAttribute('aria-pressed')")).toBe("true");
    expect(await page.locator(".details h3").textContent()).toBe(
      await page.evaluate("document.activeElement.querySelector('b').textContent"),
    );
    for (const [view, ready] of [
      ["vfp", ".layer summary"],
      ["registry", "main section pre, main section table"],
      ["stack", ".shell pre"],
      ["names", "[aria-label=Resolvers] td"],
    ] as const) {
      await open(`node/win-1?view=${view}`, ready);
      await walkPage();
    }
    await open("node/win-1?view=hns", ".box");
    await tabTo("[aria-label=View] button:last-child");
    await press("Enter");
    await tabTo("[name=command]");
    await page.keyboard.type("route print");
    await press("Enter");
    await page.locator(".shell pre").waitFor();
    const { stdout } = await ui.ask<ExecReport>("/exec", { from: "node/win-1", command: ["route", "print"] });
    expect(await page.locator(".shell pre").textContent()).toBe(stdout);
    await walkPage();
  });

  it("Services: from a front end to its load balancer", async () => {
    await open("services", ".service-section");
    await walkPage();
    await tabTo(".service-section tbody a");
    await press("Enter");
    const chosen = page.locator(".box.loadbalancers[aria-pressed=true]");
    await chosen.waitFor();
    expect(page.url()).toContain("view=hns&object=");
  });

  it("Life: time passes again and again, a fault is set and taken away", async () => {
    await open("life", ".quirk");
    await walkPage();
    const { atMs } = await ui.ask<ClusterSummary>("/cluster");
    await tabTo("main .button:not(.primary)");
    for (const seconds of [1, 2]) {
      await press("Enter");
      const wanted = `${((atMs + seconds * 1_000) / 1_000).toFixed(3)} s`;
      await expect.poll(async () => page.locator(".clock").textContent()).toBe(wanted);
      // Busy for a moment, it is not left.
      expect(await focused()).toBe("+ 1 s");
      await page.locator(".button[aria-disabled=true]").waitFor({ state: "detached" });
    }
    await tabTo("[aria-label='Faults of HNS on win-1'] .switch");
    for (const isOn of ["true", "false"]) {
      await press("Space");
      await expect
        .poll(async () => page.evaluate("document.activeElement.getAttribute('aria-checked')"))
        .toBe(isOn);
      await page.locator(".switch[aria-disabled=true]").first().waitFor({ state: "detached" });
    }
    const { nodes } = await ui.ask<ClusterSummary>("/cluster");
    expect(nodes.flatMap(({ faults = [] }) => faults)).toEqual([]);
  });

  it("Lint and doctor: from a finding to what explains it", async () => {
    await open("files", ".stats");
    await walkPage();
    await tabTo(".found summary");
    await press("Enter");
    expect(await page.evaluate("document.activeElement.parentElement.open")).toBe(true);
    await press("Tab");
    expect(await page.evaluate("document.activeElement.closest('.found') !== null")).toBe(true);
    await tabTo("input[type=file]");
    expect(await textsOf(page, "nav [aria-current]")).toEqual(["Lint and doctor"]);
  });
});
