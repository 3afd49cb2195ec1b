/**
 * What Windows' own commands print about ports and services. Words are those of the system's language, so lines are told
 * by their shape: numbers between blanks, names at the edge.
 */
import type { SourceText } from "#core/base/source-text.ts";
import type { DynamicPorts, ExcludedPorts, WindowsService } from "./evidence.ts";

const PORT_MAX = 65_535;
/** `     49693       49792     *` */
const RANGE_ROW = /^\s{0,16}(\d{1,5})\s{1,20}(\d{1,5})(\s{1,16}\*)?\s*$/u;
const DASHES = /^\s{0,16}-{5,30}\s{1,20}-{5,30}\s*$/u;
const PROTOCOL = /\b(tcp|udp)\b/iu;
/** `Start Port      : 49152`: a label, a colon, one number. */
const LABELLED = /^[^:\d]{1,60}:\s{0,20}(\d{1,5})\s*$/u;

interface Line {
  readonly text: string;
  readonly line: number;
}

function linesOf({ text }: SourceText): readonly Line[] {
  return text.split("\n").map((each, index) => ({ text: each.replace(/\r$/u, ""), line: index + 1 }));
}

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
export function readExcludedPorts(source: SourceText): readonly ExcludedPorts[] {
  const found: ExcludedPorts[] = [];
  const before = new ProtocolBefore();
  let isTable = false;
  for (const { text, line } of linesOf(source)) {
    const row = isTable ? RANGE_ROW.exec(text) : null;
    if (row !== null) {
      const [first, last] = [Number(row[1]), Number(row[2])];
      if (first <= last && last <= PORT_MAX)
        found.push({
          protocol: before.protocol,
          first,
          last,
          isAdministered: row[3] !== undefined,
          place: { file: source.file, line },
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
export function readDynamicPorts(source: SourceText): readonly DynamicPorts[] {
  const found: DynamicPorts[] = [];
  const before = new ProtocolBefore();
  let dashesAt = 0;
  let first: { readonly value: number; readonly line: number } | undefined;
  for (const { text, line } of linesOf(source)) {
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
        place: { file: source.file, line: first.line },
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
export function readServices(source: SourceText): readonly WindowsService[] {
  const found: WindowsService[] = [];
  let current: string | undefined;
  for (const { text, line } of linesOf(source)) {
    const place = { file: source.file, line };
    const [, status = "", name = ""] = SERVICE_ROW.exec(text) ?? [];
    if ((status === "Running" || status === "Stopped") && WATCHED.has(name.toLowerCase()))
      found.push({ name, isRunning: status === "Running", place });
    const [, named] = SC_NAME.exec(text) ?? [];
    if (named !== undefined) current = named;
    const [, state] = SC_STATE.exec(text) ?? [];
    if (state === undefined || current === undefined) continue;
    if (WATCHED.has(current.toLowerCase()))
      found.push({ name: current, isRunning: state === SC_RUNNING, place });
    current = undefined;
  }
  return found;
}
