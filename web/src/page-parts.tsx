/** What pages over the control API share: waiting, faults in place. */
import type { ComponentChildren } from "preact";
import type { ErrorDetails } from "#cluster/api/documents.ts";
import { type Answer, useExplanations } from "./client.ts";
import { CodeNote } from "./parts.tsx";

export function Fault({
  problem,
  onRetry,
}: {
  readonly problem: ErrorDetails;
  readonly onRetry?: () => void;
}) {
  const { code, message, advice, entry } = problem;
  const explanations = useExplanations({ code: entry ?? "" });
  return (
    <div class="fault" role="alert">
      <p>
        <b>{message}</b> <code class="code">{code}</code>
      </p>
      <p>{advice}</p>
      {entry === undefined ? null : <CodeNote code={entry} explanations={explanations} />}
      {onRetry === undefined ? null : (
        <button type="button" class="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** The answer when it is there; before that that it comes; a fault beside what was there. */
export function Awaited<T>({
  answer,
  what,
  children,
}: {
  readonly answer: Answer<T>;
  readonly what: string;
  readonly children: (value: T) => ComponentChildren;
}) {
  const { value, problem, isWaiting, reload } = answer;
  return (
    <>
      {problem === undefined ? null : <Fault problem={problem} onRetry={reload} />}
      {value === undefined ? (
        isWaiting ? (
          <p class="waiting" role="status">
            {what} …
          </p>
        ) : null
      ) : (
        children(value)
      )}
    </>
  );
}
