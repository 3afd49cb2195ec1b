import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start } from "#test/support/kubernetes/kube.suite.ts";
import { MemoryKubeSource } from "../memory/memory-kube-source.ts";
import { openApiServerSource } from "#contracts/kubernetes/server/api-server-source.node.ts";
import { contractOfKubeSources } from "#test/support/kubernetes/source-contract.suite.ts";
import { KubeServer } from "./server.node.ts";

contractOfKubeSources("the embedded control plane over HTTP", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mullion-kube-"));
  const served = new MemoryKubeSource(start("", { clusterCIDRs: [] }));
  const server = await KubeServer.listen({
    source: served,
    host: "127.0.0.1",
    port: 0,
    gitVersion: "v1.34.0",
  });
  server.writeKubeconfig(join(folder, "config"));
  const source = await openApiServerSource({ kubeconfig: join(folder, "config") });
  const end = async (): Promise<void> => {
    await source.close();
    await server.close();
    rmSync(folder, { recursive: true });
  };
  return { source, end };
});
