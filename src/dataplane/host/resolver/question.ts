/** One question to the servers of a compartment, sent again as its system does until one answers, and the addresses in the answer. */
import type { Task, Timer } from "#core/base/clock.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import { type DnsMessage, DnsRcode, dnsRcodeName, emitDns, parseDns } from "#core/wire/dns/dns.ts";
import type { Compartment } from "../compartment.ts";
import { type DeliveryFailure, FAILURE_TEXTS, SOCKET_FAILURE_TEXTS } from "../delivery-failure.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "../udp.ts";
import type { CandidateName, ResolverOptions } from "./candidate-names.ts";
import type { AddressType, AskedQuestion, QuestionOutcome } from "./name-result.ts";
import { TcpQuestion, type TcpQuestionOwner } from "./tcp-question.ts";
import { assert } from "#core/base/assert.ts";
import type { OperatingSystem } from "../stack-profile.ts";

/** Where every DNS server listens. */
export const DNS_PORT = 53;
const ID_LIMIT = 0x1_0000;

/** A question for one kind of records of a name, as resolvers send it. */
export function questionFor(id: number, name: string, type: string): DnsMessage {
  return {
    id,
    isResponse: false,
    opcode: 0,
    isAuthoritative: false,
    isTruncated: false,
    isRecursionDesired: true,
    isRecursionAvailable: false,
    rcode: DnsRcode.noError,
    questions: [{ name, type, class: "IN" }],
    answers: [],
    authorities: [],
    additionals: [],
  };
}

/** Is told how a question ended. */
export interface QuestionOwner {
  questionEnded(asked: AskedQuestion, ttlSeconds: number): void;
}

export interface QuestionOptions {
  readonly compartment: Compartment;
  readonly candidate: CandidateName;
  readonly type: AddressType;
  readonly servers: readonly Ip[];
  readonly rounds: readonly QueryRound[];
  /** Gives the first packet tag 1. */
  readonly isFollowed: boolean;
  readonly owner: QuestionOwner;
}

export class Question implements UdpOwner, TcpQuestionOwner, Task {
  private readonly options: QuestionOptions;
  private readonly id: number;
  private readonly startedAtMs: number;
  private readonly asked = new Set<number>();
  /** Servers that said they cannot help, with what they said. */
  private readonly failed = new Map<number, string>();
  private isAnyFailureAnswered = false;
  private socket: UdpSocket | undefined;
  private timer: Timer | undefined;
  private round = -1;
  /** The answer that was cut, while the whole one is asked for, and after. */
  private cut: { readonly server: number; readonly message: DnsMessage } | undefined;
  private isOverTcp = false;
  private sentCount = 0;

  constructor(options: QuestionOptions) {
    this.options = options;
    this.id = options.compartment.prng.below(ID_LIMIT);
    this.startedAtMs = options.compartment.nowMs;
  }

  start(): void {
    const socket = this.options.compartment.udp.bind({ owner: this });
    if (typeof socket === "string") {
      this.end("unreachable", SOCKET_FAILURE_TEXTS[socket]);
      return;
    }
    this.socket = socket;
    this.nextRound();
  }

  /** The wait of a round is over. */
  run(): void {
    this.timer = undefined;
    this.nextRound();
  }

  udpReceived(_socket: UdpSocket, { source, sourcePort, bytes }: UdpDatagram): void {
    const server = this.options.servers.indexOf(source);
    // Only who was asked may answer: a reply from a back end's own address is none.
    if (sourcePort !== DNS_PORT || !this.asked.has(server)) return;
    const message = parseDns(bytes);
    if (typeof message === "string" || !this.isAnswer(message) || this.cut !== undefined) return;
    this.take(server, message);
  }

  udpFailed(_socket: UdpSocket, failure: DeliveryFailure, destination: Ip): void {
    const server = this.options.servers.indexOf(destination);
    if (server < 0) return;
    const reporter = failure.reporter === undefined ? "this host" : formatIp(failure.reporter);
    this.serverFailed(server, `${FAILURE_TEXTS[failure.reason]}, says ${reporter}`);
  }

  private isAnswer({ id, isResponse, questions }: DnsMessage): boolean {
    const [question] = questions;
    const { candidate, type } = this.options;
    return (
      isResponse &&
      id === this.id &&
      question?.type === type &&
      question.name.toLowerCase() === candidate.name.toLowerCase()
    );
  }

  /** The answer over TCP; without one, what came over UDP has to do. */
  tcpAnswered(bytes: Uint8Array | undefined): void {
    const { cut } = this;
    if (cut === undefined) return;
    const message = bytes === undefined ? undefined : parseDns(bytes);
    this.isOverTcp = typeof message === "object" && this.isAnswer(message);
    this.take(cut.server, this.isOverTcp && typeof message === "object" ? message : cut.message);
  }

  /** An answer that was cut is asked for again over TCP, by Windows and glibc alike (RFC 7766 §5). */
  private askOverTcp(server: number, message: DnsMessage): void {
    const { compartment, candidate, type, servers } = this.options;
    const destination = servers[server];
    assert(destination !== undefined, "who answered was asked");
    this.stopTimer();
    this.cut = { server, message };
    const question = emitDns(questionFor(this.id, candidate.name, type));
    new TcpQuestion({ compartment, destination, port: DNS_PORT, question, owner: this }).start();
  }

  private take(server: number, message: DnsMessage): void {
    if (message.isTruncated && this.cut === undefined) {
      this.askOverTcp(server, message);
      return;
    }
    const { rcode } = message;
    if (rcode === DnsRcode.nameError) {
      this.end("name-error", dnsRcodeName(rcode), { server, message });
      return;
    }
    if (rcode !== DnsRcode.noError) {
      this.isAnyFailureAnswered = true;
      this.serverFailed(server, dnsRcodeName(rcode));
      return;
    }
    const { addresses } = readAddresses(message, this.options.candidate.name, this.options.type);
    const outcome = addresses.length > 0 ? "answered" : "no-data";
    const detail = addresses.length > 0 ? "NOERROR" : `no ${this.options.type} record`;
    this.end(outcome, detail, { server, message });
  }

  /**
   * Notes what a server, or the network, said against it. When no server of the round is left to wait for, the next one
   * begins at once. Windows asks a server that failed no more (KB 2834226: a server failure ends the process; Inferred
   * that an ICMP error counts as one); glibc asks it again on its next way through the list.
   */
  private serverFailed(server: number, detail: string): void {
    this.failed.set(server, detail);
    const current = this.options.rounds[this.round];
    if (current?.servers.every((other) => this.failed.has(other)) === true) this.nextRound();
  }

  private stopTimer(): void {
    if (this.timer !== undefined) this.options.compartment.env.clock.cancel(this.timer);
    this.timer = undefined;
  }

  private nextRound(): void {
    this.stopTimer();
    const { rounds, compartment } = this.options;
    const isFinal = compartment.profile.os === "windows";
    for (this.round++; this.round < rounds.length; this.round++) {
      const { servers = [], waitMs = 0 } = rounds[this.round] ?? {};
      const open = isFinal ? servers.filter((server) => !this.failed.has(server)) : servers;
      if (open.length === 0) continue;
      // The timer first: a failure that is reported at once ends the round.
      this.timer = compartment.env.clock.schedule(waitMs, this);
      const { round } = this;
      for (const server of open) {
        this.failed.delete(server);
        this.send(server);
        if (this.round !== round || this.socket === undefined) return;
      }
      return;
    }
    this.giveUp();
  }

  private send(server: number): void {
    const { servers, candidate, type, isFollowed } = this.options;
    const destination = servers[server];
    if (destination === undefined) return;
    this.asked.add(server);
    const tag = isFollowed && this.sentCount === 0 ? 1 : 0;
    this.sentCount++;
    const bytes = emitDns(questionFor(this.id, candidate.name, type));
    const failure = this.socket?.send({ destination, port: DNS_PORT, bytes, tag });
    if (failure !== undefined) this.serverFailed(server, SOCKET_FAILURE_TEXTS[failure]);
  }

  /** Nobody answered with a yes or a no. */
  private giveUp(): void {
    const details = [...new Set(this.failed.values())].join("; ");
    if (this.isAnyFailureAnswered) this.end("server-failure", details === "" ? "SERVFAIL" : details);
    else if (details !== "") this.end("unreachable", details);
    else {
      const elapsedMs = this.options.compartment.nowMs - this.startedAtMs;
      this.end("timed-out", `no answer within ${elapsedMs} ms`);
    }
  }

  private end(
    outcome: QuestionOutcome,
    detail: string,
    answer?: { readonly server: number; readonly message: DnsMessage },
  ): void {
    this.stopTimer();
    this.socket?.close();
    this.socket = undefined;
    const { candidate, type, servers, compartment, owner } = this.options;
    const found =
      answer === undefined
        ? { addresses: [], canonicalName: candidate.name, ttlSeconds: 0 }
        : readAddresses(answer.message, candidate.name, type);
    const asked: AskedQuestion = {
      name: `${candidate.name}.`,
      type,
      suffix: candidate.suffix,
      outcome,
      server: answer === undefined ? undefined : servers[answer.server],
      asked: [...this.asked].map((server) => servers[server]).filter((ip): ip is Ip => ip !== undefined),
      sentCount: this.sentCount,
      isCached: false,
      isOverTcp: this.isOverTcp,
      addresses: found.addresses,
      canonicalName: `${found.canonicalName}.`,
      ...(outcome === "no-data" && answer !== undefined ? { authorities: answer.message.authorities } : {}),
      detail,
      tookMs: compartment.nowMs - this.startedAtMs,
    };
    owner.questionEnded(asked, found.ttlSeconds);
  }
}

/** The addresses in a DNS answer. */
export interface AnswerAddresses {
  /** In the order of the message, each once. */
  readonly addresses: readonly Ip[];
  /** The last name of the chain of aliases; without its final dot. */
  readonly canonicalName: string;
  /** The shortest time to live on the way; 0 when there is no record. */
  readonly ttlSeconds: number;
}

/** A longer chain of aliases is not followed. */
const ALIASES_MAX = 16;

/** Follows the aliases of `name` through the answer section and takes the addresses at their end. */
function readAddresses(message: DnsMessage, name: string, type: AddressType): AnswerAddresses {
  let owner = name;
  let ttlSeconds = Number.POSITIVE_INFINITY;
  for (let hops = 0; hops < ALIASES_MAX; hops++) {
    const addresses = new Set<Ip>();
    let alias: string | undefined;
    for (const record of message.answers) {
      if (record.type === "OPT" || record.name.toLowerCase() !== owner.toLowerCase()) continue;
      if (record.type === type && (record.type === "A" || record.type === "AAAA")) addresses.add(record.ip);
      else if (record.type === "CNAME") alias = record.target;
      else continue;
      ttlSeconds = Math.min(ttlSeconds, record.ttlSeconds);
    }
    if (addresses.size > 0) return { addresses: [...addresses], canonicalName: owner, ttlSeconds };
    if (alias === undefined) break;
    owner = alias;
  }
  return { addresses: [], canonicalName: owner, ttlSeconds: 0 };
}

/** The servers that are asked at one moment, by their place in the list, and how long they are waited for. */
interface QueryRound {
  readonly servers: readonly number[];
  readonly waitMs: number;
}

/** How long Windows waits after each question. */
const WINDOWS_WAITS_MS = [1_000, 1_000, 2_000, 4_000, 2_000] as const;
/** From this round on Windows asks all servers at once. */
const WINDOWS_ALL_FROM = 3;
const MS_PER_SECOND = 1_000;
/** More servers are not read: MAXNS of glibc, and what the kubelet lets through. */
const SERVERS_MAX = 3;

function roundsOnWindows(count: number): readonly QueryRound[] {
  const all = Array.from({ length: count }, (_, index) => index);
  return WINDOWS_WAITS_MS.map((waitMs, round) => ({
    servers: round < WINDOWS_ALL_FROM ? [Math.min(round, count - 1)] : all,
    waitMs,
  }));
}

function roundsOnLinux(count: number, options: ResolverOptions): readonly QueryRound[] {
  const rounds: QueryRound[] = [];
  const used = Math.min(count, SERVERS_MAX);
  for (let attempt = 0; attempt < options.attempts; attempt++) {
    for (let server = 0; server < used; server++) {
      const shared = (options.timeoutSeconds << server) / (server === 0 ? 1 : used);
      rounds.push({ servers: [server], waitMs: Math.max(1, Math.floor(shared)) * MS_PER_SECOND });
    }
  }
  return rounds;
}

/** `nslookup` asks its first server twice, for two seconds each (dataplane.md §5.3: "timeout was 2 seconds"). */
export const NSLOOKUP_ROUNDS: readonly QueryRound[] = Object.freeze(
  [0, 1].map(() => Object.freeze({ servers: [0], waitMs: 2_000 })),
);

/**
 * Which of `count` servers, at least one, are asked when, as long as none answers.
 *
 * Windows: "DNS client resolution timeouts" (Microsoft, KB 2834226): the first server, after 1 s the second, after 2 s
 * the next, after 4 s and after 8 s all, after 10 s it gives up. Linux (glibc, resolv/res_send.c): each server in turn,
 * the whole list `attempts` times; the wait doubles with the place in the list and is shared among the servers.
 */
export function queryRounds(
  os: OperatingSystem,
  count: number,
  options: ResolverOptions,
): readonly QueryRound[] {
  return os === "windows" ? roundsOnWindows(count) : roundsOnLinux(count, options);
}
