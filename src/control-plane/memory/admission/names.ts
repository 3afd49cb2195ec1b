/** Names that Kubernetes draws by lot, from a seed (k8s.io/apimachinery, `util/rand`). */
import type { Prng } from "#core/base/prng.ts";

/** Letters that make no words and no doubt. */
const ALPHABET = "bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH = 5;
/** `generateName` is cut so that name and suffix fit. */
const BASE_LENGTH_MAX = 58;

/** The end of a generated name. */
export function randomSuffix(prng: Prng): string {
  let suffix = "";
  for (let i = 0; i < SUFFIX_LENGTH; i++) suffix += ALPHABET[prng.below(ALPHABET.length)] ?? "";
  return suffix;
}

export function generatedName(base: string, prng: Prng): string {
  return `${base.slice(0, BASE_LENGTH_MAX)}${randomSuffix(prng)}`;
}

/**
 * The hash of a pod template, as a label and a part of a ReplicaSet's name. FNV-1a like Kubernetes', but over JSON
 * instead of Go's own notation: it tells templates apart as there, with other letters.
 */
export function templateHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193) >>> 0;
  }
  return String(hash).replace(/\d/g, (digit) => ALPHABET[digit.charCodeAt(0) % ALPHABET.length] ?? "");
}
