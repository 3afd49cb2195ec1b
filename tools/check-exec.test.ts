// The forms that `mullion exec` prints, held against texts as Windows prints them.
import { beforeAll, describe, expect, it } from "vitest";
import { type Forms, checkExecText, readForms } from "./check-exec.ts";

let forms: Forms;
beforeAll(async () => {
  forms = await readForms();
});

function others(text: string, named = ""): readonly string[] {
  return checkExecText(text, named, forms).flatMap(({ other }) => other);
}

const ROUTES = `C:\\> route print
===========================================================================
Interface List
  9...00 15 5d 01 02 03 ......Hyper-V Virtual Ethernet Container Adapter #7
===========================================================================
Active Routes:
Network Destination        Netmask          Gateway       Interface  Metric
          0.0.0.0          0.0.0.0     192.0.2.1        192.0.2.7    271
`;
const ADDRESSES = `
Windows IP Configuration


Ethernet adapter vEthernet (abc):

   Connection-specific DNS Suffix  . : a.example
   Link-local IPv6 Address . . . . . : fe80::1%9
   IPv4 Address. . . . . . . . . . . : 192.0.2.7
`;

describe("forms of exec", () => {
  it.each([
    ["an output whose command the source names", ADDRESSES, "ipconfig"],
    ["behind kubectl", `$ kubectl exec web-7 -- ipconfig\n${ADDRESSES}`, ""],
    ["routes", ROUTES, ""],
    [
      "a table of another width",
      "PS C:\\> Get-NetAdapter\n\nName  InterfaceDescription ifIndex Status MacAddress LinkSpeed\n----  ------- ---- ---- --- ---\nx y 1 Up 00 10 Gbps\n",
      "",
    ],
    ["a program that Mullion does not have", "PS C:\\> ver\nanything", ""],
  ])("%s has no line of another form", (_, text, named) => {
    expect(others(text, named)).toEqual([]);
  });

  it.each([
    ["a label with other dots", ADDRESSES.replace("Address. . .", "Address . . ."), "ipconfig", 1],
    ["a label of another indent", ADDRESSES.replaceAll("   IPv4", "    IPv4"), "ipconfig", 1],
    ["another title", ROUTES.replace("Netmask", "Mask"), "", 1],
    ["another sentence", "PS C:\\> nslookup x\n*** Request to UnKnown took too long", "", 1],
  ])("%s is found", (_, text, named, count) => {
    expect(others(text, named)).toHaveLength(count);
  });

  it("says what is left out on purpose, and why", () => {
    expect(checkExecText(ADDRESSES, "ipconfig", forms)).toMatchObject([
      { command: "ipconfig", same: 4, leftOut: [expect.stringMatching(/Link-local IPv6 Address: a pod/)] },
    ]);
  });
});
