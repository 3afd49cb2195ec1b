import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { quoteDouble, quotePosix, quotePowerShell } from "./shell-quoting.ts";

describe("one word", () => {
  it.each([
    ["it's", `'it'\\''s'`, "'it''s'"],
    [
      '$(id) `id` \\ " %PATH% ^ ! & | ;',
      "'$(id) `id` \\ \" %PATH% ^ ! & | ;'",
      "'$(id) `id` \\ \" %PATH% ^ ! & | ;'",
    ],
    ["a\nb\r", "'a\nb\r'", "'a\nb\r'"],
    [
      "\u2018\u2019\u201a\u201b",
      "'\u2018\u2019\u201a\u201b'",
      "'\u2018\u2018\u2019\u2019\u201a\u201a\u201b\u201b'",
    ],
    ["\u201c\u201d\u201e", "'\u201c\u201d\u201e'", "'\u201c\u201d\u201e'"],
    ["", "''", "''"],
    ["-x", "'-x'", "'-x'"],
  ])("%j for shells of POSIX and for PowerShell", (text, posix, powershell) => {
    expect(quotePosix(text)).toBe(posix);
    expect(quotePowerShell(text)).toBe(powershell);
  });

  it("is what sh makes of it", () => {
    const words = ["it's", '$(id) `id` \\ "', "a\nb", "\u2019; id; \u2019", "%PATH%^!"];
    const { stdout } = spawnSync("sh", ["-c", `printf '%s\\0' ${words.map(quotePosix).join(" ")}`]);
    expect(stdout.toString().split("\0").slice(0, -1)).toEqual(words);
  });

  it("holds no NUL", () => {
    for (const quote of [quotePosix, quotePowerShell]) expect(() => quote("a\0")).toThrowError(/NUL/);
  });
});

describe("in double quotes", () => {
  it.each<[text: string, powershell: boolean, cmd: boolean]>([
    ["vEthernet (R&D | 2) it's", true, true],
    ["PCI\\VEN_1414&DEV_00A9\\5&123", true, true],
    ["\u2018single\u2019", true, true],
    ['a"b', false, false],
    ["\u201c", false, false],
    ["\u201d; calc; \u201d", false, false],
    ["\u201e", false, false],
    ["\uff02", false, false],
    ["$(calc)", false, true],
    ["a`b", false, true],
    ["%PATH%", true, false],
    ["a!b", true, false],
    ["a^b", true, false],
    ["a\nb", false, false],
    ["a\rb", false, false],
    ["a\u0085b", false, false],
    ["\0", false, false],
  ])("%j: PowerShell %s, cmd %s", (text, powershell, cmd) => {
    for (const [shell, may] of [
      ["powershell", powershell],
      ["cmd", cmd],
    ] as const)
      if (may) expect(quoteDouble(text, shell)).toBe(`"${text}"`);
      else expect(() => quoteDouble(text, shell)).toThrowError(/cannot stand in a line for/);
  });
});
