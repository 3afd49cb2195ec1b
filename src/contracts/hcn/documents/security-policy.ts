/** The policies `Encryption` and `Firewall` of endpoints (hcn.md §3.3). */
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "../guid.ts";
import { type JsonReader, present } from "../description/json-reader.ts";

/** Inferred: the numbers of these enumerations, from the order of their names in the schema. */
const ENCRYPTION_METHODS = ["Ipsec"] as const;
const AUTHENTICATION_METHODS = ["PresharedKey", "Certificate"] as const;
const VM_TYPES = ["Invalid", "Host", "WSA", "WSL"] as const;
const FIREWALL_FLAGS = ["None", "ConstrainedInterface"] as const;

export interface AuthenticationMethod {
  readonly Type?: (typeof AUTHENTICATION_METHODS)[number];
  readonly Settings?: JsonObject;
}

/** IPsec between endpoints. */
export interface EncryptionPolicySetting {
  readonly EncryptionMethodType?: (typeof ENCRYPTION_METHODS)[number];
  readonly AuthenticationMethods?: readonly AuthenticationMethod[];
  readonly Name?: string;
  readonly Endpoints1?: readonly string[];
  readonly Endpoints2?: readonly string[];
  readonly ProtocolType?: string;
  readonly Endpoint1Ports?: string;
  readonly Endpoint2Ports?: string;
}

/** Binding to the firewall of Hyper-V, in the fields of the schema page or in those that WSL sends. */
export interface FirewallPolicySetting {
  readonly VmType?: (typeof VM_TYPES)[number];
  readonly FirewallPolicyFlags?: number;
  readonly VmCreatorId?: Guid;
  readonly PolicyFlags?: number;
}

/** Inferred: addresses come as a list or as a comma list, protocol and ports as text. */
export function readEncryption(reader: JsonReader): EncryptionPolicySetting {
  return present<EncryptionPolicySetting>({
    EncryptionMethodType: reader.enumeration("EncryptionMethodType", ENCRYPTION_METHODS),
    AuthenticationMethods: reader.list("AuthenticationMethods", (method) =>
      present<AuthenticationMethod>({
        Type: method.enumeration("Type", AUTHENTICATION_METHODS),
        Settings: method.object("Settings")?.whole(),
      }),
    ),
    Name: reader.text("Name"),
    Endpoints1: reader.texts("Endpoints1"),
    Endpoints2: reader.texts("Endpoints2"),
    ProtocolType: reader.textOrNumber("ProtocolType"),
    Endpoint1Ports: reader.textOrNumber("Endpoint1Ports"),
    Endpoint2Ports: reader.textOrNumber("Endpoint2Ports"),
  });
}

/** Bits, which go out as a number (hcn.md §1.6), also where they come in as the name of one. */
function readFirewallFlags(reader: JsonReader): number | undefined {
  const value = reader.raw("FirewallPolicyFlags");
  if (typeof value !== "string" || /^\d+$/.test(value)) return reader.u32("FirewallPolicyFlags");
  const name = reader.enumeration("FirewallPolicyFlags", FIREWALL_FLAGS);
  return name === undefined ? undefined : FIREWALL_FLAGS.indexOf(name);
}

export function readFirewall(reader: JsonReader): FirewallPolicySetting {
  return present<FirewallPolicySetting>({
    VmType: reader.enumeration("VmType", VM_TYPES),
    FirewallPolicyFlags: readFirewallFlags(reader),
    VmCreatorId: reader.guid("VmCreatorId"),
    PolicyFlags: reader.u32("PolicyFlags"),
  });
}
