/**
 * A trace as a capture file. Each place where the packet is a frame is an interface of its own: a stack's adapter, a cable,
 * and each switch port with VFP. Each frame carries what happened to it as its comment; that of a switch port names the
 * rules that decided.
 */
import { type Provenance, type RuleReference, type TraceEvent, nameOfPolicy } from "#core/base/recorder.ts";
import { PcapngWriter } from "#dataplane/device/pcapng.ts";
import type { HeardEvent } from "./trace-collector.ts";

/** The moment that captures of simulated time count from: 2025-01-01, so that equal runs give equal files. */
export const CAPTURE_EPOCH_MS = 1_735_689_600_000;

/** Steps at which a frame stands on an interface, and in which direction seen from there. */
const CAPTURED = { send: "out", forward: "out", wire: "out", deliver: "in", drop: undefined } as const;

/** What a capture is narrowed to. */
export interface CaptureScope {
  /** Only interfaces of this machine. */
  readonly node?: string;
  /** Only places whose names hold this text, or the switch port with this id. */
  readonly place?: string;
}

/** A frame as it is to be written. */
interface Shot {
  readonly name: string;
  readonly atMs: number;
  readonly frame: Uint8Array;
  readonly comment: string;
  readonly direction: "in" | "out" | undefined;
}

type PortEvent = Extract<TraceEvent, { readonly kind: "layer" | "unified-flow" | "drop" }>;

/** What one port did to a frame on its way through, in one direction. */
interface Passage {
  readonly port: string;
  readonly direction: "out" | "in";
  readonly heard: HeardEvent[];
}

function isCaptured(kind: string): kind is keyof typeof CAPTURED {
  return Object.hasOwn(CAPTURED, kind);
}

function nameProvenance({ object, name, policy }: Provenance): string {
  const owner = object === "default" ? `${name}'s defaults` : `${object} ${name}`;
  return policy === undefined ? owner : `${owner}, policy ${nameOfPolicy(policy)}`;
}

function nameRule({ action, name, priority, provenance }: RuleReference): string {
  return `${action} ${name} (priority ${priority}, from ${nameProvenance(provenance)})`;
}

/** One line for what a layer, or the port as a whole, did. */
function reportStep(event: PortEvent): string {
  const code = event.code === undefined ? "" : ` [${event.code}]`;
  if (event.kind === "unified-flow") return `unified flow: ${event.text}`;
  const { layer, group, rule } = event;
  const place = [layer, group].filter((part) => part !== undefined).join(" / ");
  const head = event.kind === "drop" ? "DROPPED" : "";
  const what = rule === undefined ? event.text : `${event.text}: ${nameRule(rule)}`;
  return `${[head, place].filter((part) => part !== "").join(" ")}: ${what}${code}`;
}

function isOfPort(
  event: TraceEvent,
): event is PortEvent & { readonly port: string; readonly direction: "out" | "in" } {
  return "port" in event && event.port !== undefined && "direction" in event && event.direction !== undefined;
}

/** The frame as it left the port, with all that the port did. */
function shotOfPassage({ direction, heard }: Passage): readonly Shot[] {
  const last = heard.at(-1);
  const first = heard[0];
  if (last === undefined || first === undefined) return [];
  const lines = heard.map(({ event }) => reportStep(event as PortEvent));
  return [
    {
      name: `${first.event.node}: ${first.event.place}`,
      atMs: last.atMs,
      frame: last.frame,
      comment: `${direction.toUpperCase()}\n${lines.join("\n")}`,
      direction,
    },
  ];
}

/** Steps of one port that follow each other are one frame. */
function shotsOf(heard: readonly HeardEvent[]): readonly Shot[] {
  const shots: Shot[] = [];
  let passage: Passage | undefined;
  const flush = (): void => {
    if (passage !== undefined) shots.push(...shotOfPassage(passage));
    passage = undefined;
  };
  for (const each of heard) {
    const { event, frame, atMs } = each;
    if (isOfPort(event)) {
      const { port, direction } = event;
      if (passage?.port !== port || passage.direction !== direction) flush();
      passage ??= { port, direction, heard: [] };
      passage.heard.push(each);
      continue;
    }
    flush();
    if (!isCaptured(event.kind)) continue;
    const isDrop = event.kind === "drop";
    const code = event.code === undefined ? "" : ` [${event.code}]`;
    shots.push({
      name: `${event.node}: ${event.place}`,
      atMs,
      frame,
      comment: isDrop ? `DROPPED: ${event.text}${code}` : event.text,
      direction: CAPTURED[event.kind],
    });
  }
  flush();
  return shots;
}

function isInScope({ event }: HeardEvent, { node, place }: CaptureScope): boolean {
  if (node !== undefined && event.node !== node) return false;
  if (place === undefined) return true;
  const port = "port" in event ? event.port : undefined;
  return (
    event.place.toLowerCase().includes(place.toLowerCase()) || port?.toLowerCase() === place.toLowerCase()
  );
}

/**
 * Writes the frames of a trace. Interfaces are named `node: place`. Times count from `epochMs`, so that equal traces give
 * equal files.
 */
export function captureTrace(
  heard: readonly HeardEvent[],
  epochMs: number,
  scope: CaptureScope = {},
): Uint8Array {
  const writer = new PcapngWriter({ epochMs });
  const interfaces = new Map<string, number>();
  for (const { name, atMs, frame, comment, direction } of shotsOf(
    heard.filter((each) => isInScope(each, scope)),
  )) {
    const known = interfaces.get(name) ?? writer.addInterface({ name });
    interfaces.set(name, known);
    const packet = { interface: known, timestampMs: atMs, frame, comment };
    writer.writePacket(direction === undefined ? packet : { ...packet, direction });
  }
  return writer.bytes();
}
