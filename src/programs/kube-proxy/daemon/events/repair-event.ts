/** A repair of HNS as an Event of the Service that it was for, or of the node. */
import type { Repair } from "../../sync/repair.ts";
import type { ProxyServerEvent } from "./event-recorder.ts";
import { nodeSubject, serviceSubject } from "./event-subjects.ts";

export function repairEvent(hostname: string, { service, message, code }: Repair): ProxyServerEvent {
  const regarding =
    service === undefined ? nodeSubject(hostname) : serviceSubject(service.namespace, service.name);
  const text = `${hostname}: ${message} [${code}]`;
  return { type: "Warning", reason: "RepairedHNS", action: "Repair", regarding, message: text };
}
