/** `ovn-k8s-cni-overlay`: a CNI plugin that hands each call on to the server on its node. */
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import { parseCniArguments } from "#contracts/cni/plugin-input.ts";
import type { CniPlugin, PluginMode, PluginRequest } from "#contracts/cni/plugin.ts";
import { type CniResult, EMPTY_DNS } from "#contracts/cni/result.ts";
import { isJsonObject } from "#core/base/json.ts";
import { parseIp } from "#core/net/ip.ts";
import { CniServerRefused, type CniServerRequest, type OvnCniServer } from "./cni-server.ts";

const ARGUMENTS = ["K8S_POD_NAMESPACE", "K8S_POD_NAME", "K8S_POD_INFRA_CONTAINER_ID", "K8S_POD_UID", "IP"];

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === "string") : [];
}

function toRequest(request: PluginRequest): CniServerRequest {
  const values = parseCniArguments(request.args, ARGUMENTS);
  const [namespace, name] = [values.get("K8S_POD_NAMESPACE") ?? "", values.get("K8S_POD_NAME") ?? ""];
  if (namespace === "" || name === "")
    throw new CniError(
      CNI_CODES.invalidEnvironment,
      "required CNI variable missing: K8S_POD_NAMESPACE, K8S_POD_NAME",
    );
  const runtime = request.configuration["runtimeConfig"];
  const dns = isJsonObject(runtime) && isJsonObject(runtime["dns"]) ? runtime["dns"] : {};
  return {
    namespace,
    name,
    uid: values.get("K8S_POD_UID"),
    netns: request.netns,
    dns: { servers: textsIn(dns["servers"]), search: textsIn(dns["searches"]) },
  };
}

export class OvnK8sCniOverlay implements CniPlugin {
  readonly name = "ovn-k8s-cni-overlay";
  readonly compat: PluginMode["compat"];
  readonly supportedVersions: readonly string[] = ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0"];
  private readonly server: OvnCniServer;

  constructor(server: OvnCniServer, { compat }: PluginMode) {
    this.server = server;
    this.compat = compat;
  }

  async add(request: PluginRequest): Promise<CniResult> {
    const asked = toRequest(request);
    try {
      const { address, length, mac, gateway } = await this.server.add(asked);
      const via = parseIp(gateway);
      return {
        interfaces: [{ name: request.ifName, mac, sandbox: request.netns }],
        ips: [
          { interface: 0, address: { ip: address, length }, ...(via === undefined ? {} : { gateway: via }) },
        ],
        routes: [],
        dns: { ...EMPTY_DNS, nameservers: [...asked.dns.servers], search: [...asked.dns.search] },
      };
    } catch (error) {
      if (!(error instanceof CniServerRefused)) throw error;
      const code = error.mayComeYet ? CNI_CODES.tryAgainLater : CNI_CODES.internal;
      throw new CniError(code, `CNI request failed with status 400: '${error.message}'`, { cause: error });
    }
  }

  del(request: PluginRequest): Promise<void> {
    return this.server.del(toRequest(request));
  }
}
