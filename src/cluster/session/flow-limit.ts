/**
 * What keeps an answer about a flow from being one: the cluster that the input describes has something which is not
 * carried out here and could change what becomes of the packets.
 */
import type { ValueOf } from "#core/base/shape.ts";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { PROBLEM_PLACE } from "#core/catalogue/file-problem.ts";
import type { PolicyPod } from "#contracts/kubernetes/network-policy.ts";
import type { Ip } from "#core/net/ip.ts";

/** One end of a flow, as far as limits look at it. */
export interface FlowEnd {
  /** `pod/default/web`, `node/win-1`, `service/default/web`, an address, or the name of an outside host. */
  readonly reference: string;
  readonly kind: "pod" | "node" | "service" | "outside" | "other";
  /** Of the machine; `outside` where there is none. */
  readonly os: "windows" | "linux" | "outside";
  /** Name of the node on which it is; undefined for Services and the outside. */
  readonly node: string | undefined;
  /** Its own; undefined for Services, and where nobody knows it. */
  readonly address?: Ip | undefined;
  /** What policies see of a pod. */
  readonly pod?: PolicyPod;
}

/** A flow that is about to be answered. */
export interface LimitedFlow {
  readonly source: FlowEnd;
  /** Whom the sender asks. */
  readonly target: FlowEnd;
  /** Where the packet goes; undefined when only a name is known. */
  readonly address: Ip | undefined;
  /** Those who may answer: the target, or the pods behind it. Empty when no machine here has the address. */
  readonly answerers: readonly FlowEnd[];
  readonly protocol: "tcp" | "udp" | "icmp";
  /** 0 for ICMP. */
  readonly port: number;
  /** The port of those who may answer, behind a Service; undefined when the objects do not tell. */
  readonly answererPort: number | undefined;
  /** A name is resolved first. */
  readonly isByName: boolean;
  /** Whom the resolver asks, with a name. */
  readonly nameServers?: readonly FlowEnd[];
}

/** What stands in the way of an answer, and what shows it. */
export const LIMIT_REASON = {
  text: "What could change the outcome.",
  fields: {
    code: { is: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES, text: "mullion explain CODE." },
    message: { is: "text", text: "One sentence without a full stop." },
  },
  optional: {
    where: { is: (): typeof PROBLEM_PLACE => PROBLEM_PLACE, text: "The object or text that shows it." },
  },
} as const;
export type LimitReason = ValueOf<typeof LIMIT_REASON>;

/** One cause for which flows are not judged. */
export interface FlowLimit extends LimitReason {
  /** True when it could change what becomes of the flow. */
  covers(flow: LimitedFlow): boolean;
  /** The same said of a flow that it covers, with the objects that concern it. Absent: as it is said of all. */
  reasonFor?(flow: LimitedFlow): LimitReason;
  /**
   * What `covers` asks of an end besides its kind, system and network, as text: ends with the same text are alike to it,
   * so that one of them may stand for the others. Absent: it asks nothing else.
   */
  kindOf?(flowEnd: FlowEnd): string;
}

/** The sentence with the place of what shows it, when that stands in a text. */
export function formatReason({ message, where }: LimitReason): string {
  return where === undefined || where.line === 0
    ? message
    : `${message} (${where.file}:${where.line}:${where.column})`;
}

/** What a limit says of a flow that it covers. */
export function reasonOf(limit: FlowLimit, flow: LimitedFlow): LimitReason {
  const { code, message, where } = limit.reasonFor?.(flow) ?? limit;
  return { code, message, ...(where === undefined ? {} : { where }) };
}
