/** What a node publishes about its end of the tunnels, as JSON (control-planes.md §1.4, §1.8). */
import { parseJson } from "#contracts/cni/json.ts";
import { type JsonObject, isJsonObject } from "#core/base/json.ts";
import { type Mac, formatMac, parseMac } from "#core/net/mac.ts";
import { type ConfigOf, printConfig, readConfig } from "../config-fields.ts";
import { FlannelError } from "../reports.ts";
import { messageOf } from "#core/base/thrown.ts";

export interface VxlanData {
  readonly vni: number;
  /** Undefined where the field is absent. */
  readonly mac: Mac | undefined;
}

/** Bits that the program of each system has for the VNI. */
export const VNI_BITS = { windows: 16, linux: 32 } as const;

/** The one place that names its fields. */
const VXLAN_DATA = {
  text: "What a node publishes about its end of the tunnels.",
  fields: {
    VNI: { is: "integer", min: 0, text: "The number of the tunnels.", absent: "0" },
    VtepMAC: { is: "text", text: "The MAC address of its end.", absent: "none" },
  },
} as const;

/** With colons and small letters, as Go prints it. */
export function formatMacWithColons(mac: Mac): string {
  return formatMac(mac).replaceAll("-", ":").toLowerCase();
}

/** Without a MAC the text says an empty one, as flanneld on Windows publishes before it has a network. */
export function formatVxlanData(vni: number, mac: Mac | undefined): string {
  const VtepMAC = mac === undefined ? "" : formatMacWithColons(mac);
  return JSON.stringify(printConfig(VXLAN_DATA, { VNI: vni, VtepMAC }));
}

function unusable(message: string): FlannelError {
  return new FlannelError("flannel-peer-lease-unusable", message);
}

function readObject(text: string): JsonObject {
  let value: ReturnType<typeof parseJson>;
  try {
    value = parseJson(text);
  } catch (error) {
    throw unusable(messageOf(error));
  }
  if (!isJsonObject(value)) throw unusable("it is not a JSON object");
  return value;
}

/** @throws FlannelError for what is no such data: the lease is then left out. */
export function parseVxlanData(text: string | undefined, vniBits: 16 | 32): VxlanData {
  if (text === undefined || text === "") throw unusable("unexpected end of JSON input");
  const object = readObject(text);
  const VNI = { ...VXLAN_DATA.fields.VNI, max: 2 ** vniBits - 1 };
  let given: ConfigOf<typeof VXLAN_DATA>;
  try {
    given = readConfig({ ...VXLAN_DATA, fields: { ...VXLAN_DATA.fields, VNI } }, object);
  } catch (error) {
    throw unusable(messageOf(error));
  }
  const { VNI: vni = 0, VtepMAC: macText } = given;
  const mac = macText === undefined ? undefined : parseMac(macText);
  if (macText !== undefined && mac === undefined) throw unusable(`address ${macText}: invalid MAC address`);
  return { vni, mac };
}
