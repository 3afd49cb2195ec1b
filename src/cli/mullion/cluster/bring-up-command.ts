/** The command line of `mullion bring-up`. */
import type { Command } from "commander";
import {
  BRING_UP_FAULTS,
  type BringUpFault,
  RUNTIMES,
  type Runtime,
  SCRIPT_EDITS,
  SCRIPT_SETS,
  type ScriptEdit,
  type ScriptSet,
} from "#cluster/bring-up/options.ts";
import { parseFlanneldRelease } from "#programs/flannel/flanneld-options.ts";
import { parseInterfaceAddress, parsePrefix } from "#core/net/ip.ts";
import { parseDuration } from "../duration.ts";
import { type FileOptions, type Run, collect, countFor, inputPaths, usage } from "../options.ts";
import { addVerb } from "../described-verb.ts";
import type { Terminal } from "../terminal.ts";
import { BRING_UP_FORMATS, type BringUpRequest, type Verbs } from "../verbs.ts";

const EXAMPLE = "examples/flannel-bring-up/cluster.yaml";
const RUNS_MAX = 10;
const PATIENCE_MIN_MS = 1_000;
const PATIENCE_MAX_MS = 86_400_000;

interface BringUpOptions extends FileOptions {
  readonly node?: string;
  readonly scripts: ScriptSet;
  readonly runtime?: Runtime;
  readonly flanneld?: string;
  readonly managementIp?: string;
  readonly clusterCidr?: string;
  readonly serviceCidr?: string;
  readonly dnsIp?: string;
  readonly interfaceName?: string;
  readonly adapter?: readonly string[];
  readonly env?: readonly string[];
  readonly fault?: readonly BringUpFault[];
  readonly edit?: readonly ScriptEdit[];
  readonly joinedBefore?: string;
  readonly runs: string;
  readonly patience: string;
  readonly apiServer?: string;
  readonly output: BringUpRequest["output"];
}

/** One of `names`; may be repeated. */
function collectOf(flag: string, names: readonly string[]) {
  return (value: string, previous: readonly string[] | undefined): readonly string[] => {
    if (!names.includes(value))
      throw usage(`${JSON.stringify(value)} is not a value of ${flag}`, `It is one of: ${names.join(", ")}.`);
    return collect(value, previous);
  };
}

/** `Ethernet 2=10.0.0.11/24`. */
function parseAdapter(text: string): BringUpRequest["adapters"][number] {
  const [, name = "", written = ""] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  const address = parseInterfaceAddress(written);
  if (name !== "" && address !== undefined && typeof address.ip === "number") return { name, address };
  throw usage(
    `--adapter takes a name and an IPv4 address, not ${JSON.stringify(text)}`,
    'Write it as --adapter "Ethernet 2=10.0.0.11/24".',
  );
}

function parseVariable(text: string): readonly [string, string] {
  const at = text.indexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw usage(
    `--env takes NAME=VALUE, not ${JSON.stringify(text)}`,
    "Write it as --env HTTPS_PROXY=http://proxy:3128.",
  );
}

function requestOf(options: BringUpOptions): BringUpRequest {
  const { flanneld, joinedBefore, scripts, runtime } = options;
  const inputs = inputPaths(options);
  if (inputs.files.length === 0)
    throw usage("bring-up needs a cluster", `Name one: mullion bring-up -f ${EXAMPLE}`);
  if (runtime === "containerd" && scripts === "start.ps1")
    throw usage("start.ps1 knows Docker alone", "Add --scripts KubeCluster.ps1, or leave out --runtime.");
  const release = flanneld === undefined ? undefined : parseFlanneldRelease(flanneld);
  if (flanneld !== undefined && release === undefined)
    throw usage(`--flanneld takes a release, not ${JSON.stringify(flanneld)}`, "Write it as 0.11.0.");
  const formerRange = joinedBefore === undefined ? undefined : parsePrefix(joinedBefore);
  if (joinedBefore !== undefined && formerRange === undefined)
    throw usage(
      `--joined-before takes a pod range, not ${JSON.stringify(joinedBefore)}`,
      "Write it as 10.244.9.0/24.",
    );
  return {
    inputs,
    node: options.node,
    scripts,
    runtime: runtime ?? "dockerd",
    flanneld: release,
    parameters: {
      ...(options.managementIp !== undefined && { managementIP: options.managementIp }),
      ...(options.clusterCidr !== undefined && { clusterCIDR: options.clusterCidr }),
      ...(options.serviceCidr !== undefined && { serviceCIDR: options.serviceCidr }),
      ...(options.dnsIp !== undefined && { kubeDnsServiceIP: options.dnsIp }),
      ...(options.interfaceName !== undefined && { interfaceName: options.interfaceName }),
    },
    environment: Object.fromEntries((options.env ?? []).map(parseVariable)),
    adapters: (options.adapter ?? []).map(parseAdapter),
    faults: new Set(options.fault ?? []),
    edits: new Set(options.edit ?? []),
    formerRange,
    runs: countFor("--runs", { max: RUNS_MAX })(options.runs),
    patienceMs: Math.round(
      parseDuration(options.patience, {
        name: "--patience",
        bare: "s",
        minMs: PATIENCE_MIN_MS,
        maxMs: PATIENCE_MAX_MS,
      }),
    ),
    apiServer: options.apiServer,
    output: options.output,
  };
}

export function addBringUp(program: Command, run: Run, bringUp: Verbs["bringUp"], terminal: Terminal): void {
  const values = {
    "--scripts": SCRIPT_SETS,
    "--runtime": RUNTIMES,
    "--fault": collectOf("--fault", BRING_UP_FAULTS),
    "--edit": collectOf("--edit", SCRIPT_EDITS),
    "--output": BRING_UP_FORMATS,
  };
  addVerb(program, "bring-up", { values }).action((options: BringUpOptions) =>
    run(() => bringUp(requestOf(options), terminal)),
  );
}
