/**
 * The HRESULTs of HNS with their system messages (hcn.md §6.1, §6.2; the texts are Microsoft's public ones, without
 * the full stop and the blank that Windows puts behind them).
 */

/** Each HRESULT with its unsigned value and the system's message. */
export const HCN_ERRORS = {
  HCN_E_NETWORK_NOT_FOUND: { hresult: 0x803b0001, text: "The network was not found" },
  HCN_E_ENDPOINT_NOT_FOUND: { hresult: 0x803b0002, text: "The endpoint was not found" },
  HCN_E_LAYER_NOT_FOUND: { hresult: 0x803b0003, text: "The network's underlying layer was not found" },
  HCN_E_SWITCH_NOT_FOUND: { hresult: 0x803b0004, text: "The virtual switch was not found" },
  HCN_E_SUBNET_NOT_FOUND: {
    hresult: 0x803b0005,
    text: "The network does not have a subnet for this endpoint",
  },
  HCN_E_ADAPTER_NOT_FOUND: { hresult: 0x803b0006, text: "An adapter was not found" },
  HCN_E_PORT_NOT_FOUND: { hresult: 0x803b0007, text: "The switch-port was not found" },
  HCN_E_POLICY_NOT_FOUND: { hresult: 0x803b0008, text: "An expected policy was not found" },
  HCN_E_VFP_PORTSETTING_NOT_FOUND: { hresult: 0x803b0009, text: "A required VFP port setting was not found" },
  HCN_E_INVALID_NETWORK: {
    hresult: 0x803b000a,
    text: "The provided network configuration is invalid or missing parameters",
  },
  HCN_E_INVALID_NETWORK_TYPE: { hresult: 0x803b000b, text: "Invalid network type" },
  HCN_E_INVALID_ENDPOINT: {
    hresult: 0x803b000c,
    text: "The provided endpoint configuration is invalid or missing parameters",
  },
  HCN_E_INVALID_POLICY: {
    hresult: 0x803b000d,
    text: "The provided policy configuration is invalid or missing parameters",
  },
  HCN_E_INVALID_POLICY_TYPE: { hresult: 0x803b000e, text: "Invalid policy type" },
  HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION: {
    hresult: 0x803b000f,
    text: "This requested operation is invalid for a remote endpoint",
  },
  HCN_E_NETWORK_ALREADY_EXISTS: { hresult: 0x803b0010, text: "A network with this name already exists" },
  HCN_E_LAYER_ALREADY_EXISTS: { hresult: 0x803b0011, text: "A network with this name already exists" },
  HCN_E_POLICY_ALREADY_EXISTS: {
    hresult: 0x803b0012,
    text: "Policy information already exists on this object",
  },
  HCN_E_PORT_ALREADY_EXISTS: { hresult: 0x803b0013, text: "The specified port already exists" },
  HCN_E_ENDPOINT_ALREADY_ATTACHED: {
    hresult: 0x803b0014,
    text: "This endpoint is already attached to the switch",
  },
  HCN_E_REQUEST_UNSUPPORTED: { hresult: 0x803b0015, text: "The specified request is unsupported" },
  HCN_E_MAPPING_NOT_SUPPORTED: {
    hresult: 0x803b0016,
    text: "Port mapping is not supported on the given network",
  },
  HCN_E_DEGRADED_OPERATION: {
    hresult: 0x803b0017,
    text: "There was an operation attempted on a degraded object",
  },
  HCN_E_SHARED_SWITCH_MODIFICATION: {
    hresult: 0x803b0018,
    text: "Cannot modify a switch shared by multiple networks",
  },
  HCN_E_GUID_CONVERSION_FAILURE: { hresult: 0x803b0019, text: "Failed to interpret a parameter as a GUID" },
  HCN_E_REGKEY_FAILURE: { hresult: 0x803b001a, text: "Failed to process registry key" },
  HCN_E_INVALID_JSON: { hresult: 0x803b001b, text: "Invalid JSON document string" },
  HCN_E_INVALID_JSON_REFERENCE: {
    hresult: 0x803b001c,
    text: "The reference is invalid in the JSON document",
  },
  HCN_E_ENDPOINT_SHARING_DISABLED: { hresult: 0x803b001d, text: "Endpoint sharing is disabled" },
  HCN_E_INVALID_IP: {
    hresult: 0x803b001e,
    text: "IP address is either invalid or not part of any configured subnet(s)",
  },
  HCN_E_SWITCH_EXTENSION_NOT_FOUND: {
    hresult: 0x803b001f,
    text: "The specified switch extension does not exist on this switch",
  },
  HCN_E_MANAGER_STOPPED: {
    hresult: 0x803b0020,
    text: "Operation cannot be performed while service is stopping",
  },
  GCN_E_MODULE_NOT_FOUND: {
    hresult: 0x803b0021,
    text: "Operation cannot be performed while service module not found",
  },
  GCN_E_NO_REQUEST_HANDLERS: {
    hresult: 0x803b0022,
    text: "Request Handlers not present to handle the JSON request",
  },
  GCN_E_REQUEST_UNSUPPORTED: { hresult: 0x803b0023, text: "The specified request is unsupported" },
  GCN_E_RUNTIMEKEYS_FAILED: { hresult: 0x803b0024, text: "Add runtime keys to container failed" },
  GCN_E_NETADAPTER_TIMEOUT: {
    hresult: 0x803b0025,
    text: "Timeout while waiting for network adapter with the given instance id",
  },
  GCN_E_NETADAPTER_NOT_FOUND: {
    hresult: 0x803b0026,
    text: "Network adapter not found for the given instance id",
  },
  GCN_E_NETCOMPARTMENT_NOT_FOUND: {
    hresult: 0x803b0027,
    text: "Network compartment not found for the given id",
  },
  GCN_E_NETINTERFACE_NOT_FOUND: {
    hresult: 0x803b0028,
    text: "Network interface not found for the given id",
  },
  GCN_E_DEFAULTNAMESPACE_EXISTS: { hresult: 0x803b0029, text: "Default Namespace already exists" },
  HCN_E_ICS_DISABLED: {
    hresult: 0x803b002a,
    text: "Internet Connection Sharing service (SharedAccess) is disabled and cannot be started",
  },
  HCN_E_ENDPOINT_NAMESPACE_ALREADY_EXISTS: {
    hresult: 0x803b002b,
    text: "This requested operation is invalid as endpoint is already part of a network namespace",
  },
  HCN_E_ENTITY_HAS_REFERENCES: {
    hresult: 0x803b002c,
    text: "The specified entity cannot be removed while it still has references",
  },
  HCN_E_INVALID_INTERNAL_PORT: {
    hresult: 0x803b002d,
    text: "The internal port must exist and cannot be zero",
  },
  HCN_E_NAMESPACE_ATTACH_FAILED: {
    hresult: 0x803b002e,
    text: "The requested operation for attach namespace failed",
  },
  HCN_E_ADDR_INVALID_OR_RESERVED: { hresult: 0x803b002f, text: "An address provided is invalid or reserved" },
  HCN_E_INVALID_PREFIX: { hresult: 0x803b0030, text: "The prefix provided is invalid" },
  HCN_E_OBJECT_USED_AFTER_UNLOAD: {
    hresult: 0x803b0031,
    text: "A call was performed against an object that was torn down",
  },
  HCN_E_INVALID_SUBNET: {
    hresult: 0x803b0032,
    text: "The provided subnet configuration is invalid or missing parameters",
  },
  HCN_E_INVALID_IP_SUBNET: {
    hresult: 0x803b0033,
    text: "The provided IP subnet configuration is invalid or missing parameters",
  },
  HCN_E_ENDPOINT_NOT_ATTACHED: {
    hresult: 0x803b0034,
    text: "The endpoint must be attached to complete the operation",
  },
  HCN_E_ENDPOINT_NOT_LOCAL: {
    hresult: 0x803b0035,
    text: "The endpoint must be local to complete the operation",
  },
  HCN_INTERFACEPARAMETERS_ALREADY_APPLIED: {
    hresult: 0x803b0036,
    text: "Cannot apply more than one InterfaceParameters policy",
  },
  HCN_E_VFP_NOT_ALLOWED: {
    hresult: 0x803b0037,
    text: "A network of this type can not be created because VFP is not available",
  },
  // Codes of other facilities that HNS passes on (hcn.md §6.2).
  E_ACCESSDENIED: { hresult: 0x80070005, text: "Access is denied" },
  E_NOTIMPL: { hresult: 0x80004001, text: "Not implemented" },
  ERROR_WRITE_PROTECT: { hresult: 0x80070013, text: "The media is write protected" },
  ERROR_WRITE_FAULT: {
    hresult: 0x8007001d,
    text: "The system cannot write to the specified device",
  },
  ERROR_SHARING_VIOLATION: {
    hresult: 0x80070020,
    text: "The process cannot access the file because it is being used by another process",
  },
  ERROR_WRONG_DISK: { hresult: 0x80070022, text: "The wrong diskette is in the drive" },
  ERROR_DUP_NAME: {
    hresult: 0x80070034,
    text: "You were not connected because a duplicate name exists on the network",
  },
  ERROR_INVALID_PARAMETER: { hresult: 0x80070057, text: "The parameter is incorrect" },
  ERROR_ALREADY_EXISTS: {
    hresult: 0x800700b7,
    text: "Cannot create a file when that file already exists",
  },
  ERROR_DISK_FULL: { hresult: 0x80070070, text: "There is not enough space on the disk" },
  ERROR_FILE_CORRUPT: {
    hresult: 0x80070570,
    text: "The file or directory is corrupted and unreadable",
  },
  ERROR_NOT_FOUND: { hresult: 0x80070490, text: "Element not found" },
  RPC_S_UNKNOWN_IF: { hresult: 0x800706b5, text: "The interface is unknown" },
  RPC_S_SERVER_UNAVAILABLE: { hresult: 0x800706ba, text: "The RPC server is unavailable" },
  RPC_S_CALL_FAILED: { hresult: 0x800706be, text: "The remote procedure call failed" },
  EPT_S_NOT_REGISTERED: {
    hresult: 0x800706d9,
    text: "There are no more endpoints available from the endpoint mapper",
  },
  ERROR_OBJECT_ALREADY_EXISTS: { hresult: 0x80071392, text: "The object already exists" },
  HCS_E_SYSTEM_INVALID_CONFIGURATION: {
    hresult: 0x8037010d,
    text: "The virtual machine or container JSON document is invalid",
  },
  HCS_E_SYSTEM_ALREADY_EXISTS: {
    hresult: 0x8037010f,
    text: "A virtual machine or container with the specified identifier already exists",
  },
  HCS_E_SYSTEM_NOT_FOUND: {
    hresult: 0xc037010e,
    text: "A virtual machine or container with the specified identifier does not exist",
  },
} as const;

export type HcnErrorCode = keyof typeof HCN_ERRORS;

/** The name of an HRESULT; undefined when HNS is not known to answer with it. */
export function errorCodeOf(hresult: number): HcnErrorCode | undefined {
  const value = hresult >>> 0;
  for (const [code, facts] of Object.entries(HCN_ERRORS)) {
    if (facts.hresult === value) return code as HcnErrorCode;
  }
  return undefined;
}
