/**
 * Texts as Go reads and writes them: durations (`1h0m0s`, `30s`, `1.5ms`), in milliseconds, and hosts with ports
 * (`10.0.0.1:80`, `[::1]:80`), as net.SplitHostPort takes them apart.
 */

const MS_BY_UNIT: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

const WHOLE = /^[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/;
const PART = /(?<![\d.])(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;

/** The milliseconds that a text means; undefined for what Go refuses: `30` has no unit, `1d` none that it knows. */
export function parseDuration(text: string): number | undefined {
  if (/^[-+]?0$/.test(text)) return 0;
  if (!WHOLE.test(text)) return undefined;
  let ms = 0;
  for (const [, amount = "0", unit = ""] of text.matchAll(PART))
    ms += Number(amount) * (MS_BY_UNIT[unit] ?? 0);
  return text.startsWith("-") ? -ms : ms;
}

function plain(value: number): string {
  return String(Number(value.toFixed(9)));
}

/** As Go prints it: `15m0s`, `500ms`, `0s`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return "0s";
  const size = Math.abs(ms);
  const sign = ms < 0 ? "-" : "";
  if (size < 1e-3) return `${sign}${plain(size * 1e6)}ns`;
  if (size < 1) return `${sign}${plain(size * 1e3)}µs`;
  if (size < 1_000) return `${sign}${plain(size)}ms`;
  const hours = Math.floor(size / 3_600_000);
  const minutes = Math.floor((size % 3_600_000) / 60_000);
  const seconds = `${plain((size % 60_000) / 1_000)}s`;
  if (hours > 0) return `${sign}${hours}h${minutes}m${seconds}`;
  return `${sign}${minutes > 0 ? `${minutes}m` : ""}${seconds}`;
}

interface HostPort {
  readonly host: string;
  /** As text: it may be no number. */
  readonly port: string;
}

/** Undefined when there is no port, or when colons are not in brackets. */
export function splitHostPort(text: string): HostPort | undefined {
  const bracketed = /^\[([^[\]]*)\]:([^:[\]]*)$/.exec(text);
  if (bracketed !== null) return { host: bracketed[1] ?? "", port: bracketed[2] ?? "" };
  const unbracketed = /^([^:[\]]*):([^:[\]]*)$/.exec(text);
  return unbracketed === null ? undefined : { host: unbracketed[1] ?? "", port: unbracketed[2] ?? "" };
}

/** The port of an address; 0 when it has none. */
export function portOf(text: string): number {
  const port = Number(splitHostPort(text)?.port ?? "");
  return Number.isInteger(port) ? port : 0;
}
