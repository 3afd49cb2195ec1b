/** Verifications side by side: builds of Windows, or before and now. */
import { useMemo, useState } from "preact/hooks";
import type { VerifyComparison } from "#cluster/verify/compare.ts";
import { type Explanations, kindOf, plural, shortName } from "./document.ts";
import { type Tile, gridOf, indexGrid } from "./heat-grid.ts";
import { type CellState, HeatMap, Legend } from "./heat-map.tsx";
import { Chip, CodeNote, ScrollTable, Section, Stat, type Tone, useFirst } from "./parts.tsx";

type Change = VerifyComparison["changes"][number];
type Outcome = Change["outcomes"][number];

const TONES: Readonly<Record<Outcome["outcome"], Tone>> = {
  works: "good",
  denied: "denied",
  "not-applicable": "faint",
  "not-judged": "warn",
  differs: "bad",
  absent: "faint",
};

const STATES_OF: Readonly<Record<Outcome["outcome"], CellState>> = {
  works: "works",
  denied: "denied",
  "not-applicable": "not-applicable",
  "not-judged": "not-judged",
  differs: "finding",
  absent: "not-tried",
};

function describeTile({ from, to, items }: Tile<Change>): string {
  const flows = items.map(
    ({ flow, outcomes }) =>
      `${flow}: ${outcomes.map(({ side, outcome }) => `${side} ${outcome}`).join(", ")}`,
  );
  return `${from} to ${to}. ${flows.join("; ")}`;
}

function ChangeTable({
  label,
  changes,
  sides,
}: {
  readonly label: string;
  readonly changes: readonly Change[];
  readonly sides: VerifyComparison["sides"];
}) {
  const [shown, more] = useFirst(changes);
  return (
    <>
      <ScrollTable label={label} head={["Flow", ...sides.map((side) => side.label)]}>
        {shown.map((change) => (
          <ChangeRow change={change} />
        ))}
      </ScrollTable>
      {more}
    </>
  );
}

/** The sides beside each other in each square; a pair that is chosen alone in the table, else all. */
function Changes({ changes, sides }: Pick<VerifyComparison, "changes" | "sides">) {
  const [chosen, setChosen] = useState("");
  const grid = useMemo(() => gridOf(indexGrid(changes, ({ from, to }) => [from, to])), [changes]);
  const tile = grid.tiles.get(chosen);
  return (
    <>
      <p class="dim">
        Each square has a part for each side, from left to right: {sides.map(({ label }) => label).join(", ")}
        . A tile leaves its flows alone in the table.
      </p>
      <Legend />
      <HeatMap
        grid={grid}
        chosen={chosen}
        onChoose={(key) => setChosen(key === chosen ? "" : key)}
        statesOf={({ outcomes }) => outcomes.map(({ outcome }) => STATES_OF[outcome])}
        noteOf={kindOf}
        describe={describeTile}
      />
      <ChangeTable label="Flows that came out otherwise" changes={tile?.items ?? changes} sides={sides} />
    </>
  );
}

function ChangeRow({ change }: { readonly change: Change }) {
  const { flow, protocol, from, to, port, family, standsFor, outcomes } = change;
  return (
    <tr>
      <th scope="row">
        {shortName(from)} → {shortName(to)}
        <div class="dim">
          {[flow, protocol, port, family].filter((each) => each !== undefined).join(" ")}
          {standsFor > 1 ? `, stands for ${standsFor}` : ""}
        </div>
      </th>
      {outcomes.map(({ outcome, code, observed }) => (
        <td>
          <Chip tone={TONES[outcome]}>{outcome}</Chip> {observed}
          {code === undefined ? null : <code class="code block">{code}</code>}
        </td>
      ))}
    </tr>
  );
}

export function Comparison({
  comparison,
  explanations,
}: {
  readonly comparison: VerifyComparison;
  readonly explanations: Explanations;
}) {
  const { sides, counts, changes, input, nothingKept } = comparison;
  const codes = [...new Set(changes.flatMap(({ outcomes }) => outcomes.flatMap(({ code }) => code ?? [])))];
  return (
    <>
      <p class={`headline ${counts.changed === 0 ? "good" : "warn"}`}>
        <span aria-hidden="true">{counts.changed === 0 ? "=" : "≠"}</span>
        <span>
          {plural(counts.changed, "flow")} of {counts.flows} came out otherwise:{" "}
          {sides.map(({ label }) => label).join(" → ")}. {nothingKept}
        </span>
      </p>
      <div class="stats">
        {sides.map(({ label, flows, findings }) => (
          <Stat value={label} label={`${plural(flows, "cell")}, ${plural(findings, "finding")}`} />
        ))}
        <Stat value={counts.unchanged} label="unchanged" tone="good" />
      </div>
      <Section title="Flows that came out otherwise" count={changes.length}>
        {changes.length === 0 ? (
          <p class="empty">All flows came out the same on all sides.</p>
        ) : (
          <Changes changes={changes} sides={sides} />
        )}
        {codes.map((code) => (
          <CodeNote code={code} explanations={explanations} />
        ))}
      </Section>
      {input.length === 0 ? null : (
        <Section title="Findings about the input that not all sides have" count={input.length}>
          <ul>
            {input.map(({ about, observed, sides: having }) => (
              <li>
                {about}: {observed} <span class="dim">({having.join(", ")})</span>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}
