/** Attempts that a DNS server understands: they ask for a name and take any answer to that. */
import { formatIp } from "#core/net/ip.ts";
import { dnsRcodeName, emitDns, parseDns } from "#core/wire/dns/dns.ts";
import { DnsStream, withLength } from "#core/wire/dns/dns-stream.ts";
import { questionFor } from "../resolver/question.ts";
import { type PortProbeOptions, TcpProbe, UdpProbe } from "./probe.ts";

const ID_LIMIT = 0x1_0000;
const LINE_END = 0x0a;

export interface DnsProbeOptions extends PortProbeOptions {
  /** Whose address is asked for. */
  readonly name: string;
}

/** The answer to a question in words; undefined for bytes that are none. A refusal is an answer: the server was reached. */
function readDnsAnswer(bytes: Uint8Array, id: number, name: string): string | undefined {
  const message = parseDns(bytes);
  if (typeof message === "string" || !message.isResponse || message.id !== id) return undefined;
  const ips = message.answers.flatMap((record) => (record.type === "A" ? [formatIp(record.ip)] : []));
  const found = ips.length === 0 ? "" : ` ${ips.join(", ")}`;
  return `A ${name}: ${dnsRcodeName(message.rcode)}${found}`;
}

/** Asks one server for the address of one name, over UDP. */
export class DnsProbe extends UdpProbe {
  private readonly id: number;
  private readonly name: string;

  constructor(options: DnsProbeOptions) {
    super(options);
    this.name = options.name;
    this.id = options.compartment.prng.below(ID_LIMIT);
  }

  protected override question(): Uint8Array {
    return emitDns(questionFor(this.id, this.name, "A"));
  }

  protected override readAnswer(bytes: Uint8Array): string | undefined {
    // Who serves something else on the port has answered all the same.
    return readDnsAnswer(bytes, this.id, this.name) ?? super.readAnswer(bytes);
  }
}

/** The same over TCP. */
export class DnsTcpProbe extends TcpProbe {
  private readonly id: number;
  private readonly name: string;
  private readonly stream = new DnsStream();

  constructor(options: DnsProbeOptions) {
    super(options);
    this.name = options.name;
    this.id = options.compartment.prng.below(ID_LIMIT);
  }

  protected override question(): Uint8Array {
    const message = withLength(emitDns(questionFor(this.id, this.name, "A")));
    // A DNS server takes what follows for the begin of another message and waits; a server of lines has its line.
    return Uint8Array.from([...message, LINE_END]);
  }

  protected override readAnswer(bytes: Uint8Array): string | undefined {
    const [message] = this.stream.take(bytes);
    const answer = message === undefined ? undefined : readDnsAnswer(message, this.id, this.name);
    return answer ?? super.readAnswer(bytes);
  }
}
