import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "#core/base/json.ts";
import { type CallTracer, traceCalls } from "./trace-calls.ts";

const TOKEN = "Bearer secret";

let folder: string;
let file: string;
let service: Server;
let tracer: CallTracer;
/** What becomes of the next request behind the token: an answer, or a connection that breaks. */
let answer: { readonly status: number; readonly body: string } | "break" | "hang";
let closed: number;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "mullion-calls-"));
  file = join(folder, "calls.jsonl");
  answer = { status: 200, body: '{"result":[]}' };
  closed = 0;
  service = createServer((request, response) => {
    response.once("close", () => closed++);
    response.setHeader("mullion-hns-version", request.headers["mullion-hns-version"] ?? "none");
    if (request.headers.authorization !== TOKEN)
      response
        .writeHead(401, { "content-type": "application/problem+json" })
        .end('{"error":{"ErrorCode":2147942405}}');
    else if (request.url?.startsWith("/hcn/notifications") === true) {
      response.writeHead(200).write('\n{"type":2,"status":0,"data":{"ID":"x","Flags":0}}\n');
      if (answer === "break") setImmediate(() => response.destroy());
    } else if (answer === "break") response.destroy();
    else if (answer !== "hang") response.writeHead(answer.status).end(answer.body);
  });
  await once(service.listen(0, "127.0.0.1"), "listening");
  tracer = await traceCalls(`http://127.0.0.1:${(service.address() as AddressInfo).port}`, file);
});

afterEach(async () => {
  await tracer.close().catch(() => "");
  service.closeAllConnections();
  service.close();
  rmSync(folder, { recursive: true });
});

const lines = (): readonly JsonObject[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as JsonObject);

function ask(signal?: AbortSignal): Promise<Response> {
  return fetch(`${tracer.address}/hcn/enumerate`, {
    method: "POST",
    body: '{"kind":"Network"}',
    headers: { authorization: TOKEN, "mullion-hns-version": "7" },
    ...(signal !== undefined && { signal }),
  });
}

const listen = (): Promise<Response> =>
  fetch(`${tracer.address}/hcn/notifications`, { headers: { authorization: TOKEN } });

describe("traceCalls", () => {
  it("passes calls on as they are, and has each in the file once it is answered", async () => {
    const first = await ask();
    expect([first.status, await first.text()]).toEqual([200, '{"result":[]}']);
    expect(first.headers.get("mullion-hns-version")).toBe("7");
    expect(first.headers.get("content-type")).toBe("application/json");
    expect(lines()).toMatchObject([{ function: "HcnEnumerateNetworks", hresult: "0x00000000", result: [] }]);
    answer = { status: 404, body: '{"error":{"ErrorCode":2151350273}}' };
    const second = await ask();
    expect([second.status, await second.text()]).toEqual([404, '{"error":{"ErrorCode":2151350273}}']);
    expect(lines()).toHaveLength(2);
    expect(await tracer.close()).toMatch(/^2 calls in \d+ ms, 0 notifications: .*calls\.jsonl\nFUNCTION/);
    // Who may ask is the service's to say, and what it is told is not in the file.
    expect(readFileSync(file, "utf8")).not.toContain("secret");
  });

  it("a wrong token is the service's to refuse", async () => {
    const refused = await fetch(`${tracer.address}/hcn/enumerate`, { method: "POST", body: "{}" });
    expect(refused.status).toBe(401);
    expect(refused.headers.get("content-type")).toBe("application/problem+json");
    expect(lines()).toMatchObject([{ name: "E_ACCESSDENIED" }]);
  });

  it("notifications come at once, and a service that is gone is gone for the program", async () => {
    const heard = await listen();
    const reader = heard.body?.getReader();
    const first = (await reader?.read())?.value as Uint8Array | undefined;
    expect(new TextDecoder().decode(first)).toContain('"type":2');
    expect(lines()).toMatchObject([
      { function: "HcnRegisterServiceCallback", hresult: "0x00000000" },
      { event: "notification", name: "NetworkCreate" },
    ]);
    await reader?.cancel();
    await expect.poll(() => closed).toBe(1);
    answer = "break";
    const broken = await listen();
    await expect(broken.text()).rejects.toThrow("terminated");
  });

  it("what breaks off is a call without an answer, for the program and in the file", async () => {
    answer = "break";
    await expect(ask()).rejects.toThrow("fetch failed");
    expect(lines()).toMatchObject([
      { hresult: "0x800706ba", failure: expect.stringContaining("broke off") as string },
    ]);
  });

  it("a program that does not wait leaves the service", async () => {
    answer = "hang";
    const patience = new AbortController();
    service.once("request", () => patience.abort());
    await expect(ask(patience.signal)).rejects.toThrow("aborted");
    await expect.poll(() => closed).toBe(1);
    await expect.poll(lines).toMatchObject([{ failure: "The program did not wait for the answer" }]);
  });

  it("a file that cannot be written is an error of the system", async () => {
    await expect(traceCalls("http://127.0.0.1:1", join(folder, "none", "x"))).rejects.toThrow("ENOENT");
  });
});
