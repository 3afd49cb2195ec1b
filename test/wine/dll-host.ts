/**
 * A program that holds a `DllHcnClient` for somebody else: `node dll-host.ts PORT` connects to a port of this machine,
 * takes calls as lines of JSON and answers in kind. Run by Node for Windows, it lets tests ask a client on Windows. Not
 * over pipes: Node cannot read those that Wine gives it.
 */
import { connect } from "node:net";
import { createInterface } from "node:readline";
import type { HcnNotification, NotificationScope } from "#contracts/hcn/client.ts";
import { DllHcnClient } from "#contracts/hcn/dll/dll-client.node.ts";
import { windowsLibraries } from "#contracts/hcn/dll/native-calls.node.ts";
import { HcnError } from "#contracts/hcn/error.ts";

/** What the other side sends. */
export type HostRequest =
  | { readonly id: number; readonly open: Readonly<Record<string, string>> }
  | { readonly id: number; readonly call: string; readonly args: readonly unknown[] }
  | { readonly subscription: number; readonly scope: NotificationScope }
  | { readonly unsubscribe: number };

/** An error on its way to the other side. */
export interface HostError {
  readonly code: string;
  readonly record: { readonly Error: string; readonly ErrorCode: number } | undefined;
  readonly detail: string | undefined;
  readonly message: string;
}

export type HostAnswer =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: HostError }
  | { readonly subscription: number; readonly notification: HcnNotification };

let client: DllHcnClient | undefined;
const subscriptions = new Map<number, () => void>();

const other = connect({ host: "127.0.0.1", port: Number(process.argv[2]) });

function answer(line: HostAnswer): void {
  other.write(`${JSON.stringify(line)}\n`);
}

function describe(error: unknown): HostError {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof HcnError)) return { code: "", record: undefined, detail: undefined, message };
  return { code: error.code, record: error.toRecord(), detail: error.detail, message };
}

function open(variables: Readonly<Record<string, string>>): void {
  Object.assign(process.env, variables);
  client = new DllHcnClient(windowsLibraries(process.env["SystemRoot"] ?? "C:\\windows"));
}

/** `computeSystems.list` is a function of a part of the client. */
async function call(name: string, args: readonly unknown[]): Promise<unknown> {
  const [part = "", method] = name.split(".");
  const target = (method === undefined ? client : client?.computeSystems) as unknown as Record<
    string,
    (...given: readonly unknown[]) => Promise<unknown>
  >;
  return target[method ?? part]?.(...args.map((given) => given ?? undefined));
}

async function carryOut(request: HostRequest): Promise<void> {
  if ("unsubscribe" in request) {
    subscriptions.get(request.unsubscribe)?.();
    subscriptions.delete(request.unsubscribe);
    return;
  }
  if ("subscription" in request) {
    const { subscription, scope } = request;
    const report = (notification: HcnNotification): void => answer({ subscription, notification });
    const end = client?.subscribe(report, scope);
    if (end !== undefined) subscriptions.set(subscription, end);
    return;
  }
  const { id } = request;
  try {
    if ("open" in request) open(request.open);
    const result = "call" in request ? await call(request.call, request.args) : null;
    answer({ id, result: result ?? null });
  } catch (error) {
    answer({ id, error: describe(error) });
  }
}

createInterface({ input: other })
  .on("line", (line) => void carryOut(JSON.parse(line) as HostRequest))
  .on("close", () => process.exit(0));
