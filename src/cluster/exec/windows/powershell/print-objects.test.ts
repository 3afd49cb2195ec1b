/** Names that do not fit into a column, as outputs of nodes print them. */
import { expect, it } from "vitest";
import { makeObject } from "./objects.ts";
import { showObjects } from "./print-objects.ts";

it.each([
  // antrea-io/antrea#3636
  ["vEthernet (HNS Internal NIC)", 25, "vEthernet (HNS Interna..."],
  ["vEthernet (nat)", 25, "vEthernet (nat)"],
  // microsoft/WSL#5821
  ["vEthernet (Default Switch) 2", 25, "vEthernet (Default Sw...2"],
  ["vEthernet (Default Switch) 16", 25, "vEthernet (Default S...16"],
  ["ASIX AX88179 USB 3.0 to Gigabit Ethernet Adapter #2", 39, "ASIX AX88179 USB 3.0 to Gigabit Et...#2"],
])("%s in a column of %d", (name, width, shown) => {
  const kind = {
    properties: [{ name: "Name", read: (): string => name }],
    table: [{ name: "Name", width, fit: "keep-number" }],
  } as const;
  expect(showObjects([makeObject(kind, undefined)])).toEqual(["", "Name", "----", shown, "", ""]);
});
