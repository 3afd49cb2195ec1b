/**
 * The pages of `web/` as browsers read them: `report`, which stands alone in a file, and `ui`, which a server gives out.
 * In a clone they are made when they are asked for, within half a second, so that they are never older than their sources; the
 * package holds them in `dist/web/`.
 */
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Plugin, rolldown } from "rolldown";
import { formatNotices } from "./bundled-licences.ts";

const ROOT = join(fileURLToPath(new URL(".", import.meta.url)), "..");
const SOURCES = join(ROOT, "web", "src");

export const WEB_ENTRIES = ["report", "ui"] as const;
export type WebEntry = (typeof WEB_ENTRIES)[number];

/** A page prints no descriptions of shapes, and they are most of the words. */
const WITHOUT_WORDS: Plugin = {
  name: "without-words",
  resolveId: (id) => (id === "#data/words.js" ? "without:words" : undefined),
  load: (id) => (id === "without:words" ? "export const reports = () => ({});" : undefined),
};

interface BuiltScript {
  readonly code: string;
  readonly modules: readonly string[];
}

async function buildScript(entry: WebEntry): Promise<BuiltScript> {
  const build = await rolldown({
    cwd: ROOT,
    input: join(SOURCES, `${entry}.tsx`),
    platform: "browser",
    tsconfig: join(ROOT, "web", "tsconfig.json"),
    transform: { target: "es2022" },
    checks: { pluginTimings: false },
    plugins: [WITHOUT_WORDS],
    onLog: (level, log) => {
      if (level === "warn") throw new Error(log.message);
    },
  });
  const { output } = await build.generate({ format: "iife", minify: true, codeSplitting: false });
  await build.close();
  const [{ code, moduleIds }] = output;
  return { code, modules: moduleIds };
}

/** The script of a page. */
export async function bundleScript(entry: WebEntry): Promise<string> {
  return (await buildScript(entry)).code;
}

/** Writes `dist/web/`, with the licences of what is in it. */
export async function bundleWeb(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const modules: string[] = [];
  for (const entry of WEB_ENTRIES) {
    const script = await buildScript(entry);
    writeFileSync(join(folder, `${entry}.js`), script.code);
    copyFileSync(join(SOURCES, `${entry}.html`), join(folder, `${entry}.html`));
    modules.push(...script.modules);
  }
  for (const file of ["style.css", "icon.svg"]) copyFileSync(join(SOURCES, file), join(folder, file));
  writeFileSync(join(folder, "LICENSES.txt"), formatNotices(modules));
}
