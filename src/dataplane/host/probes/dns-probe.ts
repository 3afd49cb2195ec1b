/** An attempt that a DNS server understands: it asks for a name and takes any answer to that. */
import { formatIp } from "#core/net/ip.ts";
import { dnsRcodeName, emitDns, parseDns } from "#core/wire/dns/dns.ts";
import { questionFor } from "../resolver/question.ts";
import { type PortProbeOptions, UdpProbe } from "./probe.ts";

const ID_LIMIT = 0x1_0000;

/** Asks one server for the address of one name, over UDP. A refusal is an answer: the server was reached. */
export class DnsProbe extends UdpProbe {
  private readonly id: number;
  private readonly name: string;

  constructor(options: PortProbeOptions & { readonly name: string }) {
    super(options);
    this.name = options.name;
    this.id = options.compartment.prng.below(ID_LIMIT);
  }

  protected override question(): Uint8Array {
    return emitDns(questionFor(this.id, this.name, "A"));
  }

  protected override readAnswer(bytes: Uint8Array): string | undefined {
    const message = parseDns(bytes);
    if (typeof message === "string" || !message.isResponse || message.id !== this.id) return undefined;
    const ips = message.answers.flatMap((record) => (record.type === "A" ? [formatIp(record.ip)] : []));
    const found = ips.length === 0 ? "" : ` ${ips.join(", ")}`;
    return `A ${this.name}: ${dnsRcodeName(message.rcode)}${found}`;
  }
}
