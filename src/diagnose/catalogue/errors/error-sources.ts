/** Pages that several errors of the table name. */
import type { Source } from "../entry.ts";
import { reference, thread } from "../entries/entry-text.ts";

export { reference, thread };

export const HCN_HRESULTS: Source = Object.freeze({
  text: "Microsoft: HCN return codes",
  url: "https://learn.microsoft.com/en-us/virtualization/api/hcn/reference/hcnhresult",
});

export const WIN32_CODES: Source = Object.freeze({
  text: "Microsoft: System error codes",
  url: "https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes",
});

export const WINSOCK_CODES: Source = Object.freeze({
  text: "Microsoft: Windows Sockets error codes",
  url: "https://learn.microsoft.com/en-us/windows/win32/winsock/windows-sockets-error-codes-2",
});

export const HCS_HRESULTS: Source = Object.freeze({
  text: "Microsoft: HCS return codes",
  url: "https://learn.microsoft.com/en-us/virtualization/api/hcs/reference/hcshresult",
});

export const FLANNEL_TROUBLE: Source = Object.freeze({
  text: "flannel: Troubleshooting",
  url: "https://github.com/flannel-io/flannel/blob/master/Documentation/troubleshooting.md",
});
