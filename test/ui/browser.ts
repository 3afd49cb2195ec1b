/** Debian's Chromium for tests of what is seen: pages of `mullion ui`, and reports that stand alone. */
import { existsSync, mkdirSync } from "node:fs";
import { resolve } from "node:path";
import axe from "axe-core";
import { setTimeout as sleep } from "node:timers/promises";
import { type Browser, type BrowserContext, type Page, chromium } from "playwright-core";
import { expect } from "vitest";
import type { MullionHome, Run } from "#test/support/cli/mullion-process.ts";

const PROGRAM = process.env["MULLION_CHROMIUM"] ?? "/usr/bin/chromium";
/** Screenshots of the run. */
export const SHOTS: string = resolve("out/ui");

/** @throws Error that says what is missing. */
export async function openBrowser(): Promise<Browser> {
  if (!existsSync(PROGRAM))
    throw new Error(`${PROGRAM} is missing: apt-get install chromium, or name one in MULLION_CHROMIUM`);
  mkdirSync(SHOTS, { recursive: true });
  return chromium.launch({ executablePath: PROGRAM, headless: true });
}

/** A page that remembers what must not happen: faults of scripts, refusals by the policy, requests to elsewhere. */
export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly faults: readonly string[];
}

/** `origin`: where requests may go; undefined: nowhere. */
export async function watchPage(
  browser: Browser,
  origin: string | undefined,
  options: { readonly width?: number; readonly dark?: boolean; readonly offline?: boolean } = {},
): Promise<WatchedPage> {
  const { width = 1440, dark = false, offline = false } = options;
  const context = await browser.newContext({
    viewport: { width, height: 1000 },
    colorScheme: dark ? "dark" : "light",
    reducedMotion: "reduce",
    offline,
  });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    // A refusal that a test asks for is no fault of the page.
    const isAnswer = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isAnswer) faults.push(message.text());
  });
  page.on("request", (request) => {
    const isOwn = origin === undefined ? request.url().startsWith("file:") : request.url().startsWith(origin);
    if (!isOwn && !/^(?:data|blob):/.test(request.url())) faults.push(`asks ${request.url()}`);
  });
  return { page, context, faults };
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

/** Violations alone: what passes is as long as the page, and takes longer to bring here than to find. */
const CHECK = 'axe.run({ resultTypes: ["violations"] }).then(({ violations }) => ({ violations }))';

/** Fails with what the checker of accessibility finds. */
export async function checkAccessible(page: Page): Promise<void> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResult>(CHECK);
  expect(
    violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .map(({ html }) => html)
          .slice(0, 3)
          .join(" ")}`,
    ),
  ).toEqual([]);
}

/** `mullion ui`, until it is closed. */
export class RunningUi {
  readonly home: MullionHome;
  readonly url: string;
  private readonly run: Run;

  private constructor(home: MullionHome, run: Run, url: string) {
    this.home = home;
    this.run = run;
    this.url = url;
  }

  static async start(home: MullionHome, ...words: readonly string[]): Promise<RunningUi> {
    const run = home.start("ui", "--no-open", ...words);
    const end = Date.now() + 60_000;
    // A page of a cluster that takes long is there before the cluster is.
    const bringsUp = words.includes("-f");
    for (;;) {
      const [, url] = /page: (http:\S+)/.exec(run.printed()) ?? [];
      if (url !== undefined && (!bringsUp || run.printed().includes(" is up: ")))
        return new RunningUi(home, run, url);
      if (Date.now() > end || run.child.exitCode !== null) throw new Error(run.printed());
      await sleep(50);
    }
  }

  /** What the control API answers, as another client hears it. */
  async ask<T>(path: string, body?: object): Promise<T> {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${this.url}api/v1alpha1${path}`, init);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  /** Ends it without a chance to put anything in order. */
  async kill(): Promise<void> {
    this.run.child.kill("SIGKILL");
    await this.run.ended;
  }

  async close(): Promise<void> {
    this.run.child.kill("SIGTERM");
    await this.run.ended;
  }
}

/** The texts of all elements that a selector finds, blanks cut. */
export async function textsOf(page: Page, selector: string): Promise<readonly string[]> {
  const texts = await page.locator(selector).allTextContents();
  return texts.map((text) => text.trim());
}
