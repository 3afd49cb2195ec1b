/**
 * `kill -9` at random moments. Whatever the service acknowledged is there when it comes back on the same folder, and
 * what it did not acknowledge is there as a whole or not at all.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import type { HcnClient, HcnObjectKind } from "#contracts/hcn/client.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { isJsonObject } from "#core/base/json.ts";
import { HttpHcnClient } from "#contracts/hcn/http/http-client.node.ts";
import { CBR0, hnsNode } from "#test/support/hns/hns-node.ts";
import { openStateFolder } from "./store/state-folder.node.ts";

const CHANGES = 500;
const CHANGES_PER_LIFE = 40;
/** On a machine that does something else besides a life sees few changes, and so many kills are enough. */
const LIVES_MAX = 60;
const CALLS_AT_ONCE = 4;
const V2 = { SchemaVersion: { Major: 2, Minor: 0 } } as const;
const SEED = Number(process.env["MULLION_SEED"] ?? randomInt(1_000_000));

/** What an object may be after a crash: the name of its last acknowledged state, and those that nobody answered. */
interface Expected {
  readonly kind: HcnObjectKind;
  /** Undefined: it is gone. */
  acknowledged: string | undefined;
  readonly unanswered: Set<string | undefined>;
}

let folder = "";
let life: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mullion-crash-"));
});

afterEach(() => {
  life?.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the service and waits until it answers. */
async function begin(): Promise<HcnClient> {
  const socketPath = join(folder, "hns.sock");
  const words = ["hns", "serve", "--data", join(folder, "state"), "--socket", socketPath];
  const child = spawn(process.execPath, ["bin/mullion.js", ...words], { stdio: ["ignore", "pipe", "pipe"] });
  life = child;
  await new Promise<void>((resolve, reject) => {
    let printed = "";
    const listen = (chunk: Buffer): void => {
      printed += chunk.toString();
      if (printed.includes("Ctrl-C")) resolve();
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    child.on("close", () => reject(new Error(`the service did not start: ${printed}`)));
  });
  return new HttpHcnClient({ address: { socketPath } });
}

async function kill(): Promise<void> {
  const child = life;
  if (child === undefined) return;
  const ended = once(child, "close");
  child.kill("SIGKILL");
  await ended;
  life = undefined;
}

/** True when nobody answered: the process is gone. */
function isLost(error: unknown): boolean {
  return (
    error instanceof HcnError && ["RPC_S_SERVER_UNAVAILABLE", "EPT_S_NOT_REGISTERED"].includes(error.code)
  );
}

function fieldOf(value: JsonValue | undefined, field: string): JsonValue | undefined {
  return isJsonObject(value) ? value[field] : undefined;
}

/** The name of an object's state, which every kind carries in another place. */
function nameOf(kind: HcnObjectKind, document: JsonObject): string {
  const policies = document["Policies"];
  const list = Array.isArray(policies) ? (policies as readonly JsonValue[]) : [];
  const named = list.find((policy) => fieldOf(policy, "Type") === "PortName");
  const name = kind === "Endpoint" ? fieldOf(fieldOf(named, "Settings"), "Name") : document["Name"];
  return typeof name === "string" ? name : "no name";
}

/** One client's work on the service, and what it knows of it. */
class Work {
  readonly objects = new Map<string, Expected>();
  changes = 0;
  private readonly prng: Prng;
  private readonly busy = new Set<string>();
  private network = "";

  constructor(prng: Prng) {
    this.prng = prng;
  }

  async start(client: HcnClient): Promise<void> {
    this.network = await client.create("Network", { ...V2, ...CBR0 });
  }

  /** One random change; returns false when the service is gone. */
  async change(client: HcnClient): Promise<boolean> {
    const free = [...this.objects].filter(
      ([id, each]) => !this.busy.has(id) && each.acknowledged !== undefined,
    );
    const [id = "", object] = free[this.prng.below(Math.max(1, free.length))] ?? [];
    const action = object === undefined || free.length < 10 ? 0 : this.prng.below(4);
    const name = `state-${this.changes}`;
    if (action <= 1 || object === undefined) return this.attempt(...this.creation(client, name));
    if (action === 2 && object.kind === "Endpoint")
      return this.attempt(id, object, name, async () => client.modify("Endpoint", id, portName(name)));
    return this.attempt(id, object, undefined, async () => client.delete(object.kind, id));
  }

  private creation(client: HcnClient, name: string): [string, Expected, string, () => Promise<unknown>] {
    const id = this.prng.guid();
    const kind: HcnObjectKind = this.prng.below(3) === 0 ? "Namespace" : "Endpoint";
    const object: Expected = { kind, acknowledged: undefined, unanswered: new Set() };
    this.objects.set(id, object);
    const endpoint = { ...V2, Policies: [{ Type: "PortName", Settings: { Name: name } }] };
    const create = async (): Promise<unknown> =>
      kind === "Namespace"
        ? client.create(kind, { ...V2, Type: "Host", Name: name }, { id })
        : client.create(kind, endpoint, { id, network: this.network });
    return [id, object, name, create];
  }

  private async attempt(
    id: string,
    object: Expected,
    becomes: string | undefined,
    call: () => Promise<unknown>,
  ): Promise<boolean> {
    this.changes++;
    this.busy.add(id);
    object.unanswered.add(becomes);
    try {
      await call();
      object.acknowledged = becomes;
      object.unanswered.clear();
      this.busy.delete(id);
      return true;
    } catch (error) {
      if (!isLost(error)) throw error;
      return false;
    }
  }

  /**
   * Compares with what the service has, and takes that for what is acknowledged.
   * @returns what should not be.
   */
  async check(client: HcnClient): Promise<readonly string[]> {
    this.busy.clear();
    const faults: string[] = [];
    const found = new Map<string, JsonObject>();
    for (const kind of ["Network", "Namespace", "Endpoint"] as const)
      for (const id of await client.enumerate(kind)) found.set(id, await client.query(kind, id, V2));
    for (const [id, object] of this.objects) {
      const document = found.get(id);
      const name = document && nameOf(object.kind, document);
      const allowed = [object.acknowledged, ...object.unanswered];
      if (!allowed.includes(name))
        faults.push(`${object.kind} ${id} is ${name}, not ${allowed.join(" or ")}`);
      object.acknowledged = name;
      object.unanswered.clear();
    }
    for (const [id, document] of found) {
      const isKnown = this.objects.has(id) || id === this.network || document["Type"] === "HostDefault";
      if (!isKnown) faults.push(`nobody made ${id}`);
    }
    return faults;
  }
}

function portName(name: string): JsonObject {
  const policy = { Type: "PortName", Settings: { Name: name } };
  return { RequestType: "Update", ResourceType: "Policy", Settings: { Policies: [policy] } };
}

it(`keeps every acknowledged change over kill -9 (MULLION_SEED=${SEED})`, async () => {
  const prng = new Prng(SEED);
  const work = new Work(prng.derive("work"));
  let client = await begin();
  await work.start(client);
  for (let lives = 0; work.changes < CHANGES && lives < LIVES_MAX; lives++) {
    const last = work.changes + 1 + prng.below(CHANGES_PER_LIFE);
    const worker = async (): Promise<void> => {
      while (work.changes < last && (await work.change(client)));
    };
    const workers = Array.from({ length: CALLS_AT_ONCE }, worker);
    // In the middle of their work, or some turns after it.
    await new Promise((resolve) => setTimeout(resolve, prng.below(40)));
    await kill();
    await Promise.all(workers);
    await client.close();
    client = await begin();
    expect(await work.check(client)).toEqual([]);
  }
  await client.close();
  await kill();
  const state = openStateFolder(join(folder, "state"), { node: "node", version: { Major: 15, Minor: 3 } });
  // No half object: nothing that is stored contradicts the rest.
  expect(hnsNode().service.restore(await state.list())).toEqual([]);
  expect(state.incarnation).toBeGreaterThan(CHANGES / CHANGES_PER_LIFE);
  await state.close();
});
