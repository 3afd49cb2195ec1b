/**
 * Random and damaged requests against every call of an HNS. What holds, whatever comes: a call answers or is refused
 * with a record, never breaks; what is refused has changed nothing; whatever is listed can be shown, in both dialects,
 * and what objects say of each other is true.
 */
import { Prng } from "#core/base/prng.ts";
import { type HcnObjectKind, HCN_KINDS } from "#contracts/hcn/client.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import { HCN_ERRORS } from "#contracts/hcn/error-codes.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { HnsService } from "#hns/service/hns-service.ts";
import { FUZZ_CHANGES, FUZZ_DOCUMENTS, FUZZ_V1_BODIES } from "./hns-fuzz-corpus.ts";

const V2 = { SchemaVersion: { Major: 2, Minor: 0 } } as const;
/** More objects of a kind than this, and most steps delete. */
const OBJECTS_MAX = 8;
const DAMAGES_MAX = 3;

const V1_KINDS: readonly (readonly [string, HcnObjectKind])[] = [
  ["networks", "Network"],
  ["endpoints", "Endpoint"],
  ["namespaces", "Namespace"],
  ["policylists", "LoadBalancer"],
  ["endpointstats", "Endpoint"],
  ["endpointaddresses", "Endpoint"],
];
const V1_VERBS: readonly string[] = ["attach", "detach", "addresource", "removeresource", "detailed"];

/** Values that readers trip over. */
const ODD_VALUES: readonly JsonValue[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  65_536,
  2 ** 32,
  2 ** 53,
  "",
  " ",
  "\u0000",
  "\ud800",
  "é".repeat(300),
  "0.0.0.0/0",
  "10.244.2.7",
  "10.244.2.0/24",
  "fe80::1",
  "256.1.1.1",
  "00-15-5D-FF-FF-FF",
  "00000000-0000-0000-0000-000000000000",
  "{0fb28d70-306c-469d-9690-3245a82d882a}",
  "__proto__",
  "constructor",
  [],
  [[]],
  [null],
  {},
  { "": "" },
  { Type: "ACL" },
];

export class HnsFuzz {
  readonly prng: Prng;
  private readonly service: HnsService;

  constructor(seed: number, service: HnsService) {
    this.prng = new Prng(`fuzz/${seed}`);
    this.service = service;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.prng.below(values.length)] as T;
  }

  /** True once in `times`. */
  once(times: number): boolean {
    return this.prng.below(times) === 0;
  }

  kind(): HcnObjectKind {
    return this.pick(HCN_KINDS);
  }

  /** An id that is there, one that is not, or none. */
  id(kind: HcnObjectKind): string {
    const ids = this.service.enumerate(kind);
    if (ids.length > 0 && !this.once(20)) return this.pick(ids);
    const odd = this.pick(["", "x", this.prng.guid(), "00000000-0000-0000-0000-000000000000"]);
    return this.once(2) ? odd.toUpperCase() : odd;
  }

  /** A document with the ids of objects that are there in the places of its marks; half of them are damaged. */
  document(documents: readonly JsonObject[]): JsonObject {
    let document = this.fill(this.pick(documents));
    for (let count = this.once(2) ? this.prng.below(DAMAGES_MAX + 1) : 0; count > 0; count--)
      document = this.damage(document);
    return isJsonObject(document) ? document : { Name: document };
  }

  /** Puts ids in the places of `$Network` and its like. */
  private fill(value: JsonValue): JsonValue {
    if (typeof value === "string" && value.includes("$")) {
      const numbered = value.replace("$Number", String(this.prng.below(200)));
      return HCN_KINDS.reduce(
        (text, kind) => (text.includes(`$${kind}`) ? text.replace(`$${kind}`, this.id(kind)) : text),
        numbered,
      );
    }
    if (Array.isArray(value)) return value.map((item) => this.fill(item as JsonValue));
    if (!isJsonObject(value)) return value;
    const filled = Object.entries(value).map(([field, item]) => [field, this.fill(item ?? null)]);
    return Object.fromEntries(filled) as JsonObject;
  }

  /** One thing in it is another: a value, a missing or doubled entry, a field of another name. */
  damage(value: JsonValue): JsonValue {
    if (Array.isArray(value) && value.length > 0 && !this.once(4)) {
      const items = [...(value as readonly JsonValue[])];
      const index = this.prng.below(items.length);
      const choice = this.prng.below(4);
      if (choice === 0) items.push(items[index] ?? null);
      else if (choice === 1) items.splice(index, 1);
      else items[index] = this.damage(items[index] ?? null);
      return items;
    }
    if (isJsonObject(value) && Object.keys(value).length > 0 && !this.once(6)) {
      const fields: Record<string, JsonValue | undefined> = { ...value };
      const field = this.pick(Object.keys(value));
      const choice = this.prng.below(6);
      if (choice === 0) delete fields[field];
      else if (choice === 1) fields[`${field}x`] = fields[field];
      else fields[field] = this.damage(fields[field] ?? null);
      return fields;
    }
    return this.pick(ODD_VALUES);
  }

  query(): JsonObject | undefined {
    if (this.once(3)) return undefined;
    const filter = this.pick([
      { ID: this.id("Network") },
      { Name: "cbr0" },
      { VirtualNetwork: this.id("Network") },
      { State: this.prng.below(5) },
      { Flags: 328 },
      {},
    ]);
    const query: JsonValue = { ...V2, Flags: this.prng.below(2), Filter: JSON.stringify(filter) };
    const damaged = this.once(3) ? this.damage(query) : query;
    return damaged as JsonObject;
  }

  path(): string {
    if (!this.once(3)) {
      const [plural, kind] = this.pick(V1_KINDS);
      const rest = this.pick([
        "",
        "",
        `/${this.id(kind)}`,
        `/${this.id(kind)}`,
        `/${this.id(kind)}/${this.pick(V1_VERBS)}`,
      ]);
      return `/${plural}${rest}`;
    }
    const words = [
      "networks",
      "endpoints",
      "namespaces",
      "policylists",
      "globals",
      "version",
      "accelnet",
      "portpools",
    ];
    const odd = [
      "",
      "..",
      "%2e%2e",
      "%00",
      "é",
      "\ud800",
      "a".repeat(2_000),
      "?",
      "?x=1",
      "#",
      "{id}",
      "toString",
    ];
    const segments = Array.from({ length: this.prng.below(5) }, () => {
      if (this.once(2)) return this.pick(words);
      if (this.once(2)) return this.id(this.kind());
      return this.pick(this.once(2) ? V1_VERBS : odd);
    });
    const path = `${this.once(8) ? "" : "/"}${segments.join(this.once(10) ? "//" : "/")}${this.once(2) ? "/" : ""}`;
    return this.once(4) ? path.toUpperCase() : path;
  }

  body(): string {
    const text = JSON.stringify(this.document(FUZZ_V1_BODIES));
    if (this.once(4)) return "";
    return this.once(6) ? this.damageText(text) : text;
  }

  /** A text with one piece of it gone, doubled or replaced. */
  damageText(text: string): string {
    const at = this.prng.below(text.length + 1);
    const length = this.prng.below(4);
    const piece = this.pick([
      "",
      '"',
      "{",
      "[",
      "]",
      "}",
      ",",
      ":",
      "\\",
      "\\ud800",
      "\u0000",
      "1e999",
      "null",
      " ",
    ]);
    return `${text.slice(0, at)}${piece}${text.slice(at + length)}`;
  }

  /** Makes one call. @returns what it was, for the message of a problem. */
  call(): string {
    const { service } = this;
    const kind = this.kind();
    const isFull = service.enumerate(kind).length > OBJECTS_MAX;
    const choice = isFull && !this.once(3) ? 4 : this.prng.below(14);
    if (choice <= 2 && !isFull) return this.create(kind);
    if (choice === 3 || choice >= 12) return this.modify(kind);
    if (choice === 4 && (isFull || this.once(3)))
      return this.say("delete", kind, () => service.delete(kind, this.id(kind)));
    if (choice === 5) return this.say("query", kind, () => service.query(kind, this.id(kind), this.query()));
    if (choice === 6) return this.say("enumerate", kind, () => service.enumerate(kind, this.query()));
    if (choice === 7) return this.ports();
    if (choice === 8)
      return this.say("stats", "", () => service.queryEndpointStats(this.id("Endpoint"), this.query()));
    return this.v1();
  }

  private modify(kind: HcnObjectKind): string {
    const changes = this.once(6) ? Object.values(FUZZ_CHANGES).flat() : FUZZ_CHANGES[kind];
    const [id, settings] = [this.id(kind), this.document(changes)];
    return this.say("modify", `${kind} ${JSON.stringify(settings)}`, () =>
      this.service.modify(kind, id, settings),
    );
  }

  private create(kind: HcnObjectKind): string {
    const document = this.document(FUZZ_DOCUMENTS[kind]);
    const id = this.once(6) ? this.id(kind) : undefined;
    const network = kind === "Endpoint" && this.once(2) ? this.id("Network") : undefined;
    const options = { ...(id !== undefined && { id }), ...(network !== undefined && { network }) };
    return this.say("create", `${kind} ${JSON.stringify(document)}`, () =>
      this.service.create(kind, document, options),
    );
  }

  private ports(): string {
    const id = this.id("GuestNetworkService");
    const odd = (): number => this.pick([-1, 0, 1, 2, 3, 80, 4_095, 65_535, 65_536, 1.5]);
    const request = this.once(2) ? { portCount: odd() } : { protocol: odd(), access: odd(), port: odd() };
    if (this.once(3)) return this.say("release", "", () => this.service.releasePorts(id));
    return this.say("reserve", JSON.stringify(request), () => this.service.reservePorts(id, request));
  }

  private v1(): string {
    const method = this.once(6)
      ? this.pick(["get", "PUT", "", "G ET"])
      : this.pick(["GET", "POST", "POST", "DELETE"]);
    const [path, body] = [this.path(), this.body()];
    const what = `${method} ${path} ${body}`;
    const before = JSON.stringify(this.service.export());
    const { Success, ErrorCode } = this.service.call(method, path, body);
    if (typeof Success !== "boolean") throw new Error(`${what}: no envelope`);
    if (Success) return what;
    if (typeof ErrorCode !== "number") throw new Error(`${what}: a failure without a number`);
    const isMarked = /namespaces/i.test(path) && ErrorCode === HCN_ERRORS.HCN_E_REQUEST_UNSUPPORTED.hresult;
    if (!isMarked && JSON.stringify(this.service.export()) !== before)
      throw new Error(`${what} failed (${ErrorCode}) and changed something`);
    return what;
  }

  /** Makes a call that may be refused, and then has changed nothing. */
  private say(operation: string, what: string, call: () => unknown): string {
    const before = JSON.stringify(this.service.export());
    try {
      call();
    } catch (error) {
      if (!(error instanceof HcnError)) throw new Error(`${operation} ${what} breaks`, { cause: error });
      // A namespace with containers is marked as being torn down when its end is refused (hcn.md §4.5).
      const isMarked = operation === "delete" && error.code === "HCN_E_REQUEST_UNSUPPORTED";
      if (!isMarked && JSON.stringify(this.service.export()) !== before)
        throw new Error(`${operation} ${what} was refused (${error.code}) and changed something`, {
          cause: error,
        });
    }
    return `${operation} ${what}`;
  }
}

function textOf(document: JsonObject, field: string): string {
  const value = document[field];
  return typeof value === "string" ? value : "";
}

/** What the objects of a service say that is not so. */
export function findContradictions(service: HnsService): readonly string[] {
  const problems: string[] = [];
  for (const kind of HCN_KINDS) {
    for (const id of service.enumerate(kind)) {
      const [document, v1] = [service.query(kind, id, V2), service.query(kind, id)];
      if (textOf(document, "ID") !== id || textOf(v1, "ID").toLowerCase() !== id)
        problems.push(`${kind} ${id} is shown as ${textOf(document, "ID")} and ${textOf(v1, "ID")}`);
      const listed = service.enumerate(kind, { ...V2, Filter: JSON.stringify({ ID: id }) });
      if (listed.length !== 1) problems.push(`${kind} ${id} is not found by its id`);
    }
  }
  const networks = new Set(service.enumerate("Network"));
  for (const id of service.enumerate("Endpoint")) {
    const endpoint = service.query("Endpoint", id, V2);
    if (!networks.has(textOf(endpoint, "HostComputeNetwork"))) problems.push(`endpoint ${id} has no network`);
    const namespace = textOf(endpoint, "HostComputeNamespace");
    if (namespace === "") continue;
    const members = JSON.stringify(service.query("Namespace", namespace, V2)["Resources"] ?? []);
    if (!members.includes(id)) problems.push(`namespace ${namespace} does not list endpoint ${id}`);
  }
  const lists = { Network: "/networks", Endpoint: "/endpoints", Namespace: "/namespaces" } as const;
  for (const [kind, path] of Object.entries(lists)) {
    const output = service.call("GET", path, "")["Output"];
    const count = service.enumerate(kind as HcnObjectKind).length;
    if (!Array.isArray(output) || output.length !== count)
      problems.push(`v1 does not list ${count} of ${path}`);
  }
  return problems;
}
