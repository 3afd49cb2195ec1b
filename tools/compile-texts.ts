/** The texts and the tables of `data/` as modules, which stand for those of `data/` in what the package ships. */
import { readFileSync } from "node:fs";
import * as facts from "#data/facts.js";
import { readAll } from "#data/texts.js";
import { listWords, readWords } from "../data/read-texts.node.ts";
import { openerOf } from "./word-modules.ts";

// A text that is parsed starts faster than the same in JavaScript.
function quoted(value: unknown): string {
  return JSON.stringify(JSON.stringify(value));
}

function compileTexts(): string {
  return `const all = JSON.parse(${quoted(readAll())});
export const listSubjects = (shelf) => all.subjects[shelf];
export const readText = (shelf, folder, name) => all.texts[shelf + "/" + folder + "/" + name];
export const readTable = (name) => all.tables[name];
`;
}

function compileFacts(): string {
  const tables = Object.entries(facts).map(([name, open]) => {
    const table = open();
    const [file = ""] = table.placeOf([]).split(":");
    return `export const ${name} = () => table("${file}", ${quoted(table.value)});\n`;
  });
  return `const table = (file, json) => ({ value: JSON.parse(json), placeOf: () => file });\n${tables.join("")}`;
}

function compileWords(): string {
  const openers = listWords().map(
    (name) =>
      `export const ${openerOf(name)} = () => textsByName(() => JSON.parse(${quoted(readWords(name))}));\n`,
  );
  return `import { textsByName } from "#core/base/words.ts";\n${openers.join("")}`;
}

/** What stands for a module of `data/`, by the name of its file. */
export function compiledModules(): ReadonlyMap<string, string> {
  return new Map([
    ["texts.js", compileTexts()],
    ["facts.js", compileFacts()],
    ["words.js", compileWords()],
    ["codes.js", readFileSync(new URL("../data/codes.js", import.meta.url), "utf8")],
  ]);
}
