/**
 * The executables for the package: one CommonJS file each, `dist/programs/NAME.cjs`, with what they use of other packages:
 * `mullion`, and those of `src/cli/programs/table.ts`. A CNI plugin lives for one call, and one file starts in half the time of a hundred
 * (bench/cni-start-up.ts); CommonJS, because it starts without Node's module loader. The tools share what they have in
 * common, in `dist/programs/shared/`: each verb of `mullion` is a file of its own there, so that a light one does not
 * read the others.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { type OutputOptions, type Plugin, rolldown } from "rolldown";
import { type MinifyOptions, minifySync } from "rolldown/utils";
import { compiledModules } from "./compile-texts.ts";
import { formatBillOfMaterials, formatNotices, manifestOf } from "./bundled-licences.ts";
import { PROGRAMS } from "#cli/programs/table.ts";

/** What holds the catalogue and the errors, by far the largest texts: in the library, beside the programs. */
const TEXTS = "#data/texts.js";

/** What is not bundled. koffi is native, and optional. */
const EXTERNAL: readonly string[] = ["koffi", TEXTS];

/** What old Nodes can read, so that the check below is what they say. */
const TARGET = "node16";

/** Programs for people and daemons, which have much in common. The others are CNI plugins. */
export const TOOLS: readonly string[] = [
  "mullion",
  ...PROGRAMS.filter(({ kind }) => kind !== "CNI plugin").map(({ name }) => name),
];

/**
 * Plugins that may ask an API server: the client of Kubernetes is large, and lies in a file of its own that they read when
 * they do.
 */
const ASKING_PLUGINS: readonly string[] = ["azure-vnet", "azure-vnet-ipam", "azure-vnet-ipamv6"];

/**
 * What a bundle does first. Runtimes expect a CNI plugin's error on stdout as JSON.
 * @param name of the executable.
 */
export function checkOfNode(name: string): string {
  return `(function () {
  var version = process.versions.node.split(".").map(Number);
  if (version[0] > 22 || (version[0] === 22 && version[1] >= 18)) return;
  var message = "${name}: Node 22.18 or later is needed, and " + process.execPath + " is " + process.versions.node;
  var advice = "Put a newer Node first in PATH, or install it from https://nodejs.org.";
  if (process.env.CNI_COMMAND) {
    require("fs").writeSync(1, JSON.stringify({ code: 999, msg: message, details: advice }, undefined, 4));
    process.exit(1);
  }
  require("fs").writeSync(2, message + "\\n    " + advice + "\\n");
  process.exit(2);
})();`;
}

/** What rolldown writes for an import of a part of Node. */
const BUILT_IN = /^let (node_\w+) = require\("(node:[\w/]+)"\);$/gm;
/** Such a part, otherwise than by a member of it. */
const HANDED_ON = /(?<!^let )\b(node_\w+)\b(?!\.)/gm;
const BUILT_IN_OR_USE = /^let (node_\w+) = require\("node:[\w/]+"\);$|\b(new )?(node_\w+)\./gm;

/**
 * Parts of Node are loaded by the first use in place of the start: `node:readline` alone costs a plugin a quarter of the
 * time of a whole call, and only who listens to notifications needs it. A part that is used otherwise than by its members
 * stays as it is.
 */
export function withLazyBuiltIns(code: string): string {
  const parts = new Map([...code.matchAll(BUILT_IN)].map(([, name = "", part = ""]) => [name, part]));
  for (const [, name = ""] of code.matchAll(HANDED_ON)) parts.delete(name);
  return code.replace(BUILT_IN_OR_USE, (text: string, declared?: string, made?: string, used?: string) => {
    const name = declared ?? used ?? "";
    const part = parts.get(name);
    if (part === undefined) return text;
    // Without brackets `new` would take the call of the function, and not the class that it gives.
    if (made !== undefined) return `new (${name}$()).`;
    if (declared === undefined) return `${name}$().`;
    return `var ${name}$part;\nfunction ${name}$() {\n\treturn ${name}$part ??= require("${part}");\n}`;
  });
}

/**
 * Bundles are small, because each plugin holds what it needs for itself. What a person reads in a stack trace stays: the
 * names of functions and classes, and lines that fit a terminal.
 */
const KEPT_NAMES = { keepNames: { function: true, class: true } } as const;
const SMALL: MinifyOptions = {
  compress: KEPT_NAMES,
  mangle: KEPT_NAMES,
  codegen: { removeWhitespace: false },
};

/** A bundle as it is shipped. */
export function shippedCode(fileName: string, code: string): string {
  return minifySync(fileName, withLazyBuiltIns(code), SMALL).code;
}

const SHIPPED: Plugin = {
  name: "shipped-code",
  renderChunk: (code, { fileName }) => shippedCode(fileName, code),
};

function outputOf(folder: string): OutputOptions {
  return {
    dir: folder,
    format: "cjs",
    comments: false,
    banner: (chunk) => (chunk.isEntry ? checkOfNode(chunk.name) : ""),
    entryFileNames: "[name].cjs",
    chunkFileNames: "shared/[name].cjs",
  };
}

/** The names of the executables. */
export const PROGRAM_NAMES: readonly string[] = ["mullion", ...PROGRAMS.map(({ name }) => name)];

const ENTRY = "program:";
/** A row of the table in its source: the name, and at its end one import and one call. */
const ROW =
  /^ {2}"?([\w-]+)"?: \{\n {4}about:\s+"[^"\n]*",\n {4}start: async \(\) => \(await import\("([^"]+)"\)\)\.(\w+)\(\),\n/gm;

/**
 * The begin of a bundle: imports what the table imports when the program is started, and starts it.
 * @param table its source: what a function says of itself depends on who has loaded it.
 * @throws Error when the table says it in other words.
 */
export function entryOf(name: string, table: string): string {
  for (const [, program, from, start] of table.matchAll(ROW)) {
    if (program === name) return `import { ${start} } from "${from}";\nexport const ended = ${start}();\n`;
  }
  throw new Error(`the table of programs has no row for ${name} that starts it by one import and one call`);
}

/** A start in the source of the table. */
const START_IN_TABLE = /\bstart: async \(\) => \(await import\("[^"]+"\)\)\.\w+\(\),/g;

/**
 * Entries that are written nowhere: they import as the table does. The table itself comes without its starts: where there
 * are bundles, bin/start.cjs starts those.
 */
function entries(root: string): Plugin {
  const table = join(root, "src", "cli", "programs", "table.ts");
  return {
    name: "program-entries",
    resolveId(id, importer) {
      if (id.startsWith(ENTRY)) return id;
      if (importer?.startsWith(ENTRY) !== true) return undefined;
      return id.startsWith("#") ? this.resolve(id, table) : join(dirname(table), id);
    },
    load: (id) =>
      id.startsWith(ENTRY) ? entryOf(id.slice(ENTRY.length), readFileSync(table, "utf8")) : undefined,
    transform: (code, id) => (id === table ? code.replaceAll(START_IN_TABLE, "") : undefined),
  };
}

/**
 * The tables of `data/` in a module each, where a clone has files. The package holds its texts once: programs read those of
 * the library.
 */
function texts(root: string): Plugin {
  const codes = new Map([...compiledModules()].map(([name, code]) => [join(root, "data", name), code]));
  return {
    name: "texts",
    load: (id) => codes.get(id),
    renderChunk: (code, { fileName }) =>
      code.replaceAll(`"${TEXTS}"`, `"${posix.relative(posix.dirname(fileName), "../data/texts.js")}"`),
  };
}

const NO_UNDICI = "without:undici";
/**
 * The client of Kubernetes makes dispatchers of undici, 1.6 MB, for its own calls. Mullion takes from it what kubeconfigs
 * say, and calls with `node:https`.
 */
const WITHOUT_UNDICI: Plugin = {
  name: "without-undici",
  resolveId: (id) => (id === "undici" ? NO_UNDICI : undefined),
  load: (id) =>
    id === NO_UNDICI
      ? `export class Agent { constructor() { throw new Error("undici is not in the package"); } }
export { Agent as ProxyAgent, Agent as fetch };`
      : undefined,
};

function inputOf(root: string, name: string): string {
  return name === "mullion" ? join(root, "src", "cli", "mullion", "main.ts") : `${ENTRY}${name}`;
}

/** Bundles programs with one another; returns the modules that are in them. */
async function bundle(root: string, folder: string, names: readonly string[]): Promise<readonly string[]> {
  const inputs = names.map((name) => [name, inputOf(root, name)] as const);
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(inputs),
    platform: "node",
    external: [...EXTERNAL],
    transform: { target: TARGET },
    // Of the client of Kubernetes only the reader of kubeconfigs is used; its thousand models do nothing when they are read.
    treeshake: { moduleSideEffects: [{ test: /[\\/]@kubernetes[\\/]client-node[\\/]/, sideEffects: false }] },
    // How long it takes depends on what else the machine does.
    checks: { pluginTimings: false },
    plugins: [entries(root), texts(root), WITHOUT_UNDICI, SHIPPED],
    // A warning is a fault of the build.
    onLog: (level, log) => {
      if (level === "warn") throw new Error(log.message);
    },
  });
  const { output } = await build.write({ ...outputOf(folder), codeSplitting: names.length > 1 });
  await build.close();
  return output.flatMap((part) => (part.type === "chunk" ? part.moduleIds : []));
}

/** Writes all bundles to `folder`, the licences of what they hold, and a bill of materials. */
export async function bundlePrograms(root: string, folder: string): Promise<void> {
  const names = PROGRAM_NAMES;
  const joined = names.filter((name) => TOOLS.includes(name) || ASKING_PLUGINS.includes(name));
  const modules = [...(await bundle(root, folder, joined))];
  for (const name of names) if (!joined.includes(name)) modules.push(...(await bundle(root, folder, [name])));
  writeFileSync(join(folder, "LICENSES.txt"), formatNotices(modules));
  writeFileSync(join(folder, "sbom.cdx.json"), formatBillOfMaterials(modules, manifestOf(root)));
}
