/**
 * What do the logical flows of a real ovn-northd cost: those of 108 pods, 100 Services and 100 NetworkPolicies on twelve nodes, compiled, and a
 * packet through them, beside ovn-trace on the same database? Needs Debian's ovn-central.
 */
import { existsSync } from "node:fs";
import { VirtualClock } from "#core/base/clock.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { Chassis } from "#dataplane/ovs/chassis.ts";
import { LogicalNetwork } from "#dataplane/ovs/logical-network.ts";
import { runLogicalFlows } from "#dataplane/ovs/logical-pipeline.ts";
import { readDump } from "#dataplane/ovs/ovsdb-tables.ts";
import { toSouthbound } from "#dataplane/ovs/southbound.ts";
import { frameOf } from "#test/support/dataplane/logical-world.ts";
import { OvnCentral } from "../test/live/ovn/ovn-central.ts";
import { type Measured, measure, printTable } from "./measure.ts";

const NODES = 12;
const PODS_PER_NODE = 9;
const SERVICES = 100;
const POLICIES = 100;
const PACKETS = 100;

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const hex = (value: number): string => value.toString(16).padStart(2, "0");
const ipOf = (node: number, pod: number): string => `10.128.${node}.${pod + 5}`;
const macOf = (node: number, pod: number): string => `0a:58:0a:80:${hex(node)}:${hex(pod + 5)}`;
const nameOf = (node: number, pod: number): string => `pod-${node}-${pod}`;

function commandsOfNode(number: number): readonly string[] {
  const [ls, lrp] = [`node${number}`, `rtos-${number}`];
  return [
    `ls-add ${ls}`,
    `lrp-add cluster ${lrp} 0a:58:0a:80:${hex(number)}:01 10.128.${number}.1/24`,
    `lsp-add ${ls} stor-${number} -- lsp-set-type stor-${number} router -- lsp-set-addresses stor-${number} router -- lsp-set-options stor-${number} router-port=${lrp}`,
    ...numbers(PODS_PER_NODE).map((pod) => {
      const [name, address] = [nameOf(number, pod), `"${macOf(number, pod)} ${ipOf(number, pod)}"`];
      return `lsp-add ${ls} ${name} -- lsp-set-addresses ${name} ${address} -- lsp-set-port-security ${name} ${address}`;
    }),
    `lr-add GR_${number} -- set logical_router GR_${number} options:chassis=hv${number}`,
    `lrp-add GR_${number} rtoj-${number} 0a:58:64:40:00:${hex(number + 2)} 100.64.0.${number + 2}/16`,
    `lsp-add join jtor-${number} -- lsp-set-type jtor-${number} router -- lsp-set-addresses jtor-${number} router -- lsp-set-options jtor-${number} router-port=rtoj-${number}`,
  ];
}

function service(number: number): readonly string[] {
  const back = [0, 1]
    .map((each) => `${ipOf((number + each) % NODES, number % PODS_PER_NODE)}:8080`)
    .join(",");
  const lb = `lb${number}`;
  return [
    `lb-add ${lb} 10.96.0.${number + 10}:80 ${back} tcp`,
    ...numbers(NODES).flatMap((each) => [`ls-lb-add node${each} ${lb}`, `lr-lb-add GR_${each} ${lb}`]),
  ];
}

/** Twelve pods, one of each node, let those of another twelve in. */
function policy(number: number): readonly string[] {
  const pods = numbers(NODES).map((each) => nameOf(each, number % PODS_PER_NODE));
  const from = numbers(NODES).map((each) => ipOf(each, (number + 7) % PODS_PER_NODE));
  const group = `np${number}`;
  return [
    `pg-add ${group} ${pods.join(" ")}`,
    `create address_set name=as${number} addresses=${from.map((ip) => `\\"${ip}\\"`).join(",")}`,
    `acl-add ${group} to-lport 1001 'outport == @${group} && ip4.src == {$as${number}} && tcp && tcp.dst == ${8_080 + number}' allow-related`,
  ];
}

function script(): string {
  const chains = [
    ["lr-add cluster", "ls-add join", ...numbers(NODES).flatMap((each) => commandsOfNode(each))],
    numbers(SERVICES).flatMap((each) => service(each)),
    numbers(POLICIES).flatMap((each) => policy(each)),
  ];
  return chains.map((commands) => `nb ${commands.join(" -- ")}`).join("\n");
}

function packet(index: number) {
  const [from, to] = [nameOf(0, index % PODS_PER_NODE), ipOf(1, (index + 3) % PODS_PER_NODE)];
  return {
    inport: from,
    from: macOf(0, index % PODS_PER_NODE),
    to: "0a:58:0a:80:00:01",
    source: ipOf(0, index % PODS_PER_NODE),
    destination: to,
    sourcePort: 5_000 + index,
    port: 8_080 + (index % POLICIES),
    flags: TcpFlag.syn,
  };
}

function microflow({
  inport,
  from,
  to,
  source,
  destination,
  sourcePort,
  port,
}: ReturnType<typeof packet>): string {
  const link = `inport == "${inport}" && eth.src == ${from} && eth.dst == ${to}`;
  return `${link} && ip.ttl == 64 && ip4.src == ${source} && ip4.dst == ${destination} && tcp.src == ${sourcePort} && tcp.dst == ${port} && tcp.flags == 2`;
}

/** ovn-trace stays between packets: what is measured is a packet, with its way through a socket and the text that it prints. */
async function traced(central: OvnCentral): Promise<Measured> {
  const samples: number[] = [];
  for (let index = -10; index < PACKETS; index++) {
    const question = microflow(packet(Math.abs(index)));
    const started = process.hrtime.bigint();
    await central.trace("node0", question, ["--ct=new"]);
    if (index >= 0) samples.push(Number(process.hrtime.bigint() - started));
  }
  const sorted = samples.toSorted((a, b) => a - b);
  return { name: "ovn-trace", ns: sorted[PACKETS >> 1] ?? Number.NaN, minNs: sorted[0] ?? Number.NaN };
}

export async function run(): Promise<void> {
  if (!existsSync("/usr/bin/ovn-northd")) {
    process.stdout.write("  left out: it needs Debian's ovn-central\n");
    return;
  }
  const central = new OvnCentral();
  try {
    central.script(script());
    const southbound = toSouthbound(readDump(central.dump()));
    const network = new LogicalNetwork(southbound);
    const operations = southbound.flows.reduce((sum, { datapaths }) => sum + datapaths.length, 0);
    const texts = southbound.flows.map((flow) => JSON.stringify(flow));
    const title = `${operations} logical flows of ovn-northd in ${southbound.flows.length} rows`;
    const parsing = {
      name: "JSON.parse",
      operations: texts.length,
      run: () => texts.reduce((sum, text) => sum + String(JSON.parse(text)).length, 0),
    };
    const compiling = {
      name: "compiled",
      operations: texts.length,
      run: () => new LogicalNetwork(southbound).ports.size,
    };
    printTable(`Compiling: ${title}, each row`, measure([parsing, compiling]), parsing.name);
    const walk = {
      name: "a packet",
      operations: PACKETS,
      run: () => {
        const chassis = new Chassis(new Set(network.ports.keys()), new VirtualClock());
        return numbers(PACKETS).reduce(
          (sum, index) =>
            sum +
            runLogicalFlows(network, chassis, packet(index).inport, frameOf(packet(index))).steps.length,
          0,
        );
      },
    };
    const [own] = measure([walk]);
    const theirs = await traced(central);
    printTable(
      `A new connection through ${title}`,
      own === undefined ? [theirs] : [theirs, own],
      theirs.name,
    );
  } finally {
    central.stop();
  }
}
