// The control API over the cluster of an example: what it answers, held against its published schema.
import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { Hono } from "hono";
import { beforeAll, describe, expect, it } from "vitest";
import { LIMITS } from "#core/base/limits.ts";
import { SILENT_LOG } from "#core/base/log.ts";
import { parseClusterFile } from "../file/parse-cluster-file.ts";
import { FixedSession } from "#test/support/cluster/fixed-session.ts";
import { openCluster } from "../session/open-cluster.ts";
import { EXEC_SCHEMA } from "../exec/exec-report.ts";
import { RESOLUTION_SCHEMA } from "../trace/resolve-report.ts";
import { TRACE_SCHEMA } from "../trace/trace-report.ts";
import { VERIFY_SCHEMA } from "../verify/report.ts";
import type { NodeChange } from "../life/node-change.ts";
import type {
  ApplyReport,
  ClusterSession,
  ControlPlaneReport,
  DeleteReport,
  NodeReport,
  ObjectReference,
  SessionEvent,
} from "../session/session.ts";
import { readModel } from "../verify/model-of-cluster.ts";
import type { VerifyReport } from "../verify/report.ts";
import { verifyCluster } from "../verify/verify.ts";
import type { LoadedObject } from "#control-plane/load/manifests.ts";
import { createApp } from "./app.ts";
import type { ErrorAnswer, TraceAnswer } from "./documents.ts";
import { HeldCluster } from "./held-cluster.ts";
import { API_ROUTES, apiOpenApi, apiSchema } from "./schema.ts";

const EXAMPLE = "examples/two-windows-nodes/cluster.yaml";

/** A session that takes everything, for the sake of its answers, and says so to who listens. */
class WillingSession extends FixedSession {
  readonly listeners = new Set<(event: SessionEvent) => void>();
  /** What was asked, in the order in which it began and ended. */
  readonly course: string[] = [];
  private lastId = 0;

  /** Lets events pass that nobody hears. */
  skip(count: number): void {
    this.lastId += count;
  }

  emit(reference: ObjectReference): void {
    this.lastId++;
    const event = { id: this.lastId, atMs: this.lastId * 10, type: "object", action: "created" } as const;
    for (const listener of this.listeners) listener({ ...event, reference });
  }

  override async apply(loaded: readonly LoadedObject[] = []): Promise<ApplyReport> {
    const objects = loaded.map(({ object }) => object);
    const names = objects.map(({ metadata }) => metadata.name).join(",");
    this.course.push(`begin ${names}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
    this.course.push(`end ${names}`);
    const problem = { code: "bad-usage", message: "no", advice: "Do not." } as const;
    return {
      results: objects.map(({ kind, metadata: { namespace, name } }) => ({
        reference: { kind, namespace, name },
        ...(name === "bad" ? { outcome: "refused" as const, problem } : { outcome: "created" as const }),
      })),
      notes: [],
      applied: [],
    };
  }

  override async delete(references: readonly ObjectReference[] = []): Promise<DeleteReport> {
    return Promise.resolve({
      results: references.map((reference) => ({ reference, outcome: "deleted" as const })),
      notes: [],
    });
  }

  override async changeNode(node = "", change?: NodeChange): Promise<NodeReport> {
    const text = change?.do ?? "";
    return Promise.resolve({ node, standing: "joined", podCIDR: "10.244.0.0/24", text, notes: [] });
  }

  override async setApiServer(apiServer: "up" | "down" = "up"): Promise<ControlPlaneReport> {
    return Promise.resolve({ apiServer, notes: [] });
  }

  override subscribe(listener: (event: SessionEvent) => void = () => undefined): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

function pod(name: string, namespace: string): LoadedObject {
  const metadata = { name, namespace, uid: name, resourceVersion: "1" };
  return { object: { apiVersion: "v1", kind: "Pod", metadata }, origin: undefined };
}

interface World {
  readonly app: Hono;
  readonly held: HeldCluster;
  readonly session: WillingSession;
  readonly isEnded: () => boolean;
}

async function openExample(): Promise<ClusterSession["cluster"]> {
  const parsed = parseClusterFile(readFileSync(EXAMPLE, "utf8"), EXAMPLE);
  if ("problems" in parsed) throw new Error("the example is good");
  return openCluster(parsed.cluster);
}

let cluster: ClusterSession["cluster"];
beforeAll(async () => {
  cluster = await openExample();
});

/** A word in capitals stands for a namespace. */
function orNamespace(loaded: LoadedObject): LoadedObject {
  const { name } = loaded.object.metadata;
  if (name !== name.toUpperCase()) return loaded;
  const metadata = { ...loaded.object.metadata, namespace: "" };
  return { ...loaded, object: { ...loaded.object, kind: "Namespace", metadata } as LoadedObject["object"] };
}

function world(): World {
  let isEnded = false;
  const session = new WillingSession(cluster);
  const held = new HeldCluster({
    session,
    // One pod for each word of the inputs; a text that begins with ! cannot be read.
    readManifests: (inputs, namespace) => ({
      objects: inputs.flatMap(({ text }) =>
        text.startsWith("!")
          ? []
          : text
              .split(" ")
              .map((name) => pod(name, namespace))
              .map(orNamespace),
      ),
      problems: inputs
        .filter(({ text }) => text.startsWith("!"))
        .map(({ name }) => ({
          code: "cluster-file-invalid-yaml",
          message: "the text is broken",
          advice: "Mend it.",
          where: { file: name, line: 3, column: 1, field: "" },
        })),
      notes: [],
    }),
    verify: (each, input) => verifyCluster(each.cluster, readModel(each.cluster), { input }),
    identity: { name: "test", version: "1.2.3", pid: 42 },
    input: { problems: [], notes: [] },
    log: SILENT_LOG,
    onShutdown: () => {
      isEnded = true;
    },
  });
  return { app: createApp(held), held, session, isEnded: () => isEnded };
}

const ajv = new Ajv2020({ strict: true, strictRequired: false, allErrors: true });
ajv.addSchema(apiSchema(), "api.v1alpha1.json");
ajv.addSchema(TRACE_SCHEMA, "trace.v1alpha1.json");
ajv.addSchema(RESOLUTION_SCHEMA, "resolve.v1alpha1.json");
ajv.addSchema(EXEC_SCHEMA, "exec.v1alpha1.json");
ajv.addSchema(VERIFY_SCHEMA, "verify.v1alpha1.json");

/** Documents that have a schema of their own. */
const SCHEMA_FILES: Readonly<Record<string, string>> = {
  Verification: "verify.v1alpha1.json",
  ExecReport: "exec.v1alpha1.json",
};

/** Holds a document against its part of the schema. */
function expectValid(name: string, document: unknown): void {
  const validate = ajv.getSchema(SCHEMA_FILES[name] ?? `api.v1alpha1.json#/$defs/${name}`);
  if (validate === undefined) throw new Error(`the schema has no ${name}`);
  void validate(document);
  expect({ name, errors: validate.errors ?? null }).toEqual({ name, errors: null });
}

async function ask(app: Hono, line: string, body?: unknown): Promise<{ status: number; answer: unknown }> {
  const [method = "GET", path = ""] = line.split(" ");
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await app.request(`/v1alpha1${path}`, {
    method,
    ...(body === undefined ? {} : { body: text }),
  });
  return { status: response.status, answer: await response.json() };
}

describe("answers fit the published schema", () => {
  const INPUTS = [{ name: "a.yaml", text: "web bad" }];
  const TRACE = { from: "pod/client", to: "pod/api", capture: true };

  it.each([
    ["GET /health", undefined, 200, "Health", undefined],
    ["GET /cluster", undefined, 200, "ClusterSummary", undefined],
    ["GET /objects/pods", undefined, 200, "ObjectList", undefined],
    ["GET /objects/nodes", undefined, 200, "ObjectList", undefined],
    ["GET /objects/services", undefined, 200, "ObjectList", undefined],
    ["GET /hns/networks", undefined, 200, "HnsList", undefined],
    ["GET /hns/endpoints", undefined, 200, "HnsList", undefined],
    ["GET /hns/namespaces", undefined, 200, "HnsList", undefined],
    ["GET /hns/loadbalancers", undefined, 200, "HnsList", undefined],
    ["GET /stacks/computesystems", undefined, 200, "ComputeSystemList", undefined],
    ["GET /stacks/compartments", undefined, 200, "CompartmentList", undefined],
    ["GET /stacks/adapters", undefined, 200, "AdapterList", undefined],
    ["GET /stacks/routes?node=win-1", undefined, 200, "RouteList", undefined],
    ["GET /stacks/routes?node=win-9", undefined, 404, "Error", undefined],
    ["GET /services", undefined, 200, "ServiceList", undefined],
    ["GET /services?node=win-9", undefined, 404, "Error", undefined],
    ["GET /vfp/ports", undefined, 200, "VfpPortList", undefined],
    ["GET /vfp/ports?node=win-9", undefined, 404, "Error", undefined],
    ["GET /vfp/port?name=pod/client", undefined, 200, "VfpPortView", undefined],
    ["GET /vfp/port?name=host&node=win-1", undefined, 200, "VfpPortView", undefined],
    ["GET /vfp/port?name=router&node=win-1", undefined, 404, "Error", undefined],
    ["GET /vfp/port", undefined, 400, "Error", undefined],
    ["GET /vfp/port?name=nobody", undefined, 404, "Error", undefined],
    ["GET /vfp/counters", undefined, 200, "PacketCounterList", undefined],
    ["GET /ovn/nb", undefined, 404, "Error", undefined],
    ["GET /ovn/ic", undefined, 400, "Error", undefined],
    ["POST /apply", { inputs: INPUTS }, 200, "ApplyReport", "ApplyRequest"],
    ["POST /apply", { inputs: [{ name: "b", text: "!" }] }, 200, "ApplyReport", "ApplyRequest"],
    ["POST /delete", { references: [{ kind: "Pod", name: "a" }] }, 200, "DeleteReport", "DeleteRequest"],
    ["POST /delete", { inputs: INPUTS }, 200, "DeleteReport", "DeleteRequest"],
    ["POST /node", { node: "win-1", do: "reboot" }, 200, "NodeReport", "NodeRequest"],
    ["POST /node", { node: "win-1", do: "restart-hns", state: "lose" }, 200, "NodeReport", "NodeRequest"],
    [
      "POST /node",
      { node: "win-1", do: "rejoin", podCIDR: "10.244.7.0/24" },
      200,
      "NodeReport",
      "NodeRequest",
    ],
    ["POST /node", { node: "win-1", do: "set-clock", byMs: -1 }, 200, "NodeReport", "NodeRequest"],
    ["POST /node", { node: "win-1", do: "set-clock" }, 400, "Error", undefined],
    ["POST /node", { node: "win-1", do: "explode" }, 400, "Error", undefined],
    ["POST /node", { node: "win-1", do: "reboot", state: "lose" }, 400, "Error", undefined],
    ["POST /node", { do: "reboot" }, 400, "Error", undefined],
    ["POST /node", { node: "win-1" }, 400, "Error", undefined],
    ["POST /control-plane", { apiServer: "down" }, 200, "ControlPlaneReport", "ControlPlaneRequest"],
    ["POST /control-plane", {}, 400, "Error", undefined],
    ["POST /time", { milliseconds: 1_000 }, 200, "TimeReport", "TimeRequest"],
    ["POST /time", { milliseconds: 3_600_001 }, 400, "Error", undefined],
    ["POST /time", {}, 400, "Error", undefined],
    ["POST /trace", TRACE, 200, "TraceAnswer", "TraceRequest"],
    [
      "POST /trace",
      { from: "pod/client", to: "external", protocol: "icmp" },
      200,
      "TraceAnswer",
      "TraceRequest",
    ],
    ["POST /verify", {}, 200, "Verification", undefined],
    ["POST /shutdown", {}, 202, "Shutdown", undefined],
    ["GET /nothing", undefined, 404, "Error", undefined],
    ["POST /trace", { from: "pod/nobody", to: "pod/api" }, 404, "Error", "TraceRequest"],
    ["POST /exec", { from: "pod/client", command: ["ipconfig", "/all"] }, 200, "ExecReport", "ExecRequest"],
    ["POST /exec", { from: "pod/nobody", command: ["ipconfig"] }, 404, "Error", "ExecRequest"],
    ["GET /hns/networks?node=win-9", undefined, 404, "Error", undefined],
  ])("%s %j", async (line, body, status, name, request) => {
    if (request !== undefined) expectValid(request, body);
    const { status: found, answer } = await ask(world().app, line, body);
    expect(found).toBe(status);
    expectValid(name, answer);
  });

  it("a command that changes something changes the machine, and one that looks does not", async () => {
    const { app } = world();
    const exec = async (line: string): Promise<string> => {
      const { answer } = await ask(app, "POST /exec", { from: "pod/client", command: line.split(" ") });
      return JSON.stringify(answer);
    };
    expect(await exec("ping -n 1 10.244.1.3")).toContain("Received = 1");
    expect(await exec("arp -a")).not.toContain("10.244.1.3");
    expect(await exec("route add 192.0.2.0 mask 255.255.255.0 10.244.1.2")).toContain(" OK!");
    expect(await exec("route print -4")).toContain("192.0.2.0    255.255.255.0       10.244.1.2");
    expect(await exec("route delete 192.0.2.0 mask 255.255.255.0")).toContain(" OK!");
    expect(await exec("route print -4")).not.toContain("192.0.2.0");
  });

  it("a port of a distributed router is called so where there is one, and no other port is", async () => {
    const { answer } = await ask(world().app, "GET /vfp/port?name=router&node=win-1");
    expect(JSON.stringify(answer)).toContain("no switch port is called");
  });

  it("an action that there is not is answered with those that there are", async () => {
    const { answer } = await ask(world().app, "POST /node", { node: "win-1", do: "explode" });
    const text = JSON.stringify(answer);
    for (const action of ["reboot", "restart-hns", "rejoin", "set-clock"]) expect(text).toContain(action);
  });

  it("a node that is not there is answered with those that are", async () => {
    for (const line of ["GET /services?node=win-9", "GET /vfp/ports?node=win-9"]) {
      const { answer } = await ask(world().app, line);
      expect(JSON.stringify(answer)).toContain("Windows nodes are: win-1");
    }
  });

  it.each([
    ["api", apiSchema()],
    ["trace", TRACE_SCHEMA],
    ["resolve", RESOLUTION_SCHEMA],
    ["exec", EXEC_SCHEMA],
    ["verify", VERIFY_SCHEMA],
  ])("serves the schema %s itself", async (name, schema) => {
    const { answer } = await ask(world().app, `GET /schemas/${name}.v1alpha1.json`);
    expect(answer).toEqual(JSON.parse(JSON.stringify(schema)));
  });
});

it("the paths that are served are those of the table, with OpenAPI's", async () => {
  const { app } = world();
  const served = app.routes.filter(({ path }) => path.startsWith("/v1alpha1/"));
  const said = API_ROUTES.map(
    ({ method, path }) =>
      `${method} /v1alpha1${path.replace(/[A-Z]+$/u, (name) => `:${name.toLowerCase()}`)}`,
  );
  expect(served.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(said.toSorted());
  const { answer } = await ask(app, "GET /schemas/api.openapi.json");
  expect(answer).toEqual(JSON.parse(JSON.stringify(apiOpenApi())));
});

describe("lists", () => {
  it("takes a namespace, and all without one", async () => {
    const { app } = world();
    const names = async (path: string): Promise<string[]> => {
      const { answer } = await ask(app, `GET ${path}`);
      return (answer as { items: { metadata: { name: string } }[] }).items.map((item) => item.metadata.name);
    };
    expect(await names("/objects/pods")).toEqual(["api", "client", "web"]);
    expect(await names("/objects/po?namespace=default")).toEqual(["api", "client", "web"]);
    expect(await names("/objects/pods?namespace=other")).toEqual([]);
    // A namespace says nothing about kinds that belong to none.
    expect(await names("/objects/nodes?namespace=other")).toEqual(["win-1", "win-2"]);
  });

  it("names the pods of a sandbox", async () => {
    const { answer } = await ask(world().app, "GET /hns/namespaces?node=win-2");
    expect(answer).toMatchObject({ items: [{ pods: [] }, { node: "win-2", pods: ["default/api"] }] });
  });
});

describe("a trace", () => {
  it("comes with its packets when they are asked for, and changes nothing", async () => {
    const { app } = world();
    const first = await ask(app, "POST /trace", { from: "pod/client", to: "pod/api", capture: true });
    const second = await ask(app, "POST /trace", { from: "pod/client", to: "pod/api", capture: true });
    expect(second).toEqual(first);
    const { report, capture } = first.answer as TraceAnswer;
    expect(report).toMatchObject({ kind: "Trace", verdict: "answered", port: 8080 });
    // The section header block of pcapng.
    expect([...Buffer.from(capture ?? "", "base64").subarray(0, 4)]).toEqual([0x0a, 0x0d, 0x0d, 0x0a]);
  });

  it("comes without them otherwise", async () => {
    const { answer } = await ask(world().app, "POST /trace", { from: "pod/client", to: "pod/api" });
    expect(answer).not.toHaveProperty("capture");
  });
});

describe("apply and delete", () => {
  it("says in a verification what was refused, until the text is applied again", async () => {
    const { app } = world();
    const refused = async (text: string): Promise<readonly (string | undefined)[]> => {
      await ask(app, "POST /apply", { inputs: [{ name: "b", text }] });
      const { answer } = await ask(app, "POST /verify", {});
      return (answer as VerifyReport).basis.refused.map(({ where }) => where?.file);
    };
    expect(await refused("!")).toEqual(["b"]);
    expect(await refused("!")).toEqual(["b"]);
    expect(await refused("a")).toEqual([]);
  });

  it("say what became of each object, and what could not be read", async () => {
    const inputs = [
      { name: "good.yaml", text: "web bad" },
      { name: "broken.yaml", text: "!" },
    ];
    const { answer } = await ask(world().app, "POST /apply", { inputs, namespace: "shop" });
    expect(answer).toMatchObject({
      results: [
        { reference: { kind: "Pod", namespace: "shop", name: "web" }, outcome: "created" },
        { outcome: "refused", problem: { code: "bad-usage" } },
      ],
      problems: [{ where: { file: "broken.yaml", line: 3 } }],
    });
  });

  it("take one turn after the other, also when one fails", async () => {
    const { app, session } = world();
    const apply = (name: string): Promise<unknown> =>
      ask(app, "POST /apply", { inputs: [{ name: "x", text: name }] });
    await Promise.all([
      apply("a"),
      ask(app, "POST /trace", { from: "pod/nobody", to: "pod/api" }),
      apply("b"),
      apply("c"),
    ]);
    expect(session.course).toEqual(["begin a", "end a", "begin b", "end b", "begin c", "end c"]);
  });

  it("delete what files name from their end, and namespaces last, for they take along what is in them", async () => {
    const inputs = [
      { name: "a", text: "SHOP config web" },
      { name: "b", text: "OTHER late" },
    ];
    const { answer } = await ask(world().app, "POST /delete", { inputs });
    const { results } = answer as { results: { reference: { name: string } }[] };
    expect(results.map(({ reference }) => reference.name)).toEqual([
      "late",
      "web",
      "config",
      "OTHER",
      "SHOP",
    ]);
  });

  it("give kinds without namespace an empty one", async () => {
    const references = [
      { kind: "Node", name: "win-1" },
      { kind: "Pod", name: "web" },
    ];
    const { answer } = await ask(world().app, "POST /delete", { references });
    expect(answer).toMatchObject({
      results: [{ reference: { namespace: "" } }, { reference: { namespace: "default" } }],
    });
  });
});

describe("a bad request", () => {
  it.each([
    ["POST /apply", "{", "the body is not JSON"],
    ["POST /apply", "", "the body is not JSON"],
    ["POST /apply", "[]", "the body must be a JSON object, but is a list"],
    ["POST /apply", "null", "the body must be a JSON object, but is null"],
    ["POST /apply", {}, "inputs must be a list and is missing"],
    ["POST /apply", { inputs: "x" }, "inputs must be a list and is a value of type string"],
    ["POST /apply", { inputs: [1] }, "inputs[0] must be a JSON object, but is a value of type number"],
    ["POST /apply", { inputs: [{ name: "x" }] }, "inputs[0].text must be a text and is missing"],
    ["POST /apply", { input: [] }, 'there is no field "input"'],
    ["POST /apply", '{"__proto__": {}}', 'there is no field "__proto__"'],
    ["POST /delete", {}, "the request names nothing to delete"],
    [
      "POST /delete",
      { references: [{ kind: "Secret", name: "x" }] },
      'references[0].kind cannot be "Secret"',
    ],
    ["POST /delete", { references: [{ kind: "Pod", name: "" }] }, "references[0].name is empty"],
    ["POST /trace", { from: "pod/client" }, "to must be a text and is missing"],
    ["POST /trace", { from: "a", to: "b", protocol: "sctp" }, 'protocol cannot be "sctp"'],
    ["POST /trace", { from: "a", to: "b", port: 0 }, "port must be a whole number from 1 to 65535 and is"],
    ["POST /trace", { from: "a", to: "b", port: 1.5 }, "port must be a whole number from 1 to 65535"],
    ["POST /trace", { from: "a", to: "b", protocol: "icmp", port: 1 }, "ICMP has no ports"],
    ["POST /trace", { from: "a", to: "b", capture: "yes" }, "capture must be true or false"],
    ["POST /verify", { only: "tcp" }, 'there is no field "only"'],
    ["GET /objects/secrets", undefined, 'there is no kind "secrets"'],
    ["GET /hns/dreams", undefined, 'HNS has no "dreams"'],
    ["GET /events?after=x", undefined, '"x" is not an id of an event'],
  ])("%s %j is refused in words", async (line, body, message) => {
    const { status, answer } = await ask(world().app, line, body);
    expect(status).toBe(400);
    expectValid("Error", answer);
    const { error } = answer as ErrorAnswer;
    expect(error).toMatchObject({ code: "api-request-invalid", entry: "api-request-invalid" });
    expect(error.message).toContain(message);
    expect(error.advice).toMatch(/[.?]$/);
  });

  it("that is too long is refused before it is read", async () => {
    const { app } = world();
    const response = await app.request("/v1alpha1/apply", {
      method: "POST",
      headers: { "content-length": String(LIMITS.apiRequestBytesMax + 1) },
      body: "{}",
    });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ error: { code: "api-request-too-large" } });
  });

  it("of any other method has no path", async () => {
    const { status, answer } = await ask(world().app, "DELETE /health");
    expect({ status, answer }).toMatchObject({
      status: 404,
      answer: { error: { message: "there is no DELETE /v1alpha1/health" } },
    });
  });
});

describe("faults of our own", () => {
  it("are told as such, and go to the log with their stack", async () => {
    const heard: unknown[] = [];
    const broken = new FixedSession(cluster);
    broken.listObjects = () => {
      throw new TypeError("odd");
    };
    const held = new HeldCluster({
      session: broken,
      readManifests: () => ({ objects: [], problems: [], notes: [] }),
      verify: (each) => verifyCluster(each.cluster, readModel(each.cluster)),
      identity: { name: "test", version: "1", pid: 1 },
      input: { problems: [], notes: [] },
      log: { write: (...words) => void heard.push(words) },
      onShutdown: () => undefined,
    });
    const { status, answer } = await ask(createApp(held), "GET /objects/pods");
    expect(status).toBe(500);
    expectValid("Error", answer);
    expect(answer).toMatchObject({ error: { code: "internal-fault", message: "odd" } });
    expect(heard).toMatchObject([["error", "request failed", { error: expect.any(TypeError) as TypeError }]]);
  });
});

describe("a shutdown", () => {
  it("is answered, told once, and ends what follows", async () => {
    const { app, isEnded } = world();
    expect((await ask(app, "POST /shutdown", {})).status).toBe(202);
    expect(isEnded()).toBe(true);
    expect(await ask(app, "GET /health")).toMatchObject({ status: 200, answer: { status: "ending" } });
    expect(await ask(app, "GET /cluster")).toMatchObject({
      status: 503,
      answer: { error: { code: "cluster-unreachable" } },
    });
    expect((await ask(app, "POST /shutdown", {})).status).toBe(202);
  });
});

/** Reads server-sent events from a response until `count` came or it ended. */
async function readEvents(
  response: Response,
  count: number,
): Promise<{ id: string; event: string; data: unknown }[]> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  const events: { id: string; event: string; data: unknown }[] = [];
  let text = "";
  while (events.length < count) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks.filter((each) => !each.startsWith(":"))) {
      const fields = new Map(
        block.split("\n").map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]),
      );
      events.push({
        id: fields.get("id") ?? "",
        event: fields.get("event") ?? "",
        data: JSON.parse(fields.get("data") ?? "null"),
      });
    }
  }
  await reader.cancel();
  return events;
}

describe("events", () => {
  const web: ObjectReference = { kind: "Pod", namespace: "default", name: "web" };
  const listen = async (app: Hono, id?: string): Promise<Response> =>
    app.request("/v1alpha1/events", id === undefined ? {} : { headers: { "last-event-id": id } });

  it("come as they happen, with id, type and virtual time", async () => {
    const { app, session } = world();
    const response = await listen(app);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const reading = readEvents(response, 2);
    session.emit(web);
    session.emit(web);
    const events = await reading;
    expect(events).toEqual([
      {
        id: "1",
        event: "object",
        data: { id: 1, atMs: 10, type: "object", action: "created", reference: web },
      },
      {
        id: "2",
        event: "object",
        data: { id: 2, atMs: 20, type: "object", action: "created", reference: web },
      },
    ]);
    for (const { data } of events) expectValid("ObjectEvent", data);
  });

  it("go on after the last one that a listener heard", async () => {
    const { app, session } = world();
    for (let count = 0; count < 5; count++) session.emit(web);
    const events = await readEvents(await listen(app, "3"), 2);
    expect(events.map(({ id }) => id)).toEqual(["4", "5"]);
  });

  it("say how many are forgotten", async () => {
    const { app, session } = world();
    const count = LIMITS.apiEventsKeptMax * 2 + 7;
    for (let index = 0; index < count; index++) session.emit(web);
    const events = await readEvents(await listen(app, "1"), LIMITS.apiEventsKeptMax + 1);
    const [gap, next] = events;
    expect(gap).toEqual({
      id: "",
      event: "gap",
      data: { type: "gap", missed: count - 1 - LIMITS.apiEventsKeptMax },
    });
    expectValid("GapEvent", gap?.data);
    expect(next?.id).toBe(String(count - LIMITS.apiEventsKeptMax + 1));
    expect(events.at(-1)?.id).toBe(String(count));
  });

  it("do not count what happened before the cluster was held", async () => {
    const { app, session, held } = world();
    session.skip(7);
    const reading = readEvents(await listen(app), 1);
    session.emit(web);
    expect((await reading).map(({ id, event }) => [id, event])).toEqual([["8", "object"]]);
    expect(held.events.after(0)).toMatchObject({ missed: 0, events: [{ id: 8 }] });
  });

  it("begin with what happens next for an id that this cluster never gave", async () => {
    const { app, session } = world();
    session.emit(web);
    const reading = readEvents(await listen(app, "900"), 1);
    session.emit(web);
    expect((await reading).map(({ id }) => id)).toEqual(["2"]);
  });

  it("end with the cluster", async () => {
    const { app, held } = world();
    const reading = readEvents(await listen(app), 1);
    held.end();
    expect(await reading).toEqual([]);
  });

  it("free what a listener took who goes away, and are bounded in number", async () => {
    const { app, held } = world();
    const streams = await Promise.all(Array.from({ length: LIMITS.apiEventStreamsMax }, () => listen(app)));
    expect(held.openStreams).toBe(LIMITS.apiEventStreamsMax);
    expect((await listen(app)).status).toBe(429);
    await Promise.all(streams.map((stream) => stream.body!.cancel()));
    await new Promise((resolve) => setTimeout(resolve, 0));
    expect(held.openStreams).toBe(0);
  });
});
