// Commands on pods and nodes. A command line in, the program's text and exit code out; forms are those of the threads
// that the files of src/cluster/exec name.
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { Ajv2020 } from "ajv/dist/2020.js";
import { EXEC_SCHEMA, type ExecReport } from "#cluster/exec/exec-report.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { exec } from "./exec.ts";
import { runMullion } from "./program.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: shop}
nodes:
  - {name: win-1, os: windows, build: BUILD, address: 10.0.0.11}
  - {name: linux-1, os: linux, address: 10.0.0.21}
manifests: [m.yaml]
`;

function pod(name: string, os: string): string {
  return `
---
apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: shop, labels: {app: ${name}}}
spec:
  nodeSelector: {kubernetes.io/os: ${os}}
  containers: [{name: c, image: example.invalid/c, ports: [{containerPort: 80}]}]`;
}

const MANIFESTS = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
${pod("win", "windows")}${pod("tux", "linux")}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.96.0.20, selector: {app: tux}, ports: [{port: 80}]}`;

interface Answer {
  readonly code: number;
  readonly text: string;
  readonly errors: string;
}

async function run(argv: readonly string[], build = "ws2022"): Promise<Answer> {
  const files = { "c.yaml": CLUSTER.replace("BUILD", build), "m.yaml": MANIFESTS };
  const terminal = new MemoryTerminal(files);
  const code = await runMullion({
    argv: ["exec", ...argv],
    verbs: { exec },
    terminal,
    version: "0",
    isDebug: false,
  });
  return { code, text: terminal.output, errors: terminal.errors };
}

const validate = new Ajv2020({ strict: true, strictRequired: false }).compile(EXEC_SCHEMA);

/** The report of a command line on the Windows pod. */
async function report(line: string, from = "pod/shop/win", build = "ws2022"): Promise<ExecReport> {
  const { text } = await run(["-f", "c.yaml", from, "-o", "json", "--", ...line.split(" ")], build);
  const document: unknown = JSON.parse(text);
  validate(document);
  expect(validate.errors ?? []).toEqual([]);
  return document as ExecReport;
}

/** What was printed, without the ends of Windows' lines. */
async function lines(line: string, from?: string, build?: string): Promise<readonly string[]> {
  const { stdout } = await report(line, from, build);
  expect(stdout.replaceAll("\r\n", "")).not.toContain("\n");
  return stdout.split("\r\n").slice(0, -1);
}

describe("ipconfig", () => {
  it("shows a pod's adapter, its suffix, address and gateway", async () => {
    expect(await lines("ipconfig")).toEqual([
      "",
      "Windows IP Configuration",
      "",
      "",
      expect.stringMatching(/^Ethernet adapter vEthernet \(.+\):$/),
      "",
      "   Connection-specific DNS Suffix  . : shop.svc.cluster.local",
      expect.stringMatching(/^ {3}IPv4 Address\. \. \. \. \. \. \. \. \. \. \. : 10\.244\.\d+\.\d+$/),
      "   Subnet Mask . . . . . . . . . . . : 255.255.255.0",
      expect.stringMatching(/^ {3}Default Gateway \. \. \. \. \. \. \. \. \. : 10\.244\.\d+\.\d+$/),
    ]);
  });

  it("/all has the host, the search list twice, and the name servers", async () => {
    const text = await lines("ipconfig /all");
    expect(text.slice(3, 11)).toEqual([
      "   Host Name . . . . . . . . . . . . : win",
      "   Primary Dns Suffix  . . . . . . . : ",
      "   Node Type . . . . . . . . . . . . : Hybrid",
      "   IP Routing Enabled. . . . . . . . : No",
      "   WINS Proxy Enabled. . . . . . . . : No",
      "   DNS Suffix Search List. . . . . . : shop.svc.cluster.local",
      "                                       svc.cluster.local",
      "                                       cluster.local",
    ]);
    expect(text.slice(14, 15)).toEqual(["   Connection-specific DNS Suffix  . : shop.svc.cluster.local"]);
    expect(text.slice(15)).toEqual([
      expect.stringMatching(
        /^ {3}Description . . . . . . . . . . . : Hyper-V Virtual Ethernet Container Adapter/,
      ),
      expect.stringMatching(/^ {3}Physical Address. . . . . . . . . : 00-15-5D(-[0-9A-F]{2}){3}$/),
      "   DHCP Enabled. . . . . . . . . . . : No",
      "   Autoconfiguration Enabled . . . . : Yes",
      expect.stringMatching(/^ {3}IPv4 Address. . . . . . . . . . . : [\d.]+\(Preferred\) $/),
      "   Subnet Mask . . . . . . . . . . . : 255.255.255.0",
      expect.stringMatching(/^ {3}Default Gateway . . . . . . . . . : /),
      "   DNS Servers . . . . . . . . . . . : 10.96.0.10",
      "   NetBIOS over Tcpip. . . . . . . . : Disabled",
      "   Connection-specific DNS Suffix Search List :",
      "                                       shop.svc.cluster.local",
      "                                       svc.cluster.local",
      "                                       cluster.local",
    ]);
  });

  it("Server 2019 describes a pod's adapter as any other", async () => {
    const text = await lines("IPCONFIG.EXE -ALL", undefined, "ws2019");
    const [description] = text.filter((line) => line.includes("Description"));
    expect(description).toMatch(/: Hyper-V Virtual Ethernet Adapter #\d+$/);
  });

  it("on a node has the node's name and its adapters", async () => {
    const text = await lines("ipconfig /all", "node/win-1");
    expect(text).toContain("   Host Name . . . . . . . . . . . . : win-1");
    expect(text).toContain("Ethernet adapter vEthernet (Ethernet):");
    expect(text).toContain("   IPv4 Address. . . . . . . . . . . : 10.0.0.11(Preferred) ");
  });

  it.each([
    ["ipconfig /displaydns", ["Could not display the DNS Resolver Cache."], 0],
    ["ipconfig /flushdns", ["Successfully flushed the DNS Resolver Cache."], 0],
  ])("%s", async (line, last, exitCode) => {
    const { stdout, exitCode: ended } = await report(line);
    expect(stdout).toBe(["", "Windows IP Configuration", "", ...last, ""].join("\r\n"));
    expect(ended).toBe(exitCode);
  });

  it("a wrong option is a wrong command line", async () => {
    const { stdout, exitCode } = await report("ipconfig /every");
    expect(stdout).toBe("\r\nError: unrecognized or incomplete command line.\r\n");
    expect(exitCode).toBe(1);
  });
});

describe("route", () => {
  const rule = "=".repeat(75);

  it("print shows interfaces, routes of IPv4, the persistent one, and IPv6", async () => {
    const text = await lines("route print");
    expect(text.slice(0, 2)).toEqual([rule, "Interface List"]);
    expect(text[2]).toMatch(/^ *\d+\.{27}Software Loopback Interface \d+$/);
    expect(text[3]).toMatch(
      /^ *\d+\.\.\.00 15 5d( [0-9a-f]{2}){3} \.{6}Hyper-V Virtual Ethernet Container Adapter/,
    );
    const titles = text.filter((line) => /^\w/.test(line));
    expect(titles).toEqual([
      "Interface List",
      "IPv4 Route Table",
      "Active Routes:",
      "Network Destination        Netmask          Gateway       Interface  Metric",
      "Persistent Routes:",
      "IPv6 Route Table",
      "Active Routes:",
      "Persistent Routes:",
    ]);
    expect(text).toContain("        127.0.0.0        255.0.0.0         On-link         127.0.0.1    331");
    expect(text).toContain("  Network Address          Netmask  Gateway Address  Metric");
    expect(text.filter((line) => line.endsWith("  Default"))).toHaveLength(1);
    expect(text.slice(-2)).toEqual(["Persistent Routes:", "  None"]);
  });

  it("orders routes by destination, the loopback's first", async () => {
    const text = await lines("route print -4");
    const routes = text.flatMap(
      (line) =>
        line
          .match(/^ +([\d.]+) +([\d.]+) +(\S+) +([\d.]+) +\d+$/)
          ?.slice(1, 5)
          .join(" ") ?? [],
    );
    const own = routes[0]?.split(" ")[3] ?? "";
    const [a, b, c] = own.split(".");
    const net = `${a}.${b}.${c}`;
    expect(routes).toEqual([
      expect.stringMatching(/^0\.0\.0\.0 0\.0\.0\.0 10\.244\./),
      `${net}.0 255.255.255.0 On-link ${own}`,
      `${own} 255.255.255.255 On-link ${own}`,
      `${net}.255 255.255.255.255 On-link ${own}`,
      "127.0.0.0 255.0.0.0 On-link 127.0.0.1",
      "127.0.0.1 255.255.255.255 On-link 127.0.0.1",
      "127.255.255.255 255.255.255.255 On-link 127.0.0.1",
      "224.0.0.0 240.0.0.0 On-link 127.0.0.1",
      `224.0.0.0 240.0.0.0 On-link ${own}`,
      "255.255.255.255 255.255.255.255 On-link 127.0.0.1",
      `255.255.255.255 255.255.255.255 On-link ${own}`,
    ]);
  });

  it.each([
    ["route add 192.0.2.0 mask 255.255.255.0 10.0.0.1 metric 5", " OK!\r\n", "", 0],
    [
      "route ADD 192.0.2.7 MASK 255.255.255.0 10.0.0.1",
      "",
      /^The route addition failed: The parameter is incorrect\./,
      1,
    ],
    [
      "route add 192.0.2.0 mask 255.255.255.0 198.51.100.1",
      "",
      /^The route addition failed: Either the interface index is wrong or the gateway does not lie on the same network/,
      1,
    ],
    ["route delete 0.0.0.0", " OK!\r\n", "", 0],
    ["route delete 192.0.2.0 mask 1.2.3.4", "", /^The route deletion failed: /, 1],
    ["route delete 192.0.2.0", "", /^The route deletion failed: Element not found\./, 1],
  ])("%s", async (line, stdout, stderr, exitCode) => {
    const answer = await report(line, "node/win-1");
    expect(answer.stdout).toBe(stdout);
    expect(answer.stderr).toMatch(stderr);
    expect(answer).toMatchObject({ exitCode, isChange: true });
  });
});

describe("ping", () => {
  it("shows four answers and counts them", async () => {
    const text = await lines("ping 10.0.0.11");
    expect(text).toEqual([
      "",
      "Pinging 10.0.0.11 with 32 bytes of data:",
      ...Array.from(
        { length: 4 },
        () => expect.stringMatching(/^Reply from 10\.0\.0\.11: bytes=32 time(<1|=\d+)ms TTL=128$/) as string,
      ),
      "",
      "Ping statistics for 10.0.0.11:",
      "    Packets: Sent = 4, Received = 4, Lost = 0 (0% loss),",
      "Approximate round trip times in milli-seconds:",
      expect.stringMatching(/^ {4}Minimum = \d+ms, Maximum = \d+ms, Average = \d+ms$/),
    ]);
  });

  it("a ClusterIP answers no echo: what was sent is lost, and the exit code says so", async () => {
    const { stdout, exitCode } = await report("ping -n 1 -w 500 web");
    expect(stdout.split("\r\n").slice(1, 6)).toEqual([
      "Pinging web.shop.svc.cluster.local [10.96.0.20] with 32 bytes of data:",
      "Request timed out.",
      "",
      "Ping statistics for 10.96.0.20:",
      "    Packets: Sent = 1, Received = 0, Lost = 1 (100% loss),",
    ]);
    expect(exitCode).toBe(1);
  });

  it.each([
    ["ping nobody", "Ping request could not find host nobody. Please check the name and try again.\r\n"],
    ["ping -q 10.0.0.11", "Bad option -q.\r\n"],
    ["ping 10.0.0.11 -n 0", "Bad value for option -n, valid range is from 1 to 4294967295.\r\n"],
    ["ping 10.0.0.11 -n", "Value must be supplied for option -n.\r\n"],
  ])("%s", async (line, stdout) => {
    expect(await report(line)).toMatchObject({ stdout, exitCode: 1 });
  });
});

describe("nslookup and arp", () => {
  it("a short name is completed by the suffixes, and the server says its name", async () => {
    expect(await lines("nslookup web")).toEqual([
      "Server:  kube-dns.kube-system.svc.cluster.local",
      "Address:  10.96.0.10",
      "",
      "Name:    web.shop.svc.cluster.local",
      "Address:  10.96.0.20",
      "",
    ]);
  });

  it("a name that does not exist", async () => {
    const { stdout, stderr } = await report("nslookup gone.");
    expect(stdout).toBe("Server:  kube-dns.kube-system.svc.cluster.local\r\nAddress:  10.96.0.10\r\n\r\n");
    expect(stderr).toBe(
      "*** kube-dns.kube-system.svc.cluster.local can't find gone.: Non-existent domain\r\n",
    );
  });

  it("arp -a lists what an interface knows", async () => {
    const text = await lines("arp -a", "node/win-1");
    expect(text[1]).toMatch(/^Interface: 10\.0\.0\.11 --- 0x[0-9a-f]+$/);
    expect(text[2]).toBe("  Internet Address      Physical Address      Type");
    expect(text).toContain("  10.0.0.255            ff-ff-ff-ff-ff-ff     static     ");
  });
});

describe("what is not there", () => {
  it.each([
    [
      "frobnicate --now",
      "'frobnicate' is not recognized as an internal or external command,\r\noperable program or batch file.\r\n",
    ],
    [
      "cmd /c ss",
      "'ss' is not recognized as an internal or external command,\r\noperable program or batch file.\r\n",
    ],
  ])("cmd.exe says so of %s", async (line, stderr) => {
    expect(await report(line)).toMatchObject({ stdout: "", stderr, exitCode: 1, isListed: false });
  });

  it.each(["Get-Something", "powershell -Command dig"])("PowerShell says so of %s", async (line) => {
    const { stderr, exitCode } = await report(line);
    expect(stderr).toMatch(
      /^\S+ : The term '\S+' is not recognized as the name of a cmdlet, function, script file/,
    );
    expect(stderr).toContain("CommandNotFoundException");
    expect(exitCode).toBe(1);
  });

  it("a shell of Linux does so, too: ipconfig is no command there", async () => {
    expect(await report("ipconfig", "pod/shop/tux")).toMatchObject({
      stderr: "sh: 1: ipconfig: not found\n",
      exitCode: 127,
    });
  });

  it.each([
    [["-f", "c.yaml", "pod/shop/win"], /no command for pod\/shop\/win/, /--list/],
    [["-f", "c.yaml"], /takes a pod or node/, /mullion exec pod\/web -- ipconfig/],
    [["--list", "pod/shop/win"], /--list takes no pod/, /Leave one/],
    [["-f", "c.yaml", "pod/nobody", "--", "ipconfig"], /pod\/nobody/, /pod\/shop\/win/],
    [["-f", "c.yaml", "service/shop/web", "--", "ipconfig"], /answers and does not ask/, /Name a pod/],
    [["-f", "c.yaml", "pod/shop/win", "--", ""], /there is no command/, /--list/],
    [
      ["-f", "c.yaml", "pod/shop/win", "--", "ipconfig", "/renew"],
      /ipconfig \/renew is not one/,
      /ipconfig \/all/,
    ],
    [["-f", "c.yaml", "pod/shop/win", "--", "ping", "-t", "10.0.0.11"], /ping -t is not one/, /-n COUNT/],
    [
      ["-f", "c.yaml", "pod/shop/win", "--", "ping", "-n", "5000", "10.0.0.11"],
      /takes longer/,
      /1000 at most/,
    ],
  ])("%j is refused", async (argv, message, advice) => {
    const { code, text, errors } = await run(argv);
    expect({ code, text }).toEqual({ code: 2, text: "" });
    expect(errors).toMatch(message);
    expect(errors).toMatch(advice);
  });

  it("--list says which commands there are, and a command that is missing leads to it", async () => {
    const { code, text } = await run(["--list"]);
    expect(code).toBe(0);
    expect(text).toMatch(/^On Windows:\n {2}ipconfig\n {2}ipconfig \/all\n/);
    const missing = await run(["-f", "c.yaml", "pod/shop/win", "--", "pathping", "web"]);
    expect(missing.code).toBe(1);
    expect(missing.errors).toContain("mullion exec --list");
    expect(missing.errors).toContain("exit code 1");
  });

  it("-o yaml has what -o json has", async () => {
    const asked = ["-f", "c.yaml", "pod/shop/win", "-o"];
    const [json, yaml] = [
      await run([...asked, "json", "--", "arp", "-a"]),
      await run([...asked, "yaml", "--", "arp", "-a"]),
    ];
    expect(parse(yaml.text)).toEqual(JSON.parse(json.text));
  });
});

describe("mullion exec --trace", () => {
  const IN_SHOP = ["-f", "c.yaml", "--trace"];

  it("shows a packet of each kind that a command sends, in order, each with its answer", async () => {
    const { code, text } = await run([...IN_SHOP, "pod/shop/win", "--", "curl", "-s", "http://web"]);
    expect(code).toBe(0);
    expect(text).toMatch(/^shop\/tux saw /);
    expect(
      text.match(/^(Packet|Answer) \d: (UDP|TCP) .*$/gm)?.map((line) => line.replace(/ \S+ → \S+/, "")),
    ).toEqual([
      expect.stringMatching(/^Packet 1: UDP \d+ bytes$/),
      expect.stringMatching(/^Answer 1: UDP \d+ bytes$/),
      "Packet 2: TCP SYN ECE CWR",
      "Answer 2: TCP SYN ACK ECE",
    ]);
    // The rule that HNS made for the pod.
    expect(text).toMatch(/from HostComputeEndpoint "\S+", policy\s+OutBoundNAT/);
  });

  it("in JSON each walk says how its packet ended", async () => {
    const { text } = await run([
      ...IN_SHOP,
      "-o",
      "json",
      "pod/shop/win",
      "--",
      "ping",
      "-n",
      "3",
      "10.0.0.21",
    ]);
    const traced = JSON.parse(text) as ExecReport;
    expect(new Ajv2020().compile(EXEC_SCHEMA)(traced)).toBe(true);
    expect(traced.walks?.map(({ forward, reply }) => [forward.end, reply?.end])).toEqual(
      Array.from({ length: 3 }, () => ["delivered", "delivered"]),
    );
    expect(traced.walks?.[2]?.forward.steps[0]).toMatchObject({
      kind: "send",
      node: "win-1",
      place: "pod shop/win",
    });
    expect(traced.stdout).toContain("Sent = 3, Received = 3");
  });

  it("a packet that is dropped says where", async () => {
    const { text } = await run([
      ...IN_SHOP,
      "-o",
      "json",
      "pod/shop/win",
      "--",
      "ping",
      "-n",
      "1",
      "10.0.0.99",
    ]);
    const [walk] = (JSON.parse(text) as ExecReport).walks ?? [];
    expect(walk?.forward.end).toBe("dropped");
    expect(walk?.forward.steps.at(-1)).toMatchObject({ kind: "drop" });
  });

  it("on Linux the translations in front of a packet belong to its walk", async () => {
    const { text } = await run([
      ...IN_SHOP,
      "-o",
      "json",
      "node/linux-1",
      "--",
      "wget",
      "-qO-",
      "http://10.96.0.20",
    ]);
    const { walks = [] } = JSON.parse(text) as ExecReport;
    expect(walks).toHaveLength(1);
    const kinds = walks[0]?.forward.steps.map(({ kind }) => kind);
    expect(kinds).toEqual(["translate", "translate", "send", "switch", "deliver"]);
  });

  it("a command that sends nothing says so", async () => {
    const { code, text } = await run([...IN_SHOP, "pod/shop/win", "--", "ipconfig", "/flushdns"]);
    expect({ code, text }).toEqual({
      code: 0,
      text: expect.stringMatching(/\nThe command sent no packet\.\n$/) as string,
    });
  });
});
