/** ovn-k8s-cni-overlay: whatever it is asked, the server of its node does (`ovnkube --init-node`). */
import { askCniServer } from "#programs/ovn/node/cni-socket.node.ts";
import { OvnK8sCniOverlay } from "#programs/ovn/node/cni-plugin.ts";
import { type PluginOpener, runPluginProcess } from "./plugin-process.ts";

const openOvnOverlay: PluginOpener = (place) => ({
  plugin: new OvnK8sCniOverlay(askCniServer, place),
  close: () => Promise.resolve(),
});

/** The executable `ovn-k8s-cni-overlay`. */
export function startOvnOverlay(): Promise<void> {
  return runPluginProcess(openOvnOverlay);
}
