/** Puts into words what a port does to a followed packet. */
import type { Provenance, Recorder, RuleReference, TraceEvent } from "#core/base/recorder.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { formatIp } from "#core/net/ip.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { FlowKey } from "./flow-key.ts";
import type { ChainStep, LayerFlow, RuleMatch } from "./flows/layer-flow.ts";
import type { Layer } from "./layer.ts";
import type { LbnatBackEnd, VfpDirection, Rule } from "./rule.ts";
import { summarizeTransposition, describeTransposition } from "./listing/transposition-words.ts";
import type { Transposition } from "./actions/transposition.ts";

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
  private direction: VfpDirection;
  private readonly nowMs: number;

  constructor(recorder: Recorder, port: NamedPort, packet: Packet, direction: VfpDirection, nowMs: number) {
    this.recorder = recorder;
    this.port = port;
    this.packet = packet;
    this.direction = direction;
    this.nowMs = nowMs;
  }

  /** Steps from here on stand in the other direction. */
  hairpinTo(direction: VfpDirection): void {
    this.direction = direction;
  }

  /** `change` is what the rule made of the packet. */
  matched(
    layer: Layer,
    { match, backEnd }: Pick<ChainStep, "match" | "backEnd">,
    change: Transposition,
  ): void {
    this.record({
      ...this.base(),
      kind: "layer",
      layer: layer.definition.name,
      group: match.group.name,
      rule: referenceOf(match.rule),
      outcome: "rule",
      text: describeMatch(layer, match.rule, backEnd, change),
      ...inferredBy(match.rule),
    });
  }

  followed(layer: Layer, flow: LayerFlow): void {
    const { match } = flow.pair.decision;
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
    if (layer.definition.isShownWhenEmpty === false && groups.every((group) => group.size === 0)) {
      const known = groups.some((group) => group.findMissNote(key) !== undefined);
      if (!known) return;
    }
    const near = groups.map((group) => ({ group, miss: group.findNearMiss(key) })).find(({ miss }) => miss);
    const event = { ...this.base(), kind: "layer", layer: layer.definition.name, outcome: "miss" } as const;
    if (near?.miss === undefined) {
      const note = groups.map((group) => group.findMissNote(key)).find((each) => each !== undefined);
      const text = groups.length === 0 ? "no rules" : "no rule matches";
      this.record(note === undefined ? { ...event, text } : { ...event, text: note.text, code: note.code });
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

  /** What all layers together do to such packets is kept for the next ones. */
  kept(total: Transposition): void {
    const transposition = describeTransposition(total);
    const text = `cached for later packets: ${summarizeTransposition(transposition)}`;
    this.record({ ...this.base(), kind: "unified-flow", text, transposition });
  }

  private base(): {
    readonly node: string;
    readonly place: string;
    readonly port: string;
    readonly direction: VfpDirection;
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

function describeMatch(
  layer: Layer,
  rule: Rule,
  backEnd: LbnatBackEnd | undefined,
  { pops, push }: Transposition,
): string {
  const words = [rule.isStateful && layer.definition.isStateful ? "matched, flow made" : "matched"];
  if (backEnd !== undefined && rule.action.type === "lbnat") {
    const count = rule.action.backEnds.length;
    const choice = count === 1 ? "its only back end" : `one of ${count} back ends`;
    words.push(`to ${formatIp(backEnd.ip)}:${backEnd.port}, ${choice}`);
  }
  if (pops) words.push("out of its tunnel");
  if (push !== undefined) {
    const { kind, id, destination } = push.fields;
    words.push(`into ${kind === "vxlan" ? "VXLAN" : "NVGRE"} ${id} to ${formatIp(destination)}`);
  }
  if (layer.definition.isHairpin === true && rule.skipsHairpin !== true) words.push("sent back (hairpin)");
  return words.join("; ");
}

function inferredBy(rule: Rule): { readonly inferred?: string } {
  return rule.inferred === undefined ? {} : { inferred: rule.inferred };
}
