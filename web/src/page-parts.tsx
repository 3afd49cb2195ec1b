/** What pages over the control API share: waiting, faults in place. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
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

/** The answer when it is there; before that that it comes (`what`; empty: told elsewhere); a fault beside what was there. */
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
        isWaiting && what !== "" ? (
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

const NAMES_MAX = 50;

/** Names to choose from that hold what is typed: all of a large cluster would be a hundred thousand. */
export function Names({
  id,
  names,
  text,
}: {
  readonly id: string;
  readonly names: readonly string[];
  readonly text: string;
}) {
  const found: string[] = [];
  for (const name of names) {
    if (found.length >= NAMES_MAX) break;
    if (name.includes(text)) found.push(name);
  }
  return (
    <datalist id={id}>
      {found.map((each) => (
        <option value={each} />
      ))}
    </datalist>
  );
}

/** More names than these are not laid out each time: a text finds them. */
const OPTIONS_MAX = 100;

/** A field for one of many names. */
export function NameField({
  label,
  names,
  chosen,
  onChoose,
}: {
  readonly label: string;
  readonly names: readonly string[];
  readonly chosen: string;
  readonly onChoose: (name: string) => void;
}) {
  const [text, setText] = useState("");
  if (names.length <= OPTIONS_MAX)
    return (
      <label class="form bar">
        {label}
        <select value={chosen} onChange={(event) => onChoose((event.target as HTMLSelectElement).value)}>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
    );
  const take = (event: Event): void => {
    const { value } = event.target as HTMLInputElement;
    setText(value);
    if (value !== chosen && names.includes(value)) onChoose(value);
  };
  return (
    <label class="form bar">
      {label}
      <input key={chosen} list={`names-${label}`} defaultValue={chosen} onInput={take} />
      <Names id={`names-${label}`} names={names} text={text} />
    </label>
  );
}
