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
  isAlias,
  isMap,
  isPair,
  isSeq,
} from "yaml";
import { LIMITS } from "#core/base/limits.ts";
import {
  composed,
  faultOf,
  findDeepToken,
  findExcessToken,
  tokensOf,
} from "#contracts/kubernetes/text/yaml-syntax.ts";
import type { TextFault } from "#contracts/kubernetes/text/yaml-value.ts";
import { clusterFile, contracts } from "#data/words.js";

const WORDS = clusterFile();
const DOCUMENT_WORDS = contracts();

/** Characters of YAML's structure in one file: what the parser turns into tokens. */
const STRUCTURE_MAX = 2_000_000;

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
    const message = DOCUMENT_WORDS.fileNotUtf8;
    return { code: "cluster-file-unreadable", offset: binary, message, advice: "Save it as UTF-8 text." };
  }
  const excess = findExcessToken(text, STRUCTURE_MAX);
  if (excess !== undefined) {
    const message = `the file has more than ${STRUCTURE_MAX} lines and values`;
    return tooLarge(excess, message, "Leave out what the question does not need.");
  }
  return undefined;
}

function faultsOf(document: Document.Parsed): TextFault[] {
  const found = [...document.errors, ...document.warnings];
  return found.map((error) => ({ code: "cluster-file-invalid-yaml", ...faultOf(error) }));
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
  const documents = composed<Document>(() =>
    composer.compose(tokens, true, text.length),
  ) as Document.Parsed[];
  const [first, second] = documents;
  const faults = documents.flatMap(faultsOf);
  if (faults.length > 0 || first === undefined) return faults;
  if (second === undefined) return first;
  return [
    {
      code: "cluster-file-invalid-yaml",
      offset: second.range[0],
      message: "the file holds more than one document",
      advice: WORDS.adviceOneClusterPerFile,
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
  const tokens = tokensOf(text, { onNewLine: lines.addNewLine });
  const deep = findDeepToken(tokens);
  if (deep !== undefined) {
    const fault = tooLarge(deep.offset, deep.message, "A cluster file needs fewer than ten levels.");
    return { faults: [fault], lines };
  }
  const document = onlyDocument(text, tokens);
  if ("length" in document) return { faults: document, lines };
  const search: AliasSearch = { anchors: new Map(), aliases: new Map(), faults: [] };
  resolveAliases(document.contents, search);
  if (search.faults.length > 0) return { faults: search.faults, lines };
  return { yaml: { root: document.contents, lines, aliases: search.aliases } };
}
