/** The command line of `agnhost`: of its subcommands there is `netexec`, the server of pods that are real. */
import { parseArgs } from "node:util";
import { messageOf } from "#core/base/thrown.ts";
import { STDOUT, writeOutput } from "../output.ts";
import { serveNetexec } from "./netexec.ts";

const PORT_MAX = 65_535;
const USAGE = "Usage: agnhost netexec [--http-port PORT] [--udp-port PORT, -1 for none]";

function readPort(name: string, text: string, min: number): number {
  const port = Number(text);
  if (Number.isInteger(port) && text !== "" && port >= min && port <= PORT_MAX) return port;
  throw new Error(`invalid argument ${JSON.stringify(text)} for "--${name}" flag`);
}

/** @returns the exit code; undefined: it serves. */
export async function runAgnhost(
  argv: readonly string[],
  print: (line: string) => void,
): Promise<number | undefined> {
  const [command, ...words] = argv;
  if (command === undefined || command === "--help" || command === "-h") {
    print(USAGE);
    return 0;
  }
  try {
    if (command !== "netexec") throw new Error(`unknown command ${JSON.stringify(command)} for "app"`);
    const port = (value: string) => ({ type: "string", default: value }) as const;
    const options = { "http-port": port("8080"), "udp-port": port("8081") };
    // `--udp-port -1` is a flag and its value.
    const args = words.flatMap((word, index) => {
      if (word === "-1") return [];
      return words[index + 1] === "-1" ? `${word}=-1` : word;
    });
    const { values } = parseArgs({ args, options });
    await serveNetexec({
      httpPort: readPort("http-port", values["http-port"], 0),
      udpPort: readPort("udp-port", values["udp-port"], -1),
      log: print,
    });
    return undefined;
  } catch (error) {
    print(`Error: ${messageOf(error)}`);
    print(USAGE);
    return 1;
  }
}

export async function startAgnhost(): Promise<void> {
  process.exitCode = await runAgnhost(process.argv.slice(2), (line) => writeOutput(STDOUT, `${line}\n`));
}
