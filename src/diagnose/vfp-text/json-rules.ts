/** What `vfpctrl /format 1` prints, read back. Names that no published script reads are those of `print-json.ts`. */
import { textOf } from "#core/base/json.ts";
import { LIMITS } from "#core/base/limits.ts";
import { parseIp } from "#core/net/ip.ts";
import { formatIpRange } from "#core/net/ip-range.ts";
import { formatPortRange } from "#core/net/port-range.ts";
import { ConditionLabel } from "#dataplane/vfp/listing/conditions.ts";
import type { Excerpt, ListedCondition, ListedRule } from "#dataplane/vfp/listing/listing.ts";
import type { RangeJson } from "#dataplane/vfp/listing/print-json.ts";
import type { ListingProblem } from "./documents.ts";
import type { ReadLayer, ReadListing } from "./parse-rules.ts";

type Json = Readonly<Record<string, unknown>>;

/** What a JSON document is about, for messages: no value of it is more than a guess until it was looked at. */
class JsonReader {
  readonly problems: ListingProblem[] = [];
  problemsOmitted = 0;

  problem(path: string, message: string): void {
    if (this.problems.length >= LIMITS.vfpListingProblemsMax) this.problemsOmitted++;
    else this.problems.push({ line: 1, message: `${path}: ${message}` });
  }

  list(value: unknown, path: string): readonly unknown[] {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value as readonly unknown[];
    // PowerShell's ConvertTo-Json writes a list of one as that one.
    if (typeof value === "object") return [value];
    this.problem(path, "must be a list");
    return [];
  }

  record(value: unknown, path: string): Json | undefined {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
    this.problem(path, "must be an object");
    return undefined;
  }

  text(value: unknown): string {
    return textOf(value);
  }

  number(value: unknown, path: string): number {
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
    if (value !== undefined && value !== null) this.problem(path, "must be a whole number");
    return 0;
  }

  texts(value: unknown, path: string): readonly string[] {
    return this.list(value, path).filter((each) => typeof each === "string");
  }
}

function isRange(value: unknown): value is RangeJson {
  return typeof value === "object" && value !== null && "L" in value && "H" in value;
}

const MAC_DIGITS = /^[0-9A-F]{12}$/i;

function dashedMac(value: unknown): string {
  const text = String(value);
  return MAC_DIGITS.test(text) ? text.toUpperCase().replace(/(..)(?=.)/g, "$1-") : text;
}

function rangeText(value: unknown): string {
  if (!isRange(value)) return String(value);
  const [low, high] = [`${value.L}`, `${value.H}`];
  const [first, last] = [parseIp(low), parseIp(high)];
  if (first !== undefined && last !== undefined) return formatIpRange({ first, last });
  return formatPortRange({ first: Number(low), last: Number(high) });
}

/** Lists of conditions by their names, with the label of the text and how an item stands there. */
const CONDITION_LISTS: Readonly<Record<string, readonly [label: string, format: (item: unknown) => string]>> =
  {
    ProtocolList: [ConditionLabel.protocols, String],
    SourcePortList: [ConditionLabel.sourcePorts, String],
    DestinationPortList: [ConditionLabel.destinationPorts, String],
    SourcePortRangeList: [ConditionLabel.sourcePorts, rangeText],
    DestinationPortRangeList: [ConditionLabel.destinationPorts, rangeText],
    SourceIPv4RangeList: [ConditionLabel.source, rangeText],
    DestinationIPv4RangeList: [ConditionLabel.destination, rangeText],
    SourceIPv6RangeList: [ConditionLabel.source, rangeText],
    DestinationIPv6RangeList: [ConditionLabel.destination, rangeText],
    SourceMacAddressList: [ConditionLabel.sourceMac, dashedMac],
    DestinationMacAddressList: [ConditionLabel.destinationMac, dashedMac],
    VlanIdRangeList: [ConditionLabel.vlan, rangeText],
  };

function readCondition(value: unknown, path: string, reader: JsonReader): ListedCondition | undefined {
  const json = reader.record(value, path);
  if (json === undefined) return undefined;
  for (const [name, [label, format]] of Object.entries(CONDITION_LISTS)) {
    if (json[name] === undefined) continue;
    return { label, value: reader.list(json[name], `${path}.${name}`).map(format).join(", ") };
  }
  const [label, text] = [json["Label"], json["Value"]];
  if (typeof label === "string" && typeof text === "string") return { label, value: text };
  reader.problem(path, "is a condition of a kind that is not known");
  return undefined;
}

function readConditions(value: unknown, path: string, reader: JsonReader): readonly ListedCondition[] {
  return reader
    .list(value, path)
    .map((each, index) => readCondition(each, `${path}[${index}]`, reader))
    .filter((condition) => condition !== undefined);
}

function readCounters(value: unknown, path: string, reader: JsonReader): Pick<ListedRule, "counters"> {
  for (const [index, each] of reader.list(value, path).entries()) {
    const json = reader.record(each, `${path}[${index}]`)?.["RuleCounters"];
    if (json === undefined) continue;
    const at = `${path}[${index}].RuleCounters`;
    const counters = reader.record(json, at) ?? {};
    return {
      counters: {
        matchedPackets: reader.number(counters["MatchedPackets"], `${at}.MatchedPackets`),
        droppedPackets: reader.number(counters["DroppedPackets"], `${at}.DroppedPackets`),
        pendingPackets: reader.number(counters["PendingPackets"], `${at}.PendingPackets`),
        droppedFlows: reader.number(counters["DroppedFlows"], `${at}.DroppedFlows`),
      },
    };
  }
  return {};
}

/** Labels of the fields that the JSON does not carry. */
function absentOf(json: Json, labels: Readonly<Record<string, string>>): Excerpt {
  const absent = Object.entries(labels).flatMap(([field, label]) =>
    json[field] === undefined ? [label] : [],
  );
  return absent.length === 0 ? {} : { absent };
}

const RULE_LABELS = {
  Priority: "Priority",
  RuleFlags: "Flags",
  Conditions: "Conditions",
  FlowTTL: "Flow TTL",
  FlagsEx: "FlagsEx",
} as const;
const GROUP_LABELS = {
  Name: "Friendly name",
  Priority: "Priority",
  Direction: "Direction",
  Type: "Type",
  Conditions: "Conditions",
  MatchType: "Match type",
} as const;
const LAYER_LABELS = { Name: "Friendly name", Priority: "Priority" } as const;

function readRule(value: unknown, path: string, reader: JsonReader): ReadLayer["groups"][number]["rules"] {
  const json = reader.record(value, path);
  if (json === undefined) return [];
  const rule = {
    id: reader.text(json["Id"]),
    name: reader.text(json["Name"]),
    priority: reader.number(json["Priority"], `${path}.Priority`),
    flags: reader.number(json["RuleFlags"], `${path}.RuleFlags`),
    type: reader.text(json["Type"]),
    conditions: readConditions(json["Conditions"], `${path}.Conditions`, reader),
    ttl: reader.number(json["FlowTTL"], `${path}.FlowTTL`),
    data: reader.texts(json["RuleData"], `${path}.RuleData`),
    flagsEx: reader.number(json["FlagsEx"], `${path}.FlagsEx`),
    line: 1,
    ...readCounters(json["InformationArray"], `${path}.InformationArray`, reader),
    ...absentOf(json, RULE_LABELS),
  };
  if (rule.type !== "") return [rule];
  reader.problem(path, "is a rule without a Type");
  return [];
}

function readGroup(value: unknown, path: string, reader: JsonReader): ReadLayer["groups"] {
  const json = reader.record(value, path);
  if (json === undefined) return [];
  const id = reader.text(json["Id"]) || reader.text(json["Name"]);
  // What the scripts do not read may be absent; the name of HNS's groups says both.
  const says = (field: unknown, pattern: RegExp): boolean => pattern.test(reader.text(field) || id);
  return [
    {
      id,
      name: reader.text(json["Name"]),
      priority: reader.number(json["Priority"], `${path}.Priority`),
      direction: says(json["Direction"], /(?:^|_)IN$/i) ? "IN" : "OUT",
      type: says(json["Type"], /IPv6/i) ? "IPv6" : "IPv4",
      conditions: readConditions(json["Conditions"], `${path}.Conditions`, reader),
      match: reader.text(json["MatchType"]),
      rules: reader
        .list(json["Rules"], `${path}.Rules`)
        .flatMap((each, index) => readRule(each, `${path}.Rules[${index}]`, reader)),
      ...absentOf(json, GROUP_LABELS),
    },
  ];
}

function readLayer(value: unknown, path: string, reader: JsonReader): readonly ReadLayer[] {
  const json = reader.record(value, path);
  if (json === undefined) return [];
  return [
    {
      id: reader.text(json["Id"]) || reader.text(json["Name"]),
      name: reader.text(json["Name"]),
      flags: reader.number(json["Flags"], `${path}.Flags`),
      priority: reader.number(json["Priority"], `${path}.Priority`),
      groups: reader
        .list(json["Groups"], `${path}.Groups`)
        .flatMap((each, index) => readGroup(each, `${path}.Groups[${index}]`, reader)),
      ...absentOf(json, LAYER_LABELS),
    },
  ];
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

/** Reads the JSON of one port: `Layers`, or with `/layer` and `/group` given `Rules` alone. Never throws. */
export function parseRulesJson(text: string): ReadListing {
  const reader = new JsonReader();
  const none = (line: number, message: string): ReadListing => ({
    ports: [],
    problems: [{ line, message }],
    problemsOmitted: 0,
    otherLines: 0,
  });
  if (text.length > LIMITS.vfpListingCharactersMax) return none(1, "the text is longer than what is read");
  let json: unknown;
  try {
    json = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    const offset = /position (\d+)/.exec(error instanceof Error ? error.message : "")?.[1];
    return none(offset === undefined ? 1 : lineOf(text, Number(offset)), "the text is not JSON");
  }
  const root = reader.record(json, "the document");
  if (root === undefined) return { ...none(1, "the document must be an object"), problems: reader.problems };
  const alone = root["Rules"] ?? undefined;
  const layers =
    alone === undefined
      ? reader
          .list(root["Layers"], "Layers")
          .flatMap((each, index) => readLayer(each, `Layers[${index}]`, reader))
      : readLayer({ Id: "", Groups: [{ Id: "", Rules: alone }] }, "the document", reader);
  const { problems, problemsOmitted } = reader;
  return { ports: [{ name: undefined, layers }], problems, problemsOmitted, otherLines: 0 };
}
