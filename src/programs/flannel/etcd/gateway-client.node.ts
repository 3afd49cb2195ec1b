/**
 * etcd v3 over its JSON gateway, which every etcd from 3.4 on serves beside gRPC on the same port: one POST for each
 * call, one that stays open for a watch. Numbers of 64 bits are texts there, and bytes are base64
 * (etcd documentation, "gRPC gateway").
 */
import { readFileSync } from "node:fs";
import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { messageOf } from "#core/base/thrown.ts";
import { LIMITS } from "#core/base/limits.ts";
import { parseJson } from "#contracts/cni/json.ts";
import { type JsonObject, type JsonValue, listOf, mappingOf } from "#core/base/json.ts";
import { FlannelError } from "../reports.ts";
import type {
  EtcdClient,
  EtcdEvent,
  EtcdGrant,
  EtcdRange,
  EtcdValue,
  EtcdWatcher,
} from "./subnet-registry.ts";
import { flannel } from "#data/words.js";

const WORDS = flannel();

export interface EtcdPlace {
  /** Tried in order; the one that answers is kept until it does not. */
  readonly endpoints: readonly string[];
  /** Files. A client certificate is used when key and certificate are both given. */
  readonly keyFile?: string;
  readonly certificateFile?: string;
  readonly authorityFile?: string;
  readonly username?: string;
  readonly password?: string;
}

/** How long a call may take. */
const CALL_MS = 5_000;
/** A watch that hears nothing at all for so long is taken for dead: etcd is asked for its progress. */
const SILENCE_MS = 15 * 60_000;

function encode(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

function decode(value: JsonValue | undefined): string {
  return typeof value === "string" ? Buffer.from(value, "base64").toString("utf8") : "";
}

/** The end of the range of all keys that begin with `prefix`. */
function endOfPrefix(prefix: string): string {
  const bytes = Buffer.from(prefix, "utf8");
  const last = bytes.length - 1;
  bytes[last] = (bytes[last] ?? 0) + 1;
  return bytes.toString("base64");
}

function textOf(value: JsonValue | undefined, none = "0"): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : none;
}

function valueOf(kv: JsonObject): EtcdValue {
  return { key: decode(kv["key"]), value: decode(kv["value"]), grant: textOf(kv["lease"]) };
}

function revisionOf(answer: JsonObject): number {
  return Number(textOf(mappingOf(answer["header"])["revision"]));
}

function unreachable(message: string, cause?: unknown): FlannelError {
  return new FlannelError("flannel-store-unreachable", message, { cause });
}

/** Nothing answers at that endpoint: another one may. */
class NoAnswer extends Error {}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Certificates as texts. */
interface Credentials {
  readonly key?: string;
  readonly cert?: string;
  readonly ca?: string;
}

function readCredentials({ keyFile = "", certificateFile = "", authorityFile = "" }: EtcdPlace): Credentials {
  // The authority alone is not looked at, as upstream has it.
  if (keyFile === "" || certificateFile === "") return {};
  return {
    key: readFileSync(keyFile, "utf8"),
    cert: readFileSync(certificateFile, "utf8"),
    ...(authorityFile !== "" && { ca: readFileSync(authorityFile, "utf8") }),
  };
}

export class EtcdGatewayClient implements EtcdClient {
  private readonly place: EtcdPlace;
  private readonly credentials: Credentials;
  private readonly open = new Set<ClientRequest>();
  private preferred = 0;
  private token: string | undefined;

  /** @throws Error when a file of the certificates cannot be read. */
  constructor(place: EtcdPlace) {
    this.place = place;
    this.credentials = readCredentials(place);
  }

  async get(key: string): Promise<EtcdRange> {
    return this.range({ key: encode(key) });
  }

  async list(prefix: string): Promise<EtcdRange> {
    return this.range({ key: encode(prefix), range_end: endOfPrefix(prefix) });
  }

  async put(key: string, value: string, grant: string): Promise<void> {
    await this.call("/v3/kv/put", { key: encode(key), value: encode(value), lease: grant });
  }

  async create(key: string, value: string, grant: string): Promise<boolean> {
    const answer = await this.call("/v3/kv/txn", {
      compare: [{ key: encode(key), target: "VERSION", result: "EQUAL", version: "0" }],
      success: [{ request_put: { key: encode(key), value: encode(value), lease: grant } }],
    });
    return answer["succeeded"] === true;
  }

  async delete(key: string): Promise<void> {
    await this.call("/v3/kv/deleterange", { key: encode(key) });
  }

  async grant(seconds: number): Promise<EtcdGrant> {
    const answer = await this.call("/v3/lease/grant", { TTL: String(seconds) });
    return { id: textOf(answer["ID"]), seconds: Number(textOf(answer["TTL"])) };
  }

  async revoke(grant: string): Promise<void> {
    await this.call("/v3/lease/revoke", { ID: grant });
  }

  async timeToLive(grant: string): Promise<number> {
    const answer = await this.call("/v3/lease/timetolive", { ID: grant });
    return Number(textOf(answer["TTL"], "-1"));
  }

  watch(prefix: string, fromRevision: number, watcher: EtcdWatcher): () => void {
    const watch = new GatewayWatch(watcher);
    const body = {
      create_request: {
        key: encode(prefix),
        range_end: endOfPrefix(prefix),
        start_revision: String(fromRevision),
        progress_notify: true,
      },
    };
    void this.openWatch(body, watch);
    return () => watch.stop();
  }

  close(): Promise<void> {
    for (const request of this.open) request.destroy();
    this.open.clear();
    return Promise.resolve();
  }

  private async range(body: JsonObject): Promise<EtcdRange> {
    const answer = await this.call("/v3/kv/range", body);
    return {
      revision: revisionOf(answer),
      values: listOf(answer["kvs"]).map((kv) => valueOf(mappingOf(kv))),
    };
  }

  /** @throws FlannelError. */
  private async call(path: string, body: JsonObject): Promise<JsonObject> {
    const answer = await this.askAny(path, body);
    if (answer.status === 401 || /invalid auth token/.test(answer.text)) {
      // A token ends by itself after some minutes.
      this.token = undefined;
      return this.read(path, await this.askAny(path, body));
    }
    return this.read(path, answer);
  }

  private read(path: string, { status, text }: Answer): JsonObject {
    let value: JsonValue;
    try {
      value = parseJson(text);
    } catch (error) {
      if (status === 404) throw new FlannelError("flannel-store-refused", WORDS.etcdGatewayMissing({ path }));
      throw unreachable(`etcd answers ${path} with status ${status} and no JSON: ${messageOf(error)}`);
    }
    const answer = mappingOf(value);
    if (status === 200) return answer;
    const message = textOf(answer["error"] ?? answer["message"], `status ${status}`);
    // 14, 503: no leader, or it is on its way; 4, 504: not in time.
    const isTransient = status >= 500 || answer["code"] === 14 || answer["code"] === 4;
    if (isTransient) throw unreachable(`etcd: ${message}`);
    throw new FlannelError("flannel-store-refused", `etcd refuses ${path}: ${message}`);
  }

  private async askAny(path: string, body: JsonObject): Promise<Answer> {
    const { endpoints } = this.place;
    const reasons: string[] = [];
    for (let tries = 0; tries < endpoints.length; tries++) {
      const endpoint = endpoints[this.preferred % endpoints.length] ?? "";
      try {
        if (path !== "/v3/auth/authenticate") await this.authenticate(endpoint);
        return await this.ask(endpoint, path, body);
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        reasons.push(`${endpoint}: ${error.message}`);
        this.preferred = (this.preferred + 1) % endpoints.length;
      }
    }
    throw unreachable(`etcd does not answer: ${reasons.join("; ")}`);
  }

  private async authenticate(endpoint: string): Promise<void> {
    const { username = "", password = "" } = this.place;
    if (username === "" || this.token !== undefined) return;
    const path = "/v3/auth/authenticate";
    const answer = this.read(path, await this.ask(endpoint, path, { name: username, password }));
    this.token = textOf(answer["token"], "");
  }

  private start(
    endpoint: string,
    path: string,
    answered: (response: IncomingMessage) => void,
  ): ClientRequest {
    const url = new URL(path, endpoint);
    const headers = {
      "content-type": "application/json",
      // A member that is cut off from the others must not answer as if it knew.
      "grpc-metadata-hasleader": "true",
      ...(this.token !== undefined && { authorization: this.token }),
    };
    const request =
      url.protocol === "https:"
        ? httpsRequest(url, { method: "POST", headers, ...this.credentials }, answered)
        : httpRequest(url, { method: "POST", headers }, answered);
    this.open.add(request);
    request.on("close", () => this.open.delete(request));
    return request;
  }

  private ask(endpoint: string, path: string, body: JsonObject): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => reject(new NoAnswer(error.message));
      let request: ClientRequest;
      try {
        request = this.start(endpoint, path, (response) => {
          const parts: Buffer[] = [];
          let bytes = 0;
          response.on("data", (part: Buffer) => {
            bytes += part.length;
            if (bytes > LIMITS.httpResponseBytesMax) response.destroy(new Error("the answer is too long"));
            else parts.push(part);
          });
          response.on("error", fail);
          response.on("end", () =>
            resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString("utf8") }),
          );
        });
      } catch (error) {
        fail(new Error(`${endpoint} is not an address: ${messageOf(error)}`));
        return;
      }
      request.on("error", fail);
      request.setTimeout(CALL_MS, () => request.destroy(new Error(`no answer in ${CALL_MS} ms`)));
      request.end(JSON.stringify(body));
    });
  }

  private async openWatch(body: JsonObject, watch: GatewayWatch): Promise<void> {
    const { endpoints } = this.place;
    const endpoint = endpoints[this.preferred % endpoints.length] ?? "";
    try {
      await this.authenticate(endpoint);
      if (watch.isOver) return;
      const request = this.start(endpoint, "/v3/watch", (response) => watch.read(response));
      watch.request = request;
      request.on("error", (error) => watch.end(error.message));
      request.setTimeout(SILENCE_MS, () => request.destroy(new Error("no message for too long")));
      // Go's server answers on HTTP/1 once the whole request is there; the watch goes on behind its end.
      request.end(JSON.stringify(body));
    } catch (error) {
      this.preferred = (this.preferred + 1) % Math.max(endpoints.length, 1);
      watch.end(messageOf(error));
    }
  }
}

/** One watch: a stream of JSON objects, one a line. */
class GatewayWatch {
  request: ClientRequest | undefined;
  isOver = false;
  private readonly watcher: EtcdWatcher;
  private rest = "";

  constructor(watcher: EtcdWatcher) {
    this.watcher = watcher;
  }

  stop(): void {
    this.isOver = true;
    this.request?.destroy();
  }

  end(message: string): void {
    if (this.isOver) return;
    this.stop();
    this.watcher.ended(message);
  }

  read(response: IncomingMessage): void {
    response.setEncoding("utf8");
    response.on("data", (part: string) => {
      this.rest += part;
      if (this.rest.length > LIMITS.jsonBytesMax) this.end("a line of the watch is too long");
      const lines = this.rest.split("\n");
      this.rest = lines.pop() ?? "";
      for (const line of lines) this.take(line);
    });
    response.on("error", (error) => this.end(error.message));
    response.on("end", () => this.end("the server has closed it"));
    response.on("close", () => this.end("the connection is gone"));
  }

  private take(line: string): void {
    if (this.isOver || line === "") return;
    let message: JsonObject;
    try {
      message = mappingOf(parseJson(line));
    } catch (error) {
      this.end(`its message is not JSON: ${messageOf(error)}`);
      return;
    }
    const result = mappingOf(message["result"]);
    if (message["error"] !== undefined) {
      this.end(textOf(mappingOf(message["error"])["message"], JSON.stringify(message["error"])));
      return;
    }
    const compacted = Number(textOf(result["compact_revision"]));
    if (compacted > 0) {
      this.stop();
      this.watcher.compacted(compacted);
      return;
    }
    if (result["canceled"] === true) {
      this.end(textOf(result["cancel_reason"], "etcd has cancelled it"));
      return;
    }
    const events = listOf(result["events"]).map((event): EtcdEvent => {
      const fields = mappingOf(event);
      return {
        type: fields["type"] === "DELETE" ? "delete" : "put",
        value: valueOf(mappingOf(fields["kv"])),
      };
    });
    if (events.length > 0) this.watcher.changed(events, revisionOf(result));
  }
}
