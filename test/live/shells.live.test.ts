/**
 * Completion in the shells themselves: zsh with its completion system behind a terminal, fish with its own command. What
 * bash offers is among the fast tests; PowerShell is not on Debian, and its script is compared with the program's list.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const PROGRAM = resolve(import.meta.dirname, "../../bin/mullion.js");
const SHELLS = ["zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

let folder = "";

function isThere(shell: Shell): boolean {
  return spawnSync(shell, ["--version"]).status === 0;
}

function mullion(...words: readonly string[]): string {
  const { status, stdout } = spawnSync(process.execPath, [PROGRAM, ...words], { encoding: "utf8" });
  expect(status).toBe(0);
  return stdout;
}

beforeAll(() => {
  const missing = SHELLS.filter((shell) => !isThere(shell));
  if (missing.length > 0) {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    spawnSync("apt-get", ["install", "-y", "-q", "--no-install-recommends", ...missing], { env });
  }
  folder = mkdtempSync(join(tmpdir(), "mullion-shells-"));
  for (const shell of SHELLS) writeFileSync(join(folder, `mullion.${shell}`), mullion("completion", shell));
}, 300_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Long options that a verb's help shows. */
function longOptions(verb: string): readonly string[] {
  return [...mullion(verb, "--help").matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, name = ""]) => name);
}

/** A line up to the cursor, and what is offered. */
const LINES: readonly (readonly [line: string, offered: () => readonly string[]])[] = [
  ["mullion ver", () => ["verify", "version"]],
  ["mullion trace --", () => longOptions("trace")],
  ["mullion trace --protocol ", () => ["tcp", "udp", "icmp", "dns"]],
  ["mullion get pods -o y", () => ["yaml"]],
  ["mullion hns fault re", () => ["remove", "release", "restart", "reboot"]],
  ["mullion help ver", () => ["verify", "version"]],
  ["mullion completion p", () => ["powershell"]],
  // Files, which the shell knows.
  ["mullion trace -f mullion.", () => SHELLS.map((shell) => `mullion.${shell}`)],
  // A value that is called like a verb is no verb; older names are not offered; nothing follows --.
  ["mullion get -n hns fau", () => []],
  ["mullion lint --form", () => []],
  ["mullion wine -- --", () => []],
];

/**
 * Types each line and a tab at a terminal of zsh. Its \`compadd\`, through which all offers go, writes them to a file; a key
 * that comes after the tab writes where the line ends.
 */
const ZSH = `
zmodload zsh/zpty
script=$1 out=$2
shift 2
: > $out
zpty -b shell zsh -f -i
zpty -w shell "PS1=; autoload -U compinit; compinit -u -D; zstyle ':completion:*' completer _complete; source $script"
zpty -w shell "compadd() { if [[ \\\${@[1,(i)(-|--)]} == *-(O|A|D)\\\\ * ]]; then builtin compadd \\"\\$@\\"; return \\$?; fi; typeset -a hits; builtin compadd -A hits \\"\\$@\\"; print -rl -- \\$hits >> $out; return 1 }"
zpty -w shell "ended() { BUFFER=; print -r -- END >> $out }; zle -N ended; bindkey '^I' complete-word; bindkey '^Xe' ended; print READY >> $out"
wait_for() { while [[ $(grep -c "^$1$" $out) -lt $2 ]]; do sleep 0.02; zpty -r -t shell printed; done }
wait_for READY 1
count=0
for line in "$@"; do
  zpty -w -n shell "$line"$'\\t\\C-xe'
  wait_for END $((++count))
done
zpty -d shell
`;

function offeredByZsh(): readonly (readonly string[])[] {
  const out = join(folder, "offered");
  const words = ["-f", "-c", ZSH, "zsh", join(folder, "mullion.zsh"), out, ...LINES.map(([line]) => line)];
  const { status, stderr } = spawnSync("zsh", words, { cwd: folder, encoding: "utf8", timeout: 60_000 });
  expect([status, stderr]).toEqual([0, ""]);
  const lines = readFileSync(out, "utf8")
    .replace(/^READY\n/, "")
    .split(/^END\n/m);
  return lines.slice(0, LINES.length).map((text) => text.split("\n").filter((word) => word !== ""));
}

function offeredByFish(): readonly (readonly string[])[] {
  return LINES.map(([line]) => {
    const text = `source mullion.fish; complete -C '${line}'`;
    const env = { ...process.env, HOME: folder };
    const { status, stdout, stderr } = spawnSync("fish", ["--no-config", "-c", text], {
      cwd: folder,
      env,
      encoding: "utf8",
      timeout: 60_000,
    });
    expect([status, stderr]).toEqual([0, ""]);
    return stdout.split("\n").flatMap((offer) => (offer === "" ? [] : (offer.split("\t")[0] ?? "")));
  });
}

const OFFERED: Readonly<Record<Shell, () => readonly (readonly string[])[]>> = {
  zsh: offeredByZsh,
  fish: offeredByFish,
};

describe.each(SHELLS)("%s", (shell) => {
  it("offers verbs, options, values and files, each where it may stand", { timeout: 120_000 }, () => {
    const found = OFFERED[shell]();
    for (const [index, [line, offered]] of LINES.entries())
      expect(found[index]?.toSorted(), line).toEqual([...offered()].toSorted());
  });

  it("shows what a verb does", () => {
    const script = readFileSync(join(folder, `mullion.${shell}`), "utf8");
    expect(script).toContain("check which flows work, and whether that is what is documented");
  });
});
