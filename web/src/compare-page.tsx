/** The matrix on several builds of Windows, or of before and now: `verify --profile` and `verify --before`. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ErrorDetails } from "#cluster/api/documents.ts";
import type { VerifyComparison } from "#cluster/verify/compare.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { visibleText } from "#core/base/visible-text.ts";
import {
  ABOUT,
  Changes,
  type GivenText,
  Problem,
  post,
  runCompare,
  useAnswer,
  useExplanations,
} from "./client.ts";
import { Comparison } from "./comparison.tsx";
import { Awaited, Fault } from "./page-parts.tsx";
import { Button, Section, download } from "./parts.tsx";
import { hrefOf, navigate } from "./route.tsx";

function Compared({ question }: { readonly question: Parameters<typeof runCompare>[0] }) {
  const key = "profiles" in question ? question.profiles.join() : `before ${question.before[0]?.text ?? ""}`;
  const [told, setTold] = useState("");
  const running = useRef<AbortController | undefined>(undefined);
  const run = async (): Promise<VerifyComparison> => {
    running.current?.abort();
    const own = new AbortController();
    running.current = own;
    setTold("");
    return runCompare<VerifyComparison>(question, setTold, own.signal);
  };
  const answer = useAnswer(run, key);
  // Who leaves the page no longer waits.
  useEffect(() => () => running.current?.abort(), []);
  const explanations = useExplanations(answer.value);
  return (
    <>
      {answer.isWaiting ? (
        <div class="bar" role="status">
          <progress aria-label="Trying the flows of all sides" />
          <span class="dim">{told === "" ? "Trying the flows of all sides …" : told}</span>
          <button type="button" class="button" onClick={() => running.current?.abort()}>
            Stop
          </button>
        </div>
      ) : null}
      <Awaited answer={answer} what="">
        {(comparison) => <Comparison comparison={comparison} explanations={explanations} />}
      </Awaited>
    </>
  );
}

/** The files of the cluster on builds of Windows, side by side. */
export function Builds({ chosen }: { readonly chosen: readonly string[] }) {
  const [builds, setBuilds] = useState(chosen.length > 0 ? chosen : ["ws2019", "ws2022"]);
  if (!ABOUT.hasFiles)
    return (
      <p class="empty">
        A running cluster has its builds. To compare them, start the pages with the files:{" "}
        <code>mullion ui -f</code>
      </p>
    );
  const toggle = (build: string): void =>
    setBuilds(builds.includes(build) ? builds.filter((each) => each !== build) : [...builds, build]);
  return (
    <>
      <form
        class="form bar"
        onSubmit={(event) => {
          event.preventDefault();
          navigate(hrefOf("matrix", { view: "builds", profiles: builds.join(",") }));
        }}
      >
        <fieldset class="checks">
          <legend>All Windows nodes run</legend>
          {ABOUT.profiles.map((build) => (
            <label>
              <input type="checkbox" checked={builds.includes(build)} onChange={() => toggle(build)} />
              {build}
            </label>
          ))}
        </fieldset>
        <button type="submit" class="button primary" disabled={builds.length < 2}>
          Compare
        </button>
        {builds.length < 2 ? <span class="dim">Choose two builds or more.</span> : null}
      </form>
      {chosen.length < 2 ? null : (
        // The files stay as they are, whatever happens in the cluster.
        <Changes.Provider value={0}>
          <Compared question={{ profiles: chosen }} />
        </Changes.Provider>
      )}
    </>
  );
}

/** An earlier state, kept from these pages or from a file, and the cluster as it is. */
export function BeforeAndNow({
  before,
  onKeep,
}: {
  readonly before: GivenText | undefined;
  readonly onKeep: (text: GivenText) => void;
}) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<ErrorDetails>();
  const keep = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      const report = await post<VerifyReport>("/verify", {});
      onKeep({ name: `the cluster at ${new Date().toLocaleTimeString()}`, text: JSON.stringify(report) });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setProblem(error.details);
    } finally {
      setBusy(false);
    }
  };
  const choose = (files: FileList | null): void => {
    const [file] = files ?? [];
    if (file !== undefined) void file.text().then((text) => onKeep({ name: visibleText(file.name), text }));
  };
  return (
    <>
      <Section title="Before">
        <div class="bar">
          <Button isPrimary isOff={isBusy} onPress={() => void keep()}>
            {isBusy ? "Trying flows …" : "Keep the cluster as it is now"}
          </Button>
          <label class="file">
            or a file: <code>verify -o json</code>, or a cluster file{" "}
            <input type="file" onChange={(event) => choose((event.target as HTMLInputElement).files)} />
          </label>
          {before === undefined ? null : (
            <button
              type="button"
              class="button"
              onClick={() => download("before.json", "application/json", before.text)}
            >
              Save it
            </button>
          )}
        </div>
        {problem === undefined ? null : <Fault problem={problem} />}
        <p class="dim">
          {before === undefined
            ? "Keep a state, change the cluster (Life, mullion apply), and come back here."
            : `Kept: ${before.name}. What follows compares it with the cluster as it is.`}
        </p>
      </Section>
      {before === undefined ? null : <Compared question={{ before: [before] }} />}
    </>
  );
}
