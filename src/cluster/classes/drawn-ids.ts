/**
 * What a node draws by its own chance and nothing but names things: GUIDs, what is made of them, and MACs that no
 * interface has. Between two nodes they match one to one.
 */

/**
 * In texts; what is made of a GUID names the same thing. The NAT pool of an endpoint: addresses, a GUID and a number without
 * anything between them. A GUID. The beginning of an endpoint's, of a container's port. The beginning of a load balancer's, in
 * names of rules. What kube-proxy makes of those of the back ends, at the end of a key.
 */
const IN_TEXT: RegExp =
  /SLB_NATPOOL_\S+|[\da-fA-F]{8}(?:-[\da-fA-F]{4}){3}-[\da-fA-F]{12}|(?<=Container NIC )[\da-f]{8}|(?<=[a-z_])[\dA-F]{5}(?=_)|(?<=\|)-?\d+ -?\d+$/g;

/** MACs that Hyper-V and HNS draw. */
const FIRST_DRAWN = 0x0015_5d00_0000;
const LAST_DRAWN = 0x0015_5dff_ffff;

/** A text without its ids. */
export interface PlainText {
  readonly plain: string;
  readonly ids: readonly string[];
}

const NO_IDS: readonly string[] = Object.freeze([]);

export function withoutIds(text: string): PlainText {
  // All ids have a sign in or before them; most texts have none.
  if (!/[-_|]|LoopBack|NIC /.test(text)) return { plain: text, ids: NO_IDS };
  const ids: string[] = [];
  const plain = text.replace(IN_TEXT, (id) => {
    ids.push(id.toLowerCase());
    return "*";
  });
  return { plain, ids };
}

export function isDrawnMac(value: unknown): value is number {
  return typeof value === "number" && value >= FIRST_DRAWN && value <= LAST_DRAWN;
}

/** Pairs that match one to one. */
export class Matching<T> {
  private readonly others = new Map<T, T>();
  private readonly ones = new Map<T, T>();

  /** False when one of them has another partner already. */
  match(one: T, other: T): boolean {
    const [known, partner] = [this.others.get(one), this.ones.get(other)];
    if (known !== undefined || partner !== undefined) return known === other && partner === one;
    this.others.set(one, other);
    this.ones.set(other, one);
    return true;
  }

  partnerOf(one: T): T | undefined {
    return this.others.get(one);
  }

  isPartner(other: T): boolean {
    return this.ones.has(other);
  }
}
