/** What becomes of the built-in parts of Node in a bundle. */
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { shippedCode, withLazyBuiltIns } from "./bundle-programs.ts";

/** Runs a bundle; the parts that it has loaded, in their order, with what it returns. */
function run(code: string): readonly [readonly string[], unknown] {
  const loaded: string[] = [];
  const load = (name: string): unknown => {
    loaded.push(name);
    return { read: () => name, write: () => name };
  };
  return [loaded, runInNewContext(`${withLazyBuiltIns(code)}\nmain()`, { require: load })];
}

it("loads a part of Node with its first use, once", () => {
  const code = `let node_fs = require("node:fs");
let node_timers_promises = require("node:timers/promises");
function main() { return [(0, node_fs.read)("$&"), node_fs.read()]; }`;
  expect(run(code)).toEqual([["node:fs"], ["node:fs", "node:fs"]]);
});

it("leaves a part that is handed on as a whole as it was", () => {
  const code = `let node_http = require("node:http");
function main() { return Object.keys(node_http).length; }`;
  expect(run(code)).toEqual([["node:http"], 2]);
});

it("makes an object of a class of a part", () => {
  const code = `let node_fs = require("node:fs");
function main() { return new node_fs.Stats("a").given; }`;
  class Stats {
    readonly given: string;
    constructor(given: string) {
      this.given = given;
    }
  }
  expect(runInNewContext(`${withLazyBuiltIns(code)}\nmain()`, { require: () => ({ Stats }) })).toBe("a");
});

it("ships names of functions and classes, and lines, so that a stack trace can be read", () => {
  const code = `let node_fs = require("node:fs");
/** Reads what is there, or says why not. */
class ReadFailure extends Error {}
function readNetwork(longLocalName) { if (longLocalName) throw new ReadFailure(node_fs.read()); return longLocalName; }
function main() { try { readNetwork(1 + 1); } catch (error) { return [error.constructor.name, error.stack.split("\\n")[1]]; } }
globalThis.main = main;`;
  const shipped = shippedCode("plugin.cjs", code);
  expect(shipped).not.toMatch(/longLocalName|Reads what/);
  expect(Math.max(...shipped.split("\n").map((line) => line.length))).toBeLessThan(100);
  const [name, place] = runInNewContext(`${shipped};main()`, {
    require: () => ({ read: () => "x" }),
  }) as readonly string[];
  expect([name, place]).toEqual(["ReadFailure", expect.stringContaining("at readNetwork (") as string]);
});
