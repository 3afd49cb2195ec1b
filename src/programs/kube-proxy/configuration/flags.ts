/** The flags of kube-proxy on Windows, of data/facts/kube-proxy-flags.yaml, which says what the fields of a row are. */
import { type Table, kubeProxyFlags } from "#data/facts.js";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { FIELDS } from "./configuration.ts";
import { formatDuration } from "./go-texts.ts";

const FLAG_TYPES = [
  "string",
  "bool",
  "int32",
  "float32",
  "duration",
  "ip",
  "ipport",
  "strings",
  "mapStringBool",
  "version",
] as const;
export type FlagType = (typeof FLAG_TYPES)[number];

export interface FlagDefinition {
  readonly name: string;
  readonly type: FlagType;
  readonly field: string | undefined;
  /** As help shows it. */
  readonly initial: string | undefined;
  readonly help: string;
  readonly deprecated: string | undefined;
  readonly shorthand: string | undefined;
  readonly countsBesideConfig: boolean;
  /** The first minor version that knows it, and the first that does not any more. */
  readonly since: number;
  readonly until: number;
  readonly isOwn: boolean;
}

/** What help shows is what the field of the configuration becomes, where the row says nothing else. */
function initialOf(path: string | undefined): string | undefined {
  const field = FIELDS.find((each) => each.path === path);
  if (field?.type === "duration") return formatDuration(Number(field.initial ?? 0));
  return field?.initial === undefined ? undefined : String(field.initial);
}

function readFlag(name: string, row: CheckedFields): FlagDefinition {
  const field = row.optionalText("field");
  if (field !== undefined && !FIELDS.some(({ path }) => path === field))
    row.fail(`${field} is no field of the configuration`, "field");
  const flag: FlagDefinition = {
    name,
    type: row.word("type", FLAG_TYPES),
    field,
    initial: row.optionalText("initial") ?? initialOf(field),
    help: row.optionalText("help") ?? "taken and checked; without effect on Windows",
    deprecated: row.optionalText("deprecated"),
    shorthand: row.optionalText("shorthand"),
    countsBesideConfig: row.isSet("countsBesideConfig"),
    since: row.optionalNumber("since") ?? 0,
    until: row.optionalNumber("until") ?? Number.POSITIVE_INFINITY,
    isOwn: row.isSet("isOwn"),
  };
  row.end();
  return flag;
}

/** @throws Error that names file and line of what is wrong. */
export function readFlagTable(table: Table): readonly FlagDefinition[] {
  return CheckedFields.ofTable(table)
    .rows()
    .map(([name, row]) => readFlag(name, row));
}

export const FLAGS: readonly FlagDefinition[] = readFlagTable(kubeProxyFlags());

/** The flags that a version knows. */
export function flagsOf(minor: number): readonly FlagDefinition[] {
  return FLAGS.filter(({ since, until }) => since <= minor && minor < until);
}
