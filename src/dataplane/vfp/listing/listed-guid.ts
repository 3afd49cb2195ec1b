/**
 * Ids that HNS makes for rules of its own: GUIDs, of which nothing tells how they come about. Inferred: here they follow from
 * what the rule is, so that the same rule has the same id in every listing.
 */

const WORDS = 4;
const FNV_PRIME = 0x0100_0193;
const FNV_BASIS = 0x811c_9dc5;

/** 32 bits of a text; `lane` tells independent ones apart. */
function hashText(text: string, lane: number): number {
  let hash = FNV_BASIS ^ Math.imul(lane + 1, 0x9e37_79b1);
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** A GUID (version 4, in capitals as `vfpctrl` prints them) that follows from `text`. */
export function listedGuid(text: string): string {
  const digits = Array.from({ length: WORDS }, (_, lane) =>
    hashText(text, lane).toString(16).padStart(8, "0"),
  ).join("");
  const variant = ((Number.parseInt(digits.slice(16, 17), 16) & 3) | 8).toString(16);
  const parts = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `4${digits.slice(13, 16)}`,
    variant + digits.slice(17, 20),
    digits.slice(20, 32),
  ];
  return parts.join("-").toUpperCase();
}
