/** What is wrong with nodes, and how that is known. */
import type { DoctorReport } from "#diagnose/doctor/doctor.ts";
import { type Explanations, plural } from "./document.ts";
import { ScrollTable, Chip, CodeNote, Prose, Section, Stat, type Tone } from "./parts.tsx";

type NodeFinding = DoctorReport["findings"][number];

const TONES: Readonly<Record<NodeFinding["certainty"], Tone>> = {
  certain: "bad",
  likely: "warn",
  possible: "faint",
};

function RuledOut({ causes }: { readonly causes: NonNullable<NodeFinding["ruledOut"]> }) {
  if (causes.length === 0) return null;
  return (
    <details>
      <summary>{plural(causes.length, "other cause")} ruled out</summary>
      <ul class="evidence ruled-out">
        {causes.map(({ code, evidence }) =>
          evidence.map(({ file, line, says }) => (
            <li>
              <b>{code}</b>{" "}
              <code class="place">
                {file}:{line}
              </code>{" "}
              <q>{says}</q>
            </li>
          )),
        )}
      </ul>
    </details>
  );
}

function Finding({
  finding,
  explanations,
}: {
  readonly finding: NodeFinding;
  readonly explanations: Explanations;
}) {
  const {
    certainty,
    node,
    message,
    evidence,
    breaks,
    proof,
    remedy,
    code,
    others = [],
    ruledOut = [],
    next,
  } = finding;
  return (
    <li class={`found ${TONES[certainty]}`}>
      <h3>
        <Chip tone={TONES[certainty]}>{certainty}</Chip> {message}
      </h3>
      <p class="dim">
        on <b>{node}</b>. It breaks: {breaks}
      </p>
      <ol class="evidence" aria-label="Evidence">
        {evidence.map(({ file, line, says }) => (
          <li>
            <code class="place">
              {file}:{line}
            </code>
            <q>{says}</q>
          </li>
        ))}
      </ol>
      <p class={proof.isProved ? "proof proved" : "proof"}>
        <b>{proof.isProved ? "✓ proved by packets on a twin" : "not proved"}</b> {proof.says}
      </p>
      <RuledOut causes={ruledOut} />
      {next === undefined ? null : (
        <p>
          <b>Collect next:</b> {next}
        </p>
      )}
      <h4>What to do</h4>
      <Prose text={remedy} />
      <CodeNote code={code} explanations={explanations} />
      {others.length === 0 ? null : (
        <details>
          <summary>{plural(others.length, "other")} like this</summary>
          <ul>
            {others.map((other) => (
              <li>{other}</li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}

/** More checks than these are folded: what was found is not to stand above thousands of lines. */
const UNFOLDED_MAX = 12;

function NotMade({ report: { checksNotMade } }: { readonly report: DoctorReport }) {
  const isFolded = checksNotMade.length > UNFOLDED_MAX;
  return (
    <Section title="Checks that could not be made" count={checksNotMade.length}>
      {checksNotMade.length === 0 ? <p class="dim">Every check had its evidence.</p> : null}
      {[...Map.groupBy(checksNotMade, ({ node }) => node)].map(([node, checks]) => (
        <details open={!isFolded}>
          <summary>
            <b>{node}</b> <span class="dim">{plural(checks.length, "check")}</span>
          </summary>
          <ScrollTable
            label={`Checks that could not be made on ${node}`}
            head={["It asks", "It lacks", "What brings that"]}
          >
            {checks.map(({ check, asks, missing, collect }) => (
              <tr>
                <th scope="row" title={check}>
                  {asks}
                </th>
                <td>{missing.join(", ")}</td>
                <td>
                  {collect.map((command) => (
                    <code class="block">{command}</code>
                  ))}
                </td>
              </tr>
            ))}
          </ScrollTable>
        </details>
      ))}
    </Section>
  );
}

export function Doctor({
  report,
  explanations,
}: {
  readonly report: DoctorReport;
  readonly explanations: Explanations;
}) {
  const { nodes, findings, checksMade, checksNotMade, files, notRead } = report;
  const isSound = findings.length === 0;
  return (
    <>
      <p class={`headline ${isSound ? (checksMade > 0 ? "good" : "warn") : "bad"}`}>
        <span aria-hidden="true">{isSound ? "✓" : "✕"}</span>
        <span>
          {isSound
            ? `${plural(checksMade, "check")} found nothing`
            : `${plural(findings.length, "finding")} from ${plural(checksMade, "check")}`}{" "}
          on {nodes.join(", ")}.
        </span>
      </p>
      <div class="stats">
        {(["certain", "likely", "possible"] as const).map((certainty) => (
          <Stat
            value={findings.filter((each) => each.certainty === certainty).length}
            label={certainty}
            tone={TONES[certainty]}
          />
        ))}
        <Stat
          value={findings.filter(({ proof }) => proof.isProved).length}
          label="proved on a twin"
          tone="good"
        />
        <Stat value={checksMade} label="checks made" />
        <Stat value={checksNotMade.length} label="checks without evidence" tone="faint" />
      </div>
      {isSound ? null : (
        <Section title="Findings" count={findings.length}>
          <ul class="findings">
            {findings.map((finding) => (
              <Finding finding={finding} explanations={explanations} />
            ))}
          </ul>
        </Section>
      )}
      <NotMade report={report} />
      <Section title="Files" count={files.length}>
        <ul class="files">
          {files.map(({ file, holds }) => (
            <li>
              <code>{file}</code> <span class="dim">{holds.join(", ")}</span>
            </li>
          ))}
        </ul>
        {notRead.map(({ file, line, reason }) => (
          <p class="warn-line">
            Not read: <code>{`${file}:${line}`}</code> {reason}
          </p>
        ))}
      </Section>
    </>
  );
}
