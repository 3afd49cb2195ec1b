/** Requests to a CNS in the same process. */
import type { CnsService } from "./service.ts";
import type { HttpTransport } from "./transport.ts";

const PATH = /^[a-z]+:\/\/[^/]*(\/[^?#]*)/i;

/** Whatever host the request names, the service answers. */
export function transportTo(service: CnsService): HttpTransport {
  return ({ method, url, body = "" }) => service.handle(method, PATH.exec(url)?.[1] ?? "/", body);
}
