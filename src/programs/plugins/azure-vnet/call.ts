/**
 * One call: its arguments, its pod and the names made of them (cni.md §5.2, §5.3), and calls to HNS with the deadline that
 * the configuration sets for each (§5.1, `hnsTimeoutDurationInSeconds`).
 */
import { parseCniArguments } from "#contracts/cni/plugin-input.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import type { AzureDifferences } from "./differences.ts";
import type { EndpointDifferences } from "../windows-endpoint/differences.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { type CallNamer, HnsCaller } from "../windows-endpoint/hns-caller.ts";
import type { CnsClient } from "../cns/client.ts";
import { AZURE_ERROR_CODE, type AzureConfiguration } from "./conf.ts";
import type { AddressSource } from "./address-source.ts";
import type { AzureHost } from "./host.ts";
import type { AzureSession } from "./memory.ts";

export interface AzurePod {
  readonly name: string;
  readonly namespace: string;
}

const POD_ARGUMENTS = ["K8S_POD_NAMESPACE", "K8S_POD_NAME", "K8S_POD_INFRA_CONTAINER_ID"];
const ALLOWED = /^[a-zA-Z0-9._\-() ]*$/;
const SHORT_ID_LENGTH = 8;

/** @throws CniError */
export function validateArguments(request: PluginRequest, configuration: AzureConfiguration): void {
  if (!ALLOWED.test(request.containerId) || !ALLOWED.test(request.ifName))
    throw new CniError(CNI_CODES.internal, "invalid args value");
  if (!ALLOWED.test(configuration.bridge))
    throw new CniError(CNI_CODES.internal, "invalid network config value");
}

/** The pod of the call. @throws CniError (100) when `CNI_ARGS` does not say it (row 132) */
export function readPod({ args }: PluginRequest): AzurePod {
  const values = parseCniArguments(args, POD_ARGUMENTS);
  const namespace = values.get("K8S_POD_NAMESPACE") ?? "";
  const name = values.get("K8S_POD_NAME") ?? "";
  if (namespace === "") throw new CniError(AZURE_ERROR_CODE, "Pod Namespace not specified in CNI Args");
  if (name === "") throw new CniError(AZURE_ERROR_CODE, "Pod Name not specified in CNI Args");
  return { name, namespace };
}

function shorten(id: string): string {
  return id.slice(0, SHORT_ID_LENGTH);
}

/** The endpoint's name in HNS, and its key in the state: of the sandbox that `container:ID` names, else of the container. */
export function azureEndpointName({ containerId, netns }: PluginRequest, ifName: string): string {
  const [, sandbox, ...more] = netns.split(":");
  const id = sandbox === undefined || more.length > 0 ? containerId : sandbox;
  return `${shorten(id)}-${ifName}`;
}

/** A name that no other container has, for when two begin alike (row 156). */
export function longEndpointName({ containerId }: PluginRequest, ifName: string): string {
  return `${containerId}-${ifName}`;
}

/** The key by which upstream looks for the endpoint to undo; none for short container IDs (row 133). */
export function upstreamEndpointId({ containerId }: PluginRequest, ifName: string): string {
  return containerId.length > SHORT_ID_LENGTH ? `${shorten(containerId)}-${ifName}` : "";
}

/** The pod as far as `CNI_ARGS` says it: DEL goes on without. */
export function readPodIfKnown(request: PluginRequest): AzurePod {
  try {
    return readPod(request);
  } catch {
    return { name: "", namespace: "" };
  }
}

const SECONDS_PER_MINUTE = 60;

/** As Go prints durations. */
function printDuration(seconds: number): string {
  const hours = Math.floor(seconds / SECONDS_PER_MINUTE ** 2);
  const minutes = Math.floor(seconds / SECONDS_PER_MINUTE) % SECONDS_PER_MINUTE;
  const rest = `${seconds % SECONDS_PER_MINUTE}s`;
  if (hours > 0) return `${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${minutes}m${rest}` : rest;
}

export class AzureCaller extends HnsCaller {
  private readonly host: AzureHost;
  private readonly timeoutSeconds: number;

  constructor(
    client: HcnClient,
    differences: EndpointDifferences,
    limit: { readonly host: AzureHost; readonly timeoutSeconds: number },
  ) {
    super(client, differences);
    this.host = limit.host;
    this.timeoutSeconds = limit.timeoutSeconds;
  }

  override hcn<T>(name: string | CallNamer, run: (client: HcnClient) => Promise<T>): Promise<T> {
    const shown = typeof name === "string" ? name.replace(/^hcn/, "") : "ModifyNamespace";
    return this.limit(shown, () => super.hcn(name, run));
  }

  override hns<T>(run: (client: HcnClient) => Promise<T>): Promise<T> {
    return this.limit("HNSCall", () => super.hns(run));
  }

  private async limit<T>(name: string, run: () => Promise<T>): Promise<T> {
    if (this.timeoutSeconds <= 0) return run();
    const timer = this.host.startTimer(this.timeoutSeconds * 1000);
    const expired = timer.done.then((): never => {
      const message = `${name} timeout value is ${printDuration(this.timeoutSeconds)} : timed out calling hns`;
      throw new CniError(CNI_CODES.internal, message, { knowledge: "hns-unreachable" });
    });
    try {
      return await Promise.race([run(), expired]);
    } finally {
      timer.cancel();
    }
  }
}

/** One call with what was read for it. */
export interface AzureCall {
  readonly differences: AzureDifferences;
  readonly request: PluginRequest;
  readonly configuration: AzureConfiguration;
  readonly caller: AzureCaller;
  readonly source: AddressSource;
  readonly cns: CnsClient;
  readonly session: AzureSession;
}
