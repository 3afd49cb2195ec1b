// What names, labels and keys can do to a terminal: nothing. The executables themselves are run.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { visibleText } from "#core/base/visible-text.ts";
import { formatDocument } from "./mullion/print-document.ts";

/** Clears the screen; sets the window's title; a colour by C1; the direction; the line again; a bell. */
const PLANTED = "web\u001b[2J\u001b]0;owned\u0007\u009b31m\u202egpj\u2066\r\u007f\b";
const SHOWN = String.raw`web\u001b[2J\u001b]0;owned\u0007\u009b31m\u202egpj\u2066\u000d\u007f\u0008`;
/** As in UAX #9 and ECMA-48, written out: not what the program takes for them. */
const STEERING: readonly (readonly [number, number])[] = [
  [0, 8],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0x61c, 0x61c],
  [0x200e, 0x200f],
  [0x202a, 0x202e],
  [0x2066, 0x2069],
];

function steeringIn(text: string): readonly string[] {
  return Array.from(text).filter((each) =>
    STEERING.some(([from, to]) => from <= each.charCodeAt(0) && each.charCodeAt(0) <= to),
  );
}

const MULLION = resolve("bin/mullion.js");
const folder = mkdtempSync(join(tmpdir(), "mullion-output-"));
afterAll(() => rmSync(folder, { recursive: true }));

function run(words: readonly string[], input = "", env: NodeJS.ProcessEnv = {}): string {
  const all = { ...process.env, NO_COLOR: undefined, FORCE_COLOR: undefined, ...env };
  const { stdout, stderr } = spawnSync(process.execPath, words, {
    input,
    env: all,
    encoding: "utf8",
  });
  return stdout + stderr;
}

function podFile(): string {
  const path = join(folder, "pod.yaml");
  writeFileSync(
    path,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: PLANTED, labels: { [`key-${PLANTED}`]: PLANTED } },
      spec: { nodeSelector: { "kubernetes.io/os": "windows" }, containers: [{ name: "c", image: "i:1" }] },
    }),
  );
  return path;
}

describe("a name that steers terminals", () => {
  it("is shown as it is written, in text with and without colours", () => {
    const plain = run([MULLION, "lint", podFile()]);
    expect(plain).toContain(SHOWN);
    expect(steeringIn(plain)).toEqual([]);
    const coloured = run([MULLION, "lint", podFile()], "", { FORCE_COLOR: "1" });
    expect(coloured).toContain(SHOWN);
    expect(coloured).toContain("\u001b[31m");
    expect(new Set(steeringIn(coloured))).toEqual(new Set(["\u001b"]));
    for (const part of coloured.split("\u001b").slice(1))
      expect(part).toMatch(/^\[(?:0|1|2|22|31|32|33|39)m/);
  });

  it("is the same value in JSON, without a steering character on its way", () => {
    const json = run([MULLION, "lint", podFile(), "-o", "json"]);
    expect(steeringIn(json)).toEqual([]);
    expect(JSON.stringify(JSON.parse(json))).toContain(JSON.stringify(PLANTED).slice(1, -1));
  });

  it("is in an error of a CNI plugin what JSON says", () => {
    const env = { CNI_COMMAND: "ADD", CNI_CONTAINERID: "a", CNI_NETNS: "b", CNI_IFNAME: "c", CNI_PATH: "/" };
    const input = JSON.stringify({
      cniVersion: "1.0.0",
      name: "n",
      type: "host-local",
      [PLANTED]: 1,
      ipam: {},
    });
    const start = `require(${JSON.stringify(resolve("bin/start.cjs"))}).start("host-local", true)`;
    const broken = run(["-e", start], `${input.slice(0, -1)},${PLANTED}`, env);
    expect(broken).toContain(`"code"`);
    expect(steeringIn(broken)).toEqual([]);
  });
});

describe("the gate", () => {
  it.each([
    ["a\tb\nc\r\nd", "a\tb\nc\r\nd"],
    ["a\rb", "a\\u000db"],
    ["\u001b[31mred\u001b[39m", "\\u001b[31mred\\u001b[39m"],
    ["\u0085\u2028\u2029\u061c", "\\u0085\\u2028\\u2029\\u061c"],
    ["é 漢字 😀 \u200d\u00a0", "é 漢字 😀 \u200d\u00a0"],
  ])("%j is %j", (text, shown) => {
    expect(visibleText(text)).toBe(shown);
  });

  it("leaves the styles of a terminal alone where it shows them, and nothing that looks like them", () => {
    expect(visibleText("\u001b[1mbold\u001b[22m", true)).toBe("\u001b[1mbold\u001b[22m");
    expect(visibleText("\u001b[8mhidden\u001b[1;31m\u001b[", true)).not.toContain("\u001b");
  });

  it.each([PLANTED, "a\u202eb", "\u0085", "x: \u2028y", "- \u009b", "'\u061c\""])(
    "YAML of %j reads as it",
    (text) => {
      const value = { [text]: [text, { plain: text }], other: "a\nb" };
      expect(parse(visibleText(formatDocument(value, "yaml")))).toEqual(value);
      expect(JSON.parse(visibleText(formatDocument(value, "json")))).toEqual(value);
    },
  );
});
