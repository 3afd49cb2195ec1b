import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyText } from "#test/support/any-text.ts";
import { buildSignatures } from "../log/signatures.ts";
import { findError } from "./find-error.ts";

const SIGNATURES = buildSignatures();

function first(query: string): string | undefined {
  return findError(query, SIGNATURES).errors[0]?.id;
}

describe("findError finds what the reference lists", () => {
  it.each([
    // users.md: what people quote, by group; with the row of the table it must lead to.
    ["G2", "hns 0xb7", "error-already-exists"],
    [
      "G3",
      "Unable to find HNS Network specified by cbr0. Please check network name and CNI deployment",
      "kube-proxy-network-not-found",
    ],
    ["G5", "kube-proxy: source-vip flag not set", "kube-proxy-source-vip-missing"],
    ["G5", "IP address is either invalid or not part of any configured subnet(s).", "hcn-e-invalid-ip"],
    ["G5", "0x803b002f", "hcn-e-addr-invalid-or-reserved"],
    ["G5", "Source Vip endpoint creation failed", "kube-proxy-source-vip-failed"],
    ["G9", "Element not found (0x490)", "error-not-found"],
    ["G9", 'Network name "flannel.4096" not found', "cni-network-missing"],
    ["G9", "network host not found", "docker-host-network-missing"],
    ["G9", "object already exists", "error-object-already-exists"],
    ["G10", "wrong diskette is in the drive (0x22)", "error-wrong-disk"],
    ["G10", "timeout acquiring mutex", "calico-lock"],
    ["G10", "Host Networking Service exits unexpectedly", "hns-crashed"],
    ["G10", "PLEG is not healthy", "kubelet-pleg"],
    ["G11", "An adapter was not found (0x803b0006)", "hcn-e-adapter-not-found"],
    ["G11", "Could not find valid interface", "flanneld-no-interface"],
    [
      "G12",
      "open /run/flannel/subnet.env: The system cannot find the path specified.",
      "flannel-subnet-env-missing",
    ],
    ["G12", "invalid GUID length", "cni-namespace-invalid"],
    [
      "G13",
      "The provided policy configuration is invalid or missing parameters (0x803b000d)",
      "hcn-e-invalid-policy",
    ],
    ["G14", "the specified port already exists (0x803b0013)", "hcn-e-port-already-exists"],
    [
      "G19",
      "An attempt was made to access a socket in a way forbidden by its access permissions",
      "wsaeacces",
    ],
    ["G19", "PING: transmit failed. General failure.", "ping-general-failure"],
    ["G20", "No available addresses", "azure-no-addresses"],
    ["G20", "failed to allocate for range", "ipam-allocate-failed"],
    ["G21", "pod does not have label vpc.amazonaws.com/PrivateIPv4Address", "eks-windows-ipam"],
    ["G23", "The parameter is incorrect", "error-invalid-parameter"],
    ["G26", "network OVNKubernetesHybridOverlayNetwork not found", "ovn-hybrid-network-missing"],
    // users.md §1: the codes that an error dictionary must have.
    ["row 6", "0x803b0006", "hcn-e-adapter-not-found"],
    ["row 6", "0x803b0007", "hcn-e-port-not-found"],
    ["row 6", "0x803b000d", "hcn-e-invalid-policy"],
    ["row 6", "0x803b0013", "hcn-e-port-already-exists"],
    ["row 6", "0x803b001c", "hcn-e-invalid-json-reference"],
    ["row 6", "0x803b001e", "hcn-e-invalid-ip"],
    ["row 6", "0x803b002f", "hcn-e-addr-invalid-or-reserved"],
    ["row 6", "0x490", "error-not-found"],
    ["row 6", "0x22", "error-wrong-disk"],
    ["row 6", "0xb7", "error-already-exists"],
    ["row 6", "0x800702BA", "error-object-name-exists"],
    ["row 6", "2151350278", "hcn-e-adapter-not-found"],
    // cni.md §1.6 and §9.
    ["CNI 1.6", 'failed to find plugin "win-bridge" in path [C:\\k\\cni]', "cni-plugin-not-found"],
    [
      "CNI 9 A",
      "failed to find HNSEndpoint 1234_cbr0: Endpoint 1234_cbr0 not found",
      "cni-endpoint-not-found",
    ],
    ["CNI 9 A", "attach namespace failed", "hcn-e-namespace-attach-failed"],
    ["CNI 9 C", "The object already exists. (0x1392)", "error-object-already-exists"],
    ["CNI 9 E", "The parameter is incorrect.", "error-invalid-parameter"],
    ["CNI 9 F", "timed out locking store", "azure-lock-timeout"],
    ["CNI 9 F", "unexpected end of JSON input", "azure-state-empty"],
    ["CNI 9 J", "Invalid network type", "hcn-e-invalid-network-type"],
    // kube-proxy.md §7.
    ["KP 7.1", "0x57", "error-invalid-parameter"],
    ["KP 7.8", "could not find host mac address for 0.0.0.0", "kube-proxy-host-mac-missing"],
    ["KP 7.31", "The switch-port was not found", "hcn-e-port-not-found"],
    [
      "KP 7.34",
      "The reference is invalid in the JSON document. A Reference is required",
      "hcn-e-invalid-json-reference",
    ],
    // control-planes.md §1.10.
    ["CP 1.10", "Waiting for the Network to be created", "start-script-waits-for-network"],
    ["CP 2.1", "waiting to discover node registration status", "start-script-waits-for-node"],
    ["CP 2.1", "DownloadFile : Failed to download a script", "start-script-download-failed"],
    ["CP 1.7", "Failed to write subnet file: it is in use", "flanneld-subnet-file"],
    ["CP 2.2", "failed to parse kubelet flag: unknown flag: --of-old", "kubelet-flag-unknown"],
    ["calico#7552", "failed to parse kubelet flag: unknown flag: --logtostderr", "kubelet-flag-unknown"],
    [
      "CP F8",
      "invalid VXLAN backend config. VNI [1] must be greater than or equal to 4096 on Windows",
      "flanneld-vni-too-small",
    ],
    // dataplane.md §9 and §7.12.
    ["F-04", "Drop: DropReason Invalid Packet , DropLocation 0xE0006096", "vfp-invalid-packet"],
    ["F-27", "10013", "wsaeacces"],
    // windows-networking-documentation.md §9.
    ["DOC 9.11", "wincat not found", "kubelet-port-forward-wincat"],
  ])("%s %j", (_, query, id) => {
    expect(first(query)).toBe(id);
  });

  it("gives both codes for a text that Windows prints for both", () => {
    expect(findError("A network with this name already exists.").errors.map(({ id }) => id)).toEqual([
      "hcn-e-network-already-exists",
      "hcn-e-layer-already-exists",
    ]);
  });

  it("reads a whole line, the fault before what only passes it on", () => {
    const line =
      'plugin type="win-bridge" failed (add): error while adding HostComputeEndpoint: failed to create the new HNSEndpoint: ' +
      "hcnCreateEndpoint failed in Win32: Das Objekt ist bereits vorhanden. (0x1392)";
    expect(findError(line).errors.map(({ id }) => id)).toEqual([
      "error-object-already-exists",
      "cni-make-endpoint-failed",
      "cni-add-failed",
    ]);
  });
});

it.each([
  [
    "flanneld",
    "Error registering network: failed to create HNSNetwork cbr0: hnsCall failed in Win32: A network with this name already exists. (0x803b0010)",
    ["hcn-e-network-already-exists", "network-create-failed", "flanneld-network-not-registered"],
  ],
  [
    "kube-proxy of 2018",
    "Unable to find Hns Network speficied by cbr0. Please check environment variable KUBE_NETWORK",
    ["kube-proxy-network-variable-wrong"],
  ],
])("a line of %s names no other program's error", (_, line, ids) => {
  expect(findError(line).errors.map(({ id }) => id)).toEqual(ids);
});

describe("a near miss", () => {
  it.each([
    ["HCN_E_PORT_ALREADY_EXIST", "HCN_E_PORT_ALREADY_EXISTS"],
    ["the specified port allready exists", "The specified port already exists"],
    ["source vips absent", "kube-proxy-source-vip-missing"],
    ["host mac adress", "kube-proxy-host-mac-missing"],
  ])("%j suggests %j", (query, suggestion) => {
    const { errors, suggestions } = findError(query, SIGNATURES);
    expect(errors).toEqual([]);
    expect(suggestions).toContain(suggestion);
  });

  it("of nothing suggests nothing", () => {
    expect(findError("xyzzy")).toEqual({ errors: [], hresult: undefined, suggestions: [] });
  });
});

describe("a number that the table does not have", () => {
  it.each([
    ["0x803b0099", 0x803b0099],
    ["0x80071234", 0x80071234],
    ["4660", 0x80071234],
  ])("%j is kept as HRESULT", (query, hresult) => {
    expect(findError(query, SIGNATURES)).toEqual({ errors: [], hresult, suggestions: [] });
  });
});

it("never throws, whatever is asked", () => {
  fc.assert(
    fc.property(fc.oneof(anyText(80), fc.string({ maxLength: 80 })), (query) => {
      findError(query, SIGNATURES);
    }),
    { numRuns: 15 },
  );
});
