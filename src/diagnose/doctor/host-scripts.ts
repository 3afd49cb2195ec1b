/** What start scripts print of their calls to HNS, and with which address they start the kubelet. */
import type { Line, Place } from "./place.ts";

/** A network that a script asked HNS for (`New-HNSNetwork -Verbose`), or a person in a session. */
export interface NetworkRequest {
  readonly name: string;
  /** What HNS answered; undefined: it made the network. */
  readonly refusal: string | undefined;
  readonly place: Place;
}

/** `--node-ip` of a kubelet. */
export interface KubeletAddress {
  /** As it was written: empty where the script found no adapter, several where it found more. */
  readonly nodeIp: string;
  readonly place: Place;
}

/** hns.psm1's own words behind "VERBOSE: ", which is a word of the language. */
const CALL = "Invoke-HNSRequest Method[POST] Path[/networks";
const PROMPTED = /^(?:PS\s)?[A-Za-z]:\\[^>]{0,200}>\s{0,4}New-HNSNetwork\s/iu;
const NAME_ARGUMENT = /-Name\s{1,4}"?([\w.-]{1,80})/iu;
const NAME = /"Name":\s{0,4}"([^"]{1,80})"/u;
const IN_JSON = /"Error":\s{0,4}"([^"]{1,300})"/u;
const IN_RECORD = /@\{Error=([^;{}]+);/u;
/** As in JSON; a bound within the pattern would take the checker of patterns too long. */
const ERROR_MAX = 300;
const IS_MADE = /"Success":\s{0,4}true/iu;
/** The document and the answer have not more lines. */
const LINES_MAX = 120;

interface OpenRequest {
  name: string;
  readonly place: Place;
}

function refusalIn(text: string): string | undefined {
  const [, error = ""] = IN_JSON.exec(text) ?? IN_RECORD.exec(text) ?? [];
  return error === "" || error.length > ERROR_MAX ? undefined : error;
}

/** Calls whose answer is there as well. */
export function readNetworkRequests(lines: readonly Line[]): readonly NetworkRequest[] {
  const found: NetworkRequest[] = [];
  let open: OpenRequest | undefined;
  for (const { text, file, line } of lines) {
    const [, prompted] = (PROMPTED.test(text) ? NAME_ARGUMENT.exec(text) : null) ?? [];
    if (text.includes(CALL) || prompted !== undefined) {
      // A session has the command and then what -Verbose tells of it.
      open = { name: prompted ?? open?.name ?? "", place: { file, line } };
    }
    if (open === undefined) continue;
    if (line - open.place.line > LINES_MAX) {
      open = undefined;
      continue;
    }
    if (open.name === "") open.name = NAME.exec(text)?.[1] ?? "";
    const refusal = refusalIn(text);
    if (refusal === undefined && !IS_MADE.test(text)) continue;
    if (open.name !== "") found.push({ name: open.name, refusal: refusal?.trim(), place: open.place });
    open = undefined;
  }
  return found;
}

const FLAG_NAME = "--node-ip=";
/** Up to the next flag. */
const VALUE = /^(?:"([^"]{0,200})"|([^"\r\n]{0,200}))/u;
/** klog's lines at a kubelet's start. */
const FLAG = /\bFLAG: --node-ip="([^"]{0,200})"/u;
/** A variable of a script is no address yet. */
const OPEN = /[$%{<(]/u;

/** The value of the flag in a command line of a kubelet. */
function valueIn(text: string): string | undefined {
  const at = text.indexOf(FLAG_NAME);
  if (at < 0 || !/kubelet/iu.test(text.slice(0, at))) return undefined;
  const [, quoted, plain = ""] = VALUE.exec(text.slice(at + FLAG_NAME.length)) ?? [];
  return quoted ?? plain.split(" --", 1)[0];
}

/** Command lines of kubelets, and the flags that a kubelet's log begins with. */
export function readKubeletAddresses(lines: readonly Line[]): readonly KubeletAddress[] {
  return lines.flatMap(({ text, file, line }) => {
    if (!text.includes("--node-ip")) return [];
    const value = FLAG.exec(text)?.[1] ?? valueIn(text);
    if (value === undefined || OPEN.test(value)) return [];
    return [{ nodeIp: value.trim(), place: { file, line } }];
  });
}
