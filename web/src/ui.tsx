/** `mullion ui`: the shell around the pages. */
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { BringUpState } from "#cli/mullion/web/about.ts";
import type { ClusterSummary } from "#cluster/api/documents.ts";
import { DoctorPage, HnsLifePage, HnsPage } from "./attached.tsx";
import { ABOUT, BASE, Changes, type GivenText, get, getBringUp, useAnswer } from "./client.ts";
import { ClusterPage } from "./cluster-page.tsx";
import { shown } from "./document.ts";
import { FilesPage } from "./files-page.tsx";
import { LifePage } from "./life-page.tsx";
import { MatrixPage } from "./matrix-page.tsx";
import { NodePage } from "./node-page.tsx";
import { Logo, ThemeButton, applyTheme } from "./parts.tsx";
import { Link, type Route, hrefOf, useRoute } from "./route.tsx";
import { ServicesPage } from "./services-page.tsx";
import { WalkPage } from "./walk-page.tsx";

const FILES = ["files", "Lint and doctor"] as const;
const PAGES: readonly (readonly [path: string, title: string])[] = {
  cluster: [
    ["", "Cluster"],
    ["matrix", "Matrix"],
    ["walk", "Packet walk"],
    ["node", "Node"],
    ["services", "Services"],
    ["life", "Life"],
    FILES,
  ] as const,
  hns: [["", "HNS"], ["life", "Life"], FILES] as const,
  doctor: [["", "Doctor"], FILES] as const,
}[ABOUT.kind];

/** What happens in the cluster, as its stream of events tells it. */
export interface Happening {
  readonly id: number;
  readonly atMs: number;
  readonly type: string;
  readonly [field: string]: unknown;
}

const KEPT_MAX = 2_000;
const QUIET_MS = 300;
const AGAIN_MS = 2_000;
const TYPES: readonly string[] = ["object", "node", "note", "progress", "gap"];

interface Life {
  readonly events: readonly Happening[];
  readonly isConnected: boolean;
  /** It was connected, or could not be: what is not there yet is not away. */
  readonly wasConnected: boolean;
  /** How often the cluster has changed. */
  readonly changes: number;
}

/** Listens to events; a browser comes back by itself with the id of the last one. */
function useLife(): Life {
  const [life, setLife] = useState<Life>({ events: [], isConnected: false, wasConnected: false, changes: 0 });
  useEffect(() => {
    // Nothing happens in a report.
    if (ABOUT.kind === "doctor") return undefined;
    let source: EventSource | undefined;
    let again: ReturnType<typeof setTimeout> | undefined;
    let lastId = 0;
    let wasAway = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const changed = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => setLife((old) => ({ ...old, changes: old.changes + 1 })), QUIET_MS);
    };
    const hear = (message: MessageEvent<string>): void => {
      const event = shown(JSON.parse(message.data) as Happening);
      if (event.type !== "gap") lastId = event.id;
      setLife((old) => ({ ...old, events: [...old.events, event].slice(-KEPT_MAX) }));
      if (event.type !== "progress") changed();
    };
    const listen = (): void => {
      source = new EventSource(`${BASE}/api/v1alpha1/events?after=${lastId}`);
      source.onopen = () => {
        setLife((old) => ({ ...old, isConnected: true, wasConnected: true }));
        // What is asked for when the page opens is fresh; what happens meanwhile comes as an event.
        if (wasAway) changed();
        wasAway = false;
      };
      source.onerror = () => {
        wasAway = true;
        setLife((old) => ({ ...old, isConnected: false, wasConnected: true }));
        // A browser comes back by itself from a lost connection, and not from a refusal: the cluster may come up again.
        if (source?.readyState === EventSource.CLOSED) again = setTimeout(listen, AGAIN_MS);
      };
      for (const type of TYPES) source.addEventListener(type, hear);
    };
    listen();
    return () => {
      clearTimeout(again);
      source?.close();
    };
  }, []);
  return life;
}

function Page({
  route,
  life,
  before,
  onKeep,
}: {
  readonly route: Route;
  readonly life: Life;
  /** An earlier state that the matrix is compared with; it outlives the page that it was kept on. */
  readonly before: GivenText | undefined;
  readonly onKeep: (text: GivenText) => void;
}) {
  const [page = "", ...rest] = route.path;
  if (!PAGES.some(([path]) => path === page) && page !== "cluster") return <NoPage page={page} />;
  if (page === "" && ABOUT.kind === "doctor") return <DoctorPage />;
  if (ABOUT.kind === "hns" && page === "") return <HnsPage query={route.query} />;
  if (ABOUT.kind === "hns" && page === "life") return <HnsLifePage events={life.events} />;
  switch (page) {
    case "":
    case "cluster":
      return <ClusterPage />;
    case "matrix":
      return <MatrixPage events={life.events} query={route.query} before={before} onKeep={onKeep} />;
    case "walk":
      return <WalkPage query={route.query} />;
    case "node":
      return <NodePage name={rest[0] ?? ""} query={route.query} />;
    case "services":
      return <ServicesPage query={route.query} />;
    case "life":
      return <LifePage events={life.events} />;
    case "files":
      return <FilesPage />;
    default:
      return <NoPage page={page} />;
  }
}

function NoPage({ page }: { readonly page: string }) {
  return (
    <>
      <h1>There is no page {page}</h1>
      <Link href={hrefOf("")}>To the first page</Link>
    </>
  );
}

function Connection({ life }: { readonly life: Life }) {
  if (ABOUT.kind === "doctor") return null;
  return (
    <span class={`live ${life.isConnected ? "good" : life.wasConnected ? "bad" : ""}`} role="status">
      {life.isConnected ? "connected" : life.wasConnected ? "away, trying again …" : "connecting …"}
    </span>
  );
}

const BRING_UP_ASKED_MS = 500;

/** How far the cluster is, until it is up; its pages follow by themselves. */
function ComingUp({ onUp }: { readonly onUp: () => void }) {
  const [state, setState] = useState<BringUpState>();
  const [isAway, setAway] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (): Promise<void> => {
      try {
        const next = await getBringUp();
        setAway(false);
        if (next.isUp) return onUp();
        setState(next);
      } catch {
        setAway(true);
      }
      timer = setTimeout(() => void ask(), BRING_UP_ASKED_MS);
    };
    void ask();
    return () => clearTimeout(timer);
  }, []);
  const { text = "", done = 0, total = 0, elapsedMs = 0 } = state ?? {};
  const step = text === "" ? "The files are read" : text;
  return (
    <main id="main" class="coming-up">
      <h1>The cluster comes up</h1>
      {total === 0 ? <progress aria-label={step} /> : <progress aria-label={step} value={done} max={total} />}
      <p role="status">
        {step}
        {total === 0 ? "" : ` (${done} of ${total})`}
      </p>
      <p class="dim">{Math.round(elapsedMs / 1_000)} s. The page goes on when it is up.</p>
      {isAway ? (
        <div class="fault" role="alert">
          <p>
            <b>mullion ui does not answer.</b> It ends when its files cannot be taken: the terminal says why.
          </p>
        </div>
      ) : null}
    </main>
  );
}

function Root() {
  const [isUp, setUp] = useState(ABOUT.isComingUp !== true);
  return isUp ? <App /> : <ComingUp onUp={() => setUp(true)} />;
}

function App() {
  const route = useRoute();
  const life = useLife();
  const [before, setBefore] = useState<GivenText>();
  const [current = ""] = route.path;
  const summary = useAnswer(
    ABOUT.kind === "cluster" ? () => get<ClusterSummary>("/cluster") : undefined,
    "cluster",
  );
  const title = PAGES.find(([path]) => path === current)?.[1] ?? "Mullion";
  useEffect(() => {
    document.title = `${title} · ${summary.value?.name ?? "Mullion"}`;
  }, [title, summary.value?.name]);
  return (
    <Changes.Provider value={life.changes}>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class="top">
        <Logo />
        <span class="brand">Mullion</span>
        <span class="crumb">{ABOUT.kind === "cluster" ? (summary.value?.name ?? "") : ABOUT.kind}</span>
        <nav aria-label="Pages">
          {PAGES.map(([path, text]) => (
            <Link href={hrefOf(path)} {...(path === current ? { "aria-current": "page" as const } : {})}>
              {text}
            </Link>
          ))}
        </nav>
        <span class="grow" />
        <Connection life={life} />
        <ThemeButton />
      </header>
      <main id="main" tabIndex={-1}>
        <Page route={route} life={life} before={before} onKeep={setBefore} />
      </main>
    </Changes.Provider>
  );
}

applyTheme();
const root = document.querySelector("#root");
if (root !== null) {
  // What the page showed until now.
  root.textContent = "";
  render(<Root />, root);
}
