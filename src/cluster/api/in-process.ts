/** The control API without a socket: for verbs that build their cluster from `-f` and forget it. */
import { createApp } from "./app.ts";
import { ControlClient } from "./client.ts";
import { HeldCluster, type HeldClusterOptions } from "./held-cluster.ts";

/** A client of a cluster of this process. */
export function inProcessClient(options: Omit<HeldClusterOptions, "onShutdown">): ControlClient {
  const app = createApp(new HeldCluster({ ...options, onShutdown: () => undefined }));
  return new ControlClient(async ({ method, path, body }) => {
    const response = await app.request(path, { method, ...(body === undefined ? {} : { body }) });
    return { status: response.status, body: await response.text() };
  });
}
