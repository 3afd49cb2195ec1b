/** host-local, which gives addresses to pods. */
import { HOST_LOCAL_PAGE } from "../../entries/entry-text.ts";
import { prose } from "../../prose.ts";
import { reference, thread } from "../error-sources.ts";
import type { PrintedErrors } from "../known-error.ts";

const SEE_LEASES = ["Get-ChildItem C:\\var\\lib\\cni\\networks -Recurse", "crictl pods"];

export const IPAM_ERRORS: PrintedErrors = {
  "ipam-allocate-failed": {
    standing: "wrapper",
    texts: ["failed to allocate for range", "error while executing IPAM addition"],
    cause: prose`host-local gave no address; the reason follows on the same line.`,
    next: SEE_LEASES,
    remedy: prose`
      Often the store is full of addresses of pods that are gone: drain the node, stop the kubelet, remove the endpoints,
      delete C:\var\lib\cni\networks.`,
    related: "ipam-range-exhausted",
    sources: [HOST_LOCAL_PAGE, reference("control-planes.md §1.10; cni.md §4.2")],
  },
  "ipam-no-addresses": {
    standing: "root",
    texts: ["no IP addresses available in range set"],
    cause: prose`
      Every address of the node's range has an owner. Owners that are not pods any more come from DELs that never ran:
      after a restart or crash host-local reclaims nothing.`,
    next: SEE_LEASES,
    remedy: prose`Delete the files of addresses that no pod has, or use a larger range per node.`,
    related: "ipam-range-exhausted",
    sources: [HOST_LOCAL_PAGE, thread("containernetworking/plugins", 252), reference("cni.md §4.2, §9 C")],
  },
  "ipam-duplicate-allocation": {
    standing: "root",
    texts: ["duplicate allocation is not allowed"],
    cause: prose`
      This container and interface have an address already. When the owner is "dummy" it is the source VIP, asked for a
      second time by a start script; the answer overwrites sourceVip.json, and kube-proxy gets an empty address.`,
    next: ["Get-Content C:\\k\\sourceVip.json", ...SEE_LEASES],
    remedy: prose`For dummy: delete the file of that address and sourceVip.json, then start again. Else delete the pod.`,
    sources: [HOST_LOCAL_PAGE, reference("control-planes.md §1.11")],
  },
  "ipam-address-taken": {
    standing: "refusal",
    texts: ["requested IP address … is not available in range set", "requested ip … is subnet's gateway"],
    cause: prose`A fixed address was asked for, and it has an owner, or is the gateway's.`,
    next: SEE_LEASES,
    remedy: prose`Ask for another address, or free this one.`,
    sources: [HOST_LOCAL_PAGE, reference("cni.md §4.2")],
  },
  "ipam-range-has-host-bits": {
    standing: "root",
    texts: ["Network has host bits set", "too small to allocate from", "invalid range set"],
    cause: prose`A range in the IPAM part of the configuration is wrong: bits behind its mask, too small, outside its subnet, or overlapping.`,
    next: ["Get-Content C:\\etc\\cni\\net.d\\*"],
    remedy: prose`Write the subnet with its base address, and start and end inside it.`,
    related: "ipam-range-invalid",
    sources: [HOST_LOCAL_PAGE, reference("cni.md §4.1")],
  },
  "ipam-configuration-missing": {
    standing: "root",
    texts: ["IPAM config missing … key", "no IP ranges specified"],
    cause: prose`The configuration has no ipam object, or one without a range.`,
    next: ["Get-Content C:\\etc\\cni\\net.d\\*"],
    remedy: prose`Add ipam with type host-local and ranges.`,
    related: "ipam-range-invalid",
    sources: [HOST_LOCAL_PAGE, reference("cni.md §4.1")],
  },
  "ipam-check-failed": {
    standing: "refusal",
    texts: ["host-local: Failed to find address added by container"],
    cause: prose`CHECK: the container has no address in host-local's store, although it should.`,
    next: SEE_LEASES,
    remedy: prose`Delete the pod, so that it gets an address again.`,
    sources: [HOST_LOCAL_PAGE, reference("cni.md §4.4")],
  },
};
