/** From a file's text to documents of known kinds. What no rule reads is passed by, with the reason. */
import { fileNameOf } from "#core/base/text-edges.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { KINDS, isKubeKind } from "#contracts/kubernetes/kinds.ts";
import { rendererOf } from "#control-plane/load/further-kinds.ts";
import { findTemplate, isOfHelm } from "#control-plane/load/helm.ts";
import { withoutContainerLogs } from "#contracts/kubernetes/text/container-logs.ts";
import { BARE_LIST, bareItems, isBareList } from "#contracts/kubernetes/text/bare-list.ts";
import { splitJson } from "#contracts/kubernetes/text/json-pieces.ts";
import type { Piece } from "#contracts/kubernetes/text/piece.ts";
import { splitYaml } from "#contracts/kubernetes/text/yaml-pieces.ts";
import { readJson, readYaml } from "#contracts/kubernetes/text/yaml-value.ts";
import type { DocumentKind, LintDocument, Locate, PassedBy } from "./document.ts";
import { readCommandLine, readEnvironmentFile } from "./command-text.ts";
import { embeddedDocuments } from "./embedded.ts";
import { readNodeSettings } from "./node-settings.ts";
import { type Fragment, beginsWithAnnotation, fragmentOf, locateFragment } from "./fragments.ts";
import { describedObjects, isDescribed, listedObjects } from "./shown-objects.ts";
import { type Fields, isFields } from "#core/base/json.ts";
import { type LintPath, textAt } from "./fields.ts";
import { readJsonText } from "./json-text.ts";
import { kindOfJson, titleOf } from "./kinds-of-json.ts";
import { locateInJson, locateInYaml } from "./locate.ts";
import { SourceText, withoutPrompts } from "#core/base/source-text.ts";
import { contracts, logAndErrors } from "#data/words.js";

const WORDS = logAndErrors();
const DOCUMENT_WORDS = contracts();

/** A fault of a text that keeps a document from being read. */
export interface TextFinding {
  readonly source: SourceText;
  readonly code: KnowledgeCode;
  readonly offset: number;
  readonly message: string;
  readonly fix: string;
}

/** What one file holds. */
export interface Recognition {
  readonly documents: LintDocument[];
  readonly passedBy: PassedBy[];
  readonly faults: TextFinding[];
}

/** What stands for something that a program or a person will put there. */
const PLACEHOLDER = /<[A-Za-z][\w -]*>|\$\{|[A-Z]_[_0-9]*[A-Z]/;

/** Broken YAML that is no fault of its writer, as far as can be told; undefined where it is one. */
function reasonToPassBy(
  text: string,
  faults: readonly { offset: number; message: string }[],
): string | undefined {
  const isTemplate = faults.some(({ offset }) => {
    const start = text.lastIndexOf("\n", offset - 1) + 1;
    const end = text.indexOf("\n", offset);
    return PLACEHOLDER.test(text.slice(start, end < 0 ? text.length : end));
  });
  return isTemplate ? "a template whose placeholders are not filled in" : undefined;
}

/** Files that are no YAML, whatever stands at the beginning of their lines. */
const SCRIPTS = /\.(?:ps1|psm1|cmd|bat|sh|txt|env|md)$/i;

function passBy(into: Recognition, source: SourceText, offset: number, reason: string): void {
  into.passedBy.push({ file: source.file, line: source.positionOf(offset).line, reason });
}

/** The type of an object as rules name it: `Service`, or `Rollout.argoproj.io` for what Kubernetes does not bring. */
export function objectTypeOf(value: Fields): string {
  const kind = textAt(value, "kind") ?? "";
  const apiVersion = textAt(value, "apiVersion") ?? "";
  const group = apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
  if (isKubeKind(kind)) {
    const { apiVersion: present, oldVersions } = KINDS[kind];
    const groups = [present, ...Object.keys(oldVersions)].map((version) =>
      version.includes("/") ? version.split("/")[0] : "",
    );
    return groups.includes(group) ? kind : `${kind}.${group}`;
  }
  return group === "" ? kind : `${kind}.${group}`;
}

const BUILT_IN_GROUP = /^(?:kubeproxy\.config\.k8s\.io)\//;

function kindOfObject(value: Fields): DocumentKind {
  const apiVersion = textAt(value, "apiVersion") ?? "";
  if (apiVersion.startsWith("mullion/")) return "cluster";
  return BUILT_IN_GROUP.test(apiVersion) ? "kube-proxy" : "kubernetes";
}

function isObject(value: Fields): boolean {
  return textAt(value, "apiVersion") !== undefined && textAt(value, "kind") !== undefined;
}

/** The field that keeps a mapping from being an object of Kubernetes; undefined for one that is not meant to be one. */
function fieldOfType(value: Fields): "apiVersion" | "kind" | undefined {
  if (textAt(value, "metadata", "name") === undefined) return undefined;
  if (textAt(value, "kind") !== undefined) return "apiVersion";
  return textAt(value, "apiVersion") === undefined ? undefined : "kind";
}

/** Why a mapping that nothing here reads is passed by, by the file that it is in. */
function reasonOfOther({ file }: SourceText): string {
  const renderer = rendererOf(file);
  if (renderer === undefined) return "not a document that lint reads";
  return `${renderer.what}: ${renderer.command} | mullion lint -`;
}

function titleOfObject(value: Fields): string {
  const namespace = textAt(value, "metadata", "namespace");
  const name = textAt(value, "metadata", "name") ?? textAt(value, "metadata", "generateName") ?? "";
  const path = namespace === undefined ? name : `${namespace}/${name}`;
  return `${textAt(value, "kind") ?? ""} ${path}`.trim();
}

/** The objects of one value: lists are taken apart. */
function* objectsIn(
  value: unknown,
  root: LintPath,
  header: ListHeader | undefined,
): Generator<[Fields, LintPath]> {
  const bare = header === undefined ? bareItems(value) : undefined;
  if (bare !== undefined) {
    const inner = Array.isArray(value) ? root : [...root, "items"];
    for (const [index, item] of bare.entries()) yield* objectsIn(item, [...inner, index], BARE_LIST);
    return;
  }
  if (!isFields(value)) return;
  const { kind, items } = value;
  if (typeof kind === "string" && kind.endsWith("List") && Array.isArray(items)) {
    const inner = headerOf(value);
    for (const [index, item] of (items as unknown[]).entries())
      yield* objectsIn(item, [...root, "items", index], inner);
    return;
  }
  const itemKind = header?.kind.slice(0, -4) ?? "";
  const isBare =
    header !== undefined && itemKind !== "" && kind === undefined && value["apiVersion"] === undefined;
  yield [isBare ? { ...value, apiVersion: header.apiVersion, kind: itemKind } : value, root];
}

interface ListHeader {
  readonly apiVersion: unknown;
  readonly kind: string;
}

function headerOf(value: unknown): ListHeader | undefined {
  const kind = textAt(value, "kind");
  if (!isFields(value) || kind?.endsWith("List") !== true) return undefined;
  return { apiVersion: value["apiVersion"], kind };
}

class FileReader {
  readonly found: Recognition = { documents: [], passedBy: [], faults: [] };
  private readonly source: SourceText;
  private hasToldBareList = false;

  constructor(source: SourceText) {
    this.source = source;
  }

  private add(document: Omit<LintDocument, "source" | "host">): void {
    const whole: LintDocument = { ...document, source: this.source, host: undefined };
    this.found.documents.push(whole, ...embeddedDocuments(whole));
  }

  passBy(offset: number, reason: string): void {
    passBy(this.found, this.source, offset, reason);
  }

  private baseOf(piece: Piece): number {
    return this.source.offsetAt({ line: piece.line, column: piece.column + 1 });
  }

  private locateIn(piece: Piece, root: LintPath): Locate {
    const base = this.baseOf(piece);
    return piece.format === "yaml"
      ? locateInYaml(piece.text, base, root)
      : locateInJson(() => readJsonText(piece.text).range, base, root);
  }

  private addObject(piece: Piece, value: Fields, root: LintPath): void {
    const [kind, title] = [kindOfObject(value), titleOfObject(value)];
    this.add({ kind, text: piece.text, value, locate: this.locateIn(piece, root), traps: [], title });
  }

  private addFaults(
    piece: Piece,
    faults: readonly { code: KnowledgeCode; offset: number; message: string; advice: string }[],
  ): void {
    const base = this.baseOf(piece);
    const template = findTemplate(piece.text);
    if (template !== undefined || /\{\{|<%|\{%/.test(piece.text)) {
      const how = isOfHelm(piece.text) ? " (helm template RELEASE CHART)" : "";
      this.passBy(base + (template ?? 0), `a template that is not rendered${how}`);
      return;
    }
    if (!/^(?:- )?[ ]*["']?apiVersion["']?\s*:/m.test(piece.text)) {
      this.passBy(base, `not a Kubernetes object, and not valid: ${faults[0]?.message ?? ""}`);
      return;
    }
    const reason = reasonToPassBy(piece.text, faults);
    if (reason !== undefined) {
      this.passBy(base, reason);
      return;
    }
    // What a reader says behind the first fault follows from it mostly.
    for (const { code, offset, message, advice } of faults.slice(0, 1)) {
      const { source } = this;
      this.found.faults.push({ source, code, offset: base + offset, message, fix: advice });
    }
  }

  /** Kubernetes objects and their like, in YAML or JSON. */
  addManifests(pieces: Iterable<Piece>): void {
    let header: ListHeader | undefined;
    for (const piece of pieces) {
      const read = piece.format === "json" ? readJson(piece.text) : readYaml(piece.text);
      if (piece.item === undefined) header = undefined;
      if ("faults" in read) {
        this.addFaults(piece, read.faults);
        continue;
      }
      if (piece.isFrame === true) {
        const [frame] = read.values;
        if (isBareList(frame)) this.tellBareList(piece);
        header = isBareList(frame) ? BARE_LIST : headerOf(frame);
        if (header === undefined) this.addValue(piece, read.values[0], [], undefined);
        continue;
      }
      for (const value of read.values) {
        const isYamlItem = piece.item !== undefined && piece.format === "yaml" && Array.isArray(value);
        const item = isYamlItem ? (value as unknown[])[0] : value;
        if (piece.item === undefined || header !== undefined)
          this.addValue(piece, item, isYamlItem ? [0] : [], header);
      }
    }
  }

  /** The first one of a file stands for all. */
  private tellBareList(piece: Piece): void {
    if (this.hasToldBareList) return;
    this.hasToldBareList = true;
    this.found.faults.push({
      source: this.source,
      code: "manifest-list-without-kind",
      offset: this.baseOf(piece),
      message: DOCUMENT_WORDS.listWithoutKind,
      fix: DOCUMENT_WORDS.adviceListWithoutKind,
    });
  }

  private addValue(piece: Piece, value: unknown, root: LintPath, header: ListHeader | undefined): void {
    if (value === null || value === undefined) return;
    if (header === undefined && bareItems(value) !== undefined) this.tellBareList(piece);
    let count = 0;
    for (const [object, path] of objectsIn(value, root, header)) {
      count++;
      if (isObject(object)) this.addObject(piece, object, path);
      else this.addUnnamed(piece, object, path);
    }
    if (count === 0 && !isFields(value))
      this.passBy(this.baseOf(piece), "neither an object nor a list of objects");
  }

  /** A mapping without apiVersion and kind: other YAML, or JSON of another kind that stands among objects. */
  private addUnnamed(piece: Piece, value: Fields, root: LintPath): void {
    const kind = kindOfJson(value, this.source.file);
    const base = this.baseOf(piece);
    // Under a name of its own a list of policies may look like an object of HNS.
    const fragment = kind === undefined || piece.format === "yaml" ? fragmentOf(value) : undefined;
    if (fragment !== undefined) {
      this.addFragment(fragment, piece.text, this.locateIn(piece, root));
      return;
    }
    if (kind === undefined || piece.format !== "json") {
      const field = fieldOfType(value);
      if (field === undefined || findTemplate(piece.text) !== undefined)
        this.passBy(base, reasonOfOther(this.source));
      else
        this.found.faults.push({
          source: this.source,
          code: "manifest-missing-field",
          offset: base,
          message: `${field}: ${value[field] === undefined ? "required value" : "must be text"}`,
          fix: `Write ${field}; every manifest begins with apiVersion and kind.`,
        });
      return;
    }
    const [locate, title] = [this.locateIn(piece, root), titleOf(kind, value)];
    this.add({ kind, text: piece.text, value, locate, traps: [], title });
  }

  private addFragment(fragment: Fragment, text: string, locate: Locate): void {
    const { kind, value, title } = fragment;
    this.add({ kind, text, value, locate: locateFragment(fragment, locate), traps: [], title });
  }

  /** One value of JSON that is no Kubernetes object: what a node's programs read. True when it was one. */
  addConfiguration(): boolean {
    const { source } = this;
    const read = readJsonText(source.text);
    if (isFields(read.value) && isObject(read.value)) return false;
    const fragment = fragmentOf(read.value);
    if (fragment !== undefined) {
      this.addFragment(
        fragment,
        source.text,
        locateInJson(() => read.range, 0, []),
      );
      return true;
    }
    const list: readonly unknown[] = Array.isArray(read.value) ? read.value : [read.value];
    const isList = Array.isArray(read.value);
    let count = 0;
    for (const [index, value] of list.entries()) {
      const kind = isFields(value) ? kindOfJson(value, source.file) : undefined;
      if (kind === undefined || !isFields(value)) continue;
      count++;
      const locate = locateInJson(() => read.range, 0, isList ? [index] : []);
      this.add({ kind, text: source.text, value, locate, traps: read.traps, title: titleOf(kind, value) });
    }
    if (count > 0) return true;
    return this.addBrokenConfiguration(read.traps);
  }

  /** JSON that could not be read to its end: by its name and its words it may still be known. */
  private addBrokenConfiguration(traps: LintDocument["traps"]): boolean {
    const { source } = this;
    const kind = /\.(?:conf|conflist)(?:\.template)?$/i.test(source.file)
      ? "cni"
      : /net-conf/i.test(fileNameOf(source.file)) && /\.json$/i.test(source.file)
        ? "flannel"
        : undefined;
    const isBroken = traps.some((trap) => trap.kind === "syntax");
    if (kind === undefined || !isBroken) return false;
    const template = /\{\{|<%|\{%/.exec(source.text);
    if (template !== null) {
      this.passBy(template.index, "a template that is not rendered");
      return true;
    }
    const locate = locateInJson(() => readJsonText(source.text).range, 0, []);
    this.add({
      kind,
      text: source.text,
      value: {},
      locate,
      traps,
      title: `unreadable ${kind} configuration`,
    });
    return true;
  }
}

/** True for a text that begins as JSON does, past comments and odd blanks. */
function beginsAsJson(head: string): boolean {
  for (let at = 0; at < head.length; ) {
    const [comment, end] = head.startsWith("//", at) ? ["//", "\n"] : ["/*", "*/"];
    if (head.startsWith(comment, at)) {
      const close = head.indexOf(end, at + comment.length);
      if (close < 0) return false;
      at = close + end.length;
    } else if (/[\s\u00a0\ufeff]/.test(head.charAt(at))) at++;
    else return head[at] === "[" || (head[at] === "{" && head[at + 1] !== "{");
  }
  return false;
}

/** What a command showed on a screen, or nothing that is known. */
function addShown(into: Recognition, source: SourceText): void {
  if (!isDescribed(source.text)) {
    const found = listedObjects(source);
    into.documents.push(...found);
    if (found.length === 0) passBy(into, source, 0, "not a file that lint reads");
    return;
  }
  for (const object of describedObjects(source)) {
    if ("value" in object) into.documents.push(object);
    else {
      const reason = object.isOfNode ? WORDS.describedPodOfNode : WORDS.kubectlDescribeSkipped;
      passBy(into, source, source.offsetAt({ line: object.line, column: 1 }), reason);
    }
  }
}

/** A bracket whose content a program writes: an expression of a template that is a value of JSON is one of its values. */
const BEGINS_WITH_EXPRESSION = /^\s*[[{]\s*\{\{/;

/** Reads one file. Never throws. */
export function recognize(given: SourceText): Recognition {
  const shown = withoutContainerLogs(withoutPrompts(given.text));
  const isTyped = shown !== given.text;
  const source = isTyped ? new SourceText(given.file, shown, given.encoding, given.hasByteOrderMark) : given;
  const reader = new FileReader(source);
  const { text } = source;
  if (text.length > LIMITS.manifestFileCharactersMax) {
    reader.passBy(0, "the file is too large");
    return reader.found;
  }
  const head = text.slice(0, 4_096);
  if (text.trim() === "") {
    reader.passBy(0, "the file is empty");
    return reader.found;
  }
  const environment = readEnvironmentFile(source);
  if (environment !== undefined) {
    reader.found.documents.push(environment);
    return reader.found;
  }
  // What a command printed may be kept under any name.
  const isPrinted =
    /\.txt$/i.test(source.file) && /^\s*(?:\{|\[\s*\{|apiVersion:|["']?[\w.-]+\/[\w.-]+["']?:)/.test(head);
  const isScript = SCRIPTS.test(source.file) && !isPrinted;
  if (!isScript && beginsAsJson(head) && !BEGINS_WITH_EXPRESSION.test(head)) {
    const isManifest = /^[\s{[]*"(?:apiVersion|kind)"/.test(head) || /"items"\s*:\s*\[/.test(head);
    if (!isManifest && reader.addConfiguration()) return reader.found;
    reader.addManifests(splitJson(text));
    return reader.found;
  }
  const isYaml =
    /\.ya?ml$/i.test(source.file) ||
    beginsWithAnnotation(head) ||
    (!isScript && /^\s*["'](?:policies|spec|annotations)["']\s*:/i.test(head)) ||
    (!isScript && /^(?:apiVersion|kind|items|metadata)\s*:/m.test(text));
  const texts = isYaml ? [] : [readCommandLine(source), readNodeSettings(source)];
  const found = texts.filter((document) => document !== undefined);
  if (found.length > 0) reader.found.documents.push(...found);
  else if (isYaml) reader.addManifests(splitYaml(text));
  else addShown(reader.found, source);
  return reader.found;
}
