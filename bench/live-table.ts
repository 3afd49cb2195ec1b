/** The table of `node bench/live.ts --write` in README.md: each way of a packet, what it reaches against others, and the floors. */
import { type Kind, UNITS } from "./live-kinds.ts";

/** Processor time of a cluster over which nothing passes, in percent. */
export const IDLE = "idle";

export interface LiveFigure {
  readonly way: string;
  readonly kind: Kind | typeof IDLE;
  /** In the unit of its kind. */
  readonly own: number;
  /** Whose figure it is compared with. */
  readonly peer?: string;
  readonly value?: number;
  /** Ours to theirs, the median of the rounds. */
  readonly ratio?: number;
}

const BEGIN = "<!-- table: node bench/live.ts --write -->";
const END = "<!-- end of table -->";
const RTT_US_MAX = 150;
const IDLE_PERCENT_MAX = 0.5;

/** The floor of a figure in words, and whether it is met; undefined: it has none. */
function floorOf({ kind, own, peer, ratio = 0 }: LiveFigure): readonly [string, boolean] | undefined {
  if (kind.startsWith("TCP") && peer === "kernel") return ["0.5 ×", ratio >= 0.5];
  if (kind === "UDP, 18 bytes" && peer === "Open vSwitch") return ["1.3 ×", ratio >= 1.3];
  if (kind === "RTT" && peer === "kernel") return [`< ${RTT_US_MAX} µs`, own < RTT_US_MAX];
  if (kind === IDLE) return ["0 %", own < IDLE_PERCENT_MAX];
  return undefined;
}

function amount(value: number, kind: LiveFigure["kind"]): string {
  if (kind === IDLE) return `${value.toFixed(1)} %`;
  return `${value.toFixed(kind.startsWith("RTT") ? 0 : 1)} ${UNITS[kind]}`;
}

function rowOf(figure: LiveFigure): string {
  const { way, kind, own, peer = "", value, ratio } = figure;
  const [floor, isMet] = floorOf(figure) ?? [];
  const met = isMet === undefined ? "" : isMet ? "yes" : "**no**";
  const theirs = value === undefined ? "" : amount(value, kind);
  const times = ratio === undefined ? "" : `${ratio.toFixed(2)} ×`;
  return `| ${way} | ${kind} | ${amount(own, kind)} | ${peer} | ${theirs} | ${times} | ${floor ?? ""} | ${met} |`;
}

/** README.md with the table of this run. */
export function withLiveTable(readme: string, conditions: string, figures: readonly LiveFigure[]): string {
  const begin = readme.indexOf(BEGIN);
  const end = readme.indexOf(END, begin);
  if (begin < 0 || end < begin) throw new Error(`bench/README.md has no lines ${BEGIN} and ${END}`);
  const table = [
    BEGIN,
    "",
    `${conditions.replace(/^c/, "C")}.`,
    "",
    "| Way | What | Ours | Against | Theirs | Ratio | Floor | Met |",
    "| --- | --- | ---: | --- | ---: | ---: | ---: | --- |",
    ...figures.map(rowOf),
    "",
  ];
  return `${readme.slice(0, begin)}${table.join("\n")}\n${readme.slice(end)}`;
}
