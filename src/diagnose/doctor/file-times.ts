/**
 * When files were written, as far as what is in them tells it: HNS notes when an object changed, a kubelet when it last
 * reported its node, and log lines have their time. Files of different times contradict each other where nothing is wrong.
 */
import { mappingOf } from "#core/base/json.ts";
import { podsOn } from "./checks/endpoints.ts";
import { type ClusterEvidence, type HnsRecord, type NodeEvidence } from "./evidence.ts";
import type { Place } from "./place.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Windows counts tenths of microseconds from 1601. */
const TICKS_PER_MS = 10_000;
const EPOCH_OF_WINDOWS_MS = -11_644_473_600_000;

/** A moment that a file shows. */
interface Moment {
  readonly ms: number;
  readonly place: Place;
}

function latest(moments: readonly Moment[]): Moment | undefined {
  return moments.reduce<Moment | undefined>(
    (last, each) => (last === undefined || each.ms > last.ms ? each : last),
    undefined,
  );
}

/** Inferred: `Health.LastUpdateTime`, a FILETIME (hcn.md), is when HNS changed the object last; only its name says so. */
function changeOf({ v1, document, place }: HnsRecord): readonly Moment[] {
  const ticks = mappingOf(v1["Health"] ?? document["Health"])["LastUpdateTime"];
  if (typeof ticks !== "number" || ticks <= 0) return [];
  return [{ ms: ticks / TICKS_PER_MS + EPOCH_OF_WINDOWS_MS, place }];
}

/** The last change that a dump of HNS shows: the dump is not older. */
function lastChange({ networks, endpoints, namespaces, loadBalancers }: NodeEvidence): Moment | undefined {
  return latest([networks, endpoints, namespaces, loadBalancers].flat().flatMap(changeOf));
}

/** A kubelet reports every five minutes at least: the objects are not much younger than the last report. */
function lastReport({ nodes }: ClusterEvidence): Moment | undefined {
  return latest(
    nodes.flatMap(({ object, place }) =>
      (object.status?.conditions ?? []).flatMap(({ type, lastHeartbeatTime }) => {
        const ms = type === "Ready" ? Date.parse(lastHeartbeatTime ?? "") : Number.NaN;
        return Number.isNaN(ms) ? [] : [{ ms, place }];
      }),
    ),
  );
}

/** The last start of a pod of the node, which changes HNS. */
function lastStart(node: NodeEvidence, cluster: ClusterEvidence): Moment | undefined {
  return latest(
    podsOn(node, cluster).flatMap(({ object, place }) => {
      const ms = Date.parse(object.status?.startTime ?? "");
      return Number.isNaN(ms) ? [] : [{ ms, place }];
    }),
  );
}

function minuteOf({ ms }: Moment): string {
  return new Date(ms).toISOString().slice(0, "2026-01-01T00:00".length).replace("T", " ");
}

/** What is said where the dump of a node and the objects of the cluster are of different times. */
export interface TimesApart extends Place {
  readonly message: string;
}

/** Whether HNS and the objects were written more than an hour apart, as far as they tell. */
export function timesApart(node: NodeEvidence, cluster: ClusterEvidence): TimesApart | undefined {
  const dump = lastChange(node);
  if (dump === undefined) return undefined;
  const report = lastReport(cluster);
  if (report !== undefined && dump.ms > report.ms + HOUR_MS)
    return {
      ...dump.place,
      message: WORDS.dumpIsYounger({ dump: minuteOf(dump), objects: minuteOf(report) }),
    };
  const start = lastStart(node, cluster);
  if (start !== undefined && start.ms > dump.ms + HOUR_MS)
    return { ...dump.place, message: WORDS.dumpIsOlder({ dump: minuteOf(dump), objects: minuteOf(start) }) };
  return undefined;
}

const ISO_DATE = /\b(20\d\d)-(\d\d)-(\d\d)[T ]\d\d:\d\d/u;
/** Of klog in JSON: milliseconds since 1970. */
const EPOCH = /"ts":(\d{13})(?:\.|,)/u;
/** klog leaves the year out. */
const KLOG_DATE = /^[IWEF](\d\d)(\d\d) \d\d:\d\d:\d\d/u;

function dayOf(line: string, dumpMs: number): number | undefined {
  const [, year, month = "", day = ""] = ISO_DATE.exec(line) ?? [];
  if (year !== undefined) return Date.UTC(Number(year), Number(month) - 1, Number(day));
  const [, epoch] = EPOCH.exec(line) ?? [];
  if (epoch !== undefined) return Number(epoch) - (Number(epoch) % DAY_MS);
  const [, klogMonth, klogDay = ""] = KLOG_DATE.exec(line) ?? [];
  if (klogMonth === undefined) return undefined;
  const ms = Date.UTC(new Date(dumpMs).getUTCFullYear(), Number(klogMonth) - 1, Number(klogDay));
  // Of two years the one that is nearer.
  return ms > dumpMs + 182 * DAY_MS ? ms - 365 * DAY_MS : ms;
}

/** That a line of a log was written days before the last change of HNS, or undefined. The day alone is compared: zones differ. */
export function daysBefore(
  line: string,
  node: NodeEvidence,
): { readonly place: Place; readonly says: string } | undefined {
  const dump = lastChange(node);
  const day = dump === undefined ? undefined : dayOf(line, dump.ms);
  if (dump === undefined || day === undefined) return undefined;
  const days = Math.floor((dump.ms - day) / DAY_MS);
  if (days < 2) return undefined;
  return { place: dump.place, says: WORDS.logIsOlder({ dump: minuteOf(dump), days }) };
}
