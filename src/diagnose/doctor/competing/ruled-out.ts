/**
 * What was ruled out: of the causes that would break the same as a finding those that evidence excludes, each with its
 * lines. A cause of which the node has a finding is not among them, nor is one of which nothing was read.
 */
import { formatIp } from "#core/net/ip.ts";
import type { CheckFinding, RuledOut, Subject } from "../check.ts";
import type { NodeBooks } from "./node-books.ts";
import type { CompetingCause } from "./competing-cause.ts";
import { OF_FRONT_ENDS } from "./of-front-ends.ts";
import { OF_RANGES, OF_THE_NODE } from "./of-nodes.ts";
import { OF_OUTSIDE, OF_PODS } from "./of-pods.ts";

/** What a change of the twin breaks is what the finding is about. */
export function subjectOf({ twin, about }: Pick<CheckFinding, "twin" | "about">): Subject | undefined {
  if (about !== undefined || twin === undefined) return about;
  if ("vip" in twin) return { of: "front-end", vip: twin.vip, port: twin.port, protocol: twin.protocol };
  if ("range" in twin) return { of: "range", range: twin.range };
  return { of: twin.change === "remove-outbound-nat" ? "outside" : "pod", address: twin.address };
}

export interface RuledOutOptions {
  /** Codes of what was found on the node. */
  readonly found: ReadonlySet<string>;
  /** HNS and objects of the cluster were written at different times. */
  readonly isApart: boolean;
}

function keyOf(subject: Subject): string {
  if (subject.of === "range") return subject.range;
  if (subject.of !== "front-end") return `${subject.of} ${formatIp(subject.address)}`;
  return `${formatIp(subject.vip)} ${subject.port} ${subject.protocol}`;
}

/** Of one node; what was worked out for some traffic is kept for the next finding about the same. */
export class CausesOfNode {
  private readonly books: NodeBooks;
  private readonly options: RuledOutOptions;
  private readonly known = new Map<string, readonly RuledOut[]>();

  constructor(books: NodeBooks, options: RuledOutOptions) {
    this.books = books;
    this.options = options;
  }

  /** @param subject undefined for a finding about the whole node. */
  ruledOut(code: string, subject: Subject | undefined): readonly RuledOut[] {
    const key = subject === undefined ? "" : keyOf(subject);
    const known = this.known.get(key) ?? this.workOut(subject);
    this.known.set(key, known);
    return known.filter((each) => each.code !== code);
  }

  private workOut(subject: Subject | undefined): readonly RuledOut[] {
    const own = subject === undefined ? [] : this.ofSubject(subject);
    const codes = new Set(own.map(({ code }) => code));
    return [...own, ...this.excluded(OF_THE_NODE, undefined).filter(({ code }) => !codes.has(code))];
  }

  private ofSubject(subject: Subject): readonly RuledOut[] {
    if (subject.of === "front-end") return this.excluded(OF_FRONT_ENDS, subject);
    if (subject.of === "range") return this.excluded(OF_RANGES, subject.range);
    return this.excluded(subject.of === "pod" ? OF_PODS : OF_OUTSIDE, subject.address);
  }

  private excluded<Asked>(causes: readonly CompetingCause<Asked>[], asked: Asked): readonly RuledOut[] {
    const { found, isApart } = this.options;
    return causes.flatMap(({ code, comparesBoth, excludes }) => {
      if (found.has(code) || (isApart && comparesBoth === true)) return [];
      const evidence = excludes(this.books, asked);
      return evidence.length === 0 ? [] : [{ code, evidence }];
    });
  }
}
