/** How the files of this folder write their entries: the code is the key, the rest is the text. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { KnowledgeEntry, Source } from "../entry.ts";

/** An entry without its code. */
export type EntryText = Omit<KnowledgeEntry, "code">;

/** Entries of one subject by code. */
export type EntryTable<Code extends KnowledgeCode> = Readonly<Record<Code, EntryText>>;

/** Profiles of an entry that holds for every build of Windows. */
export const ALL: readonly string[] = Object.freeze(["all"]);

/** A section of the project's reference documents. */
export function reference(text: string): Source {
  return { text };
}

/** A public thread on GitHub: `thread("microsoft/SDN", 170)`. */
export function thread(repository: string, number: number): Source {
  return { text: `${repository}#${number}`, url: `https://github.com/${repository}/issues/${number}` };
}

export const KUBERNETES_ON_WINDOWS: Source = Object.freeze({
  text: "Kubernetes documentation: Networking on Windows",
  url: "https://kubernetes.io/docs/concepts/services-networking/windows-networking/",
});

export const COMMON_PROBLEMS: Source = Object.freeze({
  text: "Microsoft: Troubleshooting Kubernetes on Windows",
  url: "https://learn.microsoft.com/en-us/virtualization/windowscontainers/kubernetes/common-problems",
});

export const NETWORK_DRIVERS: Source = Object.freeze({
  text: "Microsoft: Windows container network drivers",
  url: "https://learn.microsoft.com/en-us/virtualization/windowscontainers/container-networking/network-drivers-topologies",
});

export const NETWORK_ISOLATION: Source = Object.freeze({
  text: "Microsoft: Network isolation and security",
  url: "https://learn.microsoft.com/en-us/virtualization/windowscontainers/container-networking/network-isolation-security",
});

export const VFP_PAPER: Source = Object.freeze({
  text: "Firestone: VFP, a virtual switch platform for host SDN in the public cloud (NSDI 2017)",
  url: "https://www.usenix.org/conference/nsdi17/technical-sessions/presentation/firestone",
});

export const CNI_SPEC: Source = Object.freeze({
  text: "CNI specification",
  url: "https://www.cni.dev/docs/spec/",
});

export const HOST_LOCAL_PAGE: Source = Object.freeze({
  text: "CNI plugins: host-local",
  url: "https://www.cni.dev/plugins/current/ipam/host-local/",
});

export const WIN_BRIDGE_PAGE: Source = Object.freeze({
  text: "CNI plugins: win-bridge",
  url: "https://www.cni.dev/plugins/current/main/win-bridge/",
});
