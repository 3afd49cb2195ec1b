/** What comes to a port later than HNS says: groups of a layer, the layer itself, the end of a router (dataplane.md §9). */
import type { Task } from "../../base/clock.ts";
import type { Group } from "../../vfp/group.ts";
import type { SwitchPort } from "../../vswitch/switch-port.ts";
import type { LayerName } from "../compile/layers.ts";

/** Puts groups into a layer when their time has come. */
export class LateGroups implements Task {
  private readonly port: SwitchPort;
  private readonly layer: LayerName;
  private readonly groups: readonly Group[];

  constructor(port: SwitchPort, layer: LayerName, groups: readonly Group[]) {
    this.port = port;
    this.layer = layer;
    this.groups = groups;
  }

  run(): void {
    this.port.vfp.setGroups(this.layer, this.groups);
  }
}

const REBUILT: LayerName = "VNET_ENCAP_LAYER";

/** VNET_ENCAP_LAYER of a router's port is gone; this puts it back. Flows that were made meanwhile are not judged again. */
export class RebuiltLayer implements Task {
  private readonly port: SwitchPort;

  constructor(port: SwitchPort) {
    this.port = port;
  }

  /** Takes the layer away. */
  begin(): void {
    this.port.vfp.setLayerPresent(REBUILT, false, false);
  }

  run(): void {
    this.port.vfp.setLayerPresent(REBUILT, true, false);
  }
}
