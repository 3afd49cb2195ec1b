/** The line `options` of resolv.conf(5), as far as it decides whom to ask when. Windows reads none of it. */

export interface ResolverOptions {
  /** A name with at least so many dots is first asked for as it is. */
  readonly ndots: number;
  /** How long one server is waited for. */
  readonly timeoutSeconds: number;
  /** How often the list of servers is gone through. */
  readonly attempts: number;
}

/** Largest values that glibc takes (RES_MAXNDOTS, RES_MAXRETRANS, RES_MAXRETRY in resolv.h). */
const NDOTS_MAX = 15;
const TIMEOUT_SECONDS_MAX = 30;
const ATTEMPTS_MAX = 5;

function readNumber(options: readonly string[], name: string, byDefault: number, max: number): number {
  let value = byDefault;
  // The last one holds.
  for (const option of options) {
    const [key, text = ""] = option.split(":");
    if (key === name && /^\d{1,9}$/.test(text)) value = Math.min(Number(text), max);
  }
  return value;
}

/** Reads words such as `ndots:5`; unknown ones are passed by, as glibc does. */
export function readResolverOptions(options: readonly string[]): ResolverOptions {
  return {
    ndots: readNumber(options, "ndots", 1, NDOTS_MAX),
    timeoutSeconds: readNumber(options, "timeout", 5, TIMEOUT_SECONDS_MAX),
    attempts: readNumber(options, "attempts", 2, ATTEMPTS_MAX),
  };
}
