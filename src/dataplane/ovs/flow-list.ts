/**
 * What `ovn-sbctl lflow-list` prints, as people paste it: the flows of each datapath, and nothing else of the database. What
 * else a packet needs is concluded from the flows: ports from their names in them, and which port of a switch belongs to which
 * of a router from the MAC that leads to both. Address sets, port groups and groups of ports for broadcast are not in it.
 */
import type {
  DatapathBinding,
  LogicalFlowRow,
  MulticastGroup,
  PortBinding,
  Southbound,
} from "./southbound.ts";

const HEADER = "Datapath:";
const PIPELINE = "Pipeline:";
const STAGE = /table= ?(\d{1,3}) ?\( *([a-z0-9_]+) *\)/;
const PRIORITY = /priority= *(\d{1,5})/;
const MATCH = "match=(";
const SHORT_UUID = /uuid=0x([0-9a-f]{8})/;
const LINES_MAX = 12;
const BEHIND_MATCH = "), action=(";

interface Header {
  readonly name: string;
  readonly id: string;
  readonly pipeline: "ingress" | "egress";
}

/** `Datapath: "sw0" aka "frontend" (UUID)  Pipeline: ingress`; documents also have the UUID alone. */
function readHeader(line: string): Header | undefined {
  const end = line.indexOf(PIPELINE);
  if (!line.startsWith(HEADER) || end < 0) return undefined;
  const head = line.slice(HEADER.length, end).trim();
  const name = head.startsWith('"')
    ? head.slice(1, Math.max(1, head.indexOf('"', 1)))
    : (head.split(" ")[0] ?? "");
  const [open, close] = [head.lastIndexOf("("), head.lastIndexOf(")")];
  const id = open >= 0 && close > open ? head.slice(open + 1, close) : name;
  const isEgress = line
    .slice(end + PIPELINE.length)
    .trim()
    .startsWith("egress");
  return { name, id, pipeline: isEgress ? "egress" : "ingress" };
}

/** Lines that belong to one flow: lists in documents are folded. */
function joinedLines(text: string): readonly string[] {
  const joined: string[] = [];
  let open = 0;
  for (const line of text.split("\n")) {
    const last = joined.at(-1);
    if (open > 0 && last !== undefined) {
      joined[joined.length - 1] = `${last} ${line.trim()}`;
      open = joined.at(-1)?.includes("action=(") === true && line.trimEnd().endsWith(")") ? 0 : open - 1;
    } else {
      joined.push(line);
      const isFlow = line.includes("table=") && line.includes("priority=");
      open = isFlow && !(line.includes("action=(") && line.trimEnd().endsWith(")")) ? LINES_MAX : 0;
    }
  }
  return joined;
}

function readFlow(
  line: string,
  count: number,
  datapath: string,
  pipeline: "ingress" | "egress",
): LogicalFlowRow | undefined {
  const start = line.indexOf(MATCH);
  const [, table, stage] = STAGE.exec(line) ?? [];
  const priority = PRIORITY.exec(line)?.[1];
  if (start < 0 || table === undefined || stage === undefined || priority === undefined) return undefined;
  const rest = line.slice(start + MATCH.length).replace(/\) +, *action=\(|\), *action=\(/, BEHIND_MATCH);
  const middle = rest.indexOf(BEHIND_MATCH);
  const end = rest.lastIndexOf(")");
  if (middle < 0 || end < middle + BEHIND_MATCH.length) return undefined;
  const uuid = SHORT_UUID.exec(line)?.[1];
  return {
    id: uuid ?? String(count).padStart(8, "0"),
    datapaths: [datapath],
    pipeline,
    table: Number(table),
    priority: Number(priority),
    match: rest.slice(0, middle),
    actions: rest.slice(middle + BEHIND_MATCH.length, end),
    stage,
    hint: "",
    source: "",
  };
}

const PORT_NAME = /(?:(?:inport|outport) *(?:==|!=|=) *(?:\{ *)?|is_chassis_resident\()"([^"]+)"/g;
const MAC = /eth\.dst == (?:\{ *)?((?:[0-9a-f]{2}:){5}[0-9a-f]{2})/;
const ADMITTED = /inport == "([^"]+)"/;
const SENT = /outport = "([^"]+)"/;

function portNames(flows: readonly LogicalFlowRow[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { match, actions } of flows)
    for (const text of [match, actions])
      for (const [, name = ""] of text.matchAll(PORT_NAME)) if (name !== "none") names.add(name);
  return names;
}

/** Ports of routers by MAC, from the flows that let frames in. */
function routerPorts(flows: readonly LogicalFlowRow[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { stage, match } of flows) {
    const [mac, port] = [MAC.exec(match)?.[1], ADMITTED.exec(match)?.[1]];
    if (stage === "lr_in_admission" && mac !== undefined && port !== undefined) found.set(mac, port);
  }
  return found;
}

/** Which ports are two ends of one: by the MAC that a switch sends to one of them, and a router takes at the other. */
function peersOf(flows: readonly LogicalFlowRow[]): ReadonlyMap<string, string> {
  const routers = routerPorts(flows);
  const peers = new Map<string, string>();
  for (const { stage, match, actions } of flows) {
    if (stage !== "ls_in_l2_lkup") continue;
    const [port, peer] = [SENT.exec(actions)?.[1], routers.get(MAC.exec(match)?.[1] ?? "")];
    if (port === undefined || peer === undefined || port.startsWith("_MC_")) continue;
    peers.set(port, peer);
    peers.set(peer, port);
  }
  return peers;
}

function toPorts(
  datapath: string,
  flows: readonly LogicalFlowRow[],
  peers: ReadonlyMap<string, string>,
): PortBinding[] {
  return [...portNames(flows)]
    .filter((name) => !name.startsWith("_MC_"))
    .map((name, index) => {
      const peer = peers.get(name);
      const isRedirect = name.startsWith("cr-");
      const options = isRedirect
        ? [["distributed-port", name.slice(3)] as const]
        : peer === undefined
          ? []
          : [["peer", peer] as const];
      const type = isRedirect ? "chassisredirect" : peer === undefined ? "" : "patch";
      return {
        name,
        datapath,
        type,
        key: index + 1,
        options: new Map(options),
        portSecurity: [],
        mac: [],
        chassis: "",
      };
    });
}

function toGroups(
  datapath: string,
  ports: readonly PortBinding[],
  flows: readonly LogicalFlowRow[],
): readonly MulticastGroup[] {
  const members = ports.filter(({ type }) => type !== "chassisredirect").map(({ name }) => name);
  const names = [...portNames(flows)].filter((name) => name.startsWith("_MC_"));
  return names.map((name) => ({
    key: 0,
    datapath,
    name,
    members: name.startsWith("_MC_flood") ? members : [],
  }));
}

/** True for a text with at least one flow in it. */
export function isFlowList(text: string): boolean {
  return text.includes(PIPELINE) && STAGE.test(text);
}

/** Reads a list; what stands around it is passed over. */
export function readFlowList(text: string): Southbound {
  const datapaths = new Map<string, DatapathBinding>();
  const flows: LogicalFlowRow[] = [];
  let current: Header | undefined;
  for (const line of joinedLines(text)) {
    const header = readHeader(line.trim());
    if (header !== undefined) {
      current = header;
      const { id, name } = header;
      const key = datapaths.size + 1;
      if (!datapaths.has(id))
        datapaths.set(id, { id, name, key, kind: "switch", northbound: "", hasSourceZone: false });
      continue;
    }
    const flow =
      current === undefined ? undefined : readFlow(line, flows.length + 1, current.id, current.pipeline);
    if (flow !== undefined) flows.push(flow);
  }
  const peers = peersOf(flows);
  const of = new Map(
    [...datapaths.keys()].map((id) => [id, flows.filter((flow) => flow.datapaths[0] === id)]),
  );
  const ports = [...of].map(([id, own]) => toPorts(id, own, peers));
  return {
    datapaths: [...datapaths.values()].map((each) => ({
      ...each,
      kind: of.get(each.id)?.[0]?.stage.startsWith("lr_") === true ? "router" : "switch",
    })),
    ports: ports.flat(),
    flows,
    groups: [...of].flatMap(([id, own], index) => toGroups(id, ports[index] ?? [], own)),
    addressSets: [],
    portGroups: [],
    macBindings: [],
    loadBalancers: [],
    fdb: [],
    chassis: [],
    dns: [],
  };
}
