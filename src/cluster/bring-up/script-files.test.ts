import { toPowerShellJson } from "./script-files.ts";
import { describe, expect, it } from "vitest";

describe("JSON of Windows PowerShell 5.1", () => {
  it("stands as in the cni.conf that microsoft/SDN ships", () => {
    const text = toPowerShellJson({
      name: "cbr0",
      delegate: { type: "win-bridge", dns: { Search: ["svc.cluster.local"] } },
      policies: [{ Name: "EndpointPolicy", Value: { NeedEncap: true } }],
    });
    expect(text.split("\r\n")).toEqual([
      "{",
      '    "name":  "cbr0",',
      '    "delegate":  {',
      '                     "type":  "win-bridge",',
      '                     "dns":  {',
      '                                 "Search":  [',
      '                                                "svc.cluster.local"',
      "                                            ]",
      "                             }",
      "                 },",
      '    "policies":  [',
      "                     {",
      '                         "Name":  "EndpointPolicy",',
      '                         "Value":  {',
      '                                       "NeedEncap":  true',
      "                                   }",
      "                     }",
      "                 ]",
      "}",
    ]);
  });
});
