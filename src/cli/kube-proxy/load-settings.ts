/** Command line and configuration file to what kube-proxy runs with; what is wrong with them is reported in full. */
import { type Compat, chooseMode } from "#core/base/compat.ts";
import { type Behaviour, behaviourOf, type KubernetesVersion } from "#programs/kube-proxy/behaviour.ts";
import type { KubeProxyConfiguration } from "#programs/kube-proxy/configuration/configuration.ts";
import { decodeConfiguration, placeOfField } from "#programs/kube-proxy/configuration/decode.ts";
import { checkGates } from "#programs/kube-proxy/configuration/feature-gates.ts";
import { FLAGS, flagsOf } from "#programs/kube-proxy/configuration/flags.ts";
import { parseFlags } from "#programs/kube-proxy/configuration/parse-flags.ts";
import {
  MINOR_MAX,
  MINOR_MIN,
  besideFile,
  configurationOfFlags,
  overlookedFlags,
  parseKubernetesVersion,
} from "#programs/kube-proxy/configuration/settings.ts";
import {
  type ConfigurationFault,
  formatFault,
  validateConfiguration,
} from "#programs/kube-proxy/configuration/validate.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { type FileProblem, formatProblem } from "#core/catalogue/file-problem.ts";
import { describeSystemError } from "../mullion/failure.ts";
import { StartFailure } from "./complaint.ts";
import { kubeProxy } from "#data/words.js";

const WORDS = kubeProxy();

export type Variables = Readonly<Record<string, string | undefined>>;

export interface Settings {
  readonly flags: ReadonlyMap<string, unknown>;
  readonly configuration: KubeProxyConfiguration;
  readonly kubernetes: KubernetesVersion;
  readonly compat: Compat;
  readonly configFile: { readonly path: string; readonly text: string } | undefined;
  /** Worth a line in the log. */
  readonly warnings: readonly string[];
}

/** What the words ask for besides running. */
export type Request =
  | { readonly kind: "help" }
  | { readonly kind: "version"; readonly isRaw: boolean }
  | { readonly kind: "run"; readonly settings: Settings };

function refuse(code: KnowledgeCode, message: string, advice: string): StartFailure {
  return new StartFailure([{ code, message, advice }]);
}

/** A word of Mullion's own: the flag, else the variable; empty when neither says anything. */
function ownWord(argv: readonly string[], flag: string, variable: string, variables: Variables): string {
  const at = argv.findIndex((word) => word === flag || word.startsWith(`${flag}=`));
  const word = at < 0 ? undefined : argv[at]?.includes("=") ? argv[at]?.slice(flag.length + 1) : argv[at + 1];
  return word ?? variables[variable] ?? "";
}

/** The version decides which flags there are, so it is looked for before they are read. */
export function chooseVersion(argv: readonly string[], variables: Variables): KubernetesVersion {
  const word = ownWord(argv, "--mullion-kubernetes", "MULLION_KUBERNETES", variables);
  const version = word === "" ? { major: 1, minor: MINOR_MAX } : parseKubernetesVersion(word);
  if (version !== undefined) return version;
  throw refuse(
    "bad-usage",
    WORDS.kubernetesVersionInvalid({ word: JSON.stringify(word) }),
    `Known are 1.${MINOR_MIN} to 1.${MINOR_MAX}.`,
  );
}

function chooseCompat(argv: readonly string[], variables: Variables): Compat {
  const word = ownWord(argv, "--mullion-compat", "MULLION_COMPAT", variables);
  const compat = chooseMode(word);
  if (compat !== undefined) return compat;
  const message = `invalid argument ${JSON.stringify(word)} for "--mullion-compat" flag`;
  throw refuse("bad-usage", message, "Write hardened or upstream.");
}

const ADDRESS_FIELDS: readonly string[] = [
  "bindAddress",
  "healthzBindAddress",
  "metricsBindAddress",
  "clusterCIDR",
];

function codeOf({ field }: ConfigurationFault): KnowledgeCode {
  if (field === "mode") return "kube-proxy-mode-not-for-windows";
  return ADDRESS_FIELDS.includes(field) ? "kube-proxy-address-invalid" : "kube-proxy-configuration-invalid";
}

interface ConfigFile {
  readonly path: string;
  readonly text: string;
}

/** Where the faulty value was given. */
function placeOf(field: string, flag: string | undefined, file: ConfigFile | undefined): string {
  if (file === undefined) return flag === undefined ? field : `--${flag}`;
  const { line, column } = placeOfField(file.text, field.replace(/\[\d+\]$/, ""));
  return `${file.path}:${line}:${column}: ${field}`;
}

function checkConfiguration(
  configuration: KubeProxyConfiguration,
  file: ConfigFile | undefined,
  behaviour: Behaviour,
): readonly string[] {
  const gates = checkGates(configuration.featureGates, behaviour.minor);
  if (gates.refused.length > 0)
    throw new StartFailure(
      gates.refused.map(({ name, message, advice }) => ({
        code: "kube-proxy-feature-gate-refused",
        message: `failed complete: ${message}`,
        advice: `${placeOf(`featureGates.${name}`, "feature-gates", file)}: ${advice}`,
      })),
    );
  const faults = validateConfiguration(configuration, behaviour);
  if (faults.length > 0)
    throw new StartFailure(
      faults.map((fault) => ({
        code: codeOf(fault),
        message: `failed validate: ${formatFault(fault)}`,
        advice: `${placeOf(fault.field, fault.flag, file)}${fault.advice === "" ? "" : `: ${fault.advice}`}`,
      })),
    );
  return gates.noted.map(({ message }) => message);
}

async function readConfiguration(
  path: string,
  readFile: (path: string) => Promise<string>,
): Promise<{
  readonly configuration: KubeProxyConfiguration;
  readonly text: string;
  readonly skipped: readonly FileProblem[];
}> {
  let text: string;
  try {
    text = await readFile(path);
  } catch (error) {
    throw refuse(
      "kube-proxy-configuration-invalid",
      `failed complete: cannot read ${path}: ${describeSystemError(error)}`,
      WORDS.adviceConfigPath({ path }),
    );
  }
  const { configuration, problems, warnings } = decodeConfiguration(path, text);
  if (configuration === undefined)
    throw new StartFailure(
      [
        {
          code: "kube-proxy-configuration-invalid",
          message: `failed complete: failed to decode ${path}`,
          advice: "",
        },
      ],
      problems,
    );
  return { configuration, text, skipped: warnings };
}

function onOneLine(problem: FileProblem): string {
  return formatProblem(problem).trim().replaceAll(/\n\s+/g, " ");
}

/** Upstream's warning about a flag that will go. */
function deprecations(flags: ReadonlyMap<string, unknown>): readonly string[] {
  return FLAGS.flatMap(({ name, deprecated }) =>
    deprecated !== undefined && flags.has(name) ? [`Flag --${name} has been deprecated. ${deprecated}`] : [],
  );
}

function applyHostname(configuration: KubeProxyConfiguration, flags: ReadonlyMap<string, unknown>): void {
  const override = flags.get("hostname-override");
  if (typeof override !== "string" || override === "") return;
  if (override.trim() === "")
    throw refuse(
      "kube-proxy-configuration-invalid",
      "failed complete: empty hostname-override is invalid",
      WORDS.adviceHostnameOverride,
    );
  configuration.hostnameOverride = override.trim().toLowerCase();
}

/** What is skipped in a file belongs to what is wrong with it: a typing error may be the reason. */
function noted<T>(skipped: readonly FileProblem[], check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof StartFailure)
      throw new StartFailure(error.complaints, [...error.problems, ...skipped]);
    throw error;
  }
}

/**
 * Reads everything that says how kube-proxy is to run.
 * @throws StartFailure
 */
export async function loadSettings(
  argv: readonly string[],
  variables: Variables,
  readFile: (path: string) => Promise<string>,
): Promise<Request> {
  const kubernetes = chooseVersion(argv, variables);
  const parsed = parseFlags(argv, flagsOf(kubernetes.minor));
  if ("message" in parsed) throw refuse("kube-proxy-flag-refused", parsed.message, parsed.advice);
  const { values: flags, isHelp } = parsed;
  if (isHelp) return { kind: "help" };
  const version = flags.get("version");
  if (typeof version === "string" && version !== "false")
    return { kind: "version", isRaw: version === "raw" };
  const compat = chooseCompat(argv, variables);
  const path = flags.get("config");
  const hasFile = typeof path === "string" && path !== "";
  const read = hasFile ? await readConfiguration(path, readFile) : undefined;
  const configuration =
    read === undefined ? configurationOfFlags(flags) : besideFile(read.configuration, flags);
  applyHostname(configuration, flags);
  const configFile = read === undefined || !hasFile ? undefined : { path, text: read.text };
  const gateNotes = noted(read?.skipped ?? [], () =>
    checkConfiguration(configuration, configFile, behaviourOf(kubernetes, compat)),
  );
  const overlooked =
    read === undefined
      ? []
      : overlookedFlags(flags).map(
          (name) =>
            `--${name} has no effect beside --config: write it into ${String(path)} [kube-proxy-flags-beside-config]`,
        );
  const lenient = (read?.skipped ?? []).map(
    (problem) => `Using lenient decoding as strict decoding failed: ${onOneLine(problem)}`,
  );
  const warnings = [...deprecations(flags), ...lenient, ...overlooked, ...gateNotes];
  return { kind: "run", settings: { flags, configuration, kubernetes, compat, configFile, warnings } };
}
