// One request of 10 MB, or of as many values as are taken, does not hold others for seconds: through the listener.
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { HTTP_VERSION } from "#contracts/hcn/http/http-protocol.ts";
import { CBR0, hnsNode } from "#test/support/hns/hns-node.ts";
import { HnsHttpServer } from "./http-server.node.ts";

const BYTES = 10_000_000;
/** Processor time of the service and of the client that sends, for all that the request takes. */
const SECONDS_MAX = 2;

const folder = mkdtempSync(join(tmpdir(), "mullion-large-"));
const socketPath = join(folder, "hns.sock");
let server: HnsHttpServer;
beforeEach(async () => {
  server = await HnsHttpServer.listen({ client: hnsNode().client, address: { socketPath } });
});
afterEach(() => server.close());
afterAll(() => rmSync(folder, { recursive: true }));

async function send(path: string, body?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "mullion-hns-version": HTTP_VERSION };
    const method = body === undefined ? "GET" : "POST";
    const sent = request({ agent: false, socketPath, path, method, headers }, (answer) => {
      answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
    });
    sent.on("error", reject).end(body);
  });
}

const fill = (unit: string, bytes = BYTES): string => unit.repeat(Math.floor(bytes / unit.length));
const listOf = (count: number, item: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => item(index)).join(",");
const network = (rest: string): string =>
  `{"kind":"Network","settings":{${JSON.stringify(CBR0).slice(1, -1)},${rest}}}`;
const subnet = (index: number): string =>
  `{"IpAddressPrefix":"${1 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}.0/24"}`;
const v1 = (body: string): string => JSON.stringify({ method: "POST", path: "/networks/", body });

const WHOLE: readonly (readonly [what: string, path: string, body: string, status: number])[] = [
  ["a name", "create", network(`"Name":"${fill("a")}"`), 200],
  ["a name of backslashes", "create", network(`"Name":"${fill("\\\\")}"`), 200],
  ["blanks", "create", fill(" "), 400],
  ["brackets", "create", fill("["), 400],
  ["quotes", "create", fill('"'), 400],
  ["colons", "create", fill(":"), 400],
  ["fields", "create", network(listOf(700_000, (index) => `"k${index}":1`)), 400],
  ["subnets", "create", network(`"Ipams":[{"Type":"Static","Subnets":[${listOf(200_000, subnet)}]}]`), 400],
  ["policies", "create", network(`"Policies":[${listOf(700_000, () => '{"Type":"A"}')}]`), 400],
  ["a filter of brackets", "enumerate", `{"kind":"Endpoint","query":"${fill("[")}"}`, 400],
  ["a v1 document of brackets", "call", v1(fill("[")), 400],
  ["a v1 name", "call", v1(`{"Name":"${fill("a")}","Type":"L2Bridge"}`), 200],
  ["a v1 path", "call", `{"method":"GET","path":"/networks/${fill("/")}","body":""}`, 200],
];

const JUST_TAKEN: typeof WHOLE = [
  ["fields", "create", network(listOf(99_000, (index) => `"k${index}":1`)), 200],
  ["lists", "create", network(`"X":[${listOf(49_000, () => "[]")}]`), 200],
  ["subnets", "create", network(`"Ipams":[{"Type":"Static","Subnets":[${listOf(49_000, subnet)}]}]`), 200],
  [
    "subnets of which the last is the first",
    "create",
    network(`"Ipams":[{"Type":"Static","Subnets":[${listOf(49_000, subnet)},${subnet(0)}]}]`),
    400,
  ],
  ["search suffixes", "create", network(`"Dns":{"Search":[${listOf(99_000, () => '"a"')}]}`), 200],
  [
    "v1 subnets",
    "call",
    v1(
      `{"Name":"n","Type":"L2Bridge","Subnets":[${listOf(30_000, (index) => subnet(index).replace("IpAddressPrefix", "AddressPrefix"))}]}`,
    ),
    200,
  ],
];

describe.each([
  ["10 MB", WHOLE],
  ["as many values as are taken", JUST_TAKEN],
] as const)("a request with %s", (_size, cases) => {
  it.each(cases)("of %s leaves time for a small one beside it", async (_what, path, body, status) => {
    const before = process.cpuUsage();
    const large = send(`/hcn/${path}`, body.slice(0, 10_485_760));
    expect(await send("/healthz")).toBe(200);
    expect(await large).toBe(status);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1e6).toBeLessThan(SECONDS_MAX);
  });
});
