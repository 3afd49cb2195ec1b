/** A configuration as the document that it would be read from: durations as text, nothing that is left out by default. */
import { API_VERSION, FIELDS, KIND, type KubeProxyConfiguration, setAt, valueAt } from "./configuration.ts";
import { formatDuration } from "./duration.ts";

/** Fields that upstream leaves out when they say nothing. */
const LEFT_OUT_WHEN_EMPTY: readonly string[] = [
  "featureGates",
  "logging.vmodule",
  "logging.options.text.splitStream",
  "logging.options.json.splitStream",
  "windowsRunAsService",
];

function isEmpty(value: unknown): boolean {
  if (value === null || value === false) return true;
  return typeof value === "object" && Object.keys(value ?? {}).length === 0;
}

/** Periods of other modes than the one in use are not kept by upstream. */
const OF_OTHER_MODES: readonly string[] = [
  "ipvs.syncPeriod",
  "ipvs.minSyncPeriod",
  "nftables.syncPeriod",
  "nftables.minSyncPeriod",
];

/** The document, its fields in alphabetical order, as upstream writes it. */
export function describeConfiguration(
  configuration: KubeProxyConfiguration,
): Readonly<Record<string, unknown>> {
  const document: Record<string, unknown> = { apiVersion: API_VERSION, kind: KIND };
  for (const { path, type } of FIELDS) {
    const value = valueAt(configuration, path);
    if (LEFT_OUT_WHEN_EMPTY.includes(path) && isEmpty(value)) continue;
    const isDuration = type === "duration" && typeof value === "number";
    const shown = OF_OTHER_MODES.includes(path) ? 0 : value;
    setAt(document, path, isDuration ? formatDuration(shown as number) : shown);
  }
  return sorted(document);
}

function sorted(section: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const entries = Object.entries(section).map(([name, value]) => {
    const isSection = typeof value === "object" && value !== null && !Array.isArray(value);
    return [name, isSection ? sorted(value as Record<string, unknown>) : value] as const;
  });
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
