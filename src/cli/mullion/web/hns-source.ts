/**
 * An HNS that runs (`mullion hns serve`) behind the pages of `mullion ui`: its objects, defects and faults, in the words of
 * the control API where that has them, and its notifications as a stream.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { StackLists } from "#cluster/api/documents.ts";
import { HNS_KINDS, type HnsKind } from "#cluster/api/client.ts";
import { type HcnObjectKind, NOTIFICATION_TYPES } from "#contracts/hcn/client.ts";
import { type JsonObject, type JsonValue } from "#core/base/json.ts";
import { QUIRKS, formatQuirkSetting, parseQuirk } from "#core/catalogue/quirks.ts";
import { RESTART_STATES } from "#hns/failures/faults/fault.ts";
import { readFault } from "#hns/failures/faults/read-fault.ts";
import type { HnsConnection } from "../hns/connect.ts";
import { QUERY_V2, listObjects } from "../hns/list-objects.ts";
import { usage } from "../options.ts";
import { objectIn } from "./examine.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** What pages call the only node. */
const NODE = "hns";
const KINDS: Readonly<Record<HnsKind, HcnObjectKind>> = {
  networks: "Network",
  endpoints: "Endpoint",
  namespaces: "Namespace",
  loadbalancers: "LoadBalancer",
};
const TYPE_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(NOTIFICATION_TYPES).map(([name, number]) => [number, name]),
);

export class HnsSource {
  private readonly connection: HnsConnection;
  private readonly begunMs: number = performance.now();

  constructor(connection: HnsConnection) {
    this.connection = connection;
  }

  /** Answers a path below `/v1alpha1/`. @throws HcnError of the service; Failure for what is no question. */
  async answer(method: string, path: string, body: string): Promise<object> {
    const [subject = "", name = ""] = path.split("/");
    if (method === "GET") {
      const kind = HNS_KINDS.find((each) => each === name);
      if (subject === "hns" && kind !== undefined) return this.list(kind);
      if (path === "stacks/quirks") return this.quirks();
      if (path === "faults") return { items: await this.connection.faults.list() };
    }
    if (method === "POST" && path === "node") return this.change(objectIn(body, WORDS.adviceUiAddress));
    if (method === "POST" && path === "faults")
      return this.changeFaults(objectIn(body, WORDS.adviceUiAddress));
    throw usage(`an HNS has no ${method} /${path}`, WORDS.adviceUiAddress);
  }

  private async list(kind: HnsKind): Promise<object> {
    const objects: readonly JsonObject[] = await listObjects(this.connection.client, KINDS[kind], QUERY_V2);
    return { kind: "HnsList", items: objects.map((object) => ({ node: NODE, ...object })) };
  }

  private async quirks(): Promise<Pick<StackLists["quirks"], "kind" | "items">> {
    const items = (await this.connection.faults.quirks()).map(({ name, setting, concernsBuild }) => ({
      node: NODE,
      name,
      setting: formatQuirkSetting(setting),
      concernsBuild,
      explanation: QUIRKS[name].explanation,
    }));
    return { kind: "QuirkList", items };
  }

  private async change({
    do: action,
    quirk,
    setting,
    state,
  }: Readonly<Record<string, unknown>>): Promise<object> {
    const { faults } = this.connection;
    if (action === "set-quirk") {
      const parsed = parseQuirk(`${String(quirk)}=${String(setting)}`);
      if ("problem" in parsed) throw usage(parsed.problem, "Defects are listed by: mullion hns quirk list");
      await faults.setQuirk(parsed.name, parsed.setting);
    } else if (action === "restart-hns") await faults.restart(RESTART_STATES.find((each) => each === state));
    else if (action === "reboot") await faults.reboot();
    else throw usage(`an HNS does not ${String(action)}`, WORDS.adviceUiAddress);
    return {};
  }

  /** `{ add: FAULT }`, `{ remove: ID }`, `{ do: "clear" | "release" | "forget-load-balancers" }`. */
  private async changeFaults({
    add,
    remove,
    do: action,
  }: Readonly<Record<string, unknown>>): Promise<object> {
    const { faults } = this.connection;
    if (add !== undefined) return { id: await faults.add(readFault(add as JsonValue)) };
    if (typeof remove === "string") await faults.remove(remove);
    else if (action === "clear") await faults.clear();
    else if (action === "release") await faults.release();
    else if (action === "forget-load-balancers") await faults.forgetLoadBalancers();
    else throw usage("the request names no fault", "Faults are listed by: mullion hns fault list");
    return {};
  }

  /** Its notifications as events, until the page goes or the service does: the page then comes back by itself. */
  stream(
    incoming: IncomingMessage,
    response: ServerResponse,
    headers: Readonly<Record<string, string>>,
  ): void {
    response.writeHead(200, { ...headers, "content-type": "text/event-stream" });
    response.write(": events follow\n\n");
    let id = 0;
    const send = (text: string): void => {
      id++;
      const event = { id, atMs: performance.now() - this.begunMs, type: "note", text };
      response.write(`id: ${id}\nevent: note\ndata: ${JSON.stringify(event)}\n\n`);
    };
    const end = this.connection.client.subscribe(({ type, data }) => {
      if (type === NOTIFICATION_TYPES.ServiceDisconnect) response.end();
      else send(`${TYPE_NAMES.get(type) ?? `0x${type.toString(16)}`} ${data.ID}`);
    }, "all");
    incoming.on("close", end);
    response.on("close", end);
  }
}
