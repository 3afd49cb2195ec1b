/** What faults do to the service itself, and ask of it. */
import type { Guid } from "../../hcn/client.ts";
import type { DegradableKind, RestartState } from "../../hcn/faults/fault.ts";
import type { QuirkStatus } from "../../hcn/faults/hns-faults.ts";
import type { WindowsBuild } from "../../knowledge/profiles.ts";
import type { CallFacts } from "./call-facts.ts";
import type { QuirkName, QuirkSetting } from "../../knowledge/quirks.ts";

export interface FaultTarget {
  readonly windows: WindowsBuild;
  /** Endpoints and load balancers that are there: calls take longer, the more there are. */
  countObjects(): number;
  /** True when a defect can let calls hang. */
  readonly mayHang: boolean;
  /** The defect that lets a call hang, and all calls behind it; undefined: it goes on. */
  hangs(facts: CallFacts): QuirkName | undefined;
  /** Takes load balancers away; all, or those named. @returns their ids. */
  forgetLoadBalancers(ids?: readonly Guid[]): Promise<readonly Guid[]>;
  /** Puts an object into the state Degraded. @throws HcnError when it is not there. */
  degrade(kind: DegradableKind, id: Guid): Promise<void>;
  /** Puts an object back into the state that it should have. */
  mend(kind: DegradableKind, id: Guid): Promise<void>;
  /** Makes a remote endpoint. @returns its id. */
  createRemoteEndpoint(network: Guid, address: string, faultId: string): Promise<Guid>;
  /** Deletes an endpoint; one that is gone already is none of its concern. */
  deleteEndpoint(id: Guid): Promise<void>;
  restart(state?: RestartState): Promise<void>;
  reboot(): Promise<void>;
  quirks(): readonly QuirkStatus[];
  setQuirk(name: QuirkName, setting: QuirkSetting): void;
}
