/**
 * What the package declares to TypeScript, per subpath of its exports: the text of each exported name, and of each type
 * that these name in turn. Read from the `.d.ts` files that the compiler writes. Comments, private members and the places
 * of files do not count, so that moving code changes nothing here.
 */
import { posix } from "node:path";

/** The parts of package.json that lead to files. */
export interface PackageMap {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly imports?: Readonly<Record<string, unknown>>;
}

/** The text of a `.d.ts` file by its path from the folder of the compiler; undefined when there is none. */
export type ReadDeclarations = (path: string) => string | undefined;

interface Origin {
  /** As it stands in the import; undefined: this file. */
  readonly from: string | undefined;
  readonly name: string;
}

interface Module {
  readonly path: string;
  readonly own: Map<string, string>;
  readonly imported: Map<string, Origin>;
  readonly exported: Map<string, Origin>;
}

/** Comments go, strings stay. */
function withoutComments(text: string): string {
  return text.replaceAll(
    /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|\/\*[\s\S]*?\*\/|\/\/.*$/gm,
    (_all, string: string | undefined) => string ?? "",
  );
}

const PRIVATE = /\bprivate (?!constructor\b)(?:(?:static|readonly|override|get|set) )*\w+(?:\([^)]*\))?;/g;

/** Statements at the left edge, each on one line. */
function statementsOf(text: string): readonly string[] {
  const statements: string[] = [];
  for (const line of withoutComments(text).split("\n")) {
    const isContinued = statements.length > 0 && /^[\s})\]>|&]/.test(line);
    if (isContinued) statements[statements.length - 1] += ` ${line}`;
    else if (line.trim() !== "") statements.push(line);
  }
  return statements.map((statement) =>
    statement
      .replaceAll(PRIVATE, "")
      .replaceAll(/\bimport\("[^"]*"\)\./g, "")
      .replaceAll(/\s+/g, " ")
      .trim(),
  );
}

/** The pairs of `{ a, type B, c as d }`: the name there, the name here. */
function namesIn(list: string): readonly (readonly [there: string, here: string])[] {
  return list
    .split(",")
    .map((item) => item.trim().replace(/^type /, ""))
    .filter((item) => item !== "")
    .map((item) => {
      const [there = "", here = there] = item.split(" as ");
      return [there, here] as const;
    });
}

const DECLARED =
  /^(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type|function|const|let|enum|namespace) ([\w$]+)/;

function parseModule(path: string, text: string): Module {
  const module: Module = { path, own: new Map(), imported: new Map(), exported: new Map() };
  for (const statement of statementsOf(text)) {
    const list = /^(import|export)(?: type)? (?:[\w$]+, )?\{(.*?)\}(?: from "([^"]+)")?;?$/.exec(statement);
    if (list !== null) {
      const [, word, names = "", from] = list;
      for (const [there, here] of namesIn(names)) {
        if (word === "import") module.imported.set(here, { from, name: there });
        else module.exported.set(here, { from, name: there });
      }
      continue;
    }
    const name = DECLARED.exec(statement)?.[1];
    if (name === undefined) continue;
    const before = module.own.get(name);
    const declaration = statement.replace(/^export /, "").replace(/^declare /, "");
    module.own.set(name, before === undefined ? declaration : `${before} ${declaration}`);
    if (statement.startsWith("export ")) module.exported.set(name, { from: undefined, name });
  }
  return module;
}

/** What a condition of package.json leads to for a type check. */
function targetOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return undefined;
  const { types, default: other } = value as { readonly types?: unknown; readonly default?: unknown };
  return targetOf(types) ?? targetOf(other);
}

/** `./dist/net/mod.js` and `./src/net/mod.ts` are both `net/mod.d.ts` in the folder of the compiler. */
function declarationPath(path: string): string {
  return path.replace(/^\.\/(?:dist|src)\//, "").replace(/(?:\.d)?\.(?:ts|js)$/, ".d.ts");
}

function viaImports(specifier: string, imports: Readonly<Record<string, unknown>>): string | undefined {
  for (const [pattern, value] of Object.entries(imports)) {
    const [begin = "", end] = pattern.split("*");
    const target = targetOf(value);
    if (target === undefined) continue;
    if (end === undefined && specifier === pattern) return declarationPath(target);
    if (end !== undefined && specifier.startsWith(begin) && specifier.endsWith(end)) {
      const middle = specifier.slice(begin.length, specifier.length - end.length);
      return declarationPath(target.replace("*", middle));
    }
  }
  return undefined;
}

/** Reads modules as they are needed, and follows names to where they are declared. */
class Declarations {
  private readonly modules = new Map<string, Module | undefined>();
  private readonly read: ReadDeclarations;
  private readonly imports: Readonly<Record<string, unknown>>;

  constructor(read: ReadDeclarations, imports: Readonly<Record<string, unknown>>) {
    this.read = read;
    this.imports = imports;
  }

  module(path: string): Module | undefined {
    if (!this.modules.has(path)) {
      const text = this.read(path);
      this.modules.set(path, text === undefined ? undefined : parseModule(path, text));
    }
    return this.modules.get(path);
  }

  /** The module that a specifier names; undefined for one of another package. */
  private neighbour(module: Module, specifier: string): Module | undefined {
    if (specifier.startsWith(".")) {
      const path = posix.join(posix.dirname(module.path), specifier);
      return this.module(declarationPath(path));
    }
    const path = viaImports(specifier, this.imports);
    return path === undefined ? undefined : this.module(path);
  }

  /** Where a name that a module uses or exports is declared. */
  find(module: Module, name: string, isExported: boolean): readonly [Module, string] | undefined {
    const origin = isExported ? module.exported.get(name) : module.imported.get(name);
    if (origin?.from !== undefined) {
      const next = this.neighbour(module, origin.from);
      return next === undefined ? undefined : this.find(next, origin.name, true);
    }
    const local = origin?.name ?? name;
    if (module.own.has(local)) return [module, local];
    return isExported && module.imported.has(local) ? this.find(module, local, false) : undefined;
  }
}

/** Names in a declaration that may be other declarations: not those of fields, methods and parameters. */
function wordsOf(declaration: string): ReadonlySet<string> {
  const code = declaration.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
  return new Set(code.match(/(?<![\w$.])[A-Za-z_$][\w$]*(?![\w$]|\??:|\()/g) ?? []);
}

/** A declared name: under which subpath it is exported, or none when others only name it. */
export interface Declared {
  readonly subpath: string;
  readonly name: string;
  readonly text: string;
}

/** `exports` of package.json that are of TypeScript, with their `.d.ts` files. */
function entries(exports: PackageMap["exports"]): readonly (readonly [string, string])[] {
  return Object.entries(exports).flatMap(([subpath, value]) => {
    const target = targetOf(value);
    return target?.endsWith(".ts") === true ? [[subpath, declarationPath(target)] as const] : [];
  });
}

/** Every exported name of the package, then what they reach, each once. */
export function declarationsOf(map: PackageMap, read: ReadDeclarations): readonly Declared[] {
  const all = new Declarations(read, map.imports ?? {});
  const found: Declared[] = [];
  const waiting: (readonly [Module, string])[] = [];
  for (const [subpath, path] of entries(map.exports)) {
    const door = all.module(path);
    if (door === undefined) throw new Error(`${subpath}: the compiler wrote no ${path}`);
    for (const name of [...door.exported.keys()].toSorted()) {
      const place = all.find(door, name, true);
      if (place === undefined) throw new Error(`${subpath}: nothing declares ${name}`);
      found.push({ subpath, name, text: place[0].own.get(place[1]) ?? "" });
      waiting.push(place);
    }
  }
  return [...found, ...reachedFrom(waiting, all, new Set(found.map(({ text }) => text)))];
}

function reachedFrom(
  start: readonly (readonly [Module, string])[],
  all: Declarations,
  known: ReadonlySet<string>,
): readonly Declared[] {
  const waiting = [...start];
  const seen = new Set<string>();
  const texts = new Map<string, string>();
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    const [module, name] = place;
    const key = `${module.path} ${name}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const text = module.own.get(name) ?? "";
    if (!known.has(text)) texts.set(text, name);
    for (const word of wordsOf(text)) {
      const next = all.find(module, word, false);
      if (next !== undefined) waiting.push(next);
    }
  }
  return [...texts]
    .map(([text, name]) => ({ subpath: "-", name, text }))
    .toSorted((a, b) => (`${a.name} ${a.text}` < `${b.name} ${b.text}` ? -1 : 1));
}
