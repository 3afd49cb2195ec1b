/** What a verb sees of the process: its output, its input, and how wide the screen is. */
import type { TextChunks } from "#contracts/kubernetes/text/plain-list.ts";

/** Exit codes: 0 success, 1 findings or a failed expectation, 2 bad usage or bad input, 130 stopped by Ctrl-C. */
export type ExitCode = 0 | 1 | 2 | 130;

/** Takes bytes as they come. */
export interface ByteSink {
  /** Resolves when more may come. Rejects with an error of the system. */
  write(bytes: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

export interface Terminal {
  /** Results. */
  stdout(text: string): void;
  /** Progress and faults. */
  stderr(text: string): void;
  /** A line of progress in the place of the one before; an empty one takes it away. For a person's screen alone. */
  status(text: string): void;
  /** Columns that text should keep to, as `textColumns` has them. */
  readonly columns: number;
  /** True when results go to a person's screen. */
  readonly isInteractive: boolean;
  /** Emphasis, where the output shows it; else the text itself. */
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  /**
   * The text of a file, or of standard input for `-`: at most `bytesMax` bytes (default 50 MiB). Rejects with an error
   * of the system.
   */
  readFile(path: string, bytesMax?: number): Promise<string>;
  /** The bytes of a file, or of standard input for `-`, as `readFile` reads them. */
  readBytes(path: string, bytesMax?: number): Promise<Uint8Array>;
  /**
   * The bytes of a file, or of standard input for `-`, that is too long to be one text, as often as they are asked for;
   * undefined for a shorter one, which `readFile` reads. A chunk holds until the next one is asked for.
   */
  readChunks(path: string): Promise<TextChunks | undefined>;
  /** The bytes of a file, or of standard input for `-`, piece by piece, of any size. Throws an error of the system. */
  readStream(path: string): AsyncIterable<Uint8Array>;
  /** Paths of the files in a folder, sorted, with those of folders below when asked; undefined for what is none. */
  listFolder(path: string, isRecursive: boolean): Promise<readonly string[] | undefined>;
  /** Paths of the folders directly in a folder, sorted; none of what is no folder. */
  foldersIn(path: string): Promise<readonly string[]>;
  /** How many threads may read the files of the system; 1 where files are not the system's. */
  readonly threads: number;
  /** Resolves when the user ends the program (Ctrl-C, a closed terminal, a polite kill); it then ends by itself. */
  untilInterrupted(): Promise<void>;
  /** Writes a whole file; missing folders are made. Rejects with an error of the system. */
  readonly writeFile: (path: string, bytes: Uint8Array | string) => Promise<void>;
  /** Begins a file, or standard output for `-`, that is written as its bytes come. Rejects with an error of the system. */
  readonly openFile: (path: string) => Promise<ByteSink>;
}

const COLUMNS_MIN = 60;
const COLUMNS_MAX = 160;
/** Of what goes to a file or a program: the same on every machine. */
const COLUMNS_ELSEWHERE = 100;

/**
 * How wide text is on a stream: as its terminal, from 60 to 160 columns; 100 for what is no terminal, and for one that does
 * not know its width (0, or undefined).
 */
export function textColumns(stream: { readonly isTTY?: boolean; readonly columns?: number }): number {
  const { isTTY = false, columns = 0 } = stream;
  if (!isTTY || columns === 0) return COLUMNS_ELSEWHERE;
  return Math.min(Math.max(columns, COLUMNS_MIN), COLUMNS_MAX);
}

/**
 * How what stays in front is ended, for the last line of what it says. The id is that of the process which serves: `npx`
 * and the shell before it do not pass a kill on.
 */
export function howToEnd(pid: number, platform: NodeJS.Platform): string {
  const elsewhere = platform === "win32" ? `Stop-Process -Id ${pid}` : `kill ${pid}`;
  return `Ctrl-C ends it. From elsewhere: ${elsewhere}\n`;
}
