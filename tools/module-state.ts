/**
 * State that a module keeps for the life of the process: a `Map`, `Set`, array or object at its top level that something
 * in the file writes to. Tables that are filled where they are declared are none.
 */
import { type SourceFile, isTest } from "./source-files.ts";

/** A constant at the top level that holds something that can be written to; the mark ends before its value's contents. */
const CONTAINER =
  /^(?:export\s+)?const\s+(\w+)\s*(?::[^=;]+(?:=>[^=;]+)*)?=\s*(?:new\s+(?:Map|Set|WeakMap|WeakSet|Array)\b|\[|\{)/gm;

const MUTATORS = "set|add|delete|clear|push|pop|shift|unshift|splice|sort|reverse|fill|copyWithin";

/** Ways to write to `name`, after which it is not what it was. */
function writesTo(name: string): RegExp {
  const member = `(?:\\??\\.\\w+|!?\\[[^\\]]*\\])`;
  return new RegExp(
    `(?<![\\w.$])${name}(?:!?\\.(?:${MUTATORS})\\(|${member}+\\s*(?:[-+*/|&^%]|\\*\\*|<<|>>>?|\\?\\?|\\|\\||&&)?=(?![=>])|${member}+(?:\\+\\+|--))` +
      `|(?:\\+\\+|--|\\bdelete\\s+)${name}${member}` +
      `|\\bObject\\.(?:assign|defineProperty|defineProperties)\\(\\s*${name}\\s*,`,
  );
}

/** Text without comments, so that examples in them count for nothing; lines stay where they are. */
function withoutComments(text: string): string {
  const blank = (comment: string): string => comment.replace(/[^\n]/g, " ");
  return text.replace(/^\s*\/\*[\s\S]*?\*\//gm, blank).replace(/(^|\s)\/\/.*$/gm, blank);
}

/** Each constant of a module that is written to: file, line and name. */
export function findModuleState(files: readonly SourceFile[]): readonly string[] {
  const problems: string[] = [];
  for (const { path, text } of files.filter((file) => !isTest(file.path))) {
    const code = withoutComments(text);
    for (const match of code.matchAll(CONTAINER)) {
      const [declaration, name = ""] = match;
      const rest = code.slice(0, match.index) + code.slice(match.index + declaration.length);
      if (!writesTo(name).test(rest)) continue;
      const line = code.slice(0, match.index).split("\n").length;
      problems.push(
        `${path}:${line}: ${name} is written to: put it into an owner with the life of its contents`,
      );
    }
  }
  return problems;
}
