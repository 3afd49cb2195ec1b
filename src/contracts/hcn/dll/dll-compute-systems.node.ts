/**
 * Compute systems over `vmcompute.dll`, the calls that hcsshim makes. Not run on Windows, where creating and ending
 * takes time: HCS then answers that it is under way, and what has become of it is seen in the list.
 */
import type { JsonObject } from "#core/base/json.ts";
import { parseComputeSystemSummary } from "../documents/compute-system-document.ts";
import type { ComputeSystem, ComputeSystems } from "../compute-systems.ts";
import { checkJsonObject, parseAnswerText } from "../description/json-value.ts";
import { errorOfResult } from "./dll-error.node.ts";
import { type NativeArgument, type NativeCalls, place, wideText } from "./native-calls.node.ts";

/** HCS_E_OPERATION_PENDING: it goes on by itself. */
const PENDING = 0xc0370103;

export class DllComputeSystems implements ComputeSystems {
  private readonly native: NativeCalls;
  private readonly settled: () => Promise<void>;

  /** `settled` resolves when registrations under way are made. */
  constructor(native: NativeCalls, settled: () => Promise<void>) {
    this.native = native;
    this.settled = settled;
  }

  async list(): Promise<readonly ComputeSystem[]> {
    await this.settled();
    const systems = place();
    await this.perform("HcsEnumerateComputeSystems", wideText(""), systems);
    const list = parseAnswerText(this.native.takeText(systems) ?? "[]");
    return Array.isArray(list) ? list.map(parseComputeSystemSummary) : [];
  }

  async create(id: string, document: JsonObject): Promise<void> {
    await this.settled();
    const handle = place();
    const text = wideText(JSON.stringify(checkJsonObject(document)));
    await this.perform("HcsCreateComputeSystem", wideText(id), text, null, handle);
    const system = handle.readBigUInt64LE();
    try {
      await this.perform("HcsStartComputeSystem", system, wideText(""));
    } finally {
      await this.native.call("HcsCloseComputeSystem", system);
    }
  }

  async modify(id: string, request: JsonObject): Promise<void> {
    const text = wideText(JSON.stringify(checkJsonObject(request)));
    await this.use(id, async (system) => this.perform("HcsModifyComputeSystem", system, text));
  }

  async terminate(id: string): Promise<void> {
    await this.use(id, async (system) => this.perform("HcsTerminateComputeSystem", system, wideText("")));
  }

  /** Opens a system; its handle. @throws HcnError HCS_E_SYSTEM_NOT_FOUND. */
  async open(id: string): Promise<bigint> {
    const handle = place();
    await this.perform("HcsOpenComputeSystem", wideText(id), handle);
    return handle.readBigUInt64LE();
  }

  private async use(id: string, run: (system: bigint) => Promise<void>): Promise<void> {
    await this.settled();
    const system = await this.open(id);
    try {
      await run(system);
    } finally {
      await this.native.call("HcsCloseComputeSystem", system);
    }
  }

  /** A call that ends with a place for a document about its failure. @throws HcnError. */
  private async perform(name: string, ...args: readonly NativeArgument[]): Promise<void> {
    const result = place();
    const hresult = await this.native.call(name, ...args, result);
    const text = this.native.takeText(result);
    if (hresult !== 0 && hresult !== PENDING) throw errorOfResult(hresult, text);
  }
}
