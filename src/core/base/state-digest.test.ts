import { describe, expect, it } from "vitest";
import { type StateReaders, StateWalk } from "./state-digest.ts";

const PLAIN: StateReaders = { readers: new Map(), leftOut: new Map() };

class Machine {
  readonly name: string;
  readonly table = new Map<string, number[]>();
  next: Machine | undefined;
  clock = 0;

  constructor(name: string) {
    this.name = name;
  }
}

function digestOf(root: unknown, special = PLAIN, named: ReadonlyMap<object, string> = new Map()): string {
  const walk = new StateWalk(new WeakMap(), named, special);
  walk.add(root);
  return walk.finish().text;
}

/** Two machines that know each other. */
function pair(): Machine {
  const [one, other] = [new Machine("one"), new Machine("other")];
  one.next = other;
  other.next = one;
  one.table.set("a", [1, 2, 3]);
  return one;
}

describe("a digest of state", () => {
  it("is the same for equal state, with cycles in it", () => {
    expect(digestOf(pair())).toBe(digestOf(pair()));
  });

  it.each<readonly [string, (machine: Machine) => void]>([
    ["a number deep inside", (machine) => machine.table.set("a", [1, 2, 4])],
    ["a new entry", (machine) => machine.table.set("b", [])],
    ["the order of entries", (machine) => machine.table.set("a", [3, 2, 1])],
    ["a field that nobody had before", (machine) => Object.assign(machine, { extra: undefined })],
    ["who is meant", (machine) => (machine.next = machine)],
    ["a fraction", (machine) => (machine.clock = 0.5)],
    ["the class of an object", (machine) => void Object.setPrototypeOf(machine, null)],
  ])("is another one when %s differs", (_what, change) => {
    const machine = pair();
    change(machine);
    expect(digestOf(machine)).not.toBe(digestOf(pair()));
  });

  it.each([
    [undefined, null],
    [0, false],
    [1, "1"],
    [1, 1n],
    [[], {}],
    [
      [1, [2]],
      [[1], 2],
    ],
    [new Map([[1, 2]]), new Set([1, 2])],
    [new Uint8Array([1]), [1]],
    ["ab", ["a", "b"]],
  ])("tells %o from %o", (a, b) => {
    expect(digestOf(a)).not.toBe(digestOf(b));
  });

  it("tells an object that is there twice from two equal ones", () => {
    const one = { x: 1 };
    expect(digestOf([one, one])).not.toBe(digestOf([one, { x: 1 }]));
  });

  it("goes into frozen objects", () => {
    const frozen = (x: number): object => Object.freeze({ list: Object.freeze([{ x }]) });
    expect(digestOf({ held: frozen(1) })).toBe(digestOf({ held: frozen(1) }));
    expect(digestOf({ held: frozen(1) })).not.toBe(digestOf({ held: frozen(2) }));
  });

  it("stops at what has a name, and leaves out what it is told to", () => {
    const machine = pair();
    const named = new Map([[machine.next as object, "the other"]]);
    const leftOut = { readers: new Map(), leftOut: new Map([[Machine.prototype, new Set(["clock"])]]) };
    const before = digestOf(machine, leftOut, named);
    machine.clock = 7;
    (machine.next as Machine).clock = 8;
    (machine.next as Machine).table.set("z", []);
    expect(digestOf(machine, leftOut, named)).toBe(before);
    expect(digestOf(machine, PLAIN, named)).not.toBe(before);
  });

  it("lets a reader say what an object adds, once for each object", () => {
    const read: string[] = [];
    const reader = (value: object): unknown => read.push((value as Machine).name);
    const special = { readers: new Map([[Machine.prototype as object, reader]]), leftOut: new Map() };
    const machine = pair();
    expect(digestOf([machine, machine], special)).toBe(digestOf([machine, machine], special));
    expect(read).toEqual(["one", "one"]);
  });
});
