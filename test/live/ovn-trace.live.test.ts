// The same packets through the flows of a real ovn-northd here and in ovn-trace (Debian's ovn-central, its databases on
// sockets of a temporary folder): both must match flows of the same stages and priorities and give the same ports.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { type Ip, parseIp } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { buildTcpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import type { Packet } from "#core/wire/packet.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { LogicalNetwork } from "#dataplane/ovs/logical-network.ts";
import { type Passage, runLogicalFlows } from "#dataplane/ovs/logical-pipeline.ts";
import { readSouthbound } from "#dataplane/ovs/southbound.ts";

const PACKETS = 300;
const SEED = Number(process.env["SEED"] ?? 24) % 0x7fff_ffff;
const folder = mkdtempSync(join(tmpdir(), "mullion-ovn-"));
const TABLES = [
  "Datapath_Binding",
  "Logical_DP_Group",
  "Port_Binding",
  "Logical_Flow",
  "Multicast_Group",
  "Address_Set",
  "Port_Group",
  "MAC_Binding",
];

function run(program: string, ...options: string[]): string {
  return execFileSync(program, options, {
    encoding: "utf8",
    timeout: 30_000,
    stdio: ["ignore", "pipe", "ignore"],
  });
}

function daemon(program: string, name: string, ...options: string[]): void {
  const [pid, control] = [join(folder, `${name}.pid`), join(folder, `${name}.ctl`)];
  // A daemon keeps the pipes of its starter open: it must not have any.
  const all = ["--detach", "--no-chdir", `--pidfile=${pid}`, `--unixctl=${control}`, ...options];
  execFileSync(program, all, { timeout: 30_000, stdio: "ignore" });
}

const socket = (name: string): string => `unix:${folder}/${name}.sock`;
const nbctl = (...options: string[]): string => run("ovn-nbctl", `--db=${socket("nb")}`, ...options);

function startDatabases(): void {
  for (const name of ["nb", "sb"]) {
    const file = join(folder, `${name}.db`);
    run("ovsdb-tool", "create", file, `/usr/share/ovn/ovn-${name}.ovsschema`);
    daemon("ovsdb-server", name, `--remote=p${socket(name)}`, file);
  }
  daemon("ovn-northd", "northd", `--ovnnb-db=${socket("nb")}`, `--ovnsb-db=${socket("sb")}`);
}

function makeNetwork(): void {
  nbctl("lr-add", "lr0");
  for (const index of [0, 1]) {
    const [each, port] = [`sw${index}`, `sw${index}-lr0`];
    nbctl("ls-add", each);
    nbctl("lrp-add", "lr0", `lr0-${each}`, `00:00:00:00:ff:0${index}`, `10.0.${index}.1/24`);
    nbctl(
      "lsp-add",
      each,
      port,
      "--",
      "lsp-set-type",
      port,
      "router",
      "--",
      "lsp-set-addresses",
      port,
      "router",
    );
    nbctl("lsp-set-options", port, `router-port=lr0-${each}`);
    for (const last of [2, 3]) {
      const [vif, address] = [`p${index}${last}`, `50:54:00:00:0${index}:0${last} 10.0.${index}.${last}`];
      nbctl(
        "lsp-add",
        each,
        vif,
        "--",
        "lsp-set-addresses",
        vif,
        address,
        "--",
        "lsp-set-port-security",
        vif,
        address,
      );
    }
  }
  nbctl("pg-add", "web", "p02", "p12");
  nbctl("acl-add", "web", "to-lport", "1000", "outport == @web && ip4", "drop");
  nbctl("acl-add", "web", "to-lport", "1001", "outport == @web && tcp.dst == 80", "allow-stateless");
  nbctl("--wait=sb", "sync");
}

beforeAll(() => {
  startDatabases();
  makeNetwork();
  daemon("ovn-trace", "trace", `--db=${socket("sb")}`);
}, 60_000);

afterAll(() => {
  for (const name of ["trace", "northd", "sb", "nb"]) {
    try {
      process.kill(Number(readFileSync(join(folder, `${name}.pid`), "utf8")));
    } catch {
      // It was not started.
    }
  }
  rmSync(folder, { recursive: true });
});

interface Question {
  readonly inport: string;
  readonly microflow: string;
  readonly packet: Packet;
}

/** Random numbers below a bound. */
class Draw {
  private state = SEED;

  below(bound: number): number {
    this.state = (this.state * 1_103_515_245 + 12_345) % 0x8000_0000;
    return Math.floor(this.state / 0x1_0000) % bound;
  }

  one<T>(...values: readonly T[]): T {
    return defined(values[this.below(values.length)], "a value");
  }
}

const ip = (text: string): Ip => defined(parseIp(text), "an address");
const mac = (text: string): Mac => defined(parseMac(text), "a MAC");

function ask(draw: Draw): Question {
  const [index, last] = [draw.below(2), 2 + draw.below(2)];
  const inport = `p${index}${last}`;
  const own = `50:54:00:00:0${index}:0${last}`;
  const vifs = ["50:54:00:00:00:02", "50:54:00:00:00:03", "50:54:00:00:01:02", "50:54:00:00:01:03"];
  const from = draw.below(12) > 0 ? own : "50:54:00:00:00:77";
  const source = draw.below(12) > 0 ? `10.0.${index}.${last}` : "10.0.0.77";
  const others = draw.one(...vifs, "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:05", "50:54:00:00:00:99");
  const to = draw.below(3) > 0 ? `00:00:00:00:ff:0${index}` : others;
  const near = draw.one("10.0.0.2", "10.0.0.3", "10.0.1.2", "10.0.1.3");
  const destination = draw.below(4) > 0 ? near : draw.one("10.0.0.9", "10.0.9.9", "10.0.0.1", "224.0.0.5");
  const ttl = draw.below(10) > 0 ? 64 : draw.one(0, 1, 2);
  const [protocol, destinationPort] = [draw.one("tcp", "tcp", "udp"), draw.one(80, 81)];
  const common = {
    link: { sourceMac: mac(from), destinationMac: mac(to) },
    ip: { source: ip(source), destination: ip(destination), ttl, identification: 1, isDontFragment: true },
  };
  const tcp = {
    sourcePort: 5_000,
    destinationPort,
    sequence: 1,
    acknowledgment: 0,
    flags: TcpFlag.syn,
    window: 1,
  };
  const packet =
    protocol === "tcp"
      ? buildTcpFrame({ ...common, tcp })
      : buildUdpFrame({ ...common, udp: { sourcePort: 5_000, destinationPort }, payload: new Uint8Array(3) });
  const microflow = [
    `inport == "${inport}" && eth.src == ${from} && eth.dst == ${to} && ${protocol} && ip.ttl == ${ttl}`,
    `ip4.src == ${source} && ip4.dst == ${destination} && ${protocol}.dst == ${destinationPort} && ${protocol}.src == 5000`,
  ].join(" && ");
  return { inport, microflow, packet };
}

/** What ovn-trace leaves out: a flow that does nothing but go on. */
function stagesOf({ steps }: Passage): readonly string[] {
  const shown = steps.filter(({ flow: { row } }) => row.match !== "1" || row.actions !== "next;");
  return shown.map(({ flow: { row } }) => `${row.stage} ${row.priority}`).toSorted();
}

function traced(text: string): readonly string[] {
  const flows = text.matchAll(/^ *\d+\. (\w+) .*, priority (\d+), uuid/gm);
  return [...flows].map(([, stage, priority]) => `${stage} ${priority}`).toSorted();
}

it(`agrees with ovn-trace on ${PACKETS} random packets`, () => {
  process.stdout.write(`SEED=${SEED}\n`);
  const dump = TABLES.map((table) =>
    run("ovsdb-client", "dump", "--format=json", socket("sb"), "OVN_Southbound", table),
  );
  const network = new LogicalNetwork(readSouthbound(dump.join("\n")));
  expect(network.unreadable).toEqual([]);
  const draw = new Draw();
  const ends = { delivered: 0, routed: 0, dropped: 0, refused: 0 };
  for (let number = 0; number < PACKETS; number++) {
    const { inport, microflow, packet } = ask(draw);
    const passage = runLogicalFlows(network, new Set(), inport, packet);
    const text = run(
      "ovs-appctl",
      "-t",
      join(folder, "trace.ctl"),
      "trace",
      `sw${inport.charAt(1)}`,
      microflow,
    );
    const ports = passage.endings
      .flatMap((ending) => (ending.kind === "output" ? [ending.port] : []))
      .toSorted();
    const theirs = [...text.matchAll(/output to "([^"]*)", type ""/g)]
      .map(([, port]) => String(port))
      .toSorted();
    if (passage.endings.some(({ kind }) => kind === "refused")) {
      // Of what is not carried out the way there must be theirs; what the action does then is not compared.
      expect(traced(text), microflow).toEqual(expect.arrayContaining([...stagesOf(passage)]));
      ends.refused++;
      continue;
    }
    expect(stagesOf(passage), microflow).toEqual(traced(text));
    expect(ports, microflow).toEqual(theirs);
    ends[ports.length === 0 ? "dropped" : text.includes("lr_in_ip_routing") ? "routed" : "delivered"]++;
  }
  process.stdout.write(`${JSON.stringify(ends)}\n`);
  expect(ends.delivered).toBeGreaterThan(0);
  expect(ends.routed).toBeGreaterThan(PACKETS / 10);
  expect(ends.dropped).toBeGreaterThan(PACKETS / 10);
}, 120_000);
