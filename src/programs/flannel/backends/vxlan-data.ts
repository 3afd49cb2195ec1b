/** What a node publishes about its end of the tunnels, as JSON (control-planes.md §1.4, §1.8). */
import { parseJson } from "#contracts/cni/json.ts";
import { isJsonObject } from "#core/base/json.ts";
import { type Mac, formatMac, parseMac } from "#core/net/mac.ts";
import { ConfigFields } from "../config-fields.ts";
import { FlannelError } from "../flannel-error.ts";
import { messageOf } from "#core/base/thrown.ts";

export interface VxlanData {
  readonly vni: number;
  /** Undefined where the field is absent. */
  readonly mac: Mac | undefined;
}

/** Bits that the program of each system has for the VNI. */
export const VNI_BITS = { windows: 16, linux: 32 } as const;

/** With colons and small letters, as Go prints it. */
export function formatMacWithColons(mac: Mac): string {
  return formatMac(mac).replaceAll("-", ":").toLowerCase();
}

/** Without a MAC the text says an empty one, as flanneld on Windows publishes before it has a network. */
export function formatVxlanData(vni: number, mac: Mac | undefined): string {
  return JSON.stringify({ VNI: vni, VtepMAC: mac === undefined ? "" : formatMacWithColons(mac) });
}

function unusable(message: string): FlannelError {
  return new FlannelError("flannel-peer-lease-unusable", message);
}

function readObject(text: string): ConfigFields {
  let value: ReturnType<typeof parseJson>;
  try {
    value = parseJson(text);
  } catch (error) {
    throw unusable(messageOf(error));
  }
  if (!isJsonObject(value)) throw unusable("it is not a JSON object");
  return new ConfigFields(value);
}

/** @throws FlannelError for what is no such data: the lease is then left out. */
export function parseVxlanData(text: string | undefined, vniBits: 16 | 32): VxlanData {
  if (text === undefined || text === "") throw unusable("unexpected end of JSON input");
  const fields = readObject(text);
  let vni: number;
  let macText: string | undefined;
  try {
    vni = fields.integer("VNI", 0, 2 ** vniBits - 1) ?? 0;
    macText = fields.text("VtepMAC");
  } catch (error) {
    throw unusable(messageOf(error));
  }
  const mac = macText === undefined ? undefined : parseMac(macText);
  if (macText !== undefined && mac === undefined) throw unusable(`address ${macText}: invalid MAC address`);
  return { vni, mac };
}
