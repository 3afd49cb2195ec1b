/**
 * Events of the group events.k8s.io are the core's under other names of fields (k8s.io/kubernetes,
 * `pkg/apis/events/v1/conversion.go`).
 */
import { type Fields, isFields } from "../../base/json.ts";
import type { KubeObject } from "../objects.ts";

const NAMES: readonly (readonly [ofGroup: string, ofCore: string])[] = [
  ["regarding", "involvedObject"],
  ["note", "message"],
  ["reportingController", "reportingComponent"],
  ["deprecatedSource", "source"],
  ["deprecatedFirstTimestamp", "firstTimestamp"],
  ["deprecatedLastTimestamp", "lastTimestamp"],
  ["deprecatedCount", "count"],
];

function renamed(value: Fields, names: ReadonlyMap<string, string>): Fields {
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [names.get(name) ?? name, field]));
}

const TO_CORE: ReadonlyMap<string, string> = new Map(NAMES);
const TO_GROUP: ReadonlyMap<string, string> = new Map(NAMES.map(([ofGroup, ofCore]) => [ofCore, ofGroup]));

/** What is sent to events.k8s.io as an Event of the core. What is none of either stays as it is, and is refused later. */
export function coreEvent(value: unknown): unknown {
  if (!isFields(value) || value["apiVersion"] !== "events.k8s.io/v1") return value;
  return { ...renamed(value, TO_CORE), apiVersion: "v1" };
}

export function eventOfGroup(object: KubeObject): object {
  return { ...renamed(object as unknown as Fields, TO_GROUP), apiVersion: "events.k8s.io/v1" };
}
