/**
 * Golden conversations with HNS: requests in, what the service returns out. A file of `#hns/golden/` is one section of
 * hcn.md §9; its values are those of the document, and what differs from run to run stands as a word in angle brackets.
 */
import {
  type HcnClient,
  type HcnNotification,
  type HcnObjectKind,
  NOTIFICATION_TYPES,
} from "#contracts/hcn/client.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { isJsonObject } from "#core/base/json.ts";
import { familyOf, parseIp, parsePrefix, prefixContains } from "#core/net/ip.ts";
import type { HnsNodeOptions } from "./hns-node.ts";

interface Expectation {
  /** What comes back: fields that are not named may be there, too. */
  readonly returns?: JsonValue;
  /** The fields of the answer, all of them, in their order. */
  readonly fields?: readonly string[];
  /** The record of the refusal. */
  readonly fails?: JsonObject;
}

/** One call. `$name` stands for what an earlier step returned `as` name; `$name^` is that in upper case. */
export type GoldenStep = Expectation & {
  readonly as?: string;
  readonly do: "create" | "query" | "modify" | "delete" | "enumerate" | "call" | "advance" | "notified";
  readonly kind?: HcnObjectKind;
  readonly id?: string;
  readonly network?: string;
  readonly settings?: JsonObject;
  readonly query?: JsonObject;
  readonly method?: string;
  readonly path?: string;
  readonly body?: JsonObject;
  readonly ms?: number;
};

export interface Golden {
  readonly section: string;
  readonly title: string;
  readonly node?: HnsNodeOptions;
  readonly steps: readonly GoldenStep[];
}

/** The service as a conversation needs it. */
export interface GoldenService {
  readonly client: HcnClient;
  readonly advance: (ms: number) => Promise<void>;
}

const GUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MAC = /^[0-9A-F]{2}(?:-[0-9A-F]{2}){5}$/i;

/** Words that stand for values that differ from run to run. */
const WORDS: Readonly<Record<string, (value: JsonValue | undefined) => boolean>> = {
  "<guid>": (value) => typeof value === "string" && GUID.test(value),
  "<GUID>": (value) =>
    typeof value === "string" && GUID.test(value.toLowerCase()) && value === value.toUpperCase(),
  "<mac>": (value) => typeof value === "string" && MAC.test(value),
  "<time>": (value) => typeof value === "number" && value > 1e17,
  "<number>": (value) => typeof value === "number",
  "<absent>": (value) => value === undefined,
};

const ADDRESS_IN = /^<address in ([^>]+)>$/;
const PREFIX_OF = /^<prefix of (\d+)>$/;

function isAddressIn(value: JsonValue | undefined, prefixText: string): boolean {
  const prefix = parsePrefix(prefixText);
  const ip = typeof value === "string" ? parseIp(value) : undefined;
  return (
    prefix !== undefined &&
    ip !== undefined &&
    familyOf(ip) === familyOf(prefix.address) &&
    prefixContains(prefix, ip)
  );
}

function isWord(expected: string, value: JsonValue | undefined): boolean | undefined {
  const length = PREFIX_OF.exec(expected)?.[1];
  if (length !== undefined) return typeof value === "string" && parsePrefix(value)?.length === Number(length);
  const prefix = ADDRESS_IN.exec(expected)?.[1];
  return prefix === undefined ? WORDS[expected]?.(value) : isAddressIn(value, prefix);
}

/** Where an answer is not what is expected. */
export function* differences(
  expected: JsonValue,
  value: JsonValue | undefined,
  path = "",
): Generator<string, void, undefined> {
  const reported = `${path || "answer"} is ${JSON.stringify(value) ?? "absent"} instead of ${JSON.stringify(expected)}`;
  if (typeof expected === "string" && isWord(expected, value) !== undefined) {
    if (isWord(expected, value) === false) yield reported;
  } else if (Array.isArray(expected)) {
    const items = expected as readonly JsonValue[];
    if (!Array.isArray(value) || value.length !== items.length) yield reported;
    else
      for (const [index, item] of items.entries())
        yield* differences(item, value[index] as JsonValue, `${path}[${index}]`);
  } else if (isJsonObject(expected) && expected[HOLDS] !== undefined) {
    if (missingItems(expected[HOLDS], value).length > 0) yield reported;
  } else if (isJsonObject(expected)) {
    if (!isJsonObject(value)) yield reported;
    else
      for (const [field, item] of Object.entries(expected))
        if (item !== undefined)
          yield* differences(item, value[field], path === "" ? field : `${path}.${field}`);
  } else if (expected !== value) yield reported;
}

/** `{"<holds>": [...]}`: a list that has these items among others, in any order. */
const HOLDS = "<holds>";

function missingItems(expected: JsonValue | undefined, value: JsonValue | undefined): readonly JsonValue[] {
  const wanted = Array.isArray(expected) ? (expected as readonly JsonValue[]) : [];
  const items = Array.isArray(value) ? (value as readonly JsonValue[]) : [];
  return wanted.filter((item) => !items.some((other) => [...differences(item, other)].length === 0));
}

const REFERENCE = /\$([a-z]\w*)(\^?)/g;

function substitute(value: JsonValue, known: ReadonlyMap<string, string>): JsonValue {
  if (typeof value === "string") {
    return value.replace(REFERENCE, (text, name: string, upper: string) => {
      const found = known.get(name);
      if (found === undefined) return text;
      return upper === "^" ? found.toUpperCase() : found;
    });
  }
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map((item) => substitute(item, known));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([field, item]) => [field, substitute(item ?? null, known)]),
  );
}

const TYPE_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(NOTIFICATION_TYPES).map(([name, number]) => [number, name]),
);

/** One conversation: what came back at each step, and what was wrong with it. */
export class GoldenRun {
  readonly transcript: JsonValue[] = [];
  readonly problems: string[] = [];
  private readonly known = new Map<string, string>();
  private readonly heard: HcnNotification[] = [];
  private readonly service: GoldenService;

  constructor(service: GoldenService) {
    this.service = service;
  }

  async run({ steps }: Golden): Promise<void> {
    const unsubscribe = this.service.client.subscribe(
      (notification) => void this.heard.push(notification),
      "all",
    );
    for (const [index, step] of steps.entries()) await this.step(step, `step ${index + 1} (${step.do})`);
    unsubscribe();
  }

  private async step(given: GoldenStep, where: string): Promise<void> {
    const step = substitute(given as unknown as JsonValue, this.known) as unknown as GoldenStep;
    let answer: JsonValue = null;
    try {
      answer = await this.perform(step);
      if (step.fails !== undefined) this.problems.push(`${where}: is not refused`);
    } catch (error) {
      if (!(error instanceof HcnError)) throw error;
      answer = { ...error.toRecord() };
      if (step.fails === undefined) this.problems.push(`${where}: ${error.message}`);
      else for (const text of differences(step.fails, answer)) this.problems.push(`${where}: ${text}`);
    }
    this.transcript.push(answer);
    if (step.returns !== undefined)
      for (const text of differences(step.returns, answer)) this.problems.push(`${where}: ${text}`);
    this.checkFields(step, answer, where);
    if (step.as !== undefined) this.known.set(step.as, idOf(answer));
  }

  private checkFields({ fields }: GoldenStep, answer: JsonValue, where: string): void {
    if (fields === undefined) return;
    const shown = isJsonObject(answer) ? Object.keys(answer) : [];
    if (shown.join() !== fields.join()) this.problems.push(`${where}: the fields are ${shown.join(", ")}`);
  }

  private async perform(step: GoldenStep): Promise<JsonValue> {
    const { client } = this.service;
    const { kind = "Network", id = "", settings = {} } = step;
    switch (step.do) {
      case "create":
        return client.create(kind, settings, {
          ...(step.id !== undefined && { id: step.id }),
          ...(step.network !== undefined && { network: step.network }),
        });
      case "query":
        return client.query(kind, id, step.query ?? { SchemaVersion: { Major: 2, Minor: 0 } });
      case "modify":
        await client.modify(kind, id, settings);
        return null;
      case "delete":
        await client.delete(kind, id);
        return null;
      case "enumerate":
        return client.enumerate(kind, step.query);
      case "call":
        return client.call(
          step.method ?? "GET",
          step.path ?? "",
          step.body === undefined ? "" : JSON.stringify(step.body),
        );
      case "advance":
        await this.service.advance(step.ms ?? 0);
        return null;
      case "notified":
        return this.takeHeard(step);
    }
  }

  /** What was heard since the last time: as many notifications as are expected. */
  private async takeHeard({ returns }: GoldenStep): Promise<JsonValue> {
    const count = Array.isArray(returns) ? returns.length : 0;
    for (let tries = 0; tries < 200 && this.heard.length < count; tries++)
      await new Promise((resolve) => setTimeout(resolve, 5));
    return this.heard.splice(0).map(({ type, data }) => ({ type: TYPE_NAMES.get(type) ?? type, ...data }));
  }
}

/** The id in an answer: itself, or that of the object in a v1 envelope. */
function idOf(answer: JsonValue): string {
  if (typeof answer === "string") return answer;
  const output = isJsonObject(answer) ? answer["Output"] : undefined;
  const id = isJsonObject(output) ? output["ID"] : undefined;
  return typeof id === "string" ? id : "";
}
