import { describe, expect, it } from "vitest";
import { SourceText } from "#core/base/source-text.ts";
import { examineNodes } from "./doctor.ts";
import { FileReading } from "./read-evidence.ts";
import { redact } from "./redact.ts";

const NOTHING: Parameters<typeof redact>[1] = {
  cluster: {
    isPartial: false,
    nodes: [],
    pods: [],
    services: [],
    slices: [],
    links: [],
    listed: { nodes: [], pods: [], cut: [] },
  },
  nodes: [],
};

const HOME = "/home";
const TOKEN = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJpc3MiOiJrdWJlIn0.c2lnbmF0dXJl";

function redacted(...texts: readonly string[]): readonly string[] {
  return redact(texts, NOTHING);
}

it("gives each of many addresses a stand-in of its own", () => {
  const own = Array.from({ length: 2_000 }, (_, index) => `10.1.${index >> 8}.${index & 255}`);
  const given = redact(own, NOTHING);
  expect(new Set(given).size).toBe(own.length);
  expect(given.filter((text) => !/^(?:192\.0\.2|198\.1[89]\.\d{1,3})\.\d{1,3}$/u.test(text))).toEqual([]);
});

describe("what lines of logs tell without any object of Kubernetes", () => {
  it.each([
    [
      "the node, also in capital letters and within a pod's name",
      ['node="akswin000001" ok', "AKSWIN000001 and kube-proxy-akswin000001 on akswin000001.corp.contoso.com"],
      ['node="node-1" ok', "node-1 and kube-proxy-node-1 on node-1.example"],
    ],
    [
      "pods and namespaces",
      [
        String.raw`pod="prod/shop-7d9c8b" namespaces "billing" for \"pay-1_billing(1f9a5e62-0f0e-4a52-9a2f-6c0d8f3b7a11)\"`,
      ],
      [
        String.raw`pod="namespace-2/pod-1" namespaces "namespace-1" for \"pod-2_namespace-1(00000000-0000-4000-8000-000000000001)\"`,
      ],
    ],
    [
      "API servers and registries, and not the domains that all clusters have",
      [
        "Get https://contoso-1a2b.hcp.westeurope.azmk8s.io:443/api: contosoreg.azurecr.io/web:1 mcr.microsoft.com/x web.svc.cluster.local node.kubernetes.io/y",
      ],
      [
        "Get https://host-1.example:443/api: host-2.example/web:1 mcr.microsoft.com/x web.svc.cluster.local node.kubernetes.io/y",
      ],
    ],
    [
      "machines that are called after their address",
      ["ip-10-1-2-3.ec2.internal and ip-10-1-2-3.ec2.internal, ip-10-1-2-4"],
      ["host-1.example and host-1.example, host-2"],
    ],
    [
      "subscriptions of Azure",
      ["azure:///subscriptions/0b1f6471-1bf0-4dda-aec3-cb9272f09590/resourceGroups/MC_contoso_rg/x done"],
      ["azure:///subscriptions/resource-1 done"],
    ],
    [
      "users",
      [
        String.raw`C:\Users\alice.smith\k.log ${HOME}/alice/x C:\Users\Administrator\y CONTOSO\bob NT AUTHORITY\SYSTEM HKLM\SYSTEM alice@contoso.com`,
      ],
      [
        String.raw`C:\Users\user-2\k.log ${HOME}/user-3/x C:\Users\Administrator\y user-4 NT AUTHORITY\SYSTEM HKLM\SYSTEM user-1@example`,
      ],
    ],
    [
      "MACs as they are written, and not those of no machine",
      ["00-0D-3A-12-34-56 00:0d:3a:12:34:56 00-00-00-00-00-00 12-34-56-78-9a-bc"],
      ["02-00-00-00-00-01 02:00:00:00:00:01 00-00-00-00-00-00 12-34-56-78-9a-bc"],
    ],
    [
      "GUIDs, and not those of the switch's extensions",
      [
        "1F9A5E62-0F0E-4A52-9A2F-6C0D8F3B7A11 1f9a5e62-0f0e-4a52-9a2f-6c0d8f3b7a11 F74F241B-440F-4433-BB28-00F89EAD20D8",
      ],
      [
        "00000000-0000-4000-8000-000000000001 00000000-0000-4000-8000-000000000001 F74F241B-440F-4433-BB28-00F89EAD20D8",
      ],
    ],
    [
      "IPv6, also with a zone and as a network",
      ["fe80::20d:3aff:fe12:3456%12 fd00:1234::5/64 fd00:1234::5 at 13:34:05 ::1"],
      ["2001:db8::1%12 2001:db8::2/64 2001:db8::2 at 13:34:05 ::1"],
    ],
    [
      "tokens and what is encoded, and not the ids of containers",
      [`Bearer ${TOKEN} ${"ab01".repeat(16)} ${"Ab01".repeat(20)}==`],
      [`Bearer (${TOKEN.length} characters) ${"ab01".repeat(16)} (82 characters)`],
    ],
  ])("%s", (_, given, wanted) => {
    expect(redacted(...given)).toEqual(wanted);
  });

  it("leaves words of programs, files and methods", () => {
    const text =
      "proxier.go:998 System.Net.Sockets kube-proxy.exe cni.conf Microsoft-Windows-Host-Network-Service vEthernet (Ethernet 2) cbr0 10.0.17763.2114";
    expect(redacted(text)).toEqual([text]);
  });
});

it("takes a machine's name from ipconfig, and the folder that a node is called after", async () => {
  const ip = `
Windows IP Configuration

   Host Name . . . . . . . . . . . . : CONTOSO-WIN7
   Primary Dns Suffix  . . . . . . . :

Ethernet adapter Ethernet:

   Connection-specific DNS Suffix  . : contoso.com
   IPv4 Address. . . . . . . . . . . : 10.0.0.11(Preferred)
   Subnet Mask . . . . . . . . . . . : 255.255.255.0
`;
  const readings = [
    new FileReading(new SourceText("home/jane/contoso-win7/ip.txt", ip)),
    new FileReading(
      new SourceText(
        "home/jane/contoso-win7/svc.txt",
        "Status   Name  DisplayName\n------   ----  -----------\nStopped  hns   Host Network Service\nRunning  kubelet  kubelet\n",
      ),
    ),
  ];
  const report = await examineNodes(readings, { isRedacted: true });
  expect(JSON.stringify(report)).not.toMatch(/contoso|jane|10\.0\.0/iu);
  expect(report.nodes).toEqual(["node-1"]);
});
