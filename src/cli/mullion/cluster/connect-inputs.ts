/** The cluster that is built from `-f` for one command, in this process. */
import { inProcessClient } from "#cluster/api/app.ts";
import type { ControlClient } from "#cluster/api/client.ts";
import type { InputText } from "#cluster/session/session.ts";
import { SILENT_LOG } from "#core/base/log.ts";
import type { FileOverrides } from "#cluster/file/parse-cluster-file.ts";
import { processLog } from "../../output.ts";
import { LEFT_OUT, reportFindings } from "../failure.ts";
import type { Terminal } from "../terminal.ts";
import { checkMemoryAt, checkMemoryToRead, checkRoomToBegin } from "./memory-check.ts";
import { type ClusterSize, openSession } from "./open-session.ts";
import { ProgressLine } from "../progress-line.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** A client of the cluster that the texts describe. `overrides` go before what they say. @throws Failure when the memory is nearly full. */
export async function connectInputs(
  inputs: readonly InputText[],
  terminal: Terminal,
  overrides: FileOverrides = {},
): Promise<ControlClient> {
  const line = new ProgressLine(terminal);
  const advice = WORDS.adviceMoreMemoryAlone;
  const begins = (size: ClusterSize): void => checkRoomToBegin(size, advice);
  const reads = (objects: number): void => checkMemoryToRead(objects, advice);
  const progress = (text: string, done: number, total: number): void => {
    checkMemoryAt(text, done, total, advice);
    line.raised(text, done, total);
  };
  const opened = await openSession(inputs, { reads, begins, progress }, overrides, "when asked");
  line.end();
  const { session, readManifests, verify, input } = opened;
  reportFindings(opened, LEFT_OUT, terminal);
  const identity = { name: "", version: "", pid: process.pid };
  const log = process.env["MULLION_DEBUG"] === "1" ? processLog() : SILENT_LOG;
  return inProcessClient({
    session,
    readManifests,
    verify,
    identity,
    input,
    log,
  });
}
