/**
 * All that something says, held whole: a file of texts by titles. Single facts are held beside their sources by other tests; these
 * texts keep the rest from changing unseen. After a change on purpose `WRITE_TOLD=1 npx vitest run --project unit FILE` writes them
 * again, of a whole FILE: titles that no test asks for go. Read the difference.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll } from "vitest";

const TITLE = "### ";

export interface ToldTexts {
  /** The text of a title, without the title; nothing where there is none. */
  readonly of: (title: string) => string;
  readonly titles: readonly string[];
  /** What is held under a title, for `expect(text).toBe(…)`; when texts are written again, `text` itself. */
  readonly held: (title: string, text: string) => string | undefined;
}

/** For the tests of the file that calls it. */
export function toldTexts(path: string): ToldTexts {
  const writes = process.env["WRITE_TOLD"] !== undefined;
  const parts = readFileSync(path, "utf8")
    .split(new RegExp(`^${TITLE}`, "mu"))
    .slice(1);
  const texts = new Map(
    parts.map((part) => {
      const end = part.indexOf("\n");
      return [part.slice(0, end), part.slice(end + 1, -1)];
    }),
  );
  const asked = new Set<string>();
  afterAll(() => {
    const kept = [...texts].filter(([title]) => asked.has(title));
    if (writes) writeFileSync(path, kept.map(([title, text]) => `${TITLE}${title}\n${text}\n`).join(""));
  });
  return {
    of(title) {
      asked.add(title);
      return texts.get(title) ?? "";
    },
    titles: [...texts.keys()],
    held(title, text) {
      asked.add(title);
      if (writes) texts.set(title, text);
      return texts.get(title);
    },
  };
}
