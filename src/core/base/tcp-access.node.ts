/** Who may ask a service that listens on TCP, where every program and every page of a browser on the machine can knock. */
import { createHash, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";

/** A digest has one length, so that comparing says nothing about where two tokens differ. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** Whether a header Authorization carries `token`. Names of schemes have no case (RFC 9110 §11.1). */
export function bearerCheck(token: string): (authorization: string | undefined) => boolean {
  const wanted = digest(token);
  return (authorization = "") => {
    const isBearer = /^bearer /i.test(authorization);
    return timingSafeEqual(digest(authorization.slice("bearer ".length).trim()), wanted) && isBearer;
  };
}

/**
 * Whether a request means this service by its header Host: an address, `localhost` or `own`. A page that a browser loaded
 * under a name of its own, which then leads to 127.0.0.1 (DNS rebinding), asks under that name.
 */
export function isOwnHost(header: string | undefined, own: string): boolean {
  if (header === undefined) return true;
  const name = header
    .replace(/:\d*$/, "")
    .replace(/^\[([^\]]*)\]$/, "$1")
    .toLowerCase();
  return name === "localhost" || name === own.toLowerCase() || isIP(name) !== 0;
}
