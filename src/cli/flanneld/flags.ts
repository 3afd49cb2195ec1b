/** The words of flanneld's command line, as Go's `flag` package reads them (control-planes.md §1.2). */
import { type Compat, parseCompat } from "#core/base/compat.ts";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { nearestNames } from "#core/base/nearest-name.ts";
import { FlannelError } from "#programs/flannel/reports.ts";
import { DEFAULT_OPTIONS, type FlanneldOptions } from "#programs/flannel/flanneld-options.ts";
import { flanneldFlags } from "#data/facts.js";
import { flannel } from "#data/words.js";

const WORDS = flannel();

const FLAG_KINDS = ["text", "list", "boolean", "integer"] as const;

interface Flag {
  readonly kind: (typeof FLAG_KINDS)[number];
  readonly initial: string;
  readonly help: string;
}

function readFlag(row: CheckedFields): Flag {
  const kind = row.word("type", FLAG_KINDS);
  const initial = row.optionalText("initial") ?? (kind === "boolean" ? "false" : "");
  const flag = { kind, initial, help: row.text("help") };
  row.end();
  return flag;
}

/** The flags of data/facts/flanneld-flags.yaml, which says what the fields of a row are. */
const FLAGS: Readonly<Record<string, Flag>> = Object.fromEntries(
  CheckedFields.ofTable(flanneldFlags())
    .rows()
    .map(([name, row]) => [name, readFlag(row)] as const),
);

/** What is wrong with the words: exit code 2, as Go's. */
export class FlagError extends Error {
  override readonly name = "FlagError";
}

export interface FlanneldFlags {
  readonly isHelp: boolean;
  readonly isVersion: boolean;
  readonly usesKubernetes: boolean;
  readonly kubeApiUrl: string;
  readonly kubeconfigFile: string;
  readonly annotationPrefix: string;
  readonly netConfigPath: string;
  readonly setsCondition: boolean;
  readonly etcd: {
    readonly endpoints: readonly string[];
    readonly prefix: string;
    readonly keyFile: string;
    readonly certificateFile: string;
    readonly authorityFile: string;
    readonly username: string;
    readonly password: string;
  };
  readonly healthzIp: string;
  readonly healthzPort: number;
  readonly options: FlanneldOptions;
}

/** Go's spellings of truth. */
const TRUTH: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "true", "TRUE", "True"].map((word) => [word, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((word) => [word, false] as const),
]);

class Values {
  private readonly given = new Map<string, string[]>();

  has(name: string): boolean {
    return this.given.has(name);
  }

  /** @throws FlagError for a value of the wrong kind. */
  set(name: string, value: string, place: string): void {
    const { kind } = FLAGS[name] ?? { kind: "text" };
    const isBad =
      (kind === "boolean" && !TRUTH.has(value)) || (kind === "integer" && !/^-?\d{1,9}$/.test(value));
    if (isBad) throw new FlagError(`invalid value ${JSON.stringify(value)} for ${place}: parse error`);
    if (kind === "list") this.given.set(name, [...this.list(name), value]);
    else this.given.set(name, [value]);
  }

  list(name: string): readonly string[] {
    return this.given.get(name) ?? [];
  }

  text(name: string): string {
    return this.given.get(name)?.at(-1) ?? FLAGS[name]?.initial ?? "";
  }

  boolean(name: string): boolean {
    return TRUTH.get(this.text(name)) ?? false;
  }

  integer(name: string): number {
    return Number(this.text(name));
  }
}

function unknown(word: string, name: string): FlagError {
  const [near] = nearestNames(name, Object.keys(FLAGS), 1);
  const meant = near === undefined ? "" : `; did you mean --${near}?`;
  return new FlagError(`flag provided but not defined: ${word}${meant}`);
}

/** `-name`, `--name`, `--name=value`, `--name value`; a switch takes its value behind `=` only. */
function readWords(words: readonly string[], values: Values): boolean {
  let isHelp = false;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    const [, name = "", value] = /^--?([^=-][^=]*)(?:=(.*))?$/s.exec(word) ?? [];
    if (name === "") throw new FlagError(`${JSON.stringify(word)} is not a flag: flanneld takes flags only`);
    if (name === "h" || name === "help") isHelp = true;
    else if (FLAGS[name] === undefined) throw unknown(word.split("=")[0] ?? word, name);
    else if (value !== undefined) values.set(name, value, `flag -${name}`);
    else if (FLAGS[name].kind === "boolean") values.set(name, "true", `flag -${name}`);
    else {
      const next = words[++at];
      if (next === undefined) throw new FlagError(`flag needs an argument: -${name}`);
      values.set(name, next, `flag -${name}`);
    }
  }
  return isHelp;
}

export type Variables = Readonly<Record<string, string | undefined>>;

/** Variables fill in flags that are not given: `FLANNELD_ETCD_PREFIX`. */
function readVariables(variables: Variables, values: Values): void {
  for (const name of Object.keys(FLAGS)) {
    const variable = `FLANNELD_${name.toUpperCase().replaceAll("-", "_")}`;
    const value = variables[variable] ?? "";
    if (value !== "" && !values.has(name)) values.set(name, value, `variable ${variable}`);
  }
}

function compatOf(text: string): Compat {
  const compat = parseCompat(text);
  if (compat !== undefined) return compat;
  throw new FlagError(
    `invalid value ${JSON.stringify(text)} for flag -mullion-compat: write upstream or hardened`,
  );
}

function queueDepth(variables: Variables): number {
  const text = variables["EVENT_QUEUE_DEPTH"] ?? "";
  if (text === "") return DEFAULT_OPTIONS.eventQueueDepth;
  if (!/^-?\d{1,9}$/.test(text))
    throw new FlannelError(
      "flanneld-cannot-start",
      `env EVENT_QUEUE_DEPTH=${text} format error: invalid syntax`,
    );
  return Number(text) > 0 ? Number(text) : DEFAULT_OPTIONS.eventQueueDepth;
}

/** @throws FlagError for words, FlannelError for values that flanneld cannot run with. */
export function readFlags(words: readonly string[], variables: Variables): FlanneldFlags {
  const values = new Values();
  const isHelp = readWords(words, values);
  readVariables(variables, values);
  const margin = values.integer("subnet-lease-renew-margin");
  const isVersion = values.boolean("version");
  if (!isHelp && !isVersion && (margin <= 0 || margin >= 24 * 60))
    throw new FlannelError("flanneld-cannot-start", WORDS.renewMarginInvalid({ margin }));
  return {
    isHelp,
    isVersion,
    usesKubernetes: values.boolean("kube-subnet-mgr"),
    kubeApiUrl: values.text("kube-api-url"),
    kubeconfigFile: values.text("kubeconfig-file"),
    annotationPrefix: values.text("kube-annotation-prefix"),
    netConfigPath: values.text("net-config-path"),
    setsCondition: values.boolean("set-node-network-unavailable"),
    etcd: {
      endpoints: values.text("etcd-endpoints").split(","),
      prefix: values.text("etcd-prefix"),
      keyFile: values.text("etcd-keyfile"),
      certificateFile: values.text("etcd-certfile"),
      authorityFile: values.text("etcd-cafile"),
      username: values.text("etcd-username"),
      password: values.text("etcd-password"),
    },
    healthzIp: values.text("healthz-ip"),
    healthzPort: values.integer("healthz-port"),
    options: {
      compat: compatOf(values.text("mullion-compat")),
      iface: values.list("iface"),
      ifaceRegex: values.list("iface-regex"),
      ifaceCanReach: values.text("iface-can-reach"),
      publicIp: values.text("public-ip"),
      publicIpv6: values.text("public-ipv6"),
      subnetFile: values.text("subnet-file"),
      subnetLeaseRenewMargin: margin,
      ipMasq: values.boolean("ip-masq"),
      ipBlackholeRoute: values.boolean("ip-blackhole-route"),
      ipMasqFullyRandomDisable: values.boolean("ip-masq-fully-random-disable"),
      iptablesResync: Math.max(values.integer("iptables-resync"), 1),
      iptablesForwardRules: values.boolean("iptables-forward-rules"),
      eventQueueDepth: queueDepth(variables),
      behaviour: DEFAULT_OPTIONS.behaviour,
    },
  };
}

const HELP_WIDTH = 34;

/** What `--help` prints. */
export function helpText(): string {
  const lines = Object.entries(FLAGS).map(([name, { kind, initial, help }]) => {
    const word = `  --${name}${kind === "boolean" ? "" : ` ${kind === "integer" ? "N" : "TEXT"}`}`;
    const reported = initial === "" || initial === "false" ? "" : ` (default ${initial})`;
    return word.length < HELP_WIDTH
      ? `${word.padEnd(HELP_WIDTH)}${help}${reported}`
      : `${word}\n${" ".repeat(HELP_WIDTH)}${help}${reported}`;
  });
  return [
    "Usage: flanneld [OPTION]...",
    "",
    WORDS.usageDescription,
    "",
    ...lines,
    "",
    "Each flag has a variable: FLANNELD_KUBE_SUBNET_MGR=true. NODE_NAME, or POD_NAME and POD_NAMESPACE,",
    "say which node this is; EVENT_QUEUE_DEPTH and CONT_WHEN_CACHE_NOT_READY are upstream's.",
    "",
  ].join("\n");
}
