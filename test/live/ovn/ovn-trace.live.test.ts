// Random packets through the flows of a real ovn-northd, here and in ovn-trace (Debian's ovn-central): both must match flows
// of the same stages and priorities in the same order, and give the same ports. Connections are ours: what our tracking knew
// of a packet at each look-up, and the back end that it chose, is handed to ovn-trace, which has no memory.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { VirtualClock } from "#core/base/clock.ts";
import { Prng } from "#core/base/prng.ts";
import { type Ip, type Ipv4, formatIp, parseIp } from "#core/net/ip.ts";
import { type Mac, formatMac, parseMac } from "#core/net/mac.ts";
import { buildIcmpFrame, buildTcpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { Packet } from "#core/wire/packet.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { Chassis } from "#dataplane/ovs/chassis.ts";
import { LogicalNetwork } from "#dataplane/ovs/logical-network.ts";
import {
  type Passage,
  type Step,
  receiveFromTunnel,
  runLogicalFlows,
} from "#dataplane/ovs/logical-pipeline.ts";
import { PacketFields } from "#dataplane/ovs/packet-fields.ts";
import { readDump } from "#dataplane/ovs/ovsdb-tables.ts";
import { toSouthbound } from "#dataplane/ovs/southbound.ts";
import { OvnCentral } from "./ovn-central.ts";
import { type Source, TOPOLOGIES, type Topology } from "./topologies.ts";

const PACKETS = Number(process.env["PACKETS"] ?? 1_000);
const SEED = Number(process.env["SEED"] ?? 24) % 0x7fff_ffff;

const CHOICES_MAX = 40;

/** Random choices. */
class Draw {
  private readonly prng = new Prng(SEED);

  below(bound: number): number {
    return this.prng.below(bound);
  }

  one<T>(values: readonly T[]): T {
    return defined(values[this.below(values.length)], "a value");
  }
}

interface Question {
  readonly inport: string;
  readonly datapath: string;
  readonly fields: Fields;
}

interface Fields {
  readonly from: string;
  readonly to: string;
  readonly source: string;
  readonly destination: string;
  readonly ttl: number;
  readonly protocol: "tcp" | "udp" | "icmp";
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly flags: number;
}

const ip = (text: string): Ip => defined(parseIp(text), "an address");
const mac = (text: string): Mac => defined(parseMac(text), "a MAC");

function ask(draw: Draw, topology: Topology): Question {
  const from: Source = draw.one(topology.sources);
  const other = draw.one(topology.sources);
  const targets = topology.vips.length > 0 && draw.below(2) === 0 ? topology.vips : topology.targets;
  const destination = draw.one(targets);
  const isNear =
    destination.slice(0, destination.lastIndexOf(".")) === from.ip.slice(0, from.ip.lastIndexOf("."));
  const near = topology.sources.find((each) => each.ip === destination)?.mac ?? from.gateway;
  const odd = ["ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:05", "50:54:00:00:00:99", other.mac];
  const isService = targets === topology.vips && draw.below(4) > 0;
  const protocol = isService ? "tcp" : draw.one(["tcp", "tcp", "tcp", "udp", "icmp"] as const);
  return {
    inport: from.port,
    datapath: from.datapath,
    fields: {
      from: draw.below(40) > 0 ? from.mac : "50:54:00:00:00:77",
      to: draw.below(40) > 0 ? (isNear ? near : from.gateway) : draw.one(odd),
      source: draw.below(40) > 0 ? from.ip : "10.0.0.77",
      destination,
      ttl: draw.below(40) > 0 ? 64 : draw.one([0, 1, 2]),
      protocol,
      sourcePort: 5_000 + draw.below(4),
      destinationPort: isService ? 80 : draw.one(topology.ports),
      flags: TcpFlag.syn,
    },
  };
}

/** The answer to a packet that arrived, with what its receiver saw of it. */
function answerTo(port: string, datapath: string, packet: Packet): Question | undefined {
  const { bytes, start } = packet;
  const text = (at: number, length: number): string =>
    [...bytes.subarray(start + at, start + at + length)].join(".");
  const hex = (at: number): string =>
    [...bytes.subarray(start + at, start + at + 6)]
      .map((byte) => byte.toString(16).padStart(2, "0"))
      .join(":");
  const word = (at: number): number => (bytes[start + at] ?? 0) * 256 + (bytes[start + at + 1] ?? 0);
  const protocol = bytes[start + 23] === 6 ? "tcp" : bytes[start + 23] === 17 ? "udp" : undefined;
  if (word(12) !== 0x0800 || protocol === undefined) return undefined;
  const isOpening = protocol === "tcp" && bytes[start + 47] === TcpFlag.syn;
  return {
    inport: port,
    datapath,
    fields: {
      from: hex(0),
      to: hex(6),
      source: text(30, 4),
      destination: text(26, 4),
      ttl: 64,
      protocol,
      sourcePort: word(36),
      destinationPort: word(34),
      flags: isOpening ? TcpFlag.syn | TcpFlag.ack : TcpFlag.ack,
    },
  };
}

function frameOf({ fields }: Question): Packet {
  const { protocol, sourcePort, destinationPort, flags } = fields;
  const common = {
    link: { sourceMac: mac(fields.from), destinationMac: mac(fields.to) },
    ip: {
      source: ip(fields.source),
      destination: ip(fields.destination),
      ttl: fields.ttl,
      identification: 1,
      isDontFragment: true,
    },
  };
  const payload = new Uint8Array(3);
  if (protocol === "icmp")
    return buildIcmpFrame({
      ...common,
      icmp: { type: "echo-request", identifier: sourcePort, sequence: 1, payload },
    });
  if (protocol === "udp") return buildUdpFrame({ ...common, udp: { sourcePort, destinationPort }, payload });
  const tcp = { sourcePort, destinationPort, sequence: 1, acknowledgment: 0, flags, window: 1 };
  return buildTcpFrame({ ...common, tcp });
}

/** A frame in the words of ovn-trace. */
function microflowOf(inport: string, frame: Uint8Array, marks: readonly Tracked[]): string {
  const packet = Packet.fromFrame(frame);
  const fields = new PacketFields(packet);
  const macText = (name: string): string => formatMac(Number(fields.read(name)) as Mac).replaceAll("-", ":");
  const ipText = (name: string): string => formatIp(Number(fields.read(name)) as Ipv4);
  const parts = [
    `inport == "${inport}"`,
    `eth.src == ${macText("eth.src")}`,
    `eth.dst == ${macText("eth.dst")}`,
  ];
  const protocol = { 1: "icmp4", 6: "tcp", 17: "udp" }[fields.headers.protocol];
  if (fields.family === 4 && protocol !== undefined) {
    parts.push(
      `ip.ttl == ${fields.read("ip.ttl")} && ip4.src == ${ipText("ip4.src")} && ip4.dst == ${ipText("ip4.dst")}`,
    );
    const names =
      protocol === "icmp4" ? ["type", "code"] : protocol === "tcp" ? ["src", "dst", "flags"] : ["src", "dst"];
    for (const name of names) parts.push(`${protocol}.${name} == ${fields.read(`${protocol}.${name}`)}`);
  } else if (fields.headers.etherType === 0x0806) {
    parts.push(
      `arp.op == ${fields.read("arp.op")} && arp.spa == ${ipText("arp.spa")} && arp.tpa == ${ipText("arp.tpa")}`,
    );
    parts.push(`arp.sha == ${macText("arp.sha")} && arp.tha == ${macText("arp.tha")}`);
  }
  const [first] = marks;
  if (first !== undefined && first.mark !== 0n) parts.push(`ct_mark == 0x${first.mark.toString(16)}`);
  if (first !== undefined && first.label !== 0n) parts.push(`ct_label == 0x${first.label.toString(16)}`);
  return parts.join(" && ");
}

type Tracked = Extract<Step, { kind: "tracked" }>;
type Begun = Extract<Step, { kind: "pipeline" }>;

/** What happened in one datapath, from its first table on. ovn-trace is asked about each by itself. */
interface Segment {
  readonly begun: Begun;
  readonly steps: Step[];
  readonly outports: string[];
}

function segmentsOf({ steps }: Passage): readonly Segment[] {
  const segments: Segment[] = [];
  // The pipelines that the packet is in, one from within the other; a jump, as that of `reject`, belongs to no segment.
  const open: { readonly depth: number; readonly segment: Segment | undefined }[] = [];
  for (const step of steps) {
    if (step.kind !== "pipeline") {
      open.at(-1)?.segment?.steps.push(step);
      continue;
    }
    const { depth } = step;
    while ((open.at(-1)?.depth ?? -1) >= depth) open.pop();
    let segment: Segment | undefined;
    if (!step.isJump && step.pipeline === "ingress") {
      segment = { begun: step, steps: [], outports: [] };
      segments.push(segment);
    } else if (!step.isJump) {
      segment = open.at(-1)?.segment;
      segment?.outports.push(step.outport);
    }
    open.push({ depth, segment });
  }
  return segments;
}

/** Whether ovn-trace, which has no memory, cannot follow: an answer gets its addresses back. */
function isRestored({ action, state, backEnd }: Tracked): boolean {
  const bits = state.split("|");
  if (action.includes("(") || !(bits.includes("snat") || bits.includes("dnat"))) return false;
  return !(action.startsWith("ct_lb") && backEnd !== undefined && !bits.includes("snat"));
}

/**
 * Whether ovn-trace translates what a chassis does not: an invalid packet has no connection, so nothing of it is rewritten
 * (net/openvswitch/conntrack.c, `__ovs_ct_lookup`); ovn-trace rewrites whatever the state is.
 */
function isInvalidTranslation({ action, state }: Tracked): boolean {
  return state.split("|").includes("inv") && /^ct_(?:snat|dnat|lb)/.test(action);
}

/** Flows without what ovn-trace leaves out, which do nothing but go on, up to where it cannot follow. */
function comparable(segment: Segment): {
  readonly flows: readonly string[];
  readonly cut: string | undefined;
} {
  const flows: string[] = [];
  let blocked: bigint | undefined;
  let known: readonly string[] = [];
  const isNatted = trackedOf(segment).some(({ mark, label }) => ((mark | label) & 2n) !== 0n);
  for (const step of segment.steps) {
    if (step.kind === "tracked") {
      if (isRestored(step)) return { flows, cut: "addresses of an answer" };
      if (isInvalidTranslation(step)) return { flows, cut: "an invalid packet" };
      // ovn-trace adds the state of a balanced packet to that which it had in another zone.
      const bits = step.state.split("|");
      if (step.action.startsWith("ct_lb") && known.some((bit) => !bits.includes(bit)))
        return { flows, cut: "states added up" };
      known = bits;
      if (blocked !== undefined && blocked !== (step.mark & 1n)) return { flows, cut: "marks that differ" };
      blocked = step.mark & 1n;
    }
    if (step.kind !== "flow" || (step.flow.row.match === "1" && step.flow.row.actions === "next;")) continue;
    const { row } = step.flow;
    // ovn-trace has one mark for all of a packet's way.
    if (row.stage === "lr_out_chk_dnat_local" && isNatted) return { flows, cut: "marks that differ" };
    // ovn-trace forgets flags between the pipelines; a chassis keeps them (ovn-architecture(7), table 41).
    if (row.match.includes("reg0[12] == 1") && segment.outports[0] === segment.begun.inport)
      return { flows, cut: "hairpin" };
    if (row.pipeline === "egress" && row.match.includes("flags.")) return { flows, cut: "flags" };
    flows.push(`${row.stage} ${row.priority}`);
    // Of a gateway router ovn-trace ends there (utilities/ovn-trace.c, `execute_ct_nat`).
    if (row.actions.trim() === "ct_snat;") return { flows, cut: "ct_snat" };
  }
  return { flows, cut: undefined };
}

function trackedOf({ steps }: { readonly steps: readonly Step[] }): readonly Tracked[] {
  return steps.filter((step): step is Tracked => step.kind === "tracked");
}

/** What ovn-trace takes: a state for each look-up that asks for one (it asks once only for translations), and the back end. */
function optionsOf(tracked: readonly Tracked[]): readonly string[] {
  let isKnown = false;
  const options: string[] = [];
  for (const { action, state, backEnd } of tracked) {
    const asksAlways = action.startsWith("ct_next") || action.startsWith("ct_lb");
    const bits = state.split("|").filter((bit) => bit !== "snat" && bit !== "dnat");
    if (asksAlways || !isKnown) options.push(`--ct=${bits.join(",")}`);
    isKnown = true;
    if (action === "ct_lb" || action === "ct_lb_mark") {
      if (backEnd !== undefined) options.push(`--lb-dst=${backEnd.includes(":") ? backEnd : `${backEnd}:0`}`);
    }
  }
  return options;
}

/** The flows and ports of the first datapath in what ovn-trace printed. */
function traced(text: string): Traced {
  const flows: string[] = [];
  const outports: string[] = [];
  let first = "";
  let isFirst = false;
  let isGroup = false;
  for (const line of text.split("\n")) {
    const begun = /^ *(ingress|egress)\(dp="([^"]*)"(?:, inport="([^"]*)")?(?:, outport="([^"]*)")?\)/.exec(
      line,
    );
    if (isFirst && line.trimStart().startsWith("multicast(")) isGroup = true;
    if (begun !== null) {
      const [, pipeline, datapath, inport, outport] = begun;
      const name = `${datapath} ${inport}`;
      if (pipeline === "ingress" && first !== "" && name === first) return { flows, outports };
      if (inport === undefined) isFirst = false;
      else {
        if (first === "") first = name;
        isFirst = name === first;
        if (isFirst && outport !== undefined && !(isGroup && outport === inport)) outports.push(outport);
      }
    }
    const flow = /^ *\d+\. (\w+) .*, priority (\d+), uuid/.exec(line);
    if (flow !== null && isFirst) flows.push(`${flow[1]} ${flow[2]}`);
  }
  return { flows, outports };
}

interface Traced {
  readonly flows: readonly string[];
  readonly outports: readonly string[];
}

/**
 * ovn-trace chooses back ends by chance: what it is told of one, it takes at the first `ct_lb_mark` that has none, before that
 * which has them. So it is asked until it has chosen as we did.
 */
async function answerOf(
  askTrace: () => Promise<Traced>,
  flows: readonly string[],
  isCut: boolean,
): Promise<Traced> {
  let answer = await askTrace();
  const isSame = (): boolean => {
    if (isCut) answer = { ...answer, flows: answer.flows.slice(0, flows.length) };
    return answer.flows.join() === flows.join();
  };
  const mayChoose = flows.some((flow) => flow.startsWith("ls_in_lb ") || flow.startsWith("lr_in_dnat "));
  const triesMax = mayChoose ? CHOICES_MAX : 0;
  for (let tries = 0; !isSame() && tries < triesMax; tries++) answer = await askTrace();
  return answer;
}

/** What became of a packet, in the words of the counts. */
function kindsOf(passage: Passage): readonly string[] {
  const { steps, endings } = passage;
  const kinds: string[] = [];
  const hasPort = endings.some(({ kind }) => kind === "output");
  if (endings.some(({ kind }) => kind === "refused")) kinds.push("refused");
  else kinds.push(hasPort ? "delivered" : "dropped");
  const isRejected = steps.some(
    (step) =>
      step.kind === "flow" &&
      step.flow.row.stage.includes("_acl") &&
      step.flow.row.actions.includes("reject"),
  );
  if (isRejected || endings.some((ending) => ending.kind === "drop" && ending.text.includes("_acl")))
    kinds.push("by ACL");
  if (steps.some((step) => step.kind === "flow" && step.flow.row.stage === "lr_in_ip_routing"))
    kinds.push("routed");
  if (steps.some((step) => step.kind === "tracked" && step.backEnd !== undefined)) kinds.push("balanced");
  if (steps.some((step) => step.kind === "tracked" && step.state.includes("est"))) kinds.push("established");
  return kinds;
}

/** Of all topologies. */
const totals = new Map<string, number>();

describe.each(TOPOLOGIES)("$name", (topology) => {
  let central: OvnCentral;

  beforeAll(() => {
    central = new OvnCentral();
    central.script(topology.script);
  }, 120_000);

  afterAll(() => {
    central.stop();
  });

  it(`ovn-trace and ours agree on ${PACKETS} random packets`, async () => {
    const network = new LogicalNetwork(toSouthbound(readDump(central.dump())));
    expect(network.unreadable).toEqual([]);
    const chassis = new Chassis(new Set(network.ports.keys()), new VirtualClock());
    const draw = new Draw();
    const counts: Record<string, number> = {};
    const count = (what: string): void => {
      counts[what] = (counts[what] ?? 0) + 1;
    };
    const waiting: Question[] = [];
    for (let number = 0; number < PACKETS; number++) {
      const question = (draw.below(5) === 0 ? waiting.shift() : undefined) ?? ask(draw, topology);
      const passage = runLogicalFlows(network, chassis, question.inport, frameOf(question));
      for (const segment of segmentsOf(passage)) {
        const { datapath, inport, frame } = segment.begun;
        const tracked = trackedOf(segment);
        const [microflow, options] = [microflowOf(inport, frame, tracked), optionsOf(tracked)];
        const name = defined(network.datapaths.get(datapath), "the datapath").name;
        const { flows, cut } = comparable(segment);
        count("datapaths");
        if (cut !== undefined) count(`up to ${cut}`);
        const asked = `${name} ${options.join(" ")} ${microflow}`;
        const theirs = await answerOf(
          async () => traced(await central.trace(name, microflow, options)),
          flows,
          cut !== undefined,
        );
        // Copies to a group are followed one after another, each with all that comes behind it: their ports are compared.
        if (segment.outports.length < 2) expect(flows, asked).toEqual(theirs.flows);
        if (cut === undefined) expect(theirs.outports.toSorted(), asked).toEqual(segment.outports.toSorted());
      }
      for (const what of kindsOf(passage)) count(what);
      for (const ending of passage.endings) {
        if (ending.kind !== "output" || waiting.length > 20) continue;
        const port = defined(network.ports.get(ending.port), "the port");
        const datapath = defined(network.datapaths.get(port.datapath), "the datapath");
        const answer = port.type === "" ? answerTo(ending.port, datapath.name, ending.packet) : undefined;
        if (answer !== undefined) waiting.push(answer);
      }
    }
    process.stdout.write(`SEED=${SEED} ${topology.name}: ${JSON.stringify(counts)}\n`);
    for (const [what, number] of Object.entries(counts)) totals.set(what, (totals.get(what) ?? 0) + number);
  }, 600_000);
});

describe("two chassis under the flows of ovn-kubernetes", () => {
  let central: OvnCentral;

  beforeAll(() => {
    central = new OvnCentral();
    central.script(defined(TOPOLOGIES.at(-1), "the topology").script);
  }, 120_000);

  afterAll(() => {
    central.stop();
  });

  it("CP-O26: a packet to a pod of the other node goes out at the router, to the redirect port of that node", () => {
    const southbound = toSouthbound(readDump(central.dump()));
    const at = (name: string): string =>
      /^(?:p0|cr-lr0-sw0)/.test(name) ? "hv0" : /^(?:p1|cr-lr0-sw1)/.test(name) ? "hv1" : "";
    const network = new LogicalNetwork({
      ...southbound,
      chassis: ["hv0", "hv1"].map((name, index) => ({
        id: name,
        name,
        encapsulations: [{ type: "geneve", ip: `192.0.2.${index + 1}` }],
      })),
      ports: southbound.ports.map((port) => ({ ...port, chassis: at(port.name) })),
    });
    const chassis = (name: string): Chassis =>
      new Chassis(
        new Set([...network.ports.keys()].filter((port) => at(port) === name)),
        new VirtualClock(),
        name,
      );
    const keyOf = (name: string): number => defined(network.ports.get(name), "the port").key;
    const fields: Fields = {
      from: "50:54:00:00:00:03",
      to: "00:00:00:00:ff:00",
      source: "10.0.0.3",
      destination: "10.0.1.2",
      ttl: 64,
      protocol: "tcp",
      sourcePort: 5_000,
      destinationPort: 80,
      flags: TcpFlag.syn,
    };
    const { endings } = runLogicalFlows(
      network,
      chassis("hv0"),
      "p03",
      frameOf({ inport: "p03", datapath: "sw0", fields }),
    );
    const [ending] = endings;
    if (ending?.kind !== "tunnel") throw new Error(`it goes through no tunnel: ${JSON.stringify(endings)}`);
    const router = [...network.datapaths.values()].find(({ name }) => name === "lr0");
    expect(ending).toMatchObject({
      chassis: "hv1",
      keys: { datapath: router?.key, ingressPort: keyOf("lr0-sw0"), egressPort: keyOf("cr-lr0-sw1") },
    });
    const arrived = receiveFromTunnel(network, chassis("hv1"), ending.keys, ending.packet);
    expect(arrived.endings).toMatchObject([{ kind: "output", port: "p12" }]);
  });
});

it("the packets were of all kinds, none was refused, and few could be compared in part only", () => {
  const share = (what: string, of: number): number => (totals.get(what) ?? 0) / of;
  const all = PACKETS * TOPOLOGIES.length;
  expect(share("delivered", all)).toBeGreaterThan(0.3);
  expect(share("by ACL", all)).toBeGreaterThan(0.3);
  expect(share("balanced", all)).toBeGreaterThan(0.1);
  expect(share("routed", all)).toBeGreaterThan(0.1);
  expect(totals.get("refused") ?? 0).toBe(0);
  const parts = [...totals]
    .filter(([what]) => what.startsWith("up to "))
    .reduce((sum, [, count]) => sum + count, 0);
  expect(parts / (totals.get("datapaths") ?? 1)).toBeLessThan(0.1);
});
