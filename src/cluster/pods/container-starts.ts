/** Whether the containers of a pod start on its node, as far as their images' names tell, and what the kubelet reports. */
import { faultOfImageName, imagePlatform } from "#contracts/kubernetes/container-image.ts";
import {
  type Container,
  type ContainerStatus,
  conditionOf,
  faultOfContainer,
  isHostProcess,
  isSidecar,
} from "#contracts/kubernetes/pod.ts";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import { type UnknownProbePort, unknownProbePorts } from "#contracts/kubernetes/probes.ts";
import type { PodStatusChange } from "#control-plane/memory/pod-status.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { runsContainersOf } from "#core/catalogue/profiles.ts";
import type { NodeSpec } from "../file/cluster-file.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** A container that cannot start. */
export interface ContainerObstacle {
  readonly container: string;
  readonly isInit: boolean;
  readonly code: KnowledgeCode;
  /** One sentence without a full stop. */
  readonly text: string;
  /** What the kubelet writes as the reason why the container waits. */
  readonly reason: string;
  readonly message: string;
}

/** What is wrong with an image on a node; undefined when it runs, or its name does not say. */
function faultOfImage(
  image: string,
  { os, build }: NodeSpec,
  isHostProcessPod: boolean,
): Pick<ContainerObstacle, "code" | "text"> | undefined {
  if (faultOfImageName(image) === "invalid")
    return { code: "image-name-invalid", text: WORDS.imageNameInvalid({ image: JSON.stringify(image) }) };
  const platform = imagePlatform(image);
  if (platform === undefined) return undefined;
  if (platform.os !== os)
    return {
      code: platform.os === "windows" ? "windows-image-on-linux-node" : "linux-image-on-windows-node",
      text: `the image ${image} runs on ${platform.os === "windows" ? "Windows" : "Linux"} only`,
    };
  // HostProcess containers take any build (containerd/containerd issue 7431).
  if (build === undefined || isHostProcessPod) return undefined;
  const { builds } = platform;
  if (builds.length === 0 || builds.some((each) => runsContainersOf(build, each) !== false)) return undefined;
  return {
    code: "image-of-another-build",
    text: WORDS.imageBuildMismatch({ image, builds: builds.join(", "), build: build.profile.build }),
  };
}

/**
 * How the node refuses it. A list of manifests has none for the node, so that nothing is pulled
 * (microsoft/Windows-Containers issue 223). Inferred: what no list is known of is one manifest, which is pulled, and the
 * container does not start (kubernetes/kubernetes issue 74019).
 */
function refusalOf(image: string): Pick<ContainerObstacle, "reason" | "message"> {
  if (faultOfImageName(image) === "invalid")
    return { reason: "InvalidImageName", message: WORDS.kubeletImageName({ image: JSON.stringify(image) }) };
  if (imagePlatform(image)?.isList === true)
    return {
      reason: "ErrImagePull",
      message: WORDS.containerdImageNotFound({ image: JSON.stringify(image) }),
    };
  return {
    reason: "RunContainerError",
    message: WORDS.containerdOsMismatch,
  };
}

/** The containers of a pod that cannot start on `node`. What a dump shows running, runs. */
export function obstaclesOf(pod: Pod, node: NodeSpec): readonly ContainerObstacle[] {
  const { spec, status } = pod;
  // Another runtime may isolate with Hyper-V, where older builds run as well.
  if (spec === undefined || spec.runtimeClassName !== undefined) return [];
  const running = new Set(
    [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].flatMap(
      ({ name, state }) => (state?.running === undefined && state?.terminated === undefined ? [] : [name]),
    ),
  );
  const isOfHost = isHostProcess(pod);
  const check =
    (isInit: boolean) =>
    (container: Container): readonly ContainerObstacle[] => {
      const { name, image = "" } = container;
      const fault = running.has(name) ? undefined : faultOfImage(image, node, isOfHost);
      return fault === undefined ? [] : [{ container: name, isInit, ...fault, ...refusalOf(image) }];
    };
  return [...(spec.initContainers ?? []).flatMap(check(true)), ...spec.containers.flatMap(check(false))];
}

/** The containers that run: those that nothing keeps from it, and the sidecars among the first ones. */
export function runningContainers(pod: Pod, obstacles: readonly ContainerObstacle[]): readonly string[] {
  const { spec, status } = pod;
  const sidecars = (spec?.initContainers ?? []).filter(isSidecar);
  const isInitialized = !obstacles.some(({ isInit }) => isInit);
  const told = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  const stopped = new Set([
    ...obstacles.map(({ container }) => container),
    ...crashingContainers(pod),
    ...told.filter((each) => faultOfContainer(each) !== undefined).map(({ name }) => name),
  ]);
  return [...sidecars, ...(isInitialized ? (spec?.containers ?? []) : [])]
    .map(({ name }) => name)
    .filter((name) => !stopped.has(name));
}

/** True when the input itself shows that the container waits or has ended. */
export function isToldBy({ status }: Pod, { container }: ContainerObstacle): boolean {
  const all = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  return all.some((each) => each.name === container && faultOfContainer(each) !== undefined);
}

function statusOf({ name, image = "" }: Container, state: ContainerStatus["state"]): ContainerStatus {
  const isRunning = state?.running !== undefined;
  return {
    name,
    image,
    imageID: "",
    ready: isRunning,
    restartCount: 0,
    started: isRunning,
    ...(state === undefined ? {} : { state }),
  };
}

function waiting(reason: string, message?: string): ContainerStatus["state"] {
  return { waiting: { reason, ...(message === undefined ? {} : { message }) } };
}

/** The statuses of containers whose pod has no network: none of them has begun. What is told of one that failed stays. */
export function creatingStatuses({ spec, status }: Pod): Pick<PodStatusChange, "containerStatuses"> {
  const known = byName(status?.containerStatuses);
  const containerStatuses = (spec?.containers ?? []).map((container) => {
    const told = known.get(container.name);
    const isFaulty = told !== undefined && faultOfContainer(told) !== undefined;
    return isFaulty ? told : statusOf(container, waiting("ContainerCreating"));
  });
  return { containerStatuses };
}

function byName(statuses: readonly ContainerStatus[] | undefined): ReadonlyMap<string, ContainerStatus> {
  return new Map((statuses ?? []).map((each) => [each.name, each]));
}

/** What the kubelet writes of a pod that has its network: its phase, whether it is ready, and its containers. */
export function startedStatus(
  pod: Pod,
  obstacles: readonly ContainerObstacle[],
): Pick<PodStatusChange, "phase" | "conditions" | "containerStatuses" | "initContainerStatuses"> {
  const { spec, status } = pod;
  const blocked = new Map(obstacles.map((each) => [each.container, each]));
  const isInitialized = !obstacles.some(({ isInit }) => isInit);
  const known = byName(status?.containerStatuses);
  const wasUnready = status?.phase === "Running" && conditionOf(pod, "Ready") === "False";
  const crashing = crashingContainers(pod);
  const neverReady = new Set(hopelessProbes(pod).map(({ container }) => container));
  const containerStatuses = (spec?.containers ?? []).map((container): ContainerStatus => {
    const told = known.get(container.name);
    if (told !== undefined && faultOfContainer(told) !== undefined) return told;
    if (!isInitialized) return statusOf(container, waiting("PodInitializing"));
    const obstacle = blocked.get(container.name);
    if (obstacle !== undefined) return statusOf(container, waiting(obstacle.reason, obstacle.message));
    if (crashing.has(container.name)) return crashedStatus(pod, container);
    if (told?.state?.running !== undefined) return told;
    return { ...statusOf(container, { running: {} }), ready: !wasUnready && !neverReady.has(container.name) };
  });
  const toldOfInit = byName(status?.initContainerStatuses);
  const initContainerStatuses = (spec?.initContainers ?? []).map((container): ContainerStatus => {
    const obstacle = blocked.get(container.name);
    if (obstacle !== undefined) return statusOf(container, waiting(obstacle.reason, obstacle.message));
    if (!isInitialized)
      return toldOfInit.get(container.name) ?? statusOf(container, waiting("PodInitializing"));
    const done = toldOfInit.get(container.name);
    // One that restarts runs beside the others.
    const state = isSidecar(container)
      ? { running: {} }
      : { terminated: { exitCode: 0, reason: "Completed" } };
    return done?.ready === true ? done : { ...statusOf(container, state), ready: true };
  });
  // kubelet's getPhase: a container that has never run keeps the pod pending.
  const isPending = containerStatuses.some(
    ({ state, lastState }) =>
      state?.waiting !== undefined &&
      state.waiting.reason !== "RunContainerError" &&
      lastState?.terminated === undefined,
  );
  const isReady = containerStatuses.every(({ ready }) => ready);
  const unready = containerStatuses.filter(({ ready }) => !ready).map(({ name }) => name);
  const condition = (type: string, isTrue: boolean) => ({
    type,
    status: isTrue ? ("True" as const) : ("False" as const),
    ...(isTrue
      ? {}
      : { reason: "ContainersNotReady", message: `containers with unready status: [${unready.join(" ")}]` }),
  });
  return {
    phase: isPending ? "Pending" : "Running",
    conditions: [
      condition("Initialized", isInitialized),
      condition("Ready", isReady),
      condition("ContainersReady", isReady),
    ],
    containerStatuses,
    ...(initContainerStatuses.length === 0 ? {} : { initContainerStatuses }),
  };
}

/** Probes that never succeed, and keep their containers from being ready. What a dump shows running knows better. */
export function hopelessProbes({ spec, status }: Pod): readonly UnknownProbePort[] {
  const told = byName(status?.containerStatuses);
  return unknownProbePorts(spec).filter(({ container }) => told.get(container)?.state?.running === undefined);
}

/** The containers that end as soon as they start: another of their pod has a port that they declare. */
export function crashingContainers(pod: Pod): ReadonlySet<string> {
  return new Set(sharedPorts(pod).map(({ containers: [, second] }) => second));
}

/** kubelet starts a container that has ended again at once, then after so long, and twice as long each time. */
const FIRST_BACK_OFF = "10s";

/** What the kubelet says while it waits before the next start; the same text stands in the Event. */
export function backOffMessage({ metadata }: Pod, container: string): string {
  const { name, namespace, uid } = metadata;
  return `restarting failed container=${container} pod=${name}_${namespace}(${uid})`;
}

/**
 * Inferred: a program that cannot open its port ends with 1. It is shown as after its first new start; later ones are not counted.
 */
function crashedStatus(pod: Pod, container: Container): ContainerStatus {
  return {
    ...statusOf(
      container,
      waiting("CrashLoopBackOff", `back-off ${FIRST_BACK_OFF} ${backOffMessage(pod, container.name)}`),
    ),
    restartCount: 1,
    lastState: { terminated: { exitCode: 1, reason: "Error" } },
  };
}

/**
 * Ports of one protocol that two containers of the pod declare: they share one network, and the second cannot bind. A dump
 * that shows all of them ready knows better: a port that is declared need not be opened.
 */
export function sharedPorts({ spec, status }: Pod): readonly {
  readonly containers: readonly [string, string];
  readonly port: number;
  readonly protocol: string;
}[] {
  const statuses = status?.containerStatuses ?? [];
  if (statuses.length > 0 && statuses.every(({ ready }) => ready)) return [];
  const running = new Set(
    statuses.flatMap(({ name, state }) => (state?.running === undefined ? [] : [name])),
  );
  const owners = new Map<string, string>();
  return (spec?.containers ?? []).flatMap(({ name, ports = [] }) =>
    ports.flatMap(({ containerPort: port, protocol = "TCP" }) => {
      const key = `${protocol} ${port}`;
      const owner = owners.get(key);
      if (owner === undefined) owners.set(key, name);
      return owner === undefined || owner === name || (running.has(owner) && running.has(name))
        ? []
        : [{ containers: [owner, name] as const, port, protocol }];
    }),
  );
}
