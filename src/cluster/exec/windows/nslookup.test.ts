// nslookup of Windows with a server or a type of its own, in the forms of public transcripts (Windows-Containers#216; pages of nslookup).
import { beforeAll, describe, expect, it } from "vitest";
import { type ExecWorld, makeExecWorld } from "#test/support/cluster/exec-world.ts";

let world: ExecWorld;
beforeAll(async () => {
  world = await makeExecWorld();
});

function said(line: string, from?: string) {
  const { stdout, stderr, exitCode } = world.report(line, from);
  const linesOf = (text: string): readonly string[] => text.split("\r\n").slice(0, -1);
  return { stdout: linesOf(stdout), stderr: linesOf(stderr), exitCode };
}

const DNS = "kube-dns.kube-system.svc.cluster.local";
const HEAD = [`Server:  ${DNS}`, "Address:  10.96.0.10", ""];
const TIMED_OUT = ["DNS request timed out.", "    timeout was 2 seconds."];
const WEB = ["Name:    web.shop.svc.cluster.local", "Address:  10.96.0.20", ""];

describe("nslookup NAME SERVER", () => {
  it("asks the server that stands behind the name, and none of its own", () => {
    expect(said("nslookup web 10.96.0.10")).toEqual({ stdout: [...HEAD, ...WEB], stderr: [], exitCode: 0 });
    // The node's own server is another one; the pod's search list holds for it, too.
    expect(said("nslookup web.shop.svc.cluster.local. 10.96.0.10", "node/win-1").stdout).toEqual([
      ...HEAD,
      ...WEB,
    ]);
  });

  it("waits for one that does not answer", () => {
    expect(said("nslookup web 10.96.0.20")).toEqual({
      // First for the name of the server (Azure/acs-engine#2027).
      stdout: [...TIMED_OUT, "Server:  UnKnown", "Address:  10.96.0.20", ""],
      stderr: [...TIMED_OUT, ...TIMED_OUT, "*** Request to UnKnown timed-out"],
      exitCode: 0,
    });
    expect(world.report("nslookup web 10.96.0.20").tookMs).toBeGreaterThanOrEqual(6_000);
  });

  it.each(["", "-type=srv "])("says that nobody is there: nslookup %sNAME SERVER", (option) => {
    expect(said(`nslookup ${option}web 10.0.0.99`)).toEqual({
      // Nobody answers ARP, which takes longer than the wait for the server's name.
      stdout: [...TIMED_OUT, "Server:  UnKnown", "Address:  10.0.0.99", ""],
      stderr: ["*** UnKnown can't find web: No response from server"],
      exitCode: 0,
    });
  });

  it("finds a server by its name, and calls it so", () => {
    expect(said("nslookup web kube-dns.kube-system.svc.cluster.local").stdout).toEqual([
      "Server:  kube-dns.kube-system.svc.cluster.local",
      "Address:  10.96.0.10",
      "",
      ...WEB,
    ]);
  });

  it("asks its own when the server's name has no address", () => {
    expect(said("nslookup web gone.")).toEqual({
      stdout: [...HEAD, ...WEB],
      stderr: ["*** Can't find server address for 'gone.':"],
      exitCode: 0,
    });
  });
});

describe("nslookup ADDRESS", () => {
  it("says whose it is", () => {
    expect(said("nslookup 10.96.0.20")).toEqual({
      stdout: [...HEAD, "Name:    web.shop.svc.cluster.local", "Address:  10.96.0.20", ""],
      stderr: [],
      exitCode: 0,
    });
    expect(said("nslookup -type=PTR 10.96.0.20").stdout).toEqual([
      ...HEAD,
      "20.0.96.10.in-addr.arpa\tname = web.shop.svc.cluster.local",
    ]);
  });

  it("says that nobody is known by it", () => {
    expect(said("nslookup 10.96.0.77")).toEqual({
      stdout: HEAD,
      stderr: [`*** ${DNS} can't find 10.96.0.77: Non-existent domain`],
      exitCode: 0,
    });
    expect(said("nslookup 10.96.0.77 10.96.0.20").stderr).toEqual([
      ...TIMED_OUT,
      ...TIMED_OUT,
      "*** Request to UnKnown timed-out",
    ]);
  });
});

describe("nslookup -type=…", () => {
  it("SOA of the cluster's zone", () => {
    const { stdout } = said("nslookup -type=SOA cluster.local");
    expect(stdout.slice(3)).toEqual([
      "cluster.local",
      "\tprimary name server = ns.dns.cluster.local",
      "\tresponsible mail addr = hostmaster.cluster.local",
      expect.stringMatching(/^\tserial {2}= \d+$/) as string,
      "\trefresh = 7200 (2 hours)",
      "\tretry   = 1800 (30 mins)",
      "\texpire  = 86400 (1 day)",
      "\tdefault TTL = 30 (30 secs)",
    ]);
  });

  it.each(["-type=A", "-q=a", "-querytype=A", "/type=a"])("%s asks for IPv4 alone", (option) => {
    expect(said(`nslookup ${option} web`).stdout).toEqual([...HEAD, ...WEB]);
  });

  it("AAAA of a name with IPv4 alone", () => {
    expect(said("nslookup -type=AAAA web.")).toMatchObject({
      stderr: [`*** ${DNS} can't find web.: Non-existent domain`],
    });
    expect(said("nslookup -type=AAAA web")).toEqual({
      stdout: HEAD,
      stderr: ["*** No IPv6 address (AAAA) records available for web"],
      exitCode: 0,
    });
  });

  it("MX: a cluster has no mail exchanger, which is another answer than that there is no such name", () => {
    const failed = (line: string) => said(line).stderr;
    expect(failed("nslookup -type=MX web")).toEqual(["*** No mail exchange (MX) records available for web"]);
    expect(failed("nslookup -q=mx gone")).toEqual([`*** ${DNS} can't find gone: Non-existent domain`]);
  });

  it("SRV says where the service is, with the addresses that the server adds", () => {
    const name = "web.shop.svc.cluster.local";
    for (const line of ["nslookup -type=SRV web", `nslookup -q=srv ${name} 10.96.0.10`])
      expect(said(line).stdout).toEqual([
        ...HEAD,
        `${name}\tSRV service location:`,
        "\t  priority       = 0",
        "\t  weight         = 100",
        "\t  port           = 80",
        `\t  svr hostname   = ${name}`,
        `${name}\tinternet address = 10.96.0.20`,
      ]);
  });

  it("CNAME and TXT", () => {
    expect(said("nslookup -type=cname shortcut").stdout).toEqual([
      ...HEAD,
      "shortcut.shop.svc.cluster.local\tcanonical name = web.shop.svc.cluster.local",
    ]);
    expect(said("nslookup -type=txt dns-version.cluster.local").stdout).toEqual([
      ...HEAD,
      "dns-version.cluster.local\ttext =",
      "",
      expect.stringMatching(/^\t"[\d.]+"$/) as string,
    ]);
  });

  it("a name that does not exist, and a server that is silent", () => {
    expect(said("nslookup -type=srv _http._tcp.gone")).toEqual({
      stdout: HEAD,
      stderr: [`*** ${DNS} can't find _http._tcp.gone: Non-existent domain`],
      exitCode: 0,
    });
    expect(said("nslookup -type=srv web 10.96.0.20").stderr.at(-1)).toBe("*** Request to UnKnown timed-out");
  });

  it.each([
    "nslookup -type=any web",
    "nslookup -debug web",
    "nslookup -type= web",
    "nslookup -type=AAAA 10.96.0.10",
    "nslookup",
    "nslookup web 10.96.0.10 more",
  ])("%s is refused with what there is", (line) => {
    expect(() => world.report(line)).toThrow(/is not one of the commands that Mullion has/);
  });
});
