/** Starts a program from the source, as bin/start.cjs does in a clone. */
import { findProgram } from "./table.ts";

/** Runs a program with the arguments of this process, and sets the exit code. @throws Error for a name of none. */
export async function startProgram(name: string): Promise<void> {
  const program = findProgram(name);
  if (program === undefined) throw new Error(`no program of Mullion is called ${JSON.stringify(name)}`);
  await program.start();
}
