/** A walk as a picture that stands alone: lanes across, places and their steps down, the way of the packet between them. */
import type { TraceLeg, TraceReport, TraceStep } from "#cluster/trace/trace-report.ts";
import { shortName } from "./document.ts";
import { type Hop, hopsOf, isQuiet, lanesOf, tellingChanges, titleOf, toneOf } from "./walk-steps.ts";

const NAMESPACE = "http://www.w3.org/2000/svg";
const LANE = 330;
const GAP = 16;
const EDGE = 24;
const LINE = 16;
const PAD = 10;
/** Characters of a line of a card: its font is one of fixed width. */
const LINE_MAX = 46;
const BETWEEN = 30;

/** Two sets of colours, as the pages have them: whoever opens the picture sees those of their system. */
const STYLE = `
text { font: 12px ui-monospace, "SF Mono", "Cascadia Code", "DejaVu Sans Mono", monospace; fill: #14202e; }
.title { font: 600 18px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
.sub, .dim { fill: #4c5a6d; }
.lane, .place { font-weight: 600; }
.page { fill: #f3f5f8; } .card { fill: #ffffff; stroke: #d5dce6; } .good { stroke: #2fa878; } .bad { stroke: #d93843; }
.head { fill: #eaeef3; } .way { fill: none; stroke: #0a58ca; stroke-width: 2; } .tip { fill: #0a58ca; }
.before { fill: #b3202a; } .after { fill: #066346; } .code { fill: #855300; }
@media (prefers-color-scheme: dark) {
text { fill: #e4ebf4; } .sub, .dim { fill: #9aabc0; } .page { fill: #0b1017; } .card { fill: #131b26; stroke: #263345; }
.good { stroke: #2b9a70; } .bad { stroke: #e5484f; } .head { fill: #0f1620; } .way { stroke: #7cb2ff; } .tip { fill: #7cb2ff; }
.before { fill: #ff8a8a; } .after { fill: #4fd3a0; } .code { fill: #f2be55; }
}`;

type Attributes = Readonly<Record<string, string | number>>;

/** Appends an element; a text becomes a text node, so that markup in a name stays a name. */
function draw(parent: Element, name: string, attributes: Attributes, text?: string): Element {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

/** Cuts a text into lines at its blanks, and a word that is longer than a line where the line ends. */
function wrap(text: string): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const joined = line === "" ? word : `${line} ${word}`;
    if (joined.length <= LINE_MAX) {
      line = joined;
      continue;
    }
    if (line !== "") lines.push(line);
    line = word;
    for (; line.length > LINE_MAX; line = line.slice(LINE_MAX)) lines.push(line.slice(0, LINE_MAX));
  }
  return line === "" ? lines : [...lines, line];
}

interface TextLine {
  readonly text: string;
  readonly tone: string;
}

function linesOf(text: string, tone: string): readonly TextLine[] {
  return wrap(text).map((each) => ({ text: each, tone }));
}

/** What one step says; a layer that let the packet pass says only its name. */
function stepLines(step: TraceStep): readonly TextLine[] {
  const { number, text, rule, code } = step;
  const title = `${number} ${titleOf(step)}${rule === undefined ? "" : ` · ${rule.action}`}`;
  if (isQuiet(step)) return linesOf(title, "dim");
  const { changes, more } = tellingChanges(step);
  return [
    ...linesOf(title, "place"),
    ...linesOf(text, ""),
    ...linesOf(rule?.name ?? "", "dim"),
    ...changes.flatMap(({ field, before, after }) => [
      ...(before === undefined ? [] : linesOf(`${field} − ${before}`, "before")),
      ...linesOf(`${field} + ${after ?? "gone"}`, "after"),
    ]),
    ...(more === 0 ? [] : linesOf(`and ${more} more`, "dim")),
    ...linesOf(code ?? "", "code"),
  ];
}

/** Draws a card with its upper edge at `top`. @returns its lower edge. */
function drawHop(svg: Element, hop: Hop, left: number, top: number): number {
  const lines = [
    ...linesOf(`${hop.place} ${hop.direction.toUpperCase()}`.trimEnd(), "place"),
    ...hop.steps.flatMap(stepLines),
  ];
  const tone = hop.steps.map(toneOf).find((each) => each === "bad" || each === "good") ?? "";
  const height = lines.length * LINE + 2 * PAD;
  draw(svg, "rect", { class: `card ${tone}`, x: left, y: top, width: LANE, height, rx: 8 });
  for (const [index, { text, tone: kind }] of lines.entries())
    draw(svg, "text", { class: kind, x: left + PAD, y: top + PAD + LINE * (index + 1) - 4 }, text);
  return top + height;
}

/** Draws one direction below `top`. @returns where it ends. */
function drawLeg(svg: Element, title: string, leg: TraceLeg, top: number): number {
  const lanes = lanesOf(leg.steps);
  const leftOf = (node: string): number => EDGE + lanes.indexOf(node) * (LANE + GAP);
  draw(svg, "text", { class: "place", x: EDGE, y: top + LINE }, `${title}: ${leg.end}`);
  const head = top + LINE + 12;
  for (const lane of lanes) {
    draw(svg, "rect", { class: "head", x: leftOf(lane), y: head, width: LANE, height: 26, rx: 6 });
    draw(svg, "text", { class: "lane", x: leftOf(lane) + PAD, y: head + 17 }, lane);
  }
  let bottom = head + 26 + 12 - BETWEEN;
  let from: { readonly x: number; readonly y: number } | undefined;
  for (const hop of hopsOf(leg.steps)) {
    const [left, y] = [leftOf(hop.node), bottom + BETWEEN];
    const x = left + LANE / 2;
    if (from !== undefined) {
      const half = (from.y + y) / 2;
      draw(svg, "path", {
        class: "way",
        d: `M${from.x} ${from.y}C${from.x} ${half} ${x} ${half} ${x} ${y}`,
      });
      draw(svg, "path", { class: "tip", d: `M${x - 4} ${y - 8}L${x + 4} ${y - 8}L${x} ${y}Z` });
    }
    bottom = drawHop(svg, hop, left, y);
    from = { x, y: bottom };
  }
  return bottom;
}

/** The picture as the text of a file, both directions below each other. */
export function drawWalk({
  from,
  to,
  protocol,
  port,
  summary,
  verdict,
  forward,
  reply,
}: TraceReport): string {
  const svg = document.createElementNS(NAMESPACE, "svg");
  const page = draw(svg, "rect", { class: "page" });
  draw(svg, "style", {}, STYLE);
  const asked = [protocol.toUpperCase(), port].filter((each) => each !== undefined).join(" ");
  const title = `${shortName(from.reference)} → ${shortName(to.reference)}, ${asked}`;
  draw(svg, "title", {}, title);
  draw(svg, "text", { class: "title", x: EDGE, y: 40 }, title);
  draw(svg, "text", { class: "sub", x: EDGE, y: 62 }, `${verdict}: ${summary}`);
  const legs: readonly (readonly [string, TraceLeg])[] = [
    ["Forward", forward],
    ...(reply === undefined ? [] : ([["Reply", reply]] as const)),
  ];
  let bottom = 76;
  for (const [name, leg] of legs) bottom = drawLeg(svg, name, leg, bottom + 14);
  const lanes = Math.max(...legs.map(([, { steps }]) => lanesOf(steps).length));
  const [width, height] = [Math.max(2 * EDGE + lanes * (LANE + GAP) - GAP, 760), bottom + EDGE];
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` }))
    svg.setAttribute(name, String(value));
  page.setAttribute("width", String(width));
  page.setAttribute("height", String(height));
  return new XMLSerializer().serializeToString(svg);
}
