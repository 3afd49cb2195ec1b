/** An HNS for other programs: its objects in a folder, served on a private socket, found again after a restart. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createNetwork, listNetworks } from "mullion/hcn";
import { findHns } from "mullion/hcn/node";
import { HnsHttpServer, openHns } from "mullion/hns/node";

/** What another program does, which knows nothing but the socket. */
async function useService(socketPath: string, name?: string): Promise<string> {
  const client = findHns({ variables: { MULLION_HNS: `unix:${socketPath}` } });
  try {
    if (name !== undefined) await createNetwork(client, { Name: name, Type: "NAT" });
    return `networks: ${(await listNetworks(client)).map((network) => network.Name).join(", ")}`;
  } finally {
    await client.close();
  }
}

/** Serves the HNS of `folder` while `use` runs. */
async function serve(folder: string, use: (socketPath: string) => Promise<string>): Promise<string> {
  const socketPath = join(folder, "hns.sock");
  const hns = await openHns(join(folder, "state"));
  const server = await HnsHttpServer.listen({ client: hns.client, address: { socketPath } });
  try {
    return await use(socketPath);
  } finally {
    await server.close();
    await hns.close();
  }
}

/** @returns what a person wants to see of it. */
export async function runExample(folder: string): Promise<readonly string[]> {
  const before = await serve(folder, (socketPath) => useService(socketPath, "nat"));
  const after = await serve(folder, (socketPath) => useService(socketPath));
  return [before, `after a restart, ${after}`];
}

if (import.meta.filename === process.argv[1]) {
  const folder = mkdtempSync(join(tmpdir(), "mullion-service-"));
  for (const line of await runExample(folder)) console.log(line);
  rmSync(folder, { recursive: true });
}
