/** The table of errors: one row per error, joined from the files of this folder. */
import { AZURE_ERRORS } from "./programs/azure-errors.ts";
import { CALICO_ERRORS } from "./programs/calico-errors.ts";
import { CNI_ERRORS } from "./programs/cni-errors.ts";
import { FLANNELD_ERRORS } from "./programs/flanneld-errors.ts";
import type { HcnExplanation, HcnExplanations } from "./hcn-explanation.ts";
import { HCN_ERRORS, type HcnErrorCode } from "#contracts/hcn/error-codes.ts";
import { HCS_ERRORS, HCS_HNS_ERRORS } from "./windows/hcs-errors.ts";
import { HNS_CONFLICT_ERRORS } from "./windows/hns-conflicts.ts";
import { HNS_DOCUMENT_ERRORS } from "./windows/hns-documents.ts";
import { HNS_MISSING_ERRORS } from "./windows/hns-missing.ts";
import { HNS_SERVICE_ERRORS } from "./windows/hns-service.ts";
import { IPAM_ERRORS } from "./programs/ipam-errors.ts";
import { ERROR_ORIGINS, type ErrorOrigin, type KnownError, type PrintedErrors } from "./known-error.ts";
import { KUBE_PROXY_ERRORS } from "./programs/kube-proxy-errors.ts";
import { KUBELET_ERRORS } from "./programs/kubelet-errors.ts";
import { OVN_ERRORS } from "./programs/ovn-errors.ts";
import { POWERSHELL_ERRORS } from "./windows/powershell-errors.ts";
import { VFP_ERRORS } from "./windows/vfp-errors.ts";
import { WIN32_ERRORS, WIN32_HNS_ERRORS } from "./windows/win32-errors.ts";
import { WINSOCK_ERRORS } from "./windows/winsock-errors.ts";

/** Every code of `#contracts/hcn/error-codes.ts` has an explanation, or this does not compile. */
const HCN_EXPLANATIONS: HcnExplanations<HcnErrorCode> = {
  ...HNS_MISSING_ERRORS,
  ...HNS_DOCUMENT_ERRORS,
  ...HNS_CONFLICT_ERRORS,
  ...HNS_SERVICE_ERRORS,
  ...WIN32_HNS_ERRORS,
  ...HCS_HNS_ERRORS,
};

function originOf(name: HcnErrorCode): ErrorOrigin {
  if (name in WIN32_HNS_ERRORS) return "win32";
  return name in HCS_HNS_ERRORS ? "hcs" : "hns";
}

function hcnError(name: HcnErrorCode, explanation: HcnExplanation): KnownError {
  const { moreTexts = [], moreNames = [], moreHresults = [], ...rest } = explanation;
  const { hresult, text } = HCN_ERRORS[name];
  return Object.freeze({
    id: name.toLowerCase().replaceAll("_", "-"),
    origin: originOf(name),
    hresults: [hresult, ...moreHresults],
    names: [name, ...moreNames],
    texts: [text, ...moreTexts],
    ...rest,
  });
}

function printedErrors(origin: ErrorOrigin, errors: PrintedErrors): readonly KnownError[] {
  return Object.entries(errors).map(([id, error]) =>
    Object.freeze({ id, origin, hresults: [], names: [], ...error }),
  );
}

const HCN_ROWS = (Object.keys(HCN_ERRORS) as HcnErrorCode[]).map((name) =>
  hcnError(name, HCN_EXPLANATIONS[name]),
);

const ROWS: readonly KnownError[] = [
  ...HCN_ROWS,
  ...printedErrors("hcs", HCS_ERRORS),
  ...printedErrors("win32", WIN32_ERRORS),
  ...printedErrors("win32", WINSOCK_ERRORS),
  ...printedErrors("cni", CNI_ERRORS),
  ...printedErrors("cni", IPAM_ERRORS),
  ...printedErrors("kube-proxy", KUBE_PROXY_ERRORS),
  ...printedErrors("flanneld", FLANNELD_ERRORS),
  ...printedErrors("kubelet", KUBELET_ERRORS),
  ...printedErrors("calico", CALICO_ERRORS),
  ...printedErrors("azure", AZURE_ERRORS),
  ...printedErrors("ovn", OVN_ERRORS),
  ...printedErrors("powershell", POWERSHELL_ERRORS),
  ...printedErrors("vfp", VFP_ERRORS),
];

/** Every error, by origin. */
export const KNOWN_ERRORS: readonly KnownError[] = Object.freeze(
  ERROR_ORIGINS.flatMap((origin) => ROWS.filter((row) => row.origin === origin)),
);
