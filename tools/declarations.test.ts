import { describe, expect, it } from "vitest";
import { type Declared, declarationsOf } from "./declarations.ts";

const MAP = { exports: { "./net": { types: "./dist/net/mod.d.ts" }, "./package.json": "./package.json" } };

function declared(
  files: Readonly<Record<string, string>>,
  imports: Readonly<Record<string, unknown>> = {},
): readonly Declared[] {
  return declarationsOf({ ...MAP, imports }, (path) => files[path]);
}

const DOOR = 'export { type Ip, parse } from "./ip.ts";\n';
const IP = `import type { Hidden } from "./hidden.ts";
/** An address: "text" // of it */
export type Ip = "http://a" | Hidden;
export declare function parse(text: string): Ip | undefined;
`;
const HIDDEN = "export interface Hidden {\n    /** Why. */\n    readonly a: number;\n}\n";
const FILES = { "net/mod.d.ts": DOOR, "net/ip.d.ts": IP, "net/hidden.d.ts": HIDDEN };

describe("declarations", () => {
  it("are those of each exported name, and what they reach", () => {
    expect(declared(FILES)).toEqual([
      { subpath: "./net", name: "Ip", text: 'type Ip = "http://a" | Hidden;' },
      { subpath: "./net", name: "parse", text: "function parse(text: string): Ip | undefined;" },
      { subpath: "-", name: "Hidden", text: "interface Hidden { readonly a: number; }" },
    ]);
  });

  it("do not show that a file moved, by which specifier it is found, or a comment", () => {
    const moved = {
      "net/mod.d.ts": 'import { type Ip, parse } from "#core/ip.ts";\nexport { type Ip, parse };\n',
      "core/ip.d.ts": IP.replace("./hidden.ts", "../deep/hidden.ts").replace("An address", "Something"),
      "deep/hidden.d.ts": HIDDEN,
    };
    const imports = { "#core/*": { "mullion-source": "./src/core/*", default: "./dist/core/*" } };
    expect(declared(moved, imports)).toEqual(declared(FILES));
  });

  it("show another type below them", () => {
    const changed = declared({ ...FILES, "net/hidden.d.ts": HIDDEN.replace("number", "string") });
    expect(changed.at(-1)?.text).toBe("interface Hidden { readonly a: string; }");
  });

  it("hold overloads together, and leave private members out", () => {
    const text = `export declare class Ip {
    private readonly bits;
    private constructor();
    private read;
    private static readonly none;
    static of(text: string): Ip;
}
export declare function parse(a: string): Ip;
export declare function parse(a: number): Ip;
`;
    expect(declared({ ...FILES, "net/ip.d.ts": text }).map((each) => each.text)).toEqual([
      "class Ip { private constructor(); static of(text: string): Ip; }",
      "function parse(a: string): Ip; function parse(a: number): Ip;",
    ]);
  });

  it("that lead nowhere are an error", () => {
    expect(() => declared({ ...FILES, "net/ip.d.ts": "export {};" })).toThrow("./net: nothing declares Ip");
    expect(() => declared({})).toThrow("./net: the compiler wrote no net/mod.d.ts");
  });
});
