// What the client over the DLLs decides by itself; what it asks of them is in test/wine/dll-client.wine.test.ts.
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import {
  windowsLibraries,
  errorOfRecord,
  errorOfResult,
  isGone,
  formatNativeGuid,
  parseNativeGuid,
  parsePortEntry,
} from "./native-calls.node.ts";

const ID = "0fb28d70-306c-469d-9690-3245a82d882a";
const NATIVE = "708db20f6c309d4696903245a82d882a";

describe("memory of Windows", () => {
  it("has the first three groups of a GUID with the low byte first", () => {
    expect(Buffer.from(formatNativeGuid(ID)).toString("hex")).toBe(NATIVE);
    expect(parseNativeGuid(Buffer.from(`${NATIVE}ffff`, "hex"))).toBe(ID);
  });

  it("has HCN_PORT_RANGE_ENTRY in 64 bytes, with its u64 at a multiple of eight (hcn.md §1.3)", () => {
    const numbers = "03000000ffffffff0200000000000000040000000500000006000000500051ff";
    const bytes = Buffer.from(`${"00".repeat(16)}${NATIVE}${numbers}`, "hex");
    expect(parsePortEntry(bytes)).toEqual({
      OwningPartitionId: "00000000-0000-0000-0000-000000000000",
      TargetPartitionId: ID,
      Protocol: 3,
      Priority: 2,
      ReservationType: 4,
      SharingFlags: 5,
      DeliveryMode: 6,
      StartingPort: 80,
      EndingPort: 65_361,
    });
  });
});

describe("errors of the DLLs", () => {
  it("keep the record of the service, and what it says beyond Windows' own", () => {
    const record = '{"Success":false,"Error":"Text. ","ErrorCode":2151350288,"Detail":"cbr0"}';
    const error = errorOfRecord(0x803b0010, record);
    expect(error).toMatchObject({ code: "HCN_E_NETWORK_ALREADY_EXISTS", detail: "cbr0" });
    expect(error.toRecord()).toEqual({ Success: false, Error: "Text. ", ErrorCode: 0x803b0010 });
  });

  it.each([
    ["no record", undefined],
    ["an empty one", ""],
    ["one that is not JSON", "{"],
    ["one that is not an object", "[]"],
    ["one of another number", '{"ErrorCode":1}'],
  ])("%s: the HRESULT counts", (_, record) => {
    expect(errorOfRecord(0x803b0002, record)).toMatchObject({ code: "HCN_E_ENDPOINT_NOT_FOUND" });
    expect(errorOfResult(0xc037010e, record)).toMatchObject({ code: "HCS_E_SYSTEM_NOT_FOUND" });
  });

  it("an HRESULT that nobody knows is told as it is", () => {
    const error = errorOfRecord(0x80071234, undefined);
    expect(error).toMatchObject({ code: "unknown", hresult: 0x80071234 });
    expect(error.message).toContain("0x1234");
  });

  it("a service that is gone is told from one that refuses", () => {
    expect(
      [0x800706ba, 0x800706d9, 0x800706b5, 0x80070005, 0x803b0002].map((code) =>
        isGone(errorOfRecord(code, "")),
      ),
    ).toEqual([true, true, true, false, false]);
  });
});

describe("loading", () => {
  it("takes Windows' own libraries from its folder and no other", () => {
    expect(windowsLibraries("D:\\Windows\\")).toEqual(windowsLibraries("D:\\Windows"));
    expect(windowsLibraries("D:\\Windows")).toEqual({
      computeNetwork: "D:\\Windows\\System32\\computenetwork.dll",
      vmCompute: "D:\\Windows\\System32\\vmcompute.dll",
      free: ["D:\\Windows\\System32\\ole32.dll", "CoTaskMemFree"],
    });
  });

  it("without koffi says which package is missing, and a code that can be explained", () => {
    const script = `
      import Module from "node:module";
      const resolve = Module._resolveFilename;
      Module._resolveFilename = (name, ...rest) => {
        if (name === "koffi") throw new Error("Cannot find module 'koffi'");
        return resolve(name, ...rest);
      };
      const { DllHcnClient, windowsLibraries } = await import(process.argv[1]);
      try {
        new DllHcnClient(windowsLibraries("C:\\\\Windows"));
      } catch (error) {
        process.stdout.write(JSON.stringify({ ...error, detail: error.detail }));
      }`;
    const target = new URL("../mod.node.ts", import.meta.url).href;
    const said = execFileSync(process.execPath, ["--input-type=module", "-e", script, target]).toString();
    expect(JSON.parse(said)).toMatchObject({
      code: "RPC_S_SERVER_UNAVAILABLE",
      explanation: "hns-unreachable",
      detail: expect.stringContaining("npm install koffi") as string,
    });
  });
});
