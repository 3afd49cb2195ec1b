/** The page of the troubleshooting list, made from the examples of its items: what a README says stands there once. */
/** An item of the documentation's list, or a known issue, with the examples that show it. */
interface Item {
  /** Its number on the list (windows-networking-documentation.md §9); undefined: not on it. */
  readonly number?: number;
  /** `examples/trouble-NAME`. */
  readonly example: string;
}

export const TROUBLESHOOTING_ITEMS: readonly Item[] = [
  { number: 1, example: "mac-spoofing" },
  { number: 2, example: "ping" },
  { number: 2, example: "exception-list" },
  { number: 3, example: "own-node-port" },
  { number: 4, example: "hostname" },
  { number: 5, example: "rejoin" },
  { number: 6, example: "network-late" },
  { number: 7, example: "subnet-env" },
  { number: 8, example: "service-from-node" },
  { number: 9, example: "adapter" },
  { number: 10, example: "dns" },
  { number: 11, example: "port-forward" },
  { number: 12, example: "proxy" },
  { example: "overlay-node-port" },
  { example: "l2bridge-dsr" },
  { example: "cni-comment" },
];

/** The text behind a label such as `**The fix.**`, up to the next label or the first heading. */
function partOf(readme: string, label: string): string {
  const start = readme.indexOf(`**${label}**`);
  if (start < 0) throw new Error(`a README of a trouble has no "${label}"`);
  const rest = readme.slice(start + label.length + 4);
  const end = rest.search(/^\*\*(?:What|The fix)/m);
  return (end < 0 ? rest : rest.slice(0, end)).trim();
}

/** Up to the first block of commands. */
function firstParagraph(text: string): string {
  return (text.split(/^(?:```|<!--)/m)[0] ?? "").trim().replace(/:$/, ".");
}

/** Links of a README, from the folder of the page. */
function relinked(text: string): string {
  return text.replaceAll("](../trouble-", "](../../examples/trouble-");
}

function formatItem({ number, example }: Item, readme: string): string {
  const path = `examples/trouble-${example}/README.md`;
  const title = /^# (.+)$/m.exec(readme)?.[1] ?? example;
  const heading = number === undefined ? title : `${number}. ${title}`;
  // The output is that of the example: without its marks it is not made twice.
  const seen = partOf(readme, "What you see.")
    .replaceAll(/<!-- output[^\n]*-->\n*/g, "")
    .trim();
  return [
    `## ${heading}`,
    `**The documentation:** ${firstParagraph(partOf(readme, "What the documentation says."))}`,
    `**You see:** ${seen}`,
    `**The fix:** ${firstParagraph(partOf(readme, "The fix."))}`,
    `What happens, how Mullion finds it, and the cluster after the fix: [trouble-${example}](../../${path}).`,
  ]
    .map(relinked)
    .join("\n\n");
}

/** All items, one after the other. `readmes`: in the order of the items. */
export function formatTroubleshooting(readmes: readonly string[]): string {
  return TROUBLESHOOTING_ITEMS.map((item, index) => formatItem(item, readmes[index] ?? "")).join("\n\n");
}
