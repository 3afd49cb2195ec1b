/** The service as faults reach it: what no client can do, done behind everybody's back. */
import type { Guid } from "../../hcn/client.ts";
import { ENDPOINT_FLAGS } from "../../hcn/endpoint.ts";
import { HCN_ERRORS } from "../../hcn/error-codes.ts";
import { HcnError } from "../../hcn/error.ts";
import type { DegradableKind, RestartState } from "../../hcn/faults/fault.ts";
import type { QuirkStatus } from "../../hcn/faults/hns-faults.ts";
import type { WindowsBuild } from "../../knowledge/profiles.ts";
import type { QuirkName, QuirkSetting } from "../../knowledge/quirks.ts";
import type { HnsService } from "../hns-service.ts";
import { type CallFacts, backEndsMade } from "./call-facts.ts";
import type { FaultTarget } from "./fault-target.ts";

/** Brings a degraded endpoint back (hcn.md §5.2). */
const REFRESH = Object.freeze({ RequestType: "Refresh" });

/** Defects that let the service hang. */
const HANGING: readonly QuirkName[] = ["service-deadlock", "load-balancers-of-one-endpoint-hang"];

export class ServiceTarget implements FaultTarget {
  private readonly service: HnsService;
  /** Does something to the service, stores what it changed and tells it. */
  private readonly administer: <T>(action: () => T) => Promise<T>;

  constructor(service: HnsService, administer: <T>(action: () => T) => Promise<T>) {
    this.service = service;
    this.administer = administer;
  }

  get windows(): WindowsBuild {
    return this.service.windows;
  }

  countObjects(): number {
    return this.service.endpointAndLoadBalancerCount;
  }

  get mayHang(): boolean {
    return HANGING.some((name) => this.service.quirks.mayStrike(name));
  }

  hangs(facts: CallFacts): QuirkName | undefined {
    const { quirks } = this.service;
    if (quirks.has("service-deadlock")) return "service-deadlock";
    const ids = backEndsMade(facts);
    const isShared = ids.some((id) => this.service.isBalanced(id));
    return isShared && quirks.has("load-balancers-of-one-endpoint-hang")
      ? "load-balancers-of-one-endpoint-hang"
      : undefined;
  }

  async forgetLoadBalancers(ids?: readonly Guid[]): Promise<readonly Guid[]> {
    return this.administer(() => {
      const wanted = ids ?? this.service.enumerate("LoadBalancer");
      // All are there, or none is touched.
      for (const id of wanted) this.service.query("LoadBalancer", id);
      for (const id of wanted) this.service.delete("LoadBalancer", id);
      return wanted;
    });
  }

  async degrade(kind: DegradableKind, id: Guid): Promise<void> {
    return this.administer(() => {
      this.service.query(kind, id);
      if (kind === "LoadBalancer") this.service.degradeLoadBalancer(id);
      else this.service.degradeEndpoint(id, HCN_ERRORS.HCN_E_DEGRADED_OPERATION.hresult);
    });
  }

  async mend(kind: DegradableKind, id: Guid): Promise<void> {
    return this.administer(() => {
      if (kind === "LoadBalancer") this.service.mendLoadBalancer(id);
      else if (this.service.enumerate("Endpoint", { Filter: JSON.stringify({ ID: id }) }).length > 0)
        this.service.modify("Endpoint", id, REFRESH);
    });
  }

  async createRemoteEndpoint(network: Guid, address: string, faultId: string): Promise<Guid> {
    return this.administer(() =>
      this.service.create(
        "Endpoint",
        {
          Name: `stale-${faultId}`,
          Flags: ENDPOINT_FLAGS.RemoteEndpoint,
          IpConfigurations: [{ IpAddress: address }],
          SchemaVersion: { Major: 2, Minor: 0 },
        },
        { network },
      ),
    );
  }

  async deleteEndpoint(id: Guid): Promise<void> {
    return this.administer(() => {
      try {
        this.service.delete("Endpoint", id);
      } catch (error) {
        // Whoever clears up stale endpoints was faster.
        if (!(error instanceof HcnError && error.code === "HCN_E_ENDPOINT_NOT_FOUND")) throw error;
      }
    });
  }

  async restart(state?: RestartState): Promise<void> {
    return this.administer(() => this.service.restart(state));
  }

  async reboot(): Promise<void> {
    return this.administer(() => this.service.reboot());
  }

  quirks(): readonly QuirkStatus[] {
    return this.service.quirks.list();
  }

  setQuirk(name: QuirkName, setting: QuirkSetting): void {
    this.service.setQuirk(name, setting);
  }
}
