/** Events of a followed packet → the steps of a report. */
import type { TraceEvent } from "#core/base/recorder.ts";
import { type KnowledgeCode, isKnowledgeCode } from "#core/catalogue/codes.ts";
import { formatHex } from "#core/base/encodings.ts";
import { type FieldValue, diffFields, listFields } from "#core/wire/text/fields.ts";
import { describeFrame } from "#core/wire/text/format.ts";
import type { HeardEvent } from "./trace-collector.ts";
import type { TraceLeg, TraceReport, TraceStep } from "./trace-report.ts";

/** What an event says beyond what every step has. */
function detailsOf(event: TraceEvent): Partial<TraceStep> {
  switch (event.kind) {
    case "send":
    case "forward":
    case "deliver":
      return { compartment: event.compartment };
    case "translate":
      return {
        compartment: event.compartment,
        hook: event.hook,
        ...(event.provenance === undefined ? {} : { provenance: event.provenance }),
      };
    case "layer":
      return {
        port: event.port,
        direction: event.direction,
        layer: event.layer,
        outcome: event.outcome,
        ...(event.group === undefined ? {} : { group: event.group }),
        ...(event.rule === undefined ? {} : { rule: event.rule }),
      };
    case "unified-flow":
      return {
        port: event.port,
        direction: event.direction,
        ...(event.transposition === undefined ? {} : { transposition: event.transposition }),
      };
    case "drop":
      return {
        ...(event.port === undefined ? {} : { port: event.port }),
        ...(event.direction === undefined ? {} : { direction: event.direction }),
        ...(event.layer === undefined ? {} : { layer: event.layer }),
        ...(event.group === undefined ? {} : { group: event.group }),
        ...(event.rule === undefined ? {} : { rule: event.rule }),
        ...(event.provenance === undefined ? {} : { provenance: event.provenance }),
      };
    case "pipeline":
      return { logical: event.logical };
    case "switch":
    case "wire":
      return {};
  }
}

function codeOf(event: TraceEvent): { readonly code?: KnowledgeCode } {
  return event.code !== undefined && isKnowledgeCode(event.code) ? { code: event.code } : {};
}

/** How a direction ended, seen from its last events: those after a program has passed it on, if one has. */
function endOf(all: readonly HeardEvent[]): TraceLeg["end"] {
  const heard = all.slice(all.findLastIndex(({ event }) => event.kind === "send") + 1);
  if (heard.some(({ event }) => event.kind === "deliver")) return "delivered";
  return heard.some(({ event }) => event.kind === "drop") ? "dropped" : "lost";
}

/** Builds one direction. Times count from its first event. */
export function buildLeg(heard: readonly HeardEvent[]): TraceLeg {
  const startMs = heard[0]?.atMs ?? 0;
  let previous: readonly FieldValue[] | undefined;
  const steps = heard.map(({ event, frame, atMs }, index): TraceStep => {
    const fields = listFields(frame);
    const changes = previous === undefined ? [] : diffFields(previous, fields);
    previous = fields;
    return {
      number: index + 1,
      // Microseconds are the finest that delays are given in; more digits would be rounding noise.
      atMs: Math.round((atMs - startMs) * 1_000) / 1_000,
      node: event.node,
      place: event.place,
      kind: event.kind,
      text: event.text,
      ...detailsOf(event),
      changes,
      frame: describeFrame(frame),
      ...codeOf(event),
      ...(event.inferred === undefined ? {} : { inferred: event.inferred }),
    };
  });
  return { steps, end: endOf(heard) };
}

/** The report with the bytes of its frames; `heard` is all that was heard on the way. */
export function withBytes(report: TraceReport, heard: readonly HeardEvent[]): TraceReport {
  const { forward, reply } = report;
  const inLeg = (leg: TraceLeg, tag: 1 | 2): TraceLeg => {
    const frames = heard.filter((each) => each.tag === tag);
    const steps = leg.steps.map((step, index) => {
      const frame = frames[index]?.frame;
      return frame === undefined ? step : { ...step, bytes: formatHex(frame) };
    });
    return { ...leg, steps };
  };
  return {
    ...report,
    forward: inLeg(forward, 1),
    ...(reply === undefined ? {} : { reply: inLeg(reply, 2) }),
  };
}
