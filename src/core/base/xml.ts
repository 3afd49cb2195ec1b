/** XML as reports need it: elements with attributes and text, written with an indent of two (XML 1.0, fifth edition). */

export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | number>>;
  /** Elements within; an element with text has none. */
  readonly children: readonly XmlElement[];
  readonly text: string;
}

/** An element; `content` is its text, or the elements in it. */
export function xmlElement(
  name: string,
  attributes: XmlElement["attributes"],
  content: string | readonly XmlElement[] = [],
): XmlElement {
  const isText = typeof content === "string";
  return { name, attributes, children: isText ? [] : content, text: isText ? content : "" };
}

/** Characters that XML has no way to write (§2.2). */
const UNWRITABLE = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

/** A reader makes a line feed of a carriage return (§2.11), and ends of CDATA may not stand in text. */
const IN_TEXT: readonly (readonly [RegExp, string])[] = [
  [UNWRITABLE, "?"],
  [/&/g, "&amp;"],
  [/</g, "&lt;"],
  [/>/g, "&gt;"],
  [/\r/g, "&#13;"],
];

/** In a value a reader makes spaces of tabs and line feeds, too (§3.3.3). */
const IN_VALUES: readonly (readonly [RegExp, string])[] = [
  ...IN_TEXT,
  [/"/g, "&quot;"],
  [/\t/g, "&#9;"],
  [/\n/g, "&#10;"],
];

function escaped(text: string, replacements: readonly (readonly [RegExp, string])[]): string {
  return replacements.reduce((result, [what, by]) => result.replace(what, by), text);
}

function linesOf({ name, attributes, children, text }: XmlElement, indent: string): readonly string[] {
  const values = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${escaped(String(value), IN_VALUES)}"`,
  );
  const head = `${indent}<${name}${values.join("")}`;
  if (text !== "") return [`${head}>${escaped(text, IN_TEXT)}</${name}>`];
  if (children.length === 0) return [`${head}/>`];
  const within = children.flatMap((child) => linesOf(child, `${indent}  `));
  return [`${head}>`, ...within, `${indent}</${name}>`];
}

/** The document with this root, ended by a line feed. Characters that XML does not have become question marks. */
export function formatXml(root: XmlElement): string {
  return `${['<?xml version="1.0" encoding="UTF-8"?>', ...linesOf(root, "")].join("\n")}\n`;
}
