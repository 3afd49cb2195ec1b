/**
 * Mutants of a source file: places where a value, a comparison or an order can be another one, and what the file looks
 * like when all of them are built in. Each mutant is a choice at run time, `(__m(3) ? a >= b : a > b)`, so that one start
 * of Vitest tries many of them, and `__m` tells which ones a test comes by.
 */
import { parseAst } from "rolldown/parseAst";

/**
 * `safe` ones compile whatever the types are. `text` ones change a text: a literal, which a type may name, or words
 * around holes. `guard` ones change what the compiler concludes from a condition.
 */
export type MutantKind = "safe" | "text" | "guard";

export interface Mutant {
  /** Its number in its file. */
  readonly index: number;
  readonly line: number;
  readonly kind: MutantKind;
  readonly before: string;
  readonly after: string;
  readonly start: number;
  readonly end: number;
  /** True for a statement, which is left out. */
  readonly isStatement: boolean;
  /** True where both values can be compared at run time, because nothing happens as they are computed. */
  readonly isComparable: boolean;
}

/** What `buildIn` puts into a file; it stands in scope as `__m`, `__o` and `__t`. */
export interface Choices {
  /** True for the mutant that is active. `differs`: that the test comes by is all that one can know. */
  readonly choose: (index: number, differs: boolean) => boolean;
  /** Compares the value with the one of a mutant that is not active. @returns the value. */
  readonly compare: (index: number, value: unknown, mutated: () => unknown) => unknown;
  /** One more turn of a loop. */
  readonly turn: () => void;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

const COMPARISONS: Readonly<Record<string, readonly string[]>> = {
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "===": ["!=="],
  "!==": ["==="],
};
const ARITHMETIC: Readonly<Record<string, string>> = {
  "-": "+",
  "*": "+",
  "/": "*",
  "%": "*",
  "&": "|",
  "|": "&",
  "^": "&",
  "<<": ">>>",
  ">>": "<<",
  ">>>": "<<",
};
const METHODS: Readonly<Record<string, string>> = {
  some: "every",
  every: "some",
  min: "max",
  max: "min",
  startsWith: "endsWith",
  endsWith: "startsWith",
  toLowerCase: "toUpperCase",
  toUpperCase: "toLowerCase",
  push: "unshift",
  ceil: "floor",
  floor: "ceil",
};
/** What is not run: types, and names that only look like expressions. */
const LOOP = /^(?:While|DoWhile|For|ForOf|ForIn)Statement$/;
/** Assertions hold what cannot be: a test that falls with one that is weaker does not exist. */
const ASSERTION = /^(?:assert|unreachable)\(/;
/** What does something as it is computed, or can only stand in its own function. */
const EFFECT = /^(?:Call|New|Await|Yield|Assignment|Update|Import|TaggedTemplate)Expression$/;
const SKIPPED =
  /^(?:TS(?!AsExpression|NonNullExpression|SatisfiesExpression)|Import|ExportAll|ExportSpecifier)/;

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

function isNothing(node: Node): boolean {
  return (
    (node.type === "Identifier" && node["name"] === "undefined") ||
    (node.type === "Literal" && node["value"] === null) ||
    (node.type === "UnaryExpression" && node["operator"] === "typeof")
  );
}

/** A condition from which the compiler learns what a value is. */
function narrows(text: string): boolean {
  return /undefined|null|typeof|instanceof|\bin\b|"|\bis[A-Z]\w*\(/.test(text);
}

/** True for a template with words between its holes, which people read; `${a}/${b}` and `pod/${name}` are keys. */
function saysWords(template: Node): boolean {
  const quasis = template["quasis"] as readonly { readonly value: { readonly cooked: string } }[];
  const fixed = quasis.map(({ value }) => value.cooked).join("\0");
  return /\s/.test(fixed) && /[a-z]{2}/i.test(fixed);
}

function childrenOf(node: Node): readonly Node[] {
  return Object.values(node).flatMap((value) => (Array.isArray(value) ? value : [value]).filter(isNode));
}

/** True where nothing happens as a value is computed. A function in it is a new object each time. */
function isPure(node: Node): boolean {
  if (EFFECT.test(node.type) || /Function/.test(node.type)) return false;
  if (node.type === "UnaryExpression" && node["operator"] === "delete") return false;
  return childrenOf(node).every(isPure);
}

class Finder {
  readonly found: Mutant[] = [];
  private readonly code: string;
  private readonly linked = new Set<Node>();
  private line = 1;
  private lineEnd = 0;

  constructor(code: string) {
    this.code = code;
  }

  /** Children are visited in the order in which they stand, so that lines only go up. */
  visit(node: Node): void {
    if (SKIPPED.test(node.type) || this.isAssertion(node)) return;
    if (node.type === "ChainExpression") this.link(node["expression"] as Node);
    if (!this.linked.has(node)) this.mutate(node);
    for (const [field, value] of Object.entries(node)) {
      if (this.isOutOfReach(node, field)) continue;
      for (const child of Array.isArray(value) ? (value as unknown[]) : [value])
        if (isNode(child)) this.visit(child);
    }
  }

  private isAssertion(node: Node): boolean {
    return node.type === "CallExpression" && ASSERTION.test(this.textOf(node));
  }

  /** What stands before another link of `a?.b().c` is nothing by itself: in parentheses the chain would end there. */
  private link(last: Node): void {
    const before = last["object"] ?? last["callee"] ?? last["expression"];
    if (!isNode(before) || before.type === "ChainExpression") return;
    this.linked.add(before);
    this.link(before);
  }

  private isOutOfReach(node: Node, field: string): boolean {
    if (field === "typeAnnotation" || field === "typeArguments" || field === "returnType") return true;
    if (field === "key" || field === "property") return node["computed"] !== true;
    if (node.type === "AssignmentExpression" && field === "left") return true;
    if (node.type === "UpdateExpression" || node.type === "TaggedTemplateExpression") return true;
    if (field === "id" || field === "label" || field === "source" || field === "quasis") return true;
    // What `delete` and calls on `super` are about is no value.
    return node.type === "UnaryExpression" && node["operator"] === "delete";
  }

  private textOf({ start, end }: Node): string {
    return this.code.slice(start, end);
  }

  private add(node: Node, after: string, kind: MutantKind = "safe", isStatement = false): void {
    if (node.start < this.lineEnd) this.line = this.code.slice(0, node.start).split("\n").length;
    else {
      this.line += this.code.slice(this.lineEnd, node.start).split("\n").length - 1;
    }
    this.lineEnd = node.start;
    const { start, end } = node;
    const before = this.textOf(node);
    this.found.push({
      index: this.found.length,
      line: this.line,
      kind,
      before,
      after,
      start,
      end,
      isStatement,
      isComparable: !isStatement && node.type !== "Literal" && isPure(node),
    });
  }

  private mutate(node: Node): void {
    switch (node.type) {
      case "BinaryExpression":
        this.mutateBinary(node);
        break;
      case "LogicalExpression":
        this.mutateLogical(node);
        break;
      case "Literal":
        this.mutateLiteral(node);
        break;
      case "TemplateLiteral":
        this.add(node, this.withoutHole(node), saysWords(node) ? "text" : "safe");
        break;
      case "ConditionalExpression": {
        const [test, yes, no] = ["test", "consequent", "alternate"].map((field) =>
          this.textOf(node[field] as Node),
        );
        this.add(node, `(${test}) ? (${no}) : (${yes})`, narrows(test ?? "") ? "guard" : "safe");
        break;
      }
      case "IfStatement": {
        const test = node["test"] as Node;
        const text = this.textOf(test);
        this.add(test, `!(${text})`, narrows(text) ? "guard" : "safe");
        break;
      }
      case "CallExpression":
        this.mutateCall(node);
        break;
      case "ExpressionStatement":
        this.mutateStatement(node);
        break;
      default:
    }
  }

  /**
   * The text without what stands in its last hole: as a key it falls together with others, which another text of its own
   * would not. A text without holes is another text.
   */
  private withoutHole(template: Node): string {
    const hole = (template["expressions"] as readonly Node[]).at(-1);
    const text = this.textOf(template);
    if (hole === undefined) return `("~" + ${text})`;
    const [from, to] = [hole.start, hole.end].map((at) => at - template.start);
    return `${text.slice(0, from).replace(/\$\{[\s(]*$/, "")}${text.slice(to).replace(/^[\s)]*\}/, "")}`;
  }

  private mutateBinary(node: Node): void {
    const operator = String(node["operator"]);
    const [left, right] = [node["left"] as Node, node["right"] as Node];
    const isGuard = isNothing(left) || isNothing(right) || narrows(this.textOf(right));
    const kind = isGuard ? "guard" : "safe";
    const others = COMPARISONS[operator] ?? (operator in ARITHMETIC ? [ARITHMETIC[operator] ?? ""] : []);
    for (const other of others) this.add(node, `${this.operand(left)} ${other} ${this.operand(right)}`, kind);
    if (operator === "+" && right.type === "Literal" && typeof right["value"] === "number")
      this.add(node, `${this.operand(left)} - ${this.operand(right)}`);
  }

  /** The parser keeps no parentheses, and another operator binds otherwise. */
  private operand(node: Node): string {
    const text = this.textOf(node);
    return /^(?:Binary|Logical|Conditional|Assignment|Await|ArrowFunction)Expression$/.test(node.type)
      ? `(${text})`
      : text;
  }

  private mutateLogical(node: Node): void {
    const [left, right] = [this.textOf(node["left"] as Node), this.textOf(node["right"] as Node)];
    const kind = narrows(`${left} ${right}`) ? "guard" : "safe";
    switch (node["operator"]) {
      case "&&":
        this.add(node, `(${left}) || (${right})`, kind);
        break;
      case "||":
        this.add(node, `(${left}) && (${right})`, kind);
        break;
      default:
        this.add(node, `(${right})`, "guard");
    }
  }

  private mutateLiteral(node: Node): void {
    const { value } = node as { readonly value?: unknown };
    if (typeof value === "boolean") this.add(node, String(!value));
    else if (typeof value === "number") this.add(node, String(value + 1));
    else if (typeof value === "string" && value !== "") this.add(node, JSON.stringify(`${value}~`), "text");
  }

  private mutateCall(node: Node): void {
    const callee = node["callee"] as Node;
    if (callee.type !== "MemberExpression" || callee["computed"] === true) return;
    const property = callee["property"] as Node;
    const name = this.textOf(property);
    const other = Object.hasOwn(METHODS, name) ? METHODS[name] : undefined;
    if (other === undefined) return;
    const text = this.textOf(node);
    const at = property.start - node.start;
    this.add(node, `${text.slice(0, at)}${other}${text.slice(at + property.end - property.start)}`);
  }

  private mutateStatement(node: Node): void {
    const expression = node["expression"] as Node;
    if (this.isAssertion(expression)) return;
    const isCall = expression.type === "CallExpression" || expression.type === "AwaitExpression";
    const isSuper = this.textOf(expression).startsWith("super(");
    const isAssignment = expression.type === "AssignmentExpression" && !this.isInConstructor(expression);
    if ((isCall && !isSuper) || isAssignment) this.add(node, "", "safe", true);
  }

  /** Fields have to be set there. */
  private isInConstructor(assignment: Node): boolean {
    const { left } = assignment as unknown as { readonly left: Node };
    const before = this.code.slice(0, assignment.start);
    const opened = before.lastIndexOf("constructor(");
    return this.textOf(left).startsWith("this.") && opened >= 0 && !/\n {2}\}\n/.test(before.slice(opened));
  }
}

/** All mutants of a file's text. */
export function findMutants(code: string): readonly Mutant[] {
  const finder = new Finder(code);
  finder.visit(parseAst(code, { lang: "ts" }) as unknown as Node);
  return finder.found;
}

/** The text with one mutant alone. */
export function applyMutant(code: string, { start, end, after }: Mutant): string {
  return `${code.slice(0, start)}${after}${code.slice(end)}`;
}

interface Edit {
  readonly at: number;
  readonly text: string;
  readonly rank: number;
}

function editsOf(mutant: Mutant, rank: number): readonly Edit[] {
  const { index, start, end, after, isStatement, isComparable } = mutant;
  const flat = after.replace(/^\s*\/\/.*$/gm, "").replaceAll("\n", " ");
  const [opening, closing] = isStatement
    ? [`{if(!__m(${index},true)){`, "}}"]
    : isComparable
      ? [`(__m(${index},false)?(${flat}):__o(${index},(`, `),()=>(${flat})))`]
      : [`(__m(${index},true)?(${flat}):(`, "))"];
  return [
    { at: start, text: opening, rank: -rank },
    { at: end, text: closing, rank },
  ];
}

/** The bodies of all loops: a mutant may make any of them endless. */
function loopBodies(code: string): readonly Node[] {
  const bodies: Node[] = [];
  const visit = (node: Node): void => {
    if (LOOP.test(node.type)) bodies.push(node["body"] as Node);
    for (const child of childrenOf(node)) visit(child);
  };
  visit(parseAst(code, { lang: "ts" }) as unknown as Node);
  return bodies;
}

/**
 * The text with mutants of it built in, on the same lines; `of` on `globalThis.__mutation` gives the `Choices` for `path`.
 * Each turn of a loop is counted, whether there is a mutant in it or not.
 */
export function buildIn(code: string, mutants: readonly Mutant[], path: string): string {
  // Inner ones first: what is around them wraps what has come of them. Of one place, the first stands innermost.
  const order = mutants.toSorted((a, b) => b.start - a.start || a.end - b.end || a.index - b.index);
  const turns = loopBodies(code).flatMap(({ start, end }): readonly Edit[] => [
    { at: start, text: "{__t();", rank: -order.length },
    { at: end, text: "}", rank: order.length },
  ]);
  const edits = [...order.flatMap(editsOf), ...turns];
  // What opens later at one place stands outside, what closes later, too. Ends come before beginnings.
  edits.sort((a, b) => a.at - b.at || a.rank - b.rank);
  const count = Math.max(0, ...mutants.map(({ index }) => index + 1));
  const choices = "choose:__m,compare:__o,turn:__t";
  let built = `const {${choices}}=globalThis.__mutation.of(${JSON.stringify(path)},${count});`;
  let at = 0;
  for (const edit of edits) {
    built += code.slice(at, edit.at) + edit.text;
    at = edit.at;
  }
  return built + code.slice(at);
}
