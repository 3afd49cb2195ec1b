/** The clock of a node beside those of others: what two machines wrote down of one moment. */
import { type Certainty, type EvidenceLine, type NodeCheck, check, shows } from "../check.ts";
import type { ClusterEvidence, KubeRecord, NodeEvidence } from "../evidence.ts";
import type { ClockReading } from "../host-clocks.ts";
import { nameOfPod, podsOn } from "./endpoints.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

/** Kerberos allows five minutes; what is less harms few. */
const OFF_SECONDS = 300;
/** A kubelet may write its Node every five minutes alone. */
const HEARTBEAT_SECONDS = 900;
/** So many nodes are not wrong together, where one is not. */
const OTHERS_MIN = 2;
const MIRROR = "kubernetes.io/config.mirror";

/** That the clock is not right, from one source. */
interface Sign {
  /** Alone it makes the finding so sure. */
  readonly certainty: Certainty;
  /** Undefined: the source does not tell. */
  readonly isBehind: boolean | undefined;
  readonly evidence: EvidenceLine;
}

/** Rounded, as people say it. */
const UNITS: readonly (readonly [least: number, unit: number, name: string])[] = [
  [172_800, 86_400, "days"],
  [7_200, 3_600, "hours"],
  [120, 60, "minutes"],
];

function length(seconds: number): string {
  const [, unit = 1, name = "seconds"] = UNITS.find(([least]) => seconds >= least) ?? [];
  return `${Math.round(seconds / unit)} ${name}`;
}

/** What programs and w32tm say. */
function signOf({ kind, seconds, place }: ClockReading): readonly Sign[] {
  if (kind === "offset")
    return seconds <= OFF_SECONDS
      ? []
      : [
          {
            certainty: "likely",
            isBehind: undefined,
            evidence: shows(place, `w32tm: the server's time is ${length(seconds)} away`),
          },
        ];
  if (kind !== "early" || seconds === 0) return [];
  const evidence = shows(place, WORDS.certificateLater({ length: length(seconds) }));
  return [{ certainty: seconds > OFF_SECONDS ? "likely" : "possible", isBehind: true, evidence }];
}

/** The API server wrote when a pod was made, the kubelet when it took it: no kubelet takes a pod before it is made. */
function ofPods(node: NodeEvidence, cluster: ClusterEvidence): readonly Sign[] {
  for (const pod of podsOn(node, cluster)) {
    const { metadata, status } = pod.object;
    const seconds =
      (Date.parse(metadata.creationTimestamp ?? "") - Date.parse(status?.startTime ?? "")) / 1_000;
    // A static pod runs before the API server knows of it.
    if (!(seconds > OFF_SECONDS) || metadata.annotations?.[MIRROR] !== undefined) continue;
    const says = WORDS.podTakenEarly({ pod: nameOfPod(pod), length: length(seconds) });
    return [{ certainty: "likely", isBehind: true, evidence: shows(pod.place, says) }];
  }
  return [];
}

/** When a node that is ready was last reported, by its own clock. */
function heartbeatOf({ object }: KubeRecord<"Node">): number {
  const ready = object.status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True" ? Date.parse(ready.lastHeartbeatTime ?? "") / 1_000 : Number.NaN;
}

/** Kubelets of nodes that are ready reported within the last minutes: the times of one list lie side by side. */
function ofHeartbeats({ node }: NodeEvidence, { nodes }: ClusterEvidence): readonly Sign[] {
  if (node === undefined) return [];
  const own = heartbeatOf(node);
  const others = nodes
    .filter((each) => each !== node && each.place.file === node.place.file)
    .map(heartbeatOf)
    .filter((each) => !Number.isNaN(each));
  if (Number.isNaN(own) || others.length < OTHERS_MIN) return [];
  const [first, last] = [Math.min(...others), Math.max(...others)];
  if (last - first > HEARTBEAT_SECONDS) return [];
  const away = own < first ? first - own : own - last;
  if (away <= HEARTBEAT_SECONDS) return [];
  const says = WORDS.heartbeatAway({
    length: length(away),
    order: own < first ? "before" : "after",
    count: others.length,
  });
  return [{ certainty: "possible", isBehind: own < first, evidence: shows(node.place, says) }];
}

/** Two sources that agree are sure; two that do not are not. */
function certaintyOf(signs: readonly Sign[]): Certainty {
  const directions = new Set(signs.flatMap(({ isBehind }) => (isBehind === undefined ? [] : [isBehind])));
  if (directions.size > 1) return "possible";
  if (signs.length > 1) return "certain";
  return signs[0]?.certainty ?? "possible";
}

const find: NodeCheck["find"] = (node, cluster) => {
  const { clocks } = node.host;
  const signs = [
    ...ofPods(node, cluster),
    // One line of each kind: w32tm asks several times, and a certificate is refused at each try.
    ...(["offset", "early"] as const).flatMap((kind) =>
      clocks
        .filter((each) => each.kind === kind)
        .flatMap(signOf)
        .slice(0, 1),
    ),
    ...ofHeartbeats(node, cluster),
  ];
  if (signs.length === 0) return [];
  const unset = clocks.find(({ kind }) => kind === "unset");
  const [behind] = signs.flatMap(({ isBehind }) => isBehind ?? []);
  const how = behind === undefined ? "not right" : behind ? "behind" : "ahead";
  return [
    {
      certainty: certaintyOf(signs),
      message: `the clock of the node is ${how}`,
      evidence: [
        ...signs.map(({ evidence }) => evidence),
        ...(unset === undefined ? [] : [shows(unset.place, WORDS.clockUnset)]),
      ],
      breaks: WORDS.breaksClock,
    },
  ];
};

/** One question; what is there decides with what it can be asked. */
export const CLOCK_CHECKS: readonly NodeCheck[] = [
  check("clock-is-the-clusters", find),
  check("clock-is-right", find),
];
