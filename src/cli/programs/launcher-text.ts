/**
 * Launchers: the small files that start a program of this installation from the folder where a runtime looks for it. Each
 * says in a line of its own whose it is, so that it is found again, replaced and taken away, and nothing else is.
 */
import { quotePosix } from "#core/base/shell-quoting.ts";
import { formatMark } from "./launcher-mark.ts";

export interface LauncherOptions {
  readonly program: string;
  /** The folder of this installation. */
  readonly root: string;
  /** The file that starts programs: bin/start.cjs. */
  readonly start: string;
  /** The Node that runs them, as long as it is there; else that of `PATH`. */
  readonly node: string;
  /** In a clone: run the source even where bundles have been built. */
  readonly isSource?: boolean;
}

const NOTE = 'Written by "mullion programs install"; "mullion programs remove" removes it.';
const ADVICE = "Install Mullion again, or write the launchers again: mullion programs install";

/** What somebody who runs the launcher reads; a runtime, which expects an error as JSON, gets it so. */
function failureOf(program: string, message: string): { readonly json: string; readonly text: string } {
  return {
    json: `${JSON.stringify({ code: 999, msg: `${program}: ${message}`, details: ADVICE }, undefined, 4)}\n`,
    text: `${program}: ${message}\n    ${ADVICE}\n`,
  };
}

/** For systems with a shell. `MULLION_NODE` names another Node; one that is not there is a fault. */
export function formatShellLauncher(options: LauncherOptions): string {
  const { program, start, node, isSource = false } = options;
  const noStart = failureOf(program, `${start} is missing`);
  const noNode = failureOf(program, `no Node is found: neither MULLION_NODE, nor ${node}, nor one in PATH`);
  return `#!/bin/sh
# ${formatMark(options)}
# ${NOTE}
start=${quotePosix(start)}
node=$MULLION_NODE
if [ -z "$node" ]; then
  node=${quotePosix(node)}
  [ -x "$node" ] || node=node
fi
if [ ! -f "$start" ]; then
  json=${quotePosix(noStart.json)}
  text=${quotePosix(noStart.text)}
elif ! command -v "$node" > /dev/null; then
  json=${quotePosix(noNode.json)}
  text=${quotePosix(noNode.text)}
else
  exec "$node" "$start" ${isSource ? "--source " : ""}${program} "$@"
fi
if [ -n "$CNI_COMMAND" ]; then
  printf %s "$json"
  exit 1
fi
printf %s "$text" >&2
exit 2
`;
}

/** For Windows: what NAME.exe (launcher/) runs, beside which it lies as NAME.cjs. */
export function formatScriptLauncher(options: LauncherOptions): string {
  const { program, start } = options;
  const { json, text } = failureOf(program, `${start} is missing`);
  return `// ${formatMark(options)}
// ${NOTE}
"use strict";
const fs = require("fs");
const start = ${JSON.stringify(start)};
if (fs.existsSync(start)) require(start).start(${JSON.stringify(program)}, true);
else if (process.env.CNI_COMMAND) {
  fs.writeSync(1, ${JSON.stringify(json)});
  process.exitCode = 1;
} else {
  fs.writeSync(2, ${JSON.stringify(text)});
  process.exitCode = 2;
}
`;
}
