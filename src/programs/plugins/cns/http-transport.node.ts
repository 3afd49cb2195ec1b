/** Requests over sockets. */
import type { ClientRequest, IncomingMessage } from "node:http";
import { LIMITS } from "#core/base/limits.ts";
import type { HttpAnswer, HttpRequest, HttpTransport } from "./client.ts";

const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset by peer",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "no such host",
};

function causeOf(error: Error): string {
  const { code = "" } = error as NodeJS.ErrnoException;
  return CAUSES[code] ?? (error.message || code);
}

function readAnswer(response: IncomingMessage, done: (answer: HttpAnswer | Error) => void): void {
  let text = "";
  response.setEncoding("utf8");
  response.on("data", (part: string) => {
    text += part;
    if (text.length <= LIMITS.jsonBytesMax) return;
    response.destroy();
    done(new Error(`the answer is longer than ${LIMITS.jsonBytesMax} characters`));
  });
  response.on("error", (error) => done(new Error(causeOf(error), { cause: error })));
  response.on("end", () => done({ status: response.statusCode ?? 0, text }));
}

/** One connection for each request: a plugin's process makes few. */
export const SOCKET_TRANSPORT: HttpTransport = async ({ method, url, body, timeoutMs }: HttpRequest) => {
  const target = new URL(url);
  const isSecure = target.protocol === "https:";
  if (!isSecure && target.protocol !== "http:")
    throw new Error(`unsupported protocol scheme ${JSON.stringify(target.protocol.replace(":", ""))}`);
  const { request } = isSecure ? await import("node:https") : await import("node:http");
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  return new Promise<HttpAnswer>((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined = undefined;
    const done = (outcome: HttpAnswer | Error): void => {
      clearTimeout(timer);
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    };
    const sent: ClientRequest = request(target, { method, headers, agent: false }, (response) =>
      readAnswer(response, done),
    );
    timer = setTimeout(() => {
      done(new Error(`context deadline exceeded: no answer in ${timeoutMs / 1000} s`));
      sent.destroy();
    }, timeoutMs);
    sent.on("error", (error) => done(new Error(causeOf(error), { cause: error })));
    sent.end(body);
  });
};
