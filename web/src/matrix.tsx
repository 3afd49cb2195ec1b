/** A verification as a heat map: who asks down, who is asked across, one square for each flow and protocol. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { VerifyCell, VerifyReport } from "#cluster/verify/report.ts";
import { type Explanations, kindOf, plural, shortName } from "./document.ts";
import { type Grid, type GridIndex, type Tile, gridOf, indexGrid } from "./heat-grid.ts";
import { type CellState, HeatMap, Legend, STATES } from "./heat-map.tsx";
import { Basis, FindingList } from "./matrix-notes.tsx";
import { Chip, Choice, CodeNote, Command, Section, Stat, useFirst } from "./parts.tsx";

/** Follows the packet of a cell; absent where no cluster is behind the page. */
export type FollowCell = (cell: VerifyCell) => void;

export function stateOf({ verdict, expected }: VerifyCell): CellState {
  if (verdict === "finding" || verdict === "not-judged") return verdict;
  if (expected === "not-applicable") return "not-applicable";
  return verdict === "not-tried" ? "not-tried" : expected;
}

const AXES = { objects: "pods and nodes", systems: "systems" } as const;
type Axis = keyof typeof AXES;

function endsOf(cell: VerifyCell, axis: Axis): readonly [from: string, to: string] {
  if (axis === "objects") return [cell.from, cell.to];
  const { from, to, fromSystem, toSystem, relation } = cell;
  return [
    `${kindOf(from)}/${fromSystem}`,
    toSystem === "service" ? "service/any" : `${kindOf(to)}/${toSystem}, ${relation}`,
  ];
}

/** What stands below the names of both axes. */
function systemsOf(cells: readonly VerifyCell[], axis: Axis): ReadonlyMap<string, string> {
  const systems = new Map<string, string>();
  for (const cell of cells) {
    const [from, to] = endsOf(cell, axis);
    systems.set(from, cell.fromSystem);
    systems.set(to, cell.toSystem);
  }
  return systems;
}

function noteOf(name: string, system: string): string {
  return ["outside", "service"].includes(system) ? system : `${kindOf(name)} · ${system}`;
}

interface Filter {
  readonly state: CellState | "all";
  readonly flow: string;
  readonly protocol: string;
  readonly text: string;
}

const NO_FILTER: Filter = { state: "all", flow: "", protocol: "", text: "" };

function isNone({ state, flow, protocol, text }: Filter): boolean {
  return state === "all" && `${flow}${protocol}${text}` === "";
}

function passes(cell: VerifyCell, { state, flow, protocol, text }: Filter): boolean {
  return (
    (state === "all" || stateOf(cell) === state) &&
    (flow === "" || cell.flow === flow) &&
    (protocol === "" || cell.protocol === protocol) &&
    (text === "" || `${cell.from} ${cell.to} ${cell.flow} ${cell.code ?? ""}`.includes(text))
  );
}

function describeTile({ from, to, items: cells }: Tile<VerifyCell>): string {
  const byState = Map.groupBy(cells, stateOf);
  const counts = Object.entries(STATES).flatMap(([state, { text }]) => {
    const count = byState.get(state as CellState)?.length ?? 0;
    return count === 0 ? [] : [`${count} ${text}`];
  });
  return `${from} to ${to}: ${counts.join("; ")}`;
}

function CellRow({
  cell,
  report,
  explanations,
  onFollow,
}: {
  readonly cell: VerifyCell;
  readonly report: VerifyReport;
  readonly explanations: Explanations;
  readonly onFollow: FollowCell | undefined;
}) {
  const { text, tone } = STATES[stateOf(cell)];
  const where = [cell.protocol, cell.port, cell.family].filter((each) => each !== undefined).join(" ");
  const reasons = (cell.notJudged ?? []).map(({ limit }) => report.basis.notJudged[limit]?.message ?? "");
  return (
    <li class="cell">
      <div class="cell-head">
        <Chip tone={tone}>{text}</Chip>
        <b>{cell.flow}</b>
        <span class="dim">{where}</span>
        {cell.name === undefined ? null : <code>{cell.name}</code>}
        {cell.standsFor > 1 ? <span class="dim">stands for {cell.standsFor} equal flows</span> : null}
        {onFollow === undefined ? null : (
          <button type="button" class="link" onClick={() => onFollow(cell)}>
            follow the packet →
          </button>
        )}
      </div>
      <div class="dim">
        {shortName(cell.from)} → {shortName(cell.to)}
        {cell.observed === undefined ? "" : `. Observed here: ${cell.observed}`}
        {cell.keptFrom === undefined ? "" : `. Kept from ${cell.keptFrom}`}
      </div>
      {cell.why === undefined ? null : <p>{cell.why}</p>}
      {reasons.map((reason) => (
        <p>Not judged: {reason}.</p>
      ))}
      {cell.code === undefined ? null : <CodeNote code={cell.code} explanations={explanations} />}
      <div class="dim small">
        expectation <code>{cell.row}</code>, from {cell.documentedIn}
      </div>
    </li>
  );
}

function Filters({
  report,
  filter,
  onChange,
}: {
  readonly report: VerifyReport;
  readonly filter: Filter;
  readonly onChange: (filter: Filter) => void;
}) {
  const [flows, protocols] = useMemo(
    () => [
      [...new Set(report.cells.map(({ flow }) => flow))],
      [...new Set(report.cells.map(({ protocol }) => protocol))],
    ],
    [report],
  );
  const valueOf = (event: Event): string => (event.target as HTMLInputElement).value;
  return (
    <div class="filters">
      <label>
        Outcome
        <select
          value={filter.state}
          onChange={(event) => onChange({ ...filter, state: valueOf(event) as Filter["state"] })}
        >
          <option value="all">all</option>
          {Object.entries(STATES).map(([state, { text }]) => (
            <option value={state}>{text}</option>
          ))}
        </select>
      </label>
      <label>
        Flow
        <select value={filter.flow} onChange={(event) => onChange({ ...filter, flow: valueOf(event) })}>
          <option value="">all</option>
          {flows.map((flow) => (
            <option>{flow}</option>
          ))}
        </select>
      </label>
      <label>
        Protocol
        <select
          value={filter.protocol}
          onChange={(event) => onChange({ ...filter, protocol: valueOf(event) })}
        >
          <option value="">all</option>
          {protocols.map((protocol) => (
            <option>{protocol}</option>
          ))}
        </select>
      </label>
      <label>
        Text
        <input
          type="search"
          value={filter.text}
          placeholder="a name or a code"
          onInput={(event) => onChange({ ...filter, text: valueOf(event) })}
        />
      </label>
    </div>
  );
}

function Counts({ report }: { readonly report: VerifyReport }) {
  const { cells, tried, works, denied, notApplicable, notJudged, findings, attempts } = report.counts;
  return (
    <div class="stats">
      <Stat
        value={findings}
        label={findings === 1 ? "finding" : "findings"}
        tone={findings > 0 ? "bad" : "good"}
      />
      <Stat value={cells} label="flows in the full matrix" />
      <Stat value={tried} label={`tried, ${plural(attempts, "attempt")}`} />
      <Stat value={works} label="work, as documented" tone="good" />
      <Stat value={denied} label="denied, as documented" tone="denied" />
      <Stat value={notApplicable} label="do not apply" tone="faint" />
      <Stat value={notJudged} label="not judged" tone={notJudged > 0 ? "warn" : "faint"} />
    </div>
  );
}

/** Of more cells than these the first look is at systems: names of thousands are found by a text. */
const CELLS_BY_NAME_MAX = 5_000;

function TileCells({
  tile,
  ...rest
}: { readonly tile: Tile<VerifyCell> } & Omit<Parameters<typeof CellRow>[0], "cell">) {
  const [cells, more] = useFirst(tile.items);
  return (
    <>
      <h3>
        {shortName(tile.from)} → {shortName(tile.to)}
      </h3>
      <ul class="cells">
        {cells.map((cell) => (
          <CellRow cell={cell} {...rest} />
        ))}
      </ul>
      {more}
    </>
  );
}

const AFTER_PAINT_MS = 200;

interface Indexed {
  readonly index: GridIndex<VerifyCell>;
  /** Without a filter. */
  readonly whole: Grid<VerifyCell>;
  readonly systems: ReadonlyMap<string, string>;
}

/** The cells by both axes; the one that is not looked at yet is made when the other is on the screen. */
function useIndexes({ cells }: VerifyReport): (axis: Axis) => Indexed {
  const indexes = useMemo(() => {
    const made = new Map<Axis, Indexed>();
    return (axis: Axis): Indexed => {
      const known = made.get(axis);
      if (known !== undefined) return known;
      const index = indexGrid(cells, (cell) => endsOf(cell, axis));
      const indexed = { index, whole: gridOf(index), systems: systemsOf(cells, axis) };
      made.set(axis, indexed);
      return indexed;
    };
  }, [cells]);
  useEffect(() => {
    const timer = setTimeout(() => {
      for (const axis of Object.keys(AXES)) indexes(axis as Axis);
    }, AFTER_PAINT_MS);
    return () => clearTimeout(timer);
  }, [indexes]);
  return indexes;
}

function HeatSection({
  report,
  explanations,
  onFollow,
}: {
  readonly report: VerifyReport;
  readonly explanations: Explanations;
  readonly onFollow: FollowCell | undefined;
}) {
  const isLarge = report.cells.length > CELLS_BY_NAME_MAX;
  const [axis, setAxis] = useState<Axis>(isLarge ? "systems" : "objects");
  const [filter, setFilter] = useState<Filter>(NO_FILTER);
  const [chosen, setChosen] = useState("");
  const indexes = useIndexes(report);
  const grid = useMemo(() => {
    const { index, whole } = indexes(axis);
    return filter === NO_FILTER ? whole : gridOf(index, (cell) => passes(cell, filter));
  }, [indexes, axis, filter]);
  const { systems } = indexes(axis);
  const tile = grid.tiles.get(chosen);
  return (
    <Section title="Matrix" id="matrix">
      <div class="bar">
        <Choice
          label="Axes"
          value={axis}
          options={Object.entries(AXES) as [Axis, string][]}
          onChange={(next) => {
            setAxis(next);
            setChosen("");
          }}
        />
        <Filters
          report={report}
          filter={filter}
          onChange={(next) => setFilter(isNone(next) ? NO_FILTER : next)}
        />
      </div>
      <Legend />
      {grid.tiles.size === 0 ? <p class="empty">No flow passes these filters.</p> : null}
      <HeatMap
        grid={grid}
        chosen={chosen}
        onChoose={(key) => setChosen(key === chosen ? "" : key)}
        statesOf={(cell) => [stateOf(cell)]}
        noteOf={(name) => noteOf(name, systems.get(name) ?? "")}
        describe={describeTile}
      />
      <div class="chosen" aria-live="polite">
        {tile === undefined ? (
          <p class="dim">Choose a tile to read what its squares say. Arrow keys go from tile to tile.</p>
        ) : (
          <TileCells
            key={chosen}
            tile={tile}
            report={report}
            explanations={explanations}
            onFollow={onFollow}
          />
        )}
      </div>
    </Section>
  );
}

function Headline({ report }: { readonly report: VerifyReport }) {
  const { findings, tried, cells, notJudged } = report.counts;
  const isGood = findings === 0;
  return (
    <p class={`headline ${isGood ? "good" : "bad"}`}>
      <span aria-hidden="true">{isGood ? "✓" : "✕"}</span>
      <span>
        {isGood
          ? `Nothing found in ${plural(tried, "tried flow")}, which stand for ${cells}`
          : `${plural(findings, "finding")} in ${plural(tried, "tried flow")}`}
        {notJudged > 0 ? `; ${notJudged} not judged` : ""}. Behaviour of the nodes: {report.compat.join(", ")}
        .{report.partial === undefined ? "" : ` This report lacks ${plural(report.partial.cells, "cell")}.`}
      </span>
    </p>
  );
}

/** A whole verification. */
export function Matrix({
  report,
  explanations,
  onFollow,
}: {
  readonly report: VerifyReport;
  readonly explanations: Explanations;
  readonly onFollow?: FollowCell;
}) {
  const { machines } = report;
  return (
    <>
      <Headline report={report} />
      <Counts report={report} />
      <HeatSection report={report} explanations={explanations} onFollow={onFollow} />
      <FindingList report={report} explanations={explanations} onFollow={onFollow} />
      <Basis report={report} explanations={explanations} />
      {machines === undefined ? null : (
        <p class="dim">
          {plural(machines.classes, "class", "classes")} of equal machines; {machines.compared} compared,{" "}
          {machines.equal} equal. Seed {machines.seed}.
        </p>
      )}
      {onFollow === undefined ? <Command text="mullion verify --help" /> : null}
    </>
  );
}
