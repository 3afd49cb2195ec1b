/** JSON patches (RFC 6902) on JSON values; nothing that is given is changed. */
import { type Fields, equalJson, isFields } from "#core/base/json.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import type { JsonPatchOperation } from "#contracts/kubernetes/source.ts";
import { controlPlane } from "#data/words.js";

const WORDS = controlPlane();

/** As many as the API server takes (k8s.io/apiserver, `maxJSONPatchOperations`). */
const OPERATIONS_MAX = 10_000;
/** What all its copies may add to an object, in bytes of JSON (k8s.io/apiserver, `JSONPatchMaxCopyBytes`). */
const COPIED_BYTES_MAX = 3_145_728;

function refuse(message: string): KubeError {
  return new KubeError("object-refused", 422, message, { reason: "Invalid" });
}

/** The steps of a pointer (RFC 6901). */
function stepsOf(pointer: unknown): readonly string[] {
  if (pointer === "") return [];
  if (typeof pointer !== "string" || !pointer.startsWith("/"))
    throw refuse(`${JSON.stringify(pointer) ?? "nothing"} is not a JSON pointer`);
  return pointer
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The place of a step in a list; one behind the last only where something may be added. */
function indexOf(list: readonly unknown[], step: string, mayBeEnd: boolean, path: string): number {
  if (step === "-" && mayBeEnd) return list.length;
  const index = /^(?:0|[1-9]\d{0,8})$/.test(step) ? Number(step) : Number.NaN;
  const end = mayBeEnd ? list.length : list.length - 1;
  if (!(index <= end)) throw refuse(`${path}: there is no item ${step}`);
  return index;
}

type Change = { readonly kind: "add" | "replace"; readonly value: unknown } | { readonly kind: "remove" };

function changeList(list: unknown[], step: string, change: Change, path: string): void {
  const index = indexOf(list, step, change.kind === "add", path);
  if (change.kind === "add") list.splice(index, 0, change.value);
  else if (change.kind === "remove") list.splice(index, 1);
  else list[index] = change.value;
}

/** A field of its own, whatever its name: `__proto__` is one. */
function setField(mapping: Fields, field: string, value: unknown): void {
  Object.defineProperty(mapping, field, { value, writable: true, enumerable: true, configurable: true });
}

function changeMapping(mapping: Fields, step: string, change: Change, path: string): void {
  if (change.kind !== "add" && !Object.hasOwn(mapping, step)) throw refuse(`${path}: there is nothing`);
  if (change.kind === "remove") Reflect.deleteProperty(mapping, step);
  else setField(mapping, step, change.value);
}

/** A document on its way through a patch. What an operation changes is copied once; what none changes is shared. */
class PatchedDocument {
  private root: unknown;
  /** Lists and mappings that only this document has. */
  private readonly own = new Set<unknown>();
  private copiedBytes = 0;

  constructor(document: unknown) {
    this.root = document;
  }

  get value(): unknown {
    return this.root;
  }

  perform({ op, path, from = "", value }: JsonPatchOperation): void {
    if (typeof path !== "string" || typeof from !== "string") throw refuse("path and from are JSON pointers");
    switch (op) {
      case "add":
      case "replace":
        return this.change(path, { kind: op, value });
      case "remove":
        return this.change(path, { kind: "remove" });
      case "copy":
        return this.change(path, { kind: "add", value: this.copyOf(from) });
      case "move": {
        if (path.startsWith(`${from}/`)) throw refuse(`${from} cannot be moved into itself`);
        const moved = this.read(from);
        this.change(from, { kind: "remove" });
        return this.change(path, { kind: "add", value: moved });
      }
      case "test":
        if (!equalJson(this.read(path), value)) throw refuse(`testing value ${path} failed`);
        return;
      default:
        throw refuse(`there is no operation ${JSON.stringify(op) ?? "nothing"}`);
    }
  }

  private read(path: string): unknown {
    let at = this.root;
    for (const step of stepsOf(path)) {
      if (Array.isArray(at)) at = at[indexOf(at, step, false, path)];
      else if (isFields(at) && Object.hasOwn(at, step)) at = at[step];
      else throw refuse(`${path}: there is nothing`);
    }
    return at;
  }

  private copyOf(path: string): unknown {
    const text = JSON.stringify(this.read(path)) ?? "null";
    this.copiedBytes += new TextEncoder().encode(text).length;
    if (this.copiedBytes > COPIED_BYTES_MAX) {
      throw refuse(
        WORDS.jsonPatchCopiesTooLong({ copiedBytes: this.copiedBytes, copiedBytesMax: COPIED_BYTES_MAX }),
      );
    }
    return JSON.parse(text);
  }

  private change(path: string, change: Change): void {
    const steps = stepsOf(path);
    const last = steps.at(-1);
    if (last === undefined) {
      if (change.kind === "remove") throw refuse("the whole object cannot be removed by a patch");
      this.root = change.value;
      return;
    }
    this.root = this.owned(this.root);
    let at = this.root;
    for (const step of steps.slice(0, -1)) at = this.ownChild(at, step, path);
    if (Array.isArray(at)) changeList(at, last, change, path);
    else if (isFields(at)) changeMapping(at, last, change, path);
    else throw refuse(`${path}: ${last} is in neither a mapping nor a list`);
  }

  /** The value at a step, in a list or a mapping of this document, and from now on its own as well. */
  private ownChild(at: unknown, step: string, path: string): unknown {
    if (Array.isArray(at)) {
      const index = indexOf(at, step, false, path);
      return (at[index] = this.owned(at[index]));
    }
    if (!isFields(at)) throw refuse(`${path}: ${step} is in neither a mapping nor a list`);
    if (!Object.hasOwn(at, step)) throw refuse(`${path}: there is no ${step}`);
    const child = this.owned(at[step]);
    setField(at, step, child);
    return child;
  }

  private owned(value: unknown): unknown {
    if (this.own.has(value) || (!Array.isArray(value) && !isFields(value))) return value;
    const copy: unknown = Array.isArray(value) ? [...(value as unknown[])] : { ...value };
    this.own.add(copy);
    return copy;
  }
}

/** The document after all operations. @throws KubeError `object-refused` when one of them cannot be done. */
export function applyJsonPatch(document: unknown, operations: readonly JsonPatchOperation[]): unknown {
  if (operations.length > OPERATIONS_MAX) {
    throw new KubeError(
      "kubernetes-request-invalid",
      413,
      WORDS.jsonPatchTooLong({
        operationsMax: OPERATIONS_MAX,
        operationsCount: operations.length,
      }),
    );
  }
  const patched = new PatchedDocument(document);
  for (const operation of operations) {
    if (!isFields(operation)) throw refuse("each item of a JSON patch is a mapping");
    patched.perform(operation);
  }
  return patched.value;
}
