/** One question to the servers of a compartment, sent again as its system does until somebody answers. */
import type { Task, Timer } from "#core/base/clock.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import { type DnsMessage, DnsRcode, dnsRcodeName, emitDns, parseDns } from "#core/wire/dns/dns.ts";
import type { Compartment } from "../compartment.ts";
import { type DeliveryFailure, FAILURE_TEXTS } from "../delivery-failure.ts";
import { SOCKET_FAILURE_TEXTS } from "../socket-failure.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "../udp.ts";
import { readAddresses } from "./answer-section.ts";
import type { CandidateName } from "./candidate-names.ts";
import type { AddressType, AskedQuestion, QuestionOutcome } from "./name-result.ts";
import type { QueryRound } from "./query-rounds.ts";

/** Where every DNS server listens. */
export const DNS_PORT = 53;
const ID_LIMIT = 0x1_0000;

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

export class Question implements UdpOwner, Task {
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
    if (typeof message === "string" || !this.isAnswer(message)) return;
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

  private take(server: number, message: DnsMessage): void {
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
   * Notes what a server, or the network, said against it. When nobody of the round is left to wait for, the next one
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
    const message: DnsMessage = {
      id: this.id,
      isResponse: false,
      opcode: 0,
      isAuthoritative: false,
      isTruncated: false,
      isRecursionDesired: true,
      isRecursionAvailable: false,
      rcode: DnsRcode.noError,
      questions: [{ name: candidate.name, type, class: "IN" }],
      answers: [],
      authorities: [],
      additionals: [],
    };
    this.asked.add(server);
    const tag = isFollowed && this.sentCount === 0 ? 1 : 0;
    this.sentCount++;
    const bytes = emitDns(message);
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
      isTruncated: answer?.message.isTruncated === true,
      addresses: found.addresses,
      canonicalName: `${found.canonicalName}.`,
      detail,
      tookMs: compartment.nowMs - this.startedAtMs,
    };
    owner.questionEnded(asked, found.ttlSeconds);
  }
}
