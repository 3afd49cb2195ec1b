/**
 * What containers take from elsewhere: variables, volumes, claims (k8s.io/kubernetes, `pkg/apis/core/validation`: `ValidateEnv`,
 * `ValidateEnvFrom`, `validateVolumeSource`, `ValidatePersistentVolumeClaimSpec`).
 */
import { mappingOf } from "#core/base/json.ts";
import { parseQuantity } from "#contracts/kubernetes/quantity.ts";
import { type FieldPath, below } from "#contracts/kubernetes/text/field-path.ts";
import {
  type Check,
  type FieldFaults,
  all,
  anyText,
  flag,
  integer,
  isAbsent,
  list,
  object,
  oneOf,
  required,
  text,
} from "./field-check.ts";
import { controlPlane } from "#data/words.js";
import { CONFIG_KEY, DNS_LABEL, DNS_SUBDOMAIN, QUALIFIED_NAME, type TextRule } from "./names.ts";

const WORDS = controlPlane();

const REFERRED = required(text(DNS_SUBDOMAIN), "Write the name of the object.");
const KEY = required(text(CONFIG_KEY), "Write the key.");
const KEY_OF_OBJECT: Check = object({ name: REFERRED, key: KEY, optional: flag });

/** Fields of a pod that a variable or a file may hold. */
const POD_FIELDS: readonly string[] = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.host",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];
const FILE_FIELDS: readonly string[] = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "metadata.labels",
  "metadata.annotations",
];

/** `metadata.labels['app']`, or a field of the list. */
function fieldPathIn(fields: readonly string[]): TextRule {
  return Object.freeze({
    fault(field: string): string | undefined {
      const [, holder, key] = /^metadata\.(labels|annotations)\['([^']*)'\]$/.exec(field) ?? [];
      if (key !== undefined) return QUALIFIED_NAME.fault(holder === "annotations" ? key.toLowerCase() : key);
      return fields.includes(field)
        ? undefined
        : `error converting fieldPath: field label not supported: ${field}`;
    },
    advice: `Write one of: ${fields.join(", ")}.`,
  });
}

function fieldRef(fields: readonly string[]): Check {
  return object({
    apiVersion: oneOf("", "v1"),
    fieldPath: required(text(fieldPathIn(fields)), "Write the field of the pod."),
  });
}

const RESOURCE: TextRule = Object.freeze({
  fault: (name: string) =>
    /^(?:limits|requests)\.(?:cpu|memory|ephemeral-storage|hugepages-.*)$/.test(name)
      ? undefined
      : WORDS.resourceFieldInvalid,
  advice: "Write limits.memory, for example.",
});

const RESOURCE_REF: Check = object({
  containerName: anyText,
  resource: required(text(RESOURCE), "Write the resource, such as limits.memory."),
});

/** Exactly one of some fields is there. */
function oneOfFields(names: readonly string[], detail: string): Check {
  return (value, path, faults) => {
    const found = names.filter((name) => !isAbsent(mappingOf(value)[name]));
    if (found.length === 0) faults.invalid(path, "", detail, `Write one of: ${names.join(", ")}.`);
    if (found.length > 1) {
      const several = "may not have more than one field specified at a time";
      faults.invalid(path, "", several, `Keep one of: ${found.join(", ")}.`);
    }
  };
}

const VALUE_FROM: Check = all(
  object({
    fieldRef: fieldRef(POD_FIELDS),
    resourceFieldRef: RESOURCE_REF,
    configMapKeyRef: KEY_OF_OBJECT,
    secretKeyRef: KEY_OF_OBJECT,
  }),
  oneOfFields(
    ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"],
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`",
  ),
);

const valueOrSource: Check = (variable, path, faults) => {
  const { value, valueFrom } = mappingOf(variable);
  if (isAbsent(valueFrom) || isAbsent(value) || value === "") return;
  const detail = "may not be specified when `value` is not empty";
  faults.invalid(below(path, "valueFrom"), "", detail, "Keep value or valueFrom.");
};

const VARIABLE_NAME: TextRule = Object.freeze({
  fault: (name: string) => (/^[ -<>-~]+$/.test(name) ? undefined : WORDS.variableNameInvalid),
  advice: "Use letters, digits and underscores.",
});

/** Variables of a container: their names, and where they come from. */
export const VARIABLES: Check = object({
  env: list(
    all(
      object({
        name: required(text(VARIABLE_NAME), "Write the name of the variable."),
        valueFrom: VALUE_FROM,
      }),
      valueOrSource,
    ),
  ),
  envFrom: list(
    all(
      object({
        prefix: text(VARIABLE_NAME, true),
        configMapRef: object({ name: REFERRED }),
        secretRef: object({ name: REFERRED }),
      }),
      oneOfFields(["configMapRef", "secretRef"], "must specify one of: `configMapRef` or `secretRef`"),
    ),
  ),
});

const FILE_MODE = integer(0, 0o777, "must be a number between 0 and 0777 (octal), both inclusive");

/** The server runs on Linux, where a backslash is a letter: `C:\data\..` passes it. */
const noStepBack: TextRule = Object.freeze({
  fault: (path: string) => (path.split("/").includes("..") ? "must not contain '..'" : undefined),
  advice: "Write the path without dots.",
});

export const RELATIVE_PATH: TextRule = Object.freeze({
  fault: (path: string) => (path.startsWith("/") ? "must be a relative path" : noStepBack.fault(path)),
  advice: "Write a path below the place of the volume.",
});

const absolute: TextRule = Object.freeze({
  fault: (path: string) => (path.startsWith("/") ? undefined : "must be an absolute path"),
  advice: "Begin with a slash.",
});

const DRIVER: TextRule = Object.freeze({
  fault: (name: string) =>
    name.length > 63 ? "may not be more than 63 bytes" : DNS_SUBDOMAIN.fault(name.toLowerCase()),
  advice: DNS_SUBDOMAIN.advice,
});

const ITEM_PATH = required(text(RELATIVE_PATH), "Write the path of the file in the volume.");
const ITEMS: Check = list(
  object({ key: required(anyText, "Write the key."), path: ITEM_PATH, mode: FILE_MODE }),
);
const DOWNWARD: Check = object({
  items: list(
    all(
      object({
        path: ITEM_PATH,
        fieldRef: fieldRef(FILE_FIELDS),
        resourceFieldRef: RESOURCE_REF,
        mode: FILE_MODE,
      }),
      (value, path, faults) => {
        const { fieldRef: field, resourceFieldRef: resource } = mappingOf(value);
        if (isAbsent(field) && isAbsent(resource)) {
          const detail = "one of fieldRef and resourceFieldRef is required";
          faults.required(path, "Write fieldRef or resourceFieldRef.", detail);
        }
      },
    ),
  ),
  defaultMode: FILE_MODE,
});

const tokenLife: Check = (value, path, faults) => {
  const limit = Number(value) < 600 ? "less than 10 minutes" : "larger than 2^32 seconds";
  integer(600, 2 ** 32, `may not specify a duration ${limit}`)(value, path, faults);
};

const HOST_PATH_TYPES = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
];

/** Sources of which something is checked; of all others no more than that there is one. */
const SOURCES: Readonly<Record<string, Check>> = {
  hostPath: object({
    path: required(text(noStepBack), "Write the path on the node."),
    type: oneOf(...HOST_PATH_TYPES),
  }),
  secret: object({
    secretName: required(anyText, "Write the name of the Secret."),
    items: ITEMS,
    defaultMode: FILE_MODE,
  }),
  configMap: object({
    name: required(anyText, "Write the name of the ConfigMap."),
    items: ITEMS,
    defaultMode: FILE_MODE,
  }),
  downwardAPI: DOWNWARD,
  persistentVolumeClaim: object({ claimName: required(anyText, "Write the name of the claim.") }),
  projected: object({
    sources: list(
      object({
        secret: object({ name: required(anyText, "Write the name of the Secret."), items: ITEMS }),
        configMap: object({ name: required(anyText, "Write the name of the ConfigMap."), items: ITEMS }),
        downwardAPI: DOWNWARD,
        serviceAccountToken: object({
          path: ITEM_PATH,
          expirationSeconds: tokenLife,
        }),
      }),
    ),
    defaultMode: FILE_MODE,
  }),
  nfs: object({
    server: required(anyText, "Write the server."),
    path: required(text(absolute), "Write the path on the server."),
  }),
  csi: object({ driver: required(text(DRIVER), "Write the name of the driver.") }),
  azureFile: object({
    secretName: required(anyText, "Write the name of the Secret."),
    shareName: required(anyText, "Write the name of the share."),
  }),
};

/** Sources of which nothing more is checked. */
const FURTHER_SOURCES = [
  "awsElasticBlockStore",
  "azureDisk",
  "cephfs",
  "cinder",
  "emptyDir",
  "ephemeral",
  "fc",
  "flexVolume",
  "flocker",
  "gcePersistentDisk",
  "gitRepo",
  "glusterfs",
  "image",
  "iscsi",
  "photonPersistentDisk",
  "portworxVolume",
  "quobyte",
  "rbd",
  "scaleIO",
  "storageos",
  "vsphereVolume",
];

/** One source each; none is an empty folder. */
const oneSource: Check = (value, path, faults) => {
  const volume = mappingOf(value);
  const names = [...FURTHER_SOURCES, ...Object.keys(SOURCES)];
  const [, ...others] = names.filter((name) => !isAbsent(volume[name]));
  for (const name of others)
    faults.forbidden(below(path, name), "may not specify more than 1 volume type", "Keep one of them.");
};

/** Where volumes of a pod come from. */
export const VOLUME_SOURCES: Check = object({ volumes: list(all(object(SOURCES), oneSource)) });

const ACCESS_MODES = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

function storageFits(value: unknown, path: FieldPath | undefined, faults: FieldFaults): void {
  const storage = mappingOf(mappingOf(mappingOf(value)["resources"])["requests"])["storage"];
  const at = below(path, "resources", "requests", "storage");
  if (isAbsent(storage) || storage === "") faults.required(at, "Write resources.requests.storage.");
  else if ((parseQuantity(storage) ?? 1) <= 0)
    faults.invalid(at, storage, "must be greater than zero", "Write how much it is, such as 10Gi.");
}

const CLAIM_SPEC: Check = all(
  object({
    accessModes: required(list(oneOf(...ACCESS_MODES)), "Write ReadWriteOnce, for example."),
    storageClassName: text(DNS_SUBDOMAIN, true),
    volumeMode: oneOf("", "Block", "Filesystem"),
  }),
  storageFits,
);

/** A claim of a StatefulSet, which is a volume of its pods. */
export const CLAIM: Check = object({
  metadata: required(
    object({ name: required(text(DNS_LABEL), "Give the claim a name.") }),
    "Give the claim a name.",
  ),
  spec: required(CLAIM_SPEC, "Write accessModes and resources.requests.storage."),
});
