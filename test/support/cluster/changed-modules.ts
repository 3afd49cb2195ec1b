/**
 * Modules loaded anew, with some exports of one of them changed: what was loaded before stays as it is, and its compiled
 * code warm. Node's own hooks do it, as the fast tests run on Node's own loader.
 */
import { registerHooks } from "node:module";

/** New values of exports by their names, made of the module as it really is. */
export type ExportChanges<Module> = {
  readonly [Name in keyof Module]?: (real: Module) => Module[Name];
};

export interface ModuleChange {
  /** `#room/…`, as modules write it. */
  readonly specifier: string;
  readonly exports: Readonly<Record<string, (real: never) => unknown>>;
}

/** A change of the module whose type is given. */
export function changeModule<Module>(specifier: string, exports: ExportChanges<Module>): ModuleChange {
  return { specifier, exports: exports as ModuleChange["exports"] };
}

/** Where a changed module finds what replaces its exports. */
const PLACE = "mullion.changed-exports";

/** A module with the names of the real one, of which some lead to the changes. */
function sourceOf(realUrl: string, names: readonly string[]): string {
  const lines = names.map(
    (name) => `export const ${name} = globalThis[Symbol.for("${PLACE}")].${name}(real);`,
  );
  return [`import * as real from "${realUrl}";`, `export * from "${realUrl}";`, ...lines].join("\n");
}

/** @param run what makes the URLs of this load its own; use each word once. @returns the module's exports. */
export async function importChanged(specifier: string, change: ModuleChange, run: string): Promise<unknown> {
  const own = `?changed=${run}`;
  const root = new URL("../../../", import.meta.url).href;
  const target = `${import.meta.resolve(change.specifier)}${own}`;
  const hooks = registerHooks({
    resolve(wanted, context, nextResolve) {
      const resolved = nextResolve(wanted, context);
      const isOurs = resolved.url.startsWith(root) && !resolved.url.includes("/node_modules/");
      const isAsked = context.parentURL?.includes(own) === true && !resolved.url.includes(own);
      return isOurs && isAsked ? { ...resolved, url: `${resolved.url}${own}` } : resolved;
    },
    load(url, context, nextLoad) {
      if (url !== target) return nextLoad(url, context);
      const source = sourceOf(`${target}&real`, Object.keys(change.exports));
      return { format: "module", source, shortCircuit: true };
    },
  });
  Object.assign(globalThis, { [Symbol.for(PLACE)]: change.exports });
  try {
    return await import(`${import.meta.resolve(specifier)}${own}`);
  } finally {
    Reflect.deleteProperty(globalThis, Symbol.for(PLACE));
    hooks.deregister();
  }
}
