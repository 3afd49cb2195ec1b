/** What happens on the virtual clock, and what can be made to happen. */
import { useEffect, useState } from "preact/hooks";
import type { ClusterSummary, ErrorDetails } from "#cluster/api/documents.ts";
import { Problem, get, post, useAnswer } from "./client.ts";
import { Faults } from "./life-switches.tsx";
import { Awaited } from "./page-parts.tsx";
import { Button, Chip, Section, type Tone } from "./parts.tsx";
import type { Happening } from "./ui.tsx";

const TONES: Readonly<Record<string, Tone>> = { object: "plain", node: "denied", note: "warn", gap: "bad" };
const SHOWN_MAX = 400;

function textOf(event: Happening): string {
  const { reference, action, node, text } = event as Happening & {
    readonly reference?: { readonly kind: string; readonly namespace: string; readonly name: string };
    readonly node?: string;
    readonly text?: string;
  };
  if (event.type === "object" && reference !== undefined) {
    const { kind, namespace, name } = reference;
    return `${kind} ${namespace === "" ? "" : `${namespace}/`}${name} ${String(action)}`;
  }
  if (event.type === "gap") return `${String(event["missed"])} events are forgotten`;
  return [node, text].filter((each) => each !== undefined).join(": ");
}

export function EventList({ events }: { readonly events: readonly Happening[] }) {
  const told = events.filter(({ type }) => type !== "progress");
  return (
    <Section title="Events" count={told.length}>
      {told.length === 0 ? (
        <p class="empty">Nothing has happened since the cluster came up.</p>
      ) : (
        <ol class="events" tabIndex={0} aria-label="Events, the newest first">
          {told
            .slice(-SHOWN_MAX)
            .toReversed()
            .map((event) => (
              <li>
                <time>{typeof event.atMs === "number" ? `${(event.atMs / 1000).toFixed(3)} s` : ""}</time>
                <Chip tone={TONES[event.type] ?? "plain"}>{event.type}</Chip>
                <span>{textOf(event)}</span>
                {typeof event["code"] === "string" ? <code class="code">{event["code"]}</code> : null}
              </li>
            ))}
        </ol>
      )}
    </Section>
  );
}

const SPANS: readonly (readonly [milliseconds: number, text: string])[] = [
  [1_000, "1 s"],
  [30_000, "30 s"],
  [60_000, "1 min"],
  [600_000, "10 min"],
];

/** One action at a time, and what became of the last one. */
export interface Doing {
  readonly isBusy: boolean;
  readonly problem: ErrorDetails | undefined;
  readonly act: (path: string, body: object) => Promise<void>;
}

/** One action after the other, with its fault in place. */
export function useDoing(onDone: () => void): Doing {
  const [state, setState] = useState<Omit<Doing, "act">>({ isBusy: false, problem: undefined });
  const act = async (path: string, body: object): Promise<void> => {
    setState({ isBusy: true, problem: undefined });
    try {
      await post(path, body);
      setState({ isBusy: false, problem: undefined });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setState({ isBusy: false, problem: error.details });
    }
    onDone();
  };
  return { ...state, act };
}

const RUN_MS = 1_000;

function Clock({ doing, atMs }: { readonly doing: Doing; readonly atMs: number | undefined }) {
  const [isRunning, setRunning] = useState(false);
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => {
      if (!doing.isBusy) void doing.act("/time", { milliseconds: RUN_MS });
    }, RUN_MS);
    return () => clearInterval(timer);
  }, [isRunning, doing.isBusy]);
  return (
    <Section title="Virtual clock">
      <p class="clock" role="status">
        {atMs === undefined ? "…" : `${(atMs / 1000).toFixed(3)} s`}
      </p>
      <div class="bar">
        <Button isPrimary isPressed={isRunning} onPress={() => setRunning(!isRunning)}>
          {isRunning ? "Pause" : "Run"}
        </Button>
        {SPANS.map(([milliseconds, text]) => (
          <Button isOff={doing.isBusy} onPress={() => void doing.act("/time", { milliseconds })}>
            + {text}
          </Button>
        ))}
      </div>
    </Section>
  );
}

export function LifePage({ events }: { readonly events: readonly Happening[] }) {
  const summary = useAnswer(() => get<ClusterSummary>("/cluster"), "life");
  const doing = useDoing(summary.reload);
  return (
    <>
      <h1>Life</h1>
      <Clock doing={doing} atMs={summary.value?.atMs} />
      <Awaited answer={summary} what="Asking the cluster">
        {(value) => <Faults summary={value} doing={doing} />}
      </Awaited>
      <EventList events={events} />
    </>
  );
}
