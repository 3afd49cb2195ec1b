/** Faults and defects as switches: what a node or the API server does is turned off and on. */
import { useState } from "preact/hooks";
import type { ClusterSummary, StackLists } from "#cluster/api/documents.ts";
import { get, useAnswer, useExplanations } from "./client.ts";
import type { NodeFaultName } from "#cluster/life/node-change.ts";
import { type Explanations, plural } from "./document.ts";
import type { Doing } from "./life-page.tsx";
import { Awaited, Fault, NameField } from "./page-parts.tsx";
import { Button, Chip, CodeNote, Section } from "./parts.tsx";

export type QuirkItem = Omit<StackLists["quirks"]["items"][number], "node">;

/** A switch with its name beside it. */
export function Switch({
  label,
  isOn,
  isDisabled = false,
  onChange,
}: {
  readonly label: string;
  readonly isOn: boolean;
  readonly isDisabled?: boolean;
  readonly onChange: (isOn: boolean) => void;
}) {
  return (
    <button
      type="button"
      role="switch"
      class="switch"
      aria-checked={isOn}
      // Disabled, it would lose the focus: see Button.
      aria-disabled={isDisabled}
      onClick={() => isDisabled || onChange(!isOn)}
    >
      <span class="switch-track" aria-hidden="true" />
      {label}
    </button>
  );
}

function QuirkRow({
  quirk,
  explanations,
  isBusy,
  onSet,
}: {
  readonly quirk: QuirkItem;
  readonly explanations: Explanations;
  readonly isBusy: boolean;
  readonly onSet: (name: string, setting: string) => void;
}) {
  const { name, setting, concernsBuild, explanation } = quirk;
  return (
    <li class="quirk">
      <div class="bar">
        <Switch
          label={name}
          isOn={setting !== "off"}
          isDisabled={isBusy}
          onChange={(isOn) => onSet(name, isOn ? "on" : "off")}
        />
        {setting === "on" || setting === "off" ? null : <Chip tone="warn">strikes {setting}</Chip>}
        {concernsBuild ? <Chip tone="denied">its build has it</Chip> : null}
      </div>
      <CodeNote code={explanation} explanations={explanations} />
    </li>
  );
}

/** All defects, those of the build and those that are on first; a text leaves those that hold it. */
export function QuirkList({
  quirks,
  isBusy,
  onSet,
}: {
  readonly quirks: readonly QuirkItem[];
  readonly isBusy: boolean;
  readonly onSet: (name: string, setting: string) => void;
}) {
  const [text, setText] = useState("");
  const [isAll, setAll] = useState(false);
  const explanations = useExplanations(quirks.map(({ explanation: code }) => ({ code })));
  const titleOf = ({ explanation }: QuirkItem): string => explanations[explanation]?.title ?? "";
  const isNear = (quirk: QuirkItem): boolean => isAll || quirk.concernsBuild || quirk.setting !== "off";
  const shown = quirks.filter((quirk) =>
    text === ""
      ? isNear(quirk)
      : `${quirk.name} ${titleOf(quirk)}`.toLowerCase().includes(text.trim().toLowerCase()),
  );
  return (
    <>
      <div class="form bar">
        <label>
          Find
          <input
            type="search"
            value={text}
            placeholder="a name, a word"
            onInput={(event) => setText((event.target as HTMLInputElement).value)}
          />
        </label>
        <Switch label="also those that its build does not have" isOn={isAll} onChange={setAll} />
        <span class="dim">
          {shown.length} of {quirks.length} defects
        </span>
      </div>
      {shown.length === 0 ? <p class="empty">No defect fits.</p> : null}
      <ul class="quirks">
        {shown.map((quirk) => (
          <QuirkRow
            key={quirk.name}
            quirk={quirk}
            explanations={explanations}
            isBusy={isBusy}
            onSet={onSet}
          />
        ))}
      </ul>
    </>
  );
}

type NodeSummary = ClusterSummary["nodes"][number];

function NodeQuirks({ node, doing }: { readonly node: string; readonly doing: Doing }) {
  const answer = useAnswer(
    () => get<StackLists["quirks"]>(`/stacks/quirks?node=${encodeURIComponent(node)}`),
    `quirks ${node}`,
  );
  const set = async (quirk: string, setting: string): Promise<void> => {
    await doing.act("/node", { node, do: "set-quirk", quirk, setting });
    answer.reload();
  };
  return (
    <Awaited answer={answer} what="Listing defects">
      {({ items }) => (
        <QuirkList quirks={items} isBusy={doing.isBusy} onSet={(name, setting) => void set(name, setting)} />
      )}
    </Awaited>
  );
}

/** What the switches of faults say. */
const FAULTS: Readonly<Record<NodeFaultName, string>> = {
  "hns-away": "HNS answers no call",
  "ports-exhausted": "no ports are left for load balancers",
  "endpoints-refused": "HNS makes no endpoint",
  "load-balancers-refused": "HNS makes no load balancer",
  "next-endpoint-refused": "the next endpoint is refused",
  "next-load-balancer-refused": "the next load balancer is refused",
  "notifications-lost": "HNS tells nobody what has changed",
};

const FAULT_NAMES = Object.keys(FAULTS) as readonly NodeFaultName[];

/** What the calls of a node's programs to HNS meet. */
function CallFaults({ node, doing }: { readonly node: NodeSummary; readonly doing: Doing }) {
  const { name, faults = [] } = node;
  return (
    <ul class="quirks" aria-label={`Faults of HNS on ${name}`}>
      {FAULT_NAMES.map((fault) => {
        const inForce = faults.find((each) => each.name === fault);
        return (
          <li class="bar">
            <Switch
              label={FAULTS[fault]}
              isOn={inForce !== undefined}
              isDisabled={doing.isBusy}
              onChange={(isOn) => void doing.act("/node", { node: name, do: "set-fault", fault, isOn })}
            />
            {inForce === undefined ? null : (
              <Chip tone="warn">
                {inForce.struck === 0
                  ? "has struck no call yet"
                  : `has struck ${plural(inForce.struck, "call")}`}
              </Chip>
            )}
          </li>
        );
      })}
    </ul>
  );
}

const HNS_STATES = [
  ["", "as its defects decide"],
  ["keep", "keep all objects"],
  ["forget-load-balancers", "forget load balancers"],
  ["lose", "lose all objects"],
] as const;

function NodeSwitches({ node, doing }: { readonly node: NodeSummary; readonly doing: Doing }) {
  const [state, setState] = useState("");
  const { name, os, standing } = node;
  const act = (change: object): void => void doing.act("/node", { node: name, ...change });
  return (
    <>
      <div class="bar">
        <Switch
          label="machine on"
          isOn={standing !== "stopped"}
          isDisabled={doing.isBusy || standing === "left"}
          onChange={(isOn) => act({ do: isOn ? "start" : "stop" })}
        />
        <Switch
          label="in the cluster"
          isOn={standing !== "left"}
          isDisabled={doing.isBusy || standing === "stopped"}
          onChange={(isOn) => act({ do: isOn ? "rejoin" : "leave" })}
        />
        <Button isOff={doing.isBusy} onPress={() => act({ do: "reboot" })}>
          Reboot
        </Button>
      </div>
      {os === "windows" ? (
        <div class="form bar">
          <Button
            isOff={doing.isBusy}
            onPress={() => act({ do: "restart-hns", ...(state === "" ? {} : { state }) })}
          >
            Restart HNS
          </Button>
          <label>
            and
            <select value={state} onChange={(event) => setState((event.target as HTMLSelectElement).value)}>
              {HNS_STATES.map(([value, text]) => (
                <option value={value}>{text}</option>
              ))}
            </select>
          </label>
        </div>
      ) : null}
    </>
  );
}

/** What can happen to the API server and to one node. */
export function Faults({ summary, doing }: { readonly summary: ClusterSummary; readonly doing: Doing }) {
  const { nodes, apiServer } = summary;
  const [chosen, setChosen] = useState("");
  const node = nodes.find(({ name }) => name === chosen) ?? nodes[0];
  return (
    <>
      <Section title="Let something happen">
        <div class="bar">
          <Switch
            label="API server"
            isOn={apiServer !== "down"}
            isDisabled={doing.isBusy}
            onChange={(isOn) => void doing.act("/control-plane", { apiServer: isOn ? "up" : "down" })}
          />
          <NameField
            label="Node"
            names={nodes.map(({ name }) => name)}
            chosen={node?.name ?? ""}
            onChoose={setChosen}
          />
        </div>
        {node === undefined ? null : <NodeSwitches node={node} doing={doing} />}
        {doing.problem === undefined ? null : <Fault problem={doing.problem} />}
      </Section>
      {node?.os === "windows" ? (
        <Section title={`Faults of HNS on ${node.name}`}>
          <p class="dim">
            What its programs meet when they call HNS, until the switch is off. Calls that hang or take their
            time are not among them: programs of a cluster work until nothing changes any more, and would
            never be done. An HNS that runs by itself has those: <code>mullion hns serve</code>, and{" "}
            <code>mullion ui --hns</code>.
          </p>
          <CallFaults node={node} doing={doing} />
        </Section>
      ) : null}
      {node?.os === "windows" ? (
        <Section title={`Defects of Windows on ${node.name}`}>
          <NodeQuirks key={node.name} node={node.name} doing={doing} />
        </Section>
      ) : null}
    </>
  );
}
