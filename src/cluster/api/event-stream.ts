/** Events as server-sent events: an id each, and `Last-Event-ID` goes on where a listener left off. */
import type { Context } from "hono";
import { type SSEStreamingApi, streamSSE } from "hono/streaming";
import { LIMITS } from "#core/base/limits.ts";
import type { GapEvent } from "./documents.ts";
import { ApiError } from "./error-details.ts";
import type { HeldCluster } from "./held-cluster.ts";
import { refuseRequest } from "./requests.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** Events written at a time, so that a stream never holds many texts. */
const BATCH_MAX = 256;
const TOO_MANY_REQUESTS = 429;

/** Where a stream begins: after `Last-Event-ID`, after `?after=`, or with what happens next. */
function beginOf(context: Context, newestId: number): number {
  const text = context.req.header("last-event-id") ?? context.req.query("after");
  if (text === undefined) return newestId;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  return refuseRequest(`${JSON.stringify(text)} is not an id of an event`, WORDS.adviceEventId);
}

async function writeBatch(stream: SSEStreamingApi, held: HeldCluster, lastId: number): Promise<number> {
  const { missed, events } = held.events.after(lastId);
  if (missed > 0) {
    const gap: GapEvent = { type: "gap", missed };
    await stream.writeSSE({ event: gap.type, data: JSON.stringify(gap) });
  }
  let sent = lastId;
  for (const event of events.slice(0, BATCH_MAX)) {
    if (stream.aborted) break;
    // Waits until the listener has read: a listener that does not read gets a gap later, and costs nothing now.
    await stream.writeSSE({ id: String(event.id), event: event.type, data: JSON.stringify(event) });
    sent = event.id;
  }
  return sent;
}

/** Streams events until the listener goes or the cluster ends. */
export function streamEvents(context: Context, held: HeldCluster): ReturnType<typeof streamSSE> {
  if (held.openStreams >= LIMITS.apiEventStreamsMax) {
    throw new ApiError(
      TOO_MANY_REQUESTS,
      "api-request-invalid",
      `${LIMITS.apiEventStreamsMax} event streams are open already`,
      "Close one of them.",
    );
  }
  // An id from the future is of a cluster that is gone: this one begins with what happens next.
  let lastId = Math.min(beginOf(context, held.events.newestId), held.events.newestId);
  return streamSSE(context, async (stream) => {
    held.openStreams++;
    const waiting: { wakeUp?: () => void } = {};
    stream.onAbort(() => waiting.wakeUp?.());
    try {
      // Tells the listener that it is heard from now on, before the first event.
      await stream.write(": events follow\n\n");
      while (!stream.aborted && !held.isEnding) {
        if (held.events.newestId > lastId) {
          lastId = await writeBatch(stream, held, lastId);
          continue;
        }
        await new Promise<void>((resolve) => {
          const forget = held.events.onNext(resolve);
          waiting.wakeUp = () => {
            forget();
            resolve();
          };
        });
      }
    } finally {
      held.openStreams--;
    }
  });
}
