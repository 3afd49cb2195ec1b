/** `mullion ovn trace`: a packet through the logical flows of a cluster, or of a database that somebody saved. */
import type { LogicalStep } from "#core/base/recorder.ts";
import { VirtualClock } from "#core/base/clock.ts";
import { describeFrame } from "#core/wire/text/format.ts";
import { Chassis } from "#dataplane/ovs/chassis.ts";
import { parseState } from "#dataplane/ovs/connection-tracking.ts";
import { LanguageError } from "#dataplane/ovs/language/tokens.ts";
import { LogicalNetwork } from "#dataplane/ovs/logical-network.ts";
import { type Ending, type Passage, runLogicalFlows } from "#dataplane/ovs/logical-pipeline.ts";
import { type Microflow, MicroflowError, readMicroflow } from "#dataplane/ovs/microflow.ts";
import { tellPassage } from "#dataplane/ovs/passage-text.ts";
import { NorthboundObjects } from "#dataplane/ovs/northbound.ts";
import { Failure } from "../failure.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import { SHOWN_MAX, checkDestination, near } from "./destination.ts";
import { flowsOfTarget } from "./saved-database.ts";
import type { OvnTraceRequest } from "./verbs.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

function readPacket(text: string): Microflow {
  try {
    return readMicroflow(text);
  } catch (thrown) {
    if (!(thrown instanceof LanguageError) && !(thrown instanceof MicroflowError)) throw thrown;
    throw new Failure(
      "bad-usage",
      `the microflow cannot be read: ${thrown.message}`,
      WORDS.adviceOvnMicroflow,
    );
  }
}

/** The port that a packet comes in at, or why there is none. */
function checkPort(network: LogicalNetwork, asked: string, datapath: string | undefined): string {
  const port = network.ports.get(asked);
  const known = [...network.datapaths.values()];
  const wanted = known.find(
    ({ id, name, northbound }) => datapath !== undefined && [id, name, northbound].includes(datapath),
  );
  if (datapath !== undefined && wanted === undefined) {
    const names = near(
      datapath,
      known.map(({ name }) => name),
    );
    throw new Failure(
      "bad-usage",
      `there is no datapath ${JSON.stringify(datapath)}`,
      `Those that there are: ${names}.`,
    );
  }
  if (port === undefined || (wanted !== undefined && port.datapath !== wanted.id)) {
    const names = [...network.ports.values()]
      .filter((each) => wanted === undefined || each.datapath === wanted.id)
      .map(({ name }) => name);
    const what = asked === "" ? "the microflow names no inport" : `there is no port ${JSON.stringify(asked)}`;
    throw new Failure("bad-usage", what, `Those that there are: ${near(asked, names)}.`);
  }
  return asked;
}

function stepLines({ kind, text, object, actions = [] }: LogicalStep): readonly string[] {
  if (kind === "tracked" || kind === "made") return heading(text);
  if (kind === "output") return [`    ${text}`];
  return [
    text,
    ...(object === undefined ? [] : [`    # ${object}`]),
    ...actions.map((line) => `    ${line}`),
  ];
}

function heading(text: string): readonly string[] {
  return ["", text, "-".repeat(text.length)];
}

function endingLine(ending: Ending): string {
  if (ending.kind === "tunnel") return `to chassis ${ending.chassis}`;
  return ending.kind === "output"
    ? `arrives at ${ending.port}: ${describeFrame(ending.packet.frame)}`
    : `${ending.kind === "drop" ? "dropped" : ending.kind}: ${ending.text}`;
}

/** What the answer does not rest on, because the input has none of it. */
function notesOf(
  network: LogicalNetwork,
  { steps }: Passage,
  { isList, chassis }: { readonly isList: boolean; readonly chassis: string },
): readonly string[] {
  const met = new Set(steps.flatMap((step) => (step.kind === "pipeline" ? [step.datapath] : [])));
  const missing = network.missingNames(met);
  const unread = [...network.unreadable, ...network.missingOn(chassis)].filter(({ row }) =>
    row.datapaths.some((datapath) => met.has(datapath)),
  );
  return [
    ...(isList ? [WORDS.ovnListNote] : []),
    ...(missing.length > 0 ? [`without members, for the input has none: ${near("", missing)}`] : []),
    ...unread
      .slice(0, SHOWN_MAX)
      .map(({ row, problem }) => `left out: ${row.stage} ${row.priority}, ${problem}`),
  ];
}

export async function trace(request: OvnTraceRequest, terminal: Terminal): Promise<ExitCode> {
  const inputs = await flowsOfTarget(request.target, terminal);
  const given = inputs.find(({ southbound }) => southbound !== undefined);
  if (given?.southbound === undefined)
    throw new Failure("bad-usage", "no file has logical flows", WORDS.adviceOvnFile);
  const network = new LogicalNetwork(given.southbound);
  const { inport, packet, metadata } = readPacket(request.microflow);
  const port = checkPort(network, inport, request.datapath);
  checkDestination({ ...given.southbound, loadBalancers: network.loadBalancers }, packet);
  // As ovn-trace has it: no chassis is asked about, so that each has every port.
  const chassis = new Chassis(new Set(network.ports.keys()), new VirtualClock());
  const states = request.states.map((text) => {
    const bits = parseState(text);
    if (bits === undefined)
      throw new Failure(
        "bad-usage",
        `--ct ${text} is no state`,
        "Bits are new, est, rel, rpl, inv, trk, snat, dnat.",
      );
    return bits;
  });
  chassis.give(states);
  const frame = packet.frame.slice();
  const passage = runLogicalFlows(network, chassis, port, packet, metadata);
  const objects = new NorthboundObjects(inputs.flatMap(({ northbound }) => northbound ?? []));
  const body = tellPassage(network, passage.steps, ({ hint }) => objects.describe(hint)).flatMap(
    ({ title, steps }) => [...heading(title), ...steps.flatMap(stepLines)],
  );
  const endings = passage.endings.map(endingLine);
  terminal.stdout([`# ${describeFrame(frame)}`, ...body, "", ...endings, ""].join("\n"));
  for (const note of notesOf(network, passage, {
    isList: given.isList,
    chassis: network.chassisOf(port),
  }))
    terminal.stderr(`note: ${note}\n`);
  return passage.endings.some(({ kind }) => kind === "output") ? 0 : 1;
}
