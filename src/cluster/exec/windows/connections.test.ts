/** Commands that open connections, or say which there are. */
import { beforeAll, describe, expect, it } from "vitest";
import { type ExecWorld, GREETING_PORT, makeExecWorld } from "#test/support/cluster/exec-world.ts";

let world: ExecWorld;
beforeAll(async () => {
  world = await makeExecWorld();
});

const ALIAS = expect.stringMatching(/^InterfaceAlias +: vEthernet \(shop_storefront_/) as string;
const SOURCE = expect.stringMatching(/^SourceAddress +: 10\.244\.\d+\.\d+$/) as string;

describe("Test-NetConnection", () => {
  it("a port that answers is not pinged", () => {
    expect(world.lines("Test-NetConnection -ComputerName web -Port 80")).toEqual([
      "",
      "",
      "ComputerName     : web",
      "RemoteAddress    : 10.96.0.20",
      "RemotePort       : 80",
      ALIAS,
      SOURCE,
      "TcpTestSucceeded : True",
      "",
      "",
    ]);
  });

  it("a port that does not is a warning, and its address is pinged", () => {
    expect(world.lines("Test-NetConnection 10.0.0.11 -Port 81")).toEqual([
      "WARNING: TCP connect to (10.0.0.11 : 81) failed",
      "",
      "",
      "ComputerName           : 10.0.0.11",
      "RemoteAddress          : 10.0.0.11",
      "RemotePort             : 81",
      ALIAS,
      SOURCE,
      "PingSucceeded          : True",
      "PingReplyDetails (RTT) : 0 ms",
      "TcpTestSucceeded       : False",
      "",
      "",
    ]);
  });

  it.each([
    ["web -Port 80", ["RemotePort              : 80"], ["TcpTestSucceeded        : True"]],
    [
      "10.0.0.11 -Port 81",
      ["RemotePort              : 81"],
      ["PingSucceeded           : True", "PingReplyDetails (RTT)  : 0 ms", "TcpTestSucceeded        : False"],
    ],
  ])("Detailed shows the way to %s, too", (target, port, results) => {
    const lines = world.lines(`Test-NetConnection ${target} -InformationLevel Detailed`);
    const address = target.startsWith("web") ? "10.96.0.20" : "10.0.0.11";
    expect(lines.filter((line) => line !== "" && !line.startsWith("WARNING"))).toEqual([
      `ComputerName            : ${target.split(" ")[0]}`,
      `RemoteAddress           : ${address}`,
      ...port,
      `NameResolutionResults   : ${address}`,
      "MatchingIPsecRules      :",
      "NetworkIsolationContext :",
      ALIAS,
      SOURCE,
      expect.stringMatching(/^NetRoute \(NextHop\) {6}: 10\.244\.\d+\.2$/),
      ...results,
    ]);
  });

  it("a ClusterIP does not answer the ping", () => {
    expect(world.lines("Test-NetConnection web")).toEqual([
      "WARNING: Ping to 10.96.0.20 failed with status: TimedOut",
      "",
      "",
      "ComputerName           : web",
      "RemoteAddress          : 10.96.0.20",
      ALIAS,
      SOURCE,
      "PingSucceeded          : False",
      "PingReplyDetails (RTT) : 0 ms",
      "",
      "",
    ]);
  });

  it.each([
    ["Test-NetConnection web -CommonTCPPort HTTP -InformationLevel Quiet", ["True"]],
    [
      "Test-NetConnection 10.0.0.11 -Port 81 -InformationLevel Quiet",
      ["WARNING: TCP connect to (10.0.0.11 : 81) failed", "False"],
    ],
    ["Test-NetConnection gone. -InformationLevel Quiet -WarningAction SilentlyContinue", ["False"]],
    ["powershell tnc web -p 80 | select -ExpandProperty TcpTestSucceeded", ["True"]],
  ])("%s", (line, expected) => {
    expect(world.lines(line)).toEqual(expected);
  });

  it("selected properties have a value where the list shows none", () => {
    const text = world.lines(
      "Test-NetConnection web -Port 80 | select RemotePort, PingSucceeded | ConvertTo-Json -Compress",
    );
    expect(text).toEqual(['{"RemotePort":80,"PingSucceeded":false}']);
  });
});

describe("curl and Invoke-WebRequest", () => {
  const saw = expect.stringMatching(/^shop\/tux saw \d+\.\d+\.\d+\.\d+:\d+$/) as string;

  it.each(["curl http://web", "curl.exe -s web:80/path", "curl 10.96.0.20"])("%s", (line) => {
    expect(world.lines(line)).toEqual([saw]);
  });

  it.each([
    ["curl http://gone.", 6, /^curl: \(6\) Could not resolve host: gone\.\r\n$/],
    [
      "curl http://10.0.0.11:81/",
      7,
      /^curl: \(7\) Failed to connect to 10\.0\.0\.11 port 81 after \d+ ms: Could not connect to server\r\n$/,
    ],
  ])("%s ends with %d", (line, exitCode, stderr) => {
    const answer = world.report(line);
    expect(answer).toMatchObject({ stdout: "", exitCode });
    expect(answer.stderr).toMatch(stderr);
  });

  it("the page of a pod is HTTP, with a head", () => {
    const [status, type, length, connection, blank, line] = world.lines("curl -i http://web");
    expect([status, type, connection, blank]).toEqual([
      "HTTP/1.1 200 OK",
      "Content-Type: text/plain; charset=utf-8",
      "Connection: close",
      "",
    ]);
    expect(length).toBe(`Content-Length: ${(line ?? "").length + 1}`);
    expect(line).toEqual(saw);
  });

  it.each([
    ["curl -sw %{http_code}\\n -o NUL http://web", "200\r\n", "", 0],
    ["curl -s -w %{http_code} -o NUL http://gone.", "000\r\n", "", 6],
    [`curl -m 2 http://10.0.0.99:81`, "", /^curl: \(28\) Connection timed out after 2000 milliseconds/, 28],
    [`curl http://10.0.0.21:${GREETING_PORT}`, "", "curl: (1) Received HTTP/0.9 when not allowed\r\n", 1],
    [`curl --http0.9 http://10.0.0.21:${GREETING_PORT}`, "220 ready\r\n", "", 0],
  ])("%s", (line, stdout, stderr, exitCode) => {
    const answer = world.report(line);
    expect(answer).toMatchObject({ stdout, exitCode });
    expect(answer.stderr).toMatch(stderr === "" ? /^$/ : stderr);
  });

  it("Invoke-WebRequest of a server that speaks no HTTP is an error", () => {
    const { stdout, stderr, exitCode } = world.report(`Invoke-WebRequest http://10.0.0.21:${GREETING_PORT}`);
    expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 1 });
    expect(stderr).toMatch(
      /^Invoke-WebRequest : The server committed a protocol violation\. Section=ResponseStatusLine\r\n/,
    );
  });

  it("Invoke-WebRequest makes an object of the page; in PowerShell curl is another name for it", () => {
    const expected = [
      "",
      "",
      "StatusCode        : 200",
      "StatusDescription : OK",
      expect.stringMatching(/^Content {11}: shop\/tux saw /) as string,
      expect.anything() as string,
      expect.stringMatching(/^RawContentLength {2}: \d+$/) as string,
      "",
      "",
    ];
    expect(world.lines("Invoke-WebRequest http://web -UseBasicParsing")).toEqual(expected);
    expect(world.lines("powershell curl http://web")).toEqual(expected);
    expect(world.lines("powershell curl.exe http://web")).toEqual([saw]);
  });

  it.each([
    ["Invoke-WebRequest http://gone.", "The remote name could not be resolved: 'gone.'"],
    ["Invoke-WebRequest http://10.0.0.11:81", "Unable to connect to the remote server"],
    ["Invoke-WebRequest http://10.0.0.99 -TimeoutSec 5", "The operation has timed out."],
  ])("%s", (line, message) => {
    const { stdout, stderr, exitCode } = world.report(line);
    expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 1 });
    expect(stderr.split("\r\n")[0]).toBe(`Invoke-WebRequest : ${message}`);
    expect(stderr).toContain(
      "WebCmdletWebResponseException,Microsoft.PowerShell.Commands.InvokeWebRequestCommand",
    );
  });
});

describe("tracert", () => {
  it("an address has its heading on one line, and each hop three times", () => {
    expect(world.lines("tracert -d 10.0.0.21")).toEqual([
      "",
      "Tracing route to 10.0.0.21 over a maximum of 30 hops",
      "",
      expect.stringMatching(/^ {2}1 {4}<1 ms {4}<1 ms {4}<1 ms {2}10\.244\.\d+\.2$/),
      expect.stringMatching(/^ {2}2( {4}<1| {5}\d) ms( {4}<1| {5}\d) ms( {4}<1| {5}\d) ms {2}10\.0\.0\.21$/),
      "",
      "Trace complete.",
    ]);
  });

  it("a name has it on two; who does not answer is a star", () => {
    expect(world.lines("tracert -h 2 -w 100 web")).toEqual([
      "",
      "Tracing route to web.shop.svc.cluster.local [10.96.0.20]",
      "over a maximum of 2 hops:",
      "",
      expect.stringMatching(/^ {2}1 .* {2}10\.244\.\d+\.2$/),
      "  2     *        *        *     Request timed out.",
      "",
      "Trace complete.",
    ]);
  });

  it("a name that nobody knows", () => {
    expect(world.report("tracert gone.")).toMatchObject({
      stdout: "Unable to resolve target system name gone..\r\n",
      exitCode: 1,
    });
  });
});

describe("netstat", () => {
  it("-an shows where the pod's server listens", () => {
    expect(world.lines("netstat -an")).toEqual([
      "",
      "Active Connections",
      "",
      "  Proto  Local Address          Foreign Address        State",
      "  TCP    0.0.0.0:80             0.0.0.0:0              LISTENING",
    ]);
  });

  it("-n without -a leaves it out; -r is route print", () => {
    expect(world.lines("netstat -n")).toHaveLength(4);
    expect(world.lines("NETSTAT.EXE -rn")).toEqual(world.lines("route print"));
  });

  it("-ano and -abno say which process, and that nobody learns its file", () => {
    const HEAD = "  Proto  Local Address          Foreign Address        State           PID";
    const row = expect.stringMatching(
      /^ {2}TCP {4}0\.0\.0\.0:80 {13}0\.0\.0\.0:0 {14}LISTENING {7}\d+$/,
    ) as string;
    expect(world.lines("netstat -ano").slice(3)).toEqual([HEAD, row]);
    for (const line of ["netstat -abno", "netstat -a -b -n -o", "netstat -nobA"])
      expect(world.lines(line).slice(3)).toEqual([HEAD, row, " Can not obtain ownership information"]);
    expect(world.lines("netstat -abn").slice(3)).toEqual([
      "  Proto  Local Address          Foreign Address        State",
      "  TCP    0.0.0.0:80             0.0.0.0:0              LISTENING",
      " Can not obtain ownership information",
    ]);
    const processOf = (line: string | undefined): number => Number(line?.split(" ").at(-1));
    const [own, nodes] = ["pod/shop/storefront", "node/win-1"].map((from) =>
      world.lines("netstat -ano", from).slice(4).map(processOf),
    );
    // Processes of containers are processes of their node.
    expect(new Set([...(own ?? []), ...(nodes ?? [])]).size).toBe((own?.length ?? 0) + (nodes?.length ?? 0));
    expect(own?.every((each) => each > 4 && each % 4 === 0)).toBe(true);
  });

  it("a connection has the process of its port, and one that waits for its end has none", () => {
    const [, , rows = []] = world.sequence(
      ["curl http://web", "ping 10.0.0.11", "netstat -ano"],
      "pod/shop/storefront",
    );
    expect(rows.filter((line) => line.includes(" 10.96.0.20:80 "))).toEqual([
      expect.stringMatching(/ TIME_WAIT {7}0$/) as string,
    ]);
  });
});

it.each([
  ["netstat -anop TCP", /netstat -anop TCP is not one/],
  ["netstat", /without -n/],
  ["tracert -R web", /tracert -R is not one/],
  ["tracert -h 0 web", /tracert -h 0 is not one/],
  ["curl https://web", /curl https:\/\/web is not one/],
  ["curl -X POST web", /curl -X POST web is not one/],
  ["Test-NetConnection web -TraceRoute", /-TraceRoute is not one/],
  ["Test-NetConnection web -Port 70000", /-Port 70000 is not one/],
  ["Invoke-WebRequest ftp://web", /ftp:\/\/web is not one/],
])("%s is refused rather than answered wrongly", (line, message) => {
  expect(() => world.report(line)).toThrow(message);
});
