/**
 * Where the code names the type of the programs' mode (`Compat`) or decides by a value of that type, as the type checker
 * sees it. Modes are implementations and tables, chosen where a program is built; everything else shall not know them.
 *
 * `node tools/mode-references.ts` prints the places by file.
 */
import { relative, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { type Node, SyntaxKind } from "typescript/unstable/ast";
import * as is from "typescript/unstable/ast/is";
import { API, type Project, type Type } from "typescript/unstable/sync";
import { type SourceFile, isTest } from "./source-files.ts";

/** Places in `src/`, tests left out. It only ever goes down. */
export const MODE_REFERENCES_MAX = 58;

/** The type, and the values that it has. */
const MODE_FILE = "src/core/base/compat.ts";
/** A table by modes names them all. */
const MODE_TYPES: readonly string[] = ["Compat", "ByMode"];
const MODES: ReadonlySet<unknown> = new Set(["upstream", "hardened"]);

const WORDS = /\b(?:Compat|ByMode)\b|"upstream" \| "hardened"|\bcompat [!=]== "(?:upstream|hardened)"/g;

/** One place: a reference to the type, or a condition on a value of it. */
export interface ModeReference {
  readonly path: string;
  readonly line: number;
  readonly kind: "type" | "condition";
}

/** What is compared with a value or with each other; whether there is a mode at all says nothing of which. */
function comparedIn(sides: readonly Node[]): readonly Node[] {
  const isMissing = (side: Node): boolean => is.isIdentifier(side) && side.text === "undefined";
  return sides.some(isMissing) ? [] : sides.filter((side) => !is.isStringLiteral(side));
}

/** What may decide by a mode: an operand of a comparison, what a switch looks at, the key of a table. */
function decidersIn(file: Node): readonly Node[] {
  const found: Node[] = [];
  const visit = (node: Node): void => {
    if (is.isBinaryExpression(node)) {
      const { kind } = node.operatorToken;
      if (kind === SyntaxKind.EqualsEqualsEqualsToken || kind === SyntaxKind.ExclamationEqualsEqualsToken)
        found.push(...comparedIn([node.left, node.right]));
    } else if (is.isSwitchStatement(node)) found.push(node.expression);
    else if (is.isElementAccessExpression(node)) found.push(node.argumentExpression);
    node.forEachChild(visit);
  };
  visit(file);
  return found;
}

/** Unions that spell the type out. */
function spelledTypesIn(file: Node): readonly Node[] {
  const found: Node[] = [];
  const visit = (node: Node): void => {
    if (is.isUnionTypeNode(node)) {
      const values = node.types.map((type) =>
        is.isLiteralTypeNode(type) && is.isStringLiteral(type.literal) ? type.literal.text : undefined,
      );
      if (values.length === MODES.size && values.every((value) => MODES.has(value))) found.push(node);
    }
    node.forEachChild(visit);
  };
  visit(file);
  return found;
}

/** The type itself, one of its values, or either of them where it may be missing. */
function isMode(type: Type | undefined): boolean {
  if (type === undefined) return false;
  const parts = ((type.isUnionType() ? type.getTypes() : undefined) ?? [type]).filter(
    (part) => !part.isIntrinsicType() || part.intrinsicName !== "undefined",
  );
  return parts.length > 0 && parts.every((part) => part.isStringLiteralType() && MODES.has(part.value));
}

/** Where the types are written, other than in imports and in their own file. */
function typeReferences(project: Project, root: string): readonly Node[] {
  const source = project.program.getSourceFile(resolve(root, MODE_FILE));
  const names: Node[] = [];
  source?.forEachChild((node) => {
    if (is.isTypeAliasDeclaration(node) && MODE_TYPES.includes(node.name.text)) names.push(node.name);
  });
  if (source === undefined || names.length === 0) throw new Error(`${MODE_FILE} declares no mode`);
  return names
    .flatMap((name) => project.checker.getReferencedSymbolsForNode(name, name.getStart(source)))
    .flatMap(({ references }) => references.map((reference) => reference.resolve(project)))
    .filter((node): node is Node => node !== undefined && is.isTypeReferenceNode(node.parent));
}

/**
 * Every place in the production files of `src/`, sorted.
 * @param root the folder with `configFile`.
 */
export function findModeReferences(root: string, configFile = "tsconfig.json"): readonly ModeReference[] {
  const api = new API({ cwd: root });
  try {
    const config = resolve(root, configFile);
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config);
    if (project === undefined) throw new Error(`${config} could not be read`);
    const found = new Map<string, ModeReference>();
    const keep = (node: Node, kind: ModeReference["kind"]): void => {
      const file = node.getSourceFile();
      const path = relative(root, file.fileName).split(sep).join("/");
      if (!path.startsWith("src/") || isTest(path) || path === MODE_FILE) return;
      const start = node.getStart(file);
      const line = file.text.slice(0, start).split("\n").length;
      found.set(`${path} ${start} ${kind}`, { path, line, kind });
    };
    for (const node of typeReferences(project, root)) keep(node, "type");
    const sources = resolve(root, "src") + sep;
    const files = project.program
      .getSourceFileNames()
      .filter((name) => name.startsWith(sources) && !isTest(name))
      .flatMap((name) => project.program.getSourceFile(name) ?? []);
    for (const file of files) for (const node of spelledTypesIn(file)) keep(node, "type");
    const deciders = files.flatMap((file) => decidersIn(file));
    const types = project.checker.getTypeAtLocation(deciders);
    for (const [index, node] of deciders.entries())
      if (isMode(types[index])) keep(is.isBinaryExpression(node.parent) ? node.parent : node, "condition");
    return [...found.values()].toSorted((a, b) => a.path.localeCompare(b.path) || a.line - b.line);
  } finally {
    api.close();
  }
}

/** The same without types, for every run of the tests: the name outside imports, and comparisons with its values. */
export function countModeWords(files: readonly SourceFile[]): number {
  return files
    .filter(({ path }) => !isTest(path) && path !== MODE_FILE)
    .map(({ text }) =>
      text.replace(/^(?:import|export) (?:type )?\{[^}]*\}.*$/gm, "").replace(/^ *(?:\*|\/[/*]).*$/gm, ""),
    )
    .reduce((sum, code) => sum + (code.match(WORDS)?.length ?? 0), 0);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const references = findModeReferences(resolve("."));
  const files = Map.groupBy(references, ({ path }) => path);
  for (const [path, places] of files) {
    const linesOf = (kind: ModeReference["kind"]): string =>
      places
        .filter((place) => place.kind === kind)
        .map(({ line }) => line)
        .join(" ");
    console.log(
      `${String(places.length).padStart(4)} ${path}  type: ${linesOf("type")}  condition: ${linesOf("condition")}`,
    );
  }
  console.log(`${references.length} in ${files.size} files`);
}
