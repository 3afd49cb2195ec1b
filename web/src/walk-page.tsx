/** Asks for a packet, and shows its walk. */
import { useState } from "preact/hooks";
import type {
  ClusterSummary,
  ErrorDetails,
  ObjectList,
  PodSummaryList,
  TraceAnswer,
} from "#cluster/api/documents.ts";
import { Problem, get, post, useAnswer, useExplanations } from "./client.ts";
import { Awaited, Fault, Names } from "./page-parts.tsx";
import { download } from "./parts.tsx";
import { hrefOf, navigate, textOf } from "./route.tsx";
import { Walk } from "./walk.tsx";

interface Ends {
  readonly senders: readonly string[];
  readonly receivers: readonly string[];
}

async function loadEnds(): Promise<Ends> {
  const [{ nodes, outside }, pods, services] = await Promise.all([
    get<ClusterSummary>("/cluster"),
    get<PodSummaryList>("/pods"),
    get<ObjectList>("/objects/services"),
  ]);
  const nameOf = (kind: string, { metadata }: ObjectList["items"][number]): string =>
    `${kind}/${metadata.namespace ?? "default"}/${metadata.name}`;
  const senders = [
    ...pods.items.map(({ namespace, name }) => `pod/${namespace}/${name}`),
    ...nodes.map(({ name }) => `node/${name}`),
    ...outside.map(({ name }) => name),
  ];
  return { senders, receivers: [...services.items.map((each) => nameOf("service", each)), ...senders] };
}

function questionOf(query: URLSearchParams): object | undefined {
  const [from, to] = [query.get("from"), query.get("to")];
  if (from === null || to === null || from === "" || to === "") return undefined;
  const [port, protocol, family] = [query.get("port"), query.get("protocol"), query.get("family")];
  return {
    from,
    to,
    ...(port === null || port === "" ? {} : { port: Number(port) }),
    ...(protocol === null ? {} : { protocol }),
    ...(family === null ? {} : { family }),
    bytes: true,
  };
}

async function downloadCapture(question: object): Promise<void> {
  const { capture = "" } = await post<TraceAnswer>("/trace", { ...question, capture: true });
  download(
    "walk.pcapng",
    "application/octet-stream",
    Uint8Array.from(atob(capture), (each) => each.charCodeAt(0)),
  );
}

function WalkForm({
  query,
  ends,
  onChoose,
}: {
  readonly query: URLSearchParams;
  readonly ends: Ends | undefined;
  readonly onChoose: () => void;
}) {
  const [typed, setTyped] = useState({ from: "", to: "" });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const field = (name: string): string => textOf(data, name);
    navigate(
      hrefOf("walk", {
        from: field("from"),
        to: field("to"),
        port: field("port"),
        protocol: field("protocol"),
      }),
    );
  };
  return (
    <form class="form bar" onSubmit={submit} onFocusIn={onChoose} key={query.toString()}>
      <label>
        From
        <input
          name="from"
          list="senders"
          size={30}
          required
          defaultValue={query.get("from") ?? ""}
          onInput={(event) => setTyped({ ...typed, from: (event.target as HTMLInputElement).value })}
        />
      </label>
      <label>
        To
        <input
          name="to"
          list="receivers"
          size={30}
          required
          placeholder="a pod, a Service, a URL, a name"
          defaultValue={query.get("to") ?? ""}
          onInput={(event) => setTyped({ ...typed, to: (event.target as HTMLInputElement).value })}
        />
      </label>
      <label>
        Port
        <input name="port" type="number" min={1} max={65_535} defaultValue={query.get("port") ?? ""} />
      </label>
      <label>
        Protocol
        <select name="protocol">
          {["tcp", "udp", "icmp", "dns"].map((each) => (
            <option selected={each === (query.get("protocol") ?? "tcp")}>{each}</option>
          ))}
        </select>
      </label>
      <button type="submit" class="button primary">
        Follow the packet
      </button>
      <Names id="senders" names={ends?.senders ?? []} text={typed.from} />
      <Names id="receivers" names={ends?.receivers ?? []} text={typed.to} />
    </form>
  );
}

function Followed({ question, swap }: { readonly question: object; readonly swap: () => void }) {
  const key = JSON.stringify(question);
  const answer = useAnswer(() => post<TraceAnswer>("/trace", question), key);
  const explanations = useExplanations(answer.value);
  const [refused, setRefused] = useState<ErrorDetails>();
  const capture = async (): Promise<void> => {
    setRefused(undefined);
    try {
      await downloadCapture(question);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setRefused(error.details);
    }
  };
  return (
    <Awaited answer={answer} what="Following the packet">
      {({ report }) => (
        <>
          {refused === undefined ? null : <Fault problem={refused} />}
          <div class="bar">
            <button type="button" class="button" onClick={() => void capture()}>
              pcapng
            </button>
            <button
              type="button"
              class="button"
              onClick={() => download("walk.json", "application/json", JSON.stringify(report, undefined, 2))}
            >
              JSON
            </button>
            <button type="button" class="button" onClick={swap}>
              The other way round
            </button>
          </div>
          <Walk key={key} report={report} explanations={explanations} />
        </>
      )}
    </Awaited>
  );
}

export function WalkPage({ query }: { readonly query: URLSearchParams }) {
  // Names to choose from are asked for when somebody is about to choose.
  const [isChoosing, setChoosing] = useState(false);
  const ends = useAnswer(isChoosing ? loadEnds : undefined, "ends", isChoosing);
  const [isSwapped, setSwapped] = useState(false);
  const question = questionOf(query);
  const swap = (): void => {
    setSwapped(!isSwapped);
    navigate(
      hrefOf("walk", {
        from: query.get("to") ?? "",
        to: query.get("from") ?? "",
        protocol: query.get("protocol") ?? undefined,
      }),
    );
  };
  return (
    <>
      <h1>Packet walk</h1>
      <WalkForm query={query} ends={ends.value} onChoose={() => setChoosing(true)} />
      {question === undefined ? (
        <p class="empty">
          Say who sends and who is asked: the packet runs through a copy, and changes nothing.
        </p>
      ) : (
        <Followed question={question} swap={swap} />
      )}
    </>
  );
}
