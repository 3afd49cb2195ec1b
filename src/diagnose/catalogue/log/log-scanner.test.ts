import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatNumber } from "../errors/windows/hresult.ts";
import { nameOf } from "../errors/format-error.ts";
import { filledText } from "../errors/holes.ts";
import { KNOWN_ERRORS } from "../errors/table.ts";
import { findingsOf, unknownNumbersOf } from "./findings.ts";
import { type LogScan, LogScanner } from "./log-scanner.ts";
import { type Signatures, buildSignatures } from "./signatures.ts";

const SIGNATURES: Signatures = buildSignatures();

function scan(text: string | Uint8Array, pieceBytes: number = 1_000_000): LogScan {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  const scanner = new LogScanner(SIGNATURES);
  for (let at = 0; at < bytes.length; at += pieceBytes) scanner.push(bytes.subarray(at, at + pieceBytes));
  return scanner.finish();
}

/** `id count@line`, the likeliest first. */
function shown(text: string | Uint8Array): readonly string[] {
  return findingsOf(scan(text)).map(({ error, count, firstLine }) => `${error.id} ${count}@${firstLine}`);
}

describe("a log of", () => {
  it.each([
    [
      "kube-proxy, as old releases write",
      [
        "I1006 09:12:01.118201    4120 proxier.go:1180] Hns Endpoint resource, {}",
        'E1006 09:12:01.448201    4120 proxier.go:1097] Source Vip endpoint creation failed: hcnCreateEndpoint failed in Win32: An address provided is invalid or reserved. (0x803b002f) {"Success":false,"Error":"An address provided is invalid or reserved. ","ErrorCode":2151350319}',
        'E1006 09:12:31.448201    4120 proxier.go:1097] Source Vip endpoint creation failed: hcnCreateEndpoint failed in Win32: An address provided is invalid or reserved. (0x803b002f) {"Success":false,"Error":"An address provided is invalid or reserved. ","ErrorCode":2151350319}',
      ],
      ["hcn-e-addr-invalid-or-reserved 2@2", "kube-proxy-source-vip-failed 2@2"],
    ],
    [
      "kube-proxy, as new releases write",
      [
        'E0102 15:04:05.000007    4120 proxier.go:1542] "Policy creation failed" err="hcnCreateLoadBalancer failed in Win32: The specified port already exists. (0x803b0013) {\\"Success\\":false,\\"Error\\":\\"The specified port already exists. \\",\\"ErrorCode\\":2151350291}"',
        'E0102 15:04:06.000007    4120 proxier.go:1397] "Local endpoint not found: on network" err="<nil>" ip="10.244.3.7" hnsNetworkName="cbr0"',
        'I0102 15:04:07.000007    4120 proxier.go:1231] "The HNS network is not present or has changed since the last sync, please check the CNI deployment" hnsNetworkName="cbr0"',
      ],
      [
        "hcn-e-port-already-exists 1@1",
        "kube-proxy-local-endpoint-missing 1@2",
        "kube-proxy-network-changed 1@3",
        "kube-proxy-policy-creation-failed 1@1",
      ],
    ],
    [
      "flanneld",
      [
        "I0420 10:00:01.000001    2212 main.go:211] CLI flags config: {}",
        "E0420 10:00:02.000001    2212 main.go:384] Error registering network: invalid VXLAN backend config. VNI [1] must be greater than or equal to 4096 on Windows",
        "E0420 10:00:05.000001    2212 vxlan_network_windows.go:106] VNI is 1 but it is required to be greater than or equal to 4096 on Windows.",
      ],
      ["flanneld-vni-too-small 2@2", "flanneld-network-not-registered 1@2"],
    ],
    [
      // kubernetes-sigs/sig-windows-tools#250: the second line is a record of its own, and no word of the first is about routes.
      "a script and flanneld below it",
      [
        "Invoke-HnsRequest : @{Error=The parameter is incorrect. ; ErrorCode=2147942487; Success=False}",
        "FATA[2022-11-09T14:17:23Z] rpc error: code = Internal desc = could not create IP forward entry: The object already exists.",
      ],
      ["error-invalid-parameter 1@1", "route-exists 1@2"],
    ],
    [
      "the kubelet",
      [
        'E0601 08:00:00.100000    5020 pod_workers.go:1298] "Error syncing pod, skipping" err="failed to \\"CreatePodSandbox\\" for \\"web\\" with CreatePodSandboxError: \\"Failed to create sandbox for pod: rpc error: code = Unknown desc = failed to setup network for sandbox \\\\\\"4f2b\\\\\\": plugin type=\\\\\\"flannel\\\\\\" failed (add): failed to delegate add: failed to find HNSEndpoint 4f2b_cbr0: Endpoint 4f2b_cbr0 not found\\""',
      ],
      [
        "cni-endpoint-not-found 1@1",
        "flannel-delegate-failed 1@1",
        "cni-add-failed 1@1",
        "kubelet-sandbox-failed 1@1",
      ],
    ],
    [
      "containerd",
      [
        'time="2024-05-04T07:11:52.101Z" level=info msg="starting cri plugin"',
        'time="2024-05-04T07:11:52.123Z" level=error msg="failed to load cni during init, please check CRI plugin status" error="cni config load failed: no network config found in C:\\\\Program Files\\\\containerd\\\\cni\\\\conf: cni plugin not initialized: failed to load cni config"',
      ],
      ["cni-no-configuration 1@2", "kubelet-cni-uninitialized 1@2"],
    ],
    [
      "a CNI plugin on standard output",
      [
        "{",
        '    "code": 7,',
        '    "msg": "invalid range set 0: Network has host bits set. For a subnet mask of length 24 the network address is 10.244.1.0"',
        "}",
      ],
      ["cni-invalid-network-config 1@2", "ipam-range-has-host-bits 1@3"],
    ],
    [
      "Calico",
      [
        "2024-08-09 20:57:56.101 [INFO][14032] dataplane_windows.go 326: Found existing HNS network",
        "2024-08-09 20:57:56.120 [ERROR][14032] dataplane_windows.go 160: Unable to create hns network Calico",
        '2024-08-09 20:57:56.121 [ERROR][14032] plugin.go 580: Final result of CNI ADD was an error. error=Could not find vxlan0 in V2: Network ID "74519449" not found',
      ],
      ["cni-network-missing 1@3", "calico-vxlan0-missing 1@3", "calico-network-failed 1@2"],
    ],
    [
      "Azure CNI",
      [
        '{"level":"info","ts":"2024-01-01T00:00:00Z","msg":"Plugin Info"}',
        '{"level":"error","ts":"2024-01-01T00:01:00Z","msg":"Failed to create endpoint","error":"Failed to create endpoint: 1b2c-eth0 due to error: hcnCreateEndpoint failed in Win32: Element not found. (0x490)"}',
        '{"level":"error","ts":"2024-01-01T00:02:00Z","msg":"Failed to initialize key-value store of network plugin","error":"timed out locking store"}',
      ],
      ["error-not-found 1@2", "azure-lock-timeout 1@3", "azure-hcn-create-failed 1@2"],
    ],
    [
      "PowerShell",
      [
        "PS C:\\k> New-HnsNetwork -Type Overlay",
        "New-HnsNetwork : @{Error=An adapter was not found. ; ErrorCode=2151350278; Success=False}",
        "At C:\\k\\hns.psm1:233 char:16",
        "    + CategoryInfo          : NotSpecified: (:) [Write-Error], WriteErrorException",
        "Get-NetAdapter : No MSFT_NetAdapter objects found with property 'Name' equal to 'vEthernet (Ethernet)'.",
      ],
      ["hcn-e-adapter-not-found 1@2", "net-adapter-not-found 1@5"],
    ],
    [
      "a German node, by number",
      [
        "E0102 15:04:05.000007    4120 hns.go:88] hcnCreateEndpoint failed in Win32: Die IP-Adresse ist ungültig oder gehört zu keinem Subnetz. (0x803b001e)",
        "E0102 15:04:06.000007    4120 hns.go:88] hcnOpenNamespace failed in Win32: Element nicht gefunden. (0x490)",
      ],
      ["hcn-e-invalid-ip 1@1", "error-not-found 1@2"],
    ],
    [
      "a Chinese node, by number",
      [
        "E0102 15:04:05.000007    4120 hns.go:88] hcnCreateNetwork failed in Win32: 找不到适配器。 (0x803b0006)",
        "New-HnsNetwork : @{Error=参数错误。 ; ErrorCode=2147942487; Success=False}",
      ],
      ["hcn-e-adapter-not-found 1@1", "error-invalid-parameter 1@2"],
    ],
    [
      "events of kubectl describe",
      [
        "  Type     Reason                  Age   From     Message",
        "  Warning  FailedCreatePodSandBox  12s   kubelet  Failed to create pod sandbox: hcnCreateEndpoint failed in Win32: The object already exists. (0x1392)",
        "  Warning  FailedCreatePodSandBox  2s    kubelet  Failed to create pod sandbox: hcnCreateEndpoint failed in Win32: The object already exists. (0x1392)",
      ],
      ["error-object-already-exists 2@2", "kubelet-sandbox-failed 2@2"],
    ],
  ])("%s", (_, lines, expected) => {
    expect(shown(`${lines.join("\n")}\n`)).toEqual(expected);
    expect(shown(lines.join("\r\n"))).toEqual(expected);
  });

  it("nothing that is known shows nothing", () => {
    const lines = [
      "I0102 15:04:05.000007    4120 proxier.go:1180] Hns LoadBalancer resource created for cluster ip resources 10.96.0.10",
      "2024-01-01 the network interface eth0 is not found in the list, code: 17",
      "goroutine 1 [running]: main.main() /src/main.go:57 +0x490",
      "flags=0x22 size=2151350 port 8080 -2143617",
      "Reply from 10.244.1.3: bytes=32 time<1ms TTL=128",
    ];
    expect(shown(lines.join("\n"))).toEqual([]);
  });
});

const LINE =
  "E0102 15:04:05.000007    4120 proxier.go:1542] Policy creation failed: The specified port already exists. (0x803b0013)";
const EXPECTED = ["hcn-e-port-already-exists 1@1", "kube-proxy-policy-creation-failed 1@1"];

describe("a line is understood", () => {
  it.each(Array.from({ length: 40 }, (_, index) => index + 24))(
    "wrapped by a console after %i columns",
    (width) => {
      const wrapped = LINE.match(new RegExp(`.{1,${width}}`, "g"))?.join("\r\n    ") ?? "";
      expect(shown(wrapped).map((text) => text.replace(/@\d+$/, ""))).toEqual([
        "hcn-e-port-already-exists 1",
        "kube-proxy-policy-creation-failed 1",
      ]);
    },
  );

  it.each([
    ["with colours", `\u001b[31m${LINE.replace("port", "\u001b[1;33mport\u001b[0m")}\u001b[0m`],
    ["with a title for the terminal", `\u001b]0;kube-proxy\u0007${LINE}`],
    ["in capitals", LINE.toUpperCase().replace("0X", "0x")],
    ["with no-break spaces and curly quotes", LINE.replaceAll(" ", "\u00a0").replace("port", "“port”")],
    ["after a byte order mark", `\ufeff${LINE}`],
    ["with zero bytes between", LINE.split("").join("\u0000")],
    ["inside JSON inside JSON", JSON.stringify({ log: JSON.stringify({ msg: LINE }) })],
    ["after binary garbage", String.fromCharCode(1, 2, 3, 9, 11, 12, 14, 31, 127) + LINE],
  ])("%s", (_, text) => {
    expect(shown(text)).toEqual(EXPECTED);
  });

  it("as often as it occurs, not as often as a record says it", () => {
    const record = `${LINE} {"Success":false,"Error":"The specified port already exists. ","ErrorCode":2151350291}`;
    expect(shown(`${record}\n${record}\n${record}\n`)[0]).toBe("hcn-e-port-already-exists 3@1");
  });

  it("in its own place: line, cut to what matters", () => {
    const long = `${"x".repeat(3_000)} The specified port already exists. ${"y".repeat(3_000)}`;
    const [finding] = findingsOf(scan(`first\nsecond\n${long}\nfourth`));
    expect(finding).toMatchObject({ firstLine: 3, lastLine: 3, count: 1 });
    expect(finding?.line).toMatch(/^…x+ The specified port already exists\. y+…$/);
    expect(finding?.line.length).toBeLessThan(400);
  });

  it.each([
    ["0x803b00134"],
    ["a0x803b0013"],
    ["12151350291"],
    ["2151350291a"],
    ["HCN_E_PORT_ALREADY_EXISTS_"],
  ])("but %j is another number or name", (text) => {
    expect(shown(text)).toEqual([]);
  });
});

describe("a code that the table does not have", () => {
  it("of HNS or HCS is told with its place", () => {
    const log = scan(
      "one\nfailed (0x803b0099)\nagain 0x803B0099, that is 0x803b0099\nand 0xC0370199\nnot 0x803b009 nor 0x803b00991\n",
    );
    expect(
      unknownNumbersOf(log).map(({ hresult, count, firstLine, lastLine }) => [
        formatNumber(hresult),
        count,
        firstLine,
        lastLine,
      ]),
    ).toEqual([
      ["0x803b0099", 2, 2, 3],
      ["0xc0370199", 1, 4, 4],
    ]);
    expect(findingsOf(log)).toEqual([]);
  });
});

describe("a text that two codes share", () => {
  it("belongs to the code whose number stands with it", () => {
    const line =
      'x: A network with this name already exists. (0x803b0011) {"Error":"A network with this name already exists. "}';
    expect(shown(line)).toEqual(["hcn-e-layer-already-exists 1@1"]);
    expect(shown(line.replace("0011", "0010"))).toEqual(["hcn-e-network-already-exists 1@1"]);
    expect(shown("A network with this name already exists.")).toEqual(["hcn-e-network-already-exists 1@1"]);
  });

  it("is not meant within a longer one", () => {
    expect(shown("The virtual machine or container exited unexpectedly while starting.")).toEqual([
      "hcs-e-terminated-during-start 1@1",
    ]);
    expect(shown("The virtual machine or container exited unexpectedly.")).toEqual([
      "hcs-e-unexpected-exit 1@1",
    ]);
  });
});

describe("every error of the table", () => {
  const telling = new Set(SIGNATURES.spellings.map(({ error }) => error));

  it("can be found in a log, but for those whose text is plain English", () => {
    const hidden = KNOWN_ERRORS.filter(
      (error, index) => !telling.has(index) && !SIGNATURES.combinations.includes(error),
    ).map(nameOf);
    expect(hidden).toEqual([]);
  });

  it("is found by each spelling in a line of its own", () => {
    const missed = SIGNATURES.spellings.filter(({ error, pieces, holes }) => {
      const filled = pieces.map((piece, index) => `${piece} ${filledText(`{${holes[index] ?? "name"}}`)} `);
      const text = `I0102 15:04:05.000007 1 x.go:1] ${filled.join("")}`;
      return !scan(text).errors.some((found) => found.error === KNOWN_ERRORS[error]);
    });
    expect(missed.map(({ error, pieces }) => `${KNOWN_ERRORS[error]?.id}: ${pieces.join(" … ")}`)).toEqual(
      [],
    );
  });
});

describe("a text of several parts", () => {
  const [first, second] = ["I0102 15:04:05.000007 1 x.go:1] failed in Win32:", "(0x1d)"];

  it("is one text in one record, also where the console has wrapped it", () => {
    for (const between of [" ", "\n  "])
      expect(shown(`${first}${between}${second}`)).toEqual(["error-write-fault 1@1"]);
  });

  it("is none where its parts stand in records of their own", () => {
    expect(shown(`${first}\nI0102 15:04:06.000007 1 x.go:2] ${second}`)).toEqual([]);
  });
});

describe("whatever the bytes are", () => {
  const KNOWN = fc.constantFrom(
    ...[
      LINE,
      "0x803b0013",
      "\n",
      "\r\n",
      "\u001b[31m",
      "Endpoint name",
      "not found",
      " ",
      "0x803b0099",
      "\u001b",
      "…",
      "hcnX failed in Win32: ",
      "(0x490)",
    ].map((text) => new TextEncoder().encode(text)),
  );
  const LOG = fc
    .array(fc.oneof(KNOWN, fc.uint8Array({ maxLength: 40 })), { maxLength: 40 })
    .map((parts) => Uint8Array.from(parts.flatMap((part) => [...part])));

  it("never throws, and the way the log is cut makes no difference", () => {
    fc.assert(
      fc.property(LOG, fc.integer({ min: 1, max: 50 }), (bytes, piece) => {
        expect(scan(bytes, piece)).toEqual(scan(bytes));
      }),
      { numRuns: 150 },
    );
  });

  it("shows the line of a finding that stands at the end of a batch, or of a record that goes on in the next", () => {
    const filler = "I0102 15:04:05.000007    4120 proxier.go:1180] nothing of note happens here at all\n";
    const before = filler.repeat(6_400);
    for (const behind of ["", "\n", `\n${filler}`, `\n${filler.repeat(3_200)}`]) {
      const [finding] = findingsOf(scan(`${before}${LINE}${behind}`, 65_536));
      expect(finding?.line).toBe(LINE);
    }
  });

  it("counts lines as wc does, and a last one without its end", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("a", "\n", "b\r\n", ""), { maxLength: 30 }), (parts) => {
        const text = parts.join("");
        const breaks = text.split("\n").length - 1;
        expect(scan(text).lines).toBe(breaks + (text === "" || text.endsWith("\n") ? 0 : 1));
      }),
    );
  });

  it("finds the same across the border of what it holds at a time", () => {
    const filler = "I0102 15:04:05.000007    4120 proxier.go:1180] nothing of note happens here at all\n";
    for (const lines of [3_000, 3_163, 3_164, 3_200, 6_400]) {
      const text = `${filler.repeat(lines)}${LINE}\n${filler}`;
      expect(shown(text)).toEqual(EXPECTED.map((expected) => expected.replace("@1", `@${lines + 1}`)));
      expect(scan(text, 65_536)).toEqual(scan(text, 4_099));
    }
  });
});
