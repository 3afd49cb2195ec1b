/** Volumes that a kubelet of Windows cannot mount. */
import type { PodSpec } from "./objects.ts";

/**
 * Types of which the kubelet mounts a file system itself, which it does for SMB alone on Windows (k8s.io/mount-utils 0.34,
 * `mount_windows.go`: "only cifs mount is supported now"; kubernetes.io, concepts/storage/windows-storage).
 */
export const VOLUMES_NOT_FOR_WINDOWS = ["nfs", "iscsi", "fc"] as const;

/** A volume of a pod, and its type as the field is called. */
export interface NamedVolume {
  readonly name: string;
  readonly type: (typeof VOLUMES_NOT_FOR_WINDOWS)[number];
}

/** The volumes of a pod that no Windows node mounts. */
export function volumesNotForWindows(spec: PodSpec | undefined): readonly NamedVolume[] {
  return (spec?.volumes ?? []).flatMap((volume) => {
    const type = VOLUMES_NOT_FOR_WINDOWS.find((each) => volume[each] !== undefined);
    return type === undefined ? [] : [{ name: volume.name, type }];
  });
}
