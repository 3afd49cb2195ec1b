import { setFlagsFromString } from "node:v8";
import { runInThisContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { fork } from "./fork.ts";

class Node {
  private readonly name: string;
  readonly peers: Node[] = [];

  constructor(name: string) {
    this.name = name;
  }

  get label(): string {
    return `node ${this.name}`;
  }
}

class Registry extends Map<string, number> {
  limit = 3;
}

class Stack extends Array<number> {
  top(): number | undefined {
    return this.at(-1);
  }
}

describe("fork copies a world", () => {
  it("with prototypes, and independent of the old one", () => {
    const world = {
      nodes: new Map([["a", new Node("a")]]),
      names: new Set(["x"]),
      bytes: Uint8Array.of(1, 2),
    };
    const copy = fork(world);
    expect(copy).toEqual(world);
    expect(copy.nodes.get("a")?.label).toBe("node a");
    copy.nodes.get("a")?.peers.push(new Node("b"));
    copy.names.add("y");
    copy.bytes[0] = 9;
    expect(world.nodes.get("a")?.peers).toEqual([]);
    expect([...world.names]).toEqual(["x"]);
    expect(world.bytes).toEqual(Uint8Array.of(1, 2));
  });

  it("with its shape: cycles and objects met twice", () => {
    const a = new Node("a");
    const b = new Node("b");
    a.peers.push(b);
    b.peers.push(a);
    const copy = fork({ first: a, again: a, key: new Map([[a, b]]) });
    expect(copy.first).toBe(copy.again);
    expect(copy.first).not.toBe(a);
    expect(copy.first.peers[0]?.peers[0]).toBe(copy.first);
    expect(copy.key.get(copy.first)).toBe(copy.first.peers[0]);
  });

  it("with objects that stay as fast as they were, however many fields they have", () => {
    setFlagsFromString("--allow-natives-syntax");
    const isFast = runInThisContext("(object) => %HasFastProperties(object)") as (object: object) => boolean;
    class Port {
      readonly isUp = true;
    }
    const fields = Array.from({ length: 40 }, (_, index) => `field${index}`);
    // Written out in the code, as constructors are.
    const make = runInThisContext(
      `(Port) => { class Wide extends Port { ${fields.map((name) => `${name} = {};`).join(" ")} }; return new Wide(); }`,
    ) as (base: typeof Port) => Port;
    const original = make(Port);
    expect(isFast(original)).toBe(true);
    const copy = fork(original);
    expect(copy).toBeInstanceOf(Port);
    expect(Object.keys(copy)).toEqual(["isUp", ...fields]);
    expect(isFast(copy)).toBe(true);
    expect(isFast(fork(copy))).toBe(true);
  });

  it("a chain too long for a recursive copy", () => {
    interface Link {
      next: Link | undefined;
    }
    let chain: Link | undefined;
    for (let i = 0; i < 200_000; i++) chain = { next: chain };
    let count = 0;
    for (let link: Link | undefined = fork(chain!); link !== undefined; link = link.next) count++;
    expect(count).toBe(200_000);
  });

  it("with views that share a buffer", () => {
    const buffer = new ArrayBuffer(8);
    const world = {
      whole: new Uint8Array(buffer),
      part: new Uint8Array(buffer, 4, 2),
      words: new Int32Array(buffer, 0, 1),
      view: new DataView(buffer, 2, 3),
      buffer,
    };
    const copy = fork(world);
    copy.whole[4] = 7;
    expect(copy.part[0]).toBe(7);
    expect(copy.part.length).toBe(2);
    expect(copy.words.length).toBe(1);
    expect(copy.view.getUint8(2)).toBe(7);
    expect(copy.buffer).toBe(copy.whole.buffer);
    expect(world.whole[4]).toBe(0);
  });

  it("with platform buffers, without calling their constructor", () => {
    const copy = fork({ bytes: Buffer.from("abc") });
    expect(Buffer.isBuffer(copy.bytes)).toBe(true);
    expect(copy.bytes.toString()).toBe("abc");
  });

  it("with the order of maps and sets", () => {
    const map = new Map([
      ["z", 1],
      ["a", 2],
    ]);
    map.delete("z");
    map.set("z", 3);
    expect([...fork({ map }).map]).toEqual([
      ["a", 2],
      ["z", 3],
    ]);
    expect([...fork({ set: new Set([3, 1, 2]) }).set]).toEqual([3, 1, 2]);
  });

  it("with arrays as long as they were, holes included", () => {
    const sparse: unknown[] = [];
    sparse[3] = "x";
    sparse.length = 6;
    const copy = fork({ sparse });
    expect(copy.sparse).toHaveLength(6);
    expect(1 in copy.sparse).toBe(false);
    expect(copy.sparse[3]).toBe("x");
  });

  it("with classes derived from built-ins and their own fields", () => {
    const registry = new Registry([["a", 1]]);
    registry.limit = 9;
    const stack = new Stack();
    stack.push(1, 2);
    const copy = fork({ registry, stack });
    expect(copy.registry).toBeInstanceOf(Registry);
    expect([copy.registry.limit, copy.registry.get("a")]).toEqual([9, 1]);
    expect(copy.stack.top()).toBe(2);
  });

  it("with a property named __proto__ from an outside document, which must not become the prototype", () => {
    const document = JSON.parse('{"__proto__": {"isAdmin": true}, "a": 1}') as Record<string, unknown>;
    const copy = fork({ document }).document;
    expect(copy["isAdmin"]).toBeUndefined();
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"isAdmin":true},"a":1}');
  });

  it("with objects that have no prototype", () => {
    const bare = Object.assign(Object.create(null) as Record<string, number>, { a: 1 });
    expect(Object.getPrototypeOf(fork({ bare }).bare)).toBeNull();
  });
});

describe("fork shares", () => {
  it("frozen objects, with all they hold", () => {
    const rules = Object.freeze({ list: [1, 2, 3] });
    const world = { rules };
    expect(fork(world).rules).toBe(rules);
  });

  it("errors", () => {
    const failure = new RangeError("too much");
    expect(fork({ failure }).failure).toBe(failure);
  });
});

describe("fork replaces", () => {
  it("objects that the new world brings along, frozen ones too", () => {
    const old = { clock: { name: "old" }, sink: Object.freeze({ name: "sink" }) };
    const clock = { name: "new" };
    const sink = { name: "other" };
    const copy = fork(
      { a: old.clock, b: [old.clock, old.sink] },
      new Map<object, object>([
        [old.clock, clock],
        [old.sink, sink],
      ]),
    );
    expect(copy.a).toBe(clock);
    expect(copy.b).toEqual([clock, sink]);
    expect(copy.b[1]).toBe(sink);
  });
});

describe("fork refuses what no copy can reach, and says where it is", () => {
  it.each([
    {
      name: "a closure",
      world: { ports: [{ receiver: { run: (): void => {} } }] },
      message: /closure at world\.ports\.0\.receiver\.run/,
    },
    {
      name: "a closure in a map",
      world: { map: new Map([["a", (): void => {}]]) },
      message: /closure at world\.map\(value\)/,
    },
    {
      name: "a closure in a set",
      world: { set: new Set([(): void => {}]) },
      message: /closure at world\.set\(member\)/,
    },
    { name: "a date", world: { at: new Date(0) }, message: /opaque at world\.at/ },
    { name: "a promise", world: { later: Promise.resolve() }, message: /opaque at world\.later/ },
    { name: "a weak map", world: { cache: new WeakMap() }, message: /opaque at world\.cache/ },
    { name: "a pattern", world: { pattern: /x/ }, message: /opaque at world\.pattern/ },
  ])("$name", ({ world, message }) => {
    expect(() => fork(world)).toThrow(message);
  });
});
