/** What a verification found, and what its answer rests on. */
import type { VerifyFinding, VerifyReport } from "#cluster/verify/report.ts";
import type { SessionProblem } from "#cluster/session/session.ts";
import { type Explanations, shortName } from "./document.ts";
import type { FollowCell } from "./matrix.tsx";
import { ScrollTable, Chip, CodeNote, Command, Prose, Section, useFirst } from "./parts.tsx";

function titleOf({ cell, about }: VerifyFinding, { cells }: VerifyReport): string {
  const asked = cell === undefined ? undefined : cells[cell];
  if (asked === undefined) return about ?? "the answer as a whole";
  const port = asked.port === undefined ? "" : ` port ${asked.port}`;
  return `${shortName(asked.from)} → ${shortName(asked.to)}, ${asked.protocol}${port}`;
}

function Finding({
  finding,
  report,
  explanations,
  onFollow,
}: {
  readonly finding: VerifyFinding;
  readonly report: VerifyReport;
  readonly explanations: Explanations;
  readonly onFollow: FollowCell | undefined;
}) {
  const { cell: position, expected, observed, code, trace, remedy, allowed } = finding;
  const cell = position === undefined ? undefined : report.cells[position];
  return (
    <li class="found">
      <h3>
        {titleOf(finding, report)} {allowed === true ? <Chip tone="faint">taken</Chip> : null}
      </h3>
      <dl class="pairs">
        <dt>expected</dt>
        <dd>{expected}</dd>
        <dt>observed</dt>
        <dd>{observed}</dd>
      </dl>
      {code === undefined ? null : <CodeNote code={code} explanations={explanations} />}
      {code !== undefined || remedy === undefined ? null : <Prose text={remedy} />}
      {onFollow !== undefined && cell !== undefined ? (
        <button type="button" class="link" onClick={() => onFollow(cell)}>
          follow the packet →
        </button>
      ) : null}
      {onFollow === undefined && trace !== undefined ? <Command text={`mullion trace ${trace}`} /> : null}
    </li>
  );
}

export function FindingList({
  report,
  explanations,
  onFollow,
}: {
  readonly report: VerifyReport;
  readonly explanations: Explanations;
  readonly onFollow: FollowCell | undefined;
}) {
  const { findings } = report;
  const [shown, more] = useFirst(findings);
  if (findings.length === 0) return null;
  return (
    <Section title="Findings" count={findings.length} id="findings">
      <ul class="findings">
        {shown.map((finding) => (
          <Finding finding={finding} report={report} explanations={explanations} onFollow={onFollow} />
        ))}
      </ul>
      {more}
    </Section>
  );
}

function Problems({
  title,
  problems,
  explanations,
}: {
  readonly title: string;
  readonly problems: readonly SessionProblem[];
  readonly explanations: Explanations;
}) {
  if (problems.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul class="problems">
        {problems.map(({ message, advice, where, code }) => (
          <li>
            <p>
              {message}.{" "}
              {where === undefined ? null : (
                <code class="place">
                  {where.file}:{where.line}
                </code>
              )}
            </p>
            <p class="dim">{advice}</p>
            <CodeNote code={code} explanations={explanations} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** Facts, assumptions, and what was not judged. */
export function Basis({
  report,
  explanations,
}: {
  readonly report: VerifyReport;
  readonly explanations: Explanations;
}) {
  const { facts, contradictions, assumptions, refused, notJudged, notes } = report.basis;
  const lists: readonly (readonly [string, readonly SessionProblem[]])[] = [
    ["Contradictions", contradictions],
    ["Assumed, because the input does not say it", assumptions],
    ["Left out, because Kubernetes refuses it", refused],
    ["Why flows are not judged", notJudged],
    ["Notes", notes],
  ];
  return (
    <Section title="What the answer rests on" id="basis">
      <ScrollTable label="Facts" head={["Fact", "Value", "Who says it"]}>
        {facts.map(({ name, value, source, where }) => (
          <tr>
            <th scope="row">{name}</th>
            <td>{value}</td>
            <td>
              {source === "assumed" ? <Chip tone="warn">assumed</Chip> : source}
              {where === undefined ? "" : `:${where.line}`}
            </td>
          </tr>
        ))}
      </ScrollTable>
      {lists.every(([, problems]) => problems.length === 0) ? (
        <p class="dim">No contradictions, no further assumptions, nothing refused, nothing left unjudged.</p>
      ) : null}
      {lists.map(([title, problems]) => (
        <Problems title={title} problems={problems} explanations={explanations} />
      ))}
    </Section>
  );
}
