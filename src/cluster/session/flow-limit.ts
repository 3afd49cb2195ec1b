/**
 * What keeps an answer about a flow from being one: the cluster that the input describes has something which is not
 * carried out here and could change what becomes of the packets.
 */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { ProblemPlace } from "./session.ts";

/** One end of a flow, as far as limits look at it. */
export interface FlowEnd {
  /** `pod/default/web`, `node/win-1`, `service/default/web`, an address, or the name of an outside host. */
  readonly reference: string;
  readonly kind: "pod" | "node" | "service" | "outside" | "other";
  /** Of the machine; `outside` where there is none. */
  readonly os: "windows" | "linux" | "outside";
  /** Name of the node on which it is; undefined for Services and the outside. */
  readonly node: string | undefined;
  /** Namespace and labels of a pod. */
  readonly pod?: {
    readonly namespace: string;
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
  };
}

/** A flow that is about to be answered. */
export interface LimitedFlow {
  readonly source: FlowEnd;
  /** Whom the sender asks. */
  readonly target: FlowEnd;
  /** Those who may answer: the target, or the pods behind it. */
  readonly answerers: readonly FlowEnd[];
  readonly protocol: "tcp" | "udp" | "icmp";
  /** 0 for ICMP. */
  readonly port: number;
  /** A name is resolved first. */
  readonly isByName: boolean;
}

export interface FlowLimit {
  readonly code: KnowledgeCode;
  /** What stands in the way, one sentence without a full stop. */
  readonly message: string;
  /** The object or text that shows it. */
  readonly where?: ProblemPlace;
  /** True when it could change what becomes of the flow. */
  covers(flow: LimitedFlow): boolean;
}
