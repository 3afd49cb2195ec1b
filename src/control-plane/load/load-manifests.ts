/**
 * Texts of Kubernetes manifests to objects. Pure: reads no files, and never throws for what they hold. A document that
 * is broken is a problem with file, line and field; the others are read as if it were not there.
 */
import { andMore, listed } from "#core/base/text-layout.ts";
import { removedVersion } from "#contracts/kubernetes/removed-versions.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { FileProblem } from "#core/catalogue/file-problem.ts";
import { kindMismatch } from "#contracts/kubernetes/kind-match.ts";
import { KINDS, isKubeKind, isVersionOf } from "#contracts/kubernetes/kinds.ts";
import type { KubeKind, KubeObject, Service } from "#contracts/kubernetes/objects.ts";
import { cloudOfAnnotations, isClusterDefinition, isOfOpenShift } from "./cluster-definitions.ts";
import { convertOld } from "./convert-old.ts";
import { FieldFaults, type FieldFault, showValue } from "./checks/field-check.ts";
import { type Fields, equalJson, isFields, mappingOf, textOf } from "#core/base/json.ts";
import { type FieldPath, below, formatPath } from "#contracts/kubernetes/text/field-path.ts";
import { checkObject } from "./checks/kind-checks.ts";
import { LoadReport } from "./load-report.ts";
import {
  type FurtherEffect,
  effectOfFurther,
  isConfiguration,
  onlyListsFiles,
  specsOfFurther,
  withKustomizeKind,
} from "./further-kinds.ts";
import {
  type FilePlace,
  type LoadedConfiguration,
  type LoadedObject,
  type ManifestFile,
  type Manifests,
  type Origin,
  type PassedPolicy,
  isLong,
} from "./manifests.ts";
import { normalize } from "./checked-object.ts";
import { type PlacedLimit, limitRefusals, podSecurityRefusals, sidecarRequests } from "./admission.ts";
import { missingReferences, referenceTo } from "./pod-references.ts";
import type { Piece } from "#contracts/kubernetes/text/piece.ts";
import { findTemplate, holdsTemplate } from "./helm.ts";
import { withoutContainerLogs } from "#contracts/kubernetes/text/container-logs.ts";
import { type TextFault, offsetsOf, readJson, readYamlPiece } from "#contracts/kubernetes/text/yaml-value.ts";
import { BARE_LIST, bareItems, isBareList } from "#contracts/kubernetes/text/bare-list.ts";
import { splitJson } from "#contracts/kubernetes/text/json-pieces.ts";
import { splitLongText } from "#contracts/kubernetes/text/long-text.ts";
import {
  type FieldFindings,
  ObjectFields,
  type UnknownField,
  adviceUnknownField,
  fillNulls,
  isOfServer,
} from "#contracts/kubernetes/object-fields.ts";
import { piecesOfPlainList } from "#contracts/kubernetes/text/plain-list.ts";
import { PlainYamlReader } from "#contracts/kubernetes/text/plain-yaml.ts";
import { splitYaml } from "#contracts/kubernetes/text/yaml-pieces.ts";
import { contracts, controlPlane } from "#data/words.js";

const WORDS = controlPlane();
const DOCUMENT_WORDS = contracts();

/** A value that should be an object, with what is needed to find its fields again. */
interface Candidate {
  readonly file: string;
  readonly piece: Piece;
  readonly value: Fields;
  /** Where the value stands in the piece. */
  readonly root: FieldPath | undefined;
}

/** What a list of one kind says for all its items. */
interface ListHeader {
  readonly apiVersion: unknown;
  readonly kind: string;
}

function placeOf(piece: Piece, offset: number): FilePlace {
  let line = piece.line;
  let start = -piece.column;
  for (let at = piece.text.indexOf("\n"); at >= 0 && at < offset; at = piece.text.indexOf("\n", at + 1)) {
    line++;
    start = at + 1;
  }
  const { gap } = piece;
  if (gap !== undefined && offset >= gap.offset) line += gap.lines;
  return { line, column: offset - start + 1 };
}

/** The path in the piece of a field of the object. */
function pathInPiece(root: FieldPath | undefined, path: FieldPath | undefined): FieldPath | undefined {
  const steps: (string | number)[] = [];
  for (let at = path; at !== undefined; at = at.parent) steps.unshift(at.step);
  return steps.length === 0 ? root : below(root, ...steps);
}

/** The places of some fields of an object. */
function placesOfFields(
  candidate: Candidate,
  paths: readonly (FieldPath | undefined)[],
  reader?: PlainYamlReader,
): FilePlace[] {
  const { piece, root } = candidate;
  const { text } = piece;
  const wanted = paths.map((path) => pathInPiece(root, path));
  return offsetsOf(text, wanted, reader).map((offset) => placeOf({ ...piece, text }, offset));
}

function placeOfField(candidate: Candidate, path: FieldPath | undefined): FilePlace {
  const [place] = placesOfFields(candidate, [path]);
  return place ?? placeOf(candidate.piece, 0);
}

/** The place of a whole object: where its piece begins, without parsing it again. */
function placeOfObject(candidate: Candidate): FilePlace {
  const { piece, root } = candidate;
  const isAlone = root === undefined || (root.parent === undefined && piece.item !== undefined);
  if (!isAlone) return placeOfField(candidate, undefined);
  if (piece.lead !== undefined) return { line: piece.line, column: piece.column + piece.lead + 1 };
  const lead = /^(?:\s+|#[^\n]*\n|---(?=\s)|-(?=\s))*/.exec(piece.text.slice(0, 4_096));
  return placeOf(piece, lead?.[0].length ?? 0);
}

/** A list's own kind without the word List; undefined for what is no list. */
function itemKindOf(kind: string): string | undefined {
  return kind.endsWith("List") ? kind.slice(0, -4) : undefined;
}

/** How many kinds of which nothing is known are named. */
const UNKNOWN_KINDS_SHOWN = 5;

type Told = Pick<FileProblem, "message" | "advice">;

/** An object that is passed by. */
interface PassedBy {
  readonly kind: string;
  readonly version: string;
  readonly place: () => FilePlace & { readonly file: string };
}

class Loader {
  private readonly report = new LoadReport();
  private readonly objects: LoadedObject[] = [];
  /** Keys by `Secret shop/creds`: of kinds of which nothing else is kept. */
  private readonly named = new Map<string, readonly string[]>();
  private readonly limits: PlacedLimit[] = [];
  private readonly policies: PassedPolicy[] = [];
  /** Of those that an API server has shown. */
  private readonly shownSources: PassedBy[] = [];
  /** `Widget (example.com/v1)`, each with its first place. */
  private readonly unknownKinds = new Map<string, FilePlace & { readonly file: string }>();
  private readonly configurations: LoadedConfiguration[] = [];
  private readonly places = new Map<string, Origin>();
  /** Where they stand among the objects. */
  private readonly positions = new Map<string, number>();
  private readonly reader = new PlainYamlReader();
  private isFull = false;
  /** Made for the first object that no API server has shown. */
  private objectFields: ObjectFields | undefined;
  private readonly namespace: string;
  private readonly reads: (objects: number) => void;

  constructor(namespace: string, reads: (objects: number) => void) {
    this.namespace = namespace;
    this.reads = reads;
  }

  /** Reads one file. */
  addFile(file: ManifestFile): void {
    const { name, text } = file;
    if (isLong(file)) {
      this.addPieces(name, splitLongText(file.chunks));
      return;
    }
    if (text.length > LIMITS.manifestFileCharactersMax) {
      const mebi = LIMITS.manifestFileCharactersMax / 1_048_576;
      this.fault(
        name,
        { line: 1, column: 1 },
        {
          code: "manifest-too-large",
          message: `the file has more than ${mebi} Mi characters`,
          advice: "Take the part of the cluster that the question is about.",
        },
      );
      return;
    }
    const content = withoutContainerLogs(text.startsWith("\uFEFF") ? text.slice(1) : text);
    const zero = content.indexOf("\u0000");
    if (zero >= 0) {
      const piece: Piece = { format: "yaml", text: content, line: 1, column: 0 };
      this.fault(name, placeOf(piece, zero), {
        code: "manifest-invalid-yaml",
        message: DOCUMENT_WORDS.fileNotUtf8,
        advice: "Save it as UTF-8 text.",
      });
      return;
    }
    const isJson = /^\s*[[{]/.test(content.slice(0, 4_096)) && !holdsTemplate(content.slice(0, 4_096));
    this.addPieces(name, isJson ? splitJson(content) : (plainList(content) ?? splitYaml(content)));
  }

  private addPieces(file: string, pieces: Iterable<Piece>): void {
    let header: ListHeader | undefined;
    for (const piece of pieces) {
      const result =
        piece.format === "json" ? readJson(piece.text, this.reader) : readYamlPiece(piece, this.reader);
      if (piece.item === undefined) header = undefined;
      if ("faults" in result) {
        this.addTextFaults(file, piece, result.faults);
        continue;
      }
      for (const value of result.values) {
        if (piece.isFrame === true) header = this.headerOf(file, piece, value);
        else if (piece.item === undefined) this.addValue({ file, piece, value, root: undefined }, undefined);
        else this.addItem(file, piece, value, header);
      }
    }
  }

  /** What stands around the items of a list. A frame that is no list keeps its items out. */
  private headerOf(file: string, piece: Piece, value: unknown): ListHeader | undefined {
    if (isFields(value) && typeof value["kind"] === "string" && itemKindOf(value["kind"]) !== undefined) {
      return { apiVersion: value["apiVersion"], kind: value["kind"] };
    }
    if (isBareList(value)) {
      this.noteBareList(file, piece);
      return BARE_LIST;
    }
    this.addValue({ file, piece, value, root: undefined }, undefined);
    return undefined;
  }

  private noteBareList(file: string, piece: Piece): void {
    this.report.count(`bare list ${file}`, () => ({
      code: "manifest-list-without-kind",
      file,
      ...placeOf(piece, 0),
      path: "",
      message: DOCUMENT_WORDS.listWithoutKind,
      advice: DOCUMENT_WORDS.adviceListWithoutKind,
    }));
  }

  private addItem(file: string, piece: Piece, value: unknown, header: ListHeader | undefined): void {
    // Items of something that is no list: the object around them has been told of already.
    if (header === undefined) return;
    const isYaml = piece.format === "yaml";
    const item: unknown = isYaml && Array.isArray(value) ? value[0] : value;
    this.addValue({ file, piece, value: item, root: isYaml ? below(undefined, 0) : undefined }, header);
  }

  private addTextFaults(file: string, piece: Piece, faults: readonly TextFault[]): void {
    const template = findTemplate(piece.text);
    if (template !== undefined) {
      this.fault(file, () => placeOf(piece, template), HELM);
      return;
    }
    // What a reader says behind the first fault follows from it mostly.
    for (const fault of faults.slice(0, 1)) this.fault(file, () => placeOf(piece, fault.offset), fault);
  }

  private fault(
    file: string,
    placed: FilePlace | (() => FilePlace),
    fault: { readonly code: KnowledgeCode; readonly message: string; readonly advice: string },
    path = "",
  ): void {
    if (this.report.room === 0) {
      this.report.skip(1);
      return;
    }
    const place = typeof placed === "function" ? placed() : placed;
    const { code, message, advice } = fault;
    this.report.problem({ code, file, line: place.line, column: place.column, path, message, advice });
  }

  /** One document or item; a list inside it is taken apart. */
  private addValue(
    at: {
      readonly file: string;
      readonly piece: Piece;
      readonly value: unknown;
      readonly root: FieldPath | undefined;
    },
    header: ListHeader | undefined,
  ): void {
    const { value, piece, file, root } = at;
    if (value === null || value === undefined) return;
    const bare = header === undefined ? bareItems(value) : undefined;
    if (bare !== undefined) {
      this.noteBareList(file, piece);
      const inner = Array.isArray(value) ? root : below(root, "items");
      for (const [index, item] of bare.entries())
        this.addValue({ file, piece, value: item, root: below(inner, index) }, BARE_LIST);
      return;
    }
    if (!isFields(value)) {
      this.fault(file, () => placeOf(piece, offsetsOf(piece.text, [root])[0] ?? 0), {
        code: "manifest-invalid-value",
        message: `a manifest is a mapping of fields, but this is ${Array.isArray(value) ? "a list" : showValue(value)}`,
        advice: "Begin with apiVersion, kind and metadata.",
      });
      return;
    }
    const kind = value["kind"];
    const items = value["items"];
    const isList = typeof kind === "string" && itemKindOf(kind) !== undefined;
    // So Go writes a list without items.
    if (isList && items === null) return;
    if (isList && Array.isArray(items)) {
      const inner = { apiVersion: value["apiVersion"], kind };
      for (const [index, item] of (items as unknown[]).entries()) {
        this.addValue({ file, piece, value: item, root: below(root, "items", index) }, inner);
      }
      return;
    }
    this.addCandidate({ file, piece, value: withKustomizeKind(file, withKind(value, header)), root });
  }

  private addCandidate(candidate: Candidate): void {
    if (this.isFull) return;
    const kind = this.kindOf(candidate);
    if (kind === undefined) return;
    const found = this.findFields(candidate);
    const value = this.convert(kind, candidate);
    const faults = new FieldFaults();
    checkObject(kind, value, faults);
    faults.wrongTypes(found?.wrong ?? []);
    const unknown = (found?.unknown ?? []).map(unknownFault);
    if (faults.list.length + unknown.length > 0) this.addFieldFaults(candidate, [...faults.list, ...unknown]);
    if (faults.list.length > 0) return;
    this.keep(candidate, normalize(kind, value, this.namespace, { isOwn: true }));
  }

  /** The kind of an object that Mullion reads; others are noted or refused. */
  private kindOf(candidate: Candidate): KubeKind | undefined {
    const { apiVersion, kind } = candidate.value;
    for (const [field, value] of [
      ["apiVersion", apiVersion],
      ["kind", kind],
    ] as const) {
      if (typeof value === "string" && value !== "") continue;
      const faults = new FieldFaults();
      const path = below(undefined, field);
      if (value === undefined || value === null || value === "")
        faults.required(path, `Write ${field}; every manifest begins with apiVersion and kind.`);
      else faults.wrongType(path, value, "text");
      this.addFieldFaults(candidate, faults.list);
      return undefined;
    }
    const [version, name] = [String(apiVersion), String(kind)];
    const mismatch = kindMismatch(version, name);
    if (mismatch !== undefined) {
      const { field, message, advice } = mismatch;
      const place = (): FilePlace => placeOfField(candidate, below(undefined, field));
      this.fault(candidate.file, place, { code: "manifest-version-unknown", message, advice }, field);
      return undefined;
    }
    // In groups of others a kind of the same name is somebody else's.
    if (isKubeKind(name) && isVersionOf(name, version)) return name;
    const isRead = isConfiguration(version, name) || isClusterDefinition(version, name);
    const isSign = !isRead && this.isFirstSign(candidate, version);
    if (isRead || isSign) this.keepConfiguration(candidate, { apiVersion: version, kind: name, isSign });
    if (!isRead) this.passBy(candidate, version, name);
    return undefined;
  }

  /** What OpenShift or a cloud alone has: one document shows it as well as a thousand. */
  private isFirstSign({ value }: Candidate, version: string): boolean {
    const isOne = isOfOpenShift(version) || cloudOfAnnotations(value) !== undefined;
    return isOne && !this.configurations.some(({ isSign }) => isSign);
  }

  private keepConfiguration(
    candidate: Candidate,
    document: Pick<LoadedConfiguration, "apiVersion" | "kind" | "isSign">,
  ): void {
    if (this.configurations.length >= LIMITS.manifestProblemsMax) return;
    const { file, value } = candidate;
    const place = placeOfObject(candidate);
    this.configurations.push(Object.freeze({ file, ...place, ...document, fields: value }));
  }

  private passBy(candidate: Candidate, version: string, name: string): void {
    const known = effectOfFurther(version, name);
    const effect = known === "overlay" && onlyListsFiles(candidate.value) ? "nothing" : known;
    this.passNamed(candidate, version, name);
    if (version === "v1" && this.passLimit(candidate, name)) return;
    if (effect === "policy") this.passPolicy(candidate, name, this.namespace);
    if (effect === "cluster-policy") this.passPolicy(candidate, name, undefined);
    const removed = removedVersion(name, version);
    const isUnused = (effect ?? "nothing") === "nothing";
    if (removed !== undefined)
      this.noteOldVersion(candidate, name, version, {
        message: isUnused
          ? WORDS.apiVersionRemoved({ version, name, removed: removed.removed })
          : `${version} of ${name} was removed in Kubernetes ${removed.removed}`,
        advice:
          removed.present === undefined
            ? "Remove it: the kind is gone."
            : `Write apiVersion: ${removed.present}.`,
      });
    if (removed !== undefined && isUnused) return;
    const place = (): FilePlace & { readonly file: string } => {
      return { file: candidate.file, ...placeOfField(candidate, below(undefined, "kind")) };
    };
    const passed: PassedBy = { kind: name, version, place };
    if (effect === "source" && isOfServer(candidate.value)) this.shownSources.push(passed);
    else if (effect !== undefined) this.tellPassedBy(passed, effect);
    else if (!this.unknownKinds.has(`${name} (${version})`))
      this.unknownKinds.set(`${name} (${version})`, place());
  }

  private tellPassedBy({ kind, version, place }: PassedBy, effect: FurtherEffect): void {
    const [code, message, advice] = PASSED_BY[effect](kind, version);
    this.report.count(`kind ${version} ${kind}`, () => ({ code, ...place(), path: "kind", message, advice }));
  }

  /** What was made of an object that an API server has shown stands beside it, when pods were asked for. */
  private tellShownSources(): void {
    const isShown = this.objects.some(({ object }) => object.kind === "Pod");
    for (const passed of this.shownSources) this.tellPassedBy(passed, isShown ? "nothing" : "source");
  }

  private tellUnknownKinds(): void {
    const [first] = this.unknownKinds.values();
    if (first === undefined) return;
    const all = [...this.unknownKinds.keys()];
    const kinds = listed(all, UNKNOWN_KINDS_SHOWN);
    this.report.count("unknown kinds", () => ({
      code: "manifest-kind-unknown",
      ...first,
      path: "kind",
      message: WORDS.kindUnknown({ kinds }),
      advice: WORDS.adviceKindUnknown,
    }));
  }

  private passNamed({ value }: Candidate, version: string, kind: string): void {
    const { name, namespace } = mappingOf(value["metadata"]);
    const own = typeof namespace === "string" && namespace !== "" ? namespace : this.namespace;
    const keys = Object.keys({ ...mappingOf(value["data"]), ...mappingOf(value["stringData"]) });
    const reference = typeof name === "string" ? referenceTo({ kind, version }, own, name) : undefined;
    if (reference !== undefined) this.named.set(reference, keys);
  }

  /** True for a LimitRange or a ResourceQuota that somebody wrote: pods are compared with it. */
  private passLimit(candidate: Candidate, kind: string): boolean {
    if ((kind !== "LimitRange" && kind !== "ResourceQuota") || isOfServer(candidate.value)) return false;
    const { name, namespace } = mappingOf(candidate.value["metadata"]);
    if (typeof name !== "string" || this.limits.length >= LIMITS.manifestObjectsMax) return false;
    this.limits.push({
      kind,
      name,
      namespace: typeof namespace === "string" && namespace !== "" ? namespace : this.namespace,
      spec: mappingOf(candidate.value["spec"]),
      file: candidate.file,
      ...placeOfObject(candidate),
    });
    return true;
  }

  private noteOldVersion(candidate: Candidate, kind: string, version: string, says: Told): void {
    this.report.count(`old ${version} ${kind}`, () => ({
      code: "manifest-old-version",
      file: candidate.file,
      ...placeOfField(candidate, below(undefined, "apiVersion")),
      path: "apiVersion",
      ...says,
    }));
  }

  /** `fallback`: the namespace of one that names none; undefined for a kind that has no namespaces. */
  private passPolicy({ value, file, ...at }: Candidate, kind: string, fallback: string | undefined): void {
    if (this.policies.length >= LIMITS.manifestObjectsMax) return;
    const metadata = mappingOf(value["metadata"]);
    const [name, own] = [metadata["name"], metadata["namespace"]].map((field) => textOf(field));
    const namespace = fallback === undefined ? "" : own === "" ? fallback : (own ?? fallback);
    const place = placeOfObject({ value, file, ...at });
    const [apiVersion, specs] = [String(value["apiVersion"]), specsOfFurther(value)];
    this.policies.push(
      Object.freeze({ file, ...place, apiVersion, kind, namespace, name: name ?? "", specs }),
    );
  }

  private convert(kind: KubeKind, candidate: Candidate): Fields {
    const { apiVersion } = candidate.value;
    const version = String(apiVersion);
    const { apiVersion: present, oldVersions } = KINDS[kind];
    const removed = oldVersions[version];
    if (removed === undefined) return candidate.value;
    this.noteOldVersion(candidate, kind, version, {
      message: `${version} of ${kind} was removed in Kubernetes ${removed}; read as ${present}`,
      advice: `Write apiVersion: ${present}.`,
    });
    return convertOld(kind, candidate.value);
  }

  private addFieldFaults(candidate: Candidate, faults: readonly FieldFault[]): void {
    const template = findTemplate(candidate.piece.text);
    const isTemplate =
      template !== undefined && faults.some((fault) => fault.text === undefined || holdsTemplate(fault.text));
    if (isTemplate) {
      this.fault(candidate.file, placeOf(candidate.piece, template), HELM);
      return;
    }
    const reported = faults.slice(0, this.report.room);
    const places =
      reported.length === 0
        ? []
        : placesOfFields(
            candidate,
            reported.map(({ path }) => path),
          );
    for (const [index, fault] of reported.entries()) {
      this.fault(candidate.file, places[index] ?? NO_PLACE, fault, formatPath(fault.path));
    }
    this.report.skip(faults.length - reported.length);
  }

  /** Fields that are wrong, or none; null items of lists are filled. What an API server has shown, it knows. */
  private findFields({ value }: Candidate): FieldFindings | undefined {
    if (isOfServer(value)) return undefined;
    this.objectFields ??= new ObjectFields();
    const found = this.objectFields.find(value);
    fillNulls(found);
    return found;
  }

  private keep(candidate: Candidate, object: KubeObject): void {
    const { file } = candidate;
    const key = `${object.kind} ${object.metadata.namespace}/${object.metadata.name}`;
    const origin = Object.freeze({
      file,
      ...placeOfObject(candidate),
      fields: Object.freeze(this.laterPlaces(candidate, object)),
    });
    const other = object.metadata.name === "" ? undefined : this.places.get(key);
    if (other !== undefined) {
      if (this.isAsGood(key, object)) {
        const first = { file, ...placeOfField(candidate, below(undefined, "metadata", "name")) };
        this.noteRepeated(object, first, other);
        return;
      }
      this.fault(
        file,
        () => placeOfField(candidate, below(undefined, "metadata", "name")),
        {
          code: "manifest-duplicate-object",
          message: `${object.kind} ${showValue(object.metadata.name)} is in ${other.file}:${other.line} already`,
          advice: "Keep one of the two.",
        },
        "metadata.name",
      );
      return;
    }
    if (this.objects.length >= LIMITS.manifestObjectsMax) {
      this.isFull = true;
      this.fault(file, origin, {
        code: "manifest-too-large",
        message: WORDS.objectsTooMany({ manifestObjectsMax: LIMITS.manifestObjectsMax }),
        advice: "Take the part of the cluster that the question is about.",
      });
      return;
    }
    this.places.set(key, origin);
    this.positions.set(key, this.objects.length);
    this.objects.push(Object.freeze({ object, origin }));
    if (this.objects.length % OBJECTS_BETWEEN === 0) this.reads(this.objects.length);
  }

  /**
   * True for an object that is there already: kubectl changes nothing then. Namespaces come with every folder of a cluster, and
   * kubectl adds up what they say.
   */
  private isAsGood(key: string, object: KubeObject): boolean {
    const position = this.positions.get(key) ?? -1;
    const known = this.objects[position];
    if (known === undefined) return false;
    if (known.object.kind !== "Namespace" || object.kind !== "Namespace")
      return equalJson(known.object, object);
    const { metadata } = known.object;
    const labels = { ...metadata.labels, ...object.metadata.labels };
    const annotations = { ...metadata.annotations, ...object.metadata.annotations };
    const merged: KubeObject = { ...known.object, metadata: { ...metadata, labels, annotations } };
    this.objects[position] = Object.freeze({ ...known, object: merged });
    return true;
  }

  private noteRepeated(
    { kind, metadata }: KubeObject,
    place: FilePlace & { readonly file: string },
    other: Origin,
  ): void {
    const message = `${kind} ${showValue(metadata.name)} is in ${other.file}:${other.line} already, and is the same`;
    this.report.count(`repeated ${kind}`, () => ({
      code: "manifest-duplicate-object",
      ...place,
      path: "metadata.name",
      message,
      advice: "Nothing to do: kubectl changes nothing either.",
    }));
  }

  /** Only a Service may be refused after reading: for its address, or for its node ports. */
  private laterPlaces(candidate: Candidate, object: KubeObject): Readonly<Record<string, FilePlace>> {
    const paths = object.kind === "Service" ? refusablePaths(object) : [];
    if (paths.length === 0) return {};
    const places = placesOfFields(candidate, paths, this.reader);
    return Object.fromEntries(
      paths.map((path, index) => [formatPath(path), Object.freeze(places[index] ?? { line: 0, column: 0 })]),
    );
  }

  /** What pods need and no file has: taken to be there, and said. */
  private noteMissing(): void {
    for (const { reference, needed, count } of missingReferences(this.objects, this.named)) {
      const { place, whose } = firstOfSome(needed, count);
      this.report.count(`needed ${reference}`, () => ({
        code: "pod-needs-missing-object",
        ...place,
        path: "spec",
        message: WORDS.podObjectAssumed({ reference, whose }),
        advice: WORDS.advicePodObjectAssumed,
      }));
    }
  }

  /** A proxy beside the containers takes their connections, and nothing puts it there here. */
  private noteSidecars(): void {
    for (const { mesh, first, count } of sidecarRequests(this.objects)) {
      const { place, whose } = firstOfSome(first, count);
      this.report.count(`sidecar ${mesh.name}`, () => ({
        code: "mesh-sidecar-left-out",
        ...place,
        path: "",
        message: WORDS.sidecarLeftOut({ mesh: mesh.name, whose }),
        advice: WORDS.adviceSidecarLeftOut,
      }));
    }
  }

  /** Admission that is not carried out: pods are there that an API server refuses. */
  private notePodSecurity(): void {
    for (const { loaded, level, reasons } of podSecurityRefusals(this.objects)) {
      const { place, whose } = firstOfSome(loaded, 1);
      this.report.count(`security ${whose}`, () => ({
        code: "pod-security-violated",
        ...place,
        path: "",
        message: WORDS.podSecurityViolated({ whose, level, reasons: reasons.join(", ") }),
        advice: WORDS.advicePodSecurity,
      }));
    }
  }

  private noteLimits(): void {
    for (const { about, reasons } of limitRefusals(this.objects, this.limits)) {
      const isLimit = "spec" in about;
      const { place, whose } = isLimit
        ? {
            place: { file: about.file, line: about.line, column: about.column },
            whose: `${about.kind} ${about.namespace}/${about.name}`,
          }
        : firstOfSome(about, 1);
      const said = { whose, reasons: reasons.join(", ") };
      this.report.count(`limit ${whose}`, () => ({
        code: "namespace-limit-exceeded",
        ...place,
        path: "",
        message: isLimit ? WORDS.quotaExceeded(said) : WORDS.namespaceLimitExceeded(said),
        advice: WORDS.adviceNamespaceLimit,
      }));
    }
  }

  finish(): Manifests {
    this.tellShownSources();
    this.tellUnknownKinds();
    this.noteMissing();
    this.noteSidecars();
    this.notePodSecurity();
    this.noteLimits();
    const { notes, problems } = this.report.finish();
    const [objects, policies] = [Object.freeze(this.objects), Object.freeze(this.policies)];
    const configurations = Object.freeze(this.configurations);
    return Object.freeze({ objects, policies, configurations, notes, problems });
  }
}

/** A field that is left out of an object, which stays. */
function unknownFault({ path, message, meant }: UnknownField): FieldFault {
  const advice = adviceUnknownField(meant);
  return { code: "manifest-unknown-field", path, message, advice, text: undefined };
}

/** The first of `count` objects, as a note says it. */
function firstOfSome({ object: { kind, metadata }, origin }: LoadedObject, count: number) {
  const { file = "", line = 0, column = 0 } = origin ?? {};
  return {
    place: { file, line, column },
    whose: `${kind} ${metadata.namespace}/${metadata.name}${andMore(count - 1)}`,
  };
}

/** From one call of `reads` to the next. */
const OBJECTS_BETWEEN = 64;

const REFUSABLE = ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"] as const;

/** Fields of a Service that name something which another Service may have. */
function refusablePaths({ spec }: Service): FieldPath[] {
  const paths = REFUSABLE.filter((field) => spec?.[field] !== undefined).map((field) =>
    below(undefined, "spec", field),
  );
  for (const [index, port] of (spec?.ports ?? []).entries())
    if (port.nodePort !== undefined) paths.push(below(undefined, "spec", "ports", index, "nodePort"));
  return paths;
}

type Said = (
  kind: string,
  version: string,
) => readonly [code: KnowledgeCode, message: string, advice: string];

const PASSED_POLICY: Said = (kind, version) => [
  "policy-kind-not-enforced",
  WORDS.policyKindNotEnforced({ kind, version }),
  WORDS.advicePolicyKindNotEnforced,
];
/** What is said of objects that are passed by, by what they could do to a flow. */
const PASSED_BY: Readonly<Record<FurtherEffect, Said>> = Object.freeze({
  policy: PASSED_POLICY,
  "cluster-policy": PASSED_POLICY,
  network: (kind, version) => [
    "manifest-kind-not-carried-out",
    WORDS.networkKindLeftOut({ kind, version }),
    "Answers are those of the cluster without them: mullion explain manifest-kind-not-carried-out.",
  ],
  source: (kind, version) => [
    "manifest-kind-not-carried-out",
    WORDS.sourceKindLeftOut({ kind, version }),
    WORDS.adviceSourceKind,
  ],
  overlay: (): ReturnType<Said> => [
    "manifest-kind-not-carried-out",
    WORDS.kustomizationNotApplied,
    "Render it first: kubectl kustomize FOLDER > manifests.yaml.",
  ],
  nothing: (kind, version) => [
    "manifest-kind-unused",
    WORDS.kindWithoutEffect({ kind, version }),
    "Nothing to do, unless you expected an effect.",
  ],
});

/** Short texts are cut as fast in any form. */
const LIST_MIN = 1_048_576;

/** The pieces of a long list as kubectl prints it. */
function plainList(text: string): Iterable<Piece> | undefined {
  if (text.length < LIST_MIN) return undefined;
  return piecesOfPlainList([new TextEncoder().encode(text)], LIST_MIN);
}

const NO_PLACE: FilePlace = Object.freeze({ line: 1, column: 1 });

const HELM = {
  code: "manifest-helm-template",
  message: "this is a Helm template, not a manifest",
  advice: "Render the chart first: helm template <release> <chart> > manifests.yaml.",
} as const;

/** Items of a typed list (`PodList`) need not repeat kind and version. */
function withKind(value: Fields, header: ListHeader | undefined): Fields {
  const kind = header === undefined ? "" : (itemKindOf(header.kind) ?? "");
  if (header === undefined || kind === "" || value["kind"] !== undefined) return value;
  return { apiVersion: header.apiVersion, kind, ...value };
}

/**
 * Reads the manifests of some files. The files count as one set: an object may stand in one of them only.
 *
 * @param namespace of objects that name none.
 * @param reads is told now and then how many objects there are; what it throws ends the reading.
 */
export function loadManifests(
  files: readonly ManifestFile[],
  namespace = "default",
  reads: (objects: number) => void = () => undefined,
): Manifests {
  const loader = new Loader(namespace, reads);
  for (const file of files) loader.addFile(file);
  return loader.finish();
}
