/** The matrix of the cluster as it is. */
import { useState } from "preact/hooks";
import type { VerifyCell, VerifyReport } from "#cluster/verify/report.ts";
import { post, useAnswer, useExplanations } from "./client.ts";
import { Matrix } from "./matrix.tsx";
import { Awaited } from "./page-parts.tsx";
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

export function MatrixPage({ events }: { readonly events: readonly Happening[] }) {
  const [round, setRound] = useState(0);
  const answer = useAnswer(
    () => post<VerifyReport>("/verify", round === 0 ? {} : { whole: true }),
    `verify ${round}`,
  );
  const explanations = useExplanations(answer.value);
  return (
    <>
      <div class="bar">
        <h1>Matrix</h1>
        <span class="grow" />
        <button type="button" class="button" disabled={answer.isWaiting} onClick={() => setRound(round + 1)}>
          {answer.isWaiting ? "Trying flows …" : "Try all flows again"}
        </button>
      </div>
      {answer.isWaiting ? <Progress events={events} /> : null}
      <Awaited answer={answer} what="Trying the flows of the cluster">
        {(report) => <Matrix report={report} explanations={explanations} onFollow={follow} />}
      </Awaited>
    </>
  );
}
