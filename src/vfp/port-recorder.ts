/** Puts into words what a port does to a followed packet. */
import type { Provenance, Recorder, RuleReference, TraceEvent } from "../base/recorder.ts";
import type { KnowledgeCode } from "../knowledge/codes.ts";
import type { Packet } from "../wire/packet.ts";
import type { FlowKey } from "./flow-key.ts";
import type { LayerFlow } from "./layer-flow.ts";
import type { Layer, RuleMatch } from "./layer.ts";
import type { Direction, Rule } from "./rule.ts";

/** The port, as a trace names it. */
interface NamedPort {
  readonly id: string;
  readonly name: string;
  readonly node: string;
}

function referenceOf(rule: Rule): RuleReference {
  const provenance: Provenance = rule.provenance;
  return { id: rule.id, name: rule.name, priority: rule.priority, action: rule.action.type, provenance };
}

/** Keeps what happens during one walk and tells it at the end. */
export class PortRecorder {
  private readonly events: { readonly event: TraceEvent; readonly frame: Uint8Array }[] = [];
  private readonly recorder: Recorder;
  private readonly port: NamedPort;
  private readonly packet: Packet;
  private readonly direction: Direction;
  private readonly nowMs: number;

  constructor(recorder: Recorder, port: NamedPort, packet: Packet, direction: Direction, nowMs: number) {
    this.recorder = recorder;
    this.port = port;
    this.packet = packet;
    this.direction = direction;
    this.nowMs = nowMs;
  }

  matched(layer: Layer, match: RuleMatch): void {
    this.record({
      ...this.base(),
      kind: "layer",
      layer: layer.definition.name,
      group: match.group.name,
      rule: referenceOf(match.rule),
      outcome: "rule",
      text: match.rule.isStateful && layer.definition.isStateful ? "matched, flow made" : "matched",
      ...inferredBy(match.rule),
    });
  }

  followed(layer: Layer, flow: LayerFlow): void {
    const { match } = flow.pair;
    this.record({
      ...this.base(),
      kind: "layer",
      layer: layer.definition.name,
      group: match.group.name,
      rule: referenceOf(match.rule),
      outcome: "flow",
      text: flow.isMain ? "existing flow" : "answer of a flow",
      ...inferredBy(match.rule),
    });
  }

  /** Nothing matched and the layer lets pass. Says what almost matched. */
  missed(layer: Layer, key: FlowKey): void {
    const groups = layer.groups.filter(
      (group) => group.direction === this.direction && group.family === key.family,
    );
    const near = groups.map((group) => ({ group, miss: group.findNearMiss(key) })).find(({ miss }) => miss);
    const event = { ...this.base(), kind: "layer", layer: layer.definition.name, outcome: "miss" } as const;
    if (near?.miss === undefined) {
      this.record({ ...event, text: groups.length === 0 ? "no rules" : "no rule matches" });
      return;
    }
    const { rule, reason } = near.miss;
    const code = rule.missCodes?.[reason];
    this.record({
      ...event,
      group: near.group.name,
      rule: referenceOf(rule),
      text:
        reason === "protocols"
          ? "no rule for this protocol, only this one for others"
          : "this destination is an exception of",
      ...(code === undefined ? {} : { code }),
    });
  }

  dropped(code: KnowledgeCode, layer?: Layer, match?: RuleMatch): void {
    this.record({
      ...this.base(),
      kind: "drop",
      code,
      text: match === undefined ? "no rule lets it pass" : `dropped by ${match.rule.name}`,
      ...(layer === undefined ? {} : { layer: layer.definition.name }),
      ...(match === undefined
        ? {}
        : { group: match.group.name, rule: referenceOf(match.rule), ...inferredBy(match.rule) }),
    });
  }

  unified(): void {
    this.record({ ...this.base(), kind: "unified-flow", text: "follows the first fragment" });
  }

  private base(): {
    readonly node: string;
    readonly place: string;
    readonly port: string;
    readonly direction: Direction;
  } {
    return { node: this.port.node, place: this.port.name, port: this.port.id, direction: this.direction };
  }

  flush(): void {
    for (const { event, frame } of this.events)
      this.recorder.record(this.packet.tag, event, frame, this.nowMs);
  }

  private record(event: TraceEvent): void {
    this.events.push({ event, frame: this.packet.frame.slice() });
  }
}

function inferredBy(rule: Rule): { readonly inferred?: string } {
  return rule.inferred === undefined ? {} : { inferred: rule.inferred };
}
