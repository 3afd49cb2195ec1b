/** A cmdlet: its parameters as PowerShell reads them, and what it says when something is wrong. */
import { notBuilt } from "../../command.ts";
import type { Machine } from "../../machine.ts";
import { type PsObject, type Value, formatValue } from "./objects.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** Parameters by their whole names; a switch has no value. */
export type Given = ReadonlyMap<string, string>;

export interface Cmdlet {
  /** `Get-NetAdapter`. */
  readonly name: string;
  readonly aliases?: readonly string[];
  /** As `mullion exec --list` shows them. */
  readonly usages: readonly string[];
  /** Those that take a value; the first ones may stand without their names. */
  readonly parameters: readonly string[];
  readonly positions: number;
  readonly switches: readonly string[];
  /** What the real one takes besides. */
  readonly others: readonly string[];
  /** True: it changes the machine. Default: it only looks. */
  readonly isChange?: boolean;
  readonly run: (machine: Machine, given: Given) => CmdletOutput;
}

/** What a cmdlet says that it cannot do. */
export interface Fault {
  readonly message: string;
  /** `ObjectNotFound: (web:String)`. */
  readonly category: string;
  /** The exception's class, in short. */
  readonly exception: string;
  readonly id: string;
}

export interface CmdletOutput {
  readonly objects: readonly PsObject[];
  /** Plain values instead of objects. */
  readonly values?: readonly Value[];
  readonly fault?: Fault;
  /** Lines on standard output before the objects: warnings. */
  readonly warnings?: readonly string[];
}

/** What PowerShell gives every cmdlet, and what is taken of it. */
const COMMON_PARAMETERS = ["ErrorAction", "WarningAction"];

/** Inferred: the message is not broken into lines, since nothing says how wide the terminal is. */
export function faultLines(name: string, line: string, segment: string, fault: Fault): readonly string[] {
  const at = Math.max(0, line.indexOf(segment));
  return [
    `${name} : ${fault.message}`,
    `At line:1 char:${at + 1}`,
    `+ ${line}`,
    `+ ${" ".repeat(at)}${"~".repeat(segment.length)}`,
    `    + CategoryInfo          : ${fault.category} [${name}], ${fault.exception}`,
    `    + FullyQualifiedErrorId : ${fault.id}`,
    " ",
  ];
}

function bindingFault(message: string, id: string, name: string): Fault {
  return {
    message,
    category: "InvalidArgument: (:)",
    exception: "ParameterBindingException",
    id: `${id},${name}`,
  };
}

/** A parameter by its name, or by the beginning of it that no other has. */
function findParameter(names: readonly string[], text: string): string | undefined {
  const wanted = text.toLowerCase();
  const exact = names.find((each) => each.toLowerCase() === wanted);
  const begun = names.filter((each) => each.toLowerCase().startsWith(wanted));
  return exact ?? (begun.length === 1 ? begun[0] : undefined);
}

/** @throws RequestError for a parameter that the real cmdlet has, and Mullion's does not. */
export function readParameters(cmdlet: Cmdlet, words: readonly string[]): Given | Fault {
  const { name, parameters, positions, switches, others } = cmdlet;
  const valued = [...parameters, ...COMMON_PARAMETERS];
  const given = new Map<string, string>();
  const places = parameters.slice(0, positions);
  const queue = [...words];
  for (let word = queue.shift(); word !== undefined; word = queue.shift()) {
    if (!/^-[a-z]/i.test(word)) {
      const place = places.find((each) => !given.has(each));
      if (place === undefined)
        return bindingFault(
          `A positional parameter cannot be found that accepts argument '${word}'.`,
          "PositionalParameterNotFound",
          name,
        );
      given.set(place, word);
      continue;
    }
    const colon = word.indexOf(":");
    const text = colon < 0 ? word.slice(1) : word.slice(1, colon);
    const found = findParameter([...valued, ...switches, ...others], text);
    if (found === undefined)
      return bindingFault(
        `A parameter cannot be found that matches parameter name '${text}'.`,
        "NamedParameterNotFound",
        name,
      );
    if (others.includes(found)) notBuilt(cmdlet, `-${found}`);
    if (switches.includes(found)) given.set(found, "");
    else {
      const value = colon < 0 ? queue.shift() : word.slice(colon + 1);
      if (value === undefined)
        return bindingFault(WORDS.parameterNeedsArgument({ parameter: found }), "MissingArgument", name);
      given.set(found, value);
    }
  }
  return given;
}

/** A filter of `Get-Net…`: a parameter, and the property that it compares. */
export interface Filter {
  readonly parameter: string;
  readonly property: string;
}

/** True for what a pattern with `*` and `?` stands for, in any spelling. */
export function isLike(text: string, pattern: string): boolean {
  const [signs, wanted] = [text.toLowerCase(), pattern.toLowerCase()];
  let [at, next, star, mark] = [0, 0, -1, 0];
  while (at < signs.length) {
    if (
      next < wanted.length &&
      (wanted[next] === "?" || (wanted[next] !== "*" && wanted[next] === signs[at]))
    ) {
      at++;
      next++;
    } else if (wanted[next] === "*") {
      star = next++;
      mark = at;
    } else if (star >= 0) {
      next = star + 1;
      at = ++mark;
    } else return false;
  }
  while (wanted[next] === "*") next++;
  return next === wanted.length;
}

/**
 * Objects that every filter lets through. One that names a value nobody has is an error, as those cmdlets have it that Windows
 * makes of its classes; a pattern that fits nothing is none.
 */
export function filterObjects(
  name: string,
  className: string,
  objects: readonly PsObject[],
  filters: readonly Filter[],
  given: Given,
): CmdletOutput {
  let left = objects;
  for (const { parameter, property } of filters) {
    const pattern = given.get(parameter);
    if (pattern === undefined) continue;
    const wanted = pattern.split(",").map((each) => each.trim());
    left = left.filter(({ values }) => wanted.some((each) => isLike(formatValue(values[property]), each)));
    if (left.length === 0 && !pattern.includes("*") && !pattern.includes("?"))
      return {
        objects: [],
        fault: {
          message: WORDS.noObjectWithProperty({ className, property, pattern }),
          category: `ObjectNotFound: (${pattern}:String)`,
          exception: "CimJobException",
          id: `CmdletizationQuery_NotFound_${property},${name}`,
        },
      };
  }
  return { objects: left };
}
