/** One question of the matrix: who asks whom for what, and what the table expects. */
import type { Expectation, FlowFacts, FlowName, FlowProtocol } from "#core/catalogue/expectations.ts";
import { type PageDifference, differenceOfTroubles, expectationOf } from "#core/catalogue/documentation.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Ip, IpFamily } from "#core/net/ip.ts";
import type { VerifySender } from "../model.ts";

/** Whom a cell asks. */
export interface CellTarget {
  /** As the user may write it: `pod/default/web`, `service/default/web`, an address. */
  readonly reference: string;
  /** Undefined when only a name is known. */
  readonly address: Ip | undefined;
  /** The name that is resolved first; undefined when the address is asked directly. */
  readonly name: string | undefined;
  /** 0 for ICMP. */
  readonly port: number;
  /** Of a DNS server: the name that it is asked for, which has its own address; absent for all others. */
  readonly question?: string;
  /** The built-in servers that may answer, by the names they call themselves; undefined: anybody. */
  readonly answerers: readonly string[] | undefined;
}

/**
 * How the cell is observed. `once`: one attempt. `sweep`: until each answerer has answered. `own`: until the sender
 * itself answered, or a connection got no answer. `same`: several attempts, one answerer. `later`: once more after the
 * time of affinity. `state`: nothing is sent.
 */
export type ProbeKind = "once" | "sweep" | "own" | "same" | "later" | "state";

export interface Cell {
  /** Unique in a report: `pod-to-pod-ip tcp pod/default/a pod/default/b 8080`. */
  readonly id: string;
  /** `cluster-file` for an expectation that the user wrote. */
  readonly flow: FlowName | "cluster-file";
  readonly protocol: FlowProtocol;
  readonly relation: FlowFacts["relation"];
  readonly source: VerifySender | undefined;
  readonly sourceReference: string;
  readonly sourceOs: FlowFacts["sourceOs"];
  readonly target: CellTarget;
  readonly targetOs: FlowFacts["targetOs"];
  readonly probe: ProbeKind;
  /** Seconds until the attempt of `later`. */
  readonly waitS: number;
  /** Among how many the answerer of `own` is chosen. */
  readonly among: number;
  /** The row of the table that decides. */
  readonly row: string;
  readonly documentedIn: string;
  readonly expected: Expectation;
  /** How that differs from what the Kubernetes page says; undefined where it does not. */
  readonly page: PageDifference | undefined;
  /** How many cells of the full matrix it stands for, itself included; 0 when another one stands for them already. */
  readonly standsFor: number;
  /** Which addresses both have in it. */
  readonly family: IpFamily;
  /** What explains it when it comes out otherwise than the documents have it; absent: what the packet meets. */
  readonly because?: KnowledgeCode;
}

interface CellRequest {
  readonly facts: FlowFacts;
  readonly source: VerifySender;
  /** What the sender is called, where it is not its own name. */
  readonly sourceReference?: string;
  readonly target: CellTarget;
  readonly probe?: ProbeKind;
  readonly waitS?: number;
  readonly among?: number;
  readonly standsFor?: number;
  /** Codes of what did not come up. */
  readonly troubles?: readonly KnowledgeCode[];
  readonly because?: KnowledgeCode;
}

/** A cell whose expectation the table gives. */
export function makeCell(request: CellRequest): Cell {
  const { facts, source, target, troubles } = request;
  const { row, page } = expectationOf(facts);
  return {
    id: cellId(facts.flow, facts.protocol, request.sourceReference ?? source.reference, target),
    flow: facts.flow,
    protocol: facts.protocol,
    relation: facts.relation,
    source,
    sourceReference: request.sourceReference ?? source.reference,
    sourceOs: facts.sourceOs,
    target,
    targetOs: facts.targetOs,
    probe: request.probe ?? "once",
    waitS: request.waitS ?? 0,
    among: request.among ?? 1,
    row: row.id,
    documentedIn: row.source,
    expected: row.expected,
    page: troubles === undefined ? page : differenceOfTroubles(facts, troubles),
    standsFor: request.standsFor ?? 1,
    family: 4,
    ...(request.because === undefined ? {} : { because: request.because }),
  };
}

/** The same question by IPv6: source and target are of a model with those addresses. */
export function asIpv6(cell: Cell): Cell {
  return { ...cell, id: `${cell.id} ipv6`, family: 6 };
}

export function cellId(flow: string, protocol: string, source: string, target: CellTarget): string {
  const port = target.port === 0 ? "" : ` ${target.port}`;
  const name = target.name === undefined ? "" : ` ${target.name}`;
  return `${flow} ${protocol} ${source} ${target.reference}${name}${port}`;
}
