// Who may ask the pages of mullion ui, and what they get. What the pages show is tested in a browser, in test/ui.
import { type IncomingHttpHeaders, type Server, createServer, request } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UiServer } from "./ui-server.ts";

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const folder = mkdtempSync(join(tmpdir(), "mullion-ui-"));
const socket = join(folder, "default.sock");
let cluster: Server;
let ui: UiServer;
let base: URL;

beforeAll(async () => {
  cluster = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const { method, url, headers } = incoming;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ method, url, host: headers.host, body: Buffer.concat(chunks).toString() }),
      );
    });
  });
  await new Promise<void>((resolve) => {
    cluster.listen(socket, resolve);
  });
  const place = { name: "default", socket, pidFile: `${socket}.pid`, log: `${socket}.log` };
  ui = await UiServer.listen({
    source: place,
    address: { host: "127.0.0.1", port: 0 },
    about: { kind: "cluster", name: '<b>\u202e"', hasFiles: true, profiles: ["ws2019"] },
    examine: async (verb, body) => Promise.resolve(JSON.stringify({ verb, body: body ?? "files" })),
  });
  base = new URL(ui.url);
});
afterAll(async () => {
  await ui.close();
  cluster.close();
  rmSync(folder, { recursive: true });
});

async function ask(path: string, headers: Record<string, string> = {}, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = base;
    const method = body === undefined ? "GET" : "POST";
    const asked = request({ hostname, port, path, method, headers }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("end", () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
      });
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

/** Below the token. */
function own(path: string): string {
  return `${base.pathname}${path}`;
}

describe("a request to mullion ui", () => {
  it.each([
    ["no token", "/"],
    ["another token", "/AAAAAAAAAAAAAAAAAAAAAAAA/"],
    ["the API without a token", "/api/v1alpha1/cluster"],
  ])("with %s is refused", async (_, path) => {
    const { status, body } = await ask(path);
    expect(status).toBe(403);
    expect(JSON.parse(body)).toMatchObject({ error: { code: "api-request-invalid" } });
  });

  // A browser names what it loads for: a person, who typed or kept an old address, reads a page.
  it("with another token for a person is refused on a page, which loads nothing", async () => {
    const { status, headers, body } = await ask("/AAAAAAAAAAAAAAAAAAAAAAAA/", {
      "sec-fetch-dest": "document",
    });
    expect([status, headers["content-type"]]).toEqual([403, "text/html; charset=utf-8"]);
    expect(headers["content-security-policy"]).toContain("default-src 'none'");
    expect(body).toMatch(/<h1>[^<]+<\/h1><p>[^<]+mullion ui[^<]*<\/p>/);
    expect(body).not.toMatch(/src=|href=/);
  });

  it.each([
    ["evil.example", 421],
    ["localhost.evil.example:80", 421],
    ["localhost:1", 200],
    ["127.0.0.1", 200],
    ["[::1]:80", 200],
  ])("that names the host %s: %d (DNS rebinding)", async (host, status) => {
    expect((await ask(own("api/v1alpha1/cluster"), { host })).status).toBe(status);
  });

  it.each([
    ["origin", "https://evil.example", 403],
    ["origin", "null", 403],
    ["sec-fetch-site", "cross-site", 403],
    ["sec-fetch-site", "same-site", 403],
    ["sec-fetch-site", "same-origin", 200],
    ["sec-fetch-site", "none", 200],
  ])("with %s %s: %d", async (name, value, status) => {
    expect((await ask(own("api/v1alpha1/apply"), { [name]: value }, "{}")).status).toBe(status);
  });

  it("of its own origin is passed on to the cluster as it is, with its body", async () => {
    const { status, body } = await ask(
      own("api/v1alpha1/trace?a=b"),
      { origin: base.origin },
      '{"from":"x"}',
    );
    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual({
      method: "POST",
      url: "/v1alpha1/trace?a=b",
      host: "mullion",
      body: '{"from":"x"}',
    });
  });

  it("for a page gets it with a policy that lets nothing else in", async () => {
    for (const path of ["", "matrix", "node/win-1?view=vfp"]) {
      const { status, headers, body } = await ask(own(path));
      expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
      expect(headers["content-security-policy"]).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      );
      expect(headers["referrer-policy"]).toBe("no-referrer");
      expect(body).toContain(`src="${own("ui.js")}"`);
      // What stands in an attribute ends no attribute, and turns no line.
      expect(body).toContain(String.raw`&quot;name&quot;:&quot;&lt;b>\u202e\&quot;&quot;`);
    }
    expect((await ask(own("ui.js"))).headers["content-type"]).toBe("text/javascript; charset=utf-8");
    expect((await ask(own("../package.json"))).status).toBe(404);
    expect((await ask(own(""), {}, "{}")).status).toBe(405);
  });

  it("for a code gets what the catalogue says, and for files what lint and doctor say", async () => {
    const { body } = await ask(own("explain/no-route,nonsense"));
    expect(Object.keys(JSON.parse(body) as object)).toEqual(["no-route"]);
    expect((await ask(own("run/lint"))).body).toBe('{"verb":"lint","body":"files"}');
    expect((await ask(own("run/doctor"), {}, "[]")).body).toBe('{"verb":"doctor","body":"[]"}');
    expect((await ask(own("run/compare"), {}, "{}")).body).toBe(
      '{"answer":{"verb":"compare","body":"{}"}}\n',
    );
    expect((await ask(own("run/verify"), {}, "{}")).status).toBe(405);
  });

  it("has an address that is another one each time", () => {
    expect(base.pathname).toMatch(/^\/[\w-]{24}\/$/);
  });
});

it("a cluster that is away is told as the control API tells it", async () => {
  const gone = await UiServer.listen({
    source: { name: "gone", socket: join(folder, "gone.sock"), pidFile: "", log: "" },
    address: { host: "127.0.0.1", port: 0 },
    about: { kind: "cluster", name: '<b>\u202e"', hasFiles: true, profiles: ["ws2019"] },
    examine: async () => Promise.resolve("null"),
  });
  const response = await fetch(`${gone.url}api/v1alpha1/cluster`);
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ error: { code: "cluster-not-running" } });
  await gone.close();
});

describe("a comparison", () => {
  /** A server whose comparison tells one step, and then waits until its asker is gone. */
  async function serveSlow(): Promise<{ readonly server: UiServer; readonly stopped: Promise<void> }> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const server = await UiServer.listen({
      source: undefined,
      address: { host: "127.0.0.1", port: 0 },
      about: { kind: "cluster", name: "", hasFiles: true, profiles: [] },
      examine: async (_verb, body, watcher) => {
        if (body === "refused") throw new RangeError("not that");
        watcher?.tell("ws2019: Tried 1 of 2 cells");
        if (body === "fails") throw new RangeError("no more");
        if (body === "ends") return "{}";
        await watcher?.stopped;
        resolve();
        return "{}";
      },
    });
    return { server, stopped: promise };
  }

  it("tells in lines how far it is, and ends with its answer or its fault", async () => {
    const { server } = await serveSlow();
    const run = async (body: string): Promise<readonly [number, readonly string[]]> => {
      const response = await fetch(`${server.url}run/compare`, { method: "POST", body });
      return [response.status, (await response.text()).trimEnd().split("\n")];
    };
    const step = '{"progress":"ws2019: Tried 1 of 2 cells"}';
    expect(await run("ends")).toEqual([200, [step, '{"answer":{}}']]);
    const [status, lines] = await run("fails");
    expect([status, lines[0]]).toEqual([200, step]);
    expect(JSON.parse(lines[1] ?? "")).toMatchObject({ error: { message: "no more" } });
    expect((await run("refused"))[0]).toBe(500);
    await server.close();
  });

  it("ends when its asker is gone", async () => {
    const { server, stopped } = await serveSlow();
    const asker = new AbortController();
    const { signal } = asker;
    const response = await fetch(`${server.url}run/compare`, { method: "POST", body: "waits", signal });
    await response.body?.getReader().read();
    asker.abort();
    expect(await stopped).toBeUndefined();
    await server.close();
  });
});
