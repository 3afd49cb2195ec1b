// `agnhost netexec` as tests of Kubernetes use it; expected answers are those of its help (netexec.go).
import { once } from "node:events";
import { createSocket } from "node:dgram";
import type { Server } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { hostname } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serveNetexec } from "./netexec.ts";
import { runAgnhost } from "./program.ts";

const lines: string[] = [];
let server: Server;
let http: number;
let udp: number;

async function freePort(): Promise<number> {
  const probe = createServer().listen(0);
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

beforeAll(async () => {
  udp = await freePort();
  server = await serveNetexec({ httpPort: 0, udpPort: udp, log: (line) => lines.push(line) });
  http = (server.address() as AddressInfo).port;
});
afterAll(() => void server.close());

async function ask(path: string): Promise<readonly [number, string]> {
  const response = await fetch(`http://127.0.0.1:${http}${path}`, {
    headers: { "x-test": "a" },
    redirect: "manual",
  });
  return [response.status, await response.text()];
}

async function askDatagram(text: string): Promise<string> {
  const socket = createSocket("udp4");
  socket.send(text, udp, "127.0.0.1");
  const [message] = (await once(socket, "message")) as [Buffer];
  socket.close();
  return message.toString();
}

describe("agnhost netexec", () => {
  it.each([
    ["/hostname", 200, hostname()],
    ["/hostName", 200, hostname()],
    ["/clientip", 200, /^127\.0\.0\.1:\d+$/],
    ["/echo?msg=a%20b", 200, "a b"],
    ["/echo?msg=a&code=418", 418, "a"],
    ["/echo?code=x", 200, "argument 'code' must be an integer or empty, got \"x\"\n"],
    ["/healthz", 200, ""],
    ["/header?key=X-Test", 200, "a"],
    ["/redirect?location=/echo&code=307", 307, ""],
    ["/", 200, /^NOW: \d{4}-/],
    ["/any/other", 200, /^NOW: /],
    ["/shell?cmd=id", 403, "/shell is not served here\n"],
    ["/upload", 403, "/upload is not served here\n"],
    ["/exit?code=1", 403, "/exit is not served here\n"],
    ["/shutdown", 403, "/shutdown is not served here\n"],
    ["/dial?host=127.0.0.1&port=1&request=", 400, "request parameter not specified.\n"],
    ["/dial?host=127.0.0.1&port=x&request=a", 400, "host and/or port param are invalid.\n"],
    ["/dial?protocol=sctp&request=a", 400, "unsupported protocol. sctp\n"],
    ["/dial?tries=1000&request=a", 400, /^tries parameter is invalid\./],
  ] as const)("%s answers %i", async (path, status, text) => {
    expect(await ask(path)).toEqual([status, typeof text === "string" ? text : expect.stringMatching(text)]);
  });

  it("dials for whoever asks, and says what came", async () => {
    const dial = (query: string) => ask(`/dial?host=127.0.0.1&${query}`);
    expect(await dial(`port=${http}&request=echo%3Fmsg=a&tries=2`)).toEqual([200, '{"responses":["a","a"]}']);
    expect(await dial(`port=${udp}&protocol=udp&request=echo%20b`)).toEqual([200, '{"responses":["b"]}']);
    expect(await dial("port=1&request=a")).toEqual([200, expect.stringMatching(/^\{"errors":\[".*REFUSED/)]);
  });

  it.each([
    ["hostname", hostname()],
    ["echo a b", "a b"],
    ["clientip", /^127\.0\.0\.1:\d+$/],
  ] as const)("the datagram %j is answered", async (text, answer) => {
    expect(await askDatagram(text)).toMatch(answer);
  });

  it.each([
    [["netexec", "--http-port", "x"], 'Error: invalid argument "x" for "--http-port" flag'],
    [["netexec", "--http-port=70000"], 'Error: invalid argument "70000" for "--http-port" flag'],
    [["netexec", "--http-port=0", "--udp-port=-2"], 'Error: invalid argument "-2" for "--udp-port" flag'],
    [["netexec", "--no-such"], /^Error: Unknown option '--no-such'/],
    [["pause"], 'Error: unknown command "pause" for "app"'],
  ] as const)("%j is refused", async (argv, said) => {
    const printed: string[] = [];
    expect(await runAgnhost(argv, (line) => printed.push(line))).toBe(1);
    expect(printed[0]).toMatch(said);
    expect(printed[1]).toMatch(/^Usage: agnhost netexec/);
  });

  it("says that a port is taken", async () => {
    const printed: string[] = [];
    const argv = ["netexec", `--http-port=${http}`, "--udp-port", "-1"];
    expect(await runAgnhost(argv, (line) => printed.push(line))).toBe(1);
    expect(printed[0]).toMatch(/EADDRINUSE/);
  });
});
