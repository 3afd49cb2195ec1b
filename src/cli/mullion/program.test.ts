import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { CniError } from "#contracts/cni/error.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { errorsSchema, explanationListSchema } from "#diagnose/catalogue/errors/error-documents.ts";
import { logFindingsSchema } from "#diagnose/catalogue/log/findings.ts";
import { entrySchema } from "#diagnose/catalogue/entry.ts";
import { allVerbs } from "#test/support/cli/all-verbs.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { Failure } from "./failure.ts";
import { runMullion } from "./program.ts";
import type { ExitCode } from "./terminal.ts";
import { verify } from "./verify.ts";
import type { Verbs } from "./verbs.ts";

interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** What the verb was asked. */
  readonly request: unknown;
}

function run(
  argv: readonly string[],
  {
    verbs = {},
    files = {},
    isDebug = false,
  }: { verbs?: Partial<Verbs>; files?: Record<string, string>; isDebug?: boolean } = {},
): Promise<Outcome> {
  const terminal = new MemoryTerminal(files);
  let request: unknown;
  const keep = async (asked: unknown): Promise<ExitCode> => {
    request = asked;
    return 0;
  };
  return runMullion({ argv, verbs: allVerbs(keep, verbs), terminal, version: "1.2.3", isDebug }).then(
    (exitCode) => ({
      exitCode,
      stdout: terminal.output,
      stderr: terminal.errors,
      request,
    }),
  );
}

describe("help", () => {
  it.each([
    [[], /^Usage: mullion VERB/],
    [
      ["--help"],
      /Verbs:\n {2}trace .*\n {2}resolve .*\n {2}exec .*\n {2}get .*\n {2}verify .*\n {2}up .*\n {2}ui .*\n {2}shell .*\n {2}logs .*\n {2}capture .*\n {2}top .*\n {2}apply .*\n {2}delete .*\n {2}down /,
    ],
    [["help", "trace"], /^Usage: mullion trace \[options\] <from> <to>/],
    [["trace", "--help"], /Examples:\n {2}mullion trace -f examples/],
    [["get", "--help"], /pods \(po\), services \(svc\)[^]*hnsnetworks, hnsendpoints/],
    [["up", "--help"], /Examples:\n {2}mullion up -f examples/],
    [["apply", "--help"], /mullion apply -f manifests/],
    [["delete", "--help"], /mullion delete pod web/],
    [["down", "--help"], /mullion down --name second/],
    [["node", "--help"], /reboot [^]*restart-hns [^]*rejoin [^]*set-clock /],
    [["node", "rejoin", "--help"], /--pod-cidr <range>[^]*mullion node rejoin win-1 --pod-cidr/],
    [["control-plane", "stop", "--help"], /mullion control-plane stop/],
    [["pass", "--help"], /mullion pass 2m/],
    [["cni", "--help"], /Runs CNI plugins[^]*add [^]*del [^]*check [^]*gc [^]*status [^]*version /],
    [["cni", "add", "--help"], /--port-mapping <mapping>[^]*mullion cni add 10-cbr0/],
    [["cni", "gc", "--help"], /--keep <container>[^]*mullion cni gc cbr0/],
    [
      ["hns", "--help"],
      /Serves the Host[^]*Verbs:\n {2}serve [^]*Examples:\n {2}mullion hns serve[^]*Exit codes: 0/,
    ],
    [["hns", "fault", "--help"], /Verbs:\n {2}add [^]*Examples:\n {2}mullion hns fault [^]*Exit codes: 0/],
    [["hns", "quirk", "--help"], /Verbs:\n {2}list [^]*Examples:\n {2}mullion hns quirk [^]*Exit codes: 0/],
    [["kube", "--help"], /Verbs:\n {2}serve [^]*Examples:\n {2}mullion kube serve [^]*Exit codes: 0/],
    [["vfp", "--help"], /Verbs:\n {2}ports [^]*Examples:\n {2}mullion vfp ports [^]*Exit codes: 0/],
    [["cni", "--help"], /Examples:\n {2}mullion cni add [^]*Exit codes: 0/],
    [["node", "--help"], /Examples:\n {2}mullion node reboot [^]*Exit codes: 0/],
    [["control-plane", "--help"], /Examples:\n {2}mullion control-plane stop[^]*Exit codes: 0/],
    [["programs", "--help"], /Verbs:\n {2}install [^]*Examples:\n {2}mullion programs\n[^]*Exit codes: 0/],
    [
      ["programs", "install", "--help"],
      /--force [^]*Examples:\n {2}mullion programs install [^]*Exit codes: 0/,
    ],
    [["programs", "remove", "--help"], /Examples:\n {2}mullion programs remove [^]*Exit codes: 0/],
    [["run", "--help"], /^Usage: mullion run NAME[^]*Examples:\n {2}mullion run hnsdiag [^]*Exit code: the/],
    [["hns"], /^Usage: mullion hns [^]*Examples:/],
    [["hns", "fault"], /^Usage: mullion hns fault [^]*Examples:/],
    [["wine", "--help"], /^Usage: mullion wine \[options\] -- PROGRAM/],
    [["explain", "-h"], /mullion explain --list/],
    [["--version"], /^1\.2\.3\n$/],
  ])("%j", async (argv, expected) => {
    const { exitCode, stdout, stderr } = await run(argv);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(expected);
    expect(stdout.split("\n").filter((line) => line.length > 100)).toEqual([]);
  });
});

describe("bad usage", () => {
  it.each([
    [["tarce"], "unknown verb 'tarce'", "Did you mean trace? See: mullion --help"],
    [["xyzzy"], "unknown verb 'xyzzy'", "See: mullion --help"],
    [
      ["wine", "--adapter", "Ethernet", "--", "flanneld.exe"],
      '--adapter "Ethernet" is not a name with an address',
      'Write --adapter NAME=ADDRESS/LENGTH, such as --adapter "Ethernet 2=192.168.1.5/24".',
    ],
    [["program", "install"], "unknown verb 'program'", "Did you mean programs? See: mullion --help"],
    [
      ["trace", "-f", "x"],
      "missing required argument 'from'",
      "Write: mullion trace <from> <to>. See: mullion trace --help",
    ],
    [["trace", "a", "b", "-f"], "option '-f, --file <path>' argument missing", "See: mullion trace --help"],
    [
      ["trace", "a", "b", "-f", "x", "--name", "y"],
      "-f builds a cluster for this command, and --name or --socket means a running one",
      "Leave one of them out. To change the running cluster: mullion apply -f FILE",
    ],
    [
      ["down", "--name", "x", "--socket", "y"],
      "--name and --socket both say which cluster is meant",
      "Leave one of them out.",
    ],
    [
      ["pass", "long"],
      'pass takes a time, not "long"',
      "Write an amount with its unit: 500ms, 1.5s, 90s, 1m30s, 2h.",
    ],
    [
      ["pass", "--", "-1s"],
      'pass takes a time, not "-1s"',
      "Write an amount with its unit: 500ms, 1.5s, 90s, 1m30s, 2h.",
    ],
    [
      ["node", "set-clock", "win-1", "soon"],
      'set-clock takes a time with or without a sign, as +1h or -30m, not "soon"',
      "Write an amount with its unit: 500ms, 1.5s, 90s, 1m30s, 2h.",
    ],
    [
      ["node", "rejoin", "a", "b", "--pod-cidr", "10.244.7.0/24"],
      "--pod-cidr is the range of one node",
      "Let the others join with separate commands.",
    ],
    [
      ["node", "reboot"],
      "missing required argument 'node'",
      "Write: mullion node reboot <node...>. See: mullion node reboot --help",
    ],
    [["up", "-R"], "-R needs -f", "Name a folder with -f."],
    [["apply"], "no file is given", "Name manifests with -f."],
    [["delete"], "nothing to delete is given", "Name objects, such as pod web, or manifests with -f."],
    [["delete", "pod"], "a kind is given and no name", "Write the names behind it, such as pod web."],
    [
      ["delete", "pod/web", "api"],
      '"api" is not of the form KIND/NAME',
      "Write all of them as KIND/NAME, or the kind first and then names; the namespace goes to -n.",
    ],
    [
      ["trace", "a", "b", "-f", "x", "--protocl", "tcp"],
      "unknown option '--protocl'",
      "Did you mean --protocol? See: mullion trace --help",
    ],
    [
      ["trace", "a", "b", "-f", "x", "--port", "70000"],
      '--port takes a port number, not "70000"',
      "Write a number from 1 to 65535.",
    ],
    [
      ["trace", "a", "b", "-f", "x", "--port", "http"],
      '--port takes a port number, not "http"',
      "Write a number from 1 to 65535.",
    ],
    [
      ["trace", "a", "b", "-f", "x", "--port", "0"],
      '--port takes a port number, not "0"',
      "Write a number from 1 to 65535.",
    ],
    [
      ["trace", "a", "b", "-f", "x", "--protocol", "sctp"],
      "option '--protocol <name>' argument 'sctp' is invalid. Allowed choices are tcp, udp, icmp, dns",
      "See: mullion trace --help",
    ],
    [
      ["trace", "a", "b", "-f", "x", "--protocol", "icmp", "--port", "1"],
      "ICMP has no ports",
      "Leave out --port, or choose --protocol tcp.",
    ],
    [
      ["trace", "a", "b", "c", "-f", "x"],
      "too many arguments for 'trace'. Expected 2 arguments but got 3: a, b, c",
      "Write: mullion trace <from> <to>. See: mullion trace --help",
    ],
    [
      ["get", "servcies", "-f", "x"],
      'there is no kind "servcies"',
      /^Did you mean services\? Kinds are: pods, services, .*, hnsnetworks, hnsendpoints, hnsnamespaces, /,
    ],
    [
      ["get", "pods", "-f", "x", "-o", "xml"],
      /^option '-o, --output <format>' argument 'xml' is invalid/,
      "See: mullion get --help",
    ],
    [["explain"], "no code and no error is given", "Name one, or see them all: mullion explain --list"],
    [
      ["explain", "no-route", "--log", "x"],
      "--log takes a file or a folder and nothing else",
      "Leave out the words, or --log and --list.",
    ],
    [["explain", "no-route", "--group", "hns"], "--group belongs to --list", "Add --list, or leave it out."],
  ])("%j", async (argv, message, advice) => {
    const { exitCode, stdout, stderr, request } = await run(argv);
    expect({ exitCode, stdout, request }).toEqual({ exitCode: 2, stdout: "", request: undefined });
    const [first = "", second = "", ...rest] = stderr.split("\n");
    expect(first.replace(/^mullion: (.*) \[bad-usage\]$/, "$1")).toMatch(
      typeof message === "string"
        ? new RegExp(`^${message.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`)
        : message,
    );
    if (typeof advice === "string") expect(second).toBe(`    ${advice}`);
    else expect(second.trimStart()).toMatch(advice);
    expect(rest).toEqual([""]);
  });
});

const RUNNING = { name: undefined, socket: undefined };
const target = (...files: string[]): object => ({ ...RUNNING, files, isRecursive: false });
const PODS = { kind: { of: "kubernetes", names: { kind: "Pod" } } };
const HERE = { namespace: "default", isEverywhere: false, node: undefined };

describe("verbs", () => {
  it.each([
    [
      ["trace", "-f", "c.yaml", "pod/a", "external"],
      {
        target: target("c.yaml"),
        from: "pod/a",
        to: "external",
        protocol: "tcp",
        port: undefined,
        output: "text",
        pcap: undefined,
      },
    ],
    [
      ["trace", "pod/a", "pod/b", "--port", "443", "-o", "json", "--pcap", "x.pcapng", "--file", "-"],
      {
        target: target("-"),
        from: "pod/a",
        to: "pod/b",
        protocol: "tcp",
        port: 443,
        output: "json",
        pcap: "x.pcapng",
      },
    ],
    [
      ["trace", "a", "b", "-f", "x", "-f", "y", "-R"],
      { target: { ...RUNNING, files: ["x", "y"], isRecursive: true } },
    ],
    [["trace", "a", "b", "--name", "second"], { target: { ...target(), name: "second" } }],
    [
      ["get", "pods", "-f", "c"],
      { target: target("c"), selections: [{ ...PODS, objects: [] }], scope: HERE, output: "table" },
    ],
    [["get", "po", "web", "api", "-n", "shop"], { scope: { ...HERE, namespace: "shop" } }],
    [
      ["get", "hns-endpoint", "-f", "c", "--node", "win-1", "-o", "wide", "-A"],
      {
        selections: [{ kind: { of: "hns", hns: "endpoints" }, objects: [] }],
        scope: { namespace: "default", isEverywhere: true, node: "win-1" },
        output: "wide",
      },
    ],
    [
      ["get", "endpoint"],
      { selections: [{ kind: { of: "kubernetes", names: { kind: "Endpoints" } }, objects: [] }] },
    ],
    [["get", "all"], { selections: [PODS, {}, {}, {}, {}, {}, {}, {}] }],
    [
      ["up", "-f", "c", "--name", "x"],
      {
        inputs: { files: ["c"], isRecursive: false },
        running: { name: "x", socket: undefined },
        isForeground: false,
        isHeld: false,
      },
    ],
    [["down", "--socket", "/tmp/s"], { name: undefined, socket: "/tmp/s" }],
    [["node", "reboot", "a", "b"], { nodes: ["a", "b"], change: { do: "reboot" } }],
    [
      ["node", "restart-hns", "a", "--state", "lose", "--name", "x"],
      { nodes: ["a"], change: { do: "restart-hns", state: "lose" }, running: { name: "x" } },
    ],
    [
      ["node", "rejoin", "a", "--pod-cidr", "10.244.7.0/24"],
      { change: { do: "rejoin", podCIDR: "10.244.7.0/24" } },
    ],
    [["node", "leave", "a"], { change: { do: "leave" } }],
    [["node", "set-clock", "a", "+1h30m"], { change: { do: "set-clock", byMs: 5_400_000 } }],
    [["node", "set-clock", "a", "--", "-250ms"], { change: { do: "set-clock", byMs: -250 } }],
    [["control-plane", "stop"], { apiServer: "down" }],
    [["control-plane", "start"], { apiServer: "up" }],
    [["pass", "2m"], { milliseconds: 120_000 }],
    [["pass", "1m30s"], { milliseconds: 90_000 }],
    [["apply", "-f", "a", "-f", "b", "-n", "shop"], { inputs: { files: ["a", "b"] }, namespace: "shop" }],
    [
      ["delete", "po/web", "--ignore-not-found"],
      { selections: [{ ...PODS, objects: ["web"] }], isMissingGood: true, namespace: "default" },
    ],
    [["demo"], { file: "examples/mixed-services/cluster.yaml", pcap: "out/demo.pcapng", isFull: false }],
    [["demo", "-f", "c", "--pcap", "p", "--full"], { file: "c", pcap: "p", isFull: true }],
  ])("%j", async (argv, request) => {
    expect(await run(argv)).toMatchObject({ exitCode: 0, stderr: "", request });
  });

  it("end with the exit code that they return", async () => {
    const outcome = await run(["demo"], { verbs: { demo: async () => 1 } });
    expect(outcome.exitCode).toBe(1);
  });
});

describe("explain", () => {
  it("prints an entry", async () => {
    const { exitCode, stdout } = await run(["explain", "icmp-outbound-not-translated"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^icmp-outbound-not-translated\nPing from a pod to outside/);
    for (const heading of ["Why", "How to see it on a Windows node", "What to do", "Holds for", "Sources"]) {
      expect(stdout).toContain(`\n${heading}\n`);
    }
  });

  it("prints an entry as JSON", async () => {
    const { stdout } = await run(["explain", "no-route", "-o", "json"]);
    expect(JSON.parse(stdout)).toMatchObject({ code: "no-route", profiles: ["all"] });
  });

  it("lists all codes and errors, each on a line", async () => {
    const { stdout } = await run(["explain", "--list"]);
    expect(stdout).toMatch(/^ {2}no-route +A machine on the way has no route to the destination$/m);
    expect(stdout).toMatch(/^ {2}HCN_E_PORT_ALREADY_EXISTS +0x803b0013 The specified port already exists$/m);
    const { stdout: json } = await run(["explain", "--list", "-o", "json"]);
    const list = JSON.parse(json) as { codes: unknown[]; errors: unknown[] };
    expect(list.codes.length).toBeGreaterThan(15);
    expect(list.errors.length).toBeGreaterThanOrEqual(90);
  });

  it("lists what has all words, of one group", async () => {
    const { exitCode, stdout } = await run(["explain", "--list", "source", "VIP", "--group", "kube-proxy"]);
    expect({ exitCode, lines: stdout.trim().split("\n").length }).toEqual({ exitCode: 0, lines: 3 });
    expect(stdout).toContain("kube-proxy-source-vip-missing");
    expect(await run(["explain", "--list", "xyzzy"])).toMatchObject({
      exitCode: 1,
      stderr: "Nothing has all these words.\n",
    });
  });

  it.each([
    [["0x803b0013"]],
    [["803B0013"]],
    [["-2143617005"]],
    [["2151350291"]],
    [["hr=0x803b0013"]],
    [["HCN_E_PORT_ALREADY_EXISTS"]],
    [["The", "specified", "port", "already", "exists."]],
  ])("prints an error that %j names", async (words) => {
    const { exitCode, stdout, stderr } = await run(["explain", ...words]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/^HCN_E_PORT_ALREADY_EXISTS\n0x803b0013 \(2151350291, -2143617005\)\n/);
    for (const heading of ["Why", "Next command", "What to do", "More", "Sources"]) {
      expect(stdout).toContain(`\n${heading}\n`);
    }
  });

  it("takes a number apart that it does not know, and says so", async () => {
    const { exitCode, stdout } = await run(["explain", "0x80071234"]);
    expect(exitCode).toBe(1);
    expect(stdout).toContain("The table of errors does not have this number.");
    expect(stdout).toContain("  facility  7, FACILITY_WIN32\n  code      4660 (0x1234): a Win32 error\n");
  });

  it("suggests codes for a typing error", async () => {
    expect(await run(["explain", "icmp-outbond-not-translated"])).toMatchObject({
      exitCode: 2,
      stdout: "",
      stderr:
        'mullion: nothing known is called "icmp-outbond-not-translated" [unknown-code]\n' +
        "    Did you mean icmp-outbound-not-translated?\n",
    });
    const { stderr } = await run(["explain", "HCN_E_PORT_ALREADY_EXIST"]);
    expect(stderr).toContain("Did you mean HCN_E_PORT_ALREADY_EXISTS");
  });

  it.each([
    [["0x803b0013"], errorsSchema()],
    [["0x803b0099"], errorsSchema()],
    [["A network with this name already exists"], errorsSchema()],
    [["no-route"], entrySchema()],
    [["--list"], explanationListSchema()],
    [["--log", "kp.log"], logFindingsSchema()],
  ])("prints JSON for %j that fits its schema", async (words, schema) => {
    const files = { "kp.log": "x: An adapter was not found. (0x803b0006)\ny: (0x803b0099)\n" };
    const { stdout } = await run(["explain", ...words, "-o", "json"], { files });
    const validate = new Ajv({ strict: true }).compile(schema);
    validate(JSON.parse(stdout));
    expect(validate.errors).toBeNull();
  });
});

describe("explain --log", () => {
  const LOG = [
    "I0102 15:04:05.000001    4120 server.go:1] starting",
    'E0102 15:04:05.000002    4120 proxier.go:1] "Policy creation failed" err="hcnCreateLoadBalancer failed in Win32: The specified port already exists. (0x803b0013)"',
    'E0102 15:04:06.000002    4120 proxier.go:1] "Policy creation failed" err="hcnCreateLoadBalancer failed in Win32: The specified port already exists. (0x803b0013)"',
  ].join("\n");

  it("says what it shows, the fault first, and ends with 1", async () => {
    const { exitCode, stdout } = await run(["explain", "--log", "kp.log"], { files: { "kp.log": LOG } });
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(
      /^kp\.log: 3 lines, 2 known errors\n\n== Names the fault\n\n1\. HCN_E_PORT_ALREADY_EXISTS 0x803b0013\n {3}2 times, lines 2 to 3\n {3}2 \| E0102 15:04:05\.000002/,
    );
    expect(stdout).toMatch(/== What follows from it\n\n2\. kube-proxy-policy-creation-failed\n/);
    for (const part of ["Why", "Next command", "What to do", "Sources"])
      expect(stdout).toContain(`\n   ${part}\n`);
  });

  it("ends with 0 when nothing in it is known", async () => {
    expect(await run(["explain", "--log", "-"], { files: { "-": "all is well\n" } })).toMatchObject({
      exitCode: 0,
      stdout: "standard input: 1 line, no known error\n",
    });
  });

  it("tells codes that it does not know", async () => {
    const { exitCode, stdout } = await run(["explain", "--log", "a"], { files: { a: "x (0x803b0099)" } });
    expect(exitCode).toBe(1);
    expect(stdout).toContain(
      "0x803b0099: code 153 of FACILITY_USERMODE_HNS (Host Networking Service), once, line 1\n",
    );
  });

  it.each([
    ["none.log", 'mullion: cannot read "none.log" as a log: there is no such file [log-unreadable]\n'],
    ["a.zip", 'mullion: cannot read "a.zip" as a log: it is a zip archive [log-unreadable]\n'],
    ["a.bin", 'mullion: cannot read "a.bin" as a log: it is not text [log-unreadable]\n'],
  ])("ends with 2 on %s", async (file, message) => {
    const files = { "a.zip": "PK\u0003\u0004…", "a.bin": "\u0001\u0002\u0003\u0004".repeat(50) };
    const outcome = await run(["explain", "--log", file], { files });
    expect({ exitCode: outcome.exitCode, stdout: outcome.stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(outcome.stderr.startsWith(message)).toBe(true);
  });
});

describe("a cluster file", () => {
  const HEAD = "apiVersion: mullion/v1alpha1\nkind: Cluster\nmetadata: {name: test}\n";

  it("that is good is read", async () => {
    const files = { "c.yaml": `${HEAD}nodes: [{name: win-1, os: windows, address: 10.0.0.11}]\n` };
    expect(await run(["verify", "-f", "c.yaml"], { verbs: { verify }, files })).toMatchObject({
      stdout: expect.stringMatching(/^Cluster test, /) as unknown,
      stderr: "",
    });
  });

  it("that does not exist ends with 2", async () => {
    expect(await run(["verify", "-f", "none.yaml"], { verbs: { verify } })).toMatchObject({
      exitCode: 2,
      stdout: "",
      stderr:
        'mullion: cannot read "none.yaml": there is no such file [cluster-file-unreadable]\n' +
        "    The path is relative to the folder you are in. An example: examples/two-windows-nodes/cluster.yaml\n" +
        "    More: mullion explain cluster-file-unreadable\n",
    });
  });

  it("with problems shows each, and how many there are", async () => {
    const files = { "c.yaml": `${HEAD}nodes: [{name: win-1, os: beos, address: 10.0.0.300}]\n` };
    expect(await run(["verify", "-f", "c.yaml"], { verbs: { verify }, files })).toMatchObject({
      exitCode: 2,
      stdout: "",
      stderr:
        'c.yaml:4:27: nodes[0].os: "beos" is not possible here\n' +
        "    Write one of: windows, linux. [cluster-file-invalid-value]\n" +
        'c.yaml:4:42: nodes[0].address: "10.0.0.300" is not an IPv4 address\n' +
        "    Write four numbers from 0 to 255 with dots between them, such as 10.0.0.11. [cluster-file-invalid-value]\n" +
        "\n2 problems. Nothing was started.\n",
    });
  });

  it("with many problems shows the first twenty", async () => {
    const fields = Array.from({ length: 30 }, (_, index) => `x${index}: 1\n`).join("");
    const files = { "c.yaml": `${HEAD}nodes: [{name: win-1, os: windows, address: 10.0.0.11}]\n${fields}` };
    const { stderr } = await run(["verify", "-f", "c.yaml"], { verbs: { verify }, files });
    expect(stderr.match(/unknown-field/g)).toHaveLength(20);
    expect(stderr).toMatch(/\n30 problems, 10 of them not shown\. Nothing was started\.\n$/);
  });
});

describe("faults of a verb", () => {
  const failing = (error: unknown): { verbs: Partial<Verbs> } => ({
    verbs: {
      demo: async () => {
        throw error;
      },
    },
  });

  it("with a code are the user's to mend", async () => {
    const error = new Failure("unknown-object", 'there is no pod "x"', "Pods are: a, b.", 1);
    expect(await run(["demo"], failing(error))).toMatchObject({
      exitCode: 1,
      stderr:
        'mullion: there is no pod "x" [unknown-object]\n    Pods are: a, b.\n    More: mullion explain unknown-object\n',
    });
  });

  it("of the core are taken when they carry a code of the catalogue", async () => {
    const error = Object.assign(new Error("HNS does not answer"), {
      code: "hns-unreachable",
      advice: "Start it.",
    });
    expect(await run(["demo"], failing(error))).toMatchObject({
      exitCode: 2,
      stderr:
        "mullion: HNS does not answer [hns-unreachable]\n    Start it.\n    More: mullion explain hns-unreachable\n",
    });
  });

  it.each([
    [
      new HcnError("HCN_E_INVALID_POLICY", { detail: "ACL: Priority is missing" }),
      /^mullion: HNS refuses a call: .*: ACL: Priority is missing \[HCN_E_INVALID_POLICY 0x803b000d\]\n {4}Look at/,
    ],
    [
      new CniError(7, "no such range", { knowledge: "ipam-range-invalid" }),
      /^mullion: a CNI plugin fails: no such range \[CNI 7\]\n {4}Look at.*\n {4}More: mullion explain ipam-range-invalid\n$/,
    ],
  ])("of HNS and of plugins are the cluster file's: %s", async (error, expected) => {
    const { exitCode, stderr } = await run(["demo"], failing(error));
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(expected);
  });

  it.each([
    [new TypeError("x is not a function")],
    [Object.assign(new Error("x"), { code: "ENOENT" })],
    ["text"],
  ])("without one are ours, and show no stack: %s", async (error) => {
    const { exitCode, stdout, stderr } = await run(["demo"], failing(error));
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/^mullion: internal fault: (x is not a function|x|text)\n/);
    expect(stderr).not.toMatch(/\bat .*\.ts/);
  });

  it("show their stack only when asked", async () => {
    const outcome = await run(["demo"], { ...failing(new TypeError("odd")), isDebug: true });
    expect(outcome.stderr).toMatch(/TypeError: odd\n {4}at /);
  });
});
