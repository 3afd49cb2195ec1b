/** What `--help` and `--version` print. */
import type { KubernetesVersion } from "#programs/kube-proxy/behaviour.ts";
import { type FlagDefinition, type FlagType, flagsOf } from "#programs/kube-proxy/configuration/flags.ts";
import { kubeProxy } from "#data/words.js";

const WORDS = kubeProxy();

const COLUMNS = 100;
const INDENT = " ".repeat(6);

const ABOUT = `${WORDS.usageDescription}\n`;

/** As pflag names the values. */
const VALUES: Readonly<Record<FlagType, string>> = {
  string: "string",
  bool: "",
  int32: "int32",
  float32: "float",
  duration: "duration",
  ip: "ip",
  ipport: "ipport",
  strings: "strings",
  mapStringBool: "<comma-separated 'key=True|False' pairs>",
  version: "version[=true]",
};

function wrap(text: string): string {
  const lines: string[] = [];
  let line = INDENT;
  for (const word of text.split(" ")) {
    if (line.length + word.length + 1 > COLUMNS && line.trim() !== "") {
      lines.push(line);
      line = INDENT;
    }
    line += line === INDENT ? word : ` ${word}`;
  }
  return [...lines, line].join("\n");
}

function formatFlag({ name, type, shorthand, initial, help, deprecated }: FlagDefinition): string {
  const head = `  ${shorthand === undefined ? "   " : `-${shorthand},`} --${name}`;
  const value = VALUES[type] === "" ? "" : ` ${VALUES[type]}`;
  const shown = initial === undefined ? "" : ` (default ${initial})`;
  const old = deprecated === undefined ? "" : ` (DEPRECATED: ${deprecated})`;
  return `${head}${value}\n${wrap(`${help}${shown}${old}`)}\n`;
}

export function helpText({ minor }: KubernetesVersion): string {
  const flags = flagsOf(minor).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const own = flags.filter(({ isOwn }) => isOwn);
  const theirs = flags.filter(({ isOwn }) => !isOwn);
  return `${ABOUT}${theirs.map(formatFlag).join("")}\nFlags of Mullion:\n${own.map(formatFlag).join("")}`;
}

/** `Kubernetes v1.34.0`, with what it really is behind a plus sign. */
export function versionText({ minor }: KubernetesVersion, mullion: string, isRaw: boolean): string {
  const version = `v1.${minor}.0+mullion.${mullion}`;
  if (!isRaw) return `Kubernetes ${version}\n`;
  const facts = {
    Major: "1",
    Minor: String(minor),
    GitVersion: version,
    Compiler: "",
    Platform: "windows/amd64",
  };
  const pairs = Object.entries(facts).map(([name, value]) => `${name}:${JSON.stringify(value)}`);
  return `version.Info{${pairs.join(", ")}}\n`;
}
