/**
 * With several tenants: whether pods need source NAT on the host, which the node's agent says by the calls that it knows
 * (cni.md §5.7).
 */
import type { Compat } from "#core/base/compat.ts";
import { DecodeError, readStruct, JsonError, parseJson } from "#contracts/cni/json.ts";
import { CNI_CODES, CniError, describeError } from "#contracts/cni/error.ts";
import type { AzureConfiguration } from "./conf.ts";
import type { AzureHost } from "./host.ts";
import type { AzureSnat } from "./nics.ts";

const WIRE_SERVER = "168.63.129.16";
const TEST_WIRE_SERVER = "127.0.0.1:11281";
const TIMEOUT_MS = 5_000;
const DNS_SUPPORT = "NetworkManagementDNSSupport";
const SNAT_SUPPORT = "NetworkManagementSnatSupport";
const HTTP_OK = 200;

/** Upstream reads another name than it writes, so it asks at every ADD. */
const CACHE = { written: "snatConfig.json", readByUpstream: "snatConfig" } as const;

function parseCache(text: string): AzureSnat | undefined {
  try {
    const reader = readStruct(parseJson(text), "");
    return { forDns: reader.boolean("EnableSnatForDns"), onHost: reader.boolean("EnableSnatOnHost") };
  } catch (error) {
    if (error instanceof JsonError || error instanceof DecodeError) return undefined;
    throw error;
  }
}

async function readCache({ temporaryFiles }: AzureHost, compat: Compat): Promise<AzureSnat | undefined> {
  const text = await temporaryFiles.read(compat === "upstream" ? CACHE.readByUpstream : CACHE.written);
  return text === undefined ? undefined : parseCache(text);
}

async function askAgent(host: AzureHost, { env }: AzureConfiguration, compat: Compat): Promise<string> {
  const server = env === "test" ? TEST_WIRE_SERVER : WIRE_SERVER;
  const url = `http://${server}/machine/plugins/?comp=nmagent&type=GetSupportedApis`;
  const fail = (message: string, cause?: unknown): CniError =>
    new CniError(compat === "hardened" ? CNI_CODES.tryAgainLater : CNI_CODES.internal, message, {
      details:
        compat === "hardened" ? `the wire server of Azure is asked at ${url}, with "multiTenancy" alone` : "",
      knowledge: "azure-wire-server-unreachable",
      cause,
    });
  try {
    const { status, text } = await host.http({ method: "GET", url, timeoutMs: TIMEOUT_MS });
    if (status === HTTP_OK) return text;
    throw fail(`nmagent request status code:${status}`);
  } catch (error) {
    if (error instanceof CniError) throw error;
    throw fail(`Get ${JSON.stringify(url)}: ${describeError(error)}`, error);
  }
}

/** @throws CniError when the agent does not answer */
export async function determineSnat(
  host: AzureHost,
  configuration: AzureConfiguration,
  compat: Compat,
): Promise<AzureSnat> {
  const known = await readCache(host, compat);
  if (known !== undefined) return known;
  const supported = await askAgent(host, configuration, compat);
  const forDns = !supported.includes(DNS_SUPPORT);
  const snat = { forDns, onHost: forDns && !supported.includes(SNAT_SUPPORT) };
  try {
    const text = JSON.stringify({ EnableSnatOnHost: snat.onHost, EnableSnatForDns: snat.forDns });
    await host.temporaryFiles.write(CACHE.written, text);
  } catch {
    // What is not remembered is asked again.
  }
  return snat;
}
