/**
 * What a real kube-apiserver 1.34 says of rows that it refuses, where Mullion says the same: a row's title, a tab, the sentence. The
 * fast test asks the loader, the live test the server.
 */
import { readFileSync } from "node:fs";

const FILE = new URL("server-sentences.txt", import.meta.url);

export const SERVER_SENTENCES: ReadonlyMap<string, string> = new Map(
  readFileSync(FILE, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => {
      const [what = "", sentence = ""] = line.split("\t");
      return [what, sentence];
    }),
);
