/**
 * Frames of a running cluster as they pass, as one pcapng stream. Who watches a device sees it in the cluster itself and in
 * no copy of it, so questions leave no frames here.
 */
import type { Context } from "hono";
import { stream as streamBytes } from "hono/streaming";
import { LIMITS } from "#core/base/limits.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { FrameWatcher } from "#dataplane/device/device.ts";
import { MemoryDevice } from "#dataplane/device/memory-pair.ts";
import { PcapngWriter } from "#dataplane/device/pcapng.ts";
import type { Cluster } from "../cluster.ts";
import { RequestError } from "../request-error.ts";
import { CAPTURE_EPOCH_MS } from "../trace/capture.ts";
import { findTraceEnd } from "../trace/find-trace-end.ts";
import { deviceOfPort } from "../views/vfp-ports.ts";
import { ApiError } from "./error-details.ts";
import type { HeldCluster } from "./held-cluster.ts";
import { refuseRequest } from "./requests.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();
const TOO_MANY_REQUESTS = 429;
const SEGMENT = "underlay";
const PORT_PREFIX = "port/";
const NODE_PREFIX = "node/";
/** The segment's port of the router. */
const ROUTER = "router";

type Direction = "in" | "out";

/** A device, and the way that frames go there as the capture tells it; absent: frames of the other way are not of interest. */
interface Spot {
  readonly device: MemoryDevice;
  readonly in?: Direction | "unsaid";
  readonly out?: Direction | "unsaid";
}

function isMemory(device: unknown): device is MemoryDevice {
  return device instanceof MemoryDevice;
}

/**
 * Each frame on the segment once: as it enters. On a physical host's switch (Azure) as nodes and the router send it; other
 * machines beside them are not seen there.
 */
function segmentSpots({ underlay, nodes }: Cluster): readonly Spot[] {
  const devices = underlay.segment.listDevices();
  const enters = (device: unknown): readonly Spot[] => (isMemory(device) ? [{ device, in: "unsaid" }] : []);
  if (underlay.physicalHost === undefined) return [...devices.values()].flatMap(enters);
  const sent = nodes.map(({ uplink }): Spot => ({ device: uplink, out: "unsaid" }));
  return [...sent, ...enters(devices.get(ROUTER))];
}

/** @throws RequestError for a place that there is not. */
function spotsOf(cluster: Cluster, place: string): readonly Spot[] {
  if (place === SEGMENT) return segmentSpots(cluster);
  if (place.startsWith(PORT_PREFIX)) {
    // The switch's end of the cable: what the machine behind it sends comes in there.
    const device = deviceOfPort(cluster, place.slice(PORT_PREFIX.length));
    return isMemory(device) ? [{ device, in: "out", out: "in" }] : [];
  }
  const { compartment, ip, description } = findTraceEnd(cluster, place);
  const node = cluster.nodes.find(({ spec }) => description.reference === `${NODE_PREFIX}${spec.name}`);
  const device = node?.uplink ?? compartment?.interfaceOf(ip)?.device;
  if (isMemory(device)) return [{ device, in: "in", out: "out" }];
  throw new RequestError(
    "unknown-object",
    `${description.reference} has no cable of its own`,
    WORDS.adviceCapturePlaces,
  );
}

/** Watches the frames of one place. */
class PlaceWatcher implements FrameWatcher {
  readonly name: string;
  private readonly capture: Capture;
  private readonly number: number;
  private spots: readonly Spot[] = [];
  private ways: Spot | undefined;

  constructor(capture: Capture, name: string) {
    this.capture = capture;
    this.name = name;
    this.number = capture.writer.addInterface({ name });
  }

  /** Watches what the place is now: a pod that started anew has another cable. */
  follow(spots: readonly Spot[]): void {
    for (const { device } of this.spots)
      if (spots.every((each) => each.device !== device)) device.removeWatcher(this);
    for (const { device } of spots)
      if (this.spots.every((each) => each.device !== device)) device.addWatcher(this);
    this.spots = spots;
    this.ways = spots[0];
  }

  watch(packet: Packet, direction: Direction): void {
    const way = this.ways?.[direction];
    if (way !== undefined) this.capture.add(this.number, packet, way === "unsaid" ? undefined : way);
  }
}

/** What was seen and not yet sent. */
class Capture {
  readonly writer: PcapngWriter;
  private readonly held: HeldCluster;
  private readonly places: readonly PlaceWatcher[];
  private wakeUp: (() => void) | undefined;

  constructor(held: HeldCluster, names: readonly string[], epochMs: number) {
    this.held = held;
    this.writer = new PcapngWriter({ epochMs, bytesMax: LIMITS.liveCaptureBytesMax });
    this.places = names.map((name) => new PlaceWatcher(this, name));
  }

  /** @throws RequestError for a place that there is not. */
  begin(): void {
    const { cluster } = this.held.session;
    for (const place of this.places) {
      place.follow(spotsOf(cluster, place.name));
      cluster.outlets.add(place);
    }
  }

  /** The cluster has changed; what is gone is looked for again with the next change. */
  follow(): void {
    const { cluster } = this.held.session;
    for (const place of this.places) {
      let spots: readonly Spot[] = [];
      try {
        spots = spotsOf(cluster, place.name);
      } catch (error) {
        if (!(error instanceof RequestError)) throw error;
      }
      place.follow(spots);
    }
  }

  end(cluster: Cluster): void {
    for (const place of this.places) {
      place.follow([]);
      cluster.outlets.delete(place);
    }
  }

  add(number: number, packet: Packet, direction: Direction | undefined): void {
    const timestampMs = this.held.session.cluster.clock.nowMs;
    const seen = { interface: number, timestampMs, frame: packet.frame };
    this.writer.writePacket(direction === undefined ? seen : { ...seen, direction });
    this.wake();
  }

  wake(): void {
    this.wakeUp?.();
    this.wakeUp = undefined;
  }

  /** Resolves with the next frame, event or call of `wake`. @returns whether there was an event. */
  async next(): Promise<boolean> {
    let isChanged = false;
    await new Promise<void>((resolve) => {
      const forget = this.held.events.onNext(() => {
        isChanged = true;
        this.wake();
      });
      this.wakeUp = (): void => {
        forget();
        resolve();
      };
    });
    return isChanged;
  }
}

/** The clock of a real cluster is that of the caller; that of a simulated one counts from a moment of its own. */
function epochOf(held: HeldCluster, now: string | undefined): number {
  if (held.live === undefined || now === undefined) return CAPTURE_EPOCH_MS;
  if (!/^\d{1,15}$/.test(now))
    return refuseRequest(`now is ${JSON.stringify(now)}`, "Give milliseconds since 1970.");
  return Math.max(0, Math.round(Number(now) - held.session.cluster.clock.nowMs));
}

/** Streams what is seen until the listener goes or the cluster ends. A listener that is too slow loses frames, which are counted. */
export async function streamCapture(context: Context, held: HeldCluster): Promise<Response> {
  if (held.openStreams >= LIMITS.apiEventStreamsMax)
    throw new ApiError(
      TOO_MANY_REQUESTS,
      "api-request-invalid",
      `${LIMITS.apiEventStreamsMax} streams are open already`,
      "Close one of them.",
    );
  const asked = context.req.queries("at") ?? [];
  const names = [...new Set(asked.length === 0 ? [SEGMENT] : asked)];
  if (names.length > LIMITS.capturePlacesMax)
    return refuseRequest(`${names.length} places are named`, `Name ${LIMITS.capturePlacesMax} at most.`);
  const capture = new Capture(held, names, epochOf(held, context.req.query("now")));
  const { cluster } = await held.inTurn(async (session) => {
    await session.raise();
    capture.begin();
    return session;
  });
  context.header("content-type", "application/x-pcapng");
  return streamBytes(context, async (stream) => {
    held.openStreams++;
    stream.onAbort(() => capture.wake());
    try {
      while (!stream.aborted && !held.isEnding) {
        const bytes = capture.writer.take();
        if (bytes.length > 0) await stream.write(bytes);
        else if ((await capture.next()) && !held.isEnding) await held.inTurn(() => capture.follow());
      }
    } finally {
      held.openStreams--;
      capture.end(cluster);
    }
  });
}
