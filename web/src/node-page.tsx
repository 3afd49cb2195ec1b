/** One node: objects of HNS, the switch and its VFP, the stack, names, the registry, a shell. */
import { useState } from "preact/hooks";
import type { ClusterSummary } from "#cluster/api/documents.ts";
import { get, useAnswer } from "./client.ts";
import { plural } from "./document.ts";
import { HnsView } from "./hns-graph.tsx";
import { Awaited, NameField } from "./page-parts.tsx";
import { Choice, Section } from "./parts.tsx";
import { Link, hrefOf, navigate } from "./route.tsx";
import { CommandText, Shell } from "./shell.tsx";
import { NamesView, RegistryView, StackView } from "./stack-view.tsx";
import { VfpView } from "./vfp-view.tsx";

const VIEWS = [
  ["hns", "HNS"],
  ["vfp", "Switch and VFP"],
  ["registry", "Registry"],
  ["stack", "Adapters and routes"],
  ["names", "DNS"],
  ["shell", "Shell"],
] as const;
type View = (typeof VIEWS)[number][0];

const HNS_FORMS = [
  ["graph", "Graph"],
  ["text", "hnsdiag list all"],
] as const;

function HnsOfNode({ node, chosen }: { readonly node: string; readonly chosen: string }) {
  const [form, setForm] = useState<(typeof HNS_FORMS)[number][0]>("graph");
  return (
    <>
      <div class="bar">
        <Choice label="Form" value={form} options={HNS_FORMS} onChange={setForm} />
      </div>
      {form === "graph" ? (
        <HnsView node={node} chosen={chosen} />
      ) : (
        <CommandText from={`node/${node}`} command={["hnsdiag", "list", "all"]} />
      )}
    </>
  );
}

function NodeViews({
  name,
  os,
  view,
  chosen,
}: {
  readonly name: string;
  readonly os: string;
  readonly view: View;
  readonly chosen: string;
}) {
  switch (view) {
    case "hns":
      return <HnsOfNode node={name} chosen={chosen} />;
    case "vfp":
      return <VfpView node={name} chosen={chosen} />;
    case "stack":
      return <StackView node={name} os={os} />;
    case "names":
      return <NamesView node={name} os={os} />;
    case "registry":
      return <RegistryView node={name} />;
    case "shell":
      return <Shell key={name} node={name} os={os} />;
  }
}

/** More nodes than these are a list to choose from. */
const LINKS_MAX = 24;

function NodeChoice({
  nodes,
  chosen,
  view,
}: {
  readonly nodes: ClusterSummary["nodes"];
  readonly chosen: string;
  readonly view: View;
}) {
  const hrefTo = (name: string): string => hrefOf(`node/${encodeURIComponent(name)}`, { view });
  if (nodes.length <= LINKS_MAX)
    return (
      <nav class="bar node-links" aria-label="Nodes">
        {nodes.map(({ name }) => (
          <Link href={hrefTo(name)} {...(name === chosen ? { "aria-current": "page" as const } : {})}>
            {name}
          </Link>
        ))}
      </nav>
    );
  return (
    <NameField
      label="Node"
      names={nodes.map(({ name }) => name)}
      chosen={chosen}
      onChoose={(name) => navigate(hrefTo(name))}
    />
  );
}

function OneNode({
  summary,
  name,
  query,
}: {
  readonly summary: ClusterSummary;
  readonly name: string;
  readonly query: URLSearchParams;
}) {
  const node =
    summary.nodes.find((each) => each.name === name) ?? (name === "" ? summary.nodes[0] : undefined);
  if (node === undefined) return <p class="empty">The cluster has no node {name}.</p>;
  const views = node.os === "windows" ? VIEWS : VIEWS.slice(3);
  const view = views.find(([each]) => each === query.get("view"))?.[0] ?? views[0]?.[0] ?? "stack";
  const hrefTo = (next: View): string => hrefOf(`node/${encodeURIComponent(node.name)}`, { view: next });
  return (
    <>
      <NodeChoice nodes={summary.nodes} chosen={node.name} view={view} />
      <p class="dim">
        {node.build ?? node.os} · {node.address} · pods {node.podCIDR} · {node.compat} ·{" "}
        {plural(node.pods, "pod")}
      </p>
      <Choice label="View" value={view} options={views} onChange={(next) => navigate(hrefTo(next))} />
      <Section title={views.find(([each]) => each === view)?.[1] ?? ""}>
        <NodeViews name={node.name} os={node.os} view={view} chosen={query.get("object") ?? ""} />
      </Section>
    </>
  );
}

export function NodePage({ name, query }: { readonly name: string; readonly query: URLSearchParams }) {
  const answer = useAnswer(() => get<ClusterSummary>("/cluster"), "nodes");
  // Without a name it is the first one.
  const shown = name === "" ? (answer.value?.nodes[0]?.name ?? "") : name;
  return (
    <>
      <h1>Node {shown}</h1>
      <Awaited answer={answer} what="Asking the cluster">
        {(summary) => <OneNode summary={summary} name={name} query={query} />}
      </Awaited>
    </>
  );
}
