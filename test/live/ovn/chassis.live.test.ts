// Nodes of a cluster are chassis beside a real one: Debian's ovn-northd between the databases, ovn-controller with Open vSwitch in
// user space, GENEVE between them on a bridge of the kernel. Needs root, /dev/net/tun, iproute2, iputils-ping, curl, nc
// (netcat-openbsd), ethtool, tshark, and Debian's ovn-central, ovn-host and openvswitch-switch.
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { VirtualClock } from "#core/base/clock.ts";
import { Prng } from "#core/base/prng.ts";
import { parseIp } from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import { buildIcmpFrame, buildTcpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import type { Packet } from "#core/wire/packet.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { Chassis } from "#dataplane/ovs/chassis.ts";
import { LogicalNetwork } from "#dataplane/ovs/logical-network.ts";
import { type Passage, runLogicalFlows } from "#dataplane/ovs/logical-pipeline.ts";
import { readDump } from "#dataplane/ovs/ovsdb-tables.ts";
import { toSouthbound } from "#dataplane/ovs/southbound.ts";
import { removeLeftovers } from "../leftovers.ts";
import { ChassisPeer, Segment } from "./chassis-peer.ts";
import { tunnelText, verdictOf } from "./datapath-verdict.ts";
import { OvnCentral, TABLES } from "./ovn-central.ts";

const run = promisify(execFile);
const PREFIX = "mloc";
const SEED = Number(process.env["SEED"] ?? 24) % 0x7fff_ffff;
const FRAMES = Number(process.env["FRAMES"] ?? 150);
const BYTES = 1_000_000;
const NAME = `${PREFIX}${process.pid}`;
const PEER = "10.0.0.50";

/** A router, a switch for each node, and its ports. `to-lport` and `from-lport`: connections are tracked on both sides. */
const NORTHBOUND = `
nb lr-add cluster
net() { nb ls-add $1 -- lrp-add cluster to-$1 $2 $3.1/24 -- lsp-add $1 up-$1 -- lsp-set-type up-$1 router \
  -- lsp-set-addresses up-$1 router -- lsp-set-options up-$1 router-port=to-$1; }
port() { nb lsp-add $1 $2 -- lsp-set-addresses $2 "$3 $4" -- lsp-set-port-security $2 "$3 $4"; }
net win-1 0a:58:0a:80:00:01 10.128.0
net win-2 0a:58:0a:80:01:01 10.128.1
net lin-1 0a:58:0a:80:09:01 10.128.9
port win-1 default_client 0a:58:0a:80:00:03 10.128.0.3
port win-1 default_web 0a:58:0a:80:00:04 10.128.0.4
port win-2 default_api 0a:58:0a:80:01:03 10.128.1.3
port lin-1 vm1 0a:58:0a:80:09:05 10.128.9.5
port lin-1 vm2 0a:58:0a:80:09:06 10.128.9.6
nb acl-add lin-1 from-lport 1000 'inport == "vm1" && ip4' allow-related
nb acl-add lin-1 from-lport 1001 'inport == "vm1" && udp.dst == 53' drop
nb acl-add lin-1 to-lport 1000 'outport == "vm2" && ip4' allow-related
nb acl-add win-2 to-lport 1000 'outport == "default_api" && ip4' allow-related
`;
const VM1 = { mac: "0a:58:0a:80:09:05", ip: "10.128.9.5" };
const VM2 = { mac: "0a:58:0a:80:09:06", ip: "10.128.9.6" };
const GATEWAY = { mac: "0a:58:0a:80:09:01", ip: "10.128.9.1" };

const folder = mkdtempSync(join(tmpdir(), "mullion-chassis-"));
let central: OvnCentral;
let segment: Segment;
let peer: ChassisPeer;
let guest: string;
const POD = `mullion-${NAME}_api`;

function mullion(...words: readonly string[]): { readonly code: number | null; readonly text: string } {
  const all = [`--net=/run/netns/${segment.namespace}`, process.execPath, "bin/mullion.js", ...words];
  const env = { ...process.env, XDG_RUNTIME_DIR: folder, MULLION_NAME: NAME };
  const { status, stdout, stderr } = spawnSync("nsenter", all, { encoding: "utf8", env });
  return { code: status, text: stdout + stderr };
}

/** Runs a program in a namespace. @returns what it printed, or how it failed. */
async function inside(namespace: string, ...words: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run("nsenter", [`--net=/run/netns/${namespace}`, ...words], {
      encoding: "utf8",
    });
    return stdout.trim();
  } catch (error) {
    const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string };
    return `${String(code)}: ${stdout}${stderr}`.trim();
  }
}

/** The first packets are lost while both sides ask for each other's MAC. */
async function pings(from: string, to: string): Promise<void> {
  const ping = (): Promise<string> => inside(from, "ping", "-c", "2", "-i", "0.2", "-W", "2", to);
  await expect.poll(ping, { timeout: 20_000 }).toContain(" 2 received");
}

const isUp = (port: string) => (): string => central.ask("nb", "lsp-get-up", port).trim();

beforeAll(() => {
  removeLeftovers(PREFIX, `mullion-${PREFIX}`);
  central = new OvnCentral();
  central.script(NORTHBOUND);
  segment = new Segment(NAME);
  const remote = central.socket("sb");
  peer = new ChassisPeer({ name: "lin-1", address: PEER, remote, segment });
  guest = peer.addGuest("vm1", VM1.mac, VM1.ip, GATEWAY.ip);
  peer.addGuest("vm2", VM2.mac, VM2.ip, GATEWAY.ip);
  const file = join(folder, "cluster.yaml");
  const example = readFileSync("examples/ovn-transparent/cluster.yaml", "utf8");
  writeFileSync(file, example.replace(/manifests:[^]*/, ""));
  const live = ["--live-bridge", segment.bridge, "--live-pod", "api"];
  const { code, text } = mullion("up", "-f", file, ...live, "--ovn-remote", remote);
  if (code !== 0) throw new Error(text);
  for (const port of ["vm1", "vm2", "default_web", "default_api"])
    central.ask("nb", "--timeout=20", "wait-until", "Logical_Switch_Port", port, "up=true");
}, 90_000);

afterAll(() => {
  mullion("down");
  peer.stop();
  segment.close();
  central.stop();
  rmSync(folder, { recursive: true });
});

describe("simulated Windows nodes and a real chassis", () => {
  it("are in one database, with the tunnels that follow from it", async () => {
    const known = central.ask("sb", "show");
    for (const [chassis, address] of [
      ["win-1", "10.0.0.11"],
      ["win-2", "10.0.0.12"],
      ["lin-1", PEER],
    ])
      expect(known).toMatch(new RegExp(`Chassis ${chassis}\\n(?: .*\\n)*? +ip: "${address}"`));
    const remotes = (): readonly string[] =>
      [...peer.ask("dpif/show").matchAll(/geneve: .*remote_ip=([\d.]+)/g)]
        .map(([, ip = ""]) => ip)
        .toSorted();
    await expect.poll(remotes).toEqual(["10.0.0.11", "10.0.0.12"]);
    const shown = mullion("ovn", "sb", "show").text;
    for (const name of ["win-1", "win-2", "lin-1"]) expect(shown).toContain(`Chassis ${name}\n`);
    const trace = mullion("trace", "pod/client", "pod/web", "--port", "8080");
    expect(trace.code, trace.text).toBe(0);
    // The least of what all chassis say of themselves (ovn-nb(5), NB_Global, hv_cfg).
    central.ask("nb", "--wait=hv", "--timeout=20", "sync");
  });

  it("ping each other: a real pod, a simulated one, and a guest of Open vSwitch", async () => {
    await pings(guest, "10.128.0.4");
    await pings(guest, "10.128.1.3");
    await pings(POD, VM1.ip);
    expect(await inside(guest, "ping", "-c", "2", "-i", "0.2", "-s", "1400", "10.128.1.3")).toContain(
      "2 received",
    );
  });

  it("carry TCP both ways, byte by byte", async () => {
    await pings(guest, "10.128.1.3");
    expect(await inside(guest, "curl", "-sS", "-m", "10", "http://10.128.0.4:8080")).toMatch(
      /^web saw 10\.128\.9\.5:\d+$/,
    );
    expect(await sendBetween(guest, POD, "10.128.1.3")).toBe("");
    expect(await sendBetween(POD, guest, VM1.ip)).toBe("");
  });

  it("send frames that tshark reads without complaint, with the keys of the database", async () => {
    const file = join(folder, "tunnel.pcapng");
    const capture = await startCapture(file);
    await pings(guest, "10.128.1.3");
    await inside(guest, "curl", "-sS", "-m", "10", "http://10.128.1.3:8080/hostname");
    await pings(POD, VM1.ip);
    capture.kill("SIGINT");
    await new Promise((resolve) => capture.once("exit", resolve));
    const rows = readCapture(file);
    const senders = new Set(rows.map(({ from }) => from));
    expect([...senders].toSorted()).toEqual(["10.0.0.12", PEER]);
    const keys = new Set(
      central.ask("sb", "--bare", "--columns=tunnel_key", "list", "Datapath_Binding").split("\n"),
    );
    for (const { vni, option, problems, checksum } of rows) {
      expect(keys).toContain(String(Number(vni)));
      expect([option, problems]).toEqual(["0x0102 0x80", ""]);
      // `options:csum=true` of both chassis (control-planes.md §4.3).
      expect(Number(checksum)).not.toBe(0);
    }
  }, 60_000);

  it("do what a changed ACL says, on both sides", async () => {
    await pings(guest, "10.128.1.3");
    const listeners = [POD, guest].map((namespace) => listen(namespace));
    const connect = (from: string, to: string) => (): Promise<string> =>
      inside(from, "nc", "-z", "-w", "1", to, "9001");
    const ways = [connect(guest, "10.128.1.3"), connect(POD, VM1.ip)];
    try {
      for (const way of ways) await expect.poll(way, { timeout: 20_000 }).toBe("");
      const change = (verb: string): void => {
        for (const [node, port] of [
          ["win-2", "default_api"],
          ["lin-1", "vm1"],
        ] as const) {
          const rule = `to-lport 2000 'outport == "${port}" && tcp.dst == 9001'`;
          central.script(`nb ${verb} ${node} ${rule}${verb === "acl-add" ? " drop" : ""}`);
        }
        central.ask("nb", "--wait=hv", "--timeout=20", "sync");
      };
      change("acl-add");
      for (const way of ways) await expect.poll(way, { timeout: 20_000 }).toMatch(/^1:/);
      await pings(guest, "10.128.1.3");
      change("acl-del");
      for (const way of ways) await expect.poll(way, { timeout: 20_000 }).toBe("");
    } finally {
      for (const listener of listeners) listener.kill();
    }
  }, 90_000);

  it(`do with ${FRAMES} frames (seed ${SEED}) what ofproto/trace says`, async () => {
    await pings(guest, "10.128.0.4");
    await pings(guest, "10.128.1.3");
    const network = new LogicalNetwork(
      toSouthbound(readDump(central.dumpOf([...TABLES, "Chassis", "Encap"]))),
    );
    const ports = peer.ports();
    const prng = new Prng(SEED);
    const verdicts = new Set<string>();
    for (let left = FRAMES; left > 0; left--) {
      const { port, packet, flow } = randomFrame(prng);
      const own = new Chassis(new Set(["vm1", "vm2"]), new VirtualClock(), "lin-1");
      const ours = ownVerdict(network, runLogicalFlows(network, own, port, packet));
      const theirs = verdictOf(peer.trace(flow), ports);
      expect(`${flow}: ${ours}`).toBe(`${flow}: ${theirs}`);
      verdicts.add(theirs.replace(/\d+ to .*/, ""));
    }
    expect(verdicts.size).toBeGreaterThan(4);
  }, 60_000);

  it.each<[what: string, code: RegExp, change: string, back: string]>([
    [
      "an ACL that drops",
      /^1 ovn-packet-dropped/,
      "nb acl-add win-1 to-lport 2000 'outport == \"default_web\" && ip4' drop",
      "nb acl-del win-1 to-lport 2000 'outport == \"default_web\" && ip4'",
    ],
    [
      "a port that is to be on another chassis",
      /^1 ovn-port-unbound/,
      "nb lsp-set-options default_web requested-chassis=lin-1",
      "nb lsp-set-options default_web",
    ],
    [
      "an option of the port that disables it",
      /^1 ovn-packet-dropped|^1 neighbor-unresolved/,
      "nb lsp-set-enabled default_web disabled",
      "nb lsp-set-enabled default_web enabled",
    ],
  ])(
    "say in mullion trace what ends a packet: %s",
    async (_what, expected, change, back) => {
      const codes = (): string => {
        const { code, text } = mullion("trace", "pod/client", "pod/web", "--port", "8080");
        return `${code} ${/ovn-packet-dropped|ovn-port-unbound|neighbor-unresolved/.exec(text)?.[0] ?? ""}`;
      };
      central.script(change);
      await expect.poll(codes, { timeout: 20_000, interval: 200 }).toMatch(expected);
      central.script(back);
      await expect.poll(codes, { timeout: 20_000, interval: 200 }).toMatch(/^0/);
    },
    60_000,
  );

  it("write down that a pod met a Service without back ends", async () => {
    const balancer = ["lb-add", "lb-empty", "10.96.9.9:80", "", "tcp"];
    central.ask("nb", ...balancer, "--", "set", "load_balancer", "lb-empty", "options:event=true");
    central.ask("nb", "--wait=sb", "ls-lb-add", "win-2", "lb-empty");
    const event = (): string =>
      central.ask("sb", "--bare", "--columns=event_info", "list", "controller_event");
    const meets = async (): Promise<string> => {
      await inside(POD, "curl", "-s", "-m", "1", "http://10.96.9.9/");
      return event();
    };
    await expect.poll(meets, { timeout: 20_000 }).toContain("10.96.9.9:80");
    central.ask("nb", "lb-del", "lb-empty");
  });

  it("leave the database when the cluster goes down", () => {
    expect(mullion("down").code).toBe(0);
    const known = central.ask("sb", "show");
    expect(known).not.toContain("Chassis win-");
    expect(known).toContain("Chassis lin-1");
    expect([isUp("default_api")(), isUp("vm1")()]).toEqual(["down", "up"]);
  });
});

function listen(namespace: string): ChildProcess {
  const words = [`--net=/run/netns/${namespace}`, "nc", "-lk", "9001"];
  return spawn("nsenter", words, { stdio: "ignore" });
}

/** Sends a megabyte. @returns what went wrong; empty: the same arrived */
async function sendBetween(from: string, to: string, address: string): Promise<string> {
  const sent = join(folder, "sent");
  const arrived = join(folder, `arrived-${to}`);
  writeFileSync(
    sent,
    Uint8Array.from({ length: BYTES }, (_, index) => (index * 31 + (index >> 12)) & 0xff),
  );
  const received = inside(to, "timeout", "40", "sh", "-c", `nc -l 9000 > ${arrived}`);
  // Until the other side listens.
  const send = `until nc -N ${address} 9000 < ${sent}; do sleep 0.3; done`;
  const result = await inside(from, "timeout", "40", "sh", "-c", send);
  const failed = `${result}${await received}`;
  const bytes = readFileSync(arrived);
  return failed === "" && readFileSync(sent).equals(bytes) ? "" : `${failed}, ${bytes.length} bytes arrived`;
}

/** Captures what is in tunnels, where the peer's cable is; resolves when it listens. */
async function startCapture(file: string): Promise<ChildProcess> {
  const what = ["-i", "uplink", "-f", "udp port 6081", "-w", file, "-a", "duration:60"];
  const words = [`--net=/run/netns/${peer.namespace}`, "dumpcap", "-q", ...what];
  const capture = spawn("nsenter", words, { stdio: "ignore" });
  await expect.poll(() => existsSync(file) && statSync(file).size > 0, { timeout: 20_000 }).toBe(true);
  return capture;
}

interface Captured {
  readonly from: string;
  readonly vni: string;
  readonly option: string;
  readonly checksum: string;
  readonly problems: string;
}

/** Of a checksum (tshark's field `*.checksum.status`). */
const BAD = "0";

function readCapture(file: string): readonly Captured[] {
  const protocols = ["ip", "udp", "tcp", "icmp"];
  const checks = ["ip", "udp", "tcp"].flatMap((name) => ["-o", `${name}.check_checksum:TRUE`]);
  const names = [
    "ip.src",
    "geneve.vni",
    "geneve.option.class",
    "geneve.option.type",
    "udp.checksum",
    "_ws.malformed",
    ...protocols.map((name) => `${name}.checksum.status`),
  ];
  const shown = [
    "-Y",
    "geneve",
    "-T",
    "fields",
    "-E",
    "separator=|",
    ...names.flatMap((name) => ["-e", name]),
  ];
  const { stdout } = spawnSync("tshark", ["-r", file, ...checks, ...shown], { encoding: "utf8" });
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      // Of a field that stands in both headers the outer one comes first.
      const [sources = "", vni = "", kind = "", type = "", checksums = "", malformed = "", ...states] =
        line.split("|");
      const isBad = (index: number): boolean => (states[index] ?? "").split(",").includes(BAD);
      const bad = protocols.filter((_name, index) => isBad(index)).map((name) => `checksum of ${name}`);
      const outer = (field: string): string => field.split(",")[0] ?? "";
      const problems = [...(malformed === "" ? [] : ["malformed"]), ...bad].join(", ");
      return { from: outer(sources), vni, option: `${kind} ${type}`, checksum: outer(checksums), problems };
    });
}

interface RandomFrame {
  readonly port: string;
  readonly packet: Packet;
  /** The same as Open vSwitch writes it (ovs-fields(7)). */
  readonly flow: string;
}

/** A frame as a guest sends it, or nearly so. */
function randomFrame(prng: Prng): RandomFrame {
  const one = <T>(values: readonly T[]): T => defined(values[prng.below(values.length)], "a value");
  const mostly = (value: string, odd: string): string => (prng.below(8) > 0 ? value : odd);
  const [port, own] = one([
    ["vm1", VM1],
    ["vm2", VM2],
  ] as const);
  const near = own === VM1 ? VM2 : VM1;
  const to = one([
    near.ip,
    GATEWAY.ip,
    "10.128.9.77",
    "10.128.0.3",
    "10.128.0.4",
    "10.128.1.3",
    "10.128.1.77",
    "10.77.0.1",
  ]);
  const next = to === near.ip ? near.mac : GATEWAY.mac;
  const [source, sourceMac] = [mostly(own.ip, near.ip), mostly(own.mac, near.mac)];
  const destinationMac = mostly(next, one([near.mac, GATEWAY.mac, "0a:58:0a:80:09:99"]));
  const protocol = one(["tcp", "udp", "icmp"] as const);
  const destinationPort = one([53, 80, 8080]);
  const ttl = prng.below(8) > 0 ? 64 : 1;
  const mac = (text: string) => defined(parseMac(text), "a MAC");
  const ip = (text: string) => defined(parseIp(text), "an address");
  const common = {
    link: { sourceMac: mac(sourceMac), destinationMac: mac(destinationMac) },
    ip: { source: ip(source), destination: ip(to), ttl, identification: 1, isDontFragment: true },
  };
  const headers = `dl_src=${sourceMac},dl_dst=${destinationMac},nw_src=${source},nw_dst=${to},nw_ttl=${ttl}`;
  const ends = { sourcePort: 4_000 + prng.below(4), destinationPort };
  const ports = `${protocol}_src=${ends.sourcePort},${protocol}_dst=${destinationPort}`;
  const transport = protocol === "icmp" ? "icmp_type=8,icmp_code=0" : ports;
  const flow = `in_port=${port},${protocol},${headers},${transport}`;
  const payload = new Uint8Array(3);
  const tcp = { ...ends, sequence: 1, acknowledgment: 0, flags: TcpFlag.syn, window: 1_000 };
  if (protocol === "tcp") return { port, flow, packet: buildTcpFrame({ ...common, tcp, payload }) };
  if (protocol === "udp") return { port, flow, packet: buildUdpFrame({ ...common, udp: ends, payload }) };
  const icmp = { type: "echo-request", identifier: 7, sequence: 1, payload } as const;
  return { port, flow, packet: buildIcmpFrame({ ...common, icmp }) };
}

/** What became of a frame here, as `verdictOf` says it. What a chassis makes itself is its controller's work. */
function ownVerdict(network: LogicalNetwork, { steps, endings }: Passage): string {
  if (steps.some((step) => step.kind === "made" && step.name !== "clone")) return "controller";
  const outputs = endings.flatMap((ending) => {
    if (ending.kind === "output") return [`port ${ending.port}`];
    if (ending.kind !== "tunnel") return [];
    const { datapath, ingressPort, egressPort } = ending.keys;
    const to = network.tunnelBetween("lin-1", ending.chassis)?.to ?? "";
    return [tunnelText(to, datapath, ingressPort, egressPort)];
  });
  return outputs.length === 0 ? "drop" : [...new Set(outputs)].toSorted().join("; ");
}
