/**
 * Leads imports of sources to their files without Node's search through package.json, as `bin/start.cjs` does, and before
 * Vitest's own hook, which sends two messages between processes for each import of each module. It does so for its watch
 * mode, which keeps its hook.
 */
import { registerHooks } from "node:module";

const ROOT = new URL("../", import.meta.url).href;
/** `#room/…` of a room of `src/`, or of the tests. */
const ROOM = /^#(\w[\w-]*)\/.*\.ts$/;

/** The source that a specifier names; undefined: something else, to be searched for. */
function sourceUrl(specifier: string, parentUrl: string): string | undefined {
  if (!parentUrl.startsWith(ROOT) || parentUrl.includes("/node_modules/")) return undefined;
  if (specifier.startsWith("."))
    return specifier.endsWith(".ts") ? new URL(specifier, parentUrl).href : undefined;
  const room = ROOM.exec(specifier)?.[1];
  if (room === undefined) return undefined;
  return `${ROOT}${room === "test" ? "" : "src/"}${specifier.slice(1)}`;
}

/** Once per worker: setup files run again for each file of tests. */
function resolveSources(): void {
  const done = Symbol.for("mullion.resolve-sources");
  if (process.env["VITEST_MODE"] === "WATCH" || Reflect.has(globalThis, done)) return;
  Reflect.set(globalThis, done, true);
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const url = sourceUrl(specifier, context.parentURL ?? "");
      return url === undefined
        ? nextResolve(specifier, context)
        : { url, format: "module-typescript", shortCircuit: true };
    },
  });
}

resolveSources();
