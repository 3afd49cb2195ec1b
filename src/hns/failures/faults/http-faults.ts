/** `HnsFaults` of a served HNS. */
import type { QuirkName, QuirkSetting } from "#core/catalogue/quirks.ts";
import type { JsonValue } from "#core/base/json.ts";
import type { PathRequester } from "#contracts/hcn/http/dump-protocol.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type { FaultStatus, HnsFault, HnsFaultPlan, HnsFaults, QuirkStatus, RestartState } from "./fault.ts";
import { FAULTS_PATH } from "./fault-paths.ts";
import { FAULT_PLAN_KIND, FAULT_PLAN_VERSION } from "./read-fault.ts";

/** A list in an answer; what a service of another version sends otherwise counts as none. */
function listOf(result: JsonValue): readonly unknown[] {
  return Array.isArray(result) ? (result as readonly unknown[]) : [];
}

export class HttpHnsFaults implements HnsFaults {
  private readonly requester: PathRequester;

  constructor(requester: PathRequester) {
    this.requester = requester;
  }

  async list(): Promise<readonly FaultStatus[]> {
    return listOf(await this.requester.request("GET", FAULTS_PATH)) as readonly FaultStatus[];
  }

  async add(fault: HnsFault): Promise<string> {
    const [id] = listOf(await this.requester.request("POST", FAULTS_PATH, fault));
    return String(id);
  }

  async apply(plan: HnsFaultPlan): Promise<readonly string[]> {
    const document = { apiVersion: FAULT_PLAN_VERSION, kind: FAULT_PLAN_KIND, ...plan };
    return listOf(await this.requester.request("POST", FAULTS_PATH, document)) as readonly string[];
  }

  async remove(id: string): Promise<void> {
    await this.requester.request("DELETE", `${FAULTS_PATH}/${encodeURIComponent(id)}`);
  }

  async clear(): Promise<void> {
    await this.requester.request("DELETE", FAULTS_PATH);
  }

  async release(id?: string): Promise<number> {
    return Number(await this.act("release", id === undefined ? {} : { id }));
  }

  async forgetLoadBalancers(ids?: readonly Guid[]): Promise<readonly Guid[]> {
    return listOf(
      await this.act("forget-load-balancers", ids === undefined ? {} : { ids }),
    ) as readonly Guid[];
  }

  async restart(state?: RestartState): Promise<void> {
    await this.act("restart", state === undefined ? {} : { state });
  }

  async reboot(): Promise<void> {
    await this.act("reboot", {});
  }

  async quirks(): Promise<readonly QuirkStatus[]> {
    return listOf(await this.requester.request("GET", `${FAULTS_PATH}/quirks`)) as readonly QuirkStatus[];
  }

  async setQuirk(name: QuirkName, setting: QuirkSetting): Promise<void> {
    await this.act("quirks", { name, setting });
  }

  private async act(what: string, body: object): Promise<JsonValue> {
    return this.requester.request("POST", `${FAULTS_PATH}/${what}`, body);
  }
}
