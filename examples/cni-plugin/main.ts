/**
 * An IPAM plugin of one's own, in two lives: as an executable that a runtime starts, and in process, behind a runtime
 * that keeps the contract (versions, errors, CHECK and DEL with the cached result).
 */
import { readFileSync } from "node:fs";
import {
  CNI_CODES,
  CniError,
  type CniPlugin,
  CniRuntime,
  EMPTY_DNS,
  InProcessRunner,
  MemoryResultCache,
  type Platform,
  SPEC_VERSIONS,
  formatResult,
  parseNetworkList,
  runPlugin,
} from "mullion/cni";
import { parseInterfaceAddress } from "mullion/net";

/** Gives every container the address that its configuration names. */
const fixedAddress: CniPlugin = {
  name: "fixed-address",
  compat: "hardened",
  supportedVersions: SPEC_VERSIONS,
  async add({ configuration }) {
    const text = configuration["address"];
    const address = typeof text === "string" ? parseInterfaceAddress(text) : undefined;
    if (address === undefined) {
      throw new CniError(CNI_CODES.invalidNetworkConfig, 'write "address": "10.0.0.7/24"');
    }
    return { interfaces: [], ips: [{ address }], routes: [], dns: EMPTY_DNS };
  },
  async del() {},
};

/** Runs the plugin through a runtime. @returns what a person wants to see of it. */
export async function runExample(): Promise<readonly string[]> {
  const runner = new InProcessRunner(new Map([[fixedAddress.name, fixedAddress]]), "linux");
  const runtime = new CniRuntime({ runner, cache: new MemoryResultCache() });
  const network = (plugin: object): ReturnType<typeof parseNetworkList> =>
    parseNetworkList(JSON.stringify({ cniVersion: "1.0.0", name: "lab", plugins: [plugin] }));
  const attachment = { containerId: "web", netns: "none", ifName: "eth0" };
  const good = network({ type: "fixed-address", address: "10.0.0.7/24" });
  const lines = [JSON.stringify(formatResult(await runtime.add(good, attachment), "1.0.0"))];
  await runtime.check(good, attachment);
  await runtime.del(good, attachment);
  const refused = runtime.add(network({ type: "fixed-address" }), attachment);
  return refused.then(
    () => lines,
    (error: unknown) => [...lines, error instanceof CniError ? `code ${error.code}: ${error.message}` : "?"],
  );
}

if (import.meta.filename === process.argv[1]) {
  // As a runtime starts it: verb in CNI_COMMAND, configuration on standard input.
  process.exitCode = await runPlugin(fixedAddress, {
    env: process.env,
    platform: process.platform as Platform,
    readStdin: async () => readFileSync(0, "utf8"),
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
  });
}
