/** The configuration of the flannel meta plugin (cni.md §3.1). */
import { StructReader } from "#contracts/cni/json.ts";
import { type JsonObject } from "#core/base/json.ts";

const SUBNET_FILE_DEFAULT = "/run/flannel/subnet.env";
const DATA_FOLDER_DEFAULT = "/var/lib/cni/flannel";

export interface FlannelConfiguration {
  /** Of the list, and of the delegate: on Windows the name of the HNS network. */
  readonly name: string;
  /** Empty: none is written. */
  readonly cniVersion: string;
  /** Where flanneld writes. On Windows on the current drive of the runtime. */
  readonly subnetFile: string;
  readonly dataFolder: string;
  /** The beginning of the delegate's configuration, keys as they were written; undefined: none. */
  readonly delegate: JsonObject | undefined;
  /** Additions to the delegate's IPAM; read on Linux alone. */
  readonly ipam: JsonObject | undefined;
  readonly runtimeConfig: JsonObject | undefined;
}

/** Reads the configuration. @throws DecodeError */
export function readFlannelConfiguration(document: JsonObject): FlannelConfiguration {
  const reader = new StructReader(document);
  const subnetFile = reader.text("subnetFile");
  const dataFolder = reader.text("dataDir");
  return {
    name: reader.text("name"),
    cniVersion: reader.text("cniVersion"),
    // An empty text is one that was written: upstream then opens a file without a name.
    subnetFile: reader.raw("subnetFile") === undefined ? SUBNET_FILE_DEFAULT : subnetFile,
    dataFolder: reader.raw("dataDir") === undefined ? DATA_FOLDER_DEFAULT : dataFolder,
    delegate: reader.object("delegate"),
    ipam: reader.object("ipam"),
    runtimeConfig: reader.object("runtimeConfig"),
  };
}
