/** Carries requests to the control API of a running cluster. */
import { type IncomingMessage, request as httpRequest } from "node:http";
import { LIMITS } from "#core/base/limits.ts";
import { type ControlRequest, type ControlResponse, type Transport, refusalOf } from "./client.ts";
import { ApiError } from "./error-details.ts";
import type { ClusterPlace } from "./state-folder.node.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const UNAVAILABLE = 503;

export function notRunning(place: ClusterPlace, others: readonly string[] = []): ApiError {
  const running = others.filter((name) => name !== place.name);
  const elsewhere =
    running.length === 0 ? "" : ` There is also: ${running.join(", ")} (add --name ${running[0] ?? ""}).`;
  return new ApiError(
    UNAVAILABLE,
    "cluster-not-running",
    `no cluster ${JSON.stringify(place.name)} is running`,
    WORDS.adviceClusterNotRunning({ elsewhere }),
  );
}

function unreachable(place: ClusterPlace, why: string): ApiError {
  return new ApiError(
    UNAVAILABLE,
    "cluster-unreachable",
    `the cluster ${JSON.stringify(place.name)} does not answer: ${why}`,
    WORDS.adviceClusterUnreachable,
  );
}

/** Errors of a connection that was never made. */
const NOBODY_LISTENS: readonly string[] = ["ENOENT", "ECONNREFUSED"];

function describeFailure(place: ClusterPlace, error: Error): ApiError {
  const code = "code" in error ? String(error.code) : "";
  if (NOBODY_LISTENS.includes(code)) return notRunning(place);
  const isCut = code === "ECONNRESET" || code === "EPIPE";
  return unreachable(place, isCut ? "it closed the connection" : error.message);
}

async function readBody(response: IncomingMessage, place: ClusterPlace): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response) {
    const bytes = chunk as Buffer;
    length += bytes.length;
    if (length > LIMITS.httpResponseBytesMax) {
      response.destroy();
      throw unreachable(place, `its answer is longer than ${LIMITS.httpResponseBytesMax} bytes`);
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Requests over the socket of `place`. With `timeoutMs` an answer has to begin in that time. */
export function socketTransport(place: ClusterPlace, timeoutMs?: number): Transport {
  return ({ method, path, body }: ControlRequest): Promise<ControlResponse> =>
    new Promise((resolve, reject) => {
      const headers = body === undefined ? {} : { "content-type": "application/json" };
      const request = httpRequest({ socketPath: place.socket, host: "mullion", method, path, headers });
      request.on("error", (error) => {
        reject(error instanceof ApiError ? error : describeFailure(place, error));
      });
      if (timeoutMs !== undefined) {
        request.setTimeout(timeoutMs, () =>
          request.destroy(unreachable(place, `nothing came in ${timeoutMs} ms`)),
        );
      }
      request.on("response", (response) => {
        const status = response.statusCode ?? 0;
        readBody(response, place).then(
          (text) => resolve({ status, body: text }),
          (error: unknown) =>
            reject(error instanceof ApiError ? error : describeFailure(place, error as Error)),
        );
      });
      request.end(body);
    });
}

const OK = 200;

/**
 * Asks for what has no end, such as a capture: resolves when it begins. To end it, destroy it.
 * @throws ReportedError with what the API says when it refuses; ApiError when it is none.
 */
export function openStream(place: ClusterPlace, path: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ socketPath: place.socket, host: "mullion", path });
    request.on("error", (error) => reject(describeFailure(place, error)));
    request.on("response", (response) => {
      if (response.statusCode === OK) resolve(response);
      else readBody(response, place).then((text) => reject(refusalOf(text)), reject);
    });
    request.end();
  });
}
