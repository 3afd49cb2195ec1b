/**
 * Digests of a simulated world's state, walked as `fork` walks it: objects with prototypes, arrays, maps, sets and typed
 * arrays, in the order in which they are found, each once. So state that is added later is in the digest without a line
 * here. Equal digests mean equal state, but for one chance in 2^64.
 */

const SEEDS = [0x9e37_79b9, 0x85eb_ca6b] as const;
const FACTORS = [0xcc9e_2d51, 0x1b87_3593, 0xe654_6b64] as const;
const RADIX = 36;

/** What stands before values of one type, so that those of different types differ. */
const TAG = {
  undefined: 1,
  null: 2,
  false: 3,
  true: 4,
  integer: 5,
  number: 6,
  text: 7,
  bigint: 8,
  opaque: 9,
  known: 10,
  named: 11,
  frozen: 12,
  object: 13,
  key: 14,
  end: 15,
} as const;

const FLOAT = new Float64Array(1);
const WORDS = new Int32Array(FLOAT.buffer);

/** A sum of numbers and texts in their order, in 64 bits. */
export class Digest {
  private a: number = SEEDS[0];
  private b: number = SEEDS[1];

  addInteger(value: number): void {
    const mixed = Math.imul(value ^ (value >>> 15), FACTORS[0]);
    const [a, b] = [Math.imul(this.a ^ mixed, FACTORS[1]), Math.imul(this.b + mixed, FACTORS[0])];
    this.a = (((a << 13) | (a >>> 19)) + (b ^ FACTORS[2])) | 0;
    this.b = (((b << 17) | (b >>> 15)) ^ (a + value)) | 0;
  }

  addText(text: string): void {
    this.addInteger(text.length);
    for (let index = 0; index < text.length; index++) this.addInteger(text.charCodeAt(index));
  }

  addDigest({ a, b }: Digest): void {
    this.addInteger(a);
    this.addInteger(b);
  }

  /** A value that is no object. */
  addPlain(value: unknown): void {
    if (typeof value === "number") this.addNumber(value);
    else if (typeof value === "string") {
      this.addInteger(TAG.text);
      this.addText(value);
    } else if (typeof value === "bigint") {
      this.addInteger(TAG.bigint);
      this.addText(value.toString(RADIX));
    } else if (value === undefined) this.addInteger(TAG.undefined);
    else if (value === null) this.addInteger(TAG.null);
    else if (typeof value === "boolean") this.addInteger(value ? TAG.true : TAG.false);
    else this.addInteger(TAG.opaque);
  }

  get text(): string {
    return `${(this.a >>> 0).toString(RADIX)}-${(this.b >>> 0).toString(RADIX)}`;
  }

  private addNumber(value: number): void {
    if ((value | 0) === value) {
      this.addInteger(TAG.integer);
      return this.addInteger(value);
    }
    FLOAT[0] = value;
    this.addInteger(TAG.number);
    this.addInteger(WORDS[0] ?? 0);
    return this.addInteger(WORDS[1] ?? 0);
  }
}

/** What a walk does with some objects instead of walking them, by their prototypes. */
export interface StateReaders {
  /** Called for each object of the prototype, once. */
  readonly readers: ReadonlyMap<object | null, (value: object, walk: StateWalk) => void>;
  /** Properties that are left out. */
  readonly leftOut: ReadonlyMap<object | null, ReadonlySet<string>>;
}

/** Digests of frozen objects, which stay what they are. */
export type FrozenDigests = WeakMap<object, Digest>;

/** Which objects are not walked into, and what stands for each. */
export type NamedObjects = Pick<ReadonlyMap<object, string>, "get">;

function isFrozenLeaf(value: object): boolean {
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer;
}

function bytesOf(value: object): Uint8Array | undefined {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return value instanceof ArrayBuffer ? new Uint8Array(value) : undefined;
}

function isOpaque(value: object): boolean {
  return value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef;
}

/** One walk. What is added is in the digest when `finish` has returned. */
export class StateWalk {
  private readonly digest = new Digest();
  private readonly frozen: FrozenDigests;
  private readonly named: NamedObjects;
  private readonly special: StateReaders;
  private readonly places = new Map<object, number>();
  private readonly queue: object[] = [];
  /** Names of classes and fields are few, and come again and again. */
  private readonly labels = new Map<string, Digest>();

  constructor(frozen: FrozenDigests, named: NamedObjects, special: StateReaders) {
    this.frozen = frozen;
    this.named = named;
    this.special = special;
  }

  private readonly sink: PartSink = {
    field: (name) => {
      this.digest.addDigest(this.labelOf(name));
    },
    part: (part) => {
      this.add(part);
    },
  };

  /** Adds a value; what an object holds follows in `finish`. */
  add(value: unknown): void {
    if (typeof value !== "object" || value === null) return this.digest.addPlain(value);
    const name = this.named.get(value);
    if (name !== undefined) {
      this.digest.addInteger(TAG.named);
      return this.digest.addText(name);
    }
    const place = this.places.get(value);
    if (place !== undefined) {
      this.digest.addInteger(TAG.known);
      return this.digest.addInteger(place);
    }
    const isSpecial = this.special.readers.has(Object.getPrototypeOf(value) as object | null);
    if (!isSpecial && Object.isFrozen(value) && !isFrozenLeaf(value)) {
      this.digest.addInteger(TAG.frozen);
      return this.digest.addDigest(this.ofFrozen(value));
    }
    this.digest.addInteger(TAG.object);
    this.places.set(value, this.places.size);
    this.queue.push(value);
  }

  /** The digest of what a frozen object holds, whoever holds it. */
  ofFrozen(value: object): Digest {
    const known = this.frozen.get(value);
    if (known !== undefined) return known;
    const digest = new Digest();
    // A cycle ends here.
    this.frozen.set(value, digest);
    if (!isOpaque(value)) {
      digest.addDigest(this.labelOf(value.constructor?.name ?? ""));
      eachPart(value, undefined, {
        field: (name) => {
          digest.addDigest(this.labelOf(name));
        },
        part: (part) => {
          if (typeof part === "object" && part !== null) digest.addDigest(this.ofFrozen(part));
          else digest.addPlain(part);
        },
      });
    }
    digest.addInteger(TAG.end);
    return digest;
  }

  /** Walks everything that was added, and gives the digest of it all. */
  finish(): Digest {
    // The queue grows while it is walked.
    for (const value of this.queue) this.enter(value);
    this.queue.length = 0;
    return this.digest;
  }

  private enter(value: object): void {
    const prototype = Object.getPrototypeOf(value) as object | null;
    this.digest.addDigest(this.labelOf(value.constructor?.name ?? ""));
    const reader = this.special.readers.get(prototype);
    if (reader === undefined) eachPart(value, this.special.leftOut.get(prototype), this.sink);
    else reader(value, this);
    this.digest.addInteger(TAG.end);
  }

  private labelOf(text: string): Digest {
    let digest = this.labels.get(text);
    if (digest === undefined) {
      digest = new Digest();
      digest.addInteger(TAG.key);
      digest.addText(text);
      this.labels.set(text, digest);
    }
    return digest;
  }
}

/** Where the parts of an object go. */
interface PartSink {
  readonly field: (name: string) => void;
  readonly part: (part: unknown) => void;
}

/** Everything that an object holds, in its order: keys as well as values. */
function eachPart(
  value: object,
  leftOut: ReadonlySet<string> | undefined,
  { field, part: add }: PartSink,
): void {
  const bytes = bytesOf(value);
  if (bytes !== undefined) {
    for (const byte of bytes) add(byte);
    return;
  }
  if (isOpaque(value)) return;
  if (value instanceof Error) {
    add(value.message);
    return;
  }
  if (value instanceof Map) {
    for (const [key, each] of value) {
      add(key);
      add(each);
    }
  } else if (value instanceof Set) for (const each of value) add(each);
  else if (Array.isArray(value)) {
    for (const each of value) add(each);
    return;
  }
  const record = value as Record<string, unknown>;
  for (const name of Object.keys(record)) {
    if (leftOut?.has(name) === true) continue;
    field(name);
    add(record[name]);
  }
}
