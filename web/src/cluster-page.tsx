/** The cluster as a picture: outside and router above, nodes on the underlay with their pods; what is broken glows. */
import type { ClusterSummary, ObjectList, ServiceList } from "#cluster/api/documents.ts";
import { get, useAnswer } from "./client.ts";
import { plural } from "./document.ts";
import { Awaited } from "./page-parts.tsx";
import { Chip, Section, Stat } from "./parts.tsx";
import { Link, hrefOf } from "./route.tsx";

type KubeObject = ObjectList["items"][number];
type NodeSummary = ClusterSummary["nodes"][number];

interface Status {
  readonly phase?: string;
  readonly podIP?: string;
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason?: string;
  }[];
  readonly containerStatuses?: readonly {
    readonly state?: { readonly waiting?: { readonly reason?: string } };
  }[];
}

interface PodOnNode {
  readonly name: string;
  readonly namespace: string;
  readonly node: string;
  readonly address: string;
  /** Why it is not ready; empty when it is. */
  readonly trouble: string;
}

function isReady({ conditions = [] }: Status): boolean {
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

function podOf(object: KubeObject): PodOnNode {
  const { metadata, spec, status } = object as unknown as {
    readonly metadata: { readonly name: string; readonly namespace?: string };
    readonly spec?: { readonly nodeName?: string };
    readonly status?: Status;
  };
  const { phase = "Pending", podIP = "", containerStatuses = [] } = status ?? {};
  const reason = containerStatuses.find(({ state }) => state?.waiting?.reason !== undefined)?.state?.waiting
    ?.reason;
  return {
    name: metadata.name,
    namespace: metadata.namespace ?? "default",
    node: spec?.nodeName ?? "",
    address: podIP,
    trouble: isReady(status ?? {}) ? "" : (reason ?? phase),
  };
}

function brokenNodes({ items }: ObjectList): ReadonlySet<string> {
  return new Set(
    items
      .filter((object) => !isReady((object as unknown as { readonly status?: Status }).status ?? {}))
      .map(({ metadata }) => metadata.name),
  );
}

function PodTile({ pod }: { readonly pod: PodOnNode }) {
  const { namespace, name, address, trouble } = pod;
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

const PODS_SHOWN = 60;

function NodeCard({
  node,
  pods,
  isBroken,
}: {
  readonly node: NodeSummary;
  readonly pods: readonly PodOnNode[];
  readonly isBroken: boolean;
}) {
  const { name, os, build, address, podCIDR, compat } = node;
  const hidden = pods.length - PODS_SHOWN;
  // Troubles first, so that they are never among those that are left out.
  const sorted = pods.toSorted((a, b) => Number(b.trouble !== "") - Number(a.trouble !== ""));
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
        {sorted.slice(0, PODS_SHOWN).map((pod) => (
          <PodTile pod={pod} />
        ))}
      </div>
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
    get<ObjectList>("/objects/pods"),
    get<ObjectList>("/objects/nodes"),
    get<ObjectList>("/objects/services"),
  ]);
  return { summary, pods: pods.items.map(podOf), broken: brokenNodes(nodes), services };
}

/** To look at all load balancers brings every machine up: larger clusters are looked at node by node. */
const NODES_LOOKED_AT = 20;

function ServiceTiles({ picture }: { readonly picture: Picture }) {
  const isSmall = picture.summary.nodes.length <= NODES_LOOKED_AT;
  const fronts = useAnswer(isSmall ? () => get<ServiceList>("/services") : undefined, "fronts");
  return (
    <div class="pods">
      {picture.services.items.map((object) => {
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

function ClusterPicture({ picture }: { readonly picture: Picture }) {
  const { summary, pods, broken } = picture;
  const byNode = Map.groupBy(pods, ({ node }) => node);
  const homeless = (byNode.get("") ?? []).filter(({ trouble }) => trouble !== "");
  const troubled = pods.filter(({ trouble }) => trouble !== "").length;
  return (
    <>
      <div class="stats">
        <Stat value={summary.nodes.length} label="nodes" />
        <Stat value={pods.length} label="pods" />
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
        <div class="nodes">
          {summary.nodes.map((node) => (
            <div class="slot">
              <NodeCard node={node} pods={byNode.get(node.name) ?? []} isBroken={broken.has(node.name)} />
            </div>
          ))}
        </div>
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
