/** The emulator's Kubernetes API without machines, for real programs that bring their own nodes. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEmptyCluster } from "#cli/mullion/kube/serve.ts";
import { KubeServer } from "#control-plane/http/server.node.ts";
import type { MemoryKubeSource } from "#control-plane/memory/memory-kube-source.ts";

function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, "Z");
}

export class Emulator {
  /** The control plane itself, to look at and to write to, whether it is served or not. */
  readonly source: MemoryKubeSource;
  readonly kubeconfig: string;
  private readonly folder: string;
  private readonly host: string;
  private server: KubeServer;

  private constructor(source: MemoryKubeSource, server: KubeServer, host: string) {
    this.source = source;
    this.server = server;
    this.host = host;
    this.folder = mkdtempSync(join(tmpdir(), "mullion-emulator-"));
    this.kubeconfig = join(this.folder, "kubeconfig");
    server.writeKubeconfig(this.kubeconfig);
  }

  /** Serves a control plane with the pod range 10.244.0.0/16. */
  static async start(host = "127.0.0.1"): Promise<Emulator> {
    const source = openEmptyCluster(now);
    const server = await KubeServer.listen({
      source,
      host,
      port: 0,
      gitVersion: "v1.34.0",
      bookmarkMs: 1_000,
    });
    return new Emulator(source, server, host);
  }

  /** The API is gone during `work`, and back afterwards under the same address, token and certificate. */
  async outage(work: () => Promise<void>): Promise<void> {
    const { port, identity } = this.server;
    await this.server.close();
    await work();
    const place = { host: this.host, port, identity };
    const { source } = this;
    this.server = await KubeServer.listen({ source, ...place, gitVersion: "v1.34.0", bookmarkMs: 1_000 });
  }

  async stop(): Promise<void> {
    await this.server.close();
    await this.source.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
