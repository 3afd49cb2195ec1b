/** A verification as a heat map: who asks down, who is asked across, one square for each flow and protocol. */
import { useMemo, useRef, useState } from "preact/hooks";
import type { VerifyCell, VerifyReport } from "#cluster/verify/report.ts";
import { type Explanations, kindOf, plural, shortName } from "./document.ts";
import { Basis, FindingList } from "./matrix-notes.tsx";
import { Chip, Choice, CodeNote, Command, Section, Stat, type Tone } from "./parts.tsx";

/** Follows the packet of a cell; absent where no cluster is behind the page. */
export type FollowCell = (cell: VerifyCell) => void;

/** How a cell came out, for the eye. */
export type CellState = "works" | "denied" | "finding" | "not-judged" | "not-applicable" | "not-tried";

export const STATES: Readonly<
  Record<CellState, { readonly mark: string; readonly text: string; readonly tone: Tone }>
> = {
  finding: { mark: "✕", text: "finding: not as documented", tone: "bad" },
  works: { mark: "", text: "works, as documented", tone: "good" },
  denied: { mark: "−", text: "denied, as documented", tone: "denied" },
  "not-judged": { mark: "?", text: "not judged", tone: "warn" },
  "not-applicable": { mark: "·", text: "does not apply", tone: "faint" },
  "not-tried": { mark: "", text: "not tried", tone: "faint" },
};

export function stateOf({ verdict, expected }: VerifyCell): CellState {
  if (verdict === "finding" || verdict === "not-judged") return verdict;
  if (expected === "not-applicable") return "not-applicable";
  return verdict === "not-tried" ? "not-tried" : expected;
}

interface Tile {
  readonly from: string;
  readonly to: string;
  readonly cells: readonly VerifyCell[];
}

interface Grid {
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly tiles: ReadonlyMap<string, Tile>;
  readonly systems: ReadonlyMap<string, string>;
}

const KINDS: readonly string[] = ["pod", "node", "service", "outside"];
const AXES = { objects: "pods and nodes", systems: "systems" } as const;
type Axis = keyof typeof AXES;

function byKind(a: string, b: string): number {
  return KINDS.indexOf(kindOf(a)) - KINDS.indexOf(kindOf(b)) || a.localeCompare(b);
}

function keyOf(from: string, to: string): string {
  return `${from} ${to}`;
}

function endsOf(cell: VerifyCell, axis: Axis): readonly [from: string, to: string] {
  if (axis === "objects") return [cell.from, cell.to];
  const { from, to, fromSystem, toSystem, relation } = cell;
  return [
    `${kindOf(from)}/${fromSystem}`,
    toSystem === "service" ? "service/any" : `${kindOf(to)}/${toSystem}, ${relation}`,
  ];
}

function gridOf(cells: readonly VerifyCell[], axis: Axis): Grid {
  const tiles = new Map<string, { from: string; to: string; cells: VerifyCell[] }>();
  const systems = new Map<string, string>();
  for (const cell of cells) {
    const [from, to] = endsOf(cell, axis);
    systems.set(from, cell.fromSystem);
    systems.set(to, cell.toSystem);
    const key = keyOf(from, to);
    const tile = tiles.get(key) ?? { from, to, cells: [] };
    tile.cells.push(cell);
    tiles.set(key, tile);
  }
  const all = [...tiles.values()];
  return {
    rows: [...new Set(all.map(({ from }) => from))].sort(byKind),
    columns: [...new Set(all.map(({ to }) => to))].sort(byKind),
    tiles,
    systems,
  };
}

interface Filter {
  readonly state: CellState | "all";
  readonly flow: string;
  readonly protocol: string;
  readonly text: string;
}

function passes(cell: VerifyCell, { state, flow, protocol, text }: Filter): boolean {
  return (
    (state === "all" || stateOf(cell) === state) &&
    (flow === "" || cell.flow === flow) &&
    (protocol === "" || cell.protocol === protocol) &&
    (text === "" || `${cell.from} ${cell.to} ${cell.flow} ${cell.code ?? ""}`.includes(text))
  );
}

function describeTile({ from, to, cells }: Tile): string {
  const counts = Object.entries(STATES).flatMap(([state, { text }]) => {
    const count = cells.filter((cell) => stateOf(cell) === state).length;
    return count === 0 ? [] : [`${count} ${text}`];
  });
  return `${from} to ${to}: ${counts.join("; ")}`;
}

function AxisName({ name, system }: { readonly name: string; readonly system: string }) {
  return (
    <span class="end" title={name}>
      <b>{shortName(name)}</b>
      <i>{["outside", "service"].includes(system) ? system : `${kindOf(name)} · ${system}`}</i>
    </span>
  );
}

function TileButton({
  tile,
  isChosen,
  onChoose,
}: {
  readonly tile: Tile;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}) {
  const text = describeTile(tile);
  const hasFinding = tile.cells.some((cell) => stateOf(cell) === "finding");
  return (
    <button
      type="button"
      class={`tile ${hasFinding ? "glows" : ""}`}
      aria-label={text}
      aria-pressed={isChosen}
      title={text}
      onClick={onChoose}
    >
      {tile.cells.map((cell) => {
        const state = stateOf(cell);
        return (
          <span class={`square ${state}`} aria-hidden="true">
            {STATES[state].mark}
          </span>
        );
      })}
    </button>
  );
}

const STEPS: Readonly<Record<string, readonly [down: number, right: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Arrow keys go to the next tile in that direction, over what is empty. */
function moveFocus(event: KeyboardEvent, { rows, columns, tiles }: Grid, table: HTMLElement | null): void {
  const step = STEPS[event.key];
  const at = (event.target as HTMLElement).closest<HTMLElement>("[data-row]");
  if (step === undefined || at === null || table === null) return;
  event.preventDefault();
  let [row, column] = [Number(at.dataset["row"]) + step[0], Number(at.dataset["column"]) + step[1]];
  while (rows[row] !== undefined && columns[column] !== undefined) {
    if (tiles.has(keyOf(rows[row] ?? "", columns[column] ?? ""))) {
      table.querySelector<HTMLElement>(`[data-row="${row}"][data-column="${column}"] button`)?.focus();
      return;
    }
    row += step[0];
    column += step[1];
  }
}

function HeatMap({
  grid,
  chosen,
  onChoose,
}: {
  readonly grid: Grid;
  readonly chosen: string;
  readonly onChoose: (key: string) => void;
}) {
  const table = useRef<HTMLTableElement>(null);
  const { rows, columns, tiles, systems } = grid;
  return (
    <div class="heat" tabIndex={0} role="region" aria-label="Matrix of flows">
      <table ref={table} onKeyDown={(event) => moveFocus(event, grid, table.current)}>
        <thead>
          <tr>
            <td class="corner">from ↓ to →</td>
            {columns.map((name) => (
              <th scope="col">
                <AxisName name={name} system={systems.get(name) ?? ""} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((from, row) => (
            <tr>
              <th scope="row">
                <AxisName name={from} system={systems.get(from) ?? ""} />
              </th>
              {columns.map((to, column) => {
                const key = keyOf(from, to);
                const tile = tiles.get(key);
                return (
                  <td data-row={row} data-column={column}>
                    {tile === undefined ? null : (
                      <TileButton tile={tile} isChosen={key === chosen} onChoose={() => onChoose(key)} />
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
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
  const flows = [...new Set(report.cells.map(({ flow }) => flow))];
  const protocols = [...new Set(report.cells.map(({ protocol }) => protocol))];
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

function Legend() {
  return (
    <ul class="legend" aria-label="Legend">
      {Object.entries(STATES).map(([state, { mark, text }]) => (
        <li>
          <span class={`square ${state}`} aria-hidden="true">
            {mark}
          </span>
          {text}
        </li>
      ))}
    </ul>
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

function HeatSection({
  report,
  explanations,
  onFollow,
}: {
  readonly report: VerifyReport;
  readonly explanations: Explanations;
  readonly onFollow: FollowCell | undefined;
}) {
  const [axis, setAxis] = useState<Axis>("objects");
  const [filter, setFilter] = useState<Filter>({ state: "all", flow: "", protocol: "", text: "" });
  const [chosen, setChosen] = useState("");
  const cells = report.cells.filter((cell) => passes(cell, filter));
  const grid = useMemo(() => gridOf(cells, axis), [report, axis, filter]);
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
        <Filters report={report} filter={filter} onChange={setFilter} />
      </div>
      <Legend />
      {cells.length === 0 ? <p class="empty">No flow passes these filters.</p> : null}
      <HeatMap grid={grid} chosen={chosen} onChoose={(key) => setChosen(key === chosen ? "" : key)} />
      <div class="chosen" aria-live="polite">
        {tile === undefined ? (
          <p class="dim">Choose a tile to read what its squares say. Arrow keys go from tile to tile.</p>
        ) : (
          <>
            <h3>
              {shortName(tile.from)} → {shortName(tile.to)}
            </h3>
            <ul class="cells">
              {tile.cells.map((cell) => (
                <CellRow cell={cell} report={report} explanations={explanations} onFollow={onFollow} />
              ))}
            </ul>
          </>
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
          {plural(machines.classes, "class")} of equal machines; {machines.compared} compared,{" "}
          {machines.equal} equal. Seed {machines.seed}.
        </p>
      )}
      {onFollow === undefined ? <Command text="mullion verify --help" /> : null}
    </>
  );
}
