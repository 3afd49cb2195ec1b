/**
 * What the library says of Kubernetes objects are types of the official client. Whoever uses the library shall not need
 * that client with all that it brings along, so the build writes the types that are reached into `dist/`.
 */
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, posix, relative, sep } from "node:path";

import { compiledModules } from "./compile-texts.ts";

const CLIENT = "@kubernetes/client-node";
/** Where they are written, beside the file that names them. */
const TYPES = "api-types";

const BEGINNING = /^export declare class (\w+) \{$/;
/** From here on a model describes itself to the client's own (de)serializer. */
const END = /^ {4}static readonly discriminator/;
const IMPORT = /^import \{ (\w+) \} from '[./\w]+\/models\/(\w+)\.js';$/;
const IMPORT_OF_TYPES = /^import \{ [\w, ]+ \} from '\.\.\/\.\.\/types\.js';$/;

/** One model, as an interface. */
export interface Model {
  readonly text: string;
  /** The models that it names. */
  readonly uses: readonly string[];
}

/** @throws Error when the file does not look as the generator of the client writes it. */
export function readModel(name: string, declaration: string): Model {
  const uses: string[] = [];
  const lines: string[] = [];
  let state: "head" | "fields" | "end" = "head";
  for (const line of declaration.split("\n")) {
    if (state === "head") {
      const used = IMPORT.exec(line);
      if (used !== null) uses.push(used[2] ?? "");
      else if (line.startsWith("import ") && !IMPORT_OF_TYPES.test(line))
        throw new Error(`${name} of ${CLIENT} imports in a way that is not known here: ${line}`);
      if (BEGINNING.exec(line)?.[1] !== name) continue;
      state = "fields";
      lines.push(`export interface ${name} {`);
    } else if (END.test(line)) state = "end";
    // The generator escapes quotes in comments, too.
    else if (state === "fields") lines.push(line.replace(/\\(['"])/g, "$1"));
  }
  if (state !== "end") throw new Error(`${name} of ${CLIENT} is no class of fields`);
  return { text: [...lines, "}"].join("\n"), uses };
}

const HEAD = `/**
 * The objects of Kubernetes' API: fields and descriptions as ${CLIENT} has them, which its authors generate from
 * the published API (Copyright The Kubernetes Authors, Apache License 2.0). Written by the build.
 */
export type IntOrString = number | string;
export type V1MicroTime = Date;
`;

/** The declarations of `names` and of all that they reach. `read` gives the client's declaration of a model. */
export function declareModels(names: readonly string[], read: (name: string) => string): string {
  const models = new Map<string, Model>();
  const open = [...names];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (models.has(name)) continue;
    const model = readModel(name, read(name));
    models.set(name, model);
    open.push(...model.uses);
  }
  const sorted = [...models.keys()].toSorted();
  return [HEAD, ...sorted.map((name) => models.get(name)?.text ?? ""), ""].join("\n");
}

const IMPORT_OF_CLIENT = /^import type \{([\w\s,]+)\} from "@kubernetes\/client-node";$/m;

/** Writes the types that a declaration of the library takes from the client, and lets it take them from there. */
function bringTypes(root: string, folder: string, file: string): void {
  const path = join(folder, file);
  const text = readFileSync(path, "utf8");
  const names = IMPORT_OF_CLIENT.exec(text)?.[1]?.match(/\w+/g);
  if (names === undefined || names === null) throw new Error(`${path} imports no types of ${CLIENT}`);
  const models = join(root, "node_modules", CLIENT, "dist", "gen", "models");
  const read = (name: string): string => readFileSync(join(models, `${name}.d.ts`), "utf8");
  writeFileSync(join(folder, `${TYPES}.d.ts`), declareModels(names, read));
  writeFileSync(path, text.replace(`"${CLIENT}"`, `"./${TYPES}.ts"`));
}

/** Statements and dynamic imports; not the word in a text. */
const BARE_IMPORT = /^(?:import|export)\b[^;"]*\bfrom "([^"./][^"]*)"|\bimport\("([^"./][^"]*)"\)/gm;

/** The packages that a file names: `hono` for `hono/body-limit`. */
export function packagesOf(text: string): readonly string[] {
  const names = [...text.matchAll(BARE_IMPORT)].map(([, from, dynamic]) => from ?? dynamic ?? "");
  return names
    .filter((name) => !name.startsWith("node:"))
    .map((name) =>
      name
        .split("/")
        .slice(0, name.startsWith("@") ? 2 : 1)
        .join("/"),
    );
}

/** A file of another room, in a statement or in a type. */
const ROOM_IMPORT = /(\bfrom "|^import "|\bimport\(")#([^"]+)\.[jt]s"/gm;

/**
 * A compiled file with relative paths to other rooms. `imports` of package.json lead `#room/…` to the sources, which no
 * package holds; bundlers and older resolutions of TypeScript read no such field of a nested package.json.
 * @param path of the file below `dist/`, with slashes.
 */
export function withRelativeRooms(path: string, text: string): string {
  return text.replace(ROOM_IMPORT, (_all, begin: string, target: string) => {
    const way = posix.relative(posix.dirname(path), `${target}.js`);
    return `${begin}${way.startsWith(".") ? way : `./${way}`}"`;
  });
}

function relateRooms(dist: string): void {
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/\.(?:js|ts)$/.test(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    const below = relative(dist, path).split(sep).join(posix.sep);
    writeFileSync(path, withRelativeRooms(below, readFileSync(path, "utf8")));
  }
}

/** @throws Error when the library names a package that nobody installs with it. */
function checkPackages(root: string, dist: string): void {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly dependencies: Readonly<Record<string, string>>;
    readonly optionalDependencies: Readonly<Record<string, string>>;
  };
  const known = { ...manifest.dependencies, ...manifest.optionalDependencies };
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/\.(?:js|ts)$/.test(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    const missing = packagesOf(readFileSync(path, "utf8")).find((name) => known[name] === undefined);
    if (missing !== undefined) throw new Error(`${path} imports ${missing}, which is no dependency`);
  }
}

/** What is left to do when the library is compiled to `dist`. */
export function finishLibrary(root: string, dist: string): void {
  bringTypes(root, join(dist, "contracts", "kubernetes"), "objects.d.ts");
  mkdirSync(join(dist, "data"));
  for (const [name, code] of compiledModules()) {
    writeFileSync(join(dist, "data", name), code);
    const types = name.replace(/\.js$/, ".d.ts");
    copyFileSync(join(root, "data", types), join(dist, "data", types));
  }
  relateRooms(dist);
  checkPackages(root, dist);
}
