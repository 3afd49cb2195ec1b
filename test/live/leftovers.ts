/**
 * What tests leave in the kernel. The devices of a run that was killed carry the addresses of the next run, which then
 * talks to nobody. Needs root and iproute2.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";

/** Begins the names of devices that the tests of Windows programs make; they may run beside the live tests. */
export const WINE_DEVICES = "mfw";

/** `PREFIX` and the id of the process that made it; what follows tells its devices and namespaces apart. */
function ownerOf(name: string, prefix: string): number | undefined {
  if (!name.startsWith(prefix)) return undefined;
  const digits = /^\d+/.exec(name.slice(prefix.length))?.[0];
  return digits === undefined ? undefined : Number(digits);
}

/** Whether a test runner has the id. Another program may have been given it since. */
function isRunning(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("vitest");
  } catch {
    return false;
  }
}

function namesOf(...words: readonly string[]): readonly string[] {
  const text = execFileSync("ip", ["-json", ...words], { encoding: "utf8" });
  const entries = JSON.parse(text === "" ? "[]" : text) as readonly { name?: string; ifname?: string }[];
  return entries.flatMap(({ name, ifname }) => name ?? ifname ?? []);
}

/** Deletes the namespaces and devices of this machine that are called `PREFIX` and the id of a process that has ended. */
export function removeLeftovers(...prefixes: readonly string[]): void {
  const isLeft = (name: string): boolean =>
    prefixes.some((prefix) => {
      const owner = ownerOf(name, prefix);
      return owner !== undefined && !isRunning(owner);
    });
  for (const name of namesOf("netns", "list").filter(isLeft)) execFileSync("ip", ["netns", "delete", name]);
  // The second end of a pair goes with the first, or went with its namespace, which the kernel ends a little later.
  for (const name of namesOf("link", "show").filter(isLeft)) {
    try {
      execFileSync("ip", ["link", "delete", name], { stdio: "pipe" });
    } catch (error) {
      if (namesOf("link", "show").includes(name)) throw error;
    }
  }
}

/** Devices and namespaces that are called after another test run or benchmark, which comes and goes as it likes. */
function isOfAnother(name: string): boolean {
  return (name.match(/\d+/g) ?? []).some((digits) => {
    try {
      return Number(digits) !== process.pid && readFileSync(`/proc/${digits}/comm`, "utf8").length > 0;
    } catch {
      return false;
    }
  });
}

/** This machine's devices, namespaces and their settings as a text, to see that a test left nothing. */
export function kernelState(): string {
  const links = execFileSync("ip", ["-brief", "link"], { encoding: "utf8" }).split("\n");
  const namespaces = execFileSync("ip", ["netns", "list"], { encoding: "utf8" }).split("\n");
  const settings = existsSync("/etc/netns") ? readdirSync("/etc/netns") : [];
  return [...links, ...namespaces.toSorted(), ...settings.toSorted()]
    .filter((line) => !line.startsWith(WINE_DEVICES) && !isOfAnother(line.split(/[ @]/)[0] ?? ""))
    .join("\n");
}
