/** Lint of the files behind the cluster, and of files that are dropped here; doctor of what was collected on a node. */
import { useState } from "preact/hooks";
import type { ErrorDetails } from "#cluster/api/documents.ts";
import type { LintFinding } from "#diagnose/lint/report/report.ts";
import type { DoctorReport } from "#diagnose/doctor/doctor.ts";
import { ABOUT, Problem, examine, useAnswer, useExplanations } from "./client.ts";
import { Doctor } from "./doctor.tsx";
import { plural, type Explanations } from "./document.ts";
import { Awaited, Fault } from "./page-parts.tsx";
import { Button, Chip, CodeNote, Prose, Section, Stat, type Tone } from "./parts.tsx";

/** As `-o json` has it. */
type ShownFinding = Omit<LintFinding, "fix"> & { readonly remedy: string };

interface LintJson {
  readonly findings: readonly ShownFinding[];
}

const TONES: Readonly<Record<LintFinding["severity"], Tone>> = {
  error: "bad",
  warning: "warn",
  info: "plain",
};

function LintItem({
  finding,
  explanations,
}: {
  readonly finding: ShownFinding;
  readonly explanations: Explanations;
}) {
  const { severity, code, file, line, column, title, message, lineText, remedy } = finding;
  return (
    <li class={`found ${TONES[severity]}`}>
      <h3>
        <Chip tone={TONES[severity]}>{severity}</Chip> {message}
      </h3>
      <p class="dim">
        <code class="place">
          {file}:{line}:{column}
        </code>{" "}
        {title}
      </p>
      {lineText === "" ? null : (
        <pre tabIndex={0}>
          <span class="dim">{line} </span>
          {lineText}
        </pre>
      )}
      <h4>What to do</h4>
      <Prose text={remedy} />
      <CodeNote code={code} explanations={explanations} />
    </li>
  );
}

function Lint({ report }: { readonly report: LintJson }) {
  const explanations = useExplanations(report);
  const { findings } = report;
  return (
    <>
      <div class="stats">
        {(["error", "warning", "info"] as const).map((severity) => (
          <Stat
            value={findings.filter((each) => each.severity === severity).length}
            label={severity}
            tone={findings.some((each) => each.severity === severity) ? TONES[severity] : "faint"}
          />
        ))}
      </div>
      {findings.length === 0 ? <p class="empty">Lint finds nothing in these files.</p> : null}
      <ul class="findings">
        {findings.map((finding) => (
          <LintItem finding={finding} explanations={explanations} />
        ))}
      </ul>
    </>
  );
}

type Examined =
  | { readonly verb: "lint"; readonly report: LintJson }
  | { readonly verb: "doctor"; readonly report: DoctorReport };

interface State {
  readonly files: readonly { readonly name: string; readonly text: string }[];
  readonly examined?: Examined;
  readonly problem?: ErrorDetails;
  readonly isBusy?: boolean;
}

function DoctorResult({ report }: { readonly report: DoctorReport }) {
  return <Doctor report={report} explanations={useExplanations(report)} />;
}

async function readAll(list: FileList): Promise<State["files"]> {
  return Promise.all(
    [...list].map(async (file) => ({ name: file.webkitRelativePath || file.name, text: await file.text() })),
  );
}

function Dropped() {
  const [state, setState] = useState<State>({ files: [] });
  const take = (list: FileList | null | undefined): void => {
    if (list !== null && list !== undefined) void readAll(list).then((files) => setState({ files }));
  };
  const run = async (verb: Examined["verb"]): Promise<void> => {
    setState({ files: state.files, isBusy: true });
    try {
      const report = await examine<never>(verb, state.files);
      setState({ files: state.files, ...(report === null ? {} : { examined: { verb, report } }) });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setState({ files: state.files, problem: error.details });
    }
  };
  const { files, examined, problem, isBusy = false } = state;
  return (
    <Section title="Other files">
      <div
        class="drop"
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault();
          take(event.dataTransfer?.files);
        }}
      >
        <label>
          Manifests and node configuration for lint; what was collected on a node, and its cluster's objects,
          for doctor{" "}
          <input type="file" multiple onChange={(event) => take((event.target as HTMLInputElement).files)} />
        </label>
        <p class="dim">
          {files.length === 0
            ? "Choose files, or drop them here. They stay on this machine."
            : plural(files.length, "file")}
        </p>
        <div class="bar">
          {(["lint", "doctor"] as const).map((verb) => (
            <Button isPrimary isOff={isBusy || files.length === 0} onPress={() => void run(verb)}>
              {verb === "lint" ? "Lint" : "Doctor"}
            </Button>
          ))}
        </div>
      </div>
      {problem === undefined ? null : <Fault problem={problem} />}
      {examined?.verb === "lint" ? <Lint report={examined.report} /> : null}
      {examined?.verb === "doctor" ? <DoctorResult report={examined.report} /> : null}
    </Section>
  );
}

export function FilesPage() {
  return (
    <>
      <h1>Lint and doctor</h1>
      {ABOUT.kind === "cluster" ? <OwnFiles /> : null}
      <Dropped />
    </>
  );
}

function OwnFiles() {
  const answer = useAnswer(() => examine<LintJson>("lint"), "lint");
  return (
    <>
      <Section title="Files of this cluster">
        <Awaited answer={answer} what="Reading the files">
          {(report) =>
            report === null ? (
              <p class="empty">
                This page was opened for a running cluster without files: mullion ui -f names them.
              </p>
            ) : (
              <Lint report={report} />
            )
          }
        </Awaited>
      </Section>
    </>
  );
}
