/** The matrix of the cluster: as it is, on other builds, beside an earlier state. */
import { useState } from "preact/hooks";
import type { VerifyCell, VerifyReport } from "#cluster/verify/report.ts";
import { type GivenText, post, useAnswer, useExplanations } from "./client.ts";
import { BeforeAndNow, Builds } from "./compare-page.tsx";
import { Matrix } from "./matrix.tsx";
import { Awaited } from "./page-parts.tsx";
import { Button, Choice } from "./parts.tsx";
import { hrefOf, navigate } from "./route.tsx";
import type { Happening } from "./ui.tsx";

function follow({ from, to, port, protocol, name, family }: VerifyCell): void {
  navigate(
    hrefOf("walk", {
      from,
      to: name ?? to,
      ...(port === undefined ? {} : { port: String(port) }),
      protocol,
      ...(family === undefined ? {} : { family }),
    }),
  );
}

/** How far a long work is. */
function Progress({ events }: { readonly events: readonly Happening[] }) {
  const last = events.at(-1);
  if (last?.type !== "progress") return null;
  const { text, done, total } = last as unknown as { text: string; done: number; total: number };
  return (
    <p class="dim">
      <progress value={done} max={total} aria-label={text} /> {text} {done} of {total}
    </p>
  );
}

/** The cluster as it is. */
function Now({ events }: { readonly events: readonly Happening[] }) {
  const [round, setRound] = useState(0);
  const answer = useAnswer(
    () => post<VerifyReport>("/verify", round === 0 ? {} : { whole: true }),
    `verify ${round}`,
  );
  const explanations = useExplanations(answer.value);
  return (
    <>
      <div class="bar">
        <Button isOff={answer.isWaiting} onPress={() => setRound(round + 1)}>
          {answer.isWaiting ? "Trying flows …" : "Try all flows again"}
        </Button>
        {answer.isWaiting ? <Progress events={events} /> : null}
      </div>
      <Awaited answer={answer} what="Trying the flows of the cluster">
        {(report) => <Matrix report={report} explanations={explanations} onFollow={follow} />}
      </Awaited>
    </>
  );
}

const VIEWS = [
  ["now", "As it is"],
  ["builds", "Builds side by side"],
  ["before", "Before and now"],
] as const;
type View = (typeof VIEWS)[number][0];

export function MatrixPage({
  events,
  query,
  before,
  onKeep,
}: {
  readonly events: readonly Happening[];
  readonly query: URLSearchParams;
  readonly before: GivenText | undefined;
  readonly onKeep: (text: GivenText) => void;
}) {
  const view: View = VIEWS.find(([each]) => each === query.get("view"))?.[0] ?? "now";
  const profiles = (query.get("profiles") ?? "").split(",").filter((each) => each !== "");
  return (
    <>
      <div class="bar">
        <h1>Matrix</h1>
        <Choice
          label="View"
          value={view}
          options={VIEWS}
          onChange={(next) => navigate(hrefOf("matrix", next === "now" ? {} : { view: next }))}
        />
      </div>
      {view === "now" ? <Now events={events} /> : null}
      {view === "builds" ? <Builds key={profiles.join()} chosen={profiles} /> : null}
      {view === "before" ? <BeforeAndNow before={before} onKeep={onKeep} /> : null}
    </>
  );
}
