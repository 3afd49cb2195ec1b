import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatHex } from "../../base/encodings.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { parseIp } from "../../net/ip.ts";
import { parseMac } from "../../net/mac.ts";
import {
  arbitraryGeneveOptions,
  arbitraryIpFields,
  arbitraryLink,
  arbitraryPlainFrame,
  arbitraryU16,
} from "#test/support/wire/arbitrary-frames.ts";
import { DATAPLANE_VECTORS } from "#test/support/wire/dataplane-vectors.ts";
import { decapsulateGeneve, encapsulateGeneve, isGeneve } from "./encapsulation.ts";
import { describeFrame, formatFrame } from "../text/format.ts";
import { GeneveView, TRANSPARENT_ETHERNET, emitGeneve, geneveLength, toGeneveFields } from "./geneve.ts";
import { Headers } from "../headers.ts";
import { toOvnGeneveOption } from "./ovn-metadata.ts";
import { Packet } from "../packet.ts";

const OUTER = {
  link: { sourceMac: parseMac("00-15-5D-00-00-11")!, destinationMac: parseMac("00-15-5D-00-00-12")! },
  ip: {
    source: parseIp("10.0.0.11")!,
    destination: parseIp("10.0.0.12")!,
    ttl: 64,
    identification: 0,
    isDontFragment: true,
  },
  sourcePort: 40_000,
};

describe("GENEVE (RFC 8926, dataplane.md §6.2)", () => {
  it("OVN's header: one critical option of one word, C set, Ethernet (control-planes.md §4.3)", () => {
    const options = [toOvnGeneveOption({ datapath: 6, ingressPort: 1, egressPort: 3 })];
    const bytes = new Uint8Array(geneveLength({ options }));
    const written = emitGeneve(
      { vni: 6, protocolType: TRANSPARENT_ETHERNET, isControl: false, options },
      bytes,
      0,
    );
    expect(written).toBe(16);
    expect(formatHex(bytes)).toBe(
      formatHex(
        annotatedHex(`
          02 40 6558    ; version 0, 2 words of options, C, Ethernet
          000006 00     ; VNI 6
          0102 80 01    ; class of OVN, type 0x80, one word
          0001 0003     ; from port 1 to port 3
        `),
      ),
    );
  });

  it("costs 58 bytes with OVN's option on IPv4", () => {
    const packet = Packet.ofLength(100);
    const options = [toOvnGeneveOption({ datapath: 6, ingressPort: 1, egressPort: 3 })];
    encapsulateGeneve(packet, { ...OUTER, vni: 6, options });
    expect(packet.length).toBe(158);
  });

  it("decapsulation undoes encapsulation, for any frame, options and outer headers", () => {
    const all = [
      arbitraryPlainFrame,
      arbitraryLink,
      arbitraryIpFields,
      arbitraryU16,
      fc.integer({ min: 0, max: 0xff_ffff }),
      arbitraryGeneveOptions,
    ] as const;
    fc.assert(
      fc.property(...all, (packet, link, ip, sourcePort, vni, options) => {
        const frame = packet.frame.slice();
        encapsulateGeneve(packet, { link, ip, sourcePort, vni, options });
        const headers = new Headers();
        expect(headers.parse(packet)).toBeUndefined();
        expect(isGeneve(packet.bytes, headers)).toBe(true);
        expect(decapsulateGeneve(packet, headers)).toEqual({ vni, options });
        expect(packet.frame).toEqual(frame);
      }),
    );
  });

  it("a parsed header emits the bytes it was read from", () => {
    const fields = fc.record({
      vni: fc.integer({ min: 0, max: 0xff_ffff }),
      protocolType: arbitraryU16,
      isControl: fc.boolean(),
      options: arbitraryGeneveOptions,
    });
    fc.assert(
      fc.property(fields, (value) => {
        const bytes = new Uint8Array(geneveLength(value));
        emitGeneve(value, bytes, 0);
        const view = GeneveView.parse(bytes) as GeneveView;
        expect(toGeneveFields(view)).toEqual(value);
        const again = new Uint8Array(bytes.length);
        emitGeneve(toGeneveFields(view), again, 0);
        expect(again).toEqual(bytes);
      }),
    );
  });

  it.each([
    { what: "seven bytes", bytes: "02406558000006", reason: "geneve-truncated" },
    { what: "version 1", bytes: "4000655800000600", reason: "geneve-version" },
    { what: "options behind the end", bytes: "0200655800000600 01028001", reason: "geneve-option-length" },
    {
      what: "an option longer than all options",
      bytes: "0100655800000600 01028001",
      reason: "geneve-option-length",
    },
  ])("refuses $what", ({ bytes, reason }) => {
    expect(GeneveView.parse(annotatedHex(bytes))).toBe(reason);
  });

  it("leaves a packet whose payload is no Ethernet as it is", () => {
    const packet = Packet.fromFrame(DATAPLANE_VECTORS.V1);
    encapsulateGeneve(packet, { ...OUTER, vni: 1 });
    packet.bytes[packet.start + 44] = 0x08;
    packet.bytes[packet.start + 45] = 0x00;
    const before = packet.frame.slice();
    const headers = new Headers();
    headers.parse(packet);
    expect(decapsulateGeneve(packet, headers)).toBe("geneve-not-ethernet");
    expect(packet.frame).toEqual(before);
  });

  it("is told with what it carries", () => {
    const packet = Packet.fromFrame(DATAPLANE_VECTORS.V1);
    const options = [toOvnGeneveOption({ datapath: 6, ingressPort: 1, egressPort: 0x8000 })];
    encapsulateGeneve(packet, { ...OUTER, vni: 6, options });
    expect(formatFrame(packet.frame)).toContain("GENEVE VNI 6 option 0x0102/0x80 00018000");
    expect(describeFrame(packet.frame)).toBe(
      "GENEVE 6 10.0.0.11 → 10.0.0.12 [TCP 10.244.1.10:49200 → 10.96.0.50:80 SYN ECE CWR]",
    );
  });
});
