/** What keeps cells from being judged: each cell against the limits of the cluster, and what is said of them together. */
import { placeOf } from "../session/session.ts";
import type { Cluster } from "../cluster.ts";
import { FlowEnds } from "../limits/flow-ends.ts";
import { type FlowLimit, type LimitedFlow, formatReason, reasonOf } from "../session/flow-limit.ts";
import type { Cell } from "./cells/cell.ts";
import type { CellLimit, NotJudged, VerifyCell, VerifyFinding } from "./report.ts";

const NONE: readonly CellLimit[] = Object.freeze([]);

/** The limits of a cluster, asked about cells. */
export class CellLimits {
  private readonly limits: readonly FlowLimit[];
  private readonly flowEnds: FlowEnds | undefined;

  constructor(cluster: Cluster, limits: readonly FlowLimit[]) {
    this.limits = limits;
    this.flowEnds = limits.length === 0 ? undefined : new FlowEnds(cluster);
  }

  /** What limits ask of a pod or node besides what classes of pods and nodes have in common. */
  kindOf(reference: string): string {
    const flowEnd = this.flowEnds?.endOf(reference);
    if (flowEnd === undefined) return "";
    return this.limits
      .map((limit, index) => [index, limit.kindOf?.(flowEnd) ?? ""] as const)
      .filter(([, kind]) => kind !== "")
      .map(([index, kind]) => `${index}:${kind}`)
      .join(" ");
  }

  /** Why a cell that was tried is not judged; empty when it is. */
  of(cell: Cell): readonly CellLimit[] {
    if (this.flowEnds === undefined || cell.source === undefined) return NONE;
    const flow = this.flowOf(this.flowEnds, cell, cell.source.reference);
    return this.limits.flatMap((limit, index) => {
      if (!limit.covers(flow)) return [];
      return { limit: index, ...reasonOf(limit, flow) };
    });
  }

  /** What is said of all cells together, and the cells' own limits with their positions in it. */
  summarize(cells: readonly VerifyCell[]): {
    readonly notJudged: readonly NotJudged[];
    readonly cells: readonly VerifyCell[];
  } {
    const flows = new Map<number, number>();
    for (const { notJudged = [], standsFor } of cells)
      for (const { limit } of notJudged) flows.set(limit, (flows.get(limit) ?? 0) + standsFor);
    const used = [...flows.keys()].toSorted((a, b) => a - b);
    const notJudged = used.flatMap((index) => {
      const limit = this.limits[index];
      if (limit === undefined) return [];
      const { code, message, where } = limit;
      const place = where === undefined ? {} : { where };
      return { code, message, advice: adviceOn(code), ...place, flows: Math.max(1, flows.get(index) ?? 0) };
    });
    const positions = new Map(used.map((index, position) => [index, position]));
    const renumbered = cells.map((cell) => {
      if (cell.notJudged === undefined) return cell;
      const own = cell.notJudged.map((each) => ({ ...each, limit: positions.get(each.limit) ?? 0 }));
      return { ...cell, notJudged: own };
    });
    return { notJudged, cells: renumbered };
  }

  private flowOf(flowEnds: FlowEnds, { target, protocol }: Cell, from: string): LimitedFlow {
    const { reference: to, address, port, name } = target;
    return flowEnds.flowOf({ from, to, address, protocol, port, isByName: name !== undefined });
  }
}

function adviceOn(code: string): string {
  return `More: mullion explain ${code}.`;
}

function nameOf({ from, to, name, protocol, port }: VerifyCell): string {
  const how = `${protocol.toUpperCase()}${port === undefined ? "" : ` port ${port}`}`;
  return `${from} → ${to}${name === undefined ? "" : ` as ${name}`}, ${how}`;
}

/** One finding for each cause, with one of its flows. */
export function notJudgedFindings(
  notJudged: readonly NotJudged[],
  cells: readonly VerifyCell[],
  traceOf: (position: number) => string | undefined,
): readonly VerifyFinding[] {
  return notJudged.map((each, limit) => {
    const position = cells.findIndex((cell) => cell.notJudged?.some((own) => own.limit === limit));
    const cell = cells[position];
    const reason = cell?.notJudged?.find((own) => own.limit === limit);
    const flows = `${each.flows} ${each.flows === 1 ? "flow is" : "flows are"} not judged`;
    const own = reason === undefined || reason.message === each.message ? "" : `: ${formatReason(reason)}`;
    const example = cell === undefined ? "" : `; for example ${nameOf(cell)}${own}`;
    const trace = traceOf(position);
    return {
      about: placeOf(each) || "the cluster",
      limit,
      expected: "all that could change a flow is carried out here",
      observed: `${flows}: ${each.message}${example}`,
      code: each.code,
      ...(trace === undefined ? {} : { trace }),
    };
  });
}
