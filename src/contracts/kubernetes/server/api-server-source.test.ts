/** The client of an API server against servers that misbehave; how it behaves with good ones is the contract's matter. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KubeError } from "../error.ts";
import { type ApiServerSource, openApiServerSource } from "./api-server-source.node.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

let folder = "";
let server: Server;
let source: ApiServerSource;
let answer: Answer;
let asked: string[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "mullion-api-"));
  asked = [];
  server = createServer((request, response) => {
    asked.push(`${request.method} ${decodeURIComponent(request.url ?? "")}`);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  writeFileSync(
    join(folder, "config"),
    `{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}],
      users: [{name: u, user: {token: secret-token}}], clusters: [{name: c, cluster: {server: "http://127.0.0.1:${port}/prefix"}}]}`,
  );
  source = await openApiServerSource({ kubeconfig: join(folder, "config") }, "kube-proxy");
});
afterEach(async () => {
  await source.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true });
});

async function errorOf(promise: Promise<unknown>): Promise<KubeError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof KubeError) return error;
  throw new Error(`no KubeError: ${String(error)}`);
}

function says(status: number, body: string, headers: Record<string, string> = {}): Answer {
  return (_request, response) => {
    response.writeHead(status, headers);
    response.end(body);
  };
}

const NAME = { namespace: "", name: "n" };

describe("an answer that is none", () => {
  it.each<[title: string, answer: Answer, expected: object]>([
    [
      "HTML of a proxy",
      says(502, "<html>Bad Gateway</html>"),
      { code: "kubernetes-unreachable", status: 502 },
    ],
    [
      "nothing, with 500",
      says(500, ""),
      { code: "kubernetes-unreachable", message: "the server answers with status 500" },
    ],
    ["text where JSON should be", says(200, "hello"), { code: "kubernetes-unreachable" }],
    ["JSON that is not an object", says(200, "7"), { code: "kubernetes-unreachable" }],
    [
      "another place",
      says(302, "", { location: "https://elsewhere" }),
      { code: "kubernetes-request-invalid", status: 302 },
    ],
    [
      "too many requests, with a pause",
      says(429, "slow down", { "retry-after": "7" }),
      { code: "kubernetes-unreachable", status: 429, retryAfterSeconds: 7 },
    ],
    [
      "a Status",
      says(
        403,
        JSON.stringify({ kind: "Status", code: 403, reason: "Forbidden", message: 'nodes "n" is forbidden' }),
      ),
      { code: "kubernetes-access-denied", reason: "Forbidden", message: 'nodes "n" is forbidden' },
    ],
    [
      "a Status without anything",
      says(409, '{"kind":"Status"}'),
      { code: "object-changed-meanwhile", status: 409 },
    ],
    [
      "half of one",
      (_request, response) => {
        response.writeHead(200, { "content-length": "100" });
        response.write("{");
        setTimeout(() => response.destroy(), 10);
      },
      { code: "kubernetes-unreachable" },
    ],
    ["a cut", (request) => request.socket.destroy(), { code: "kubernetes-unreachable" }],
  ])("%s", async (_title, given, expected) => {
    answer = given;
    const error = await errorOf(source.get("Node", NAME));
    expect(error).toMatchObject(expected);
    expect(error.message).not.toContain("secret-token");
  });

  it("nobody at all", async () => {
    await new Promise((resolve) => server.close(resolve));
    const error = await errorOf(source.get("Node", NAME));
    expect(error.code).toBe("kubernetes-unreachable");
    expect(error.message).toMatch(/^GET http:\/\/127\.0\.0\.1:\d+\/api\/v1\/nodes\/n: .*ECONNREFUSED/);
  });
});

describe("a watch", () => {
  const heard: string[] = [];

  /** What ends it. */
  async function watch(given: Answer): Promise<KubeError | undefined> {
    answer = given;
    heard.length = 0;
    return new Promise((resolve) => {
      source.watch("Node", "5", ({ type, object }) => heard.push(`${type} ${object.metadata.name}`), {
        fieldSelector: "metadata.name=n",
        onBookmark: (version) => heard.push(`BOOKMARK ${version}`),
        onEnd: resolve,
      });
    });
  }

  const event = (type: string, name: string): string =>
    `${JSON.stringify({ type, object: { kind: "Node", metadata: { name, resourceVersion: "6" } } })}\n`;

  it("asks for its version, its selection and bookmarks, behind the path of the server", async () => {
    expect(await watch(says(200, event("ADDED", "n")))).toBeUndefined();
    expect(asked[0]).toMatch(
      /^GET \/prefix\/api\/v1\/nodes\?watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=\d+&fieldSelector=metadata\.name=n$/,
    );
    expect(heard).toEqual(["ADDED n"]);
  });

  it("reads lines that come in pieces, cut within a letter", async () => {
    const bytes = Buffer.from(event("ADDED", "ünö") + event("BOOKMARK", "") + event("DELETED", "ünö"));
    const ended = await watch((_request, response) => {
      response.writeHead(200);
      let at = 0;
      const next = (): void => {
        if (at >= bytes.length) {
          response.end();
          return;
        }
        response.write(bytes.subarray(at, at + 7));
        at += 7;
        setImmediate(next);
      };
      next();
    });
    expect(ended).toBeUndefined();
    expect(heard).toEqual(["ADDED ünö", "BOOKMARK 6", "DELETED ünö"]);
  });

  it.each<[title: string, answer: Answer, expected: object]>([
    [
      "410 in the stream",
      says(
        200,
        `${JSON.stringify({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired", message: "too old" } })}\n`,
      ),
      { code: "resource-version-expired", status: 410 },
    ],
    ["410 at once", says(410, '{"kind":"Status","code":410}'), { code: "resource-version-expired" }],
    [
      "an error without a reason",
      says(200, '{"type":"ERROR","object":{}}\n'),
      { code: "kubernetes-unreachable" },
    ],
    [
      "a line that is not JSON",
      says(200, `${event("ADDED", "n")}{"type"\n`),
      { code: "kubernetes-unreachable" },
    ],
    ["an event that is none", says(200, "7\n"), { code: "kubernetes-unreachable" }],
    ["an unknown event", says(200, event("PAINTED", "n")), { code: "kubernetes-unreachable" }],
    [
      "a cut",
      (_request, response) => {
        response.writeHead(200);
        response.write(event("ADDED", "n"));
        setTimeout(() => response.destroy(), 10);
      },
      { code: "kubernetes-unreachable" },
    ],
  ])("ends with its error, once: %s", async (_title, given, expected) => {
    expect(await watch(given)).toMatchObject(expected);
  });

  it("is silent after it was ended", async () => {
    const reported: string[] = [];
    let send: (text: string) => void = () => undefined;
    answer = (_request, response) => {
      response.writeHead(200);
      response.flushHeaders();
      send = (text) => response.write(text);
    };
    const stop = source.watch("Node", "5", ({ object }) => reported.push(object.metadata.name), {
      onEnd: () => reported.push("end"),
    });
    await expect.poll(() => asked).toHaveLength(1);
    send(event("ADDED", "a"));
    await expect.poll(() => reported).toEqual(["a"]);
    stop();
    send(event("ADDED", "b"));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(reported).toEqual(["a"]);
  });
});

describe("a list", () => {
  it("whose pages expire is taken at once", async () => {
    const page = (token: string, ...names: readonly string[]): string =>
      JSON.stringify({
        metadata: { resourceVersion: "9", continue: token },
        items: names.map((name) => ({ metadata: { name } })),
      });
    answer = (request, response) => {
      const url = request.url ?? "";
      if (url.includes("continue=")) {
        response.writeHead(410);
        response.end('{"kind":"Status","code":410,"reason":"Expired"}');
      } else response.end(url.includes("limit=") ? page("more", "a") : page("", "a", "b"));
    };
    const { items, resourceVersion } = await source.list("Node");
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["a", "b"]);
    expect(resourceVersion).toBe("9");
    expect(asked.map((line) => line.replace(/^.*nodes/, ""))).toEqual([
      "?limit=500",
      "?limit=500&continue=more",
      "",
    ]);
  });

  it.each(["[]", "7", "{}", '{"items":[]}', '{"metadata":"x","items":[]}'])(
    "that is none is told: %s",
    async (body) => {
      answer = says(200, body);
      await expect(source.list("Node")).rejects.toThrow("something that is not a list of nodes");
    },
  );

  it("that is null is empty", async () => {
    answer = says(200, '{"metadata":{"resourceVersion":"9"},"items":null}');
    expect((await source.list("Node")).items).toEqual([]);
  });
});

describe("a connection that is kept", () => {
  it("and was closed in between costs a request that reads nothing", async () => {
    const used = new WeakSet<object>();
    let connections = 0;
    answer = (request, response) => {
      // Each connection serves one request, and dies with the next.
      if (used.has(request.socket)) request.socket.resetAndDestroy();
      else {
        used.add(request.socket);
        connections++;
        response.end(JSON.stringify({ metadata: { name: "n" } }));
      }
    };
    for (let round = 0; round < 3; round++) {
      expect((await source.get("Node", NAME)).metadata.name).toBe("n");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(connections).toBe(3);
    expect(asked.length).toBe(5);
  });

  it("serves many requests", async () => {
    const sockets = new Set<object>();
    answer = (request, response) => {
      sockets.add(request.socket);
      response.end(JSON.stringify({ metadata: { name: "n" } }));
    };
    for (let round = 0; round < 5; round++) {
      await source.get("Node", NAME);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(sockets.size).toBe(1);
  });
});
