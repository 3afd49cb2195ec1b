/** The command line of `docker network create` on Windows, as far as the driver takes it (control-planes.md §8.4). */
import { type Ipv4, type Prefix, parseIpv4, parsePrefix } from "#core/net/ip.ts";
import {
  DOCKER_DRIVERS,
  DOCKER_OPTION,
  type DockerDriver,
  type DockerNetworkRequest,
  UNASKED,
} from "./network-request.ts";
import { clusterFile, commandLine } from "#data/words.js";

/** Docker's command line takes them, and on Windows they are not supported (control-planes.md §8.4). */
export const NOT_ON_WINDOWS: readonly string[] = [
  "--aux-address",
  "--internal",
  "--ip-range",
  "--ipam-driver",
  "--ipam-opt",
  "--ipv6",
];
const VLAN_MAX = 4_094;

/** What is wrong with an option, and what to write. */
export class DockerUsageError extends Error {
  readonly advice: string;

  constructor(message: string, advice: string) {
    super(message);
    this.name = "DockerUsageError";
    this.advice = advice;
  }
}

/** What stands on the command line, unread. */
export interface NetworkOptions {
  readonly name: string;
  readonly driver: string;
  readonly subnet: string | undefined;
  readonly gateway: string | undefined;
  /** `KEY=VALUE`, in their order. */
  readonly opt: readonly string[];
}

/** @throws DockerUsageError. */
export function refuseOnWindows(flag: string): never {
  throw new DockerUsageError(`${flag} is not supported on Windows`, "Leave it out.");
}

function driverOf(text: string): DockerDriver {
  const driver = DOCKER_DRIVERS.find((each) => each === text);
  if (driver !== undefined) return driver;
  if (text === "overlay")
    throw new DockerUsageError(
      clusterFile().dockerOverlayIsSwarm,
      "Write a network of driver Overlay in a cluster file.",
    );
  throw new DockerUsageError(
    `Docker on Windows has no driver ${JSON.stringify(text)}`,
    `Name one of ${DOCKER_DRIVERS.join(", ")}.`,
  );
}

function addressOf(flag: string, text: string): Ipv4 {
  const address = parseIpv4(text.trim());
  if (address !== undefined) return address;
  throw new DockerUsageError(
    `${flag} takes an IPv4 address, not ${JSON.stringify(text)}`,
    "Write it as 172.20.0.1.",
  );
}

function prefixOf(flag: string, text: string): Prefix {
  const prefix = parsePrefix(text.trim());
  if (prefix !== undefined && typeof prefix.address === "number") return prefix;
  throw new DockerUsageError(
    `${flag} takes an IPv4 range, not ${JSON.stringify(text)}`,
    "Write it as 172.20.0.0/24.",
  );
}

function partsOf(text: string): readonly string[] {
  return text.split(",").filter((part) => part.trim() !== "");
}

/** `KEY=VALUE`, one after the other. */
function withOption(network: DockerNetworkRequest, text: string): DockerNetworkRequest {
  const [key = "", ...rest] = text.split("=");
  const value = rest.join("=");
  switch (key.toLowerCase()) {
    case `${DOCKER_OPTION}.interface`:
      return { ...network, adapter: value };
    case `${DOCKER_OPTION}.vlanid`: {
      const vlan = /^\d{1,4}$/.test(value) ? Number(value) : 0;
      if (vlan >= 1 && vlan <= VLAN_MAX) return { ...network, vlan };
      throw new DockerUsageError(
        `${key} takes a VLAN from 1 to ${VLAN_MAX}, not ${JSON.stringify(value)}`,
        "Write digits alone.",
      );
    }
    case `${DOCKER_OPTION}.dnsservers`:
      return { ...network, dnsServers: partsOf(value).map((part) => addressOf(key, part)) };
    case `${DOCKER_OPTION}.dnssuffix`:
      return { ...network, dnsSuffix: value };
    case `${DOCKER_OPTION}.disable_gatewaydns`:
      return { ...network, hasGatewayDns: value !== "true" };
    case `${DOCKER_OPTION}.enable_outboundnat`:
      return { ...network, outboundNat: value === "true" ? (network.outboundNat ?? []) : undefined };
    case `${DOCKER_OPTION}.outboundnat_exceptions`:
      return { ...network, outboundNat: partsOf(value).map((part) => prefixOf(key, part)) };
    // Its name in HNS, which is all that keeps it here.
    case `${DOCKER_OPTION}.networkname`:
      return { ...network, name: value };
    default:
      throw new DockerUsageError(
        `${JSON.stringify(key)} is not an option of networks on Windows`,
        commandLine().adviceDockerOption,
      );
  }
}

/** @throws DockerUsageError. */
export function readNetworkOptions({
  name,
  driver,
  subnet,
  gateway,
  opt,
}: NetworkOptions): DockerNetworkRequest {
  const asked: DockerNetworkRequest = {
    ...UNASKED,
    name,
    driver: driverOf(driver),
    subnet: subnet === undefined ? undefined : prefixOf("--subnet", subnet),
    gateway: gateway === undefined ? undefined : addressOf("--gateway", gateway),
  };
  // A user who names the gateway without its subnet is told by Docker.
  if (gateway !== undefined && subnet === undefined)
    throw new DockerUsageError("--gateway without --subnet: no network matches it", "Write --subnet, too.");
  return opt.reduce(withOption, asked);
}

const SHORT: Readonly<Record<string, string>> = { "-d": "--driver", "-o": "--opt" };

/** The words behind `docker network create`, as the program itself reads them. @throws DockerUsageError. */
export function readCreateWords(words: readonly string[]): DockerNetworkRequest {
  const values = new Map<string, string>();
  const opt: string[] = [];
  const names: string[] = [];
  const queue = [...words];
  for (let word = queue.shift(); word !== undefined; word = queue.shift()) {
    if (!word.startsWith("-")) {
      names.push(word);
      continue;
    }
    const [given = "", ...rest] = word.split("=");
    const flag = SHORT[given] ?? given;
    if (NOT_ON_WINDOWS.includes(flag)) refuseOnWindows(flag);
    if (!["--driver", "--subnet", "--gateway", "--opt"].includes(flag))
      throw new DockerUsageError(
        `docker network create has no option ${given} here`,
        "Write -d, --subnet, --gateway and -o KEY=VALUE.",
      );
    const value = rest.length > 0 ? rest.join("=") : queue.shift();
    if (value === undefined)
      throw new DockerUsageError(`flag needs an argument: ${given}`, "Write its value behind it.");
    if (flag === "--opt") opt.push(value);
    else values.set(flag, value);
  }
  const [name, ...others] = names;
  if (name === undefined || others.length > 0)
    throw new DockerUsageError('"docker network create" requires exactly 1 argument.', "Name one network.");
  return readNetworkOptions({
    name,
    driver: values.get("--driver") ?? UNASKED.driver,
    subnet: values.get("--subnet"),
    gateway: values.get("--gateway"),
    opt,
  });
}
