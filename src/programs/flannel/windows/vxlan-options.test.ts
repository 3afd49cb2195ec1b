import { FLANNELD_DIFFERENCES } from "../differences.ts";
import { describe, expect, it } from "vitest";
import { FlannelError } from "../reports.ts";
import { parseNetworkConfig } from "../network-config.ts";
import { readWindowsVxlanOptions } from "./vxlan-backend.ts";

function options(backend: object, compat: "upstream" | "hardened" = "upstream"): unknown {
  const text = JSON.stringify({ Network: "10.244.0.0/16", Backend: { Type: "vxlan", ...backend } });
  try {
    return readWindowsVxlanOptions(parseNetworkConfig(text), FLANNELD_DIFFERENCES[compat]);
  } catch (error) {
    if (error instanceof FlannelError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

describe("what flanneld on Windows takes for vxlan", () => {
  it.each([
    ["CP-F1: VNI 4095", { VNI: 4095 }, "flannel-vni-below-4096"],
    ["VNI 1, the default of Linux", { VNI: 1 }, "flannel-vni-below-4096"],
    ["a negative VNI", { VNI: -1 }, "flannel-vni-below-4096"],
    ["CP-F2: port 8472", { Port: 8472 }, "flannel-vxlan-port-not-4789"],
    ["CP-F3: DirectRouting", { DirectRouting: true }, "flannel-option-not-for-windows"],
    ["CP-F3: GBP", { GBP: true }, "flannel-option-not-for-windows"],
    ["CP-F6: MacPrefix without a hyphen", { MacPrefix: "0e2a" }, "flannel-option-not-for-windows"],
    ["an empty MacPrefix", { MacPrefix: "" }, "flannel-option-not-for-windows"],
    ["a VNI in quotes", { VNI: "4096" }, "flanneld-configuration-invalid"],
    ["a VNI that is not a whole number", { VNI: 4096.5 }, "flanneld-configuration-invalid"],
    ["a name that is a number", { Name: 7 }, "flanneld-configuration-invalid"],
  ])("%s is refused", (_, backend, code) => {
    expect(options(backend)).toMatch(new RegExp(`^${code}: .+`));
  });

  it.each([
    ["CP-F1: VNI 4096", { VNI: 4096 }, { networkName: "flannel.4096", vni: 4096 }],
    ["CP-F2: port 4789", { Port: 4789 }, { networkName: "flannel.4096", vni: 4096 }],
    ["CP-F4: no VNI", {}, { networkName: "flannel.4096", vni: 4096 }],
    ["the largest VNI that nodes can publish", { VNI: 65535 }, { networkName: "flannel.65535", vni: 65535 }],
    ["CP-F5: a name", { Name: "vxlan0" }, { networkName: "vxlan0", vni: 4096 }],
    ["CP-F6: MacPrefix 0E-2A", { MacPrefix: "0E-2A" }, { networkName: "flannel.4096", vni: 4096 }],
    ["CP-F7: small letters", { name: "vxlan0", vni: 4097 }, { networkName: "vxlan0", vni: 4097 }],
    [
      "switches that are off",
      { GBP: false, DirectRouting: false },
      { networkName: "flannel.4096", vni: 4096 },
    ],
  ])("%s is taken", (_, backend, expected) => {
    expect(options(backend)).toEqual(expected);
  });

  it("CP-F27: VNI 70000 is taken by upstream, and refused by hardened with what to write", () => {
    expect(options({ VNI: 70_000 })).toEqual({ networkName: "flannel.70000", vni: 70_000 });
    expect(options({ VNI: 70_000 }, "hardened")).toBe(
      "flannel-vni-other-than-4096: invalid VXLAN backend config. VNI [70000] does not fit into the 16 bits in which nodes publish it: write 4096 to 65535",
    );
  });

  it("a refusal names what is known for it in logs", () => {
    expect(options({ VNI: 1 })).toContain("VNI [1] must be greater than or equal to 4096 on Windows");
    expect(options({ Port: 8472 })).toContain(
      "Port [8472] is not supported on Windows. Omit the setting to default to port 4789",
    );
  });
});
