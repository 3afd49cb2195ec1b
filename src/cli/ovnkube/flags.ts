/** The words of ovnkube's command line, of those the ones that a node's program without a data plane of its own needs. */
import { parseGuid } from "#contracts/hcn/guid.ts";
import { nearestNames } from "#core/base/nearest-name.ts";
import { commandLine } from "#data/words.js";

const WORDS = commandLine();

interface Flag {
  readonly initial: string;
  readonly help: string;
}

/** As upstream names them; `mullion-` is ours. */
type FlagName =
  | "init-node"
  | "k8s-kubeconfig"
  | "k8s-apiserver"
  | "cni-conf-dir"
  | "cni-plugin"
  | "win-hnsnetwork-id"
  | "mullion-cni-socket";

const FLAGS: Readonly<Record<FlagName, Flag>> = {
  "init-node": { initial: "", help: "name of this node, as the API server has it" },
  "k8s-kubeconfig": { initial: "", help: "how to reach the API server" },
  "k8s-apiserver": { initial: "", help: "address of the API server, in place of the file's" },
  "cni-conf-dir": { initial: "/etc/cni/net.d", help: "where 10-ovn-kubernetes.conf is written" },
  "cni-plugin": { initial: "ovn-k8s-cni-overlay", help: "the plugin that the file names" },
  "win-hnsnetwork-id": { initial: "", help: WORDS.ovnkubeNetworkId },
  "mullion-cni-socket": { initial: "", help: WORDS.ovnkubeSocket },
};

export type OvnkubeFlags = Readonly<Record<FlagName, string>>;

/** What is wrong with the words. */
export class FlagError extends Error {
  override readonly name = "FlagError";
}

function isFlag(name: string): name is FlagName {
  return Object.hasOwn(FLAGS, name);
}

/** `-name VALUE` and `--name=VALUE`, as Go reads them; undefined: help is wanted. @throws FlagError */
export function readFlags(words: readonly string[]): OvnkubeFlags | undefined {
  const values: Record<FlagName, string> = Object.fromEntries(
    Object.entries(FLAGS).map(([name, { initial }]) => [name, initial]),
  ) as Record<FlagName, string>;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    const body = word.startsWith("--") ? word.slice(2) : word.startsWith("-") ? word.slice(1) : undefined;
    if (body === undefined || body === "") throw new FlagError(`${JSON.stringify(word)} is not a flag`);
    const equals = body.indexOf("=");
    const name = equals < 0 ? body : body.slice(0, equals);
    if (name === "h" || name === "help") return undefined;
    if (!isFlag(name)) {
      const [near] = nearestNames(name, Object.keys(FLAGS), 1);
      throw new FlagError(
        `flag provided but not defined: -${name}${near === undefined ? "" : `; did you mean --${near}?`}`,
      );
    }
    const value = equals < 0 ? words[++at] : body.slice(equals + 1);
    if (value === undefined) throw new FlagError(`flag needs an argument: -${name}`);
    values[name] = value;
  }
  const { "init-node": node, "win-hnsnetwork-id": network } = values;
  if (network !== "" && parseGuid(network) === undefined)
    throw new FlagError(`invalid value ${JSON.stringify(network)} for flag -win-hnsnetwork-id: not a GUID`);
  if (node === "") throw new FlagError(WORDS.ovnkubeNodeMissing);
  return values;
}

const HELP_WIDTH = 30;

/** What `--help` prints. */
export function helpText(): string {
  const lines = Object.entries(FLAGS).map(([name, { initial, help }]) => {
    const rest = initial === "" ? "" : ` (default ${initial})`;
    return `${`  --${name} TEXT`.padEnd(HELP_WIDTH)}${help}${rest}`;
  });
  return ["Usage: ovnkube --init-node NODE [OPTION]...", "", WORDS.ovnkubeDescription, "", ...lines, ""].join(
    "\n",
  );
}
