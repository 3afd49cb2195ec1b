/**
 * The DLLs export what Windows' own do, with the parameters that are documented: of HCN those of hcn.md §1.2 and §1.3,
 * which the public header of mingw-w64 has to confirm as far as it goes; of HCS those that hcsshim calls.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "./test-daemon.ts";

const MINGW = "x86_64-w64-mingw32";
const LIBRARIES = ["computenetwork", "vmcompute"] as const;

/** Parameters by what they are to a caller; `?` at the end: HRESULT is not returned. */
const FAMILIES: Readonly<Record<string, string>> = {
  "HcnEnumerate*s": "text-in text-out text-out",
  "HcnCreate*": "guid text-in handle-out text-out",
  "HcnOpen*": "guid handle-out text-out",
  "HcnModify*": "handle text-in text-out",
  "HcnQuery*Properties": "handle text-in text-out text-out",
  "HcnDelete*": "guid text-out",
  "HcnClose*": "handle",
};

const KINDS = ["Network", "Endpoint", "Namespace", "LoadBalancer", "SdnRoute", "GuestNetworkService"];

const OTHERS: Readonly<Record<string, string>> = {
  HcnCreateEndpoint: "handle guid text-in handle-out text-out",
  HcnQueryEndpointStats: "handle text-in text-out text-out",
  HcnQueryEndpointAddresses: "handle text-in text-out text-out",
  HcnRegisterServiceCallback: "callback handle handle-out",
  HcnUnregisterServiceCallback: "handle",
  HcnRegisterNetworkCallback: "handle callback handle handle-out",
  HcnUnregisterNetworkCallback: "handle",
  HcnRegisterGuestNetworkServiceCallback: "handle callback handle handle-out",
  HcnUnregisterGuestNetworkServiceCallback: "handle",
  HcnReserveGuestNetworkServicePort: "handle u32 u32 u16 handle-out",
  HcnReserveGuestNetworkServicePortRange: "handle u16 range-out handle-out",
  HcnReleaseGuestNetworkServicePortReservationHandle: "handle",
  HcnEnumerateGuestNetworkPortReservations: "u32-out entries-out",
  HcnFreeGuestNetworkPortReservations: "entries ?",
  HcnQueryFeatures: "text-in text-out text-out",
  HcnQueryMetrics: "text-in text-out text-out",
  HNSCall: "text-in text-in text-in text-out",
  HcsEnumerateComputeSystems: "text-in text-out text-out",
  HcsCreateComputeSystem: "text-in text-in handle handle-out text-out",
  HcsOpenComputeSystem: "text-in handle-out text-out",
  HcsCloseComputeSystem: "handle",
  HcsStartComputeSystem: "handle text-in text-out",
  HcsShutdownComputeSystem: "handle text-in text-out",
  HcsTerminateComputeSystem: "handle text-in text-out",
  HcsGetComputeSystemProperties: "handle text-in text-out text-out",
  HcsModifyComputeSystem: "handle text-in text-out",
  HcsRegisterComputeSystemCallback: "handle callback handle handle-out",
  HcsUnregisterComputeSystemCallback: "handle",
};

const EXPECTED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    KINDS.flatMap((kind) =>
      Object.entries(FAMILIES).map(([name, parameters]) => [name.replace("*", kind), parameters]),
    ),
  ),
  ...OTHERS,
};

/** Types as they are spelled in the shim and in Windows' header. */
const TYPES: readonly (readonly [spelling: RegExp, meaning: string])[] = [
  [/^(?:PCWSTR|const utf16 \*)$/, "text-in"],
  [/^(?:PWSTR ?\*|utf16 \*\*)$/, "text-out"],
  [/^(?:const GUID \*const|const guid \*)$/, "guid"],
  [/^(?:HCN_NOTIFICATION_CALLBACK|notification_callback)$/, "callback"],
  [/^(?:PHCN_[A-Z]+|HCN_CALLBACK ?\*|HANDLE ?\*|void \*\*)$/, "handle-out"],
  [
    /^(?:HCN_(?:NETWORK|ENDPOINT|NAMESPACE|LOADBALANCER|GUESTNETWORKSERVICE|CALLBACK)|HANDLE|void ?\*)$/,
    "handle",
  ],
  [/^(?:HCN_PORT_PROTOCOL|HCN_PORT_ACCESS|uint32_t)$/, "u32"],
  [/^(?:USHORT|uint16_t)$/, "u16"],
  [/^(?:ULONG ?\*|uint32_t \*)$/, "u32-out"],
  [/^(?:HCN_PORT_RANGE_RESERVATION ?\*|port_range \*)$/, "range-out"],
  [/^(?:HCN_PORT_RANGE_ENTRY ?\*\*|port_entry \*\*)$/, "entries-out"],
  [/^(?:HCN_PORT_RANGE_ENTRY ?\*|port_entry \*)$/, "entries"],
];

function meaningOf(parameter: string): string {
  const type = parameter
    .trim()
    .replace(/\w+$/, "")
    .replace(/\s*(\*+)\s*$/, " $1")
    .trim();
  return TYPES.find(([spelling]) => spelling.test(type))?.[1] ?? `unknown: ${type}`;
}

/** Functions of a preprocessed text, each with what it takes. */
function signaturesOf(text: string): Readonly<Record<string, string>> {
  const found = text.matchAll(
    /\b(HRESULT|hresult|VOID|void)\s+(?:__attribute__\(\(\S+\)\)\s+|__stdcall\s+)?((?:Hcn|Hcs|HNS)\w+)\s*\(([^()]*)\)/g,
  );
  return Object.fromEntries(
    [...found].map(([, result = "", name = "", parameters = ""]) => {
      const meanings = parameters.split(",").map(meaningOf);
      return [name, [...meanings, ...(result.toLowerCase() === "void" ? ["?"] : [])].join(" ")];
    }),
  );
}

function preprocess(input: string, ...options: readonly string[]): string {
  const args = ["-E", "-P", ...options, "-x", "c", "-"];
  return execFileSync(`${MINGW}-gcc`, args, { input, maxBuffer: 1 << 28 }).toString();
}

function exportsOf(library: string): readonly string[] {
  const file = join(ROOT, "dist", "shim", `${library}.dll`);
  const [, table = ""] = execFileSync(`${MINGW}-objdump`, ["-p", file])
    .toString()
    .split(/\[Ordinal\/Name Pointer\] Table|PE File Base Relocations/);
  return [...table.matchAll(/\[\s*\d+\]\s+(?:\+base\[\s*\d+\]\s+\S+\s+)?(\w+)/g)].map(
    ([, name = ""]) => name,
  );
}

beforeAll(() => {
  execFileSync(process.execPath, [join(ROOT, "tools", "build-shim.ts")], { stdio: "inherit" });
});

describe("the exports", () => {
  it("of computenetwork.dll are the 57 of a recent build; of vmcompute.dll those that networks need", () => {
    const names = Object.keys(EXPECTED).toSorted();
    const hcn = names.filter((name) => name.startsWith("Hcn"));
    expect(hcn).toHaveLength(57);
    expect(exportsOf("computenetwork")).toEqual(hcn);
    expect(exportsOf("vmcompute")).toEqual(names.filter((name) => !name.startsWith("Hcn")));
  });

  it("take what is documented", () => {
    const sources = LIBRARIES.map((library) => `#include "${join(ROOT, "shim", "surface", library)}.c"\n`);
    const text = sources.map((source) => preprocess(source, "-I", join(ROOT, "shim", "surface"))).join("\n");
    const found = signaturesOf(text);
    for (const [name, parameters] of Object.entries(EXPECTED))
      expect([name, found[name]]).toEqual([name, parameters]);
  });

  it("are in agreement with the public header, which has 41 of them", () => {
    const found = signaturesOf(preprocess("#include <windows.h>\n#include <computenetwork.h>\n"));
    expect(Object.keys(found)).toHaveLength(41);
    for (const [name, parameters] of Object.entries(found))
      expect([name, EXPECTED[name]]).toEqual([name, parameters]);
  });

  it("of the Linux libraries are the same", () => {
    const names = LIBRARIES.flatMap((library) =>
      execFileSync("nm", ["-D", "--defined-only", join(ROOT, "out", "shim", `lib${library}.so`)])
        .toString()
        .trim()
        .split("\n")
        .map((line) => line.split(" ").at(-1) ?? ""),
    );
    expect(names.toSorted()).toEqual(Object.keys(EXPECTED).toSorted());
  });

  it("have what they need in Windows itself: no DLL of the compiler", () => {
    const imported = [...LIBRARIES, "bcryptprimitives"].flatMap((library) => {
      const file = join(ROOT, "dist", "shim", `${library}.dll`);
      const text = execFileSync(`${MINGW}-objdump`, ["-p", file]).toString();
      return [...text.matchAll(/DLL Name: (\S+)/g)].map(([, name = ""]) => name.toLowerCase());
    });
    const known = ["advapi32.dll", "kernel32.dll", "msvcrt.dll", "ole32.dll", "ws2_32.dll"];
    expect([...new Set(imported)].toSorted()).toEqual(known);
  });
});
