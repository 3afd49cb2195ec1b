/** `kubectl logs`: lines of text, and with `-f` those that come, until the client or the pod goes. */
import type { ServerResponse } from "node:http";
import type { LogLine, LogRequest, PodAccess, PodPlace } from "./pod-access.ts";

/** How often a followed log is looked at. */
const POLL_MS = 250;

function textOf(lines: readonly LogLine[], hasTimes: boolean): string {
  return lines.map(({ at, text }) => `${hasTimes ? `${at} ` : ""}${text}\n`).join("");
}

/** All logs that are followed. */
export class LogStreams {
  private readonly access: PodAccess;
  private readonly open = new Set<ServerResponse>();

  constructor(access: PodAccess) {
    this.access = access;
  }

  /** Writes the whole answer, or as long as the client listens. */
  async write(outgoing: ServerResponse, pod: PodPlace, request: LogRequest): Promise<void> {
    const { isFollowing, hasTimes, tailLines } = request;
    const all = (await this.access.logs(pod, 0)) ?? [];
    const shown = tailLines === undefined ? all : all.slice(Math.max(0, all.length - tailLines));
    outgoing.writeHead(200, { "content-type": "text/plain" });
    outgoing.write(textOf(shown, hasTimes));
    if (isFollowing) await this.follow(outgoing, pod, { hasTimes, last: all.at(-1)?.number ?? 0 });
    outgoing.end();
  }

  close(): void {
    for (const outgoing of this.open) outgoing.end();
    this.open.clear();
  }

  private async follow(
    outgoing: ServerResponse,
    pod: PodPlace,
    { hasTimes, last }: { readonly hasTimes: boolean; readonly last: number },
  ): Promise<void> {
    let after = last;
    this.open.add(outgoing);
    outgoing.flushHeaders();
    while (this.open.has(outgoing) && !outgoing.destroyed) {
      const lines = await this.access.logs(pod, after);
      if (lines === undefined) break;
      after = lines.at(-1)?.number ?? after;
      const isTaken = lines.length === 0 || outgoing.write(textOf(lines, hasTimes));
      // Who does not read gets no more until it does.
      if (isTaken || !outgoing.writableNeedDrain)
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      else await new Promise<void>((resolve) => outgoing.once("drain", resolve).once("close", resolve));
    }
    this.open.delete(outgoing);
  }
}
