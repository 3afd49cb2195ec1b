import { describe, expect, it } from "vitest";
import { HCN_ERRORS, errorCodeOf } from "./error-codes.ts";
import { HcnError, HcnNotFoundError, formatFailedCall, formatHresult, isNotFoundError } from "./error.ts";

describe("HRESULTs", () => {
  // The decimals of hcn.md §6.3.
  it.each([
    ["HCN_E_ADDR_INVALID_OR_RESERVED", 2151350319],
    ["HCN_E_NETWORK_ALREADY_EXISTS", 2151350288],
    ["HCN_E_ADAPTER_NOT_FOUND", 2151350278],
    ["HCN_E_INVALID_IP", 2151350302],
    ["HCN_E_INVALID_JSON_REFERENCE", 2151350300],
    ["HCN_E_INVALID_NETWORK", 2151350282],
    ["HCN_E_ENDPOINT_NAMESPACE_ALREADY_EXISTS", 2151350315],
    ["ERROR_INVALID_PARAMETER", 2147942487],
    ["ERROR_ALREADY_EXISTS", 2147942583],
  ] as const)("HCN-055 %s is %d as ErrorCode", (code, decimal) => {
    expect(new HcnError(code).toRecord().ErrorCode).toBe(decimal);
    expect(errorCodeOf(decimal)).toBe(code);
  });

  it("holds the codes 0x803b0001 to 0x803b0037 without a gap, each once", () => {
    const values = Object.values(HCN_ERRORS).map((facts) => facts.hresult);
    expect(new Set(values).size).toBe(values.length);
    for (let low = 1; low <= 0x37; low++) expect(values).toContain(0x803b0000 + low);
  });

  it("does not know a code that nobody has listed", () => {
    expect(errorCodeOf(0x803b1234)).toBeUndefined();
  });
});

describe("error records (hcn.md §9.24)", () => {
  it.each([
    [
      new HcnError("HCN_E_NETWORK_ALREADY_EXISTS"),
      { Success: false, Error: "A network with this name already exists. ", ErrorCode: 2151350288 },
    ],
    [
      new HcnError("HCN_E_INVALID_JSON_REFERENCE", { appendix: "A Reference is required" }),
      {
        Success: false,
        Error: "The reference is invalid in the JSON document. A Reference is required",
        ErrorCode: 2151350300,
      },
    ],
    [
      new HcnError("HCN_E_INVALID_IP"),
      {
        Success: false,
        Error: "IP address is either invalid or not part of any configured subnet(s). ",
        ErrorCode: 2151350302,
      },
    ],
    [
      new HcnError("HCN_E_ADDR_INVALID_OR_RESERVED"),
      { Success: false, Error: "An address provided is invalid or reserved. ", ErrorCode: 2151350319 },
    ],
    [
      new HcnError("HCN_E_INVALID_NETWORK"),
      {
        Success: false,
        Error: "The provided network configuration is invalid or missing parameters. ",
        ErrorCode: 2151350282,
      },
    ],
  ])("%s", (error, record) => {
    expect(error.toRecord()).toEqual(record);
  });

  it("HCN-055 HCN-058 become the sentence of the Go client", () => {
    expect(formatFailedCall("hcnCreateNetwork", new HcnError("HCN_E_NETWORK_ALREADY_EXISTS"))).toBe(
      'hcnCreateNetwork failed in Win32: A network with this name already exists. (0x803b0010) {"Success":false,"Error":"A network with this name already exists. ","ErrorCode":2151350288}',
    );
  });

  it("print codes of facility 7 with their low 16 bits", () => {
    expect(formatHresult(HCN_ERRORS.ERROR_OBJECT_ALREADY_EXISTS.hresult)).toBe("0x1392");
    expect(formatHresult(HCN_ERRORS.HCN_E_INVALID_IP.hresult)).toBe("0x803b001e");
  });

  it("keep number and text of a code that is not listed", () => {
    const error = HcnError.fromRecord({ Error: "Something new. ", ErrorCode: 0x803b0099 });
    expect(error.code).toBe("unknown");
    expect(error.toRecord()).toEqual({ Success: false, Error: "Something new. ", ErrorCode: 0x803b0099 });
  });

  it("say in the message what the detail says, and keep it out of the record", () => {
    const error = new HcnError("HCN_E_INVALID_IP", { detail: "10.1.2.3 is in none of 10.244.1.0/24" });
    expect(error.message).toBe(
      "IP address is either invalid or not part of any configured subnet(s): 10.1.2.3 is in none of 10.244.1.0/24",
    );
    expect(Object.keys(error.toRecord())).toEqual(["Success", "Error", "ErrorCode"]);
  });
});

describe("isNotFoundError", () => {
  it.each([
    [new HcnNotFoundError("Network name", "x"), true],
    [new HcnError("HCN_E_ENDPOINT_NOT_FOUND"), true],
    [new HcnError("HCN_E_NETWORK_NOT_FOUND"), true],
    [new HcnError("ERROR_NOT_FOUND"), true],
    [new HcnError("HCN_E_INVALID_IP"), false],
    [new TypeError("x"), false],
  ])("%s: %s", (error, expected) => {
    expect(isNotFoundError(error)).toBe(expected);
  });

  it("words the client's own error as hcsshim does", () => {
    expect(new HcnNotFoundError("Network name", "cbr0").message).toBe('Network name "cbr0" not found');
  });
});
