// The values of control-planes.md §4.3, read there from the flows that ovn-controller 23.03 installs.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatHex } from "../../base/encodings.ts";
import {
  fromOvnGeneve,
  fromOvnSttContextId,
  fromOvnVxlanVni,
  toOvnGeneveOption,
  toOvnSttContextId,
  toOvnVxlanVni,
} from "./ovn-metadata.ts";

describe("OVN's keys in tunnel headers", () => {
  it.each([
    { ingressPort: 1, egressPort: 3, geneve: "00010003", stt: 0x100_0300_0006n, vxlan: 0x003006 },
    { ingressPort: 0, egressPort: 3, geneve: "00000003", stt: 0x300_0006n, vxlan: 0x003006 },
    { ingressPort: 0, egressPort: 0x8000, geneve: "00008000", stt: 0x80_0000_0006n, vxlan: 0x800006 },
  ])("datapath 6, from $ingressPort to $egressPort", ({ ingressPort, egressPort, geneve, stt, vxlan }) => {
    const keys = { datapath: 6, ingressPort, egressPort };
    const option = toOvnGeneveOption(keys);
    expect([option.optionClass, option.type, formatHex(option.data)]).toEqual([0x0102, 0x80, geneve]);
    expect(toOvnSttContextId(keys)).toBe(stt);
    expect(toOvnVxlanVni(keys)).toBe(vxlan);
    expect(fromOvnGeneve(6, [option])).toEqual(keys);
    expect(fromOvnSttContextId(stt)).toEqual(keys);
    expect(fromOvnVxlanVni(vxlan)).toEqual({ ...keys, ingressPort: 0 });
  });

  it("every key comes back from GENEVE and STT, the low bits from VXLAN", () => {
    const keys = fc.record({
      datapath: fc.integer({ min: 1, max: 0xff_ffff }),
      ingressPort: fc.integer({ min: 0, max: 0x7fff }),
      egressPort: fc.integer({ min: 0, max: 0xffff }),
    });
    fc.assert(
      fc.property(keys, (value) => {
        expect(fromOvnGeneve(value.datapath, [toOvnGeneveOption(value)])).toEqual(value);
        expect(fromOvnSttContextId(toOvnSttContextId(value))).toEqual(value);
        const { datapath, egressPort } = fromOvnVxlanVni(toOvnVxlanVni(value));
        expect([datapath, egressPort & 0x7ff]).toEqual([value.datapath & 0xfff, value.egressPort & 0x7ff]);
      }),
    );
  });

  it("a packet without the option has no keys", () => {
    const other = { optionClass: 0x0103, type: 0x80, data: new Uint8Array(4) };
    expect(fromOvnGeneve(6, [])).toBeUndefined();
    expect(fromOvnGeneve(6, [other])).toBeUndefined();
  });
});
