/** Words of a command line to values of flags, as Go's pflag takes them. */
import { nearestNames } from "#core/base/nearest-name.ts";
import { parseDuration, splitHostPort } from "./go-texts.ts";
import { parseGates, parseTruth } from "./feature-gates.ts";
import type { FlagDefinition } from "./flags.ts";
import { parseTolerantIp } from "./validate.ts";
import { kubeProxy } from "#data/words.js";

const WORDS = kubeProxy();

export interface ParsedFlags {
  /** Converted, by name; of one that is given twice the last, lists and pairs added up. */
  readonly values: ReadonlyMap<string, unknown>;
  readonly isHelp: boolean;
}

export interface FlagFault {
  /** Upstream's sentence. */
  readonly message: string;
  /** Full sentences. */
  readonly advice: string;
}

const INT32_MAX = 2 ** 31 - 1;

/** What is wrong with a value, in Go's words. */
class BadValue {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

function number(text: string, isWhole: boolean): number | BadValue {
  const value = Number(text);
  const pattern = isWhole ? /^[-+]?(?:\d+|0x[\da-f]+)$/i : /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?$/i;
  const name = isWhole ? "strconv.ParseInt" : "strconv.ParseFloat";
  if (!pattern.test(text)) return new BadValue(`${name}: parsing ${JSON.stringify(text)}: invalid syntax`);
  if (isWhole && Math.abs(value) > INT32_MAX)
    return new BadValue(`${name}: parsing ${JSON.stringify(text)}: value out of range`);
  return value;
}

function ipPort(text: string): string | BadValue {
  if (text === "" || parseTolerantIp(text) !== undefined) return text;
  const parts = splitHostPort(text);
  const quoted = JSON.stringify(text);
  if (parts === undefined) return new BadValue(`${quoted} is not in a valid format (ip or ip:port)`);
  if (parseTolerantIp(parts.host) === undefined)
    return new BadValue(`${JSON.stringify(parts.host)} is not a valid IP address`);
  const port = Number(parts.port);
  if (!/^\d+$/.test(parts.port) || port > 65_535)
    return new BadValue(`${JSON.stringify(parts.port)} is not a valid number`);
  return text;
}

function convert(text: string, { type }: FlagDefinition): unknown {
  switch (type) {
    case "string":
    case "version":
      return text;
    case "bool":
      return (
        parseTruth(text) ?? new BadValue(`strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`)
      );
    case "int32":
      return number(text, true);
    case "float32":
      return number(text, false);
    case "duration":
      return parseDuration(text) ?? new BadValue(`time: invalid duration ${JSON.stringify(text)}`);
    case "ip":
      return text === "" || parseTolerantIp(text) !== undefined
        ? text
        : new BadValue(`${JSON.stringify(text)} is not a valid IP address`);
    case "ipport":
      return ipPort(text);
    case "strings":
      return text === "" ? [] : text.split(",");
    case "mapStringBool": {
      const gates = parseGates(text);
      return typeof gates === "string" ? new BadValue(gates) : gates;
    }
  }
}

/** What a flag takes when it stands without a value. */
const WITHOUT_VALUE: Readonly<Partial<Record<FlagDefinition["type"], string>>> = {
  bool: "true",
  version: "true",
};

const EXAMPLES: Readonly<Record<FlagDefinition["type"], string>> = {
  string: "TEXT",
  bool: "true or false",
  int32: "a whole number",
  float32: "a number",
  duration: "a duration such as 30s or 1m",
  ip: "an address such as 10.0.0.4",
  ipport: "an address with a port, such as 0.0.0.0:10256",
  strings: "texts with commas between them",
  mapStringBool: "pairs such as WinDSR=true,WinOverlay=true",
  version: "true or raw",
};

class Parser {
  readonly values = new Map<string, unknown>();
  isHelp = false;
  private readonly known: readonly FlagDefinition[];
  private readonly words: string[];

  constructor(words: readonly string[], known: readonly FlagDefinition[]) {
    this.words = [...words];
    this.known = known;
  }

  parse(): FlagFault | undefined {
    for (let word = this.words.shift(); word !== undefined; word = this.words.shift()) {
      const fault = this.parseWord(word);
      if (fault === "end") return this.noArguments(this.words);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  private parseWord(word: string): FlagFault | "end" | undefined {
    if (word === "--") return "end";
    if (word.startsWith("--")) return this.parseLong(word);
    if (word.startsWith("-") && word !== "-") return this.parseShort(word);
    return this.noArguments([word]);
  }

  private noArguments(words: readonly string[]): FlagFault | undefined {
    if (words.every((word) => word === "")) return undefined;
    return {
      message: `"kube-proxy" does not take any arguments, got ${JSON.stringify(words)}`,
      advice: WORDS.adviceFlagSyntax,
    };
  }

  private parseLong(word: string): FlagFault | undefined {
    const equals = word.indexOf("=");
    const written = equals < 0 ? word.slice(2) : word.slice(2, equals);
    // Upstream takes _ for -.
    const name = written.replaceAll("_", "-");
    if (written === "" || written.startsWith("-"))
      return { message: `bad flag syntax: ${word}`, advice: "Write --name=value." };
    const flag = this.known.find((each) => each.name === name);
    const value = equals < 0 ? undefined : word.slice(equals + 1);
    if (flag !== undefined) return this.take(flag, value);
    if (name === "help") {
      this.isHelp = value === undefined || parseTruth(value) !== false;
      return undefined;
    }
    return this.unknown(`unknown flag: --${written}`, name);
  }

  private parseShort(word: string): FlagFault | undefined {
    const letter = word.slice(1, 2);
    const rest = word.slice(2);
    if (letter === "h") {
      this.isHelp = true;
      return undefined;
    }
    const flag = this.known.find(({ shorthand }) => shorthand === letter);
    if (flag === undefined) {
      const fault = this.unknown(
        `unknown shorthand flag: ${JSON.stringify(letter).replaceAll('"', "'")} in ${word}`,
        word.slice(1).split("=", 1).join(""),
      );
      return { ...fault, advice: `Flags have two dashes. ${fault.advice}` };
    }
    return this.take(flag, rest === "" ? undefined : rest.replace(/^=/, ""));
  }

  private unknown(message: string, name: string): FlagFault {
    const [near] = nearestNames(
      name,
      this.known.map((each) => each.name),
      1,
    );
    const advice = near === undefined ? "" : `Did you mean --${near}? `;
    return { message, advice: `${advice}"kube-proxy --help" lists all flags.` };
  }

  private take(flag: FlagDefinition, given: string | undefined): FlagFault | undefined {
    const shown = flag.shorthand === undefined ? `--${flag.name}` : `-${flag.shorthand}, --${flag.name}`;
    const text = given ?? WITHOUT_VALUE[flag.type] ?? this.words.shift();
    if (text === undefined)
      return { message: `flag needs an argument: ${shown}`, advice: `It takes ${EXAMPLES[flag.type]}.` };
    const value = convert(text, flag);
    if (value instanceof BadValue) {
      return {
        message: `invalid argument ${JSON.stringify(text)} for ${JSON.stringify(shown)} flag: ${value.reason}`,
        advice: `Write ${EXAMPLES[flag.type]}.`,
      };
    }
    const before = this.values.get(flag.name);
    if (Array.isArray(value) && Array.isArray(before))
      this.values.set(flag.name, [...(before as unknown[]), ...(value as unknown[])]);
    else if (flag.type === "mapStringBool")
      this.values.set(flag.name, { ...(before as object | undefined), ...(value as object) });
    // An empty address leaves what was before, as upstream's does.
    else if (value !== "" || (flag.type !== "ip" && flag.type !== "ipport"))
      this.values.set(flag.name, value);
    return undefined;
  }
}

/** Reads the words of a command line; the first fault ends it. */
export function parseFlags(
  words: readonly string[],
  known: readonly FlagDefinition[],
): ParsedFlags | FlagFault {
  const parser = new Parser(words, known);
  const fault = parser.parse();
  if (fault !== undefined) return fault;
  return { values: parser.values, isHelp: parser.isHelp };
}
