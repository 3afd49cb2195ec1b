/** `mullion capture`: the frames of a running cluster as they pass, for Wireshark and tshark. */
import { plural } from "#core/base/text-layout.ts";
import { readU16, readU32 } from "#core/base/bytes.ts";
import { ApiError } from "#cluster/api/error-details.ts";
import { capturePath } from "#cluster/api/client.ts";
import { notRunning, openStream } from "#cluster/api/socket-transport.node.ts";
import { listNames } from "#cluster/api/state-folder.node.ts";
import { Failure, describeSystemError } from "../failure.ts";
import type { ByteSink, ExitCode, Terminal } from "../terminal.ts";
import type { CaptureRequest } from "../verbs.ts";
import { findRunning } from "./cluster-target.ts";
import { clusterLife, commands } from "#data/words.js";

const WORDS = commands();
const LIFE = clusterLife();
const BAD_GATEWAY = 502;
/** What was seen before Ctrl-C and is still under way. */
const LAST_FRAMES_MS = 100;
const ENHANCED_PACKET = 6;
const STATISTICS = 5;
const HEAD_BYTES = 8;
/** A frame has 64 KiB at most. */
const BLOCK_BYTES_MAX = 1_048_576;
/** Where a statistics block of ours has the number of lost frames: behind head, interface, time, and the option's own head. */
const LOST_OFFSET = 28;

/** Whole blocks out of the pieces that a socket makes of them, so that a file ends with one whenever it ends. */
export class BlockReader {
  /** Frames so far. */
  frames = 0;
  /** So many were not sent: the reader was too slow. */
  lost = 0;
  private rest: Uint8Array = new Uint8Array(0);
  private readonly framesMax: number;

  constructor(framesMax: number = Number.POSITIVE_INFINITY) {
    this.framesMax = framesMax;
  }

  get isFull(): boolean {
    return this.frames >= this.framesMax;
  }

  /** @returns the blocks that are whole with it. @throws ApiError for what is no block. */
  take(piece: Uint8Array): Uint8Array {
    const bytes = this.rest.length === 0 ? piece : Buffer.concat([this.rest, piece]);
    let end = 0;
    while (bytes.length - end >= HEAD_BYTES && !this.isFull) {
      const length = readU32(bytes, end + 4);
      if (length < HEAD_BYTES || length > BLOCK_BYTES_MAX)
        throw new ApiError(
          BAD_GATEWAY,
          "cluster-unreachable",
          LIFE.captureIsNone,
          LIFE.adviceClusterUnreachable,
        );
      if (bytes.length - end < length) break;
      this.count(bytes, end);
      end += length;
    }
    this.rest = bytes.slice(end);
    return bytes.subarray(0, end);
  }

  private count(bytes: Uint8Array, at: number): void {
    const type = readU32(bytes, at);
    if (type === ENHANCED_PACKET) this.frames++;
    else if (type === STATISTICS && readU16(bytes, at + LOST_OFFSET - 8) > 0)
      this.lost = readU32(bytes, at + LOST_OFFSET);
  }
}

async function openOutput(path: string, terminal: Terminal): Promise<ByteSink> {
  if (path === "-" && terminal.isInteractive)
    throw new Failure("bad-usage", "a capture is not for a screen", WORDS.adviceCaptureToScreen);
  try {
    return await terminal.openFile(path);
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

function cannotWrite(path: string, error: unknown): Failure {
  const message = `cannot write ${JSON.stringify(path)}: ${describeSystemError(error)}`;
  return new Failure("bad-usage", message, WORDS.adviceCaptureFile);
}

export async function capture(request: CaptureRequest, terminal: Terminal): Promise<ExitCode> {
  const { running, places, path, framesMax } = request;
  const { place, isRunning } = await findRunning(running);
  if (!isRunning) throw notRunning(place, listNames(process.env));
  const stream = await openStream(place, capturePath(places, Date.now()));
  let isStopped = false;
  const stop = (): void => {
    isStopped = true;
    stream.destroy();
  };
  const output = await openOutput(path, terminal).catch((error: unknown) => {
    stop();
    throw error;
  });
  const where = places.length === 0 ? "on the underlay" : `at ${places.join(", ")}`;
  terminal.stderr(`Capturing ${where}. Ctrl-C ends it.\n`);
  void terminal.untilInterrupted().then(() => setTimeout(stop, LAST_FRAMES_MS));
  const blocks = new BlockReader(framesMax);
  try {
    for await (const piece of stream) {
      await output.write(blocks.take(piece as Uint8Array)).catch((error: unknown) => {
        throw cannotWrite(path, error);
      });
      if (blocks.isFull) stop();
    }
  } catch (error) {
    // A stream that was ended here ends with an error; a file that takes no more is one at any time.
    if (!isStopped || error instanceof Failure) throw error;
  } finally {
    stop();
    await output.close();
  }
  const lost = blocks.lost === 0 ? "" : `; ${blocks.lost} more came too fast and are missing`;
  const file = path === "-" ? "" : ` in ${path}`;
  terminal.stderr(`${plural(blocks.frames, "frame")}${file}${lost}\n`);
  return 0;
}
