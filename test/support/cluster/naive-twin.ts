/**
 * The naive twin of a cluster: every machine raised at the start by its own programs, every sender asks everybody, one
 * after the other, in a whole copy of the cluster. It is slow and simple, so that what is clever can be held against it:
 * it uses nothing that raises late, shares, sorts into classes, splits or keeps answers (naive-twin.test.ts).
 */
import { type Cluster, forkCluster } from "#cluster/cluster.ts";
import { readInput } from "#cluster/input/read-input.ts";
import { raiseMachines } from "#cluster/machines/raise-machines.ts";
import { RunningCluster } from "#cluster/session/running-cluster.ts";
import type { InputText } from "#cluster/session/session.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { DnsProbe, DnsTcpProbe } from "#dataplane/host/probes/dns-probe.ts";
import { NameProbe } from "../dataplane/name-probe.ts";
import { EchoProbe, TcpProbe, UdpProbe } from "#dataplane/host/probes/probe.ts";
import { parseIdentification } from "#dataplane/host/services/identification-server.ts";
import { type Ip, formatIp, parseIp } from "#core/net/ip.ts";

/** The cluster of the texts with all its machines. */
export async function raiseTwin(texts: readonly InputText[]): Promise<RunningCluster> {
  const read = readInput(texts);
  if (!("input" in read)) throw new Error(read.problems.map(({ message }) => message).join("\n"));
  const { file, objects, limits } = read.input;
  const session = new RunningCluster(await raiseMachines(file), limits);
  await session.begin(objects);
  return session;
}

/** A machine or pod that sends; its position means the same in every copy. */
export interface TwinSender {
  readonly kind: "pod" | "node" | "outside";
  readonly index: number;
  /** `pod/default/web`, `node/win-1`, the name of a host outside. */
  readonly reference: string;
}

export interface TwinQuestion {
  readonly sender: TwinSender;
  /** Whom it asks: a sender's reference, or `service/default/web`. */
  readonly to: string;
  readonly protocol: "tcp" | "udp" | "icmp";
  /** 0 for ICMP. */
  readonly port: number;
  /** Undefined: the name is resolved first. */
  readonly address: Ip | undefined;
  readonly name: string | undefined;
}

/** `pod/default/a tcp pod/default/b 10.0.0.5 8080`: one for each question. */
export function questionId({ sender, to, protocol, port, address, name }: TwinQuestion): string {
  return [
    sender.reference,
    protocol,
    to,
    name ?? (address === undefined ? "" : formatIp(address)),
    port,
  ].join(" ");
}

/** What came of a question, as text: who answered and whom it saw, or how it ended. */
export type TwinAnswers = ReadonlyMap<string, string>;

const DNS_PORT = 53;

function compartmentOf(cluster: Cluster, { kind, index }: TwinSender): Compartment {
  const found =
    kind === "pod"
      ? cluster.pods[index]?.compartment
      : kind === "node"
        ? cluster.nodes[index]?.host.root
        : cluster.outside[index]?.host.root;
  if (found === undefined) throw new RangeError(`the copy has ${kind} ${index} of the original`);
  return found;
}

/** Everybody who can send. */
export function twinSenders(cluster: Cluster): readonly TwinSender[] {
  return [
    ...cluster.pods.map(({ spec }, index) => {
      return { kind: "pod", index, reference: `pod/${spec.namespace}/${spec.name}` } as const;
    }),
    ...cluster.nodes.map(
      ({ spec }, index) => ({ kind: "node", index, reference: `node/${spec.name}` }) as const,
    ),
    ...cluster.outside.map(({ name }, index) => ({ kind: "outside", index, reference: name }) as const),
  ];
}

type Target = Omit<TwinQuestion, "sender">;

function portOf({
  protocol,
  port,
}: {
  readonly protocol: string;
  readonly port: number;
}): Pick<Target, "protocol" | "port"> {
  return { protocol: protocol === "UDP" ? "udp" : "tcp", port };
}

function machineTargets(cluster: Cluster): readonly Target[] {
  const pods = cluster.pods.flatMap(({ spec, address }): Target[] => {
    const place = { to: `pod/${spec.namespace}/${spec.name}`, address, name: undefined };
    return [
      ...spec.ports.map((port) => ({ ...place, ...portOf(port) })),
      { ...place, protocol: "icmp", port: 0 },
    ];
  });
  const echo = { protocol: "icmp", port: 0, name: undefined } as const;
  const nodes = cluster.nodes.map(({ spec }) => ({
    ...echo,
    to: `node/${spec.name}`,
    address: spec.address,
  }));
  const outside = cluster.outside.flatMap(({ name, ip }): Target[] => {
    const place = { to: name, address: ip, name: undefined };
    const ports = cluster.file.outside.find((each) => each.name === name)?.ports ?? [];
    return [...ports.map((port) => ({ ...place, ...portOf(port) })), { ...echo, ...place }];
  });
  return [...pods, ...nodes, ...outside];
}

/** ClusterIPs, node ports at every node, addresses of load balancers, and the names of Services. */
function serviceTargets(cluster: Cluster): readonly Target[] {
  return cluster.objects.Service.flatMap(({ metadata, spec, status }): Target[] => {
    const to = `service/${metadata.namespace}/${metadata.name}`;
    const own = [...(spec?.clusterIPs ?? [])].filter((text) => text !== "None");
    const ingress = (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? []);
    const addresses = [...own, ...(spec?.externalIPs ?? []), ...ingress].flatMap(
      (text) => parseIp(text) ?? [],
    );
    const domainName = `${metadata.name}.${metadata.namespace}.svc.${cluster.file.dns.domain}.`;
    return (spec?.ports ?? []).flatMap(({ port, nodePort, protocol = "TCP" }): Target[] => {
      if (protocol !== "TCP" && protocol !== "UDP") return [];
      const place = { to, protocol: protocol === "UDP" ? "udp" : "tcp", name: undefined } as const;
      const atNodes = nodePort === undefined ? [] : cluster.nodes.map(({ spec: node }) => node.address);
      return [
        ...addresses.map((address) => ({ ...place, port, address })),
        ...atNodes.map((address) => ({ ...place, port: nodePort ?? 0, address })),
        ...(own.length === 0 ? [] : [{ ...place, port, address: undefined, name: domainName }]),
      ];
    });
  });
}

/** All questions: each sender, each target but itself. Names are asked by pods. */
export function twinQuestions(cluster: Cluster): readonly TwinQuestion[] {
  const targets = [...machineTargets(cluster), ...serviceTargets(cluster)];
  return twinSenders(cluster).flatMap((sender) =>
    targets
      .filter(({ to, name }) => to !== sender.reference && (name === undefined || sender.kind === "pod"))
      .map((target) => ({ sender, ...target })),
  );
}

/** Longer than any probe waits. */
const ASKING_MS_MAX = 60_000;

function probeOf(
  cluster: Cluster,
  question: TwinQuestion,
): NameProbe | TcpProbe | UdpProbe | EchoProbe | DnsProbe {
  const { protocol, port, address, name } = question;
  const compartment = compartmentOf(cluster, question.sender);
  if (name !== undefined) return new NameProbe({ compartment, name, protocol, port });
  if (address === undefined) throw new RangeError("a question has an address or a name");
  const options = { compartment, destination: address, isFollowed: false };
  if (protocol === "icmp") return new EchoProbe(options);
  const asked = `kubernetes.default.svc.${cluster.file.dns.domain}`;
  // A DNS server answers questions and nothing else.
  if (port === DNS_PORT)
    return protocol === "udp"
      ? new DnsProbe({ ...options, port, name: asked })
      : new DnsTcpProbe({ ...options, port, name: asked });
  return protocol === "udp" ? new UdpProbe({ ...options, port }) : new TcpProbe({ ...options, port });
}

/** Asks in `cluster` itself, which is a copy that nobody needs afterwards. What the machines throw is an answer, too. */
function ask(cluster: Cluster, question: TwinQuestion): string {
  try {
    const probe = probeOf(cluster, question);
    probe.start();
    const endMs = cluster.clock.nowMs + ASKING_MS_MAX;
    while (probe.result === undefined && cluster.clock.nowMs < endMs && cluster.clock.step());
    const { result } = probe;
    if (result === undefined) return "no end";
    if (result.outcome !== "answered") return result.outcome;
    const seen = parseIdentification(result.answer);
    return seen === undefined ? "answered" : `answered by ${seen.name} to ${formatIp(seen.clientIp)}`;
  } catch (error) {
    return `fails: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/**
 * The answers to all questions, in a copy of the cluster for each sender. Same cluster, same answers: so what differs
 * between two clusters of the same questions is what differs between their machines.
 */
export function askTwin(
  cluster: Cluster,
  questions: readonly TwinQuestion[] = twinQuestions(cluster),
): TwinAnswers {
  const answers = new Map<string, string>();
  let sender: TwinSender | undefined;
  let copy = cluster;
  for (const question of questions) {
    if (question.sender !== sender) copy = forkCluster(cluster);
    sender = question.sender;
    answers.set(questionId(question), ask(copy, question));
  }
  return answers;
}

/** The questions whose answers differ: `question: before → after`. */
export function changedAnswers(before: TwinAnswers, after: TwinAnswers): readonly string[] {
  return [...before].flatMap(([id, answer]) => {
    const now = after.get(id) ?? "not asked";
    return now === answer ? [] : [`${id}: ${answer} → ${now}`];
  });
}
