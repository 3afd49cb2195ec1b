/** The words behind the numbers of `Flags` (dataplane.md §7.2, §7.4; the words of rules beyond two are those of the help). */
import { LayerFlag, RuleFlag } from "#dataplane/vfp/listing/listing.ts";

const LAYER_WORDS: readonly (readonly [number, string])[] = [
  [LayerFlag.defaultAllow, "Default Allow"],
  [LayerFlag.clearTni, "Clear TNI"],
  [LayerFlag.updateFlows, "Update flows on address change"],
];

const RULE_WORDS: readonly (readonly [number, string])[] = [
  [RuleFlag.terminating, "terminating"],
  [RuleFlag.stateful, "stateful"],
  [RuleFlag.nonSynOnly, "non-syn-only"],
  [RuleFlag.trackTcpState, "track-tcp-state"],
  [RuleFlag.synOnly, "syn-only"],
  [RuleFlag.skipHairpin, "skip-hairpinning"],
];

/**
 * The flags of layers, in the order in which they are printed. vfpctrl puts a comma in front of each word but the very
 * first of its output, and none in front of `Hairpin Layer` (observed): so the first layer of a list reads
 * `0x1 Default Allow`, all others `0x1, Default Allow`.
 */
export class LayerFlagWords {
  private isFirst = true;

  /** With its blank at the end; undefined for a layer without flags, which has no such line. */
  next(flags: number): string | undefined {
    if (flags === 0) return undefined;
    let text = `0x${flags.toString(16)}`;
    if ((flags & LayerFlag.hairpin) !== 0) {
      text += " Hairpin Layer";
      this.isFirst = false;
    }
    for (const [flag, word] of LAYER_WORDS) {
      if ((flags & flag) === 0) continue;
      text += `${this.isFirst ? "" : ","} ${word} `;
      this.isFirst = false;
    }
    return text.endsWith(" ") ? text : `${text} `;
  }
}

/** `8195 terminating stateful `: with its blank at the end. */
export function ruleFlagWords(flags: number): string {
  const words = RULE_WORDS.filter(([flag]) => (flags & flag) !== 0).map(([, word]) => word);
  return [flags, ...words, ""].join(" ");
}
