// `mullion docker network` beside an HNS that runs: what `docker network` prints on Windows, call by call (docker/cli:
// cli/command/network, cli/command/formatter), over the socket that programs use.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createHnsEndpoint } from "#contracts/hcn/v1-operations.ts";
import { HnsHttpServer } from "#hns/http/http-server.node.ts";
import { createHns } from "#hns/local-hns.ts";
import type { DockerNetworkDocument } from "#programs/docker/engine.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "../program.ts";
import { createNetwork, inspectNetworks, listNetworks, removeNetworks } from "./network.ts";

const folder = mkdtempSync(join(tmpdir(), "mullion-docker-"));
const socket = join(folder, "hns.sock");
const { client } = createHns({ profile: "ws2022" });
let server: HnsHttpServer | undefined;

beforeAll(async () => {
  server = await HnsHttpServer.listen({ client, address: { socketPath: socket } });
});
afterAll(async () => {
  await server?.close();
  rmSync(folder, { recursive: true });
});

async function docker(
  line: string,
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const terminal = new MemoryTerminal();
  const words = ["docker", "network", ...line.split(" "), "--socket", socket];
  const verbs = {
    create: createNetwork,
    list: listNetworks,
    inspect: inspectNetworks,
    remove: removeNetworks,
  };
  const code = await runMullion({
    argv: words,
    terminal,
    verbs: { docker: verbs },
    version: "0",
    isDebug: true,
  });
  return { code, out: terminal.output, err: terminal.errors };
}

async function inspected(name: string): Promise<DockerNetworkDocument> {
  const [network] = JSON.parse((await docker(`inspect ${name}`)).out) as readonly DockerNetworkDocument[];
  return network!;
}

const OPTION = "com.docker.network.windowsshim";

describe("docker network", () => {
  it("ls of a host without networks has that of containers without one", async () => {
    const { out, code } = await docker("ls");
    expect(code).toBe(0);
    expect(out).toMatch(/^NETWORK ID {5}NAME {6}DRIVER {4}SCOPE\n[0-9a-f]{12} {3}none {6}null {6}local\n$/);
  });

  it("create prints the id that ls and inspect have, and HNS v1 has what the driver asks for", async () => {
    const made = await docker("create -d nat --subnet 172.20.0.0/24 web");
    expect(made).toMatchObject({ code: 0, err: "" });
    expect(made.out).toMatch(/^[0-9a-f]{64}\n$/);
    const id = made.out.trim();
    expect((await docker("ls")).out).toContain(`${id.slice(0, 12)}   web       nat       local\n`);
    expect((await docker("ls -q")).out.split("\n")).toContain(id.slice(0, 12));
    const network = await inspected(id.slice(0, 5));
    expect(network).toMatchObject({
      Name: "web",
      Id: id,
      Scope: "local",
      Driver: "nat",
      IPAM: { Driver: "windows", Config: [{ Subnet: "172.20.0.0/24", Gateway: "172.20.0.1" }] },
      Containers: {},
    });
    const hnsId = network.Options[`${OPTION}.hnsid`] as string;
    expect(await client.query("Network", hnsId.toLowerCase(), {})).toMatchObject({ Name: "web" });
  });

  it("create gives options of the driver to HNS", async () => {
    const lan = `-d l2bridge --subnet 10.0.0.0/24 --gateway 10.0.0.1 --opt ${OPTION}.vlanid=7 --opt ${OPTION}.dnsservers=10.0.0.53,10.0.0.54 --opt ${OPTION}.dnssuffix=corp.example lan`;
    expect((await docker(`create ${lan}`)).code).toBe(0);
    const { Options } = await inspected("lan");
    const document = await client.query("Network", (Options[`${OPTION}.hnsid`] as string).toLowerCase(), {});
    expect(JSON.stringify(document)).toMatch(/10\.0\.0\.53.*|corp\.example/);
    expect(JSON.stringify(document)).toContain("corp.example");
    expect(JSON.stringify(document)).toMatch(/VLAN/i);
  });

  it("inspect lists endpoints of HNS, which no container of this engine has", async () => {
    const { Options } = await inspected("web");
    const hnsId = Options[`${OPTION}.hnsid`] as string;
    const endpoint = await createHnsEndpoint(client, { VirtualNetwork: hnsId, Name: "db" });
    const [[key, value]] = Object.entries((await inspected("web")).Containers) as [[string, object]];
    expect(key).toMatch(/^ep-[0-9a-f]{64}$/);
    expect(value).toMatchObject({ Name: "db", IPv4Address: `${endpoint.IPAddress}/24` });
    const { code, err } = await docker("rm web");
    expect(code).toBe(1);
    expect(err).toMatch(
      /^Error response from daemon: error while removing network: network web id [0-9a-f]{64} has active endpoints\n$/,
    );
  });

  it("rm prints what it took away, and goes on behind what is not there", async () => {
    expect(await docker("rm nothing lan")).toEqual({
      code: 1,
      out: "lan\n",
      err: "Error response from daemon: network nothing not found\n",
    });
    expect((await docker("ls")).out).not.toContain("lan");
  });

  it.each([
    ["create web", "network with name web already exists"],
    ["create nat", "operation is not permitted on predefined nat network"],
    [
      "create -d l2bridge --subnet 10.7.0.0/24 --opt com.docker.network.windowsshim.interface=Nowhere x",
      "hns failed with error : ",
    ],
    ["rm none", "network none not found"],
    ["inspect x", "network x not found"],
  ])("%s: what the daemon answers", async (line, message) => {
    const { code, err } = await docker(line);
    expect(code).toBe(1);
    expect(err).toContain(`Error response from daemon: ${message}`);
  });

  it.each([
    ["create --internal x", "--internal is not supported on Windows"],
    ["create --ip-range 10.0.0.0/24 x", "--ip-range is not supported on Windows"],
    ["create -d overlay x", "an overlay network of Docker is Swarm's"],
    ["create -d bridge x", 'Docker on Windows has no driver "bridge"'],
    ["create --opt encrypted=true x", '"encrypted" is not an option of networks on Windows'],
    [`create --opt ${OPTION}.vlanid=4095 x`, "takes a VLAN from 1 to 4094"],
    ["create --subnet fd00::/64 x", '--subnet takes an IPv4 range, not "fd00::/64"'],
    ["create --gateway 10.0.0.1 x", "--gateway without --subnet"],
  ])("%s is refused with the reason", async (line, message) => {
    const { code, err } = await docker(line);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });
});
