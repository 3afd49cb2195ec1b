/**
 * The emulator's Kubernetes API: the subset that kubectl, kube-proxy and flanneld use, on any `KubeSource` with a
 * version. docs/reference/kubernetes-api.md lists it. Whatever is asked, the answer is an object or a `Status`.
 */
import { mappingOf } from "#core/base/json.ts";
import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { type Context, Hono } from "hono";
import { LIMITS } from "#core/base/limits.ts";
import { type Log, SILENT_LOG } from "#core/base/log.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import type { KubeObject } from "#contracts/kubernetes/objects.ts";
import type { KubePatch, KubeSource, Selection } from "#contracts/kubernetes/source.ts";

import { applyJsonPatch } from "../patch/json-patch.ts";
import { applyMergePatch } from "../patch/apply-patch.ts";
import { isScaled, patchOfScale, scaleOf } from "./scale.ts";
import { LogStreams } from "./log-streams.node.ts";
import { type PodAccess, checkContainer, readLogRequest } from "./pod-access.ts";
import { OPENAPI_V2_PROTOBUF, discoveryDocument, openApiV2Protobuf } from "./openapi.ts";
import { FieldValidation, type Validated, warningHeaders } from "./field-validation.ts";
import {
  type StatusDetails,
  badRequest,
  isDryRun,
  methodNotAllowed,
  parseBody,
  placed,
  readDeleteOptions,
  readPatch,
  statusOf,
  successStatus,
  unknownResource,
  writeOptionsOf,
} from "./requests.ts";
import { type RequestTarget, apiVersionOf, targetOf } from "./served-resources.ts";
import { type IncludeObject, tableOf, wantsTable } from "./table.ts";
import { type ServedSource, WatchStreams } from "./watch-stream.node.ts";
import { controlPlane } from "#data/words.js";

const WORDS = controlPlane();

const CREATED = 201;
const TOO_LARGE = 413;

export interface KubeApiOptions {
  readonly source: ServedSource;
  /** Which Kubernetes it is, as `/version` tells: `v1.34.4`. */
  readonly gitVersion: string;
  /** Milliseconds since 1970, for ages. */
  readonly nowMs: () => number;
  /** @throws KubeError `kubernetes-access-denied` for a request that may not ask. */
  readonly checkAccess: (authorization: string | undefined) => void;
  readonly log?: Log | undefined;
  /** How often watches get bookmarks; about once a minute. */
  readonly bookmarkMs?: number | undefined;
  /** What runs in pods; undefined: nothing. */
  readonly access?: PodAccess | undefined;
}

type AppContext = Context<{ Bindings: HttpBindings }>;

/** The body, as far as it may be long. @throws KubeError. */
async function readBody(context: AppContext): Promise<Uint8Array> {
  const { incoming } = context.env;
  const tooLarge = (): KubeError => {
    const limit = LIMITS.kubeRequestBytesMax;
    return new KubeError(
      "kubernetes-request-invalid",
      TOO_LARGE,
      `Request entity too large: limit is ${limit}`,
    );
  };
  if (Number(context.req.header("content-length") ?? 0) > LIMITS.kubeRequestBytesMax) throw tooLarge();
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of incoming as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > LIMITS.kubeRequestBytesMax) throw tooLarge();
      parts.push(part);
    }
  } catch (error) {
    if (error instanceof KubeError) throw error;
    throw badRequest("the body ended halfway");
  }
  return Buffer.concat(parts);
}

function isTrue(text: string | undefined): boolean {
  return text === "true" || text === "1";
}

function includeOf(context: AppContext): IncludeObject {
  const text = context.req.query("includeObject") ?? "Metadata";
  if (text === "None" || text === "Metadata" || text === "Object") return text;
  throw badRequest(`includeObject is ${JSON.stringify(text)}; it must be None, Metadata or Object`);
}

/** What a request is about, for its `Status`. */
function aboutOf(target: RequestTarget | undefined): StatusDetails {
  if (target === undefined) return {};
  const { resource, name } = target;
  return { ...(name === undefined ? {} : { name }), kind: resource.plural };
}

/** One served API. */
export class KubeApi {
  readonly app: Hono<{ Bindings: HttpBindings }> = new Hono();
  readonly watches: WatchStreams;
  readonly logs: LogStreams | undefined;
  private readonly options: KubeApiOptions;
  private readonly source: ServedSource;
  private readonly log: Log;
  private readonly validation = new FieldValidation();

  constructor(options: KubeApiOptions) {
    this.options = options;
    this.source = options.source;
    this.log = options.log ?? SILENT_LOG;
    this.watches = new WatchStreams(options.source, options.nowMs, options.bookmarkMs);
    this.logs = options.access === undefined ? undefined : new LogStreams(options.access);
    this.app.onError((error) => this.refuse(error, undefined));
    this.app.all("*", async (context) => this.answer(context));
  }

  private async answer(context: AppContext): Promise<Response> {
    const { path } = context.req;
    const target = targetOf(path);
    try {
      const isHealth = path === "/healthz" || path === "/livez" || path === "/readyz";
      if (isHealth) return new Response("ok");
      this.options.checkAccess(context.req.header("authorization"));
      if (target !== undefined) return await this.perform(context, target);
      if (path === "/openapi/v2" && (context.req.header("accept") ?? "").includes("protobuf")) {
        const headers = { "content-type": OPENAPI_V2_PROTOBUF };
        return new Response(Uint8Array.from(openApiV2Protobuf()), { headers });
      }
      const document = discoveryDocument(path, this.options.gitVersion);
      if (document === undefined) throw unknownResource();
      if (context.req.method !== "GET") throw methodNotAllowed();
      return Response.json(document);
    } catch (error) {
      return this.refuse(error, target);
    }
  }

  private refuse(error: unknown, target: RequestTarget | undefined): Response {
    if (!(error instanceof KubeError))
      this.log.write("error", "request to the Kubernetes API failed", { error });
    const status = statusOf(error, aboutOf(target));
    const headers: Record<string, string> = {};
    if (error instanceof KubeError && error.retryAfterSeconds !== undefined)
      headers["retry-after"] = String(error.retryAfterSeconds);
    // What is left of a body that is too long is not read.
    if (status.code === TOO_LARGE) headers["connection"] = "close";
    return Response.json(status, { status: status.code === 0 ? 500 : status.code, headers });
  }

  private async perform(context: AppContext, target: RequestTarget): Promise<Response> {
    const { method } = context.req;
    if (target.name === undefined) {
      if (method === "GET") return this.list(context, target);
      if (method === "POST") return this.create(context, target);
      throw methodNotAllowed();
    }
    if (target.subresource === "scale" && isScaled(target.resource.kind)) return this.scale(context, target);
    if (target.resource.kind === "Pod" && target.subresource === "log") return this.podLog(context, target);
    if (method === "GET") return this.get(context, target);
    if (method === "PUT") return this.update(context, target);
    if (method === "PATCH") return this.patch(context, target);
    if (method === "DELETE") return this.delete(context, target);
    throw methodNotAllowed();
  }

  /** Where a change is made: for good, or on a copy. */
  private placeOf(context: AppContext): KubeSource {
    return isDryRun((name) => context.req.query(name)) ? this.source.dryRun() : this.source;
  }

  private selectionOf(context: AppContext, { namespace }: RequestTarget): Selection {
    const labelSelector = context.req.query("labelSelector") ?? "";
    const fieldSelector = context.req.query("fieldSelector") ?? "";
    return { namespace, labelSelector, fieldSelector };
  }

  private async list(context: AppContext, target: RequestTarget): Promise<Response> {
    const { resource } = target;
    const selection = this.selectionOf(context, target);
    const isTable = wantsTable(context.req.header("accept"));
    if (isTrue(context.req.query("watch"))) return this.watch(context, target, selection, isTable);
    const { items, resourceVersion } = await this.source.list(resource.kind, selection);
    if (isTable) {
      const nowMs = this.options.nowMs();
      return Response.json(tableOf(resource, items, { include: includeOf(context), resourceVersion, nowMs }));
    }
    return Response.json({
      kind: `${resource.kind}List`,
      apiVersion: apiVersionOf(resource),
      metadata: { resourceVersion },
      items: items.map((object) => resource.toServed(object)),
    });
  }

  private async watch(
    context: AppContext,
    { resource }: RequestTarget,
    selection: Selection,
    isTable: boolean,
  ): Promise<Response> {
    const { req, env } = context;
    const timeout = req.query("timeoutSeconds") ?? "";
    if (!/^\d{0,9}$/.test(timeout))
      throw badRequest(`timeoutSeconds is not a number: ${JSON.stringify(timeout)}`);
    await this.watches.begin(env.outgoing, {
      resource,
      selection,
      resourceVersion: req.query("resourceVersion") ?? "",
      allowsBookmarks: isTrue(req.query("allowWatchBookmarks")),
      sendsInitialEvents: isTrue(req.query("sendInitialEvents")),
      timeoutSeconds: timeout === "" || Number(timeout) === 0 ? undefined : Number(timeout),
      table: isTable ? includeOf(context) : undefined,
    });
    return RESPONSE_ALREADY_SENT;
  }

  private async get(context: AppContext, target: RequestTarget): Promise<Response> {
    const { resource, namespace, name = "" } = target;
    writeOptionsOf(target);
    const object: KubeObject = await this.source.get(resource.kind, { namespace, name });
    if (!wantsTable(context.req.header("accept"))) return Response.json(resource.toServed(object));
    const { resourceVersion } = object.metadata;
    const nowMs = this.options.nowMs();
    return Response.json(
      tableOf(resource, [object], { include: includeOf(context), resourceVersion, nowMs }),
    );
  }

  /** What is sent, in its place; the source checks the rest. */
  private async readObject(context: AppContext, target: RequestTarget): Promise<Validated<KubeObject>> {
    const sent = placed(parseBody(await readBody(context), context.req.header("content-type")), target);
    const { value, warnings } = this.validation.ofObject(sent, context.req.query("fieldValidation") ?? "");
    const { metadata, ...rest } = target.resource.toStored(value) as { readonly metadata: object };
    // Nothing of an object but its place is certain here.
    return {
      value: { ...rest, metadata: { namespace: "", ...metadata } } as unknown as KubeObject,
      warnings,
    };
  }

  private async create(context: AppContext, target: RequestTarget): Promise<Response> {
    const { resource, namespace } = target;
    if (resource.isNamespaced && namespace === "") throw methodNotAllowed();
    const { value: draft, warnings } = await this.readObject(context, target);
    const stored = await this.placeOf(context).create(resource.kind, draft);
    return answerOf(resource.toServed(stored), warnings, CREATED);
  }

  private async update(context: AppContext, target: RequestTarget): Promise<Response> {
    const { resource } = target;
    const options = writeOptionsOf(target);
    const { value: object, warnings } = await this.readObject(context, target);
    const stored = await this.placeOf(context).update(resource.kind, object, options);
    return answerOf(resource.toServed(stored), warnings);
  }

  private async patch(context: AppContext, target: RequestTarget): Promise<Response> {
    const { resource, namespace, name = "" } = target;
    const options = writeOptionsOf(target);
    const sent = readPatch(await readBody(context), context.req.header("content-type"));
    const directive = context.req.query("fieldValidation") ?? "";
    const { value: patch, warnings } = this.validation.ofPatch(sent, resource, directive);
    if (resource.group === "events.k8s.io" && patch.type === "json") throw methodNotAllowed();
    const body = patch.type === "json" ? patch : { ...patch, body: eventPatch(target, patch.body) };
    const stored = await this.placeOf(context).patch(resource.kind, { namespace, name }, body, options);
    return answerOf(resource.toServed(stored), warnings);
  }

  private async podLog(context: AppContext, { namespace, name = "" }: RequestTarget): Promise<Response> {
    const { req, env } = context;
    if (req.method !== "GET") throw methodNotAllowed();
    const request = readLogRequest((each) => req.query(each));
    const place = { namespace, name };
    checkContainer(await this.source.get("Pod", place), req.query("container"));
    if (this.logs === undefined) throw badRequest(WORDS.podsDoNotRun);
    await this.logs.write(env.outgoing, place, request);
    return RESPONSE_ALREADY_SENT;
  }

  private async scale(
    context: AppContext,
    { resource, namespace, name = "" }: RequestTarget,
  ): Promise<Response> {
    const { method } = context.req;
    const contentType = context.req.header("content-type");
    const place = this.placeOf(context);
    const present: KubeObject = await place.get(resource.kind, { namespace, name });
    if (method === "GET") return Response.json(scaleOf(present));
    if (method !== "PUT" && method !== "PATCH") throw methodNotAllowed();
    const body = await readBody(context);
    const wanted =
      method === "PUT" ? parseBody(body, contentType) : patchedScale(present, readPatch(body, contentType));
    const patch: KubePatch = { type: "merge", body: patchOfScale(wanted) };
    return Response.json(scaleOf(await place.patch(resource.kind, { namespace, name }, patch)));
  }

  private async delete(context: AppContext, target: RequestTarget): Promise<Response> {
    const { resource, namespace, name = "", subresource } = target;
    if (subresource !== undefined) throw methodNotAllowed();
    const options = readDeleteOptions(await readBody(context), context.req.header("content-type"), (each) =>
      context.req.query(each),
    );
    const { metadata }: KubeObject = await this.source.get(resource.kind, { namespace, name });
    const place = options.isDry ? this.source.dryRun() : this.placeOf(context);
    await place.delete(resource.kind, { namespace, name }, options);
    return Response.json(successStatus({ name, kind: resource.plural, uid: metadata.uid }));
  }
}

/** An object, and what the client is warned of. */
function answerOf(object: object, warnings: readonly string[], status?: number): Response {
  const headers = new Headers(warningHeaders(warnings).map(([name, value]) => [name, value]));
  return Response.json(object, { headers, ...(status !== undefined && { status }) });
}

/** A `Scale` after a patch, without the version that only was read. */
function patchedScale(present: KubeObject, patch: KubePatch): unknown {
  const { metadata, ...scale } = scaleOf(present);
  const { resourceVersion: _, ...rest } = mappingOf(metadata);
  const before = { ...scale, metadata: rest };
  return patch.type === "json" ? applyJsonPatch(before, patch.body) : applyMergePatch(before, patch.body);
}

/** A patch of an event of events.k8s.io, in the core's names. */
function eventPatch(
  { resource }: RequestTarget,
  body: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (resource.group !== "events.k8s.io") return body;
  const { apiVersion: _, ...renamed } = resource.toStored({
    ...body,
    apiVersion: apiVersionOf(resource),
  }) as Record<string, unknown>;
  return renamed;
}
