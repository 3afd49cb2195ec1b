/** A log from its bytes to what was found in it. */
import {
  HEAD_BYTES,
  type LogEncoding,
  Utf16Decoder,
  describeFormat,
  detectEncoding,
  shareOfUnusual,
} from "./log-encoding.ts";
import type { ValueOf } from "#core/base/shape.ts";
import { type LogScan, LogScanner } from "./log-scanner.ts";
import type { Signatures } from "./signatures.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

/** A pod or Service as `kubectl describe` prints it: what says where its packets go. */
export const DESCRIBED = {
  text: (): string => WORDS.described,
  fields: {
    kind: ["Pod", "Service"],
    name: "words",
    addresses: { list: "text", text: (): string => WORDS.describedAddresses },
    ports: { list: "text", text: "`80/TCP`; of a Service also node ports." },
  },
  optional: {
    namespace: "text",
    node: { is: "text", text: "The pod's node." },
    nodeAddress: "text",
    status: { is: "text", text: "The pod's phase." },
    type: { is: "text", text: "The Service's." },
    endpoints: { list: "text", text: (): string => WORDS.describedEndpoints },
  },
} as const;
export type Described = ValueOf<typeof DESCRIBED>;

/** How much of a log is looked through for descriptions. */
const DESCRIBED_BYTES = 262_144;
const DESCRIBED_LINES_MAX = 2_000;
/** `IP:           10.244.1.5`; no character here steers a terminal. */
const DESCRIBED_LINE =
  /^( {0,8})([A-Z][A-Za-z]{1,20}(?: [A-Z][A-Za-z]{1,20})?):[ \t]{0,40}([\w.,:/[\]<> -]{0,400})/;

/** One object, by the names of its lines. */
type DescribedLines = readonly {
  readonly isInside: boolean;
  readonly name: string;
  readonly value: string;
}[];

function wordsIn(lines: DescribedLines, ...names: readonly string[]): readonly string[] {
  const values = lines.filter(({ name }) => names.includes(name)).map(({ value }) => value);
  const words = values.flatMap((value) => value.split(/[\s,]+/u));
  return [...new Set(words.filter((word) => /^[\da-f[]/iu.test(word) && /[\d:]/u.test(word)))];
}

function describedObject(lines: DescribedLines): Described | undefined {
  const first = (name: string): string | undefined => {
    const value = lines.find((line) => !line.isInside && line.name === name)?.value;
    return value === undefined || value === "" || value.startsWith("<") ? undefined : value;
  };
  const name = first("Name");
  const has = (wanted: string): boolean => lines.some((line) => line.name === wanted);
  if (name === undefined) return undefined;
  const namespace = first("Namespace");
  const common = {
    name,
    ...(namespace !== undefined && { namespace }),
    addresses: wordsIn(lines, "IP", "IPs"),
  };
  if (has("Session Affinity") || (has("Selector") && has("Endpoints"))) {
    const type = first("Type");
    const nodePorts = wordsIn(lines, "NodePort").map((port) => `node port ${port}`);
    return {
      kind: "Service",
      ...common,
      ...(type !== undefined && { type }),
      ports: [...wordsIn(lines, "Port"), ...nodePorts],
      endpoints: wordsIn(lines, "Endpoints"),
    };
  }
  if (!has("Containers") || !has("Node")) return undefined;
  const [node, nodeAddress] = (first("Node") ?? "").split("/");
  const status = first("Status");
  return {
    kind: "Pod",
    ...common,
    ...(node !== undefined && node !== "" && { node }),
    ...(nodeAddress !== undefined && { nodeAddress }),
    ...(status !== undefined && { status }),
    ports: wordsIn(lines, "Port", "Ports"),
  };
}

/** The pods and Services that `kubectl describe` printed at the beginning of a log. */
export function describedIn(text: string): readonly Described[] {
  const objects: DescribedLines[number][][] = [];
  for (const line of text.split("\n", DESCRIBED_LINES_MAX)) {
    const [, blanks = "", name = "", value = ""] = DESCRIBED_LINE.exec(line) ?? [];
    const isInside = blanks !== "";
    if (name === "Name" && !isInside) objects.push([]);
    if (name !== "") objects.at(-1)?.push({ isInside, name, value: value.trim() });
  }
  return objects.flatMap((lines) => describedObject(lines) ?? []);
}

/** One line: who it is, and what says where its packets go. */
export function formatDescribed(object: Described): string {
  const { kind, name, namespace, node, nodeAddress, addresses, ports, endpoints, status, type } = object;
  const where =
    node === undefined ? "" : ` on node ${node}${nodeAddress === undefined ? "" : ` (${nodeAddress})`}`;
  const facts = [
    addresses.length === 0 ? "no address" : addresses.join(", "),
    ...(ports.length === 0 ? [] : [`ports ${ports.join(", ")}`]),
    ...(endpoints === undefined
      ? []
      : [endpoints.length === 0 ? "no endpoints" : `endpoints ${endpoints.join(", ")}`]),
    ...[type, status].filter((each) => each !== undefined),
  ];
  return `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}${where}: ${facts.join("; ")}\n`;
}

/** Above this share of control characters it is no text. */
const UNUSUAL_SHARE_MAX = 0.05;

export interface ReadLog extends LogScan {
  readonly encoding: LogEncoding;
  /** True when the beginning is full of characters that no text has. */
  readonly isBinary: boolean;
  /** What `kubectl describe` printed. */
  readonly described: readonly Described[];
}

/** What stands in the way of reading it as a log. */
export interface NotALog {
  /** Completes "it is …". */
  readonly notALog: string;
  readonly advice: string;
}

async function* withHead(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let head = new Uint8Array(0);
  let isHead = true;
  for await (const chunk of chunks) {
    if (!isHead) {
      yield chunk;
      continue;
    }
    const joined = new Uint8Array(head.length + chunk.length);
    joined.set(head);
    joined.set(chunk, head.length);
    head = joined;
    isHead = head.length < HEAD_BYTES;
    if (!isHead) yield head;
  }
  if (isHead) yield head;
}

/**
 * Reads a log to its end. The first piece decides about its encoding.
 * @param signatures what is looked for; given by callers that read many logs.
 */
export async function readLog(
  chunks: AsyncIterable<Uint8Array>,
  signatures?: Signatures,
): Promise<ReadLog | NotALog> {
  const scanner = new LogScanner(signatures);
  let encoding: LogEncoding | undefined;
  let decoder: Utf16Decoder | undefined;
  let isBinary = false;
  const text = new TextDecoder();
  let beginning = "";
  for await (const chunk of withHead(chunks)) {
    const isFirst = encoding === undefined;
    if (encoding === undefined) {
      const head = chunk.subarray(0, HEAD_BYTES);
      const format = describeFormat(head);
      if (format !== undefined) return { notALog: format.what, advice: format.advice };
      encoding = detectEncoding(head);
      decoder = encoding === "utf-8" ? undefined : new Utf16Decoder(encoding);
    }
    const utf8 = decoder?.decode(chunk) ?? chunk;
    if (isFirst) isBinary = shareOfUnusual(utf8.subarray(0, HEAD_BYTES)) > UNUSUAL_SHARE_MAX;
    scanner.push(utf8);
    if (beginning.length < DESCRIBED_BYTES) beginning += text.decode(utf8, { stream: true });
  }
  return { ...scanner.finish(), encoding: encoding ?? "utf-8", isBinary, described: describedIn(beginning) };
}
