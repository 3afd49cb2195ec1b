/** The switch of a node: ports, layers, groups, rules with their counters, flows; and the same as `vfpctrl` prints it. */
import { useState } from "preact/hooks";
import type { VfpPortList, VfpPortView } from "#cluster/api/documents.ts";
import { get, useAnswer } from "./client.ts";
import { plural } from "./document.ts";
import { Awaited } from "./page-parts.tsx";
import { Chip, Choice, ScrollTable } from "./parts.tsx";
import { hrefOf, navigate } from "./route.tsx";
import { CommandText } from "./shell.tsx";

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

const FORMS = [
  ["layers", "Layers and flows"],
  ["list-rule", "vfpctrl /list-rule"],
  ["list-unified-flow", "vfpctrl /list-unified-flow"],
  ["get-port-counter", "vfpctrl /get-port-counter"],
] as const;

function PortLayers({ port }: { readonly port: VfpPortView }) {
  return (
    <>
      <ol class="layers">
        {port.listing.layers.map((layer) => (
          <LayerView layer={layer} />
        ))}
      </ol>
      <h3>Flows</h3>
      <FlowTable port={port} />
    </>
  );
}

function PortView({ node, name }: { readonly node: string; readonly name: string }) {
  const [form, setForm] = useState<(typeof FORMS)[number][0]>("layers");
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
          <Choice label="Form" value={form} options={FORMS} onChange={setForm} />
          {form === "layers" ? (
            <PortLayers port={port} />
          ) : (
            <CommandText from={`node/${node}`} command={["vfpctrl", "/port", port.port.name, `/${form}`]} />
          )}
        </>
      )}
    </Awaited>
  );
}

export function VfpView({ node, chosen }: { readonly node: string; readonly chosen: string }) {
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
