/**
 * KUBE_NETWORK: which HNS networks Calico looks after. Upstream takes any pattern of Go; here those that people write are
 * read: names with `.*`, `.`, `^`, `$`, `|` and `(?i)`, so that no pattern takes long.
 */

/** What upstream takes without the variable (felix/dataplane/windows/endpoint_mgr.go). */
export const CALICO_NETWORK_DEFAULT = "(?i)calico.*";

const PATTERN_LENGTH_MAX = 256;

interface Alternative {
  readonly parts: readonly string[];
  readonly isAtStart: boolean;
  readonly isAtEnd: boolean;
}

export interface NetworkPattern {
  readonly ignoresCase: boolean;
  readonly alternatives: readonly Alternative[];
}

/** Undefined for a pattern that has more than that. */
export function parseNetworkPattern(text: string): NetworkPattern | undefined {
  const ignoresCase = text.startsWith("(?i)");
  const bare = ignoresCase ? text.slice(4) : text;
  if (bare.length > PATTERN_LENGTH_MAX || /[()[\]{}+?\\]/.test(bare)) return undefined;
  const alternatives: Alternative[] = [];
  for (const each of bare.split("|")) {
    const isAtStart = each.startsWith("^");
    const isAtEnd = each.endsWith("$");
    const middle = each.slice(isAtStart ? 1 : 0, isAtEnd ? -1 : undefined);
    const parts = middle.split(".*");
    if (/[\^$*]/.test(parts.join(""))) return undefined;
    alternatives.push({ parts, isAtStart, isAtEnd });
  }
  return { ignoresCase, alternatives };
}

function isHere(text: string, part: string, at: number): boolean {
  for (let offset = 0; offset < part.length; offset++)
    if (part[offset] !== "." && part[offset] !== text[at + offset]) return false;
  return true;
}

/** Where `part` begins in `text` from `start` on; a dot is any character. */
function indexOfPart(text: string, part: string, start: number): number {
  for (let at = start; at + part.length <= text.length; at++) {
    if (isHere(text, part, at)) return at;
  }
  return -1;
}

function endsWithPart(text: string, part: string, from: number): boolean {
  const at = text.length - part.length;
  return at >= from && indexOfPart(text.slice(at), part, 0) === 0;
}

function matchesAlternative({ parts, isAtStart, isAtEnd }: Alternative, name: string): boolean {
  let at = 0;
  for (const [index, part] of parts.entries()) {
    if (index === parts.length - 1 && isAtEnd) {
      const isWhole = parts.length === 1 && isAtStart;
      return isWhole
        ? name.length === part.length && indexOfPart(name, part, 0) === 0
        : endsWithPart(name, part, at);
    }
    const found = indexOfPart(name, part, at);
    if (found < 0 || (index === 0 && isAtStart && found !== 0)) return false;
    at = found + part.length;
  }
  return true;
}

export function matchesNetwork({ ignoresCase, alternatives }: NetworkPattern, name: string): boolean {
  const text = ignoresCase ? name.toLowerCase() : name;
  return alternatives.some((each) => {
    const parts = ignoresCase ? each.parts.map((part) => part.toLowerCase()) : each.parts;
    return matchesAlternative({ ...each, parts }, text);
  });
}
