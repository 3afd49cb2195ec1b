/** Probes of containers, as far as a manifest shows that they cannot succeed. */
import type { PodSpec } from "./objects.ts";
import { lastingContainers } from "./pod.ts";

/** Probes without which a container is not ready. */
export const DECIDING_PROBES = ["readinessProbe", "startupProbe"] as const;

/** Ways of a probe to ask that take the name of a port. */
export const ASKING_BY_PORT = ["httpGet", "tcpSocket"] as const;

/** A probe whose port has a name that its own container does not declare. */
export interface UnknownProbePort {
  readonly container: string;
  readonly probe: (typeof DECIDING_PROBES)[number];
  readonly port: string;
}

/**
 * The first such probe of each container. kubelet throws the results of these probes away, and the container stays as it began,
 * not ready (k8s.io/kubernetes, `findPortByName` of pkg/probe, `doProbe` of pkg/kubelet/prober).
 */
export function unknownProbePorts(spec: PodSpec | undefined): readonly UnknownProbePort[] {
  return lastingContainers(spec).flatMap((container) => {
    const declared = new Set((container.ports ?? []).map(({ name }) => name));
    const unknown = DECIDING_PROBES.flatMap((probe) =>
      ASKING_BY_PORT.flatMap((way) => {
        const port = container[probe]?.[way]?.port;
        return typeof port === "string" && !declared.has(port)
          ? [{ container: container.name, probe, port }]
          : [];
      }),
    );
    return unknown.slice(0, 1);
  });
}
