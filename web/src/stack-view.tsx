/** The stack of a node: adapters, routes, neighbours; who resolves names how; the registry. */
import { useState } from "preact/hooks";
import type { StackLists } from "#cluster/api/documents.ts";
import type { ResolutionReport } from "#cluster/trace/resolve-report.ts";
import { get, post, useAnswer, useExplanations } from "./client.ts";
import { Awaited } from "./page-parts.tsx";
import { Choice, ScrollTable } from "./parts.tsx";
import { textOf } from "./route.tsx";
import { CommandText } from "./shell.tsx";
import { Resolution } from "./walk-details.tsx";

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

export function StackView({ node, os }: { readonly node: string; readonly os: string }) {
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
          <h3>Neighbours</h3>
          <CommandText from={`node/${node}`} command={os === "windows" ? ["arp", "-a"] : ["ip", "neigh"]} />
        </>
      )}
    </Awaited>
  );
}

/** Looks a name up on the node or in one of its pods, as a program there would. */
function LookUp({ senders }: { readonly senders: readonly string[] }) {
  const [question, setQuestion] = useState<{ readonly from: readonly string[]; readonly name: string }>();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    setQuestion({ from: [textOf(data, "from")], name: textOf(data, "name").trim() });
  };
  return (
    <>
      <form class="form bar" onSubmit={submit}>
        <label>
          Who asks
          <select name="from">
            {senders.map((each) => (
              <option>{each}</option>
            ))}
          </select>
        </label>
        <label>
          Name
          <input name="name" size={32} required autocomplete="off" placeholder="web, web.shop, example.com" />
        </label>
        <button type="submit" class="button primary">
          Look it up
        </button>
      </form>
      {question === undefined ? null : <Resolved question={question} />}
    </>
  );
}

function Resolved({
  question,
}: {
  readonly question: { readonly from: readonly string[]; readonly name: string };
}) {
  const answer = useAnswer(() => post<ResolutionReport>("/resolve", question), JSON.stringify(question));
  const explanations = useExplanations(answer.value);
  return (
    <Awaited answer={answer} what="Asking for the name">
      {({ lookups }) => (
        <>
          {lookups.map((resolution) => (
            <Resolution resolution={resolution} explanations={explanations} />
          ))}
        </>
      )}
    </Awaited>
  );
}

/** Who resolves names how: resolvers of all compartments, and a look-up. */
export function NamesView({ node, os }: { readonly node: string; readonly os: string }) {
  const answer = useAnswer(
    () => get<StackLists["compartments"]>(`/stacks/compartments?node=${encodeURIComponent(node)}`),
    `names ${node}`,
  );
  return (
    <Awaited answer={answer} what="Reading resolvers">
      {({ items }) => (
        <>
          <ScrollTable label="Resolvers" isTight head={["Compartment", "Pods", "DNS servers", "Search list"]}>
            {items.map(({ compartment, name, pods, dnsServers, suffixes }) => (
              <tr>
                <th scope="row">
                  {compartment} <span class="dim">{name}</span>
                </th>
                <td>{pods.join(", ") || "the node itself"}</td>
                <td>{dnsServers.join(", ") || "none"}</td>
                <td>{suffixes.join(" ") || "none"}</td>
              </tr>
            ))}
          </ScrollTable>
          <h3>Look a name up</h3>
          <LookUp
            senders={[
              `node/${node}`,
              ...new Set(items.flatMap(({ pods }) => pods.map((pod) => `pod/${pod}`))),
            ]}
          />
          <CommandText
            from={`node/${node}`}
            command={os === "windows" ? ["ipconfig", "/all"] : ["cat", "/etc/resolv.conf"]}
          />
        </>
      )}
    </Awaited>
  );
}

const SERVICES = String.raw`HKLM\SYSTEM\CurrentControlSet\Services`;
const KEYS = ["Tcpip", "Tcpip6", "Dnscache"] as const;

/** What the registry holds of the network. */
export function RegistryView({ node }: { readonly node: string }) {
  const [key, setKey] = useState<(typeof KEYS)[number]>("Tcpip");
  const path = `${SERVICES}\\${key}`;
  return (
    <>
      <Choice label="Key" value={key} options={KEYS.map((each) => [each, each] as const)} onChange={setKey} />
      <CommandText from={`node/${node}`} command={["reg", "query", path, "/s"]} />
    </>
  );
}
