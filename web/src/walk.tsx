/** A packet's walk: a lane for each machine, a card for each place, a line for each layer; the chosen step in full. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { TraceLeg, TraceReport, TraceStep } from "#cluster/trace/trace-report.ts";
import { type Explanations, plural, shortName } from "./document.ts";
import { Chip, Choice, CodeNote, type Tone, download } from "./parts.tsx";
import { Resolution, StepDetails } from "./walk-details.tsx";
import { type Hop, hopsOf, isQuiet, lanesOf, tellingChanges, titleOf, toneOf } from "./walk-steps.ts";
import { drawWalk } from "./walk-svg.ts";

function Changes({ step }: { readonly step: TraceStep }) {
  const { changes, more } = tellingChanges(step);
  return (
    <>
      {changes.map(({ field, before, after }) => (
        <span class="change">
          <i>{field}</i>
          {before === undefined ? null : <s>{before}</s>}
          {after === undefined ? <em>gone</em> : <b>{after}</b>}
        </span>
      ))}
      {more === 0 ? null : <span class="change dim">and {plural(more, "other field")}</span>}
    </>
  );
}

function StepButton({
  step,
  isChosen,
  isStop,
  onChoose,
}: {
  readonly step: TraceStep;
  readonly isChosen: boolean;
  /** Tab leads here; to the other steps arrow keys do. */
  readonly isStop: boolean;
  readonly onChoose: () => void;
}) {
  const button = useRef<HTMLButtonElement>(null);
  const wasDrawn = useRef(false);
  useEffect(() => {
    // A walk that opens is read from its head.
    if (isChosen && wasDrawn.current) button.current?.scrollIntoView({ block: "nearest" });
    wasDrawn.current = true;
  }, [isChosen]);
  const { rule, text, code } = step;
  return (
    <button
      ref={button}
      type="button"
      class={`step ${toneOf(step)} ${isQuiet(step) ? "quiet-step" : ""}`}
      aria-pressed={isChosen}
      tabIndex={isStop ? 0 : -1}
      data-step={step.number}
      onClick={onChoose}
    >
      <span class="step-title">
        {titleOf(step)}
        {rule === undefined ? null : (
          <Chip tone={rule.action === "block" ? "bad" : "plain"}>{rule.action}</Chip>
        )}
      </span>
      {isQuiet(step) ? null : <span class="step-text">{text}</span>}
      {rule === undefined ? null : <span class="rule-name">{rule.name}</span>}
      {step.changes.length === 0 ? null : <Changes step={step} />}
      {code === undefined ? null : <code class="code">{code}</code>}
    </button>
  );
}

function HopCard({
  hop,
  lane,
  row,
  chosen,
  onChoose,
}: {
  readonly hop: Hop;
  readonly lane: number;
  readonly row: number;
  readonly chosen: number;
  readonly onChoose: (step: number) => void;
}) {
  const isEnd = hop.steps.some(({ kind }) => kind === "drop" || kind === "deliver");
  const isDrop = hop.steps.some(({ kind }) => kind === "drop");
  return (
    <article
      class={`hop ${isEnd ? (isDrop ? "lost" : "arrived") : ""}`}
      style={{ gridColumn: String(lane + 1), gridRow: String(row + 2) }}
    >
      <header>
        <span class="hop-lane">{hop.node}</span>
        <b>{hop.place}</b>
        {hop.direction === "" ? null : <span class="direction">{hop.direction.toUpperCase()}</span>}
      </header>
      {hop.steps.map((step) => (
        <StepButton
          step={step}
          isChosen={step.number === chosen}
          isStop={step.number === Math.max(1, chosen)}
          onChoose={() => onChoose(step.number)}
        />
      ))}
    </article>
  );
}

/** The line from card to card, drawn over what the browser has laid out. */
function usePath(key: unknown): readonly [(element: HTMLElement | null) => void, string] {
  const [path, setPath] = useState("");
  const board = useRef<HTMLElement | null>(null);
  useLayoutEffect(() => {
    const element = board.current;
    if (element === null) return undefined;
    const draw = (): void => {
      const cards = [...element.querySelectorAll<HTMLElement>(".hop")];
      const points = cards.map((card) => ({
        x: card.offsetLeft + card.offsetWidth / 2,
        top: card.offsetTop,
        bottom: card.offsetTop + card.offsetHeight,
      }));
      setPath(
        points
          .slice(1)
          .map(({ x, top }, index) => {
            const from = points[index] ?? { x, bottom: top };
            const half = (from.bottom + top) / 2;
            return `M${from.x} ${from.bottom}C${from.x} ${half} ${x} ${half} ${x} ${top}`;
          })
          .join(""),
      );
    };
    draw();
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    return () => observer.disconnect();
  }, [key]);
  return [(element) => (board.current = element), path];
}

function LegBoard({
  leg,
  title,
  chosen,
  onChoose,
}: {
  readonly leg: TraceLeg;
  readonly title: string;
  readonly chosen: number;
  readonly onChoose: (step: number) => void;
}) {
  const lanes = lanesOf(leg.steps);
  const [board, path] = usePath(leg);
  const tone: Tone = leg.end === "delivered" ? "good" : "bad";
  return (
    <section class="leg" aria-label={title}>
      <h2>
        {title} <Chip tone={tone}>{leg.end}</Chip> <span class="dim">{leg.steps[0]?.frame}</span>
      </h2>
      <div
        class="board"
        ref={board}
        style={{ gridTemplateColumns: `repeat(${lanes.length}, minmax(0, 1fr))` }}
      >
        <svg class="path" aria-hidden="true">
          <path d={path} />
          <path d={path} class="running" />
        </svg>
        {lanes.map((lane, index) => (
          <div class="lane" style={{ gridColumn: String(index + 1), gridRow: "1" }}>
            {lane}
          </div>
        ))}
        {hopsOf(leg.steps).map((hop, row) => (
          <HopCard hop={hop} lane={lanes.indexOf(hop.node)} row={row} chosen={chosen} onChoose={onChoose} />
        ))}
      </div>
    </section>
  );
}

const VERDICTS: Readonly<Record<TraceReport["verdict"], Tone>> = {
  answered: "good",
  refused: "warn",
  "no-answer": "bad",
  "not-delivered": "bad",
  "not-resolved": "bad",
};

function WalkHead({
  report,
  explanations,
}: {
  readonly report: TraceReport;
  readonly explanations: Explanations;
}) {
  const { from, to, protocol, port, verdict, summary, code, compat, notJudged = [], documentation } = report;
  const tone = VERDICTS[verdict];
  return (
    <>
      <p class="ends">
        <b>{shortName(from.reference)}</b>
        <span class="dim">
          {from.address}
          {from.node === undefined ? "" : ` on ${from.node}`}
        </span>
        <span aria-hidden="true">→</span>
        <b>{shortName(to.reference)}</b>
        <span class="dim">
          {to.address}
          {to.node === undefined ? "" : ` on ${to.node}`}
        </span>
        <Chip>
          {protocol.toUpperCase()}
          {port === undefined ? "" : ` ${port}`}
        </Chip>
        <Chip>{compat} behaviour</Chip>
      </p>
      <p class={`headline ${tone}`}>
        <span aria-hidden="true">{tone === "good" ? "✓" : "✕"}</span>
        <span>
          <b>{verdict}</b>: {summary}
        </span>
      </p>
      {code === undefined ? null : (
        <CodeNote code={code} explanations={explanations} isOpen={tone === "bad"} />
      )}
      {notJudged.map((limit) => (
        <p class="warn-line">
          Not judged: {limit.message}. <code class="code">{limit.code}</code>
        </p>
      ))}
      {documentation === undefined ? null : (
        <p class="dim">
          The Kubernetes page says otherwise: {documentation.says} {documentation.differsBecause}
        </p>
      )}
    </>
  );
}

type Side = "forward" | "reply" | "both";

/** The step that a key leads to. */
function stepAfter(key: string, chosen: number, count: number): number | undefined {
  if (key === "j" || key === "ArrowDown") return Math.min(count, chosen + 1);
  if (key === "k" || key === "ArrowUp") return Math.max(1, chosen - 1);
  if (key === "Home") return 1;
  return key === "End" ? count : undefined;
}

/** The step that says most: where the packet ended badly, what a code explains, what rewrote it. */
function tellingStep({ steps }: TraceLeg): number {
  const step =
    steps.findLast(({ kind }) => kind === "drop") ??
    steps.find(({ code }) => code !== undefined) ??
    steps.find(({ changes }) => changes.length > 0);
  return step?.number ?? 1;
}

function WalkBar({
  report,
  leg,
  side,
  onChoose,
}: {
  readonly report: TraceReport;
  readonly leg: TraceLeg;
  readonly side: Side;
  readonly onChoose: (side: Side) => void;
}) {
  const withReply: readonly [Side, string][] = [
    ["reply", "Reply"],
    ["both", "Side by side"],
  ];
  return (
    <div class="bar">
      <Choice
        label="Direction"
        value={side}
        options={[["forward", "Forward"], ...(report.reply === undefined ? [] : withReply)]}
        onChange={onChoose}
      />
      <span class="dim">
        {plural(leg.steps.length, "step")} in {leg.steps.at(-1)?.atMs} ms. Keys: ↑ ↓ or j k step, Home and End
        jump.
      </span>
      <span class="grow" />
      <button
        type="button"
        class="button"
        onClick={() => download("walk.svg", "image/svg+xml", drawWalk(report))}
      >
        SVG
      </button>
    </div>
  );
}

export function Walk({
  report,
  explanations,
}: {
  readonly report: TraceReport;
  readonly explanations: Explanations;
}) {
  const { forward, reply, resolution } = report;
  const isReplyWorse = reply !== undefined && reply.end !== "delivered";
  const [side, setSide] = useState<Side>(isReplyWorse ? "reply" : "forward");
  const leg = side === "reply" && reply !== undefined ? reply : forward;
  const [chosen, setChosen] = useState(() => tellingStep(leg));
  const step = leg.steps.find(({ number }) => number === chosen);
  const before = leg.steps.find(({ number }) => number === chosen - 1);
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = stepAfter(event.key, chosen, leg.steps.length);
    if (next === undefined) return;
    event.preventDefault();
    setChosen(next);
    (event.currentTarget as HTMLElement).querySelector<HTMLElement>(`[data-step="${next}"]`)?.focus();
  };
  const choose = (next: Side): void => {
    setSide(next);
    setChosen(tellingStep(next === "reply" && reply !== undefined ? reply : forward));
  };
  return (
    <>
      <WalkHead report={report} explanations={explanations} />
      {resolution === undefined ? null : <Resolution resolution={resolution} explanations={explanations} />}
      {forward.steps.length === 0 ? null : (
        <>
          <WalkBar report={report} leg={leg} side={side} onChoose={choose} />
          <div class={`walk ${side === "both" ? "wide" : ""}`}>
            <div class="legs" onKeyDown={onKeyDown}>
              <LegBoard
                leg={leg}
                title={side === "reply" ? "Reply" : "Forward"}
                chosen={chosen}
                onChoose={setChosen}
              />
              {side === "both" && reply !== undefined ? (
                <LegBoard leg={reply} title="Reply" chosen={0} onChoose={() => choose("reply")} />
              ) : null}
            </div>
            {step === undefined || side === "both" ? null : (
              <StepDetails step={step} before={before} explanations={explanations} />
            )}
          </div>
        </>
      )}
    </>
  );
}
