/** A service that answers everything with the same bytes, whatever it was asked. */
import { once } from "node:events";
import { type AddressInfo, type Socket, createServer } from "node:net";

/** What the liar does when it has said its bytes. */
type End = "closes" | "breaks off" | "is silent" | "continues";

export interface Lie {
  readonly title: string;
  readonly answer: string;
  readonly end: End;
  /** What calls fail with. */
  readonly hresult: string;
}

interface AnswerParts {
  readonly version?: string;
  readonly status?: string;
  /** Header lines without their ends. */
  readonly headers?: readonly string[];
  readonly body?: string;
}

/** An answer of HTTP; without headers its body has its length. */
export function answerOf(parts: AnswerParts): string {
  const { version = "1", status = "200 OK", body = '{"result":[]}' } = parts;
  const headers = parts.headers ?? [`content-length: ${Buffer.byteLength(body)}`];
  return [`HTTP/1.1 ${status}`, `mullion-hns-version: ${version}`, ...headers, "", body].join("\r\n");
}

const CHUNKED = ["transfer-encoding: chunked"];
const UNAVAILABLE = "800706ba";
const OTHER_VERSION = "800706b5";

function lie(title: string, answer: string, end: End = "closes", hresult = UNAVAILABLE): Lie {
  return { title, answer, end, hresult };
}

export const LIES: readonly Lie[] = [
  lie("nothing", ""),
  lie("nothing, forever", "", "is silent"),
  lie("a reset", "", "breaks off"),
  lie("no HTTP", "SSH-2.0-OpenSSH_9.2\r\n", "is silent"),
  lie("no version", 'HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n{"result":[]}', "closes", OTHER_VERSION),
  lie("HTTP/1.0", answerOf({}).replace("HTTP/1.1", "HTTP/1.0")),
  lie("a status that is not a number", answerOf({ status: "two hundred" })),
  lie("headers without an end", "HTTP/1.1 200 OK\r\na: b\r\n", "is silent"),
  lie("a header line without an end", `HTTP/1.1 200 OK\r\na: ${"x".repeat(100_000)}`, "continues"),
  lie("more headers than anybody needs", `HTTP/1.1 200 OK\r\n${"a: b\r\n".repeat(10_000)}`, "continues"),
  lie("a length beyond the end", answerOf({ headers: ["content-length: 99"] })),
  lie("a length beyond the end, and silence", answerOf({ headers: ["content-length: 99"] }), "is silent"),
  lie("a length before the end", answerOf({ headers: ["content-length: 5"] })),
  lie("a length below zero", answerOf({ headers: ["content-length: -1"] })),
  lie("a length of 2^64", answerOf({ headers: ["content-length: 18446744073709551616"] })),
  lie("a length of 2^63", answerOf({ headers: ["content-length: 9223372036854775808"] })),
  lie("chunks without an end", answerOf({ headers: CHUNKED, body: 'd\r\n{"result":[]}\r\n' })),
  lie("a chunk that is too short", answerOf({ headers: CHUNKED, body: 'f\r\n{"result":[]}\r\n0\r\n\r\n' })),
  lie("a chunk of no size", answerOf({ headers: CHUNKED, body: 'x\r\n{"result":[]}\r\n0\r\n\r\n' })),
  lie("a chunk of 2^64", answerOf({ headers: CHUNKED, body: "10000000000000000\r\n{}" }), "continues"),
  lie("another coding", answerOf({ headers: ["transfer-encoding: gzip"] })),
  lie("a body without an end", answerOf({ headers: [] }), "continues"),
  lie("a body of zeros", answerOf({ body: "\0".repeat(1_000) })),
  lie("half a document", answerOf({ body: '{"result":[' })),
  lie("a document without a result", answerOf({ body: '{"outcome":[]}' })),
  lie("a list", answerOf({ body: "[]" })),
  lie("nesting without an end", answerOf({ body: "[".repeat(1_000_000) })),
  lie("a refusal without an error", answerOf({ status: "400 Bad Request", body: "{}" })),
  lie("a refusal of 0", answerOf({ status: "400 No", body: '{"error":{"ErrorCode":0}}' })),
  lie("a refusal of 2^32", answerOf({ status: "400 No", body: '{"error":{"ErrorCode":4294967296}}' })),
  lie("a result with a bad status", answerOf({ status: "500 No" })),
];

const STREAM = ["content-type: application/x-ndjson"];

export const LYING_STREAMS: readonly Omit<Lie, "hresult">[] = [
  lie("no lines", answerOf({ headers: STREAM, body: "" })),
  lie("lines that are no JSON", answerOf({ headers: STREAM, body: "{\n[]\n\0\0\n5\n".repeat(100) })),
  lie("notifications without a type", answerOf({ headers: STREAM, body: '{"data":{}}\n{"type":"2"}\n' })),
  lie("a line without an end", answerOf({ headers: STREAM, body: "x" }), "continues"),
  lie("chunks that break off", answerOf({ headers: CHUNKED, body: "ff\r\n{}" }), "breaks off"),
];

export interface Liar {
  readonly variables: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const MORE = "x".repeat(65_536);

function finish(socket: Socket, end: End): void {
  if (end === "closes") socket.end();
  if (end === "breaks off") socket.resetAndDestroy();
  if (end !== "continues") return;
  const write = (): void => {
    while (!socket.destroyed && socket.write(MORE));
  };
  socket.on("drain", write);
  write();
}

/** Calls of programs that have these variables end within a second or two. */
export async function startLiar(answer: string, end: End): Promise<Liar> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    socket.once("data", () => {
      socket.write(answer, "latin1", () => finish(socket, end));
    });
    socket.resume();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    variables: {
      MULLION_HNS: `http://127.0.0.1:${port}`,
      MULLION_HNS_TOKEN: "token",
      MULLION_HNS_TIMEOUT_MS: "500",
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
