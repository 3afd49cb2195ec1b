/** One node: objects of HNS, the switch and its VFP, the stack, a shell. */
import { useState } from "preact/hooks";
import type {
  ClusterSummary,
  ObjectList,
  StackLists,
  VfpPortList,
  VfpPortView,
} from "#cluster/api/documents.ts";
import type { ExecReport } from "#cluster/exec/exec-report.ts";
import { Problem, get, post, useAnswer } from "./client.ts";
import { plural } from "./document.ts";
import { HnsView } from "./hns-graph.tsx";
import { Awaited } from "./page-parts.tsx";
import { ScrollTable, Chip, Choice, Section } from "./parts.tsx";
import { Link, hrefOf, navigate, textOf } from "./route.tsx";

type Layer = VfpPortView["listing"]["layers"][number];
type Group = Layer["groups"][number];
type Rule = Group["rules"][number];

function RuleRow({ rule }: { readonly rule: Rule }) {
  const { name, id, type, priority, conditions, data, counters } = rule;
  return (
    <tr>
      <td>{priority}</td>
      <td>
        <Chip tone={type === "block" ? "bad" : "plain"}>{type}</Chip>
      </td>
      <th scope="row">{name === "" ? id : name}</th>
      <td class="small">
        {conditions.map(({ label, value }) => (
          <div>
            <span class="dim">{label}</span> <code>{value}</code>
          </div>
        ))}
        {data.map((line) => (
          <div>
            <code>{line}</code>
          </div>
        ))}
      </td>
      <td class="small">
        {Object.entries(counters ?? {})
          .filter(([, count]) => count > 0)
          .map(([label, count]) => (
            <div>
              {label} {String(count)}
            </div>
          ))}
      </td>
    </tr>
  );
}

function GroupView({ group }: { readonly group: Group }) {
  const { name, id, direction, type, rules, match } = group;
  return (
    <details class="note">
      <summary>
        <Chip tone={direction === "OUT" ? "plain" : "denied"}>{direction}</Chip> {name === "" ? id : name}{" "}
        <span class="dim">
          {type}, {plural(rules.length, "rule")}, {match}
        </span>
      </summary>
      <ScrollTable
        label={`Rules of ${name}`}
        isTight
        head={["Priority", "Type", "Rule", "Conditions and data", "Counters"]}
      >
        {rules.map((rule) => (
          <RuleRow rule={rule} />
        ))}
      </ScrollTable>
    </details>
  );
}

function LayerView({ layer }: { readonly layer: Layer }) {
  const { name, id, priority, groups } = layer;
  const rules = groups.reduce((sum, group) => sum + group.rules.length, 0);
  return (
    <li class={`layer ${rules === 0 ? "quiet-layer" : ""}`}>
      <h4>
        <span class="number">{priority}</span> {name === "" ? id : name}{" "}
        <span class="dim">{rules === 0 ? "no rules" : plural(rules, "rule")}</span>
      </h4>
      {groups
        .filter((group) => group.rules.length > 0)
        .map((group) => (
          <GroupView group={group} />
        ))}
    </li>
  );
}

function FlowTable({ port }: { readonly port: VfpPortView }) {
  const { flows } = port.listing;
  if (flows.length === 0) return <p class="dim">No flows: nothing has passed this port since it was made.</p>;
  return (
    <ScrollTable label="Unified flows" isTight head={["Flow", "Does", "Packets", "Idle"]}>
      {flows.map(
        ({
          direction,
          protocol,
          source,
          sourcePort,
          destination,
          destinationPort,
          transposition,
          packets,
          idleSeconds,
          ttl,
        }) => (
          <tr>
            <th scope="row">
              <Chip>{direction}</Chip> {protocol} {source}:{sourcePort} → {destination}:{destinationPort}
            </th>
            <td class="small">
              {Object.entries(transposition)
                .map(([part, words]) => `${part} ${words}`)
                .join("; ")}
            </td>
            <td>{packets}</td>
            <td>
              {idleSeconds} of {ttl} s
            </td>
          </tr>
        ),
      )}
    </ScrollTable>
  );
}

function PortView({ node, name }: { readonly node: string; readonly name: string }) {
  const answer = useAnswer(
    () => get<VfpPortView>(`/vfp/port?name=${encodeURIComponent(name)}&node=${encodeURIComponent(node)}`),
    `port ${node} ${name}`,
  );
  return (
    <Awaited answer={answer} what="Reading the port">
      {(port) => (
        <>
          <h3>
            {port.port.place} <code class="place">{port.port.name}</code>
          </h3>
          <p class="dim">
            {port.port.kind}, {port.port.mac}, {port.port.addresses.join(", ")}, MTU {port.port.mtu}. Outgoing
            packets meet the lowest layer first, incoming ones the highest.
          </p>
          <ol class="layers">
            {port.listing.layers.map((layer) => (
              <LayerView layer={layer} />
            ))}
          </ol>
          <h3>Flows</h3>
          <FlowTable port={port} />
        </>
      )}
    </Awaited>
  );
}

function VfpView({ node, chosen }: { readonly node: string; readonly chosen: string }) {
  const answer = useAnswer(
    () => get<VfpPortList>(`/vfp/ports?node=${encodeURIComponent(node)}`),
    `ports ${node}`,
  );
  const open = (port: string): void =>
    navigate(hrefOf(`node/${encodeURIComponent(node)}`, { view: "vfp", object: port }));
  return (
    <Awaited answer={answer} what="Listing ports">
      {({ items }) => {
        const port =
          chosen === "" ? (items.find(({ kind }) => kind === "container") ?? items[0])?.name : chosen;
        return (
          <div class="split ports-split">
            <nav class="ports" aria-label="Switch ports">
              {[...Map.groupBy(items, ({ switchFriendlyName }) => switchFriendlyName)].map(
                ([name, ports]) => (
                  <>
                    <h3>{name}</h3>
                    {ports.map((each) => (
                      <button
                        type="button"
                        class="port"
                        aria-pressed={each.name === port}
                        onClick={() => open(each.name)}
                      >
                        <b>{each.place}</b>
                        <span class="dim">{each.addresses.join(", ") || each.kind}</span>
                      </button>
                    ))}
                  </>
                ),
              )}
            </nav>
            <div>
              {port === undefined ? <p class="empty">No ports.</p> : <PortView node={node} name={port} />}
            </div>
          </div>
        );
      }}
    </Awaited>
  );
}

interface Stack {
  readonly adapters: StackLists["adapters"]["items"];
  readonly routes: StackLists["routes"]["items"];
}

async function loadStack(node: string): Promise<Stack> {
  const of = `?node=${encodeURIComponent(node)}`;
  const [adapters, routes] = await Promise.all([
    get<StackLists["adapters"]>(`/stacks/adapters${of}`),
    get<StackLists["routes"]>(`/stacks/routes${of}`),
  ]);
  return { adapters: adapters.items, routes: routes.items };
}

function StackView({ node }: { readonly node: string }) {
  const answer = useAnswer(() => loadStack(node), `stack ${node}`);
  return (
    <Awaited answer={answer} what="Reading the stack">
      {({ adapters, routes }) => (
        <>
          <h3>Adapters</h3>
          <ScrollTable
            label="Adapters"
            isTight
            head={["Compartment", "Adapter", "MAC", "Addresses", "MTU", "DNS"]}
          >
            {adapters.map(({ compartment, name, mac, addresses, mtuBytes, dnsServers }) => (
              <tr>
                <td>{compartment}</td>
                <th scope="row">{name}</th>
                <td>{mac}</td>
                <td>{addresses.join(", ")}</td>
                <td>{mtuBytes}</td>
                <td>{dnsServers.join(", ")}</td>
              </tr>
            ))}
          </ScrollTable>
          <h3>Routes</h3>
          <ScrollTable
            label="Routes"
            isTight
            head={["Compartment", "Destination", "Next hop", "Adapter", "Metric"]}
          >
            {routes.map(({ compartment, destination, nextHop, adapter, metric }) => (
              <tr>
                <td>{compartment}</td>
                <th scope="row">{destination}</th>
                <td>{nextHop ?? "on the link"}</td>
                <td>{adapter}</td>
                <td>{metric}</td>
              </tr>
            ))}
          </ScrollTable>
        </>
      )}
    </Awaited>
  );
}

interface ShellLine {
  readonly from: string;
  readonly command: string;
  readonly output: string;
  readonly exitCode: number | undefined;
}

const SUGGESTED: Readonly<Record<string, readonly string[]>> = {
  windows: [
    "ipconfig /all",
    "route print",
    "hnsdiag list all",
    "vfpctrl /list-vmswitch-port",
    "netsh interface ipv4 show neighbors",
  ],
  linux: ["ip addr", "ip route", "ip neigh"],
};

async function runCommand(from: string, command: string): Promise<ShellLine> {
  try {
    const { stdout, stderr, exitCode } = await post<ExecReport>("/exec", {
      from,
      command: command.split(/\s+/),
    });
    return { from, command, output: `${stdout}${stderr}`, exitCode };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return {
      from,
      command,
      output: `${error.details.message}. ${error.details.advice}`,
      exitCode: undefined,
    };
  }
}

async function loadPods(node: string): Promise<readonly string[]> {
  const { items } = await get<ObjectList>("/objects/pods");
  return items
    .filter(
      (pod) => (pod as unknown as { readonly spec?: { readonly nodeName?: string } }).spec?.nodeName === node,
    )
    .map(({ metadata }) => `pod/${metadata.namespace ?? "default"}/${metadata.name}`);
}

function Shell({ node, os }: { readonly node: string; readonly os: string }) {
  const [lines, setLines] = useState<readonly ShellLine[]>([]);
  const [from, setFrom] = useState(`node/${node}`);
  const pods = useAnswer(() => loadPods(node), `pods ${node}`);
  const run = (command: string): void => {
    if (command.trim() !== "")
      void runCommand(from, command.trim()).then((line) => setLines((old) => [line, ...old]));
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    run(textOf(new FormData(form), "command"));
    form.reset();
  };
  return (
    <>
      <form class="form bar" onSubmit={submit}>
        <label>
          On
          <select value={from} onChange={(event) => setFrom((event.target as HTMLSelectElement).value)}>
            {[`node/${node}`, ...(pods.value ?? [])].map((each) => (
              <option>{each}</option>
            ))}
          </select>
        </label>
        <label>
          Command
          <input name="command" size={40} autocomplete="off" spellcheck={false} />
        </label>
        <button type="submit" class="button primary">
          Run
        </button>
      </form>
      <div class="bar">
        {(SUGGESTED[os] ?? []).map((command) => (
          <button type="button" class="button" onClick={() => run(command)}>
            <code>{command}</code>
          </button>
        ))}
      </div>
      {lines.map(({ from: where, command, output, exitCode }) => (
        <section class="shell" aria-label={command}>
          <p>
            <span class="dim">{where}&gt;</span> <b>{command}</b>{" "}
            {exitCode === 0 ? null : (
              <Chip tone="bad">{exitCode === undefined ? "refused" : `exit code ${exitCode}`}</Chip>
            )}
          </p>
          <pre tabIndex={0}>{output}</pre>
        </section>
      ))}
    </>
  );
}

const VIEWS = [
  ["hns", "HNS"],
  ["vfp", "Switch and VFP"],
  ["stack", "Adapters and routes"],
  ["shell", "Shell"],
] as const;
type View = (typeof VIEWS)[number][0];

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
      return <HnsView node={name} chosen={chosen} />;
    case "vfp":
      return <VfpView node={name} chosen={chosen} />;
    case "stack":
      return <StackView node={name} />;
    case "shell":
      return <Shell key={name} node={name} os={os} />;
  }
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
  const views = node.os === "windows" ? VIEWS : VIEWS.slice(2);
  const view = views.find(([each]) => each === query.get("view"))?.[0] ?? views[0]?.[0] ?? "stack";
  const hrefTo = (next: View): string => hrefOf(`node/${encodeURIComponent(node.name)}`, { view: next });
  return (
    <>
      <nav class="bar node-links" aria-label="Nodes">
        {summary.nodes.map((each) => (
          <Link
            href={hrefOf(`node/${encodeURIComponent(each.name)}`, { view })}
            {...(each === node ? { "aria-current": "page" as const } : {})}
          >
            {each.name}
          </Link>
        ))}
      </nav>
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
  return (
    <>
      <h1>Node {name}</h1>
      <Awaited answer={answer} what="Asking the cluster">
        {(summary) => <OneNode summary={summary} name={name} query={query} />}
      </Awaited>
    </>
  );
}
