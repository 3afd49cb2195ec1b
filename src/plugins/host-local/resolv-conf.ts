/** The `dns` of a result from a file in the form of resolv.conf (cni.md §4.1, `resolvConf`). */
import type { CniDns } from "../../cni/result.ts";

/** Parses the text: the words of `search` and `options` add up, the last `domain` holds, the rest is ignored. */
export function parseResolvConf(text: string): CniDns {
  const nameservers: string[] = [];
  const search: string[] = [];
  const options: string[] = [];
  let domain = "";
  for (const line of text.split("\n")) {
    const [keyword = "", ...words] = line.trim().split(/\s+/);
    const [first] = words;
    if (first === undefined) continue;
    if (keyword === "nameserver") nameservers.push(first);
    else if (keyword === "domain") domain = first;
    else if (keyword === "search") search.push(...words);
    else if (keyword === "options") options.push(...words);
  }
  return { nameservers, domain, search, options };
}
