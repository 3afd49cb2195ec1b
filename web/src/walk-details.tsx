/** One step of a walk in full, and how a name became an address. */
import type { TraceResolution, TraceStep } from "#cluster/trace/trace-report.ts";
import { FrameView } from "./bytes.tsx";
import type { Explanations } from "./document.ts";
import { ScrollTable, Chip, CodeNote, Section } from "./parts.tsx";

type Provenance = NonNullable<TraceStep["provenance"]>;

function policyOf({ policy }: Provenance): string {
  if (policy === undefined) return "";
  return `, policy ${policy.type} ${"index" in policy ? `[${policy.index}]` : policy.name}`;
}

function originOf(provenance: Provenance): string {
  const { object, name, id } = provenance;
  const owner = object === "default" ? `${name}'s defaults` : `${object} ${name}`;
  return `${owner}${policyOf(provenance)}${id === "" || id === name ? "" : ` (${id})`}`;
}

function pairsOf(step: TraceStep): readonly (readonly [string, string])[] {
  const { node, place, layer, group, outcome, rule, hook, networkPolicy, port, direction, atMs } = step;
  const provenance = rule?.provenance ?? step.provenance;
  const pairs: readonly (readonly [string, string | undefined])[] = [
    ["where", `${node}, ${place}`],
    ["at", `${atMs} ms`],
    ["port", port === undefined ? undefined : `${port} ${(direction ?? "").toUpperCase()}`],
    ["layer", layer],
    ["group", group],
    ["decided by", outcome],
    ["rule", rule === undefined ? undefined : `${rule.action} ${rule.name}`],
    ["priority", rule === undefined ? undefined : String(rule.priority)],
    ["hook", hook],
    ["put there by", provenance === undefined ? undefined : originOf(provenance)],
    ["NetworkPolicy", networkPolicy],
  ];
  return pairs.filter((pair): pair is [string, string] => pair[1] !== undefined);
}

function ChangeTable({ step }: { readonly step: TraceStep }) {
  if (step.changes.length === 0) return <p class="dim">This step leaves the headers as they are.</p>;
  return (
    <table class="list tight">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {step.changes.map(({ field, before, after }) => (
          <tr>
            <th scope="row">{field}</th>
            <td>{before === undefined ? <i class="dim">none</i> : <code class="before">{before}</code>}</td>
            <td>{after === undefined ? <i class="dim">gone</i> : <code class="after">{after}</code>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function StepDetails({
  step,
  before,
  explanations,
}: {
  readonly step: TraceStep;
  readonly before: TraceStep | undefined;
  readonly explanations: Explanations;
}) {
  const { number, text, code, inferred, transposition, bytes, changes, logical } = step;
  return (
    <aside class="details" aria-live="polite" aria-label={`Step ${number}`}>
      <h3>
        <span class="number">{number}</span> {text}
      </h3>
      <dl class="pairs">
        {pairsOf(step).map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        ))}
      </dl>
      {code === undefined ? null : <CodeNote code={code} explanations={explanations} isOpen />}
      {inferred === undefined ? null : <p class="warn-line">Inferred, not observed on Windows: {inferred}</p>}
      {logical === undefined ? null : (
        <>
          <h4>Logical flows</h4>
          <pre>
            {logical
              .flatMap((each) => [
                each.text,
                ...(each.object === undefined ? [] : [`    # ${each.object}`]),
                ...(each.actions ?? []).map((line) => `    ${line}`),
              ])
              .join("\n")}
          </pre>
        </>
      )}
      <h4>Bytes after this step</h4>
      {bytes === undefined ? (
        <p>
          <code>{step.frame}</code>
        </p>
      ) : (
        <FrameView hex={bytes} changes={new Set(changes.map(({ field }) => field))} />
      )}
      <h4>Header before → after</h4>
      <ChangeTable step={step} />
      {transposition === undefined ? null : (
        <dl class="pairs">
          {Object.entries(transposition).map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd>
                <code>{value}</code>
              </dd>
            </>
          ))}
        </dl>
      )}
      {before?.bytes === undefined || changes.length === 0 ? null : (
        <details>
          <summary>Bytes before this step</summary>
          <FrameView hex={before.bytes} changes={new Set(changes.map(({ field }) => field))} />
        </details>
      )}
    </aside>
  );
}

export function Resolution({
  resolution,
  explanations,
}: {
  readonly resolution: TraceResolution;
  readonly explanations: Explanations;
}) {
  const { name, resolver, servers, search, questions, unusedSuffixes, outcome, addresses, code, detail } =
    resolution;
  return (
    <Section title={`The name ${name}`}>
      <p>
        <Chip tone={outcome === "resolved" ? "good" : "bad"}>{outcome}</Chip> {addresses.join(", ")}{" "}
        <span class="dim">
          by a {resolver} resolver, asking {servers.join(", ")}; search list {search.join(" ") || "empty"}
          {unusedSuffixes.length === 0 ? "" : `; not tried: ${unusedSuffixes.join(" ")}`}
        </span>
      </p>
      {code === undefined ? null : <CodeNote code={code} explanations={explanations} isOpen />}
      {detail === undefined ? null : <p>{detail}</p>}
      <ScrollTable
        label="Questions of the resolver"
        isTight
        head={["Question", "Type", "Outcome", "Addresses", "Server"]}
      >
        {questions.map((question) => (
          <tr>
            <th scope="row">{question.name}</th>
            <td>{question.type}</td>
            <td>
              {question.outcome} <span class="dim">{question.detail}</span>
            </td>
            <td>{question.addresses.join(", ")}</td>
            <td>{question.server ?? "none"}</td>
          </tr>
        ))}
      </ScrollTable>
    </Section>
  );
}
