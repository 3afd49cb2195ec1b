/** Commands on a node or in its pods, as `mullion exec` runs them. */
import { useState } from "preact/hooks";
import type { PodSummaryList } from "#cluster/api/documents.ts";
import type { ExecReport } from "#cluster/exec/exec-report.ts";
import { visibleText } from "#core/base/visible-text.ts";
import { Problem, get, post, useAnswer } from "./client.ts";
import { Awaited } from "./page-parts.tsx";
import { Chip } from "./parts.tsx";
import { textOf } from "./route.tsx";

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
    "arp -a",
    "netsh interface ipv4 show interfaces",
  ],
  linux: ["ip addr", "ip route", "ip neigh"],
};

async function runCommand(from: string, command: string): Promise<ShellLine> {
  // What was typed or pasted is shown as what others have written.
  const asShown = visibleText(command);
  try {
    const { stdout, stderr, exitCode } = await post<ExecReport>("/exec", {
      from,
      command: command.split(/\s+/),
    });
    return { from, command: asShown, output: `${stdout}${stderr}`, exitCode };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return {
      from,
      command: asShown,
      output: `${error.details.message}. ${error.details.advice}`,
      exitCode: undefined,
    };
  }
}

async function loadPods(node: string): Promise<readonly string[]> {
  const { items } = await get<PodSummaryList>(`/pods?node=${encodeURIComponent(node)}`);
  return items.map(({ namespace, name }) => `pod/${namespace}/${name}`);
}

export function Shell({ node, os }: { readonly node: string; readonly os: string }) {
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

/** What one command prints, fresh after each change of the cluster. */
export function CommandText({
  from,
  command,
}: {
  readonly from: string;
  readonly command: readonly string[];
}) {
  const words = command.join(" ");
  const answer = useAnswer(() => post<ExecReport>("/exec", { from, command }), `${from} ${words}`);
  return (
    <Awaited answer={answer} what={`Running ${words}`}>
      {({ stdout, stderr }) => (
        <figure class="shell">
          <figcaption>
            <span class="dim">{from}&gt;</span> <code>{words}</code>
          </figcaption>
          <pre tabIndex={0}>{`${stdout}${stderr}`}</pre>
        </figure>
      )}
    </Awaited>
  );
}
