/** The cluster as a picture: outside and router above, nodes on the underlay with their pods; what is broken glows. */
import type {
  ClusterSummary,
  ObjectList,
  PodSummaryList,
  ServiceList,
  VfpPortList,
} from "#cluster/api/documents.ts";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, useAnswer } from "./client.ts";
import { plural } from "./document.ts";
import { Awaited } from "./page-parts.tsx";
import { Chip, Section, Stat } from "./parts.tsx";
import { Link, hrefOf } from "./route.tsx";

type NodeSummary = ClusterSummary["nodes"][number];

interface Status {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

type PodOnNode = PodSummaryList["items"][number];

function isReady({ conditions = [] }: Status): boolean {
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

function brokenNodes({ items }: ObjectList): ReadonlySet<string> {
  return new Set(
    items
      .filter((object) => !isReady((object as unknown as { readonly status?: Status }).status ?? {}))
      .map(({ metadata }) => metadata.name),
  );
}

function PodTile({ pod }: { readonly pod: PodOnNode }) {
  const { namespace, name, address, trouble = "" } = pod;
  const title = `${namespace}/${name} ${address}${trouble === "" ? "" : `: ${trouble}`}`;
  return (
    <Link
      class={`pod ${trouble === "" ? "" : "glows"}`}
      title={title}
      href={hrefOf("walk", { from: `pod/${namespace}/${name}` })}
    >
      <b>{namespace === "default" ? name : `${namespace}/${name}`}</b>
      <span>{trouble === "" ? address : trouble}</span>
    </Link>
  );
}

/** Tiles of pods on all cards together: of a large cluster a card shows a few, and those with a trouble first. */
const TILES_MAX = 3_000;
const TILES_OF_NODE = { least: 4, most: 60 } as const;

function tilesOfNode(nodes: number): number {
  return Math.min(TILES_OF_NODE.most, Math.max(TILES_OF_NODE.least, Math.floor(TILES_MAX / nodes)));
}

/** The switches of a node with their ports, each a way into VFP. */
function Switches({ node, ports }: { readonly node: string; readonly ports: VfpPortList["items"] }) {
  return (
    <>
      {[...Map.groupBy(ports, ({ switchFriendlyName }) => switchFriendlyName)].map(([name, own]) => (
        <p class="switch-line small">
          switch {name}
          {own.map((port) => (
            <Link
              class="port-dot"
              title={`port ${port.place}: ${port.addresses.join(", ") || port.kind}`}
              href={hrefOf(`node/${encodeURIComponent(node)}`, { view: "vfp", object: port.name })}
            >
              <span class="sr">port {port.place}</span>
            </Link>
          ))}
        </p>
      ))}
    </>
  );
}

function NodeCard({
  node,
  pods,
  isBroken,
  tiles,
  ports,
}: {
  readonly node: NodeSummary;
  readonly pods: readonly PodOnNode[];
  readonly isBroken: boolean;
  /** So many pods are shown. */
  readonly tiles: number;
  readonly ports: VfpPortList["items"];
}) {
  const { name, os, build, address, podCIDR, compat } = node;
  const hidden = pods.length - tiles;
  // Troubles first, so that they are never among those that are left out.
  const sorted = pods.toSorted((a, b) => Number(b.trouble !== undefined) - Number(a.trouble !== undefined));
  return (
    <article class={`node-card ${os} ${isBroken ? "glows" : ""}`}>
      <header>
        <Link href={hrefOf(`node/${encodeURIComponent(name)}`)}>
          <h3>{name}</h3>
        </Link>
        <Chip tone={os === "windows" ? "denied" : "plain"}>{build ?? os}</Chip>
        {isBroken ? <Chip tone="bad">not ready</Chip> : null}
      </header>
      <p class="dim small">
        {address} · pods {podCIDR} · {compat}
      </p>
      <div class="pods">
        {sorted.slice(0, tiles).map((pod) => (
          <PodTile pod={pod} />
        ))}
      </div>
      <Switches node={name} ports={ports} />
      {pods.length === 0 ? <p class="dim small">no pods</p> : null}
      {hidden > 0 ? (
        <p class="dim small">and {plural(hidden, "pod")} more, all ready or listed above</p>
      ) : null}
    </article>
  );
}

interface Picture {
  readonly summary: ClusterSummary;
  readonly pods: readonly PodOnNode[];
  readonly broken: ReadonlySet<string>;
  readonly services: ObjectList;
}

async function loadPicture(): Promise<Picture> {
  const [summary, pods, nodes, services] = await Promise.all([
    get<ClusterSummary>("/cluster"),
    get<PodSummaryList>("/pods"),
    get<ObjectList>("/objects/nodes"),
    get<ObjectList>("/objects/services"),
  ]);
  return { summary, pods: pods.items, broken: brokenNodes(nodes), services };
}

/** To look at all load balancers brings every machine up: larger clusters are looked at node by node. */
const NODES_LOOKED_AT = 20;

/** Tiles of Services on the first page. */
const SERVICES_SHOWN = 300;

function ServiceTiles({ picture }: { readonly picture: Picture }) {
  const isSmall = picture.summary.nodes.length <= NODES_LOOKED_AT;
  const fronts = useAnswer(isSmall ? () => get<ServiceList>("/services") : undefined, "fronts");
  const { items } = picture.services;
  return (
    <div class="pods">
      {items.length > SERVICES_SHOWN ? (
        <p class="dim">
          The first {SERVICES_SHOWN}; <Link href={hrefOf("services")}>the others stand on their page</Link>.
        </p>
      ) : null}
      {items.slice(0, SERVICES_SHOWN).map((object) => {
        const { name, namespace } = object.metadata;
        const own = (fronts.value?.items ?? []).filter(
          (each) => each.namespace === namespace && each.name.split(":")[0] === name,
        );
        const missing = own.filter(
          ({ state, findings }) => state !== "programmed" || findings.length > 0,
        ).length;
        const { spec } = object as unknown as {
          readonly spec?: { readonly clusterIP?: string; readonly type?: string };
        };
        return (
          <Link
            class={`pod service ${missing > 0 ? "glows" : ""}`}
            href={hrefOf("services", { service: `${namespace}/${name}` })}
          >
            <b>{namespace === "default" ? name : `${namespace}/${name}`}</b>
            <span>
              {missing > 0
                ? plural(missing, "front end") + " not as wanted"
                : `${spec?.type ?? "ClusterIP"} ${spec?.clusterIP ?? ""}`}
            </span>
          </Link>
        );
      })}
    </div>
  );
}

type NamesByNode = Pick<ReadonlyMap<string, string>, "get">;

/** The names of the pods of each node in one text. */
function namesByNode(byNode: ReadonlyMap<string, readonly PodOnNode[]>): NamesByNode {
  return new Map(
    [...byNode].map(([node, pods]) => [
      node,
      pods.map(({ namespace, name }) => `${namespace}/${name}`).join(" "),
    ]),
  );
}

const AFTER_PAINT_MS = 200;

/** Made when the nodes are on the screen, so that the first letter that is typed does not wait for it. */
function useNames(byNode: ReadonlyMap<string, readonly PodOnNode[]>, isSearched: boolean): NamesByNode {
  const names = useRef<NamesByNode | undefined>(undefined);
  useEffect(() => {
    names.current = undefined;
    if (!isSearched) return undefined;
    const timer = setTimeout(() => {
      names.current = namesByNode(byNode);
    }, AFTER_PAINT_MS);
    return () => clearTimeout(timer);
  }, [byNode, isSearched]);
  return {
    get: (node) => {
      names.current ??= namesByNode(byNode);
      return names.current.get(node);
    },
  };
}

const CARDS_AT_ONCE = 24;
/** With more cards than these each has the fewest tiles. */
const CARDS_WITH_TILES = 600;

/** All nodes, a screen of them at first, and more as the page is read on; a text leaves those that hold it. */
function Nodes({
  picture,
  byNode,
}: {
  readonly picture: Picture;
  readonly byNode: ReadonlyMap<string, readonly PodOnNode[]>;
}) {
  const { summary, broken } = picture;
  const isSmall = summary.nodes.length <= NODES_LOOKED_AT;
  const ports = useAnswer(isSmall ? () => get<VfpPortList>("/vfp/ports") : undefined, "ports");
  const [text, setText] = useState("");
  const [count, setCount] = useState(CARDS_AT_ONCE);
  const end = useRef<HTMLDivElement>(null);
  const wanted = text.trim().toLowerCase();
  const names = useNames(byNode, !isSmall);
  const hasPod = (node: string): boolean => names.get(node)?.includes(wanted) === true;
  const found =
    wanted === ""
      ? summary.nodes
      : summary.nodes.filter(({ name }) => name.toLowerCase().includes(wanted) || hasPod(name));
  const isMore = found.length > count;
  useEffect(() => {
    const element = end.current;
    if (element === null || !isMore) return undefined;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setCount((old) => old + CARDS_AT_ONCE);
      },
      { rootMargin: "800px" },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [isMore, count]);
  const tiles = tilesOfNode(Math.min(found.length, CARDS_WITH_TILES));
  return (
    <>
      {isSmall ? null : (
        <div class="form bar find-nodes">
          <label>
            Find
            <input
              type="search"
              value={text}
              placeholder="a node or a pod"
              onInput={(event) => setText((event.target as HTMLInputElement).value)}
            />
          </label>
          <span class="dim" role="status">
            {found.length} of {plural(summary.nodes.length, "node")}
          </span>
        </div>
      )}
      <div class="nodes">
        {found.slice(0, count).map((node) => (
          <div class="slot" key={node.name}>
            <NodeCard
              node={node}
              pods={byNode.get(node.name) ?? []}
              isBroken={broken.has(node.name) || node.standing !== undefined}
              tiles={tiles}
              ports={(ports.value?.items ?? []).filter((port) => port.node === node.name)}
            />
          </div>
        ))}
      </div>
      <div ref={end}>{isMore ? <p class="dim">More nodes follow as you scroll.</p> : null}</div>
    </>
  );
}

function ClusterPicture({ picture }: { readonly picture: Picture }) {
  const { summary, pods, broken } = picture;
  const byNode = useMemo(() => Map.groupBy(pods, ({ node }) => node), [pods]);
  const homeless = (byNode.get("") ?? []).filter(({ trouble }) => trouble !== undefined);
  const troubled = pods.filter(({ trouble }) => trouble !== undefined).length;
  return (
    <>
      <div class="stats">
        <Stat value={summary.nodes.length} label="nodes" />
        <Stat value={pods.length} label="pods" />
        {summary.nodesAtRest === undefined ? null : (
          <Stat value={summary.nodesAtRest} label="nodes come up when asked for" />
        )}
        <Stat value={picture.services.items.length} label="Services" />
        <Stat
          value={troubled + broken.size}
          label="not ready"
          tone={troubled + broken.size > 0 ? "bad" : "good"}
        />
        <Stat value={summary.kubernetes} label="Kubernetes" />
        <Stat value={`${(summary.atMs / 1000).toFixed(1)} s`} label={`virtual time, seed ${summary.seed}`} />
      </div>
      <section class="world" aria-label="The cluster">
        <h2 class="sr">Nodes and their pods</h2>
        <div class="outside">
          {summary.outside.map(({ name, address }) => (
            <Link class="pod outside-host" href={hrefOf("walk", { from: name })}>
              <b>{name}</b>
              <span>{address}</span>
            </Link>
          ))}
          <div class="pod router">
            <b>router</b>
            <span>of the underlay</span>
          </div>
        </div>
        <div class="underlay" aria-hidden="true">
          <span>underlay</span>
        </div>
        <Nodes picture={picture} byNode={byNode} />
        {homeless.length === 0 ? null : (
          <>
            <h3>On no node</h3>
            <div class="pods">
              {homeless.map((pod) => (
                <PodTile pod={pod} />
              ))}
            </div>
          </>
        )}
      </section>
      <Section title="Services" count={picture.services.items.length}>
        <ServiceTiles picture={picture} />
      </Section>
    </>
  );
}

export function ClusterPage() {
  const answer = useAnswer(loadPicture, "picture");
  return (
    <>
      <h1>{answer.value === undefined ? "Cluster" : `Cluster ${answer.value.summary.name}`}</h1>
      <Awaited answer={answer} what="Asking the cluster">
        {(picture) => <ClusterPicture picture={picture} />}
      </Awaited>
    </>
  );
}
