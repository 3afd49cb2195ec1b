/**
 * A pipeline: a cmdlet that makes objects, filters and selections, and what shows them at the end. Each stage is generic over the
 * objects. Of PowerShell's language there is one pipeline of a line, or its properties (`(…).Name`): no variables, no expressions
 * but one comparison.
 */
import { type JsonValue, isJsonObject } from "#core/base/json.ts";
import { type CommandOutput, type ListedCommand, notBuilt } from "../../command.ts";
import type { Machine } from "../../machine.ts";
import { type Cmdlet, type CmdletOutput, faultLines, isLike, readParameters } from "./cmdlet.ts";
import { jsonLines } from "./convert-to-json.ts";
import {
  type PsObject,
  type Value,
  findProperty,
  formatValue,
  isEnumerated,
  isNested,
  isTextList,
  makeSelection,
  objectOfJson,
} from "./objects.ts";
import { MEMBER } from "./words.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();
import { END, listLines, showObjects, tableLines } from "./print-objects.ts";

/** What goes from stage to stage; lines once it is shown. */
type Flow =
  | { readonly kind: "objects"; readonly objects: readonly PsObject[] }
  | { readonly kind: "values"; readonly values: readonly Value[] }
  | { readonly kind: "lines"; readonly lines: readonly string[] };

const STAGES: Readonly<Record<string, (flow: Flow, words: readonly string[]) => Flow | undefined>> = {
  "?": where,
  where,
  "where-object": where,
  select,
  "select-object": select,
  "convertto-json": toJson,
  "format-list": formatList,
  fl: formatList,
  "format-table": formatTable,
  ft: formatTable,
  [MEMBER]: member,
};
export const PIPELINE_USAGES: readonly string[] = [
  "… | ? PROPERTY -EQ|-NE|-Like|-NotLike|-GT|-GE|-LT|-LE VALUE",
  "… | Select [PROPERTY,…] [-First COUNT] [-ExpandProperty PROPERTY]",
  "(…).PROPERTY[.PROPERTY] | (…).Count",
  "… | Format-List [PROPERTY,…] | Format-Table [PROPERTY,…] | ConvertTo-Json [-Compress] [-Depth STEPS]",
];

/** `a, b,c` in any number of words. */
function listOf(words: readonly string[]): readonly string[] {
  return words
    .join(" ")
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

function compareText(value: Value): string {
  return formatValue(value).toLowerCase();
}

/** A number where both sides are one; words otherwise, in any spelling. */
function order(value: Value, wanted: string): number {
  const [a, b] = [compareText(value), wanted.toLowerCase()];
  const numbers = [typeof value === "number" ? value : Number.NaN, Number(wanted)] as const;
  if (!Number.isNaN(numbers[0]) && wanted.trim() !== "" && !Number.isNaN(numbers[1]))
    return numbers[0] - numbers[1];
  if (isEnumerated(value) && String(value.number) === b) return 0;
  return a === b ? 0 : a < b ? -1 : 1;
}

const COMPARISONS: Readonly<Record<string, (value: Value, wanted: string) => boolean>> = {
  "-eq": (value, wanted) => order(value, wanted) === 0,
  "-ne": (value, wanted) => order(value, wanted) !== 0,
  "-like": (value, wanted) => isLike(formatValue(value), wanted),
  "-notlike": (value, wanted) => !isLike(formatValue(value), wanted),
  "-gt": (value, wanted) => order(value, wanted) > 0,
  "-ge": (value, wanted) => order(value, wanted) >= 0,
  "-lt": (value, wanted) => order(value, wanted) < 0,
  "-le": (value, wanted) => order(value, wanted) <= 0,
};

/** `$true` and `$null` as they compare with what is printed. */
const LITERALS: Readonly<Record<string, string>> = { $true: "True", $false: "False", $null: "" };

/** `Name -EQ web`, or the same in braces with `$_.`. */
function where(flow: Flow, given: readonly string[]): Flow | undefined {
  if (flow.kind !== "objects") return undefined;
  const words = given.filter((word) => !/^-(property|value|filterscript)$/i.test(word));
  const inner = words[0] === "{" && words.at(-1) === "}" ? words.slice(1, -1) : words;
  const [first = "", operator = "", ...rest] = inner;
  const isBlock = inner.length !== words.length;
  if (isBlock !== /^\$(_|psitem)\./i.test(first) || rest.length > 1) return undefined;
  const property = isBlock ? first.slice(first.indexOf(".") + 1) : first;
  const compare = COMPARISONS[operator.toLowerCase()];
  const [raw] = rest;
  if (property === "" || compare === undefined || raw === undefined) return undefined;
  const wanted = LITERALS[raw.toLowerCase()] ?? raw;
  const matches = (value: Value): boolean =>
    isTextList(value) ? value.some((each) => compare(each, wanted)) : compare(value, wanted);
  // Without braces a name with a point is that of one property.
  const path = isBlock ? property.split(MEMBER) : [property];
  return {
    kind: "objects",
    objects: flow.objects.filter((each) => valuesAt(each, path).some(matches)),
  };
}

/** Values of a property's property: of all that is inside at once. One that is not there is one value, which is nothing. */
function valuesAt(object: PsObject, [name = "", ...others]: readonly string[]): readonly Value[] {
  const value = findProperty(object, name)?.value;
  const [next = ""] = others;
  if (next === "") return [value];
  const inner = innerOf(value);
  const found = inner.filter(isObject).flatMap((each) => valuesAt(each, others));
  const isMissing = found.every((each) => each === undefined);
  if (isMissing) return others.length === 1 && next.toLowerCase() === "count" ? [inner.length] : [undefined];
  return found;
}

/** The values that names and patterns stand for; one that is not there is shown empty, as PowerShell does. */
function pick(object: PsObject, names: readonly string[]): Readonly<Record<string, Value>> {
  return Object.fromEntries(
    names.flatMap((name): readonly (readonly [string, Value])[] => {
      if (name.includes("*")) return Object.entries(object.values).filter(([each]) => isLike(each, name));
      const found = findProperty(object, name);
      return [[found?.name ?? name, found?.value ?? ""]];
    }),
  );
}

/** Words without an option and its value. */
function takeOption(
  words: readonly string[],
  name: RegExp,
): { readonly value: string | undefined; readonly rest: readonly string[] } {
  const at = words.findIndex((word) => name.test(word));
  if (at < 0) return { value: undefined, rest: words };
  return { value: words[at + 1] ?? "", rest: [...words.slice(0, at), ...words.slice(at + 2)] };
}

function isOption(word: string): boolean {
  return word.startsWith("-");
}

function select(flow: Flow, words: readonly string[]): Flow | undefined {
  if (flow.kind !== "objects") return undefined;
  const first = takeOption(words, /^-first$/i);
  const expanded = takeOption(first.rest, /^-exp(and(property)?)?$/i);
  const names = listOf(expanded.rest.filter((word) => !/^-property$/i.test(word)));
  if (names.some(isOption) || (first.value !== undefined && !/^\d{1,6}$/.test(first.value))) return undefined;
  const objects = flow.objects.slice(0, first.value === undefined ? undefined : Number(first.value));
  if (expanded.value !== undefined) {
    if (names.length > 0) return undefined;
    const wanted = expanded.value;
    return flowOf(objects.flatMap((each) => innerOf(findProperty(each, wanted)?.value)));
  }
  if (names.length === 0) return first.value === undefined ? undefined : { kind: "objects", objects };
  return { kind: "objects", objects: objects.map((each) => makeSelection(pick(each, names))) };
}

/** What a property of an object has in it: objects where it has objects. */
function innerOf(value: Value): readonly (PsObject | Value)[] {
  if (value === undefined) return [];
  if (!isNested(value)) return isTextList(value) ? value : [value];
  const { nested } = value;
  const items: readonly JsonValue[] = Array.isArray(nested) ? nested : [nested];
  return items.map((each) =>
    isJsonObject(each) ? objectOfJson(each) : typeof each === "object" ? JSON.stringify(each) : `${each}`,
  );
}

function isObject(item: PsObject | Value): item is PsObject {
  return typeof item === "object" && "values" in item;
}

/** Of all objects at once; one that has no such property adds nothing. `Count` is how many there are. */
function member(flow: Flow, [name = "", ...others]: readonly string[]): Flow | undefined {
  if (flow.kind !== "objects" || others.length > 0) return undefined;
  const found = flow.objects.flatMap((each) => innerOf(findProperty(each, name)?.value));
  if (found.length === 0 && name.toLowerCase() === "count")
    return { kind: "values", values: [flow.objects.length] };
  return flowOf(found);
}

/** Objects where there is nothing else among them. */
function flowOf(found: readonly (PsObject | Value)[]): Flow {
  const objects = found.filter(isObject);
  if (objects.length === found.length) return { kind: "objects", objects };
  return { kind: "values", values: found.filter((each): each is Value => !isObject(each)) };
}

function toJson(flow: Flow, words: readonly string[]): Flow | undefined {
  const { value, rest } = takeOption(words, /^-depth$/i);
  const isCompact = rest.some((word) => /^-compress$/i.test(word));
  if (rest.length > (isCompact ? 1 : 0) || (value !== undefined && !/^\d{1,3}$/.test(value)))
    return undefined;
  return flow.kind === "objects"
    ? { kind: "lines", lines: jsonLines(flow.objects, { isCompact, depth: value }) }
    : undefined;
}

function namesOf(words: readonly string[]): readonly string[] | undefined {
  const names = listOf(words.filter((word) => !/^-(property|autosize|wrap)$/i.test(word)));
  return names.some(isOption) ? undefined : names;
}

function formatList(flow: Flow, words: readonly string[]): Flow | undefined {
  const names = namesOf(words);
  if (flow.kind !== "objects" || names === undefined) return undefined;
  if (flow.objects.length === 0) return { kind: "lines", lines: [] };
  const lists = flow.objects.map((each) => (names.length === 0 ? each.list : pick(each, names)));
  return { kind: "lines", lines: [...listLines(lists), ...END] };
}

function formatTable(flow: Flow, words: readonly string[]): Flow | undefined {
  const names = namesOf(words);
  if (flow.kind !== "objects" || names === undefined) return undefined;
  const isFitted = words.some((word) => /^-(autosize|wrap)$/i.test(word));
  const columns = names.length > 0 ? undefined : flow.objects[0]?.table;
  const objects =
    names.length > 0 ? flow.objects.map((each) => makeSelection(pick(each, names))) : flow.objects;
  if (objects.length === 0) return { kind: "lines", lines: [] };
  const fitted = columns?.map(({ width: _width, ...column }) => column);
  return { kind: "lines", lines: [...tableLines(objects, isFitted ? fitted : columns), ...END] };
}

function show(flow: Flow): readonly string[] {
  if (flow.kind === "lines") return flow.lines;
  return flow.kind === "values" ? flow.values.map(formatValue) : showObjects(flow.objects);
}

/** The words between the pipes. */
function segmentsOf(words: readonly string[]): readonly (readonly string[])[] {
  const segments: string[][] = [[]];
  for (const word of words) {
    if (word === "|") segments.push([]);
    else segments.at(-1)?.push(word);
  }
  return segments;
}

/** What of the line PowerShell says that it does not know; the first stage that nobody has. */
function unknownStage(segments: readonly (readonly string[])[], line: string): CommandOutput | undefined {
  const [name] = segments
    .map(([word = ""]) => word)
    .filter((word) => STAGES[word.toLowerCase()] === undefined);
  if (name === undefined) return undefined;
  return {
    stdout: [],
    stderr: faultLines(name, line, name, {
      message: WORDS.cmdletUnknown({ name }),
      category: `ObjectNotFound: (${name}:String)`,
      exception: "CommandNotFoundException",
      id: "CommandNotFoundException",
    }),
    exitCode: 1,
  };
}

/** Cmdlets of Windows that a pipeline may have, and this one has not: they are refused, not unknown. */
const OTHER_STAGES =
  /^(%|foreach(-object)?|sort(-object)?|group(-object)?|measure(-object)?|out-[a-z]+|format-(wide|custom)|fw|fc|findstr|select-string|sls|tee(-object)?|export-[a-z]+|convertto-[a-z]+|get-[a-z]+|set-[a-z]+|remove-[a-z]+)(\.exe)?$/i;

/** The line as it was typed. */
function typedLine(own: string, stages: readonly (readonly string[])[]): string {
  return stages.reduce((text, words) => {
    const [word, name = ""] = words;
    if (word !== MEMBER) return `${text} | ${words.join(" ")}`;
    return text.startsWith("(") ? `${text}.${name}` : `(${text}).${name}`;
  }, own);
}

function runPipeline(cmdlet: Cmdlet, machine: Machine, args: readonly string[]): CommandOutput {
  const [own = [], ...stages] = segmentsOf(args);
  const line = typedLine([cmdlet.name, ...own].join(" "), stages);
  const segment = [cmdlet.name, ...own].join(" ");
  const other = stages.find(
    ([word = ""]) => STAGES[word.toLowerCase()] === undefined && OTHER_STAGES.test(word),
  );
  if (other !== undefined) notBuilt({ ...cmdlet, usages: PIPELINE_USAGES }, `| ${other.join(" ")}`);
  const unknown = unknownStage(stages, line);
  if (unknown !== undefined) return unknown;
  const given = readParameters(cmdlet, own);
  const output: CmdletOutput =
    "message" in given ? { objects: [], fault: given } : cmdlet.run(machine, given);
  let flow: Flow =
    output.values === undefined
      ? { kind: "objects", objects: output.objects }
      : { kind: "values", values: output.values };
  for (const [word = "", ...words] of stages) {
    const next: Flow | undefined = STAGES[word.toLowerCase()]?.(flow, words);
    flow = next ?? notBuilt({ ...cmdlet, usages: PIPELINE_USAGES }, ["|", word, ...words].join(" "));
  }
  const isQuiet = (preference: string): boolean =>
    !("message" in given) && /^(silentlycontinue|ignore|0)$/i.test(given.get(preference) ?? "");
  const { fault } = output;
  return {
    stdout: [...(isQuiet("WarningAction") ? [] : (output.warnings ?? [])), ...show(flow)],
    stderr:
      fault === undefined || isQuiet("ErrorAction") ? [] : faultLines(cmdlet.name, line, segment, fault),
    exitCode: fault === undefined ? 0 : 1,
  };
}

export function pipelineCommand(cmdlet: Cmdlet): ListedCommand {
  return {
    name: cmdlet.name.toLowerCase(),
    os: "windows",
    shell: "powershell",
    aliases: cmdlet.aliases ?? [],
    usages: cmdlet.usages,
    isChange: () => cmdlet.isChange === true,
    run: (machine, args) => runPipeline(cmdlet, machine, args),
  };
}
