/** What all pages are made of. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Explanations } from "./document.ts";

/** The panes and the bar that joins them. */
export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">
      <rect x="2" y="2" width="20" height="20" rx="4" class="logo-frame" />
      <rect x="5" y="5" width="6" height="6" rx="1" class="logo-pane" />
      <rect x="13" y="5" width="6" height="6" rx="1" class="logo-pane logo-lit" />
      <rect x="5" y="13" width="6" height="6" rx="1" class="logo-pane logo-lit" />
      <rect x="13" y="13" width="6" height="6" rx="1" class="logo-pane" />
    </svg>
  );
}

const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

function storedTheme(): Theme {
  try {
    return THEMES.find((each) => each === localStorage.getItem("mullion-theme")) ?? "system";
  } catch {
    // A file that is opened by itself may have no storage.
    return "system";
  }
}

export function applyTheme(theme: Theme = storedTheme()): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(storedTheme);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
  const choose = (): void => {
    setTheme(next);
    applyTheme(next);
    try {
      localStorage.setItem("mullion-theme", next);
    } catch {
      // It holds for this view alone.
    }
  };
  return (
    <button type="button" class="quiet" onClick={choose} title={`Colours: ${theme}. Press for ${next}.`}>
      <span aria-hidden="true">{theme === "dark" ? "☾" : theme === "light" ? "☀" : "◐"}</span>
      <span class="sr">Colours: {theme}</span>
    </button>
  );
}

export type Tone = "good" | "bad" | "warn" | "denied" | "faint" | "plain";

export function Chip({
  tone = "plain",
  children,
}: {
  readonly tone?: Tone;
  readonly children: ComponentChildren;
}) {
  return <span class={`chip ${tone}`}>{children}</span>;
}

export function Stat({
  value,
  label,
  tone = "plain",
}: {
  readonly value: number | string;
  readonly label: string;
  readonly tone?: Tone;
}) {
  return (
    <div class={`stat ${tone}`}>
      <b>{value}</b>
      <span>{label}</span>
    </div>
  );
}

/**
 * A button that keeps the focus while it cannot be pressed: a browser takes that away from what is disabled, and who goes by
 * keyboard would have to begin anew.
 */
export function Button({
  isOff = false,
  isPrimary = false,
  isPressed,
  onPress,
  children,
}: {
  readonly isOff?: boolean;
  readonly isPrimary?: boolean;
  readonly isPressed?: boolean;
  readonly onPress: () => void;
  readonly children: ComponentChildren;
}) {
  return (
    <button
      type="button"
      class={isPrimary ? "button primary" : "button"}
      aria-disabled={isOff}
      onClick={() => isOff || onPress()}
      {...(isPressed === undefined ? {} : { "aria-pressed": isPressed })}
    >
      {children}
    </button>
  );
}

const FIRST_MAX = 50;

/** The first of a long list, and what asks for more of them; undefined when all are there. */
export function useFirst<T>(items: readonly T[]): readonly [readonly T[], ComponentChildren] {
  const [count, setCount] = useState(FIRST_MAX);
  if (items.length <= count) return [items, undefined];
  const more = (
    <p class="bar">
      <Button onPress={() => setCount(count + FIRST_MAX)}>{FIRST_MAX} more</Button>
      <span class="dim">
        The first {count} of {items.length}.
      </span>
    </p>
  );
  return [items.slice(0, count), more];
}

const INDENT = "    ";

/** Paragraphs, and commands or what they print where lines are indented. */
export function Prose({ text }: { readonly text: string }) {
  return (
    <>
      {text
        .split("\n\n")
        .map((part) =>
          part.startsWith(INDENT) ? <pre tabIndex={0}>{part.replaceAll(/^ {4}/gm, "")}</pre> : <p>{part}</p>,
        )}
    </>
  );
}

/** A code with what the catalogue says of it. */
export function CodeNote({
  code,
  explanations,
  isOpen = false,
}: {
  readonly code: string;
  readonly explanations: Explanations;
  readonly isOpen?: boolean;
}) {
  const entry = explanations[code];
  if (entry === undefined) return <code class="code">{code}</code>;
  return (
    <details class="note" open={isOpen}>
      <summary>
        <code class="code">{code}</code> {entry.title}
      </summary>
      <Prose text={entry.cause} />
      <h4>What to do</h4>
      <Prose text={entry.remedy} />
      <h4>Sources</h4>
      <ul class="sources">
        {entry.sources.map(({ text, url }) => (
          <li>
            {url === undefined ? (
              text
            ) : (
              <a href={url} rel="noreferrer noopener" target="_blank">
                {text}
              </a>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

export function Section({
  title,
  count,
  children,
  id,
}: {
  readonly title: string;
  readonly count?: number;
  readonly children: ComponentChildren;
  readonly id?: string;
}) {
  return (
    <section id={id} class="section">
      <h2>
        {title}
        {count === undefined ? null : <span class="count">{count}</span>}
      </h2>
      {children}
    </section>
  );
}

/** A command to be copied. */
export function Command({ text }: { readonly text: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = (): void => {
    void navigator.clipboard.writeText(text).then(() => setCopied(true));
  };
  return (
    <span class="command">
      <code>{text}</code>
      <button type="button" class="quiet" onClick={copy}>
        {isCopied ? "copied" : "copy"}
      </button>
    </span>
  );
}

/** Choices of which one holds. */
export function Choice<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: T;
  readonly options: readonly (readonly [value: T, text: string])[];
  readonly onChange: (value: T) => void;
}) {
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map(([each, text]) => (
        <button type="button" aria-pressed={each === value} onClick={() => onChange(each)}>
          {text}
        </button>
      ))}
    </div>
  );
}

/** A table that scrolls by itself where the window is narrow, by keyboard too. `head`: titles of its columns. */
export function ScrollTable({
  label,
  head,
  isTight = false,
  children,
}: {
  readonly label: string;
  readonly head: readonly string[];
  readonly isTight?: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table class={isTight ? "list tight" : "list"}>
        <thead>
          <tr>
            {head.map((title) => (
              <th scope="col">{title}</th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

/** Hands a file to the browser. */
export function download(name: string, type: string, bytes: BlobPart): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
