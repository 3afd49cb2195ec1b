// `docker network create` and `rm` on a host of a cluster that runs: typed there, and from outside with --node.
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import type { ControlClient } from "#cluster/api/client.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { opened } from "#test/support/policy/policy-cluster.ts";
import { runMullion } from "../program.ts";
import type { ExecVerbRequest } from "../verbs.ts";
import { createNetwork, inspectNetworks, listNetworks, removeNetworks } from "./network.ts";

const HOST = "node/host-1";

let client: ControlClient;
beforeAll(async () => {
  client = await opened(readFileSync("examples/docker-nat/cluster.yaml", "utf8"));
});

async function typed(line: string): Promise<{ out: string; err: string; code: number }> {
  const command = ["docker", "network", ...line.split(" ")];
  const { stdout, stderr, exitCode } = await client.exec({ from: HOST, command });
  return { out: stdout, err: stderr, code: exitCode };
}

async function namesInHns(): Promise<readonly string[]> {
  const { items } = await client.hns("networks", "host-1");
  return items.map((item) => (item as unknown as { readonly Name: string }).Name);
}

describe("docker network on a host", () => {
  it("create makes the network in the host's HNS, and rm takes it away", async () => {
    const made = await typed(
      "create -d nat --subnet 172.30.0.0/24 -o com.docker.network.windowsshim.dnssuffix=x.test web",
    );
    expect(made).toMatchObject({ code: 0, err: "" });
    expect(made.out).toMatch(/^[0-9a-f]{64}\r\n$/);
    expect(await namesInHns()).toContain("web");
    const [network] = JSON.parse((await typed("inspect web")).out) as readonly Record<string, unknown>[];
    expect(network).toMatchObject({
      Name: "web",
      Id: made.out.trim(),
      Driver: "nat",
      IPAM: { Config: [{ Subnet: "172.30.0.0/24", Gateway: "172.30.0.1" }] },
      Options: { "com.docker.network.windowsshim.dnssuffix": "x.test" },
    });
    expect(await typed("rm web")).toEqual({ out: "web\r\n", err: "", code: 0 });
    expect(await namesInHns()).not.toContain("web");
  });

  it.each([
    ["rm gone", "network gone not found"],
    ["rm none nat", "network none not found"],
    ["create -d nat nat", "operation is not permitted on predefined nat network"],
  ])("%s: %s", async (line, said) => {
    const { err, code } = await typed(line);
    expect(code).toBe(1);
    expect(err).toContain(`Error response from daemon: ${said}`);
  });

  it("a network with containers stays", async () => {
    const list = (await typed("ls")).out;
    const name = /^[0-9a-f]{12} {3}(\S+) +nat /m.exec(list)?.[1] ?? "";
    expect((await typed(`rm ${name}`)).err).toMatch(/has active endpoints|pre-defined/);
    expect((await typed("ls")).out).toBe(list);
  });

  it.each([
    ["create -d overlay x", /Swarm/],
    ["create --ipv6 x", /--ipv6 is not supported on Windows/],
    ["create --driver=nat", /requires exactly 1 argument/],
    ["create -d nat --subnet", /needs an argument/],
    ["create --attachable x", /no option --attachable/],
    ["create --subnet 1.2.3 x", /IPv4 range/],
    ["rm", /not one of the commands/],
  ])("%s is refused before it changes anything", async (line, said) => {
    const before = await namesInHns();
    await expect(typed(line)).rejects.toThrow(said);
    expect(await namesInHns()).toEqual(before);
  });

  it("a host without Docker does not know the command", async () => {
    const other = await opened(readFileSync("examples/two-windows-nodes/cluster.yaml", "utf8"));
    const command = ["docker", "network", "create", "web"];
    expect(await other.exec({ from: "node/win-1", command })).toMatchObject({ exitCode: 1 });
  });
});

describe("mullion docker network --node", () => {
  const verbs = {
    create: createNetwork,
    list: listNetworks,
    inspect: inspectNetworks,
    remove: removeNetworks,
  };

  async function asked(line: string): Promise<ExecVerbRequest | string> {
    const terminal = new MemoryTerminal();
    let seen: ExecVerbRequest | undefined;
    await runMullion({
      argv: ["docker", "network", ...line.split(" ")],
      terminal,
      verbs: {
        docker: verbs,
        exec: (request) => {
          seen = request;
          return Promise.resolve(0);
        },
      },
      version: "0",
      isDebug: true,
    });
    return seen ?? terminal.errors;
  }

  it.each([
    ["create --node host-1 -d nat --subnet 172.30.0.0/24 --opt a.vlanid=1 web", undefined],
    ["create --node host-1 --subnet 172.30.0.0/24 web", "create -d nat --subnet 172.30.0.0/24 web"],
    ["ls -q --node host-1 --name blue", "ls -q"],
    ["inspect --node node/host-1 a b", "inspect a b"],
    ["rm --node host-1 a", "rm a"],
  ])("%s", async (line, words) => {
    const request = await asked(line);
    if (words === undefined) expect(request).toMatch(/not an option of networks on Windows/);
    else
      expect(request).toMatchObject({
        from: HOST,
        command: ["docker", "network", ...words.split(" ")],
        target: { name: line.includes("blue") ? "blue" : undefined },
      });
  });

  it("--name alone says what is missing", async () => {
    expect(await asked("ls --name blue")).toMatch(/--name needs --node/);
  });
});
