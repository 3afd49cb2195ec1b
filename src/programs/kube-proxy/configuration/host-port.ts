/** `10.0.0.1:80` and `[::1]:80`, as Go's net.SplitHostPort takes them apart. */

export interface HostPort {
  readonly host: string;
  /** As text: it may be no number. */
  readonly port: string;
}

/** Undefined when there is no port, or when colons are not in brackets. */
export function splitHostPort(text: string): HostPort | undefined {
  const bracketed = /^\[([^[\]]*)\]:([^:[\]]*)$/.exec(text);
  if (bracketed !== null) return { host: bracketed[1] ?? "", port: bracketed[2] ?? "" };
  const plain = /^([^:[\]]*):([^:[\]]*)$/.exec(text);
  return plain === null ? undefined : { host: plain[1] ?? "", port: plain[2] ?? "" };
}

/** The port of an address; 0 when it has none. */
export function portOf(text: string): number {
  const port = Number(splitHostPort(text)?.port ?? "");
  return Number.isInteger(port) ? port : 0;
}
