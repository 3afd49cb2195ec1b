/** What of the Host Networking Service touches the machine: a server, and the machine's clock. */
export { RealClock, type RealClockOptions } from "#core/base/real-clock.node.ts";
export { type DurableHns, openHns } from "./durable-hns.node.ts";
export type { ServedFacts } from "./http/http-app.node.ts";
export {
  HnsHttpServer,
  type HnsHttpServerOptions,
  type ListenAddress,
  startHnsServer,
} from "./http/http-server.node.ts";
export {
  StateFolder,
  type StateFolderOptions,
  openStateFolder,
} from "./store/state-folder.node.ts";
export { StateFolderError } from "./store/folder-files.node.ts";
