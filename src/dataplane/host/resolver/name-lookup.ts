/** A program asks its system for the address of a name: which names are asked for, and what comes of it. */
import { assert } from "#core/base/assert.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { type Ip, parseIp } from "#core/net/ip.ts";
import { isDnsName } from "#core/wire/dns/dns-structure.ts";
import type { Compartment } from "../compartment.ts";
import { type CandidateName, type NamePlan, planNames, readResolverOptions } from "./candidate-names.ts";
import { cacheMs, lookUpHosts } from "./known-names.ts";
import type { AddressType, AskedQuestion, NameResult, ResolverManner, ResolverOwner } from "./name-result.ts";
import { NSLOOKUP_ROUNDS, queryRounds, Question, type QuestionOwner } from "./question.ts";

export interface NameLookupOptions {
  /** Whose resolver is asked. */
  readonly compartment: Compartment;
  readonly name: string;
  /** Default `A`. */
  readonly type?: AddressType;
  /** Whose rules hold. Default `system`. */
  readonly manner?: ResolverManner;
  /** Who is asked. Default: the servers of the compartment. */
  readonly servers?: readonly Ip[] | undefined;
  /** Index of the question whose first packet gets tag 1, from 0. Default: none. */
  readonly followedQuestion?: number;
  readonly owner?: ResolverOwner<NameLookup>;
}

/** resolv.conf(5): without a server, the one of this machine. */
const LINUX_DEFAULT_SERVER = "127.0.0.1";

/** One resolution from start to result. */
export class NameLookup implements QuestionOwner {
  result: NameResult | undefined;
  readonly options: NameLookupOptions;
  private readonly type: AddressType;
  private readonly manner: ResolverManner;
  private plan: NamePlan = { candidates: [], unusedSuffixes: [], unusedBecause: undefined };
  private servers: readonly Ip[] = [];
  private isStarted = false;
  private next = 0;
  private readonly questions: AskedQuestion[] = [];
  private startedAtMs = 0;

  constructor(options: NameLookupOptions) {
    this.options = options;
    this.type = options.type ?? "A";
    this.manner = options.manner ?? "system";
  }

  start(): void {
    const { compartment, name } = this.options;
    assert(!this.isStarted, "a lookup starts once");
    this.isStarted = true;
    this.startedAtMs = compartment.nowMs;
    const own = this.ownAddress();
    if (own !== undefined) {
      this.succeed([own], name);
      return;
    }
    if (!isDnsName(name)) {
      this.fail("dns-name-unknown", "the text is not a DNS name");
      return;
    }
    if (compartment.nowMs < compartment.namesFailUntilMs) {
      this.fail("dns-cold-start", "the resolver of the new pod does not answer yet");
      return;
    }
    const { os } = compartment.profile;
    this.plan = planNames(os, name, compartment.dns, this.manner);
    const listed = this.listedAddresses();
    if (listed.length > 0) {
      this.succeed(listed, name);
      return;
    }
    this.servers = this.options.servers ?? compartment.dns.servers;
    if (this.servers.length === 0 && os === "linux") {
      const local = parseIp(LINUX_DEFAULT_SERVER);
      this.servers = local === undefined ? [] : [local];
    }
    if (this.servers.length === 0) {
      this.fail("dns-no-server", "no DNS server is configured");
      return;
    }
    this.askNext();
  }

  questionEnded(asked: AskedQuestion, ttlSeconds: number): void {
    const { compartment } = this.options;
    const { outcome, addresses, canonicalName } = asked;
    const isKept = outcome === "answered" || outcome === "no-data" || outcome === "name-error";
    if (isKept && this.manner === "system" && compartment.profile.os === "windows") {
      const expiresAtMs = compartment.nowMs + cacheMs(outcome, ttlSeconds);
      compartment.nameCache.set(asked.name, this.type, { outcome, addresses, canonicalName, expiresAtMs });
    }
    this.take(asked);
  }

  /** An address in letters, and `localhost`: no server is asked. */
  private ownAddress(): Ip | undefined {
    const { name } = this.options;
    const isWanted = (ip: Ip | undefined): boolean => (typeof ip === "number") === (this.type === "A");
    const literal = parseIp(name);
    if (literal !== undefined) return isWanted(literal) ? literal : undefined;
    // RFC 6761 §6.3. Windows' DNS client and the hosts file of Linux both know it.
    if (!/^localhost\.?$/i.test(name)) return undefined;
    return parseIp(this.type === "A" ? "127.0.0.1" : "::1");
  }

  /**
   * What the hosts file says: of the name as it was given, and on Windows, whose DNS client keeps the file in its cache, of
   * the completed name as well. `nslookup` does not read it.
   */
  private listedAddresses(): readonly Ip[] {
    const { compartment, name } = this.options;
    if (this.manner === "nslookup") return [];
    const completed = compartment.profile.os === "windows" ? this.plan.candidates : [];
    for (const each of [name, ...completed.map((candidate) => candidate.name)]) {
      const found = lookUpHosts(compartment.hosts, each, this.type);
      if (found.length > 0) return found;
    }
    return [];
  }

  private askNext(): void {
    const candidate = this.plan.candidates[this.next++];
    if (candidate === undefined) {
      this.conclude();
      return;
    }
    const remembered = this.recall(candidate);
    if (remembered !== undefined) {
      this.take(remembered);
      return;
    }
    const { compartment, followedQuestion } = this.options;
    const options = readResolverOptions(compartment.dns.options ?? []);
    const question = new Question({
      compartment,
      candidate,
      type: this.type,
      servers: this.servers,
      rounds:
        this.manner === "nslookup"
          ? NSLOOKUP_ROUNDS
          : queryRounds(compartment.profile.os, this.servers.length, options),
      isFollowed: followedQuestion === this.questions.length,
      owner: this,
    });
    question.start();
  }

  /** What the compartment's cache knows. On Linux it is never filled. */
  private recall({ name, suffix }: CandidateName): AskedQuestion | undefined {
    const { compartment } = this.options;
    if (this.manner === "nslookup") return undefined;
    const known = compartment.nameCache.get(`${name}.`, this.type, compartment.nowMs);
    if (known === undefined) return undefined;
    const { outcome, addresses, canonicalName } = known;
    return {
      name: `${name}.`,
      type: this.type,
      suffix,
      outcome,
      server: undefined,
      asked: [],
      sentCount: 0,
      isCached: true,
      isOverTcp: false,
      addresses,
      canonicalName,
      detail: outcome === "name-error" ? "NXDOMAIN" : `no ${this.type} record`,
      tookMs: 0,
    };
  }

  private take(asked: AskedQuestion): void {
    this.questions.push(asked);
    switch (asked.outcome) {
      case "answered":
        this.succeed(asked.addresses, asked.canonicalName);
        return;
      case "unreachable":
        // glibc: "if no server present, give up".
        this.conclude();
        return;
      case "timed-out":
        // nslookup: "Request to … timed-out", and nothing else.
        if (this.manner === "nslookup") {
          this.conclude();
          return;
        }
        // glibc leaves the search list and tries the name as it is, if that is still to come.
        while (this.next < this.plan.candidates.length && this.plan.candidates[this.next]?.suffix !== "")
          this.next++;
        this.askNext();
        return;
      case "no-data":
      case "name-error":
      case "server-failure":
        this.askNext();
    }
  }

  /** Nobody knew an address: the gravest of the answers says why. */
  private conclude(): void {
    const find = (outcome: AskedQuestion["outcome"]): AskedQuestion | undefined =>
      this.questions.find((question) => question.outcome === outcome);
    const timedOut = find("timed-out");
    const unreachable = find("unreachable");
    const refused = find("server-failure");
    const empty = find("no-data");
    const isLinuxDefault = this.options.compartment.dns.servers.length === 0;
    if (isLinuxDefault && (timedOut ?? unreachable) !== undefined)
      this.fail("dns-no-server", "no DNS server is configured, and none runs on this machine");
    else if (timedOut !== undefined) this.fail("dns-timeout", `${timedOut.name}: ${timedOut.detail}`);
    else if (unreachable !== undefined)
      this.fail("dns-server-unreachable", `${unreachable.name}: ${unreachable.detail}`);
    else if (refused !== undefined) this.fail("dns-server-failure", `${refused.name}: ${refused.detail}`);
    else if (empty !== undefined)
      this.fail("dns-no-address", `${empty.name} exists and has no ${this.type} record`);
    else this.fail(...this.unknownName());
  }

  /** No such name, and what the resolver did not try. */
  private unknownName(): readonly [KnowledgeCode, string] {
    const { unusedBecause, unusedSuffixes } = this.plan;
    const names = this.questions.map(({ name }) => name).join(", ");
    if (names === "") return ["dns-name-unknown", "there is no suffix to complete a single label with"];
    const said = `there is no ${names}`;
    if (unusedBecause === "single-suffix")
      return ["dns-single-suffix-only", `${said}; the suffixes ${unusedSuffixes.join(", ")} are not tried`];
    // A name that ends as the suffixes do is complete already.
    const isComplete = unusedSuffixes.some((suffix) => lastLabel(suffix) === lastLabel(this.options.name));
    if (unusedBecause === "dot" && !isComplete)
      return ["dns-name-with-dot-not-completed", `${said}; a name with a dot gets no suffix`];
    return ["dns-name-unknown", said];
  }

  private succeed(addresses: readonly Ip[], canonicalName: string): void {
    this.end({ ...this.common(), outcome: "resolved", addresses, canonicalName });
  }

  private fail(code: KnowledgeCode, detail: string): void {
    this.end({ ...this.common(), outcome: "failed", code, detail });
  }

  private common(): Pick<NameResult, "name" | "type" | "questions" | "tookMs"> {
    const { name, compartment } = this.options;
    const tookMs = compartment.nowMs - this.startedAtMs;
    return { name, type: this.type, questions: [...this.questions], tookMs };
  }

  private end(result: NameResult): void {
    this.result = result;
    this.options.owner?.resolved(this, result);
  }
}

function lastLabel(name: string): string {
  return name.toLowerCase().replace(/\.$/, "").split(".").at(-1) ?? "";
}
