import { expect, it } from "vitest";
import { textAsSaid } from "./holes.ts";

it.each([
  // azure-container-networking, network/errors.go: the text with its hole, and a line of azure-vnet.log.
  ['E x.go] Network name "cbr0" not found', "Network name {name} not found", 'Network name "cbr0" not found'],
  ["the error of a line", "Element not found.", "Element not found."],
  ["HCN NETWORK vxlan0 Not Found", "hcn network {name} not found", "HCN NETWORK vxlan0 Not Found"],
  [
    "FATA: Ignoring non-cbr0 subnet",
    "{words} Ignoring non-{name} subnet {ip}",
    "… Ignoring non-cbr0 subnet …",
  ],
  [
    `msg="can't find HNS endpoint for network" error="Endpoint External not found"`,
    "Endpoint {name} not found",
    "Endpoint External not found",
  ],
  // A console wraps in the middle of words.
  ['Network name "cbr0" not fo\r\nund', "Network name {name} not found", "Network name … not found"],
])("%j says %j as %j", (line, text, said) => {
  expect(textAsSaid(line, text)).toBe(said);
});
