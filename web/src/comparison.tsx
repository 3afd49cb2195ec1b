/** Verifications side by side: builds of Windows, or before and now. */
import type { VerifyComparison } from "#cluster/verify/compare.ts";
import { type Explanations, plural, shortName } from "./document.ts";
import { Chip, CodeNote, Section, Stat, type Tone } from "./parts.tsx";

type Outcome = VerifyComparison["changes"][number]["outcomes"][number];

const TONES: Readonly<Record<Outcome["outcome"], Tone>> = {
  works: "good",
  denied: "denied",
  "not-applicable": "faint",
  "not-judged": "warn",
  differs: "bad",
  absent: "faint",
};

function ChangeRow({ change }: { readonly change: VerifyComparison["changes"][number] }) {
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
        <div class="scroll" tabIndex={0} role="region" aria-label="Flows that came out otherwise">
          <table class="list">
            <thead>
              <tr>
                <th scope="col">Flow</th>
                {sides.map(({ label }) => (
                  <th scope="col">{label}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {changes.map((change) => (
                <ChangeRow change={change} />
              ))}
            </tbody>
          </table>
        </div>
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
