/** azure-vnet as many processes at once, killed at chance moments: state file, lock, HNS and CNS agree afterwards. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import { createNamespace, createNetwork, listEndpoints } from "#contracts/hcn/operations.ts";
import { HnsHttpServer } from "#hns/http/http-server.node.ts";
import { CnsHttpService } from "#test/support/cni/cns-http-service.ts";
import { CnsService } from "#programs/plugins/cns/service.ts";
import { pool } from "#test/support/cni/cns-node.ts";
import { hnsNode } from "#test/support/hns/hns-node.ts";
import { BIN, PROGRAM_PATH as PATH } from "#test/support/cni/plugin-process.ts";

const SEED = 7;
const PODS = 30;
const AT_ONCE = 6;
/** A call takes some hundred milliseconds, more when several run at once: some come through, some do not. */
const KILL_BEFORE_MS = 3_000;

it(`${PODS} pods under random kills (seed ${SEED}): DEL of each, and nothing is left anywhere`, async () => {
  const folder = mkdtempSync(join(tmpdir(), "mullion-azure-kills-"));
  const { client } = hnsNode({
    adapters: [{ name: "Ethernet", address: "10.240.0.4/16", mac: "00-0D-3A-01-02-03" }],
  });
  const routes = [{ NextHop: "10.240.0.1", DestinationPrefix: "0.0.0.0/0" }];
  await createNetwork(client, {
    Name: "azure",
    Type: "L2Tunnel",
    Policies: [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } }],
    Ipams: [{ Type: "Static", Subnets: [{ IpAddressPrefix: "10.240.0.0/16", Routes: routes }] }],
  });
  const socketPath = join(folder, "hns.sock");
  const hns = await HnsHttpServer.listen({ client, address: { socketPath } });
  const cns = new CnsService({
    host: { Gateway: "10.240.0.1", PrimaryIP: "10.240.0.4", Subnet: "10.240.0.0/16" },
  });
  const addresses = Array.from({ length: PODS }, (_, index) => `10.240.1.${index + 1}`);
  cns.pool.add(pool("10.240.0.4/16", "10.240.0.1", ...addresses));
  const served = await CnsHttpService.listen(cns);
  const prng = new Prng(SEED);

  function start(verb: string, containerId: string, netns: string): ChildProcess {
    const stdin = {
      cniVersion: "1.0.0",
      name: "azure",
      type: "azure-vnet",
      master: "lo",
      ipam: { type: "azure-cns" },
      cnsurl: served.url,
    };
    const env = {
      PATH,
      CNI_COMMAND: verb,
      CNI_CONTAINERID: containerId,
      CNI_NETNS: netns,
      CNI_IFNAME: "eth0",
      CNI_PATH: BIN,
      CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=${containerId}`,
      MULLION_HNS: `unix:${socketPath}`,
      MULLION_AZURE_STATE: folder,
      MULLION_AZURE_DELETE_IDS: join(folder, "pending"),
    };
    const child = spawn(join(BIN, "azure-vnet"), [], { env, stdio: ["pipe", "pipe", "inherit"] });
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(JSON.stringify(stdin));
    return child;
  }

  function ended(child: ChildProcess): Promise<string> {
    return new Promise((resolve) => {
      let text = "";
      child.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString()));
      child.on("close", () => resolve(text));
    });
  }

  let added = 0;
  async function live(index: number): Promise<void> {
    // Names that begin alike, too.
    const containerId = `pod${String(index % 10)}aaaa${String(index).padStart(4, "0")}`;
    const netns = (await createNamespace(client)).ID ?? "";
    for (const verb of ["ADD", "DEL"]) {
      const child = start(verb, containerId, netns);
      const end = ended(child);
      const timer = setTimeout(() => child.kill("SIGKILL"), prng.below(KILL_BEFORE_MS));
      if ((await end).includes('"ips"')) added++;
      clearTimeout(timer);
    }
    expect(await ended(start("DEL", containerId, netns))).toBe("");
  }

  try {
    for (let first = 0; first < PODS; first += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => live(first + index)));
    expect(added).toBeGreaterThan(0);
    expect(added).toBeLessThan(PODS);
    expect(await listEndpoints(client)).toEqual([]);
    expect(cns.pool.all().filter(({ holder }) => holder !== undefined)).toEqual([]);
    const state = JSON.parse(readFileSync(join(folder, "azure-vnet.json"), "utf8")) as object;
    expect(JSON.stringify(state)).not.toContain("eth0");
  } finally {
    await served.close();
    await hns.close();
    rmSync(folder, { recursive: true });
  }
});
