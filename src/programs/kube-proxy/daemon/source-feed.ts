/** The objects of a `KubeSource`, an API server above all, followed through every interruption; events are written there. */
import type { Clock } from "#core/base/clock.ts";
import type { Prng } from "#core/base/prng.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import { Informer } from "#contracts/kubernetes/informer.ts";
import type { KubeDraft, KubeSource } from "#contracts/kubernetes/source.ts";
import type { EventSink, RecordedEvent } from "./event-recorder.ts";
import type { FollowHandler, FollowSelection, FollowedKind, ObjectFeed } from "./object-feed.ts";

export interface SourceFeedOptions {
  readonly source: KubeSource;
  readonly clock: Clock;
  /** Spreads attempts of many nodes. */
  readonly prng?: Prng;
  /** Of this node, for events. */
  readonly hostname: string;
}

const COMPONENT = "kube-proxy";

function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

function draftOf(event: RecordedEvent, hostname: string): KubeDraft<"Event"> {
  const { name, namespace, regarding, reason, message, type, action, count, firstMs, lastMs } = event;
  return {
    kind: "Event",
    metadata: { name, namespace },
    involvedObject: {
      apiVersion: "v1",
      kind: regarding.kind,
      name: regarding.name,
      uid: regarding.uid,
      ...(regarding.namespace === "" ? {} : { namespace: regarding.namespace }),
    },
    reason,
    message,
    type,
    action,
    count,
    firstTimestamp: timeText(firstMs),
    lastTimestamp: timeText(lastMs),
    source: { component: COMPONENT, host: hostname },
    reportingComponent: COMPONENT,
    reportingInstance: hostname,
  };
}

export class SourceFeed implements ObjectFeed {
  readonly mayHaveNodesLater = true;
  private readonly options: SourceFeedOptions;

  constructor(options: SourceFeedOptions) {
    this.options = options;
  }

  follow<Kind extends FollowedKind>(
    kind: Kind,
    selection: FollowSelection,
    handler: FollowHandler<Kind>,
  ): () => void {
    const { source, clock, prng } = this.options;
    const informer = new Informer(
      source,
      kind,
      {
        changed: (before, after) => handler.changed(before, after),
        listed: () => handler.listed(),
        failed: (error, retryInMs) => handler.failed(error, retryInMs),
      },
      { clock, selection, ...(prng === undefined ? {} : { prng }) },
    );
    informer.start();
    return () => informer.stop();
  }

  readonly events: EventSink = async (event) => {
    const { source, hostname } = this.options;
    const { count, lastMs, namespace, name } = event;
    if (count > 1) {
      const body = { count, lastTimestamp: timeText(lastMs) };
      try {
        await source.patch("Event", { namespace, name }, { type: "merge", body });
        return;
      } catch (error) {
        // Events are forgotten after an hour.
        if (!(error instanceof KubeError) || error.code !== "object-not-found") throw error;
      }
    }
    await source.create("Event", draftOf(event, hostname));
  };

  close(): Promise<void> {
    return this.options.source.close();
  }
}
