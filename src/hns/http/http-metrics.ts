/** What a served HNS counts, as Prometheus' text format writes it. */

import type { FaultStatus } from "../failures/faults/fault.ts";

/** Upper bounds of the buckets of a call's duration, in seconds. */
const BUCKETS: readonly number[] = [0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

type Labels = Readonly<Record<string, string>>;

interface Histogram {
  readonly labels: Labels;
  /** One per bound, and one for what is slower; not cumulative. */
  readonly counts: number[];
  sumSeconds: number;
}

/** One call that was answered. */
export interface MeasuredCall {
  readonly operation: string;
  /** The kind of object; empty for calls about none. */
  readonly kind: string;
  /** `ok`, or the name of the error. */
  readonly result: string;
  readonly seconds: number;
}

/** What is known at the moment of asking. */
export interface ServedNumbers {
  readonly profile: string;
  readonly version: string;
  /** How many there are of each kind. */
  readonly objects: Readonly<Record<string, number>>;
  readonly listeners: number;
  /** Undefined without a store that keeps anything. */
  readonly storeWrites: number | undefined;
  /** How often the disk failed, by reason; undefined without a store that keeps anything. */
  readonly storeFaults?: ReadonlyMap<string, number>;
  /** Why it cannot write now. */
  readonly storeFault?: string | undefined;
  /** Those in force. */
  readonly faults: readonly FaultStatus[];
}

function escapeLabel(value: string): string {
  return value.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n");
}

function sample(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`;
}

function family(name: string, type: string, help: string, samples: readonly string[]): string {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples].join("\n");
}

function histogramSamples(name: string, { labels, counts, sumSeconds }: Histogram): readonly string[] {
  let total = 0;
  const buckets = counts.map((count, index) => {
    total += count;
    const bound = BUCKETS[index];
    return sample(`${name}_bucket`, { ...labels, le: bound === undefined ? "+Inf" : String(bound) }, total);
  });
  return [...buckets, sample(`${name}_sum`, labels, sumSeconds), sample(`${name}_count`, labels, total)];
}

/** What injected faults have struck; nothing while none is in force. */
function faultFamilies(faults: readonly FaultStatus[]): readonly string[] {
  if (faults.length === 0) return [];
  const samples = (name: string, count: (status: FaultStatus) => number): readonly string[] =>
    faults.map((status) => sample(name, { fault: status.id, effect: status.fault.effect }, count(status)));
  const struck = "mullion_hns_fault_struck_total";
  const waiting = "mullion_hns_fault_waiting";
  return [
    family(
      struck,
      "counter",
      "Calls that injected faults struck.",
      samples(struck, (each) => each.struck),
    ),
    family(
      waiting,
      "gauge",
      "Calls that hang on injected faults.",
      samples(waiting, (each) => each.waiting),
    ),
  ];
}

const STORE_FAULTS = ["disk-full", "io-error", "read-only"] as const;

/** How the disk of the store is; nothing without one. */
function storeFamilies({ storeFaults, storeFault }: ServedNumbers): readonly string[] {
  if (storeFaults === undefined) return [];
  const now = "mullion_hns_store_fault";
  const total = "mullion_hns_store_faults_total";
  return [
    family(
      now,
      "gauge",
      "1 while the store cannot write, by reason.",
      STORE_FAULTS.map((reason) => sample(now, { reason }, reason === storeFault ? 1 : 0)),
    ),
    family(
      total,
      "counter",
      "Failures of the store's disk.",
      STORE_FAULTS.map((reason) => sample(total, { reason }, storeFaults.get(reason) ?? 0)),
    ),
  ];
}

/** Counters of one server. */
export class HnsMetrics {
  private readonly calls = new Map<string, { readonly labels: Labels; count: number }>();
  private readonly durations = new Map<string, Histogram>();
  private readonly notifications = new Map<string, number>();

  countCall({ operation, kind, result, seconds }: MeasuredCall): void {
    const key = `${operation}/${kind}`;
    const counter = this.calls.get(`${key}/${result}`) ?? { labels: { operation, kind, result }, count: 0 };
    counter.count++;
    this.calls.set(`${key}/${result}`, counter);
    const histogram = this.durations.get(key) ?? {
      labels: { operation, kind },
      counts: Array.from({ length: BUCKETS.length + 1 }, () => 0),
      sumSeconds: 0,
    };
    const bucket = BUCKETS.findIndex((bound) => seconds <= bound);
    const index = bucket < 0 ? BUCKETS.length : bucket;
    histogram.counts[index] = (histogram.counts[index] ?? 0) + 1;
    histogram.sumSeconds += seconds;
    this.durations.set(key, histogram);
  }

  countNotification(type: string): void {
    this.notifications.set(type, (this.notifications.get(type) ?? 0) + 1);
  }

  /** All of it as text. */
  format(numbers: ServedNumbers): string {
    const { profile, version, objects, listeners, storeWrites, faults } = numbers;
    const duration = "mullion_hns_call_duration_seconds";
    const families = [
      family("mullion_hns_info", "gauge", "The version of HNS that is served.", [
        sample("mullion_hns_info", { profile, version }, 1),
      ]),
      family(
        "mullion_hns_objects",
        "gauge",
        "Objects that the service keeps.",
        Object.entries(objects).map(([kind, count]) => sample("mullion_hns_objects", { kind }, count)),
      ),
      family(
        "mullion_hns_calls_total",
        "counter",
        "Calls that were answered; result is ok or the error.",
        [...this.calls.values()].map(({ labels, count }) => sample("mullion_hns_calls_total", labels, count)),
      ),
      family(
        duration,
        "histogram",
        "How long calls took.",
        [...this.durations.values()].flatMap((histogram) => histogramSamples(duration, histogram)),
      ),
      family(
        "mullion_hns_notifications_total",
        "counter",
        "Notifications that the service sent.",
        [...this.notifications].map(([type, count]) =>
          sample("mullion_hns_notifications_total", { type }, count),
        ),
      ),
      family("mullion_hns_listeners", "gauge", "Streams of notifications that are open.", [
        sample("mullion_hns_listeners", {}, listeners),
      ]),
      ...faultFamilies(faults),
      ...storeFamilies(numbers),
      ...(storeWrites === undefined
        ? []
        : [
            family("mullion_hns_store_writes_total", "counter", "Changes that the store has kept.", [
              sample("mullion_hns_store_writes_total", {}, storeWrites),
            ]),
          ]),
    ];
    return `${families.join("\n")}\n`;
  }
}
