/** The annotations of a Node in which flanneld publishes its lease (control-planes.md §1.4). */
import { FlannelError } from "../flannel-error.ts";

export const DEFAULT_ANNOTATION_PREFIX = "flannel.alpha.coreos.com";

/** The full keys. */
export interface FlannelAnnotations {
  readonly managed: string;
  readonly backendData: string;
  readonly backendV6Data: string;
  readonly backendType: string;
  readonly publicIp: string;
  readonly publicIpv6: string;
  /** Read at the start; in place of `--public-ip`. */
  readonly nodePublicIp: string;
  readonly nodePublicIpv6: string;
  /** Win over everything when flanneld writes. */
  readonly publicIpOverwrite: string;
  readonly publicIpv6Overwrite: string;
}

/** The form that upstream asks for. */
const PREFIX = /(?:[a-z0-9_-]+\.)+[a-z0-9_-]+\/(?:[a-z0-9_-]+-)?$/;

/** @throws FlannelError for a prefix that no annotation can have. */
export function annotationsOf(prefix: string): FlannelAnnotations {
  const slashes = prefix.split("/").length - 1;
  if (slashes > 1)
    throw new FlannelError(
      "flanneld-cannot-start",
      `subnet/kube: prefix can contain at most single slash: --kube-annotation-prefix is ${JSON.stringify(prefix)}`,
    );
  let full = slashes === 0 ? `${prefix}/` : prefix;
  if (!full.endsWith("/") && !full.endsWith("-")) full += "-";
  if (!PREFIX.test(full))
    throw new FlannelError(
      "flanneld-cannot-start",
      `subnet/kube: prefix must be in a format: fqdn/[0-9a-z-_]*: --kube-annotation-prefix is ${JSON.stringify(prefix)}`,
    );
  return Object.freeze({
    managed: `${full}kube-subnet-manager`,
    backendData: `${full}backend-data`,
    backendV6Data: `${full}backend-v6-data`,
    backendType: `${full}backend-type`,
    publicIp: `${full}public-ip`,
    publicIpv6: `${full}public-ipv6`,
    nodePublicIp: `${full}node-public-ip`,
    nodePublicIpv6: `${full}node-public-ipv6`,
    publicIpOverwrite: `${full}public-ip-overwrite`,
    publicIpv6Overwrite: `${full}public-ipv6-overwrite`,
  });
}
