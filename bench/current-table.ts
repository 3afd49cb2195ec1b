/**
 * The table of README.md: which figures have a goal, and whether this run met it. `meaning.md` says what they are and
 * where the goals come from.
 */
import type { Figure } from "./measure.ts";

export interface KeptFigure extends Figure {
  /** Name of the benchmark. */
  readonly bench: string;
}

/** What `out/bench.json` holds. */
export interface BenchRun {
  /** Commit and machine. */
  readonly where: string;
  readonly figures: readonly KeptFigure[];
}

interface Goal {
  readonly label: string;
  /** What the ratio is to; nothing for figures with a unit of their own. */
  readonly floor?: string;
  readonly bench: string;
  /** How the title of its table begins. */
  readonly table: string;
  readonly row: string;
  readonly unit?: Figure["unit"];
  readonly most: number;
}

const FRAME = "a frame that comes";
const COPY = "a copy of the frame";
const NODE = "`node -e 0`";

const GOALS: readonly Goal[] = [
  ...["1 flow", "1000 flows", "100000 flows"].flatMap((flows): readonly Goal[] => {
    const goals = [
      ["NAT", 150],
      ["VXLAN out", 250],
      ["VXLAN in", 250],
    ] as const;
    return goals.map(([row, most]) => ({
      label: `packet of a known connection, ${row}, ${flows}`,
      bench: "flow-hit",
      table: `Flow hit, ${flows} `,
      row,
      unit: "ns",
      most,
    }));
  }),
  ...["NAT", "VXLAN out"].map((kind): Goal => {
    const row = `${kind}, bursts of 32`;
    return {
      label: `${row}, 100000 flows`,
      floor: FRAME,
      bench: "flow-hit",
      table: "Flow hit, 100000 ",
      row,
      most: 12,
    };
  }),
  {
    label: "allocated per hit, NAT",
    bench: "flow-hit",
    table: "Allocated",
    row: "NAT",
    unit: "bytes",
    most: 0.05,
  },
  {
    label: "allocated per hit, lbnat",
    bench: "load-balancer",
    table: "Allocated",
    row: "lbnat",
    unit: "bytes",
    most: 0.05,
  },
  {
    label: "first packet, plain",
    floor: COPY,
    bench: "first-packet",
    table: "First",
    row: "first packet, plain",
    most: 20,
  },
  {
    label: "first packet, NAT",
    floor: COPY,
    bench: "first-packet",
    table: "First",
    row: "first packet, NAT",
    most: 35,
  },
  {
    label: "memory of a port with rules",
    bench: "engine-memory",
    table: "Memory",
    row: "port with rules, no packet yet",
    unit: "bytes",
    most: 8_192,
  },
  {
    label: "memory of a flow, NAT",
    bench: "engine-memory",
    table: "Memory",
    row: "flow, NAT",
    unit: "bytes",
    most: 3_072,
  },
  {
    label: "memory of a flow, VXLAN",
    bench: "engine-memory",
    table: "Memory",
    row: "flow, VXLAN out",
    unit: "bytes",
    most: 2_048,
  },
  {
    label: "known connection of a Service among 10 000",
    floor: "a plain hit",
    bench: "load-balancer",
    table: "Flow hit",
    row: "flow hit, lbnat, 10 000 services",
    most: 1.5,
  },
  {
    label: "first packet among 10 000 Services",
    floor: "a plain first packet",
    bench: "load-balancer",
    table: "First",
    row: "first packet, 10 000 services",
    most: 1.6,
  },
  {
    label: "programming one of 10 000 Services, DSR",
    floor: "of 1 000",
    bench: "load-balancer",
    table: "Programming one service of 10 back ends on 10 pods, DSR",
    row: "10000 services",
    most: 1.25,
  },
  {
    label: "programming one of 10 000 Services, no DSR",
    floor: "of 1 000",
    bench: "load-balancer",
    table: "Programming one service of 10 back ends on 10 pods, non-DSR",
    row: "10000 services",
    most: 1.25,
  },
  {
    label: "kube-proxy's first sync, 10 000 Services",
    floor: "upstream's calls",
    bench: "service-proxy",
    table: "10000 Services",
    row: "first sync",
    most: 0.55,
  },
  {
    label: "kube-proxy's idle sync, 10 000 Services",
    bench: "service-proxy",
    table: "10000 Services",
    row: "idle sync",
    unit: "calls",
    most: 4,
  },
  {
    label: "one back end more, 10 000 Services",
    bench: "service-proxy",
    table: "10000 Services",
    row: "one back end more",
    unit: "calls",
    most: 9,
  },
  {
    label: "memory of kube-proxy per Service",
    bench: "service-proxy",
    table: "10000 Services",
    row: "memory per Service",
    unit: "KiB",
    most: 20,
  },
  {
    label: "first packet among 10 000 ACLs",
    floor: "no policy",
    bench: "many-policies",
    table: "First",
    row: "10000 ACLs",
    most: 1.2,
  },
  {
    label: "one load balancer of 10 000 changes, 100 pods",
    floor: "of 10",
    bench: "many-policies",
    table: "One load",
    row: "10000 services",
    most: 1.25,
  },
  {
    label: "the same, with the node's own pods behind it",
    floor: "of 10",
    bench: "many-policies",
    table: "The same",
    row: "10000 services",
    most: 1.25,
  },
  {
    label: "a pod is attached, among 100",
    floor: "among 10",
    bench: "many-policies",
    table: "A pod",
    row: "100 pods",
    most: 10,
  },
  ...["Calico", "Azure NPM"].map(
    (engine): Goal => ({
      label: `one NetworkPolicy of 10 000 changes, ${engine}`,
      floor: "of 100",
      bench: "policy-engines",
      table: `${engine}: one`,
      row: "10000 policies",
      most: 1.25,
    }),
  ),
  {
    label: "one NetworkPolicy of 1 000 changes, OVN",
    floor: "of 100",
    bench: "ovn",
    table: "One NetworkPolicy",
    row: "1000 policies",
    most: 1.25,
  },
  {
    label: "10 000 logical flows of ovn-northd compiled, each row",
    floor: "`JSON.parse`",
    bench: "ovn-northd",
    table: "Compiling",
    row: "compiled",
    most: 25,
  },
  {
    label: "a first packet through them",
    floor: "ovn-trace",
    bench: "ovn-northd",
    table: "A new connection",
    row: "a packet",
    most: 1.25,
  },
  ...(["local", "tunnel out", "tunnel in"] as const).flatMap((way): readonly Goal[] => [
    ...["1 flow", "1000 flows"].map(
      (flows): Goal => ({
        label: `packet of a known connection, OVN, ${way}, ${flows}`,
        floor: "the engine's hit",
        bench: "ovn-flow-hit",
        table: `Hit, ${way}, ${flows} `,
        row: "OVN",
        most: 1.2,
      }),
    ),
    {
      label: `allocated per hit, OVN, ${way}`,
      bench: "ovn-flow-hit",
      table: "Allocated",
      row: way,
      unit: "bytes",
      most: 0.05,
    },
  ]),
  {
    label: "start of win-bridge, VERSION",
    floor: NODE,
    bench: "cni-start-up",
    table: "Start",
    row: "win-bridge, VERSION",
    most: 2,
  },
  {
    label: "start of host-local, ADD",
    floor: NODE,
    bench: "cni-start-up",
    table: "Start",
    row: "host-local, ADD",
    most: 2,
  },
  {
    label: "start of `mullion --version`",
    floor: NODE,
    bench: "cni-start-up",
    table: "Start",
    row: "mullion --version",
    most: 2.5,
  },
  {
    label: "ADD by win-bridge and host-local",
    floor: "Go's `bridge`",
    bench: "cni-add",
    table: "A pod",
    row: "win-bridge + host-local, ADD",
    most: 3,
  },
  {
    label: "DEL by win-bridge and host-local",
    floor: "Go's `bridge`",
    bench: "cni-add",
    table: "A pod",
    row: "win-bridge + host-local, DEL",
    most: 3,
  },
  {
    label: "ADD through the launcher and the service",
    floor: "Go's `bridge`",
    bench: "cni-add",
    table: "A pod",
    row: "the same through the service, ADD",
    most: 1.5,
  },
  {
    label: "DEL through the launcher and the service",
    floor: "Go's `bridge`",
    bench: "cni-add",
    table: "A pod",
    row: "the same through the service, DEL",
    most: 1.5,
  },
  {
    label: "a dump read, JSON",
    floor: "`JSON.parse`",
    bench: "manifests",
    table: "Manifests",
    row: "dump as JSON, per pod",
    most: 12,
  },
  {
    label: "a dump read, YAML",
    floor: "`JSON.parse`",
    bench: "manifests",
    table: "Manifests",
    row: "dump as YAML, per pod",
    most: 15,
  },
  {
    label: "the controllers",
    floor: "`JSON.parse`",
    bench: "manifests",
    table: "Manifests",
    row: "controllers, 100 nodes, 200 Services, per pod",
    most: 12,
  },
  {
    label: "errors in a log, none there",
    floor: "counting lines",
    bench: "explain-log",
    table: "explain",
    row: "find errors: none there",
    most: 10,
  },
  {
    label: "errors in a log, every 7th line",
    floor: "counting lines",
    bench: "explain-log",
    table: "explain",
    row: "find errors: every 7th line",
    most: 15,
  },
  {
    label: "lint of 10 000 objects",
    floor: "`yaml` alone",
    bench: "lint",
    table: "10000",
    row: "lint",
    most: 1.25,
  },
  {
    label: "doctor, 5 000 load balancers, 20 000 endpoints",
    bench: "doctor",
    table: "doctor",
    row: "all of it",
    unit: "s",
    most: 10,
  },
  {
    label: "doctor, 1 GB of logs of four nodes, one thread",
    bench: "doctor",
    table: "logs",
    row: "1 GB by one thread",
    unit: "s",
    most: 20,
  },
  {
    label: "the same by two threads",
    floor: "one thread",
    bench: "doctor",
    table: "logs",
    row: "two threads",
    most: 0.7,
  },
  {
    label: "first packet, 1 000 security rules, 400 routes",
    floor: "no rule, no route",
    bench: "azure-network",
    table: "First packet through",
    row: "1 000 rules and 400 routes",
    most: 1.3,
  },
  {
    label: "one of 500 nodes replaced: routes of a cloud",
    bench: "azure-network",
    table: "Routes of 500 nodes",
    row: "one of them replaced",
    unit: "calls",
    most: 2,
  },
  {
    label: "an attempt of `verify`, 100 nodes",
    floor: "a connection",
    bench: "matrix",
    table: "The matrix",
    row: "an attempt, 100 nodes",
    most: 2,
  },
  {
    label: "pods of 100 nodes: control plane, each",
    floor: "of 3 nodes",
    bench: "cluster-size",
    table: "a cluster of 3000",
    row: "control plane",
    most: 1.25,
  },
  {
    label: "back ends of 100 nodes, each",
    floor: "of 3 nodes",
    bench: "cluster-size",
    table: "a cluster of 3000",
    row: "names, kube-proxies",
    most: 1.25,
  },
  {
    label: "a copy of 100 nodes, each pod",
    floor: "of 3 nodes",
    bench: "cluster-size",
    table: "a cluster of 3000",
    row: "fork",
    most: 1.25,
  },
  {
    label: "a route to one more of 5 000 nodes",
    floor: "of 50",
    bench: "network-policies",
    table: "One route to",
    row: "5000 nodes, comes",
    most: 1.3,
  },
  {
    label: "create an endpoint",
    floor: "a parsed document",
    bench: "hns-objects",
    table: "Endpoints in memory",
    row: "create, 10000",
    most: 6,
  },
  {
    label: "create an endpoint durably",
    floor: "on format 1",
    bench: "hns-objects",
    table: "Durable, against the store of format 1",
    row: "create an endpoint, 1 at once",
    most: 1.3,
  },
  {
    label: "a call through the Linux library",
    floor: "Node over HTTP",
    bench: "shim-calls",
    table: "A network",
    row: "C, Linux library",
    most: 1,
  },
  {
    label: "a call through the DLL under Wine",
    floor: "Node over HTTP",
    bench: "shim-calls",
    table: "A network",
    row: "C, DLL under Wine",
    most: 1.5,
  },
  ...(
    [
      ["what the first page loads, compressed", "all that the first page loads", "KiB", 293],
      ["first paint, 1 000 nodes, 50 000 pods", "first paint", "s", 1],
      ["a node is found among them", "finding a node", "s", 0.1],
      ["the page's own work of it", "finding a node, its own work", "s", 0.1],
      ["from them to the packet walk", "to Packet walk", "s", 0.1],
      ["the page's own work of it", "to Packet walk, its own work", "s", 0.1],
      ["and back", "back to Cluster", "s", 0.1],
      ["an object among 54 000 is chosen in the graph of HNS", "choosing an object of the graph", "s", 0.1],
      ["an object is found among them", "finding objects", "s", 0.1],
      ["a matrix of 70 000 flows by names", "by names", "s", 0.1],
      ["it is scrolled", "scrolling down", "s", 0.1],
      ["it is filtered", "filtering by a text", "s", 0.1],
      ["a tile is chosen", "choosing a tile", "s", 0.1],
    ] as const
  ).map(([label, row, unit, most]): Goal => ({ label, bench: "pages", table: "Pages", row, unit, most })),
];

function numberOf(value: number, unit: Figure["unit"]): string {
  const isFine = unit === "×" || unit === "s" || unit === "GiB" || (unit === "bytes" && value < 1);
  const digits = isFine ? 2 : 0;
  return `${value.toFixed(digits)} ${unit}`;
}

function rowOf(goal: Goal, { figures }: BenchRun): string {
  const unit = goal.unit ?? "×";
  const found = figures.filter(
    ({ bench, table, row, unit: of }) =>
      bench === goal.bench && row === goal.row && of === unit && table.startsWith(goal.table),
  );
  const value = found[0]?.value;
  const measured = value === undefined ? "not measured" : numberOf(value, unit);
  const met = value === undefined ? "–" : value <= goal.most ? "yes" : "**no**";
  return `| ${goal.label} | ${goal.floor ?? ""} | ${measured} | ${numberOf(goal.most, unit)} | ${met} | \`${goal.bench}\` |`;
}

const BEGIN = "<!-- table: npm run bench -- --write -->";
const END = "<!-- end of table -->";

/** The commit of each benchmark that was measured by itself, from the line above the table. */
function commitsIn(line: string): Map<string, string> {
  const found = line.matchAll(/`([\w-]+)` of (?:commit )?([0-9a-f]+)/g);
  return new Map([...found].map(([, bench = "", commit = ""]) => [bench, commit]));
}

const RIGHT: ReadonlySet<number> = new Set([2, 3]);

/** Lines of a table with columns of one width, and the line of dashes behind the first. */
function aligned(lines: readonly string[]): string[] {
  const cells = lines.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  const text = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        RIGHT.has(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join(" | ");
  const dashes = widths.map((width, column) =>
    RIGHT.has(column) ? `${"-".repeat(width - 1)}:` : "-".repeat(width),
  );
  const [head = [], ...rest] = cells;
  return [head, dashes, ...rest].map((row) => `| ${text(row)} |`);
}

/** The line above the table, after a run of some of the benchmarks. */
function whereOf(line: string, { where }: BenchRun, only: readonly string[]): string {
  const [commit = ""] = where.replace("commit ", "").split(",");
  const commits = commitsIn(line);
  for (const bench of only) commits.set(bench, commit);
  const [whole = ""] = line.replace(/\.$/, "").split(";");
  return `${whole}; ${[...commits].map(([bench, of]) => `\`${bench}\` of ${of}`).join(", ")}.`;
}

/**
 * README.md with the table of this run. With `only` the run has these benchmarks alone: rows of the others stay as they are, and the
 * line above the table names the commit of each of these.
 */
export function withCurrentTable(readme: string, run: BenchRun, only: readonly string[] = []): string {
  const [begin, end] = [readme.indexOf(BEGIN), readme.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`bench/README.md has no lines ${BEGIN} and ${END}`);
  const lines = readme.slice(begin, end).split("\n");
  const known = new Map(
    lines.map((line) => [line.split("|").slice(1, 3).join("|").replaceAll(/ +/g, " "), line]),
  );
  const rows = GOALS.map((goal) => {
    const row = rowOf(goal, run);
    const key = row.split("|").slice(1, 3).join("|").replaceAll(/ +/g, " ");
    return only.length === 0 || only.includes(goal.bench) ? row : (known.get(key) ?? row);
  });
  const table = [
    BEGIN,
    "",
    only.length === 0 ? `${run.where.replace(/^c/, "C")}.` : whereOf(lines[2] ?? "", run, only),
    "",
    ...aligned(["| Figure | Measured against | This run | Goal, at most | Met | Benchmark |", ...rows]),
    "",
  ];
  return `${readme.slice(0, begin)}${table.join("\n")}\n${readme.slice(end)}`;
}

const WORSE = 1.05;

function keyOf({ bench, table, row, unit }: KeptFigure): string {
  return `${bench}: ${table}: ${row} [${unit}]`;
}

/** Ratios, bytes and calls of two runs side by side. Times of two runs are not compared: the machine changes. */
export function compareRuns(before: BenchRun, after: BenchRun): { text: string; isWorse: boolean } {
  const known = new Map(before.figures.map((figure) => [keyOf(figure), figure.value]));
  const lines = [`\nbefore: ${before.where}`, `after:  ${after.where}`];
  let isWorse = false;
  for (const figure of after.figures.filter(({ unit }) => unit !== "ns" && unit !== "s")) {
    const was = known.get(keyOf(figure));
    if (was === undefined) continue;
    const change = figure.value / was;
    if (change > WORSE) isWorse = true;
    const mark = change > WORSE ? "  worse" : "";
    lines.push(
      `${change.toFixed(2).padStart(6)}  ${was.toFixed(2)} → ${figure.value.toFixed(2)}  ${keyOf(figure)}${mark}`,
    );
  }
  return { text: `${lines.join("\n")}\n`, isWorse };
}
