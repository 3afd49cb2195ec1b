/**
 * A proxy before a served HNS that holds every request that is taken, and every answer, against the published
 * description.
 */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { type IncomingMessage, type Server, type ServerResponse, createServer, request } from "node:http";
import { hnsOpenApi } from "#hns/http/openapi.ts";

/** The schema of each kind's document in v2 shape. */
const SCHEMA_OF_KIND = {
  Network: "HostComputeNetwork",
  Endpoint: "HostComputeEndpoint",
  Namespace: "HostComputeNamespace",
  LoadBalancer: "HostComputeLoadBalancer",
  SdnRoute: "HostComputeRoute",
  GuestNetworkService: "GuestNetworkService",
} as const;

const ID = "hns.openapi.json";

async function readText(stream: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** A part of a path, as JSON pointers write it. */
function escapePointer(text: string): string {
  return encodeURIComponent(text.replaceAll("~", "~0").replaceAll("/", "~1"));
}

interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly sent: string;
  readonly status: number;
  readonly answered: string;
}

interface QueryRequest {
  readonly kind?: string;
  readonly query?: { readonly SchemaVersion?: { readonly Major?: number } };
}

/** What is read of the description, and its schemas: each is compiled with its first use, once for all tests. */
const DESCRIPTION = hnsOpenApi() as unknown as { readonly paths: Readonly<Record<string, unknown>> };
const AJV = new Ajv2020({ strict: false, validateFormats: false }).addSchema({ $id: ID, ...DESCRIPTION });

/** Holds messages against the description. */
class DescriptionCheck {
  readonly problems: string[] = [];

  check({ method, path, sent, status, answered }: Exchange): void {
    const [bare = ""] = path.split("?");
    const operation = `#/paths/${escapePointer(bare)}/${method.toLowerCase()}`;
    if (DESCRIPTION.paths[bare] === undefined) {
      if (status === 200) this.problems.push(`${method} ${bare} is answered and not described`);
      return;
    }
    const answer: unknown = JSON.parse(answered);
    const json = `content/${escapePointer("application/json")}/schema`;
    if (status !== 200) {
      this.hold(`#/components/responses/Refusal${status}/${json}`, answer, `${path} ${status}`);
      return;
    }
    this.hold(`${operation}/responses/200/${json}`, answer, `the answer of ${path}`);
    if (sent === "") return;
    const taken: unknown = JSON.parse(sent);
    this.hold(`${operation}/requestBody/${json}`, taken, `the request ${path}`);
    if (bare === "/hcn/query") this.checkDocument(taken as QueryRequest, answer as { result: unknown });
  }

  /** Documents in v2 shape are described kind by kind. */
  private checkDocument({ kind, query }: QueryRequest, { result }: { result: unknown }): void {
    const name = Object.entries(SCHEMA_OF_KIND).find(([known]) => known === kind)?.[1];
    if (name === undefined || (query?.SchemaVersion?.Major ?? 0) < 2) return;
    this.hold(`#/components/schemas/${name}`, result, `a ${kind ?? ""}`);
  }

  private hold(pointer: string, value: unknown, what: string): void {
    const validate: ValidateFunction | undefined = AJV.getSchema(`${ID}${pointer}`);
    if (validate === undefined) this.problems.push(`${what}: the description has no ${pointer}`);
    else if (!validate(value))
      this.problems.push(`${what}: ${AJV.errorsText(validate.errors)}: ${JSON.stringify(value)}`);
  }
}

export interface OpenApiProxy {
  /** What the description does not say. */
  readonly problems: readonly string[];
  close(): Promise<void>;
}

/** Asks the service, and passes its answer back; a stream is passed on as it comes. */
async function passOn(
  check: DescriptionCheck,
  socketPath: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const [method, path] = [incoming.method ?? "", incoming.url ?? ""];
  const sent = await readText(incoming);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const onward = request({ socketPath, method, path, headers: incoming.headers, agent: false }, resolve);
    onward.on("error", reject);
    onward.end(sent);
  });
  outgoing.writeHead(response.statusCode ?? 0, response.headers);
  outgoing.flushHeaders();
  if (response.headers["content-type"] === "application/x-ndjson") {
    response.pipe(outgoing);
    outgoing.on("close", () => response.destroy());
    return;
  }
  const answered = await readText(response);
  check.check({ method, path, sent, status: response.statusCode ?? 0, answered });
  outgoing.end(answered);
}

/** Listens on `socketPath` and passes everything on to `targetPath`. */
export async function startOpenApiProxy(socketPath: string, targetPath: string): Promise<OpenApiProxy> {
  const check = new DescriptionCheck();
  const server: Server = createServer((incoming, outgoing) => {
    passOn(check, targetPath, incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(socketPath, resolve);
  });
  return {
    problems: check.problems,
    close: async () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
