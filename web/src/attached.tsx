/** Pages over what is no cluster: an HNS that runs, or what doctor says of files. */
import type { DoctorReport } from "#diagnose/doctor/doctor.ts";
import type { FaultStatus, HnsFault } from "#hns/failures/faults/fault.ts";
import type { StackLists } from "#cluster/api/documents.ts";
import { ABOUT, examine, get, useAnswer, useExplanations } from "./client.ts";
import { Doctor } from "./doctor.tsx";
import { HnsView } from "./hns-graph.tsx";
import { type Doing, EventList, useDoing } from "./life-page.tsx";
import { QuirkList, Switch } from "./life-switches.tsx";
import { Awaited, Fault } from "./page-parts.tsx";
import { Button, ScrollTable, Section } from "./parts.tsx";
import type { Happening } from "./ui.tsx";

export function HnsPage({ query }: { readonly query: URLSearchParams }) {
  return (
    <>
      <h1>HNS</h1>
      <p class="dim">{ABOUT.name}</p>
      <Section title="Objects">
        <HnsView node="" chosen={query.get("object") ?? ""} />
      </Section>
    </>
  );
}

/** Faults that need nothing but to be there. */
const SWITCHES: readonly (readonly [label: string, fault: HnsFault])[] = [
  ["the service is away", { effect: "stop", id: "ui-stop" }],
  ["no ports are left for load balancers", { effect: "exhaust-ports", id: "ui-exhaust-ports" }],
  ["notifications are lost", { effect: "lose-notifications", id: "ui-lose-notifications" }],
  ["every call hangs", { effect: "hang", id: "ui-hang" }],
  ["calls take as long as on Windows", { effect: "cost", id: "ui-cost" }],
];

function FaultTable({ faults }: { readonly faults: readonly FaultStatus[] }) {
  if (faults.length === 0) return <p class="dim">No fault is in force.</p>;
  return (
    <ScrollTable label="Faults in force" isTight head={["Id", "Effect", "Seen", "Struck", "Waiting"]}>
      {faults.map(({ id, fault, seen, struck, waiting }) => (
        <tr>
          <th scope="row">{id}</th>
          <td>{fault.effect}</td>
          <td>{seen}</td>
          <td>{struck}</td>
          <td>{waiting}</td>
        </tr>
      ))}
    </ScrollTable>
  );
}

function FaultSwitches({ doing }: { readonly doing: Doing }) {
  const answer = useAnswer(() => get<{ readonly items: readonly FaultStatus[] }>("/faults"), "faults");
  const change = (body: object): void => void doing.act("/faults", body).then(answer.reload);
  return (
    <Awaited answer={answer} what="Listing faults">
      {({ items }) => (
        <>
          <div class="bar">
            {SWITCHES.map(([label, fault]) => (
              <Switch
                label={label}
                isOn={items.some(({ id }) => id === fault.id)}
                isDisabled={doing.isBusy}
                onChange={(isOn) => change(isOn ? { add: fault } : { remove: fault.id })}
              />
            ))}
          </div>
          <FaultTable faults={items} />
          <div class="bar">
            {(
              [
                ["Take all faults away", { do: "clear" }],
                ["Let hanging calls go on", { do: "release" }],
                ["Forget all load balancers", { do: "forget-load-balancers" }],
              ] as const
            ).map(([label, body]) => (
              <Button isOff={doing.isBusy} onPress={() => change(body)}>
                {label}
              </Button>
            ))}
          </div>
        </>
      )}
    </Awaited>
  );
}

export function HnsLifePage({ events }: { readonly events: readonly Happening[] }) {
  const quirks = useAnswer(() => get<StackLists["quirks"]>("/stacks/quirks"), "quirks");
  const doing = useDoing(quirks.reload);
  const act = (change: object): void => void doing.act("/node", change);
  return (
    <>
      <h1>Life</h1>
      <Section title="Faults">
        <FaultSwitches doing={doing} />
        <div class="bar">
          <Button isOff={doing.isBusy} onPress={() => act({ do: "restart-hns" })}>
            Restart the service
          </Button>
          <Button isOff={doing.isBusy} onPress={() => act({ do: "reboot" })}>
            Reboot the machine
          </Button>
        </div>
        {doing.problem === undefined ? null : <Fault problem={doing.problem} />}
      </Section>
      <Section title="Defects of Windows">
        <Awaited answer={quirks} what="Listing defects">
          {({ items }) => (
            <QuirkList
              quirks={items}
              isBusy={doing.isBusy}
              onSet={(quirk, setting) => act({ do: "set-quirk", quirk, setting })}
            />
          )}
        </Awaited>
      </Section>
      <EventList events={events} />
    </>
  );
}

export function DoctorPage() {
  const answer = useAnswer(() => examine<DoctorReport>("doctor"), "doctor");
  const explanations = useExplanations(answer.value);
  return (
    <>
      <div class="bar">
        <h1>Doctor</h1>
        <span class="grow" />
        <Button isOff={answer.isWaiting} onPress={answer.reload}>
          {answer.isWaiting ? "Reading …" : "Read again"}
        </Button>
      </div>
      <p class="dim">{ABOUT.name}</p>
      <Awaited answer={answer} what="Examining the files">
        {(report) => (report === null ? null : <Doctor report={report} explanations={explanations} />)}
      </Awaited>
    </>
  );
}
