/** `mullion ui`: the shell around the pages. */
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ClusterSummary } from "#cluster/api/documents.ts";
import { BASE, Changes, get, useAnswer } from "./client.ts";
import { ClusterPage } from "./cluster-page.tsx";
import { FilesPage } from "./files-page.tsx";
import { LifePage } from "./life-page.tsx";
import { MatrixPage } from "./matrix-page.tsx";
import { NodePage } from "./node-page.tsx";
import { Logo, ThemeButton, applyTheme } from "./parts.tsx";
import { Link, type Route, hrefOf, useRoute } from "./route.tsx";
import { ServicesPage } from "./services-page.tsx";
import { WalkPage } from "./walk-page.tsx";

const PAGES: readonly (readonly [path: string, title: string])[] = [
  ["", "Cluster"],
  ["matrix", "Matrix"],
  ["walk", "Packet walk"],
  ["node", "Node"],
  ["services", "Services"],
  ["life", "Life"],
  ["files", "Lint and doctor"],
];

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
  /** How often the cluster has changed. */
  readonly changes: number;
}

/** Listens to events; a browser comes back by itself with the id of the last one. */
function useLife(): Life {
  const [life, setLife] = useState<Life>({ events: [], isConnected: false, changes: 0 });
  useEffect(() => {
    let source: EventSource | undefined;
    let again: ReturnType<typeof setTimeout> | undefined;
    let lastId = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const changed = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => setLife((old) => ({ ...old, changes: old.changes + 1 })), QUIET_MS);
    };
    const hear = (message: MessageEvent<string>): void => {
      const event = JSON.parse(message.data) as Happening;
      if (event.type !== "gap") lastId = event.id;
      setLife((old) => ({ ...old, events: [...old.events, event].slice(-KEPT_MAX) }));
      if (event.type !== "progress") changed();
    };
    const listen = (): void => {
      source = new EventSource(`${BASE}/api/v1alpha1/events?after=${lastId}`);
      source.onopen = () => {
        setLife((old) => ({ ...old, isConnected: true }));
        changed();
      };
      source.onerror = () => {
        setLife((old) => ({ ...old, isConnected: false }));
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

function Page({ route, life }: { readonly route: Route; readonly life: Life }) {
  const [page = "", ...rest] = route.path;
  switch (page) {
    case "":
    case "cluster":
      return <ClusterPage />;
    case "matrix":
      return <MatrixPage events={life.events} />;
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
      return (
        <>
          <h1>There is no page {page}</h1>
          <Link href={hrefOf("")}>To the cluster</Link>
        </>
      );
  }
}

function App() {
  const route = useRoute();
  const life = useLife();
  const [current = ""] = route.path;
  const summary = useAnswer(() => get<ClusterSummary>("/cluster"), `cluster ${life.isConnected}`);
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
        <span class="crumb">{summary.value?.name ?? ""}</span>
        <nav aria-label="Pages">
          {PAGES.map(([path, text]) => (
            <Link href={hrefOf(path)} {...(path === current ? { "aria-current": "page" as const } : {})}>
              {text}
            </Link>
          ))}
        </nav>
        <span class="grow" />
        <span class={`live ${life.isConnected ? "good" : "bad"}`} role="status">
          {life.isConnected ? "connected" : "away, trying again …"}
        </span>
        <ThemeButton />
      </header>
      <main id="main" tabIndex={-1}>
        <Page route={route} life={life} />
      </main>
    </Changes.Provider>
  );
}

applyTheme();
const root = document.querySelector("#root");
if (root !== null) render(<App />, root);
