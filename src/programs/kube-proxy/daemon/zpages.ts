/**
 * What people read of a running kube-proxy behind the gates `ComponentFlagz` and `ComponentStatusz`, as
 * k8s.io/component-base/zpages writes it. Upstream picks one of four separators at random, so that no program parses the pages;
 * here it is always the same.
 */
import type { FlagDefinition } from "../configuration/flags.ts";
import { formatDuration } from "../configuration/go-texts.ts";
import { kubeProxy } from "#data/words.js";

const WORDS = kubeProxy();

const WARNING = WORDS.zpagesWarning;
const COMPONENT = "kube-proxy";
const SEPARATOR = ": ";

/** What a flag stands at where it was not given, as pflag prints it. */
const ZEROS: Readonly<Record<string, string>> = { bool: "false", strings: "[]", duration: "0s" };

function valueText({ type, initial }: FlagDefinition, value: unknown): string {
  if (value === undefined) return initial ?? ZEROS[type] ?? (type === "string" ? "" : "0");
  if (type === "duration" && typeof value === "number") return formatDuration(value);
  if (Array.isArray(value)) return `[${value.join(",")}]`;
  // Feature gates: pflag sorts them.
  if (typeof value === "object" && value !== null)
    return Object.entries(value)
      .map(([name, isOn]) => `${name}=${String(isOn)}`)
      .toSorted()
      .join(",");
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** `/flagz`: every flag with its value, or its default, by name. */
export function flagzPage(flags: readonly FlagDefinition[], values: ReadonlyMap<string, unknown>): string {
  const lines = flags
    .map((flag) => `${flag.name}${SEPARATOR}${valueText(flag, values.get(flag.name))}\n`)
    .toSorted();
  return `\n${COMPONENT} flags\n${WARNING}\n\n${lines.join("")}`;
}

export interface StatuszFacts {
  /** Milliseconds since 1970. */
  readonly startedMs: number;
  readonly nowMs: number;
  /** Of Kubernetes. */
  readonly minor: number;
}

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"] as const;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"] as const;

function two(value: number): string {
  return String(value).padStart(2, "0");
}

/** As Go's `time.UnixDate`, in UTC. */
function unixDate(ms: number): string {
  const time = new Date(ms);
  const clock = [time.getUTCHours(), time.getUTCMinutes(), time.getUTCSeconds()].map(two).join(":");
  const day = String(time.getUTCDate()).padStart(2);
  return `${DAYS[time.getUTCDay()]} ${MONTHS[time.getUTCMonth()]} ${day} ${clock} UTC ${time.getUTCFullYear()}`;
}

/** `/statusz`: since when it runs, and what it is. Upstream names the version of Go besides, which there is none of here. */
export function statuszPage({ startedMs, nowMs, minor }: StatuszFacts): string {
  const up = Math.max(0, Math.floor((nowMs - startedMs) / 1_000));
  const uptime = `${Math.floor(up / 3_600)} hr ${two(Math.floor(up / 60) % 60)} min ${two(up % 60)} sec`;
  const facts = [
    ["Started", unixDate(startedMs)],
    ["Up", uptime],
    ["Binary version", `1.${minor}.0`],
    ["Emulation version", `1.${minor}`],
  ];
  const lines = facts.map(([name, value]) => `${name}${SEPARATOR} ${value}\n`);
  return `\n${COMPONENT} statusz\n${WARNING}\n\n${lines.join("")}`;
}
