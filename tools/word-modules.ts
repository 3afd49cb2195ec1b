/**
 * `data/words.js` and `data/words.d.ts`, by which code reads the files of `data/words/`: a function for each file, and for
 * the compiler the names of all texts with their holes. `npm run schemas` writes both.
 */
import { listWords, readWords } from "../data/read-texts.node.ts";
import { holesOf } from "#core/base/words.ts";

/** The function of a file: `clusterFile` of `cluster-file`. */
export function openerOf(name: string): string {
  return name.replace(/-(\w)/g, (_all, letter: string) => letter.toUpperCase());
}

function typeOf(name: string): string {
  const opener = openerOf(name);
  return opener.charAt(0).toUpperCase() + opener.slice(1);
}

export function formatWordModule(): string {
  const openers = listWords().map((name) => `export const ${openerOf(name)} = () => openWords("${name}");\n`);
  return `// Written by npm run schemas from the names of the files of words/; the build puts a module in its place that holds them.
// A function for each file, so that a program holds those alone that it asks for.
import { openWords } from "./read-texts.node.ts";

${openers.join("")}`;
}

function formatType(name: string): string {
  const texts = Object.entries(readWords(name)).map(([text, words]) => {
    const holes = holesOf(words).map((hole) => `"${hole}"`);
    return `  readonly ${/^\w+$/u.test(text) ? text : `"${text}"`}: ${holes.length === 0 ? "string" : `Template<${holes.join(" | ")}>`};\n`;
  });
  const type = typeOf(name);
  return `export interface ${type} {\n${texts.join("")}}\nexport function ${openerOf(name)}(): ${type};\n`;
}

export function formatWordTypes(): string {
  return `// Written by npm run schemas from the texts of words/: their names, and the holes that each has.
import type { Template } from "#core/base/words.ts";

${listWords().map(formatType).join("\n")}`;
}
