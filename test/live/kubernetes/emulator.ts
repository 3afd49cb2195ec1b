/** The emulator's Kubernetes API without machines, for real programs that bring their own nodes. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEmptyCluster } from "../../../src/cmd/mullion/kube/empty-cluster.ts";
import { KubeServer } from "../../../src/kube/http/server.node.ts";
import type { MemoryKubeSource } from "../../../src/kube/memory/memory-kube-source.ts";

export interface Emulator {
  /** The control plane itself, to look at and to write to. */
  readonly source: MemoryKubeSource;
  readonly kubeconfig: string;
  /** Ends the server. */
  readonly stop: () => Promise<void>;
}

function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, "Z");
}

/** Serves a control plane with the pod range 10.244.0.0/16. */
export async function startEmulator(host = "127.0.0.1"): Promise<Emulator> {
  const folder = mkdtempSync(join(tmpdir(), "mullion-emulator-"));
  const source = openEmptyCluster(now);
  const server = await KubeServer.listen({ source, host, port: 0, gitVersion: "v1.34.0", bookmarkMs: 1_000 });
  const kubeconfig = join(folder, "kubeconfig");
  server.writeKubeconfig(kubeconfig);
  const stop = async (): Promise<void> => {
    await server.close();
    await source.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { source, kubeconfig, stop };
}
