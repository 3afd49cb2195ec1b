/** Whether a listing of vfpctrl ends before its end: of one that does, no rule is missed. */
import type { ReadPort, ReadRule } from "../vfp-text/parse-rules.ts";
import type { RuleListing } from "./evidence.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

/** What a command of vfpctrl prints first, and last (dataplane.md §7.1). */
const BEGUN = /^[\t ]{0,16}ITEM LIST[\t ]{0,16}\r?$/mu;
const ENDED = /^[\t ]{0,16}Command \S{1,40} succeeded!/gmu;
/** The last fields of a rule; builds differ in one of them. */
const LAST_FIELDS = ["Flow TTL", "FlagsEx"];

function rulesOf(ports: readonly ReadPort[]): readonly ReadRule[] {
  return ports.flatMap(({ layers }) => layers).flatMap(({ groups }) => groups.flatMap(({ rules }) => rules));
}

/** A rule without its end, where others have theirs. */
function isLastRuleCut(ports: readonly ReadPort[]): boolean {
  const rules = rulesOf(ports);
  const last = rules.at(-1);
  if (last?.absent === undefined) return false;
  const others = rules.slice(0, -1);
  const absent = LAST_FIELDS.filter((field) => last.absent?.includes(field) === true);
  return others.length === 0
    ? absent.length === LAST_FIELDS.length
    : absent.some((field) => others.some((rule) => rule.absent?.includes(field) !== true));
}

/** The last command does not tell that it is done, and those before it do, or it stands there from its first line on. */
function isLastCommandUnfinished(text: string, ports: readonly ReadPort[]): boolean {
  const end = [...text.matchAll(ENDED)].at(-1)?.index;
  if (end === undefined) return BEGUN.test(text);
  const line = text.slice(0, end).split("\n").length;
  return (rulesOf(ports).at(-1)?.line ?? 0) > line;
}

/** The last port has the first layers of another one, and not the rest: ports of one switch have the same. */
function lacksLayers(ports: readonly ReadPort[]): boolean {
  const [last, ...others] = ports.map(({ layers }) => layers.map(({ id }) => id)).toReversed();
  if (last === undefined || last.length === 0) return false;
  return others.some(
    (each) => each.length > last.length && last.every((layer, index) => layer === each[index]),
  );
}

/**
 * What shows that a listing is cut; undefined where nothing does. Of a single port a cut between two
 * rules is seen where the first lines of its command are there.
 */
export function cutOf(text: string, listings: readonly RuleListing[]): string | undefined {
  if (listings.length === 0) return undefined;
  const ports = listings.map(({ port }) => port);
  // Commands end their last line.
  if (!/\n[\t ]*$/u.test(text)) return WORDS.listingCutInLine;
  if (isLastRuleCut(ports)) return WORDS.listingCutInRule;
  if (isLastCommandUnfinished(text, ports)) return WORDS.listingCutInCommand;
  return lacksLayers(ports) ? WORDS.listingCutInPort : undefined;
}
