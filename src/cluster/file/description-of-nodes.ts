/** The fields of a node that say in which state it is when the cluster comes up: its name, its disk, its programs, its defects. */
import type { Ipv6, Prefix } from "#core/net/ip.ts";
import {
  type LocatedFields,
  type OptionalMapping,
  TEXTS_BY_PATH,
  mapping,
  readEntries,
  section,
} from "./mapping.ts";
import { COMPUTER_NAME, INTERFACE, IPV6, IPV6_PREFIX, oneOf, seconds } from "./scalars.ts";
import {
  type MappingField,
  type ValueShape,
  optional,
  plainShape,
  withDefault,
  withDefaultAs,
} from "./shape.ts";
import { clusterFields, clusterFile } from "#data/words.js";
import { type ParsedNode, isScalar } from "yaml";
import { adviseName } from "#core/base/nearest-name.ts";
import {
  QUIRK_NAMES,
  type QuirkName,
  type QuirkSetting,
  type QuirkSettings,
  isQuirkName,
  parseQuirk,
} from "#core/catalogue/quirks.ts";
import { type Reading, type ValuePlace, nameOf, quote } from "./reading.ts";

const WORDS = clusterFields();
const FILE_WORDS = clusterFile();

// Defects of nodes as a cluster file sets them: names of `core/catalogue/quirks.ts`, each off, on, or on at a rate.

const ADVICE = FILE_WORDS.adviceQuirkSetting;

/** The setting as `parseQuirk` reads it: words, numbers, and what YAML makes of `true`. */
function settingText(node: ParsedNode | undefined): string | undefined {
  if (!isScalar(node)) return undefined;
  if (typeof node.value === "boolean") return node.value ? "on" : "off";
  if (typeof node.value === "number") return String(node.value);
  return typeof node.value === "string" ? node.value : undefined;
}

function readSetting(
  name: QuirkName,
  node: ParsedNode | undefined,
  place: ValuePlace,
  reading: Reading,
): QuirkSetting | undefined {
  const text = settingText(node);
  const parsed = text === undefined ? undefined : parseQuirk(`${name}=${text}`);
  if (parsed !== undefined && "setting" in parsed) return parsed.setting;
  const what = node === undefined ? "empty" : nameOf(node);
  reading.reportValue(place, `must be a setting of ${name}, but is ${what}`, ADVICE);
  return undefined;
}

function reportUnknown(name: string, place: ValuePlace, reading: Reading): void {
  const advice = adviseName(name, QUIRK_NAMES, FILE_WORDS.adviceQuirkNames);
  reading.report("cluster-file-unknown-field", place, `there is no defect ${quote(name)}`, advice);
}

/** A mapping from names of defects to settings. */
export const QUIRK_SETTINGS: ValueShape<QuirkSettings> = plainShape({
  noun: "a mapping from defects to on, off or a rate",
  read(node, place, reading) {
    return readEntries(node, "defect: on", { place, reading }, (name, entry, at) => {
      if (isQuirkName(name)) return readSetting(name, entry.node, at, reading);
      reportUnknown(name, { offset: entry.keyOffset, path: at.path }, reading);
      return undefined;
    });
  },
  schema: () => ({
    type: "object",
    propertyNames: { enum: [...QUIRK_NAMES] },
    additionalProperties: {
      anyOf: [
        { enum: ["on", "off", true, false] },
        { type: "number", minimum: 0, maximum: 1 },
        { type: "string", pattern: "^(0|1|0?\\.[0-9]{1,9}|1\\.0+)(@.*)?$" },
      ],
    },
  }),
});

// Its name, its disk, its programs.

interface FlanneldFields {
  iface: string | undefined;
  restart: "always" | "never";
}

export interface NodeStateFields {
  hostname: string | undefined;
  files: Readonly<Record<string, string>>;
  addressDelay: number;
  flanneld: LocatedFields<FlanneldFields>;
}

/** The second family of a node. */
export interface NodeIpv6Fields {
  address: Ipv6 | undefined;
  podCIDR: Prefix | undefined;
}

const DELAY_MAX_S = 600;

export const NODE_IPV6: OptionalMapping<NodeIpv6Fields> = mapping<NodeIpv6Fields>("a mapping", {
  address: optional(IPV6, "The node's address in `ipv6.subnet`.", WORDS.nodeIpv6Address),
  podCIDR: optional(IPV6_PREFIX, WORDS.nodeIpv6PodCIDR, "the next free /64 of `ipv6.clusterCIDR`"),
});

const FLANNELD: OptionalMapping<FlanneldFields> = mapping<FlanneldFields>("a mapping", {
  iface: optional(INTERFACE, WORDS.flanneldIface, "the node's `address`"),
  restart: withDefault(oneOf<"always" | "never">(["always", "never"]), "always", WORDS.flanneldRestart),
});

export const NODE_STATE: { readonly [K in keyof NodeStateFields]: MappingField<NodeStateFields[K]> } = {
  hostname: optional(COMPUTER_NAME, WORDS.nodeStateHostname, "`name`"),
  files: withDefaultAs(TEXTS_BY_PATH, Object.freeze({}), {}, WORDS.nodeStateFiles),
  addressDelay: withDefault(seconds(0, DELAY_MAX_S), 0, WORDS.nodeStateAddressDelay),
  flanneld: section(FLANNELD, WORDS.nodeStateFlanneld),
};
