/**
 * What Windows' own commands print about ports and services. Words are those of the system's language, so lines are told
 * by their shape: numbers between blanks, names at the edge.
 */
import { type Ip, parseIp } from "#core/net/ip.ts";
import type { Line, Place } from "./place.ts";

/** Ports that Windows keeps from everybody: `netsh int ipv4 show excludedportrange`. */
export interface ExcludedPorts {
  readonly protocol: "tcp" | "udp";
  readonly first: number;
  readonly last: number;
  /** Excluded by an administrator, which does not keep programs from them. */
  readonly isAdministered: boolean;
  readonly place: Place;
}

/** Ports that programs get without asking for one: `netsh int ipv4 show dynamicportrange`. */
export interface DynamicPorts {
  readonly protocol: "tcp" | "udp";
  readonly first: number;
  readonly count: number;
  readonly place: Place;
}

/** A service of Windows, as `Get-Service` or `sc queryex` shows it. */
export interface WindowsService {
  readonly name: string;
  readonly isRunning: boolean;
  readonly place: Place;
}

/** A port that a process of the node waits on: `netstat -ano`, `Get-NetTCPConnection`, `Get-NetUDPEndpoint`. */
export interface Listener {
  readonly protocol: "tcp" | "udp";
  readonly address: Ip;
  readonly port: number;
  /** Undefined where it is not shown: `netstat -an`, `Get-NetUDPEndpoint`. */
  readonly process: number | undefined;
  readonly place: Place;
}

const PORT_MAX = 65_535;
/** `     49693       49792     *` */
const RANGE_ROW = /^\s{0,16}(\d{1,5})\s{1,20}(\d{1,5})(\s{1,16}\*)?\s*$/u;
const DASHES = /^\s{0,16}-{5,30}\s{1,20}-{5,30}\s*$/u;
const PROTOCOL = /\b(tcp|udp)\b/iu;
/** `Start Port      : 49152`: a label, a colon, one number. */
const LABELLED = /^[^:\d]{1,60}:\s{0,20}(\d{1,5})\s*$/u;

/** The protocol that the lines above name last; a file's name counts where no line says it. */
class ProtocolBefore {
  private named: "tcp" | "udp" = "tcp";

  read(text: string): void {
    const [, found] = PROTOCOL.exec(text) ?? [];
    if (found !== undefined) this.named = found.toLowerCase() === "udp" ? "udp" : "tcp";
  }

  get protocol(): "tcp" | "udp" {
    return this.named;
  }
}

/** The ranges of `netsh int ipv4 show excludedportrange`: rows of two numbers below two rows of dashes. */
export function readExcludedPorts(lines: readonly Line[]): readonly ExcludedPorts[] {
  const found: ExcludedPorts[] = [];
  const before = new ProtocolBefore();
  let isTable = false;
  for (const { text, file, line } of lines) {
    const row = isTable ? RANGE_ROW.exec(text) : null;
    if (row !== null) {
      const [first, last] = [Number(row[1]), Number(row[2])];
      if (first <= last && last <= PORT_MAX)
        found.push({
          protocol: before.protocol,
          first,
          last,
          isAdministered: row[3] !== undefined,
          place: { file, line },
        });
      continue;
    }
    if (DASHES.test(text)) isTable = true;
    else if (text.trim() !== "") {
      isTable = false;
      before.read(text);
    }
  }
  return found;
}

/** The ranges of `netsh int ipv4 show dynamicportrange`: below a heading of dashes a first port and how many there are. */
export function readDynamicPorts(lines: readonly Line[]): readonly DynamicPorts[] {
  const found: DynamicPorts[] = [];
  const before = new ProtocolBefore();
  let dashesAt = 0;
  let first: { readonly value: number; readonly line: number } | undefined;
  for (const { text, file, line } of lines) {
    if (/^-{10,80}\s*$/u.test(text)) {
      dashesAt = line;
      first = undefined;
      continue;
    }
    const [, digits] = LABELLED.exec(text) ?? [];
    if (digits === undefined || dashesAt === 0 || line > dashesAt + 2) {
      before.read(text);
      continue;
    }
    if (first === undefined) first = { value: Number(digits), line };
    else if (first.value + Number(digits) - 1 <= PORT_MAX)
      found.push({
        protocol: before.protocol,
        first: first.value,
        count: Number(digits),
        place: { file, line: first.line },
      });
  }
  return found;
}

/** Services that the network of a node needs, by their names in small letters. */
const WATCHED: ReadonlySet<string> = new Set([
  "hns",
  "vfpext",
  "tcpip",
  "kubeproxy",
  "kube-proxy",
  "kubelet",
]);
/** `Running  hns                Host Network Service` */
const SERVICE_ROW = /^(\w{3,20})\s{2,12}([\w-]{2,40})\s{2,60}\S/u;
const SC_NAME = /^SERVICE_NAME:\s{0,8}([\w-]{2,60})\s*$/u;
/** `        STATE              : 4  RUNNING` */
const SC_STATE = /^\s{1,16}\w{3,20}\s{1,40}:\s{0,8}([1-7])\s{1,4}[A-Z_]{4,20}\s*$/u;
const SC_RUNNING = "4";

/** The state of services, from the table of `Get-Service` and the blocks of `sc queryex`. */
export function readServices(lines: readonly Line[]): readonly WindowsService[] {
  const found: WindowsService[] = [];
  let current: string | undefined;
  for (const { text, file, line } of lines) {
    const [, status = "", name = ""] = SERVICE_ROW.exec(text) ?? [];
    if ((status === "Running" || status === "Stopped") && WATCHED.has(name.toLowerCase()))
      found.push({ name, isRunning: status === "Running", place: { file, line } });
    const [, named] = SC_NAME.exec(text) ?? [];
    if (named !== undefined) current = named;
    const [, state] = SC_STATE.exec(text) ?? [];
    if (state === undefined || current === undefined) continue;
    if (WATCHED.has(current.toLowerCase()))
      found.push({ name: current, isRunning: state === SC_RUNNING, place: { file, line } });
    current = undefined;
  }
  return found;
}

/** `  UDP    0.0.0.0:4789           *:*                                    4088`; states are words of the language. */
const SOCKET_ROW =
  /^\s{0,8}(TCP|UDP)\s{1,12}\[?([\da-fA-F.:]{2,45})\]?:(\d{1,5})\s{1,30}(\S{3,60})(?:\s{1,40}[^\s\d]\S{0,19})?(?:\s{1,40}(\d{1,9}))?\s*$/u;
const NO_PEER: ReadonlySet<string> = new Set(["*:*", "0.0.0.0:0", "[::]:0"]);

/** What waits for connections and datagrams, from the table of `netstat -ano`. */
export function readListeners(lines: readonly Line[]): readonly Listener[] {
  const found: Listener[] = [];
  for (const { text, file, line } of lines) {
    const [, name, local = "", port, peer = "", process] = SOCKET_ROW.exec(text) ?? [];
    const address = parseIp(local);
    if (name === undefined || address === undefined || !NO_PEER.has(peer)) continue;
    found.push({
      protocol: name === "UDP" ? "udp" : "tcp",
      address,
      port: Number(port),
      process: process === undefined ? undefined : Number(process),
      place: { file, line },
    });
  }
  return [...found, ...readConnections(lines)];
}

/** `0.0.0.0      135       0.0.0.0      0          Listen                     960` */
const CONNECTION_ROW =
  /^([\da-fA-F.:]{2,45})(?:%\d{1,6})?\s{1,50}(\d{1,5})\s{1,12}[\da-fA-F.:]{2,45}(?:%\d{1,6})?\s{1,50}\d{1,5}\s{1,12}Listen(?:\s{1,40}[A-Za-z]\w{0,20})?(?:\s{1,40}(\d{1,9}))?\s*$/u;
const ENDPOINT_HEADING = /^LocalAddress\s{1,50}LocalPort\s*$/u;
const ENDPOINT_ROW = /^([\da-fA-F.:]{2,45})(?:%\d{1,6})?\s{1,50}(\d{1,5})\s*$/u;
const CONNECTION_FIELD = /^(LocalAddress|LocalPort|State|OwningProcess)\s{0,20}:\s{0,4}(\S{0,60})\s*$/u;

/** Rows and blocks of `Get-NetTCPConnection` that listen, and the rows of `Get-NetUDPEndpoint`. */
function readConnections(lines: readonly Line[]): readonly Listener[] {
  const found: Listener[] = [];
  const add = (
    protocol: "tcp" | "udp",
    local: string,
    port: string,
    process: string | undefined,
    place: Place,
  ): void => {
    const address = parseIp(local);
    if (address === undefined || Number(port) > PORT_MAX) return;
    const of = process === undefined ? undefined : Number(process);
    found.push({ protocol, address, port: Number(port), process: of, place });
  };
  let isUdp = false;
  let block: Record<string, string> = {};
  for (const { text, file, line } of lines) {
    const place = { file, line };
    const row = CONNECTION_ROW.exec(text);
    if (row !== null) add("tcp", row[1] ?? "", row[2] ?? "", row[3], place);
    if (ENDPOINT_HEADING.test(text)) isUdp = true;
    else if (text.trim() === "") isUdp = false;
    const endpoint = isUdp ? ENDPOINT_ROW.exec(text) : null;
    if (endpoint !== null) add("udp", endpoint[1] ?? "", endpoint[2] ?? "", undefined, place);
    const [, name = "", value = ""] = CONNECTION_FIELD.exec(text) ?? [];
    if (name === "LocalAddress") block = {};
    if (name !== "") block[name] = value;
    if (name !== "OwningProcess" || block["State"] !== "Listen") continue;
    add("tcp", (block["LocalAddress"] ?? "").split("%", 1)[0] ?? "", block["LocalPort"] ?? "", value, place);
  }
  return found;
}
