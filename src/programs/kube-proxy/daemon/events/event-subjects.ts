/** Whom events of kube-proxy are about. */
import type { EventSubject } from "./event-recorder.ts";

/** A Node as events name it: kubelet's nodes have their name for a uid there. */
export function nodeSubject(name: string): EventSubject {
  return { kind: "Node", namespace: "", name, uid: name };
}

export function serviceSubject(namespace: string, name: string): EventSubject {
  return { kind: "Service", namespace, name, uid: `${namespace}/${name}` };
}
