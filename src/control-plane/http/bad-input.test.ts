/** What an API must survive: nothing that is sent ends the server, and each answer is a `Status`. */
import { Agent, type RequestOptions, request } from "node:https";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { start } from "#test/support/kubernetes/kube.suite.ts";
import { MemoryKubeSource } from "../memory/memory-kube-source.ts";
import { KubeServer } from "./server.node.ts";

let server: KubeServer;
let token = "";
let ca = "";
const agent = new Agent({ keepAlive: false });

beforeAll(async () => {
  const source = new MemoryKubeSource(start("", { clusterCIDRs: [] }));
  server = await KubeServer.listen({
    source,
    host: "127.0.0.1",
    port: 0,
    gitVersion: "v1.34.0",
    bookmarkMs: 20,
  });
  const config = parse(server.kubeconfig) as {
    users: [{ user: { token: string } }];
    clusters: [{ cluster: Record<string, string> }];
  };
  token = config.users[0].user.token;
  ca = Buffer.from(config.clusters[0].cluster["certificate-authority-data"] ?? "", "base64").toString();
});
afterAll(async () => server.close());

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly warnings: readonly string[];
}

interface Ask {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  readonly authorization?: string | undefined;
}

async function ask(path: string, { method = "GET", headers = {}, body, ...rest }: Ask = {}): Promise<Answer> {
  const authorization = "authorization" in rest ? rest.authorization : `Bearer ${token}`;
  const options: RequestOptions = {
    host: "127.0.0.1",
    port: server.port,
    path,
    method,
    ca,
    agent,
    headers: {
      ...(authorization === undefined ? {} : { authorization }),
      ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }),
      ...headers,
    },
  };
  return new Promise((resolve, reject) => {
    const sent = request(options, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (part: string) => (text += part));
      answer.on("end", () =>
        resolve({
          status: answer.statusCode ?? 0,
          body: JSON.parse(text) as Record<string, unknown>,
          warnings: answer.headersDistinct["warning"]?.flatMap((line) => line.split(", ")) ?? [],
        }),
      );
    });
    // A server that has answered does not read the rest of a body that is too long.
    sent.on("error", (error) => reject(error));
    sent.end(body);
  });
}

const JSON_TYPE = { "content-type": "application/json" };
const post = (
  path: string,
  body: string | Buffer,
  headers: Record<string, string> = JSON_TYPE,
): Promise<Answer> => ask(path, { method: "POST", headers, body });
const patch = (type: string, body: string): Promise<Answer> =>
  ask("/api/v1/nodes/n", { method: "PATCH", headers: { "content-type": `application/${type}+json` }, body });

const NODES = "/api/v1/nodes";
const NODE = '{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}';

async function isAlive(): Promise<boolean> {
  return (await ask(NODES)).status === 200;
}

describe("requests without the right token", () => {
  it.each([undefined, "", "Bearer", "Bearer wrong", "Basic YTpi"])(
    "%s are refused",
    async (authorization) => {
      const { status, body } = await ask(NODES, { authorization });
      expect(status).toBe(401);
      expect(body).toMatchObject({ kind: "Status", status: "Failure", reason: "Unauthorized", code: 401 });
    },
  );
});

describe("paths that lead nowhere", () => {
  it.each([
    "/",
    "/api/v2",
    "/api/v1/secrets",
    "/api/v1/namespaces/default/nodes",
    "/api/v1/pods/web",
    "/api/v1/namespaces//pods",
    "/api/v1/namespaces/default/pods/web/log",
    "/api/v1/namespaces/default/pods/web/status/more",
    "/apis/example.com/v1/things",
    "/apis/apps/v1beta1/deployments",
    "/api/v1/nodes/%zz",
    "/api/v1/nodes/__proto__",
    "/openapi/v3/apis/nothing/v1",
  ])("%s", async (path) => {
    const { status, body } = await ask(path);
    expect(status).toBe(404);
    expect(body).toMatchObject({ kind: "Status", apiVersion: "v1", status: "Failure", reason: "NotFound" });
  });
});

describe("methods that a path does not take", () => {
  it.each([
    ["DELETE", NODES],
    ["POST", "/api/v1/pods"],
    ["POST", "/api/v1/nodes/n"],
    ["PUT", NODES],
    ["POST", "/version"],
    ["DELETE", "/api/v1/nodes/n/status"],
  ])("%s %s", async (method, path) => {
    const { status, body } = await ask(path, { method, headers: JSON_TYPE, body: "{}" });
    expect(status).toBe(405);
    expect(body).toMatchObject({ reason: "MethodNotAllowed" });
  });
});

describe("bodies", () => {
  it.each<[title: string, body: string | Buffer, status: number]>([
    ["none", "", 400],
    ["no JSON", "{", 400],
    ["a text", '"node"', 400],
    ["null", "null", 400],
    ["a list", "[]", 400],
    ["no UTF-8", Buffer.from([0x22, 0xff, 0xfe, 0x22]), 400],
    ["another kind", '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"n"}}', 400],
    ["an unknown kind", '{"apiVersion":"v1","kind":"Thing","metadata":{"name":"n"}}', 400],
    ["without kind", '{"metadata":{"name":"n"}}', 400],
    ["metadata that is a text", '{"apiVersion":"v1","kind":"Node","metadata":"n"}', 400],
    ["without a name", '{"apiVersion":"v1","kind":"Node","metadata":{}}', 422],
    ["a name that is none", '{"apiVersion":"v1","kind":"Node","metadata":{"name":"A B"}}', 422],
    ["a name that is a number", '{"apiVersion":"v1","kind":"Node","metadata":{"name":1}}', 422],
    ["labels that are a list", '{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","labels":[1]}}', 422],
    ["nested without end", "[".repeat(200_000), 400],
    ["a version", NODE.replace("}}", ',"resourceVersion":"1"}}'), 400],
  ])("%s", async (_title, body, expected) => {
    const { status, body: answer } = await post(NODES, body);
    expect(status).toBe(expected);
    expect(answer).toMatchObject({ kind: "Status", status: "Failure", code: expected });
    expect(await isAlive()).toBe(true);
  });

  it("longer than three mebibytes, said and unsaid, are refused before they are read to the end", async () => {
    const long = `{"a":"${"x".repeat(4_000_000)}"}`;
    await expect(
      post(NODES, long).then(
        ({ status }) => status,
        (error: NodeJS.ErrnoException) => error.code,
      ),
    ).resolves.toSatisfy((end: unknown) => end === 413 || end === "EPIPE" || end === "ECONNRESET");
    expect(await isAlive()).toBe(true);
  });

  it.each(["application/cbor", "text/plain"])("in %s", async (type) => {
    const { status, body } = await post(NODES, "k8s\u0000", { "content-type": type });
    expect(status).toBe(415);
    expect(body).toMatchObject({ reason: "UnsupportedMediaType" });
  });

  it.each<[title: string, bytes: readonly number[]]>([
    ["nothing", []],
    ["without its beginning", [0x0a, 0x00]],
    ["of no kind", [0x6b, 0x38, 0x73, 0x00]],
    ["cut within a field", [0x6b, 0x38, 0x73, 0x00, 0x0a, 0x7f, 0x01]],
    ["with a number without end", [0x6b, 0x38, 0x73, 0x00, ...Array.from({ length: 12 }, () => 0xff)]],
    ["with a field of the wire type 3", [0x6b, 0x38, 0x73, 0x00, 0x0b]],
    [
      "of a length that is negative",
      [0x6b, 0x38, 0x73, 0x00, 0x0a, ...Array.from({ length: 9 }, () => 0xff), 0x01],
    ],
  ])("in protobuf, broken: %s", async (_title, bytes) => {
    const { status } = await post(NODES, Buffer.from(bytes), {
      "content-type": "application/vnd.kubernetes.protobuf",
    });
    expect(status).toBe(400);
    expect(await isAlive()).toBe(true);
  });

  it("in YAML are taken", async () => {
    const yaml = "apiVersion: v1\nkind: Node\nmetadata: {name: from-yaml}\n";
    expect((await post(NODES, yaml, { "content-type": "application/yaml" })).status).toBe(201);
    expect((await post(NODES, "a: [", { "content-type": "application/yaml" })).status).toBe(400);
  });

  it("of another namespace or name than the path are refused", async () => {
    const pod = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"other"}}';
    expect((await post("/api/v1/namespaces/default/pods", pod)).status).toBe(400);
    const put = await ask("/api/v1/nodes/m", { method: "PUT", headers: JSON_TYPE, body: NODE });
    expect(put.status).toBe(400);
  });
});

/** Each operation appends a list to itself: 2^count items. */
function doublings(count: number): string {
  const fill = { op: "add", path: "/metadata/finalizers", value: ["a/b"] };
  const copy = { op: "copy", from: "/metadata/finalizers", path: "/metadata/finalizers/-" };
  return JSON.stringify([fill, ...Array.from({ length: count }, () => copy)]);
}

describe("patches", () => {
  beforeAll(async () => {
    await post(NODES, NODE);
  });

  it.each<[type: string, body: string, status: number]>([
    ["json-patch", "{}", 400],
    ["json-patch", "[1]", 422],
    ["json-patch", '[{"op":"fly","path":"/a"}]', 422],
    ["json-patch", '[{"op":"add","path":"a","value":1}]', 422],
    ["json-patch", '[{"op":"add","path":"/x/y/z","value":1}]', 422],
    ["json-patch", '[{"op":"remove","path":""}]', 422],
    ["json-patch", '[{"op":"remove","path":"/metadata"}]', 400],
    ["json-patch", '[{"op":"replace","path":"/metadata/name","value":"m"}]', 400],
    ["json-patch", '[{"op":"replace","path":"","value":7}]', 400],
    ["json-patch", `[${Array.from({ length: 10_001 }, () => '{"op":"test","path":""}').join(",")}]`, 413],
    ["json-patch", doublings(60), 422],
    ["merge-patch", "[]", 400],
    ["merge-patch", "7", 400],
    ["merge-patch", '{"metadata":null}', 400],
    ["merge-patch", '{"kind":"Pod"}', 400],
    ["merge-patch", '{"metadata":{"labels":{"a":{}}}}', 422],
    ["strategic-merge-patch", '{"$patch":"fly"}', 400],
    ["strategic-merge-patch", '{"status":{"conditions":[{"status":"True"}]}}', 400],
    ["strategic-merge-patch", '{"status":{"conditions":[7]}}', 400],
    ["strategic-merge-patch", '{"metadata":{"$deleteFromPrimitiveList/finalizers":7}}', 400],
    ["apply-patch", "{}", 415],
    ["fly", "{}", 415],
  ])("%s %.60s", async (type, body, expected) => {
    const { status, body: answer } = await patch(type, body);
    expect(status).toBe(expected);
    expect(answer).toMatchObject({ kind: "Status", code: expected });
    expect((await ask("/api/v1/nodes/n")).body).toMatchObject({ metadata: { name: "n" } });
  });

  it.each([
    ["apply-patch", true],
    ["apply-patch+yaml", true],
    ["fly", false],
  ])("%s is refused with the types that are taken; --server-side is spoken of: %s", async (type, isTold) => {
    const media = type.includes("+") ? `application/${type}` : `application/${type}+json`;
    const headers = { "content-type": media };
    const { status, body } = await ask("/api/v1/nodes/n", { method: "PATCH", headers, body: "{}" });
    expect(status).toBe(415);
    const { message } = body as { readonly message: string };
    expect(message).toContain("application/strategic-merge-patch+json");
    expect(message.includes("leave out --server-side")).toBe(isTold);
  });

  it("of `__proto__` change the object and nothing else", async () => {
    expect((await patch("merge-patch", '{"metadata":{"annotations":{"__proto__":"x"}}}')).status).toBe(422);
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
    await patch("json-patch", '[{"op":"add","path":"/__proto__","value":{"polluted":"yes"}}]');
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
  });
});

describe("parameters", () => {
  it.each([
    "labelSelector=a%20b",
    "labelSelector=a%20in%20b",
    "labelSelector=%3D%3D",
    "fieldSelector=spec.color%3Dred",
    "fieldSelector=nothing",
    "watch=1&timeoutSeconds=soon",
    "watch=1&labelSelector=a%20b",
  ])("%s is refused", async (query) => {
    expect((await ask(`${NODES}?${query}`)).status).toBe(400);
  });

  it("dryRun changes nothing, and a wrong one is refused", async () => {
    const dry = NODE.replace('"n"', '"dry"');
    expect((await post(`${NODES}?dryRun=All`, dry)).status).toBe(201);
    expect((await ask(`${NODES}/dry`)).status).toBe(404);
    expect((await post(`${NODES}?dryRun=Some`, dry)).status).toBe(400);
  });
});

describe("watches", () => {
  /** The first lines of a watch. */
  async function lines(query: string, count: number): Promise<readonly Record<string, unknown>[]> {
    return new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port: server.port, ca, agent, path: `${NODES}?watch=1&${query}` };
      const sent = request({ ...options, headers: { authorization: `Bearer ${token}` } }, (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        const reported = (): string[] => text.split("\n").filter((line) => line !== "");
        answer.on("data", (part: string) => {
          text += part;
          if (reported().length >= count) answer.destroy();
        });
        answer.on("close", () =>
          resolve(reported().map((line) => JSON.parse(line) as Record<string, unknown>)),
        );
      });
      sent.on("error", reject);
      sent.end();
    });
  }

  it("begin with what is there, then bookmarks come", async () => {
    await post(NODES, NODE);
    const reported = await lines("fieldSelector=metadata.name%3Dn&allowWatchBookmarks=true", 2);
    expect(reported[0]).toMatchObject({ type: "ADDED", object: { kind: "Node", metadata: { name: "n" } } });
    const version = expect.stringMatching(/^\d+$/) as string;
    expect(reported[1]).toMatchObject({
      type: "BOOKMARK",
      object: { kind: "Node", metadata: { resourceVersion: version } },
    });
  });

  it("with sendInitialEvents say where what is there ends", async () => {
    const query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    const reported = await lines(`${query}&fieldSelector=metadata.name%3Dn`, 2);
    expect(reported[1]).toMatchObject({
      type: "BOOKMARK",
      object: { metadata: { annotations: { "k8s.io/initial-events-end": "true" } } },
    });
  });

  it("of a version that is none end with status 410", async () => {
    const reported = await lines("resourceVersion=x", 9);
    expect(reported).toMatchObject([
      { type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } },
    ]);
  });

  it("end when their time is over", async () => {
    expect(await lines("timeoutSeconds=1&fieldSelector=metadata.name%3Dnobody", 9)).toEqual([]);
  });
});

it("a client that talks nonsense is cut off, and others are served", async () => {
  const socket = connect({ host: "127.0.0.1", port: server.port, ca });
  const closed = new Promise((resolve) => socket.on("close", resolve));
  socket.on("error", () => undefined);
  socket.resume();
  socket.write("GARBAGE\r\n\r\n\u0000\u0001");
  await closed;
  expect(await isAlive()).toBe(true);
});

describe("the scale of a workload", () => {
  const SCALE = "/apis/apps/v1/namespaces/default/deployments/d/scale";
  const replicas = async (): Promise<unknown> => (await ask(SCALE)).body["spec"];

  beforeAll(async () => {
    const template = {
      metadata: { labels: { app: "d" } },
      spec: { containers: [{ name: "c", image: "i" }] },
    };
    const spec = { replicas: 2, selector: { matchLabels: { app: "d" } }, template };
    const deployment = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "d" }, spec };
    await post("/apis/apps/v1/namespaces/default/deployments", JSON.stringify(deployment));
  });

  it("is read and written", async () => {
    const { body } = await ask(SCALE);
    expect(body).toMatchObject({ kind: "Scale", spec: { replicas: 2 }, status: { selector: "app=d" } });
    const put = { ...body, spec: { replicas: 4 } };
    expect((await ask(SCALE, { method: "PUT", headers: JSON_TYPE, body: JSON.stringify(put) })).status).toBe(
      200,
    );
    expect(await replicas()).toEqual({ replicas: 4 });
    // The version that was read has passed.
    expect((await ask(SCALE, { method: "PUT", headers: JSON_TYPE, body: JSON.stringify(put) })).status).toBe(
      409,
    );
    const headers = { "content-type": "application/merge-patch+json" };
    expect((await ask(SCALE, { method: "PATCH", headers, body: '{"spec":{"replicas":0}}' })).status).toBe(
      200,
    );
    expect(await replicas()).toEqual({ replicas: 0 });
  });

  it.each<[method: string, body: string, status: number]>([
    ["PUT", "{}", 400],
    ["PUT", '{"kind":"Scale","spec":{"replicas":"3"}}', 400],
    ["PUT", '{"kind":"Scale","spec":{"replicas":-1}}', 422],
    ["DELETE", "", 405],
  ])("%s %s is refused", async (method, body, status) => {
    expect((await ask(SCALE, { method, headers: JSON_TYPE, body })).status).toBe(status);
  });

  it("is there for workloads only", async () => {
    expect((await ask("/api/v1/nodes/n/scale")).status).toBe(404);
  });
});

/** Kubernetes documentation: API concepts, "Field validation"; texts by kube-apiserver 1.34. */
describe("fields that a kind does not have", () => {
  const SERVICE = (name: string): object => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { ports: [{ port: 80, targetport: 8080 }], externaltrafficpolicy: "Local" },
  });
  const send = async (method: string, path: string, body: object, type = "application/json") =>
    ask(path, { method, body: JSON.stringify(body), headers: { "content-type": type } });
  const SERVICES = "/api/v1/namespaces/default/services";
  const WARNINGS = [
    '299 - "unknown field \\"spec.ports[0].targetport\\""',
    '299 - "unknown field \\"spec.externaltrafficpolicy\\""',
  ];
  const STRICT =
    'Service in version "v1" cannot be handled as a Service: strict decoding error: unknown field "spec.ports[0].targetport", unknown field "spec.externaltrafficpolicy"';

  it.each([
    ["", 201, WARNINGS],
    ["?fieldValidation=Warn", 201, WARNINGS],
    ["?fieldValidation=Ignore", 201, []],
  ])("are dropped with%s, and warned of unless ignored", async (query, status, warnings) => {
    const name = `dropped-${query.slice(-4).toLowerCase().replace("=", "")}x`;
    const { body, ...answer } = await send("POST", `${SERVICES}${query}`, SERVICE(name));
    expect(answer).toEqual({ status, warnings });
    const { spec } = (await ask(`${SERVICES}/${name}`)).body as { spec: { ports: object[] } };
    expect(spec.ports[0]).toMatchObject({ port: 80, targetPort: 80 });
    expect(JSON.stringify(body)).not.toMatch(/targetport|externaltrafficpolicy/);
  });

  it("are refused if the client asks for it, and nothing is stored", async () => {
    const { status, body } = await send("POST", `${SERVICES}?fieldValidation=Strict`, SERVICE("strict"));
    expect({ status, reason: body["reason"], message: body["message"] }).toEqual({
      status: 400,
      reason: "BadRequest",
      message: STRICT,
    });
    expect((await ask(`${SERVICES}/strict`)).status).toBe(404);
  });

  it.each([
    ["application/strategic-merge-patch+json", "?fieldValidation=Strict", 422, []],
    ["application/merge-patch+json", "?fieldValidation=Strict", 422, []],
    ["application/merge-patch+json", "", 200, ['299 - "unknown field \\"spec.sessionaffinity\\""']],
  ])("of a patch %s%s", async (type, query, status, warnings) => {
    await send("POST", SERVICES, { ...SERVICE("patched"), spec: { ports: [{ port: 80 }] } });
    const change = { spec: { sessionaffinity: "ClientIP" } };
    const answer = await send("PATCH", `${SERVICES}/patched${query}`, change, type);
    expect({ status: answer.status, warnings: answer.warnings }).toEqual({ status, warnings });
    if (status === 422)
      expect(answer.body["message"]).toMatch(/strict decoding error: unknown field "spec\.sessionaffinity"$/);
    expect(JSON.stringify((await ask(`${SERVICES}/patched`)).body)).not.toContain("sessionaffinity");
  });

  it("are handled in three ways, and no other", async () => {
    const { status, body } = await send("POST", `${SERVICES}?fieldValidation=strict`, SERVICE("odd"));
    expect(status).toBe(400);
    expect(body["message"]).toMatch(
      /fieldValidation: Unsupported value: "strict": supported values: "Ignore", "Strict", "Warn"$/,
    );
  });
});
