/**
 * What differs between two listings, in words. Names that hold a node's address or an object's id differ between any two
 * nodes; they are compared without these, and the two forms of LB_DSR ids are taken for the same (users.md §4).
 */
import { addToList } from "#core/base/keyed-lists.ts";
import { parseIp } from "#core/net/ip.ts";
import { ConditionLabel, listItems } from "#dataplane/vfp/listing/conditions.ts";
import type { ListingDifference } from "./documents.ts";
import { parseLbDsrId } from "#dataplane/vfp/listing/lb-dsr-id.ts";
import type {
  ListedCondition,
  ListedGroup,
  ListedLayer,
  ListedRule,
} from "#dataplane/vfp/listing/listing.ts";

export interface ComparedSide {
  readonly layers: readonly ListedLayer[];
  /** Addresses of the node and of who is behind the port: they are no difference. */
  readonly ownAddresses?: readonly string[];
}

const GUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;

/** Names of pools join the addresses of pod and node without a mark between them (dataplane.md §1.8). */
const POOL = /(SLB_NATPOOL_IPV\d_(?:TCP|UDP)_)\S+/g;

/** What an address is written with: looked up, since a node with ten thousand Services has as many addresses. */
const ADDRESS = /[0-9a-f.:]+/gi;

/** Addresses that rules give away: of the node in names of LB_DSR rules, of the pod where OutBoundNAT translates it. */
function tellTaleAddresses(layers: readonly ListedLayer[]): readonly string[] {
  const rules = layers.flatMap((layer) => layer.groups.flatMap((group) => group.rules));
  const addresses = rules.flatMap(({ id, name, conditions }) => {
    if (!/_OUTBOUNDNAT_/.test(name)) return parseLbDsrId(id)?.nodeAddress ?? [];
    const source = conditions.find(({ label }) => label === ConditionLabel.source)?.value ?? "";
    return parseIp(source) === undefined ? [] : [source];
  });
  return [...new Set(addresses)].filter((each) => each !== "");
}

/** Takes what is a node's own out of texts: of either side, since a file does not say what its node's own is. */
class Neutral {
  private readonly own: ReadonlySet<string>;

  constructor(sides: readonly ComparedSide[]) {
    const own = sides.flatMap(({ layers, ownAddresses = [] }) => [
      ...tellTaleAddresses(layers),
      ...ownAddresses,
    ]);
    this.own = new Set(own.map((ip) => ip.toLowerCase()));
  }

  text(text: string): string {
    const neutral = text.replaceAll(POOL, "$1{own}").replaceAll(GUID, "{id}");
    return neutral.replaceAll(ADDRESS, (run) => (this.own.has(run.toLowerCase()) ? "{own}" : run));
  }

  /** What a rule is found by on the other side. */
  nameOf(rule: ListedRule): string {
    const id = parseLbDsrId(rule.id) ?? parseLbDsrId(rule.name);
    if (id === undefined) return this.text(rule.name === "" ? rule.id : rule.name);
    const { vip, externalPort, internalPort, protocol } = id;
    return `LB_DSR ${this.text(vip)} ${externalPort} ${internalPort} ${protocol}`;
  }
}

interface Sides<T> {
  readonly left: T;
  readonly right: T;
}

/**
 * Pairs up what has the same name: by the first way to name it, and what is left by the next. The first with the first
 * where there are several.
 */
function pair<T>(
  sides: Sides<readonly T[]>,
  ...ways: readonly ((item: T) => string)[]
): readonly Partial<Sides<T>>[] {
  const partners = new Map<T, T>();
  let [left, right] = [sides.left, sides.right];
  for (const nameOf of ways) {
    const waiting = new Map<string, T[]>();
    // From the last to the first, so that the first is taken first from the end.
    for (const item of right.toReversed()) {
      const name = nameOf(item);
      addToList(waiting, name, item);
    }
    for (const item of left) {
      const partner = waiting.get(nameOf(item))?.pop();
      if (partner !== undefined) partners.set(item, partner);
    }
    const taken = new Set(partners.values());
    left = left.filter((item) => !partners.has(item));
    right = right.filter((item) => !taken.has(item));
  }
  const pairs = sides.left.map((item): Partial<Sides<T>> => {
    const partner = partners.get(item);
    return partner === undefined ? { left: item } : { left: item, right: partner };
  });
  return [...pairs, ...right.map((item) => ({ right: item }))];
}

function rawName({ id, name, type }: ListedRule): string {
  return [id, name, type].join("|");
}

function onlyOne<T>(each: Partial<Sides<T>>): "only-left" | "only-right" | undefined {
  if (each.left === undefined) return "only-right";
  return each.right === undefined ? "only-left" : undefined;
}

class Comparison {
  readonly differences: ListingDifference[] = [];
  private readonly neutral: Neutral;

  constructor(sides: Sides<ComparedSide>) {
    this.neutral = new Neutral([sides.left, sides.right]);
  }

  /** Fields of the two items at hand that one of their texts does not carry. */
  private unsaid: readonly string[] = [];

  layers(sides: Sides<readonly ListedLayer[]>): void {
    for (const each of pair(sides, (layer) => layer.id)) {
      const { left, right } = each;
      const kind = onlyOne(each);
      const layer = (left ?? right)?.id ?? "";
      if (kind !== undefined) this.differences.push({ kind, layer });
      if (left === undefined || right === undefined) continue;
      this.unsaid = [...(left.absent ?? []), ...(right.absent ?? [])];
      const place = { layer };
      this.field(place, "Priority", left.priority, right.priority);
      this.field(place, "Flags", left.flags, right.flags);
      this.groups({ left: left.groups, right: right.groups }, layer);
    }
  }

  private groups(sides: Sides<readonly ListedGroup[]>, layer: string): void {
    for (const each of pair(sides, (group) => group.id)) {
      const { left, right } = each;
      const kind = onlyOne(each);
      const place = { layer, group: (left ?? right)?.id ?? "" };
      if (kind !== undefined) this.differences.push({ kind, ...place });
      if (left === undefined || right === undefined) continue;
      this.unsaid = [...(left.absent ?? []), ...(right.absent ?? [])];
      this.field(place, "Priority", left.priority, right.priority);
      this.field(place, "Direction", left.direction, right.direction);
      this.field(place, "Type", left.type, right.type);
      this.field(place, "Match type", left.match, right.match);
      this.conditions(place, left.conditions, right.conditions);
      this.rules({ left: left.rules, right: right.rules }, place);
    }
  }

  private rules(
    sides: Sides<readonly ListedRule[]>,
    group: { readonly layer: string; readonly group: string },
  ): void {
    for (const each of pair(sides, rawName, (rule) => this.neutral.nameOf(rule))) {
      const { left, right } = each;
      const kind = onlyOne(each);
      const named = left ?? right;
      const place = { ...group, rule: (named?.name === "" ? named.id : named?.name) ?? "" };
      if (kind !== undefined) this.differences.push({ kind, ...place });
      if (left === undefined || right === undefined) continue;
      this.unsaid = [...(left.absent ?? []), ...(right.absent ?? [])];
      this.field(place, "Priority", left.priority, right.priority);
      this.field(place, "Flags", left.flags, right.flags);
      this.field(place, "Type", left.type, right.type);
      this.conditions(place, left.conditions, right.conditions);
      this.field(place, "Flow TTL", left.ttl, right.ttl);
      this.data(place, left.data, right.data);
    }
  }

  private conditions(
    place: Pick<ListingDifference, "layer" | "group" | "rule">,
    left: readonly ListedCondition[],
    right: readonly ListedCondition[],
  ): void {
    if (this.unsaid.includes("Conditions")) return;
    const [ofLeft, ofRight] = [left, right].map((side) => Map.groupBy(side, ({ label }) => label));
    const valueOf = (conditions: readonly ListedCondition[] = []): string =>
      conditions
        .flatMap((each) => listItems(each.value))
        .toSorted()
        .join(", ");
    for (const label of new Set([...left, ...right].map((each) => each.label)))
      this.texts(place, label, valueOf(ofLeft?.get(label)), valueOf(ofRight?.get(label)));
  }

  /** Back ends have no order of their own. */
  private data(
    place: Pick<ListingDifference, "layer" | "group" | "rule">,
    left: readonly string[],
    right: readonly string[],
  ): void {
    const reported = (lines: readonly string[]): readonly string[] =>
      lines.map((line) => this.neutral.text(line.trim())).toSorted();
    const [a, b] = [reported(left), reported(right)];
    const [ofA, ofB] = [new Set(a), new Set(b)];
    const onlyA = a.filter((line) => !ofB.has(line));
    const onlyB = b.filter((line) => !ofA.has(line));
    this.texts(place, "Rule data", onlyA.join("; "), onlyB.join("; "));
  }

  private texts(
    place: Pick<ListingDifference, "layer" | "group" | "rule">,
    field: string,
    left: string,
    right: string,
  ): void {
    if (this.neutral.text(left) !== this.neutral.text(right)) this.field(place, field, left, right);
  }

  private field(
    place: Pick<ListingDifference, "layer" | "group" | "rule">,
    field: string,
    left: string | number,
    right: string | number,
  ): void {
    if (left !== right && !this.unsaid.includes(field))
      this.differences.push({ kind: "changed", ...place, field, left: `${left}`, right: `${right}` });
  }
}

/** Every difference, in the order of the left side; what only the right one has comes last in its list. */
export function compareListings(left: ComparedSide, right: ComparedSide): readonly ListingDifference[] {
  const comparison = new Comparison({ left, right });
  comparison.layers({ left: left.layers, right: right.layers });
  return comparison.differences;
}

/** One line of text. `names` are what people call the two sides. */
export function describeDifference(
  difference: ListingDifference,
  names: { readonly left: string; readonly right: string },
): string {
  const { kind, layer, group, rule, field, left = "", right = "" } = difference;
  const what =
    rule === undefined ? (group === undefined ? `layer ${layer}` : `group ${group}`) : `rule ${rule}`;
  const where =
    rule === undefined
      ? group === undefined
        ? ""
        : ` of ${layer}`
      : ` in ${[layer, group].filter(Boolean).join(", ")}`;
  if (kind !== "changed")
    return `${what}${where} is only on ${kind === "only-left" ? names.left : names.right}`;
  const value = (text: string): string => (text === "" ? "nothing" : text);
  return `${what}${where}: ${field ?? ""} is ${value(left)} on ${names.left} and ${value(right)} on ${names.right}`;
}
