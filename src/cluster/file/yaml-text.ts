/**
 * YAML text to nodes that know their position, within bounds: bytes, tokens, depth, aliases. Nothing recursive
 * touches the text before its depth is known.
 */
import {
  type Alias,
  type CST,
  Composer,
  type Document,
  LineCounter,
  type ParsedNode,
  Parser,
  isAlias,
  isMap,
  isPair,
  isSeq,
} from "yaml";
import { LIMITS } from "../../base/limits.ts";
import type { KnowledgeCode } from "../../knowledge/codes.ts";

/** Characters of YAML's structure in one file: what the parser turns into tokens. */
const STRUCTURE_MAX = 2_000_000;
/** Values that all aliases together may stand for. */
export const ALIASED_VALUES_MAX = 100_000;

/** A fault of the text itself, at an offset. */
export interface TextFault {
  readonly code: KnowledgeCode;
  readonly offset: number;
  readonly message: string;
  readonly advice: string;
}

/** A document whose YAML is in order. */
export interface YamlText {
  readonly root: ParsedNode | null;
  readonly lines: LineCounter;
  /** What each alias stands for. */
  readonly aliases: ReadonlyMap<Alias.Parsed, ParsedNode>;
}

export type YamlReading =
  | { readonly yaml: YamlText }
  | { readonly faults: readonly TextFault[]; readonly lines: LineCounter };

/** Bytes of `text` in UTF-8. */
function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1;
  }
  return bytes;
}

function tooLarge(offset: number, message: string, advice: string): TextFault {
  return { code: "cluster-file-too-large", offset, message, advice };
}

/** Bounds what the parser would have to keep in memory. */
function checkSize(text: string): TextFault | undefined {
  const megabytes = Math.floor(LIMITS.clusterFileBytesMax / 1_048_576);
  if (text.length > LIMITS.clusterFileBytesMax || utf8Length(text) > LIMITS.clusterFileBytesMax) {
    return tooLarge(
      0,
      `the file has more than ${megabytes} MiB`,
      "Take the part of the cluster that the question is about.",
    );
  }
  const binary = text.indexOf("\u0000");
  if (binary >= 0) {
    const message = "the file holds a zero byte, so it is not text in UTF-8";
    return { code: "cluster-file-unreadable", offset: binary, message, advice: "Save it as UTF-8 text." };
  }
  let structure = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    // Line feed, comma, colon, question mark, and both kinds of brackets; a hyphen before a blank.
    if (unit === 10 || unit === 44 || unit === 58 || unit === 63 || unit === 91 || unit === 93) structure++;
    else if (unit === 123 || unit === 125) structure++;
    else if (unit === 45 && text.charCodeAt(i + 1) === 32) structure++;
    if (structure > STRUCTURE_MAX) {
      return tooLarge(
        i,
        `the file has more than ${STRUCTURE_MAX} lines and values`,
        "Leave out what the question does not need.",
      );
    }
  }
  return undefined;
}

type Nested = { readonly token: CST.Token; readonly depth: number };

function childrenOf(token: CST.Token): (CST.Token | null | undefined)[] {
  if (token.type === "document") return [token.value];
  if (!("items" in token)) return [];
  return token.items.flatMap((item) => [item.key, item.value]);
}

/** Finds a token nested deeper than the limit, without recursion. */
function checkDepth(tokens: readonly CST.Token[]): TextFault | undefined {
  const open: Nested[] = tokens.map((token) => ({ token, depth: 0 }));
  for (let nested = open.pop(); nested !== undefined; nested = open.pop()) {
    if (nested.depth > LIMITS.documentDepthMax) {
      const message = `values are nested more than ${LIMITS.documentDepthMax} levels deep`;
      return tooLarge(nested.token.offset, message, "A cluster file needs fewer than ten levels.");
    }
    for (const child of childrenOf(nested.token)) {
      if (child !== null && child !== undefined) open.push({ token: child, depth: nested.depth + 1 });
    }
  }
  return undefined;
}

/** The library's sentences without the position that it may add, and without the full stop. */
function plainMessage(message: string): string {
  const [first = ""] = message.split("\n");
  const text = first.replace(/ at line \d+, column \d+:?$/, "").replace(/[.:]$/, "");
  return text.charAt(0).toLowerCase() + text.slice(1);
}

const ADVICE: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: "Indent with blanks.",
  BAD_INDENT: "Give all items of one list, and all fields of one mapping, the same indentation.",
  MISSING_CHAR: "Close what is open before this place, or quote the value.",
  UNEXPECTED_TOKEN: "Look at the end of the line before: a quote or a bracket may be open there.",
  BLOCK_AS_IMPLICIT_KEY:
    "Put the value on its own line, or quote it: a colon followed by a blank starts a new field.",
  MULTILINE_IMPLICIT_KEY: 'Write "field: value"; the colon may be missing.',
};
const ADVICE_DEFAULT = "Correct the YAML here, or in the line before.";

function faultsOf(document: Document.Parsed): TextFault[] {
  return [...document.errors, ...document.warnings].map((error) => ({
    code: "cluster-file-invalid-yaml",
    offset: error.pos[0],
    message: plainMessage(error.message),
    advice: ADVICE[error.code] ?? ADVICE_DEFAULT,
  }));
}

interface AliasSearch {
  readonly anchors: Map<string, ParsedNode>;
  readonly aliases: Map<Alias.Parsed, ParsedNode>;
  readonly faults: TextFault[];
}

/** Joins aliases with their anchors in the order of the text. The depth is known to be small. */
function resolveAliases(node: unknown, search: AliasSearch): void {
  if (isAlias(node)) {
    const alias = node as Alias.Parsed;
    const target = search.anchors.get(alias.source);
    if (target !== undefined) search.aliases.set(alias, target);
    else {
      search.faults.push({
        code: "cluster-file-invalid-yaml",
        offset: alias.range[0],
        message: `the alias *${alias.source} has no anchor before it`,
        advice: `Write &${alias.source} at the value that is meant, before this place.`,
      });
    }
    return;
  }
  if (isPair(node)) {
    resolveAliases(node.key, search);
    resolveAliases(node.value, search);
    return;
  }
  if (isMap(node) || isSeq(node)) for (const item of node.items) resolveAliases(item, search);
  const anchor = (node as ParsedNode | null)?.anchor;
  if (typeof anchor === "string") search.anchors.set(anchor, node as ParsedNode);
}

function onlyDocument(text: string, tokens: readonly CST.Token[]): Document.Parsed | readonly TextFault[] {
  const composer = new Composer({
    version: "1.2",
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "error",
  });
  const documents = [...composer.compose(tokens, true, text.length)] as Document.Parsed[];
  const [first, second] = documents;
  const faults = documents.flatMap(faultsOf);
  if (faults.length > 0 || first === undefined) return faults;
  if (second === undefined) return first;
  return [
    {
      code: "cluster-file-invalid-yaml",
      offset: second.range[0],
      message: "the file holds more than one document",
      advice: "Keep one cluster per file; a line of three dashes begins another document.",
    },
  ];
}

/** The lines before an offset, for a text that is not parsed. */
function linesUntil(text: string, offset: number): LineCounter {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) {
    lines.addNewLine(at + 1);
  }
  return lines;
}

/** Reads a text that should hold one YAML document. */
export function readYamlText(text: string): YamlReading {
  const lines = new LineCounter();
  const sizeFault = checkSize(text);
  if (sizeFault !== undefined) return { faults: [sizeFault], lines: linesUntil(text, sizeFault.offset) };
  const tokens = [...new Parser(lines.addNewLine).parse(text)];
  const depthFault = checkDepth(tokens);
  if (depthFault !== undefined) return { faults: [depthFault], lines };
  const document = onlyDocument(text, tokens);
  if ("length" in document) return { faults: document, lines };
  const search: AliasSearch = { anchors: new Map(), aliases: new Map(), faults: [] };
  resolveAliases(document.contents, search);
  if (search.faults.length > 0) return { faults: search.faults, lines };
  return { yaml: { root: document.contents, lines, aliases: search.aliases } };
}
