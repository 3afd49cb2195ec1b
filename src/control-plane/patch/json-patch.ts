/** JSON patches (RFC 6902) on JSON values; nothing that is given is changed. */
import { type Fields, isFields } from "#core/base/json.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import { equalJson } from "../memory/deep.ts";
import type { JsonPatchOperation } from "#contracts/kubernetes/source.ts";
import { controlPlane } from "#data/words.js";

const WORDS = controlPlane();

/** As many as the API server takes (k8s.io/apiserver, `maxJSONPatchOperations`). */
const OPERATIONS_MAX = 10_000;

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

function readAt(document: unknown, path: string): unknown {
  let at = document;
  for (const step of stepsOf(path)) {
    if (Array.isArray(at)) at = at[indexOf(at, step, false, path)];
    else if (isFields(at) && Object.hasOwn(at, step)) at = at[step];
    else throw refuse(`${path}: there is nothing`);
  }
  return at;
}

type Change = { readonly kind: "add" | "replace"; readonly value: unknown } | { readonly kind: "remove" };

function changeList(list: readonly unknown[], step: string, change: Change, path: string): unknown[] {
  const index = indexOf(list, step, change.kind === "add", path);
  if (change.kind === "add") return list.toSpliced(index, 0, change.value);
  return change.kind === "remove" ? list.toSpliced(index, 1) : list.with(index, change.value);
}

function changeMapping(mapping: Fields, step: string, change: Change, path: string): Fields {
  if (change.kind !== "add" && !Object.hasOwn(mapping, step)) throw refuse(`${path}: there is nothing`);
  if (change.kind !== "remove") return { ...mapping, [step]: change.value };
  return Object.fromEntries(Object.entries(mapping).filter(([name]) => name !== step));
}

/** The document with one value changed; what lies beside the path is shared. */
function changeAt(at: unknown, steps: readonly string[], change: Change, path: string): unknown {
  const [step, ...rest] = steps;
  if (step === undefined) {
    if (change.kind === "remove") throw refuse("the whole object cannot be removed by a patch");
    return change.value;
  }
  if (Array.isArray(at)) {
    if (rest.length === 0) return changeList(at, step, change, path);
    const index = indexOf(at, step, false, path);
    return at.with(index, changeAt(at[index], rest, change, path));
  }
  if (!isFields(at)) throw refuse(`${path}: ${step} is in neither a mapping nor a list`);
  if (rest.length === 0) return changeMapping(at, step, change, path);
  if (!Object.hasOwn(at, step)) throw refuse(`${path}: there is no ${step}`);
  return { ...at, [step]: changeAt(at[step], rest, change, path) };
}

function perform(document: unknown, operation: JsonPatchOperation): unknown {
  const { op, path, from = "", value } = operation;
  if (typeof path !== "string" || typeof from !== "string") throw refuse("path and from are JSON pointers");
  const change = (where: string, what: Change): unknown => changeAt(document, stepsOf(where), what, where);
  switch (op) {
    case "add":
    case "replace":
      return change(path, { kind: op, value });
    case "remove":
      return change(path, { kind: "remove" });
    case "copy":
      return change(path, { kind: "add", value: readAt(document, from) });
    case "move": {
      if (path.startsWith(`${from}/`)) throw refuse(`${from} cannot be moved into itself`);
      const moved = readAt(document, from);
      const without = changeAt(document, stepsOf(from), { kind: "remove" }, from);
      return changeAt(without, stepsOf(path), { kind: "add", value: moved }, path);
    }
    case "test":
      if (!equalJson(readAt(document, path), value)) throw refuse(`testing value ${path} failed`);
      return document;
    default:
      throw refuse(`there is no operation ${JSON.stringify(op) ?? "nothing"}`);
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
  return operations.reduce<unknown>((at, operation) => {
    if (!isFields(operation)) throw refuse("each item of a JSON patch is a mapping");
    return perform(at, operation);
  }, document);
}
