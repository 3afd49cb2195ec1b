/**
 * What is seen in a browser: the parts of a page, built in the package and made when they are asked for in a clone; and
 * a report as one file that opens by itself, with no request to anywhere and nothing else allowed to run.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { visibleText } from "#core/base/visible-text.ts";
import { isKnowledgeCode } from "#core/catalogue/codes.ts";
import { getEntry } from "#diagnose/catalogue/catalogue.ts";
import type { KnowledgeEntry } from "#diagnose/catalogue/entry.ts";
import { packageRoot, packageVersion } from "../../installation.ts";

type WebEntry = "report" | "ui";

/** What a page consists of. */
interface WebPage {
  readonly script: string;
  readonly style: string;
  readonly template: string;
  readonly icon: string;
}

/** What of tools/bundle-web.ts is called here; it is no part of the package. */
interface Bundler {
  readonly bundleScript: (entry: WebEntry) => Promise<string>;
}

/** Reads or makes a page. */
export async function openWebPage(entry: WebEntry): Promise<WebPage> {
  const root = packageRoot();
  const sources = join(root, "web", "src");
  const isClone = existsSync(sources);
  const folder = isClone ? sources : join(root, "dist", "web");
  const read = (file: string): string => readFileSync(join(folder, file), "utf8");
  const bundler = pathToFileURL(join(root, "tools", "bundle-web.ts")).href;
  const script = isClone
    ? await ((await import(bundler)) as Bundler).bundleScript(entry)
    : read(`${entry}.js`);
  return { script, style: read("style.css"), template: read(`${entry}.html`), icon: read("icon.svg") };
}

/** A template with its holes filled. */
export function fill(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (hole, name: string) => values[name] ?? hole);
}

/** Fields of reports that hold a code. */
const CODE_FIELDS: ReadonlySet<string> = new Set(["code", "observed"]);

/** The entries of the catalogue that a document names anywhere. */
function explanationsOf(document: unknown): Readonly<Record<string, KnowledgeEntry>> {
  const found = new Map<string, KnowledgeEntry>();
  const look = (name: string, value: unknown): void => {
    if (typeof value === "object" && value !== null)
      for (const [field, each] of Object.entries(value)) look(field, each);
    if (CODE_FIELDS.has(name) && typeof value === "string" && isKnowledgeCode(value))
      found.set(value, getEntry(value));
  };
  look("", document);
  return Object.fromEntries(found);
}

/** JSON that can stand in a page: no markup begins in it, and nothing steers the direction of a line. */
function embeddedJson(value: unknown): string {
  return visibleText(JSON.stringify(value)).replaceAll("<", "\\u003c");
}

/** A text as it stands in markup or in an attribute. */
export function escapeHtml(text: string): string {
  return visibleText(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/**
 * @param document as `-o json` has it.
 * @param text the same for who has no scripts.
 */
export async function formatHtml(document: object, title: string, text: string): Promise<string> {
  const { script, style, template } = await openWebPage("report");
  const code = script.replaceAll("</script", "<\\/script");
  const data = { version: packageVersion(), document, explanations: explanationsOf(document) };
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(code)}`,
    `style-src ${hashOf(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return fill(template, {
    policy,
    title: escapeHtml(title),
    style,
    text: escapeHtml(text),
    data: embeddedJson(data),
    script: code,
  });
}
