/** Opens the place where leases are kept: Kubernetes or etcd. */
import { messageOf } from "#core/base/thrown.ts";
import type { Clock } from "#core/base/clock.ts";
import type { Prng } from "#core/base/prng.ts";
import { type EtcdClient, SubnetRegistry } from "#programs/flannel/etcd/subnet-registry.ts";
import { EtcdLeaseStore } from "#programs/flannel/etcd/etcd-lease-store.ts";
import { FlannelError, type FlannelLog } from "#programs/flannel/reports.ts";
import { configurationFor } from "#programs/flannel/flanneld.ts";
import { annotationsOf } from "#programs/flannel/kube/node-lease.ts";
import { KubeLeaseStore } from "#programs/flannel/kube/kube-lease-store.ts";
import { NodeLeases } from "#programs/flannel/kube/node-leases.ts";
import type { LeaseStore } from "#programs/flannel/leases/lease-store.ts";
import { parseNetworkConfig } from "#programs/flannel/network-config.ts";
import { type SubnetFiles, previousSubnet } from "#programs/flannel/node/subnet-file.ts";
import type { KubeSource } from "#contracts/kubernetes/source.ts";
import type { FlanneldFlags, Variables } from "./flags.ts";

export interface OpenStoreParts {
  readonly flags: FlanneldFlags;
  readonly variables: Variables;
  readonly os: "windows" | "linux";
  readonly clock: Clock;
  readonly wallMs: () => number;
  readonly prng: Prng;
  readonly log: FlannelLog;
  readonly files: SubnetFiles;
  readonly openKube: (flags: FlanneldFlags, variables: Variables) => Promise<KubeSource>;
  readonly openEtcd: (flags: FlanneldFlags) => EtcdClient;
}

export interface OpenedStore {
  readonly store: LeaseStore;
  close(): Promise<void>;
}

/** The node that this is, as upstream finds it. @throws FlannelError. */
async function nodeNameOf(variables: Variables, source: KubeSource): Promise<string> {
  const { NODE_NAME = "", POD_NAME = "", POD_NAMESPACE = "" } = variables;
  if (NODE_NAME !== "") return NODE_NAME;
  if (POD_NAME === "" || POD_NAMESPACE === "")
    throw new FlannelError(
      "flanneld-cannot-start",
      "env variables POD_NAME and POD_NAMESPACE must be set, or NODE_NAME",
    );
  let nodeName = "";
  try {
    const pod = await source.get("Pod", { namespace: POD_NAMESPACE, name: POD_NAME });
    nodeName = pod.spec?.nodeName ?? "";
  } catch (error) {
    throw new FlannelError(
      "flannel-store-unreachable",
      `error retrieving pod spec for '${POD_NAMESPACE}/${POD_NAME}': ${messageOf(error)}`,
      { cause: error },
    );
  }
  if (nodeName !== "") return nodeName;
  throw new FlannelError(
    "flanneld-cannot-start",
    `node name not present in pod spec '${POD_NAMESPACE}/${POD_NAME}'`,
  );
}

async function readNetConf(parts: OpenStoreParts): Promise<string> {
  const { netConfigPath } = parts.flags;
  let text: string | undefined;
  let reason = "there is no such file";
  try {
    text = await parts.files.read(netConfigPath);
  } catch (error) {
    reason = messageOf(error);
  }
  if (text !== undefined) return text;
  throw new FlannelError(
    "flanneld-configuration-invalid",
    `failed to read net conf: ${netConfigPath}: ${reason}`,
  );
}

async function openKubeStore(parts: OpenStoreParts): Promise<OpenedStore> {
  const { flags, variables, clock, wallMs, log, os } = parts;
  const { compat } = flags.options;
  const annotations = annotationsOf(flags.annotationPrefix);
  const text = await readNetConf(parts);
  let config: ReturnType<typeof parseNetworkConfig>;
  try {
    config = configurationFor(parseNetworkConfig(text), os);
  } catch (error) {
    throw new FlannelError(
      "flanneld-configuration-invalid",
      `error parsing subnet config: ${flags.netConfigPath}: ${messageOf(error)}`,
      { cause: error },
    );
  }
  const source = await parts.openKube(flags, variables);
  const nodeName = await nodeNameOf(variables, source);
  const leases = new NodeLeases({ source, clock, annotations, families: config, compat, log });
  const store = new KubeLeaseStore({
    source,
    leases,
    nodeName,
    annotations,
    config,
    setsCondition: flags.setsCondition,
    continuesUnsynced: variables["CONT_WHEN_CACHE_NOT_READY"] === "true",
    compat,
    log,
    clock,
    epochMs: wallMs() - clock.nowMs,
  });
  return {
    store,
    close: async () => {
      leases.stop();
      await source.close();
    },
  };
}

async function openEtcdStore(parts: OpenStoreParts): Promise<OpenedStore> {
  const { flags, clock, prng, log, files } = parts;
  const { compat, subnetFile } = flags.options;
  let text: string | undefined;
  try {
    text = await files.read(subnetFile);
  } catch (error) {
    log.write(
      "E",
      `Couldn't fetch previous FLANNEL_SUBNET from subnet file at ${subnetFile}: ${messageOf(error)}`,
    );
  }
  const previous = {
    subnet: previousSubnet(text, "FLANNEL_SUBNET", subnetFile, log),
    ipv6Subnet: previousSubnet(text, "FLANNEL_IPV6_SUBNET", subnetFile, log),
  };
  const { keyFile, certificateFile } = flags.etcd;
  if (keyFile === "" || certificateFile === "")
    log.write("W", "no certificate provided: connecting to etcd with http. This is insecure");
  const client = parts.openEtcd(flags);
  const registry = new SubnetRegistry(client, flags.etcd.prefix, log);
  const store = new EtcdLeaseStore({ registry, clock, prng, compat, log, previous });
  return { store, close: () => client.close() };
}

/** @throws Error for what upstream's process ends with. */
export function openStore(parts: OpenStoreParts): Promise<OpenedStore> {
  return parts.flags.usesKubernetes ? openKubeStore(parts) : openEtcdStore(parts);
}
