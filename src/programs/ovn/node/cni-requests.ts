/**
 * What `ovn-k8s-cni-overlay` and the server of its node say to each other (go-controller/pkg/cni of ovn-kubernetes): the plugin
 * posts its environment and its configuration, the server answers with a result, or with status 400 and a text.
 */
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import { parseCniArguments } from "#contracts/cni/plugin-input.ts";
import { type CniResult, EMPTY_DNS, formatResult } from "#contracts/cni/result.ts";
import { formatJson, parseJson } from "#contracts/cni/json.ts";
import { type JsonObject, isJsonObject, mappingOf, textOf } from "#core/base/json.ts";
import { messageOf } from "#core/base/thrown.ts";
import { type Ip, parseIp } from "#core/net/ip.ts";
import { CniServerRefused, type CniServerRequest, type OvnCniServer } from "./cni-server.ts";

/** Results go over the wire in this version; the plugin prints the one that it was asked for. */
export const WIRE_VERSION = "1.0.0";

const ARGUMENTS = ["K8S_POD_NAMESPACE", "K8S_POD_NAME", "K8S_POD_INFRA_CONTAINER_ID", "K8S_POD_UID", "IP"];

/** What ovn-kubernetes writes of its plugin in `10-ovn-kubernetes.conf`, beside version and name. */
export function ovnPluginFields(plugin: string): JsonObject {
  return {
    type: plugin,
    ipam: {},
    dns: {},
    capabilities: { dns: true },
    logFile: "/var/log/ovn-kubernetes/ovn-k8s-cni-overlay.log",
    logLevel: "4",
  };
}

/** The file that a node's program writes for its runtime. */
export function ovnConfiguration(plugin: string): string {
  return `${formatJson({ cniVersion: "0.4.0", name: "ovn-kubernetes", ...ovnPluginFields(plugin) }, 0)}\n`;
}

/** What the server says. */
export interface CniServerAnswer {
  readonly status: 200 | 400;
  /** JSON with `Result`, empty, or why it was refused. */
  readonly text: string;
  /** It was refused for what may come yet: the runtime asks again. */
  readonly mayComeYet: boolean;
}

/** Carries a request to the server of a node. */
export type CniServerExchange = (
  body: string,
  env: Readonly<Record<string, string | undefined>>,
) => Promise<CniServerAnswer>;

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === "string") : [];
}

/** The body of a request. Upstream sends all variables; those of CNI are what the server reads. */
export function formatCniRequest(
  env: Readonly<Record<string, string | undefined>>,
  configuration: string,
): string {
  const own = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[0].startsWith("CNI_") && entry[1] !== undefined,
  );
  const bytes = new TextEncoder().encode(configuration);
  const config = btoa(Array.from(bytes, (byte) => String.fromCodePoint(byte)).join(""));
  return formatJson({ env: Object.fromEntries(own), config }, 0);
}

interface ReadRequest extends CniServerRequest {
  readonly command: string;
  readonly ifName: string;
}

function configurationOf(text: unknown): JsonObject {
  try {
    const bytes = Uint8Array.from(atob(textOf(text)), (each) => each.codePointAt(0) ?? 0);
    const document = parseJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (isJsonObject(document)) return document;
  } catch {
    // Said below, in the words of upstream.
  }
  throw new CniServerRefused("broken stdin args", false);
}

/** @throws CniServerRefused, CniError */
function readRequest(body: string): ReadRequest {
  const document = parseJson(body);
  const { env, config } = mappingOf(document);
  const text = (name: string): string => textOf(mappingOf(env)[name]);
  const command = text("CNI_COMMAND");
  if (command === "") throw new CniServerRefused("unexpected or missing CNI_COMMAND", false);
  const values = parseCniArguments(text("CNI_ARGS"), ARGUMENTS);
  const [namespace, name] = [values.get("K8S_POD_NAMESPACE") ?? "", values.get("K8S_POD_NAME") ?? ""];
  if (namespace === "" || name === "")
    throw new CniError(
      CNI_CODES.invalidEnvironment,
      "required CNI variable missing: K8S_POD_NAMESPACE, K8S_POD_NAME",
    );
  const configuration = configurationOf(config);
  const runtime = configuration["runtimeConfig"];
  const dns = mappingOf(mappingOf(runtime)["dns"]);
  return {
    command,
    ifName: text("CNI_IFNAME") === "" ? "eth0" : text("CNI_IFNAME"),
    namespace,
    name,
    uid: values.get("K8S_POD_UID"),
    netns: text("CNI_NETNS"),
    dns: { servers: textsIn(dns["servers"]), search: textsIn(dns["searches"]) },
  };
}

/** The gateway as a result has it: the annotation was checked when it was read. */
function via(gateway: string): { readonly gateway?: Ip } {
  const ip = parseIp(gateway);
  return ip === undefined ? {} : { gateway: ip };
}

async function resultOf(server: OvnCniServer, request: ReadRequest): Promise<CniResult> {
  const { address, length, mac, gateway } = await server.add(request);
  return {
    interfaces: [{ name: request.ifName, mac, sandbox: request.netns }],
    ips: [{ interface: 0, address: { ip: address, length }, ...via(gateway) }],
    routes: [],
    dns: { ...EMPTY_DNS, nameservers: [...request.dns.servers], search: [...request.dns.search] },
  };
}

async function carryOut(server: OvnCniServer, body: string): Promise<string> {
  const request = readRequest(body);
  switch (request.command) {
    case "ADD":
      return formatJson({ Result: formatResult(await resultOf(server, request), WIRE_VERSION) }, 0);
    case "DEL":
      await server.del(request);
      return "";
    case "CHECK":
      await server.check(request);
      return "";
    default:
      throw new CniServerRefused(`unhandled CNI request ${request.command}`, false);
  }
}

/** Answers one request. Never throws: what is refused has its text. */
export async function answerCniRequest(server: OvnCniServer, body: string): Promise<CniServerAnswer> {
  try {
    return { status: 200, text: await carryOut(server, body), mayComeYet: false };
  } catch (error) {
    const mayComeYet = error instanceof CniServerRefused && error.mayComeYet;
    return { status: 400, text: messageOf(error), mayComeYet };
  }
}
