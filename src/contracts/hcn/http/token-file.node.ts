/** The token of a service on loopback TCP: a file that only its owner can read. */
import { randomBytes } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { errorCode } from "#core/base/thrown.ts";
import { writeOwnerFile } from "#core/base/owner-only.node.ts";
import { contracts } from "#data/words.js";

const WORDS = contracts();

const OTHERS = 0o077;
const TOKEN_BYTES = 32;
const TOKEN_LENGTH_MIN = 16;
const FILE_BYTES_MAX = 4_096;

/** A file that cannot hold the token. The message is for people: what is wrong, and what to do. */
export class TokenFileError extends Error {
  override readonly name = "TokenFileError";
}

function isMissing(error: unknown): boolean {
  return errorCode(error) === "ENOENT";
}

/** Makes the file with a new token. It is never there with other rights, and an existing one is not touched. */
function makeToken(path: string): string {
  const token = randomBytes(TOKEN_BYTES).toString("hex");
  writeOwnerFile(path, `${token}\n`);
  return token;
}

function checkRights(path: string): void {
  const facts = statSync(path);
  if (!facts.isFile() || facts.size > FILE_BYTES_MAX)
    throw new TokenFileError(WORDS.tokenFileInvalid({ path }));
  if (process.platform === "win32") return;
  if ((facts.mode & OTHERS) !== 0) throw new TokenFileError(WORDS.tokenFileReadableByOthers({ path }));
  const uid = process.getuid?.();
  if (uid !== undefined && facts.uid !== uid && facts.uid !== 0)
    throw new TokenFileError(`${path} belongs to another user. Name a file of your own.`);
}

/**
 * The token in a file that is there.
 * @throws TokenFileError when others can read it, or it holds no token; an error of the system when it cannot be read.
 */
export function readTokenFile(path: string): string {
  checkRights(path);
  const token = readFileSync(path, "utf8").trim();
  if (new RegExp(`^[\\x21-\\x7e]{${TOKEN_LENGTH_MIN},}$`).test(token)) return token;
  throw new TokenFileError(WORDS.tokenInvalid({ path, tokenLengthMin: TOKEN_LENGTH_MIN }));
}

/** The token in a file, which is made for its owner alone when it is missing. @throws as `readTokenFile`. */
export function openTokenFile(path: string): string {
  try {
    return readTokenFile(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
    return makeToken(path);
  }
}
