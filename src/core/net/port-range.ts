/** Ranges of TCP and UDP ports. */

/** All ports from `first` to `last`, both included; 0 to 65535. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

export function isPort(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= 0xffff;
}

/** Parses `80` or `1000-2000`. */
export function parsePortRange(text: string): PortRange | undefined {
  const match = /^\s*(\d{1,5})(?:-(\d{1,5}))?\s*$/.exec(text);
  if (match === null) return undefined;
  const first = Number(match[1]);
  const last = match[2] === undefined ? first : Number(match[2]);
  return isPort(first) && isPort(last) && first <= last ? { first, last } : undefined;
}

/** Parses a comma list of ports and ranges; undefined when any of them is none. */
export function parsePortRanges(text: string): PortRange[] | undefined {
  const ranges: PortRange[] = [];
  for (const part of text.split(",")) {
    const range = parsePortRange(part);
    if (range === undefined) return undefined;
    ranges.push(range);
  }
  return ranges;
}

export function formatPortRange(range: PortRange): string {
  return range.first === range.last ? `${range.first}` : `${range.first}-${range.last}`;
}
