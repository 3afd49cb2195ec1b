/** What the emulator's API says it has: versions, groups, resources, schemas. */
import { openApiV2, openApiV3 } from "./openapi.ts";
import { isScaled } from "./scale.ts";
import { SERVED_RESOURCES, type ServedResource, apiVersionOf } from "./served-resources.ts";

const VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"];
const STATUS_VERBS = ["get", "patch", "update"];

function groupsOf(): readonly string[] {
  return [...new Set(SERVED_RESOURCES.map(({ group }) => group))].filter((group) => group !== "");
}

function groupDocument(group: string): object {
  const served = SERVED_RESOURCES.find((each) => each.group === group);
  const version = served?.version ?? "v1";
  const named = { groupVersion: `${group}/${version}`, version };
  return { name: group, versions: [named], preferredVersion: named };
}

function resourceEntries(resource: ServedResource): readonly object[] {
  const { plural, singular, shortNames, isNamespaced, kind, hasStatus } = resource;
  const common = { namespaced: isNamespaced, kind };
  const names = shortNames.length === 0 ? {} : { shortNames };
  const categories = [
    "Pod",
    "Service",
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
  ];
  const inAll = categories.includes(kind) ? { categories: ["all"] } : {};
  const entry = { name: plural, singularName: singular, ...common, verbs: VERBS, ...names, ...inAll };
  const status = { name: `${plural}/status`, singularName: "", ...common, verbs: STATUS_VERBS };
  const ofScale = { namespaced: isNamespaced, group: "autoscaling", version: "v1", kind: "Scale" };
  const scale = { name: `${plural}/scale`, singularName: "", ...ofScale, verbs: STATUS_VERBS };
  return [entry, ...(hasStatus ? [status] : []), ...(isScaled(kind) ? [scale] : [])];
}

function resourceList(groupVersion: string): object | undefined {
  const resources = SERVED_RESOURCES.filter((each) => apiVersionOf(each) === groupVersion);
  if (resources.length === 0) return undefined;
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion,
    resources: resources.flatMap(resourceEntries),
  };
}

function groupVersions(): readonly string[] {
  return [...new Set(SERVED_RESOURCES.map(apiVersionOf))];
}

function rootOf(groupVersion: string): string {
  return groupVersion.includes("/") ? `apis/${groupVersion}` : `api/${groupVersion}`;
}

/** The document at a path; undefined when it is none of discovery. `gitVersion` is `v1.34.4`. */
export function discoveryDocument(path: string, gitVersion: string): object | undefined {
  const groups = groupsOf();
  if (path === "/version") {
    const [, major = "1", minor = "0"] = /^v(\d+)\.(\d+)/.exec(gitVersion) ?? [];
    const platform = { goVersion: "none", compiler: "mullion", platform: "linux/amd64" };
    return { major, minor, gitVersion, gitCommit: "", gitTreeState: "clean", buildDate: "", ...platform };
  }
  if (path === "/api") return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] };
  if (path === "/apis") return { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(groupDocument) };
  if (path === "/openapi/v2") return openApiV2();
  if (path === "/openapi/v3") {
    const entries = groupVersions().map((each) => {
      const root = rootOf(each);
      return [root, { serverRelativeURL: `/openapi/v3/${root}?hash=mullion` }] as const;
    });
    return { paths: Object.fromEntries(entries) };
  }
  if (path.startsWith("/openapi/v3/")) {
    const wanted = groupVersions().find((each) => path === `/openapi/v3/${rootOf(each)}`);
    return wanted === undefined ? undefined : openApiV3(wanted, rootOf(wanted));
  }
  const [, root, first = "", second] = path.split("/");
  if (root === "api" && second === undefined) return resourceList(first);
  if (root !== "apis") return undefined;
  if (second === undefined) {
    return groups.includes(first)
      ? { kind: "APIGroup", apiVersion: "v1", ...groupDocument(first) }
      : undefined;
  }
  return path.split("/").length === 4 ? resourceList(`${first}/${second}`) : undefined;
}
