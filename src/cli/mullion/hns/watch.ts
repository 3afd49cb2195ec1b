/** `mullion hns watch`: notifications as they come, until somebody ends it. */
import {
  type HcnClient,
  type HcnNotification,
  type HcnObjectKind,
  NOTIFICATION_TYPES,
} from "#contracts/hcn/client.ts";
import type { JsonObject } from "#core/base/json.ts";
import { formatDocument } from "../print-document.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import { withHns } from "./connect.ts";
import { nameOf } from "./hns-listings.ts";
import { QUERY_V2 } from "./list-objects.ts";
import type { HnsWatchRequest } from "./verbs.ts";

/** How long to wait before asking a service that went away again. */
const RETRY_MS = 1_000;
const TYPE_WIDTH = 40;

const TYPE_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(NOTIFICATION_TYPES).map(([name, number]) => [number, name]),
);

function typeName(type: number): string {
  return TYPE_NAMES.get(type) ?? `0x${type.toString(16).padStart(8, "0")}`;
}

/** The kind of the object that a notification names. */
function kindOf(type: string): HcnObjectKind | undefined {
  if (type.startsWith("NetworkEndpoint")) return "Endpoint";
  if (type.startsWith("Network")) return "Network";
  if (type.startsWith("Namespace")) return "Namespace";
  return undefined;
}

/** The object's name, as long as it is there. */
async function findName(client: HcnClient, type: string, id: string): Promise<string | undefined> {
  const kind = kindOf(type);
  if (kind === undefined) return undefined;
  try {
    const document: JsonObject = await client.query(kind, id, QUERY_V2);
    const name = nameOf(document);
    return name.toLowerCase() === id.toLowerCase() ? undefined : name;
  } catch {
    // It is gone already, or the service is: the notification says enough.
    return undefined;
  }
}

class Watch {
  private readonly client: HcnClient;
  private readonly request: HnsWatchRequest;
  private readonly terminal: Terminal;
  private readonly wait: (milliseconds: number) => Promise<void>;
  private isEnded = false;
  /** Lines are printed in the order in which notifications came, although names take a question each. */
  private last: Promise<void> = Promise.resolve();
  private unsubscribe: () => void = () => undefined;

  constructor(client: HcnClient, request: HnsWatchRequest, terminal: Terminal) {
    this.client = client;
    this.request = request;
    this.terminal = terminal;
    this.wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
  }

  /** @throws HcnError when the service does not answer at the beginning. */
  async start(): Promise<void> {
    this.subscribe();
    await this.client.enumerate("Network");
  }

  end(): void {
    this.isEnded = true;
    this.unsubscribe();
  }

  private subscribe(): void {
    this.unsubscribe = this.client.subscribe((notification) => this.hear(notification), "all");
  }

  private hear(notification: HcnNotification): void {
    const at = new Date().toISOString();
    if (notification.type === NOTIFICATION_TYPES.ServiceDisconnect) {
      if (!this.isEnded) void this.comeBack(at);
      return;
    }
    this.last = this.last.then(() => this.print(notification, at));
  }

  private async print({ type, data }: HcnNotification, at: string): Promise<void> {
    const typed = typeName(type);
    const name = await findName(this.client, typed, data.ID);
    if (this.printData({ at, type: typed, ...(name !== undefined && { name }), ...data })) return;
    const time = at.slice(11, 19);
    const extra = data.Data === undefined ? "" : ` ${JSON.stringify(data.Data)}`;
    const named = name === undefined ? "" : ` ${name}`;
    this.terminal.stdout(`${time} ${typed.padEnd(TYPE_WIDTH)} ${data.ID}${named}${extra}\n`);
  }

  /** One line of JSON, or one document of a YAML stream, for programs that read as it comes. False for text. */
  private printData(event: Readonly<Record<string, unknown>>): boolean {
    const { output } = this.request;
    if (output === "text") return false;
    this.terminal.stdout(
      output === "json" ? `${JSON.stringify(event)}\n` : `---\n${formatDocument(event, output)}`,
    );
    return true;
  }

  /** The registration is dead (hcn.md §1.4): asks until somebody answers, and registers again. */
  private async comeBack(at: string): Promise<void> {
    this.reportState("ServiceDisconnect", at, "the service went away; waiting for it");
    for (;;) {
      await this.wait(this.request.retryMs ?? RETRY_MS);
      if (this.isEnded) return;
      try {
        await this.client.enumerate("Network");
        this.subscribe();
        await this.client.enumerate("Network");
        this.reportState("ServiceConnect", new Date().toISOString(), "the service is back");
        return;
      } catch {
        // Not yet.
      }
    }
  }

  private reportState(type: string, at: string, text: string): void {
    if (!this.printData({ at, type })) this.terminal.stderr(`${at.slice(11, 19)} ${text}\n`);
  }
}

export async function watch(request: HnsWatchRequest, terminal: Terminal): Promise<ExitCode> {
  return withHns<ExitCode>(request.target, terminal, async ({ client, where }) => {
    const stopped = terminal.untilInterrupted();
    const running = new Watch(client, request, terminal);
    await running.start();
    terminal.stderr(`Listening at ${where}; Ctrl-C ends it.\n`);
    await stopped;
    running.end();
    return 0;
  });
}
