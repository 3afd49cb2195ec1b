/** What the `ping` programs put into echo requests. */
import type { OperatingSystem } from "../stack-profile.ts";

const LETTERS = 23;
const LETTER_A = 0x61;

/**
 * Windows repeats the letters a to w; Linux' `ping` counts the octets up. Inferred: the time stamp that Linux' `ping`
 * writes over the first octets is left out, since only the sender reads it.
 */
export function echoPayload(os: OperatingSystem, length: number): Uint8Array {
  const payload = new Uint8Array(length);
  for (let index = 0; index < length; index++)
    payload[index] = os === "windows" ? LETTER_A + (index % LETTERS) : index & 0xff;
  return payload;
}
