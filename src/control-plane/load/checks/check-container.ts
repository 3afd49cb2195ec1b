/** Containers, in the details that an API server checks (k8s.io/kubernetes, `pkg/apis/core/validation`, `validateContainers`). */
import { parseQuantity } from "#contracts/kubernetes/quantity.ts";
import { mappingOf, textOf } from "#core/base/json.ts";
import { below } from "#contracts/kubernetes/text/field-path.ts";
import {
  type Check,
  COUNT,
  PORT,
  all,
  anyText,
  integer,
  isAbsent,
  list,
  mappingsOf,
  object,
  oneOf,
  required,
  text,
} from "./field-check.ts";
import { portOrName } from "./check-service.ts";
import { controlPlane } from "#data/words.js";
import { DNS_SUBDOMAIN, QUALIFIED_NAME, type TextRule } from "./names.ts";
import { RELATIVE_PATH, VARIABLES } from "./check-sources.ts";

const WORDS = controlPlane();

const INT32_MAX = 2_147_483_647;

const PROBE_PORT = required(portOrName, "Write the number of the port, or its name.");

/** A probe or a hook asks or does one thing. */
function oneHandlerOf(...handlers: readonly string[]): Check {
  return (value, path, faults) => {
    const probe = mappingOf(value);
    const [first, ...others] = handlers.filter((name) => !isAbsent(probe[name]));
    if (first === undefined)
      faults.required(path, `Write one of: ${handlers.join(", ")}.`, "must specify a handler type");
    for (const name of others)
      faults.forbidden(below(path, name), "may not specify more than 1 handler type", "Keep one of them.");
  };
}

const HTTP_HEADER: TextRule = Object.freeze({
  fault: (name: string) => (/^[-A-Za-z0-9]+$/.test(name) ? undefined : WORDS.httpHeaderInvalid),
  advice: "Write a name such as X-Header-Name.",
});
const HTTP_GET: Check = object({
  port: PROBE_PORT,
  scheme: oneOf("", "HTTP", "HTTPS"),
  httpHeaders: list(object({ name: required(text(HTTP_HEADER), "Write the name of the header.") })),
});

/** What a probe and a hook can do. */
const ACTIONS: Readonly<Record<string, Check>> = {
  exec: object({ command: required(list(anyText), "Write the command.") }),
  httpGet: HTTP_GET,
  tcpSocket: object({ port: PROBE_PORT }),
};

const PROBE: Check = all(
  object({
    ...ACTIONS,
    grpc: object({ port: required(PORT, "Write the number of the port.") }),
    initialDelaySeconds: COUNT,
    timeoutSeconds: COUNT,
    periodSeconds: COUNT,
    successThreshold: COUNT,
    failureThreshold: COUNT,
    terminationGracePeriodSeconds: integer(1, INT32_MAX, "must be greater than 0"),
  }),
  oneHandlerOf("exec", "httpGet", "tcpSocket", "grpc"),
);

const NEVER: Check = (_, path, faults) => {
  faults.forbidden(path, "must not be set for readinessProbes", "Remove it.");
};

const ONCE_IS_ENOUGH: Check = object({
  successThreshold: (value, path, faults) => {
    if (value !== 0 && value !== 1) faults.invalid(path, value, "must be 1", "Remove it.");
  },
});

const IMAGE: TextRule = Object.freeze({
  fault: (image: string) =>
    image === image.trim() ? undefined : "must not have leading or trailing whitespace",
  advice: "Remove the space.",
});

/** Resources that a container may name without a domain; and pages of a size. */
const RESOURCES: readonly string[] = ["cpu", "memory", "ephemeral-storage"];

function isResource(name: string): boolean {
  if (QUALIFIED_NAME.fault(name) !== undefined) return false;
  return RESOURCES.includes(name) || name.startsWith("hugepages-") || name.includes("/");
}

const resourcesFit: Check = (value, path, faults) => {
  const { limits, requests } = mappingOf(value);
  for (const [field, quantities] of [
    ["limits", mappingOf(limits)],
    ["requests", mappingOf(requests)],
  ] as const)
    for (const [name, quantity] of Object.entries(quantities)) {
      const at = below(path, field, name);
      if (!isResource(name)) {
        const detail = "must be a standard resource type or fully qualified";
        faults.invalid(at, name, detail, "Write cpu, memory, or a name such as example.com/gpu.");
      }
      if ((parseQuantity(quantity) ?? 0) < 0)
        faults.invalid(at, quantity, "must be greater than or equal to 0", "Write how much it is.");
    }
  for (const [name, quantity] of Object.entries(mappingOf(requests))) {
    const limit = mappingOf(limits)[name];
    // A limit of null is one of nothing, as Go reads it.
    const allowed = limit === null ? 0 : parseQuantity(limit);
    const asked = parseQuantity(quantity);
    if (asked === undefined || allowed === undefined || asked <= allowed) continue;
    const detail = `must be less than or equal to ${name} limit of ${String(limit)}`;
    faults.invalid(below(path, "requests", name), quantity, detail, "Ask for less, or allow more.");
  }
};

const MOUNT_FIELDS: Check = object({
  name: required(anyText, "Write the name of the volume."),
  mountPath: required(anyText, "Write where the volume is in the container."),
  subPath: text(RELATIVE_PATH),
  subPathExpr: text(RELATIVE_PATH),
  mountPropagation: oneOf("None", "HostToContainer", "Bidirectional"),
  recursiveReadOnly: oneOf("Disabled", "Enabled", "IfPossible"),
});

const MOUNT: Check = all(MOUNT_FIELDS, (value, path, faults) => {
  const { subPath, subPathExpr } = mappingOf(value);
  if (textOf(subPath) === "" || textOf(subPathExpr) === "") return;
  const detail = "subPathExpr and subPath are mutually exclusive";
  faults.invalid(below(path, "subPathExpr"), subPathExpr, detail, "Keep one of the two.");
});

/** Only who may do everything shows the node what it mounts. */
const propagationFits: Check = (value, path, faults) => {
  const { volumeMounts, securityContext } = mappingOf(value);
  if (mappingOf(securityContext)["privileged"] === true) return;
  for (const [index, { mountPropagation }] of mappingsOf(volumeMounts).entries())
    if (mountPropagation === "Bidirectional")
      faults.forbidden(
        below(path, "volumeMounts", index, "mountPropagation"),
        WORDS.propagationForbidden,
        "Write HostToContainer.",
      );
};

const PROFILE_TYPES = ["Localhost", "RuntimeDefault", "Unconfined"];

/** A profile of the node's has a name, and no other has. */
const profileFits: Check = (value, path, faults) => {
  const { type, localhostProfile } = mappingOf(value);
  const at = below(path, "localhostProfile");
  if (type === "Localhost" && isAbsent(localhostProfile))
    faults.required(at, "Write the profile of the node.", "must be set when seccomp type is Localhost");
  if (type !== "Localhost" && !isAbsent(localhostProfile))
    faults.invalid(at, localhostProfile, "can only be set when type is Localhost", "Remove it.");
};

const PROFILE: Check = all(
  object({
    type: required(oneOf(...PROFILE_TYPES), "Write RuntimeDefault, for example."),
    localhostProfile: text(RELATIVE_PATH),
  }),
  profileFits,
);

export const USER: Check = integer(0, INT32_MAX);

const DOMAIN =
  /^(?:[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}|[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?)*)$/;

/** `DOMAIN\\user`, or the user alone (`validateWindowsSecurityContextOptions`). */
const WINDOWS_USER: TextRule = Object.freeze({
  fault(name: string): string | undefined {
    if (name === "") return "runAsUserName cannot be an empty string";
    if (/\p{Cc}/u.test(name)) return "runAsUserName cannot contain control characters";
    const [user = "", domain, ...more] = name.split("\\").toReversed();
    if (more.length > 0) return "runAsUserName cannot contain more than one backslash";
    if (domain !== undefined && (domain.length >= 256 || !DOMAIN.test(domain)))
      return "runAsUserName's Domain doesn't match the NetBios nor the DNS format";
    if (user === "") return "runAsUserName's User cannot be empty";
    if (user.length > 104) return "runAsUserName's User length must not be longer than 104 characters";
    if (/^[. ]+$/.test(user)) return "runAsUserName's User cannot contain only periods or spaces";
    return /["/\\:;|=,+*?<>@[\]]/.test(user) ? WORDS.windowsUserInvalid : undefined;
  },
  advice: "Write a user such as ContainerUser, or DOMAIN\\user.",
});

/** Fields that the security of a pod and that of a container have. */
export const SECURITY: Readonly<Record<string, Check>> = {
  seccompProfile: PROFILE,
  appArmorProfile: PROFILE,
  runAsUser: USER,
  runAsGroup: USER,
  windowsOptions: object({ runAsUserName: text(WINDOWS_USER), gmsaCredentialSpecName: text(DNS_SUBDOMAIN) }),
};

const mayMoreFits: Check = (value, path, faults) => {
  const { privileged, allowPrivilegeEscalation } = mappingOf(value);
  if (privileged !== true || allowPrivilegeEscalation !== false) return;
  const detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
  faults.invalid(path, "", detail, "Remove one of the two.");
};

/** What the kubelet runs when a container starts or ends. */
const HANDLER: Check = all(object(ACTIONS), oneHandlerOf("exec", "httpGet", "tcpSocket", "sleep"));

const CONTAINER_FIELDS: Check = object({
  image: text(IMAGE),
  imagePullPolicy: oneOf("", "Always", "IfNotPresent", "Never"),
  readinessProbe: all(PROBE, object({ terminationGracePeriodSeconds: NEVER })),
  livenessProbe: all(PROBE, ONCE_IS_ENOUGH),
  startupProbe: all(PROBE, ONCE_IS_ENOUGH),
  volumeDevices: list(
    object({
      name: required(anyText, "Write the name of the volume."),
      devicePath: required(anyText, "Write where the device is in the container."),
    }),
  ),
  resources: resourcesFit,
  volumeMounts: list(MOUNT),
  terminationMessagePolicy: oneOf("", "FallbackToLogsOnError", "File"),
  lifecycle: object({ postStart: HANDLER, preStop: HANDLER }),
  securityContext: all(object({ ...SECURITY, procMount: oneOf("Default", "Unmasked") }), mayMoreFits),
  resizePolicy: list(
    object({
      resourceName: required(oneOf("cpu", "memory"), "Write cpu or memory."),
      restartPolicy: required(oneOf("NotRequired", "RestartContainer"), "Write NotRequired, for example."),
    }),
  ),
});

/** What an app container has. */
export const CONTAINER: Check = all(CONTAINER_FIELDS, VARIABLES, propagationFits);

const OF_LASTING = ["lifecycle", "readinessProbe", "livenessProbe", "startupProbe"];

/** One that ends before the others begin is not asked how it is. */
const endsOrRestarts: Check = (value, path, faults) => {
  const container = mappingOf(value);
  if (container["restartPolicy"] === "Always") return;
  const detail = "may not be set for init containers without restartPolicy=Always";
  for (const field of OF_LASTING)
    if (!isAbsent(container[field])) faults.forbidden(below(path, field), detail, "Remove it.");
};

/** What a container has that begins before the others. */
export const INIT_CONTAINER: Check = all(
  CONTAINER,
  object({ restartPolicy: oneOf("Always") }),
  endsOrRestarts,
);
