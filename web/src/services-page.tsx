/** Services on Windows nodes: each front end to its load balancer on each node to its back ends. */
import type { ClusterSummary, ServiceList } from "#cluster/api/documents.ts";
import { get, useAnswer, useExplanations } from "./client.ts";
import { plural, type Explanations } from "./document.ts";
import { Awaited, NameField } from "./page-parts.tsx";
import { ScrollTable, Chip, CodeNote, Stat, type Tone } from "./parts.tsx";
import { Link, hrefOf, navigate } from "./route.tsx";

type FrontEnd = ServiceList["items"][number];

const TONES: Readonly<Record<FrontEnd["state"], Tone>> = {
  programmed: "good",
  missing: "bad",
  stale: "warn",
};

function titleOf({ namespace, name }: FrontEnd): string {
  return name === "" ? "load balancers of no Service" : `${namespace}/${name}`;
}

function FrontEndRow({
  front,
  explanations,
}: {
  readonly front: FrontEnd;
  readonly explanations: Explanations;
}) {
  const { node, vip, port, protocol, state, backEnds, rules, loadBalancer, frontEnd, findings } = front;
  return (
    <tr class={state === "programmed" && findings.length === 0 ? "" : "troubled"}>
      <th scope="row">
        <Link href={hrefOf(`node/${encodeURIComponent(node)}`, { view: "hns", object: loadBalancer })}>
          {node}
        </Link>
      </th>
      <td>
        {vip === "" ? "every address of the node" : vip}:{port} {protocol}
        <div class="dim small">{frontEnd ?? "stale"}</div>
      </td>
      <td>
        <Chip tone={TONES[state]}>{state}</Chip>
        {findings.map(({ code, message }) => (
          <>
            <p class="small">{message}</p>
            <CodeNote code={code} explanations={explanations} />
          </>
        ))}
      </td>
      <td>
        {backEnds.length === 0 ? <span class="dim">none</span> : null}
        {backEnds.map((address) => (
          <code class="backend">{address}</code>
        ))}
      </td>
      <td>{plural(rules, "rule")}</td>
    </tr>
  );
}

function ServiceSection({
  fronts,
  explanations,
}: {
  readonly fronts: readonly FrontEnd[];
  readonly explanations: Explanations;
}) {
  const [first] = fronts;
  if (first === undefined) return null;
  const bad = fronts.filter(({ state, findings }) => state !== "programmed" || findings.length > 0).length;
  return (
    <section class={`section service-section ${bad > 0 ? "glows-edge" : ""}`}>
      <h2>
        {titleOf(first)} <span class="count">{plural(fronts.length, "front end")}</span>{" "}
        {bad > 0 ? <Chip tone="bad">{bad} not as wanted</Chip> : null}
      </h2>
      <ScrollTable
        label={titleOf(first)}
        head={["Node", "Front end", "Load balancer of HNS", "Back ends", "VFP"]}
      >
        {fronts.map((front) => (
          <FrontEndRow front={front} explanations={explanations} />
        ))}
      </ScrollTable>
    </section>
  );
}

function matches(front: FrontEnd, wanted: string): boolean {
  return wanted === "" || titleOf(front) === wanted || titleOf(front).startsWith(`${wanted}:`);
}

function Services({ list, wanted }: { readonly list: ServiceList; readonly wanted: string }) {
  const explanations = useExplanations(list);
  const items = list.items.filter((front) => matches(front, wanted));
  const count = (state: FrontEnd["state"]): number => items.filter((each) => each.state === state).length;
  return (
    <>
      <div class="stats">
        <Stat value={count("programmed")} label="front ends programmed" tone="good" />
        <Stat value={count("missing")} label="missing" tone={count("missing") > 0 ? "bad" : "faint"} />
        <Stat value={count("stale")} label="stale" tone={count("stale") > 0 ? "warn" : "faint"} />
        <Stat
          value={list.repairs.reduce((sum, { count: times }) => sum + times, 0)}
          label="repairs by kube-proxies"
        />
      </div>
      {items.length === 0 ? <p class="empty">No front end on a Windows node.</p> : null}
      {[...Map.groupBy(items, titleOf).values()].map((fronts) => (
        <ServiceSection fronts={fronts} explanations={explanations} />
      ))}
    </>
  );
}

/** To look at all load balancers brings every machine up: of larger clusters one node is looked at. */
const NODES_LOOKED_AT = 20;

export function ServicesPage({ query }: { readonly query: URLSearchParams }) {
  const summary = useAnswer(() => get<ClusterSummary>("/cluster"), "nodes");
  const nodes = (summary.value?.nodes ?? []).filter(({ os }) => os === "windows");
  const isLarge = nodes.length > NODES_LOOKED_AT;
  const node = query.get("node") ?? (isLarge ? (nodes[0]?.name ?? "") : "");
  const answer = useAnswer(
    summary.value === undefined
      ? undefined
      : () => get<ServiceList>(`/services${node === "" ? "" : `?node=${encodeURIComponent(node)}`}`),
    `services ${node}`,
    summary.value !== undefined,
  );
  const wanted = query.get("service") ?? "";
  return (
    <>
      <div class="bar">
        <h1>Services {wanted === "" ? "" : wanted}</h1>
        {wanted === "" ? null : (
          <button type="button" class="button" onClick={() => navigate(hrefOf("services"))}>
            All Services
          </button>
        )}
      </div>
      {isLarge ? (
        <NameField
          label="On node"
          names={nodes.map(({ name }) => name)}
          chosen={node}
          onChoose={(name) => navigate(hrefOf("services", { service: wanted, node: name }))}
        />
      ) : null}
      <Awaited answer={answer} what="Comparing Services with HNS">
        {(list) => <Services list={list} wanted={wanted} />}
      </Awaited>
    </>
  );
}
