/** What becomes of the built-in parts of Node in a bundle. */
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { withLazyBuiltIns } from "./bundle-programs.ts";

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
