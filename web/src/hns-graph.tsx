/** The objects of HNS on a node as a graph: networks to endpoints to the namespaces of pods, load balancers to endpoints. */
import * as dagre from "@dagrejs/dagre";
import { useMemo, useRef, useState } from "preact/hooks";
import type { HnsList, HnsItem } from "#cluster/api/documents.ts";
import { get, useAnswer } from "./client.ts";
import { plural } from "./document.ts";
import { DRAWN_MAX, type DrawnObject, LISTED_MAX, drawnOf, findObjects, indexObjects } from "./hns-part.ts";
import { type Place, arrowOf, nextPlace } from "./next-place.ts";
import { Awaited } from "./page-parts.tsx";
import { hrefOf, navigate } from "./route.tsx";

/** What of the library is used: its own declarations lead to a package whose types do not resolve. */
interface LayoutGraph {
  setGraph(label: object): void;
  setDefaultEdgeLabel(label: () => object): void;
  setNode(id: string, label: object): void;
  setEdge(from: string, to: string): void;
  node(id: string): Place;
  edges(): readonly { readonly v: string; readonly w: string }[];
  graph(): { readonly width?: number; readonly height?: number };
}
const { Graph, layout } = dagre as unknown as {
  readonly Graph: new () => LayoutGraph;
  readonly layout: (graph: LayoutGraph) => void;
};

const KINDS = ["networks", "endpoints", "namespaces", "loadbalancers"] as const;
type Kind = (typeof KINDS)[number];
const KIND_WORDS: Readonly<Record<Kind, string>> = {
  networks: "network",
  endpoints: "endpoint",
  namespaces: "namespace",
  loadbalancers: "load balancer",
};

interface HnsObject extends DrawnObject {
  readonly kind: Kind;
  readonly item: HnsItem;
}

interface Fields {
  readonly ID: string;
  readonly Name?: string;
  readonly Type?: string;
  readonly HostComputeNetwork?: string;
  readonly HostComputeNamespace?: string;
  readonly HostComputeEndpoints?: readonly string[];
  readonly IpConfigurations?: readonly { readonly IpAddress?: string }[];
  readonly FrontendVIPs?: readonly string[];
  readonly PortMappings?: readonly { readonly ExternalPort?: number; readonly Protocol?: number }[];
  readonly pods?: readonly string[];
}

function objectOf(kind: Kind, item: HnsItem): HnsObject {
  const fields = item as unknown as Fields;
  const { ID, Name = "", Type = "" } = fields;
  const id = ID.toLowerCase();
  const ports = (fields.PortMappings ?? []).map(({ ExternalPort }) => ExternalPort).join(", ");
  switch (kind) {
    case "networks":
      return { kind, id, name: Name, detail: Type, item, links: [] };
    case "endpoints":
      return {
        kind,
        id,
        name: Name === "" ? id.slice(0, 8) : Name,
        detail: (fields.IpConfigurations ?? []).map(({ IpAddress }) => IpAddress).join(", "),
        item,
        links: [fields.HostComputeNetwork, fields.HostComputeNamespace].flatMap(
          (each) => each?.toLowerCase() ?? [],
        ),
      };
    case "namespaces":
      return {
        kind,
        id,
        name: (fields.pods ?? []).join(", ") || id.slice(0, 8),
        detail: "namespace",
        item,
        links: [],
      };
    case "loadbalancers":
      return {
        kind,
        id,
        name: `${(fields.FrontendVIPs ?? []).join(", ") || "node port"}:${ports}`,
        detail: "load balancer",
        item,
        links: (fields.HostComputeEndpoints ?? []).map((each) => each.toLowerCase()),
      };
  }
}

async function loadObjects(node: string): Promise<readonly HnsObject[]> {
  const lists = await Promise.all(
    KINDS.map((kind) => get<HnsList>(`/hns/${kind}?node=${encodeURIComponent(node)}`)),
  );
  return lists.flatMap(({ items }, index) => items.map((item) => objectOf(KINDS[index] ?? "networks", item)));
}

const BOX = { width: 190, height: 44 } as const;

interface Placed {
  readonly object: HnsObject;
  readonly x: number;
  readonly y: number;
}

interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly Placed[];
  readonly lines: readonly string[];
}

function draw(objects: readonly HnsObject[]): Drawing {
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 12, ranksep: 70, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  const known = new Map(objects.map((object) => [object.id, object]));
  for (const { id } of objects) graph.setNode(id, { ...BOX });
  for (const { id, kind, links } of objects)
    for (const link of links.filter((each) => known.has(each))) {
      const target = known.get(link);
      // Networks stand left of their endpoints, namespaces and what balances right of them.
      if (target?.kind === "networks" || kind === "loadbalancers") graph.setEdge(link, id);
      else graph.setEdge(id, link);
    }
  layout(graph);
  const place = (id: string): Place => graph.node(id);
  const lines = graph.edges().map(({ v, w }) => {
    const [from, to] = [place(v), place(w)];
    const [x1, x2] = [from.x + BOX.width / 2, to.x - BOX.width / 2];
    const middle = (x1 + x2) / 2;
    return `M${x1} ${from.y}C${middle} ${from.y} ${middle} ${to.y} ${x2} ${to.y}`;
  });
  const { width = 0, height = 0 } = graph.graph();
  return { width, height, lines, boxes: objects.map((object) => ({ object, ...place(object.id) })) };
}

function Picture({
  objects,
  chosen,
  onChoose,
}: {
  readonly objects: readonly HnsObject[];
  readonly chosen: string;
  readonly onChoose: (id: string) => void;
}) {
  const { width, height, boxes, lines } = useMemo(() => draw(objects), [objects]);
  const [last, setLast] = useState("");
  const canvas = useRef<HTMLDivElement>(null);
  // Tab leads to one box: the one that had the focus, or the chosen one; to the others arrow keys do.
  const ids = boxes.map(({ object }) => object.id);
  const stop = [last, chosen].find((id) => ids.includes(id)) ?? ids[0];
  const onKeyDown = (event: KeyboardEvent): void => {
    const from = boxes.find(({ object }) => object.id === (event.target as HTMLElement).dataset["id"]);
    const key = arrowOf(event.key);
    if (from === undefined || key === undefined) return;
    event.preventDefault();
    const next = nextPlace(boxes, from, key);
    if (next === undefined) return;
    canvas.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(next.object.id)}"]`)?.focus();
  };
  return (
    <div class="graph" tabIndex={0} role="region" aria-label="Objects of HNS">
      <div
        class="canvas"
        ref={canvas}
        style={{ width: `${width}px`, height: `${height}px` }}
        onKeyDown={onKeyDown}
        onFocusIn={(event) => setLast((event.target as HTMLElement).dataset["id"] ?? "")}
      >
        <svg width={width} height={height} aria-hidden="true">
          {lines.map((line) => (
            <path d={line} />
          ))}
        </svg>
        {boxes.map(({ object, x, y }) => (
          <button
            key={object.id}
            type="button"
            class={`box ${object.kind}`}
            data-id={object.id}
            tabIndex={object.id === stop ? 0 : -1}
            aria-pressed={object.id === chosen}
            style={{ left: `${x - BOX.width / 2}px`, top: `${y - BOX.height / 2}px` }}
            onClick={() => onChoose(object.id)}
            title={`${object.kind}: ${object.name}`}
          >
            <b>{object.name}</b>
            <span>{object.detail}</span>
          </button>
        ))}
      </div>
    </div>
  );
}

export function HnsView({ node, chosen }: { readonly node: string; readonly chosen: string }) {
  const answer = useAnswer(() => loadObjects(node), `hns ${node}`);
  const choose = (object: string): void =>
    navigate(
      node === ""
        ? hrefOf("", { object })
        : hrefOf(`node/${encodeURIComponent(node)}`, { view: "hns", object }),
    );
  return (
    <Awaited answer={answer} what="Listing HNS">
      {(objects) => <Objects objects={objects} chosen={chosen.toLowerCase()} onChoose={choose} />}
    </Awaited>
  );
}

/** Of more objects than a picture holds: a text finds them, and the chosen one is drawn with what it is linked with. */
function Finder({
  objects,
  drawn,
  object,
  onChoose,
}: {
  readonly objects: readonly HnsObject[];
  readonly drawn: number;
  readonly object: HnsObject | undefined;
  readonly onChoose: (id: string) => void;
}) {
  const [text, setText] = useState("");
  const found = useMemo(() => findObjects(objects, text), [objects, text]);
  return (
    <>
      <div class="form bar">
        <label>
          Find
          <input
            type="search"
            value={text}
            placeholder="a name, an address, an id"
            onInput={(event) => setText((event.target as HTMLInputElement).value)}
          />
        </label>
        {object === undefined ? null : (
          <button type="button" class="button" onClick={() => onChoose("")}>
            Back to the node's own
          </button>
        )}
        <span class="dim" role="status">
          {text.trim() === "" ? "" : `${plural(found.length, "object")} found`}
        </span>
      </div>
      {text.trim() === "" ? null : (
        <ul class="found-objects" aria-label="Found objects">
          {found.slice(0, LISTED_MAX).map(({ kind, id, name, detail }) => (
            <li key={id}>
              <button type="button" class="link" onClick={() => onChoose(id)}>
                {name}
              </button>{" "}
              <span class="dim">
                {detail === KIND_WORDS[kind] ? detail : `${KIND_WORDS[kind]} ${detail}`}
              </span>
            </li>
          ))}
          {found.length > LISTED_MAX ? (
            <li class="dim">and more: the first {LISTED_MAX} are listed</li>
          ) : null}
        </ul>
      )}
      <p class="dim">
        {object === undefined
          ? `Drawn are ${drawn} of ${objects.length}: the node's own, and what it knows of others.`
          : `Drawn are ${drawn} of ${objects.length}: ${object.name} and what it is linked with.`}
      </p>
    </>
  );
}

function Objects({
  objects,
  chosen,
  onChoose,
}: {
  readonly objects: readonly HnsObject[];
  readonly chosen: string;
  readonly onChoose: (id: string) => void;
}) {
  const index = useMemo(() => indexObjects(objects), [objects]);
  const object = index.byId.get(chosen);
  const drawn = useMemo(() => drawnOf(index, object), [index, object]);
  const counts = useMemo(() => Map.groupBy(objects, ({ kind }) => kind), [objects]);
  const shown = object ?? objects[0];
  return (
    <div class="split">
      <div>
        <p class="dim">
          {KINDS.map((kind) => plural(counts.get(kind)?.length ?? 0, KIND_WORDS[kind])).join(", ")}
        </p>
        {objects.length > DRAWN_MAX ? (
          <Finder objects={objects} drawn={drawn.length} object={object} onChoose={onChoose} />
        ) : null}
        <Picture objects={drawn} chosen={shown?.id ?? ""} onChoose={onChoose} />
      </div>
      {shown === undefined ? null : (
        <aside class="details" aria-label="The chosen object">
          <h3>{shown.name}</h3>
          <pre tabIndex={0}>{JSON.stringify(shown.item, undefined, 2)}</pre>
        </aside>
      )}
    </div>
  );
}
