/** The HNS of nodes of a live cluster, on sockets: for plugins of container runtimes, and for launchers that hand calls on. */
import type { LiveCluster, LiveOptions } from "#cluster/live/live-cluster.node.ts";
import type { Log } from "#core/base/log.ts";
import { HnsHttpServer } from "#hns/http/http-server.node.ts";
import { PluginService } from "../../cni-plugins/plugin-service.ts";
import { Failure, describeSystemError } from "../failure.ts";

interface Serving {
  readonly log: Log;
  readonly live?: LiveOptions | undefined;
}

export class LiveRuntimes {
  private readonly servers: readonly { close(): Promise<void> }[];

  private constructor(servers: readonly { close(): Promise<void> }[]) {
    this.servers = servers;
  }

  /** @throws ApiError for a node without HNS; Failure for a socket that cannot be had. */
  static async open(cluster: LiveCluster, { live, log }: Serving): Promise<LiveRuntimes> {
    const servers: { close(): Promise<void> }[] = [];
    const opened = new LiveRuntimes(servers);
    try {
      for (const { node, socket } of live?.runtimes ?? []) {
        const client = cluster.runtimeOf(node);
        servers.push(await HnsHttpServer.listen({ client, address: { socketPath: socket }, log }));
        servers.push(await PluginService.listen({ client, socketPath: socket, log }));
      }
      return opened;
    } catch (error) {
      await opened.close();
      if (!(error instanceof Error) || !("syscall" in error)) throw error;
      const message = `cannot listen on the socket of --live-hns: ${describeSystemError(error)}`;
      throw new Failure("bad-usage", message, "Name another path: --live-hns NODE=SOCKET");
    }
  }

  async close(): Promise<void> {
    for (const server of this.servers) await server.close();
  }
}
