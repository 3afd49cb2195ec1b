/**
 * All that something says, held whole: a file of texts by titles. Single facts are held beside their sources by other tests; these
 * texts keep the rest from changing unseen. After a change on purpose `WRITE_TOLD=1 npx vitest run --project unit FILE` writes them
 * again; read the difference.
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
  afterAll(() => {
    if (writes)
      writeFileSync(path, [...texts].map(([title, text]) => `${TITLE}${title}\n${text}\n`).join(""));
  });
  return {
    of: (title) => texts.get(title) ?? "",
    titles: [...texts.keys()],
    held(title, text) {
      if (writes) texts.set(title, text);
      return texts.get(title);
    },
  };
}
