import { describe, expect, it } from "vitest";
import { formatXml, xmlElement } from "./xml.ts";

const HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n';

describe("XML", () => {
  it("has elements in elements, indented, and empty ones in short", () => {
    const inner = [xmlElement("b", { n: 3 }, "text"), xmlElement("c", {}, ""), xmlElement("d", { e: "" })];
    const text = `${HEAD}<a>\n  <b n="3">text</b>\n  <c/>\n  <d e=""/>\n</a>\n`;
    expect(formatXml(xmlElement("a", {}, inner))).toBe(text);
  });

  it("keeps what a text says: markup, lines and spaces", () => {
    const text = "1<2>3&\"'4\t5\n6\r7é 😀 ]]>";
    expect(formatXml(xmlElement("a", {}, text))).toBe(
      `${HEAD}<a>1&lt;2&gt;3&amp;"'4\t5\n6&#13;7é 😀 ]]&gt;</a>\n`,
    );
  });

  it("keeps what a value says, where a reader would make spaces of tabs and lines", () => {
    expect(formatXml(xmlElement("a", { x: "1<2>3&\"'4\t5\n6\r7é" }))).toBe(
      `${HEAD}<a x="1&lt;2&gt;3&amp;&quot;'4&#9;5&#10;6&#13;7é"/>\n`,
    );
  });

  it("has a question mark for what XML cannot write, half a character too", () => {
    expect(formatXml(xmlElement("a", { x: "\u0000" }, "\u001b[1m \ud800 \uffff"))).toBe(
      `${HEAD}<a x="?">?[1m ? ?</a>\n`,
    );
  });
});
