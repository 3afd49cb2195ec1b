/** The table of defects in docs/reference/hns-faults.md. */
import { formatMarkdownTable } from "./markdown-table.ts";
import { pathOfEntry } from "#diagnose/catalogue/catalogue.ts";
import { KNOWN_FAULTS, type KnownFault, QUIRK_TEXTS } from "#diagnose/catalogue/quirk-texts.ts";
import { ALL_PROFILES, type BuildSpan, QUIRKS, QUIRK_NAMES, type QuirkRow } from "#core/catalogue/quirks.ts";

function spanText({ profile, since, until, hns }: BuildSpan): string {
  const version = hns === undefined ? "" : ` with HNS ${hns.Major}.${hns.Minor}`;
  const from = since === undefined ? "" : ` from ${since}`;
  const to = until === undefined ? "" : ` before ${until}`;
  return `${profile}${version}${from}${to}`;
}

function defaultText({ concerns, strikes }: QuirkRow): string {
  if (concerns.length === 0) return "off";
  if (concerns === ALL_PROFILES) return strikes === "always" ? "on" : "off";
  return strikes === "always" ? "on there" : "off: it strikes now and then";
}

function metOn({ concerns }: QuirkRow): string {
  if (concerns === ALL_PROFILES) return "every build";
  return concerns.map(spanText).join(", ") || "not known";
}

/** What one of the known faults is here. */
function formOf(fault: KnownFault): string {
  switch (fault.kind) {
    case "quirk":
      return fault.quirks.map((name) => `\`${name}\``).join(", ");
    case "behaviour":
      return `always: ${fault.what}`;
    case "configuration":
      return `as configured: ${fault.what}`;
    case "kube-proxy":
      return `by version of Kubernetes: ${fault.what}`;
  }
}

/** The known faults by their numbers. */
export function formatKnownFaults(): string {
  const rows = Object.entries(KNOWN_FAULTS).map(([id, fault]) => [id, formOf(fault)]);
  return formatMarkdownTable([["Number", "Here"], ...rows]);
}

/** All defects, in the order of the table. */
export function formatQuirks(): string {
  const rows = QUIRK_NAMES.map((name) => {
    const quirk = QUIRKS[name];
    const { title, notActedOn } = QUIRK_TEXTS[name];
    return [
      `\`${name}\``,
      `${title}.`,
      metOn(quirk),
      defaultText(quirk),
      notActedOn === undefined ? "yes" : `no: ${notActedOn}`,
      `[${quirk.explanation}](../../${pathOfEntry(quirk.explanation)})`,
      quirk.sources.join(", "),
    ];
  });
  const titles = [
    "Name",
    "What happens",
    "Met on",
    "By default",
    "The service acts on it",
    "More",
    "Sources",
  ];
  return formatMarkdownTable([titles, ...rows]);
}
