import { expect, it } from "vitest";
import { parseResolvConf } from "./plugin.ts";

it.each([
  [
    "nameserver 10.96.0.10\nsearch a b\noptions ndots:5\n",
    { nameservers: ["10.96.0.10"], domain: "", search: ["a", "b"], options: ["ndots:5"] },
  ],
  [
    "# comment\n; comment\n\n  nameserver\t1.1.1.1 extra\r\nnameserver 2.2.2.2\nsearch a\nsearch b",
    { nameservers: ["1.1.1.1", "2.2.2.2"], domain: "", search: ["a", "b"], options: [] },
  ],
  [
    "domain one\ndomain two\nnameserver\nsortlist x\n",
    { nameservers: [], domain: "two", search: [], options: [] },
  ],
])("%j", (text, dns) => {
  expect(parseResolvConf(text)).toEqual(dns);
});
