// The verbs of `mullion hns` that look at objects, as a user runs them: against a service on a socket, and over dumps.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { createEndpoint, createNamespace, createNetwork, deleteNetwork } from "#contracts/hcn/operations.ts";
import { HnsHttpServer } from "#hns/http/http-server.node.ts";
import { createHns } from "#hns/local-hns.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "../program.ts";
import { create, deleteObjects, modify } from "./change.ts";
import { dump, restore } from "./dump.ts";
import { get } from "./get.ts";
import { watch } from "./watch.ts";

const NETWORK = {
  Name: "cbr0",
  Type: "L2Bridge",
  Ipams: [
    {
      Type: "Static",
      Subnets: [
        {
          IpAddressPrefix: "10.244.2.0/24",
          Routes: [{ NextHop: "10.244.2.2", DestinationPrefix: "0.0.0.0/0" }],
        },
      ],
    },
  ],
} as const;

const NETWORK_ID = "6f7e13a2-8ade-48ee-844e-ac0b0aff2301";
const DUMP = `Get-HnsNetwork:\n${JSON.stringify({
  ID: NETWORK_ID.toUpperCase(),
  Name: "External",
  Type: "Overlay",
  Subnets: [{ AddressPrefix: "192.168.255.0/30", GatewayAddress: "192.168.255.1" }],
  MacPools: [],
  Colour: "blue",
})}\n`;

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly terminal: MemoryTerminal;
}

interface Served {
  readonly client: HcnClient;
  readonly socket: string;
  readonly close: () => Promise<void>;
}

const folder = mkdtempSync(join(tmpdir(), "mullion-hns-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function serveHns(name: string): Promise<Served> {
  const socket = join(folder, name);
  const { client } = createHns();
  const server = await HnsHttpServer.listen({ client, address: { socketPath: socket } });
  return {
    client,
    socket,
    close: async () => {
      await client.close();
      await server.close();
    },
  };
}

async function run(line: string, files: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const terminal = new MemoryTerminal(files);
  const verbs = { hns: { get, dump, restore, watch, create, modify, delete: deleteObjects } };
  const argv = line.split(" ");
  const code = await runMullion({ argv, verbs, terminal, version: "0", isDebug: true });
  return { code, out: terminal.output, err: terminal.errors, terminal };
}

describe("mullion hns get", () => {
  let hns: Served;
  beforeAll(async () => {
    hns = await serveHns("get.sock");
    const network = await createNetwork(hns.client, NETWORK);
    await createEndpoint(hns.client, network.ID ?? "", {
      Name: "pod",
      IpConfigurations: [{ IpAddress: "10.244.2.10", PrefixLength: 24 }],
      MacAddress: "0E-2A-0A-F4-02-0A",
    });
    await createNamespace(hns.client, "Host");
  });
  afterAll(async () => hns.close());

  it.each(["networks", "network", "net", "Networks", "hnsnetworks", "hns-network"])("%s", async (kind) => {
    const { code, out } = await run(`hns get ${kind} --socket ${hns.socket}`);
    expect(code).toBe(0);
    expect(out).toMatch(/^NAME +TYPE +SUBNETS +ID\ncbr0 +L2Bridge +10\.244\.2\.0\/24 +[0-9a-f-]{36}\n$/);
  });

  it("shows endpoints by name, by id and by how the id begins", async () => {
    const all = await run(`hns get ep -o json --socket ${hns.socket}`);
    const [{ ID: id }] = (JSON.parse(all.out) as { items: [{ ID: string }] }).items;
    for (const name of ["pod", id, id.slice(0, 8)]) {
      const { out } = await run(`hns get ep ${name} -o yaml --socket ${hns.socket}`);
      expect(parse(out)).toMatchObject({ ID: id, Name: "pod", MacAddress: "0E-2A-0A-F4-02-0A" });
    }
    expect((await run(`hns get ep -o name --socket ${hns.socket}`)).out).toBe("endpoint/pod\n");
  });

  it("gives the documents of v1 when asked", async () => {
    const { out } = await run(`hns get network cbr0 --v1 -o json --socket ${hns.socket}`);
    expect(JSON.parse(out)).toMatchObject({ Name: "cbr0", Subnets: [{ AddressPrefix: "10.244.2.0/24" }] });
  });

  it("shows all kinds that have objects, with their names", async () => {
    const { out } = await run(`hns get all --socket ${hns.socket}`);
    expect(out).toMatch(/^networks\nNAME .*\n\nendpoints\nNAME .*\n\nnamespaces\nID .*$/s);
    expect(out).not.toContain("loadbalancers");
  });

  it("shows load balancers with the addresses of their back ends, and routes", async () => {
    const other = await serveHns("more.sock");
    const network = await createNetwork(other.client, NETWORK);
    const { ID: endpoint } = await createEndpoint(other.client, network.ID ?? "", {
      IpConfigurations: [{ IpAddress: "10.244.2.10", PrefixLength: 24 }],
    });
    const ends = { HostComputeEndpoints: [endpoint], SchemaVersion: { Major: 2, Minor: 0 } };
    await other.client.create("LoadBalancer", {
      ...ends,
      FrontendVIPs: ["10.96.0.80"],
      PortMappings: [{ Protocol: 6, InternalPort: 8080, ExternalPort: 80 }],
      Flags: 1,
    });
    const route = { DestinationPrefix: "169.254.169.254/32", NextHop: "10.244.2.2" };
    await other.client.create("SdnRoute", { ...ends, Routes: [route] });
    const { out } = await run(`hns get lb,routes --socket ${other.socket}`);
    expect(out).toMatch(/^10\.96\.0\.80 +80:8080\/TCP +10\.244\.2\.10 +DSR$/m);
    expect(out).toMatch(new RegExp(`^169\\.254\\.169\\.254/32 +10\\.244\\.2\\.2 +${endpoint}$`, "m"));
    await other.close();
  });

  it("says that there is none where people look", async () => {
    const { code, out, err } = await run(`hns get lb --socket ${hns.socket}`);
    expect({ code, out, err }).toEqual({ code: 0, out: "", err: "There are no load balancers.\n" });
  });

  it.each([
    ["hns get netwroks", /HNS has no kind "netwroks".*\n.*Did you mean networks\?/],
    [
      "hns get ep nobody --socket SOCKET",
      /there is no endpoint "nobody" at unix:.*\n.*mullion hns get endpoints/,
    ],
    [
      "hns get ep --socket /nowhere.sock",
      /No HNS answers at unix:\/nowhere\.sock: there is no such socket.*\n.*mullion hns serve/,
    ],
    ["hns get ep --socket SOCKET -f x.json", /-f and --socket both say/],
    ["hns get ep -f missing.json", /cannot read "missing\.json": there is no such file/],
  ])("%s: exit 2, said in words", async (line, message) => {
    const { code, out, err } = await run(line.replace("SOCKET", hns.socket));
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(message);
    expect(err).not.toMatch(/\n\s+at /);
  });

  it("looks at a dump without a service", async () => {
    const { out } = await run("hns get networks -f node/network.txt", { "node/network.txt": DUMP });
    expect(out).toMatch(/^External +Overlay +192\.168\.255\.0\/30 +6f7e13a2-/m);
  });
});

describe("numbers that a double does not hold", () => {
  // File times of two moments that are less than 1.6 µs apart, as nodes write them, and a switch port of its own.
  const TIMES = ["133141597226920123", "133141597226920127"];
  const [first = "", second = ""] = TIMES;
  const network = (id: string, name: string, time: string): string =>
    `{ "ActivityId": "${id}", "ID": "${id}", "Name": "${name}", "Type": "Transparent", "Health": { "LastErrorCode": 0, "LastUpdateTime": ${time} }, "Odd": [9007199254740993], "State": 1 }`;
  const DUMPED = `[${network(NETWORK_ID, "one", first)}, ${network("7f7e13a2-8ade-48ee-844e-ac0b0aff2302", "two", second)}]`;

  it.each([
    "hns get networks -f d.json -o json",
    "hns get networks -f d.json --v1 -o yaml",
    "hns dump -f d.json",
  ])("come back as they were by %s", async (line) => {
    const { out, code } = await run(line, { "d.json": DUMPED });
    expect(code).toBe(0);
    for (const digits of [...TIMES, "9007199254740993"]) expect(out).toContain(digits);
    expect(out).not.toContain("13314159722692013");
  });

  it("stay what they are where one of two is asked for", async () => {
    const { out } = await run("hns get network one -f d.json -o json", { "d.json": DUMPED });
    expect(out).toMatch(/"LastUpdateTime": 1331415972269201\d\d/u);
    expect(out).toContain("9007199254740993");
  });
});

describe("mullion hns dump and restore", () => {
  it("brings a node's dump into a service, with the fields that HNS does not know, and out again", async () => {
    const hns = await serveHns("restore.sock");
    const file = join(folder, "network.txt");
    writeFileSync(file, DUMP);
    const restored = await run(`hns restore node --socket ${hns.socket}`, { "node/network.txt": DUMP });
    expect(restored.code).toBe(0);
    expect(restored.out).toContain(`Restored 1 network into the HNS at unix:${hns.socket}.`);
    expect(await hns.client.query("Network", NETWORK_ID)).toMatchObject({ Name: "External", Colour: "blue" });
    const dumped = await run(`hns dump --to out/node.json --socket ${hns.socket}`);
    expect(dumped.err).toBe("out/node.json holds 1 network, 1 namespace.\n");
    const text = dumped.terminal.files.get("out/node.json") as string;
    expect(JSON.parse(text)).toMatchObject({
      apiVersion: "mullion/v1alpha1",
      kind: "HnsDump",
      service: { version: { Major: 13 } },
      objects: [{ kind: "Network", id: NETWORK_ID }, { kind: "Namespace" }],
    });
    const again = await run(`hns restore node.json --socket ${hns.socket}`, { "node.json": text });
    expect(again.code).toBe(2);
    expect(again.err).toMatch(/the service has an object already.*\n.*Add --replace/);
    const replaced = await run(`hns restore node.json --replace --socket ${hns.socket}`, {
      "node.json": text,
    });
    expect(replaced.code).toBe(0);
    expect((await run(`hns dump --socket ${hns.socket}`)).out).toBe(text);
    expect((await run(`hns dump -o json --socket ${hns.socket}`)).out).toBe(text);
    await hns.close();
  });

  it("converts a dump of a node without a service", async () => {
    const { code, out } = await run("hns dump -f network.txt", { "network.txt": DUMP });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ objects: [{ id: NETWORK_ID, v1: { Colour: "blue" } }] });
  });

  it("tells what it cannot read with file and line, and restores the rest: exit 1", async () => {
    const hns = await serveHns("broken.sock");
    const files = { "a.txt": `${DUMP}{"ID": "x",,}\n` };
    const { code, err } = await run(`hns restore a.txt --socket ${hns.socket}`, files);
    expect(code).toBe(1);
    expect(err).toMatch(/^a\.txt:3:\d+: .*\[hns-dump-unreadable\]$/ms);
    expect(await hns.client.enumerate("Network")).toEqual([NETWORK_ID]);
    await hns.close();
  });

  it("takes what is of HNS from a collector's folder, and passes the rest by", async () => {
    const files = {
      "logs/network.txt": DUMP,
      "logs/ip.txt": "Windows IP Configuration\n",
      "logs/kubelet.log": "[INFO] starting\n{broken\n",
      "logs/azure-vnet.json": '{"Network":{"Version":"v1.2.6"}}',
    };
    const { code, out, err } = await run("hns dump -f logs", files);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ objects: [{ id: NETWORK_ID }] });
    expect(err).toBe(
      "note: passed by, because they hold no objects of HNS: logs/azure-vnet.json, logs/ip.txt, logs/kubelet.log\n",
    );
    const none = await run("hns dump -f logs", { "logs/ip.txt": "Windows IP Configuration\n" });
    expect(none.code).toBe(2);
    expect(none.err).toContain('there are no objects of HNS in "logs"');
  });

  it("ends with 2 when nothing can be read, and leaves the service alone", async () => {
    const hns = await serveHns("essay.sock");
    await createNetwork(hns.client, NETWORK);
    const { code, err } = await run(`hns restore a.txt --replace --socket ${hns.socket}`, {
      "a.txt": "Dear all",
    });
    expect(code).toBe(2);
    expect(err).toContain("this file holds no objects of HNS");
    expect(await hns.client.enumerate("Network")).toHaveLength(1);
    await hns.close();
  });
});

async function until(isThere: () => boolean): Promise<void> {
  while (!isThere()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe("mullion hns dump", () => {
  const files = { "network.txt": DUMP };

  it("takes -o for --to, as it was once spelled", async () => {
    const { terminal, err } = await run("hns dump -f network.txt -o node.json", files);
    const written = (await run("hns dump -f network.txt --to node.json", files)).terminal;
    expect(terminal.files.get("node.json")).toBe(written.files.get("node.json"));
    expect(err).toBe("node.json holds 1 network.\n");
  });

  it.each([
    ["-o yaml", "a dump is JSON"],
    ["-o a.json --to b.json", "--to and -o both say where the dump goes"],
  ])("%s ends with 2", async (words, message) => {
    const { code, err } = await run(`hns dump -f network.txt ${words}`, files);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });
});

/** What watch prints while a network is made. */
async function watched(output: "json" | "yaml"): Promise<string> {
  const hns = await serveHns(`${output}.sock`);
  const terminal = new MemoryTerminal();
  const ended = watch({ target: { files: [], socket: hns.socket }, output }, terminal);
  await until(() => terminal.errors.includes("Listening"));
  await createNetwork(hns.client, NETWORK);
  await until(() => terminal.output.includes("NetworkCreate"));
  terminal.interrupt();
  await ended;
  await hns.close();
  return terminal.output;
}

describe("mullion hns watch", { timeout: 30_000 }, () => {
  it("prints what happens, says when the service went away, and goes on when it is back", async () => {
    const first = await serveHns("watch.sock");
    const terminal = new MemoryTerminal();
    const target = { files: [], socket: first.socket };
    const ended = watch({ target, output: "text", retryMs: 5 }, terminal);
    await until(() => terminal.errors.includes("Listening"));
    const network = await createNetwork(first.client, NETWORK);
    await until(() => terminal.output.includes("NetworkCreate"));
    await deleteNetwork(first.client, network.ID ?? "");
    await until(() => terminal.output.includes("NetworkDelete"));
    await first.close();
    await until(() => terminal.errors.includes("went away"));
    const second = await serveHns("watch.sock");
    await until(() => terminal.errors.includes("is back"));
    await createNamespace(second.client, "Host");
    await until(() => terminal.output.includes("NamespaceCreate"));
    terminal.interrupt();
    expect(await ended).toBe(0);
    expect(terminal.output).toMatch(
      new RegExp(`^\\d\\d:\\d\\d:\\d\\d NetworkCreate +${network.ID ?? ""} cbr0$`, "m"),
    );
    await second.close();
  });

  it("prints JSON, one object per line", async () => {
    const lines = (await watched("json")).trim().split("\n");
    const events = lines.map((line) => JSON.parse(line) as { type: string });
    expect(events.map(({ type }) => type)).toEqual(["NetworkPreCreate", "NetworkCreate"]);
  });

  it("prints YAML, one document per notification, with what JSON has", async () => {
    const documents = parseAllDocuments(await watched("yaml")).map(
      (document) => document.toJS() as Record<string, unknown>,
    );
    const json = (await watched("json")).trim().split("\n");
    const known = json.map((line) => ({ ...(JSON.parse(line) as object), at: expect.any(String) as string }));
    expect(documents).toEqual(known);
  });
});

describe("mullion hns create, modify, delete", () => {
  const GUID = "7cb720c0-ac4c-4266-92e1-dc277b2a9b94";
  const CBR0 =
    "Name: cbr0\nType: L2Bridge\nIpams: [{ Type: Static, Subnets: [{ IpAddressPrefix: 10.244.2.0/24 }] }]\n";
  const WEB = JSON.stringify({
    Name: "web",
    IpConfigurations: [{ IpAddress: "10.244.2.9", PrefixLength: 24 }],
  });
  let hns: Served;
  beforeAll(async () => {
    hns = await serveHns("change.sock");
  });
  afterAll(async () => hns.close());
  const at = (line: string, files: Readonly<Record<string, string>> = {}): Promise<Ran> =>
    run(`${line} --socket ${hns.socket}`, files);

  it("makes what a pod needs, attaches it, and takes it away in turn", async () => {
    const network = await at("hns create network -f cbr0.yaml", { "cbr0.yaml": CBR0 });
    expect(network).toMatchObject({ code: 0, out: "network/cbr0 created\n", err: "" });
    expect(await at(`hns create ns --id ${GUID}`)).toMatchObject({ out: `namespace/${GUID} created\n` });
    const made = await at("hns create ep --network cbr0 -f - -o json", { "-": WEB });
    const { ID: endpoint } = JSON.parse(made.out) as { ID: string };
    const add = { ResourceType: "Endpoint", RequestType: "Add", Settings: { EndpointId: endpoint } };
    const attached = await at("hns modify ns 7cb720c0 -f add.json", { "add.json": JSON.stringify(add) });
    expect(attached).toMatchObject({ code: 0, out: "namespace/7cb720c0 modified\n" });
    expect((await at("hns get ns 7cb720c0 -o yaml")).out).toContain(endpoint.toLowerCase());
    expect((await at("hns delete endpoint web")).out).toBe("endpoint/web deleted\n");
    expect((await at(`hns delete namespace ${GUID}`)).code).toBe(0);
    expect((await at("hns delete network cbr0")).code).toBe(0);
    expect((await at("hns get networks,endpoints")).err).toContain("There are no objects");
  });

  it.each([
    ["hns create network", /a network needs a document/],
    ["hns create network -f none.yaml", /cannot read "none.yaml": there is no such file/],
    ["hns create network -f list.yaml", /list\.yaml does not hold one object/],
    ["hns create network -f broken.yaml", /broken\.yaml is neither JSON nor YAML/],
    ["hns create all -f cbr0.yaml", /"all" stands for several kinds/],
    ["hns create namespace --id 7cb7", /--id takes a GUID, not "7cb7"/],
    ["hns create namespace --network cbr0", /--network is for an endpoint, not for a namespace/],
    ["hns create endpoint --network cbr9 -f cbr0.yaml", /there is no network "cbr9"/],
    ["hns delete network cbr9", /there is no network "cbr9"/],
  ])("%s: exit 2, said in words", async (line, message) => {
    const { code, err } = await at(line, { "cbr0.yaml": CBR0, "list.yaml": "[1]", "broken.yaml": "a: [" });
    expect(code).toBe(2);
    expect(err).toMatch(message);
  });

  it("says what HNS refuses as HNS says it", async () => {
    const { code, err } = await at("hns create network -f bad.yaml", {
      "bad.yaml": "Name: x\nType: Bridge\n",
    });
    expect(code).not.toBe(0);
    expect(err).toMatch(/HNS refuses|Bridge/);
  });
});
