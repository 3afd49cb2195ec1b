/** Flags and file together: what kube-proxy runs with (kube-proxy.md §1.1). */
import type { KubernetesVersion } from "../behaviour.ts";
import { HEALTHZ_PORT, type KubeProxyConfiguration, METRICS_PORT, setAt } from "./configuration.ts";
import { applyWindowsDefaults, defaultConfiguration, withPort } from "./defaults.ts";
import { FLAGS, type FlagDefinition } from "./flags.ts";

/** Minor versions of Kubernetes whose kube-proxy is known here (kube-proxy.md §4). */
export const MINOR_MIN = 20;
export const MINOR_MAX = 37;

/** `1.31`, `v1.31.4`: the version; undefined for what is none, or not known. */
export function parseKubernetesVersion(text: string): KubernetesVersion | undefined {
  const match = /^v?1\.(\d{1,3})(?:\.\d+)?(?:[-+].*)?$/.exec(text.trim());
  const minor = Number(match?.[1] ?? -1);
  return minor >= MINOR_MIN && minor <= MINOR_MAX ? { major: 1, minor } : undefined;
}

type FlagValues = ReadonlyMap<string, unknown>;

function setFlags(
  configuration: KubeProxyConfiguration,
  values: FlagValues,
  which: (flag: FlagDefinition) => boolean,
): void {
  for (const flag of FLAGS) {
    const value = values.get(flag.name);
    if (value !== undefined && flag.field !== undefined && which(flag))
      setAt(configuration, flag.field, value);
  }
}

/** An address without a port gets the one of the deprecated flag; 0 turns the server off. */
function fromDeprecated(address: string, port: unknown, standard: number): string {
  const wanted = typeof port === "number" ? port : standard;
  return wanted === 0 ? "" : withPort(address, wanted);
}

/**
 * The configuration of a command line alone. Defaults come before flags, as upstream's do: the address of the servers
 * stays IPv4 whatever `--bind-address` says, and a period of zero stays zero.
 */
export function configurationOfFlags(values: FlagValues): KubeProxyConfiguration {
  const configuration = defaultConfiguration();
  setFlags(configuration, values, () => true);
  configuration.healthzBindAddress = fromDeprecated(
    configuration.healthzBindAddress,
    values.get("healthz-port"),
    HEALTHZ_PORT,
  );
  configuration.metricsBindAddress = fromDeprecated(
    configuration.metricsBindAddress,
    values.get("metrics-port"),
    METRICS_PORT,
  );
  applyWindowsDefaults(configuration);
  return configuration;
}

/** A file's configuration with the flags that count beside it. */
export function besideFile(
  configuration: KubeProxyConfiguration,
  values: FlagValues,
): KubeProxyConfiguration {
  setFlags(configuration, values, ({ countsBesideConfig }) => countsBesideConfig === true);
  applyWindowsDefaults(configuration);
  return configuration;
}

/** Flags that do not count because there is a file. */
export function overlookedFlags(values: FlagValues): readonly string[] {
  return FLAGS.filter(
    ({ name, countsBesideConfig }) =>
      values.has(name) && countsBesideConfig !== true && !READ_ALWAYS.includes(name),
  ).map(({ name }) => name);
}

/** Flags that are no part of the configuration, and are read with or without a file. */
const READ_ALWAYS: readonly string[] = [
  "config",
  "write-config-to",
  "cleanup",
  "init-only",
  "version",
  "master",
];
