/**
 * Lines as people type them: one program, the filters behind it, where its streams go. Forms of the filters: learn.microsoft.com,
 * windows-server/administration/windows-commands/findstr and find, Microsoft.PowerShell.Utility/Select-String; POSIX for grep, head,
 * tail and wc.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { type ExecWorld, makeExecWorld } from "#test/support/cluster/exec-world.ts";
import { forkCluster } from "../cluster.ts";
import { findSender } from "../trace/trace.ts";
import { execute } from "./exec.ts";

const TUX = "pod/shop/tux";
let world: ExecWorld;
beforeAll(async () => {
  world = await makeExecWorld();
});

/** The lines of a command that have a text in them. */
function linesWith(command: string, text: RegExp, from?: string): readonly string[] {
  return world.lines(command, from).filter((line) => text.test(line));
}

it("what a traced command sends is followed, and nothing after it", () => {
  const cluster = forkCluster(world.cluster);
  const { walks = [] } = execute(cluster, {
    from: TUX,
    command: ["ping", "-c", "1", "10.0.0.11"],
    trace: true,
  });
  expect(walks.map(({ forward }) => [forward.steps[0]?.place, forward.end])).toEqual([
    ["pod shop/tux", "delivered"],
  ]);
  expect(findSender(cluster, TUX).compartment.isFollowed).toBe(false);
});

describe("on Windows", () => {
  const address = /IPv4 Address/;

  it.each([
    "ipconfig | findstr IPv4",
    "ipconfig|findstr /i ipv4",
    'cmd /c ipconfig | find "IPv4"',
    'cmd /c "ipconfig | findstr IPv4"',
    'cmd.exe /C ipconfig 2>&1 | findstr /C:"IPv4 Address"',
    "ipconfig 2>nul | findstr /r IPv4.Address",
    "ipconfig | findstr IPv4 | findstr Address",
  ])("%s", (line) => {
    const expected = linesWith("ipconfig", address);
    expect(expected).toHaveLength(1);
    expect(world.report(line)).toMatchObject({ exitCode: 0, stderr: "", isListed: true });
    expect(world.lines(line)).toEqual(expected);
  });

  it("several words of findstr are one or the other; /v turns round; nothing found ends with 1", () => {
    expect(world.lines('ipconfig | findstr "IPv4 Gateway"')).toEqual(linesWith("ipconfig", /IPv4|Gateway/));
    expect(world.lines("ipconfig | findstr /v IPv4")).toEqual(linesWith("ipconfig", /^(?!.*IPv4)/));
    expect(world.report("ipconfig | findstr nobody")).toMatchObject({ stdout: "", stderr: "", exitCode: 1 });
    expect(world.lines('ipconfig | find /c "IPv4"')).toEqual(["1"]);
  });

  it("Select-String stands between blank lines, as objects do; findstr in PowerShell does not", () => {
    const found = linesWith("ipconfig", address);
    expect(world.lines("powershell ipconfig | Select-String ipv4")).toEqual(["", ...found, "", ""]);
    expect(world.lines("powershell -c \"ipconfig | sls -Pattern 'IPv4 Address' -SimpleMatch\"")).toEqual([
      "",
      ...found,
      "",
      "",
    ]);
    expect(world.lines("powershell ipconfig | findstr IPv4")).toEqual(found);
    const routes = linesWith("Get-NetRoute", /0\.0\.0\.0\/0/);
    expect(world.lines('Get-NetRoute | findstr "0.0.0.0/0"')).toEqual(routes);
  });

  it("a stream that goes to nul is not printed; one that joins the other is filtered with it", () => {
    expect(world.report("ping -n 1 10.96.0.20 > nul")).toMatchObject({ stdout: "", exitCode: 1 });
    const gone = "nslookup gone. 2>&1 | findstr find";
    expect(world.lines(gone)).toEqual([expect.stringContaining("can't find gone.: Non-existent domain")]);
    expect(world.report("powershell Resolve-DnsName gone. 2>$null")).toMatchObject({
      stderr: "",
      exitCode: 1,
    });
  });

  it("what the shell does not know is not known behind a pipe, either", () => {
    expect(world.report("ipconfig | gorp IPv4")).toMatchObject({
      stderr: expect.stringMatching(/^'gorp' is not recognized/) as string,
      isListed: false,
    });
    expect(world.report("nobody | findstr x")).toMatchObject({ isListed: false, exitCode: 1 });
  });

  it.each([
    ["ipconfig && route print", "&&"],
    ["ipconfig & route print", "&"],
    ["ipconfig || route print", "||"],
    ["ipconfig > C:\\out.txt", "> C:\\out.txt"],
    ["ping %COMPUTERNAME%", "%COMPUTERNAME%"],
    ["powershell ipconfig; route print", ";"],
    ["powershell ping $env:COMPUTERNAME", "$env:COMPUTERNAME"],
    ["ipconfig | findstr [a-z]", "findstr [a-z]"],
    ["ipconfig | findstr /s IPv4", "findstr /s IPv4"],
    ["ipconfig | more", "more"],
    // What PowerShell reads as an expression or a keyword is no name of a command that it does not find.
    ["powershell 1..3 | % { Resolve-DnsName web }", "1..3"],
    ["powershell while($true){ping web}", "while"],
    ["powershell foreach ($i in 1..3) { ping web }", "foreach"],
    ["powershell [System.Net.Dns]::GetHostAddresses('web')", "[System.Net.Dns]"],
    ["powershell $a = Get-NetAdapter", "$a"],
    ["powershell -Command & { Get-NetAdapter } -Name x", "&"],
  ])("refuses %s by name", (line, named) => {
    expect(() => world.report(line)).toThrow(named);
    expect(() => world.report(line)).toThrow("is not one of the commands that Mullion has");
  });

  it.each([
    "powershell -NoProfile -Command ipconfig",
    "powershell.exe -NoLogo -NonInteractive -ExecutionPolicy Bypass -c ipconfig",
    "powershell -nop -noni -ep bypass ipconfig",
    "powershell /NoProfile /Command ipconfig",
    "pwsh -nologo -NoProfileLoadTime -c ipconfig",
    "powershell -WindowStyle Hidden -OutputFormat Text ipconfig",
    "powershell -Command & ipconfig",
    'powershell -NoProfile -Command "& {ipconfig}"',
    "cmd /s /c ipconfig",
    'cmd.exe /D /S /C "ipconfig"',
    "cmd /q /v:on /c ipconfig",
  ])("%s: a shell takes its own options first", (line) => {
    expect(world.report(line)).toMatchObject({ stderr: "", exitCode: 0 });
    const inWords = line.includes('"') ? line : line.split(" ");
    expect(world.report(inWords).stdout).toBe(world.report("ipconfig").stdout);
    expect(world.lines(line)).toEqual(world.lines("ipconfig"));
  });

  it.each([
    ["powershell", "powershell without a command"],
    ["pwsh.exe", "pwsh.exe without a command"],
    ["cmd", "cmd without a command"],
    ["cmd /k ipconfig", "cmd /k"],
    ["powershell -NoExit", "powershell -NoExit"],
    ["powershell -NoProfile", "powershell without a command"],
    ["powershell -File C:\\test.ps1", "powershell -File"],
    ["powershell -EncodedCommand aQBwAA==", "powershell -EncodedCommand"],
  ])("%s is refused: a shell is there, and nobody types into it", (line, named) => {
    expect(() => world.report(line)).toThrow(`${named} is not one of the commands that Mullion has`);
  });

  it("as words of their own, without a shell, they are the program's", () => {
    expect(world.report(["ping", "-n", "1", "a|b"]).stdout).toContain("could not find host a|b");
  });
});

describe("on Linux", () => {
  it.each([
    ["ip addr | grep inet", /inet/, "ip addr"],
    ["sh -c 'ip addr | grep inet'", /inet/, "ip addr"],
    ["bash -c \"ip addr|grep -i 'INET '\"", /inet /, "ip addr"],
    ["cat /etc/resolv.conf | grep -v search", /^(?!search)/, "cat /etc/resolv.conf"],
    ["cat /etc/resolv.conf 2>&1 | grep ^nameserver", /^nameserver/, "cat /etc/resolv.conf"],
    ["ip r | grep -E 'default|link'", /default|link/, "ip r"],
    ["bash -lc 'ip addr | grep inet'", /inet/, "ip addr"],
    ["sh -e -c 'ip addr | grep inet'", /inet/, "ip addr"],
    ["ash -c 'ip addr | grep inet'", /inet/, "ip addr"],
  ])("%s", (line, text, plain) => {
    expect(linesWith(plain, text, TUX).length).toBeGreaterThan(0);
    expect(world.lines(line, TUX)).toEqual(linesWith(plain, text, TUX));
  });

  it.each([
    ["sh", "sh without a command"],
    ["/bin/bash", "/bin/bash without a command"],
    ["sh /tmp/run.sh", "sh /tmp/run.sh"],
    ["bash -i", "bash -i"],
  ])("%s is refused: a shell is there, and nobody types into it", (line, named) => {
    expect(() => world.report(line, TUX)).toThrow(`${named} is not one of the commands that Mullion has`);
  });

  it("head, tail and wc count lines", () => {
    const all = world.lines("cat /etc/hosts", TUX);
    expect(world.lines("cat /etc/hosts | head -2", TUX)).toEqual(all.slice(0, 2));
    expect(world.lines("cat /etc/hosts | head -n 1", TUX)).toEqual(all.slice(0, 1));
    expect(world.lines("cat /etc/hosts | tail -n 2", TUX)).toEqual(all.slice(-2));
    expect(world.lines("cat /etc/hosts | wc -l", TUX)).toEqual([String(all.length)]);
    expect(world.lines("cat /etc/hosts | grep -c localhost", TUX)).toEqual([
      String(all.filter((line) => line.includes("localhost")).length),
    ]);
    expect(world.report("cat /etc/hosts | grep nobody", TUX)).toMatchObject({ stdout: "", exitCode: 1 });
    expect(world.report("curl -s http://web > /dev/null", TUX)).toMatchObject({ stdout: "", exitCode: 0 });
  });

  it.each([
    ["ip a; ip r", ";"],
    ["sh -c 'ip a && ip r'", "&&"],
    ["curl -s http://$WEB_SERVICE_HOST", "$WEB_SERVICE_HOST"],
    ["ip a | awk '{print $2}'", "awk"],
    ["ip a | grep 'a[0-9]*'", "grep a[0-9]*"],
    ["ip a | head -x", "head -x"],
    ["cat /etc/hosts > /tmp/hosts", "> /tmp/hosts"],
    ["cat < /etc/hosts", "<"],
    ["ip a `hostname`", "`"],
  ])("refuses %s by name", (line, named) => {
    expect(() => world.report(line, TUX)).toThrow(named);
    expect(() => world.report(line, TUX)).toThrow("is not one of the commands that Mullion has");
  });
});
