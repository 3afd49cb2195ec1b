/** What names of images tell, and which host runs which build. Names are such as people use; nothing is pulled. */
import { describe, expect, it } from "vitest";
import type { Fields } from "#core/base/json.ts";
import { getProfile, parseProfile, runsContainersOf, type ProfileName } from "#core/catalogue/profiles.ts";
import { imagePlatform, profilesAskedFor } from "./container-image.ts";

describe("the name of an image", () => {
  it.each<readonly [image: string, os: string, builds: readonly number[], isList: boolean]>([
    ["mcr.microsoft.com/windows/servercore:ltsc2019", "windows", [17_763], true],
    ["mcr.microsoft.com/windows/servercore:1809-amd64", "windows", [17_763], false],
    ["mcr.microsoft.com/windows/nanoserver:20H2", "windows", [19_042], true],
    ["mcr.microsoft.com/windows/servercore:10.0.20348.2582", "windows", [20_348], true],
    ["mcr.microsoft.com/windows:2004", "windows", [19_041], true],
    ["mcr.microsoft.com/windows/server:ltsc2025", "windows", [26_100], true],
    ["mcr.microsoft.com/dotnet/framework/aspnet:4.8-windowsservercore-ltsc2019", "windows", [17_763], true],
    ["mcr.microsoft.com/dotnet/framework/samples:aspnetapp-20200504", "windows", [], true],
    ["mcr.microsoft.com/dotnet/aspnet:5.0-nanoserver-1909", "windows", [18_363], true],
    ["nats:2.1.0-servercore1803", "windows", [17_134], true],
    ["acme.azurecr.io:443/shop/api:1.4-ltsc2022", "windows", [20_348], false],
    ["mcr.microsoft.com/windows/nanoserver:1809@sha256:2931a444", "windows", [], false],
    ["nginx", "linux", [], true],
    ["docker.io/library/redis:7.2", "linux", [], true],
    ["mcr.microsoft.com/dotnet/aspnet:8.0-alpine3.19", "linux", [], true],
    ["quay.io/acme/tool:2.0-bookworm", "linux", [], false],
  ])("%s is for %s %o", (image, os, builds, isList) => {
    expect(imagePlatform(image)).toEqual({ os, builds, isList });
  });

  it.each([
    "mcr.microsoft.com/dotnet/aspnet:8.0",
    "mcr.microsoft.com/oss/kubernetes/pause:3.9",
    "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image:v1.0.0",
    "traefik:v3.1",
    "acme.azurecr.io/nginx:1.2",
    "registry.k8s.io/e2e-test-images/nginx:1.14-alpine",
    "mirror.example/kubernetes-e2e-test-images/httpd:2.4.38-alpine",
    "registry.example/app:2004",
    "registry.example/alpine-tools:1809",
    "{{ .Values.image }}:ltsc2019",
    "registry.example/app:$(TAG)-ltsc2019",
    "",
  ])("%s says nothing", (image) => {
    expect(imagePlatform(image)).toBe(undefined);
  });
});

/** Microsoft's table for process isolation, and the rows of hcsshim's own test of it. */
describe("a host runs containers", () => {
  it.each<readonly [host: ProfileName, image: number, runs: boolean]>([
    ["ws2019", 17_763, true],
    ["ws2019", 20_348, false],
    ["2004", 19_042, false],
    ["ws2022", 17_763, false],
    ["ws2022", 19_042, false],
    ["ws2022", 20_348, true],
    ["ws2022", 26_100, false],
    ["win11-21h2", 20_348, true],
    ["23h2", 20_348, true],
    ["ws2025", 17_763, false],
    ["ws2025", 20_348, true],
    ["ws2025", 26_100, true],
  ])("%s, of build %i: %s", (host, image, runs) => {
    const build = { profile: getProfile(host), revision: undefined, note: undefined };
    expect(runsContainersOf(build, image)).toBe(runs);
  });

  it("is not said of a host whose own build is not known exactly", () => {
    const build = parseProfile("10.0.19042.1466");
    expect(build && runsContainersOf(build, 19_041)).toBe(undefined);
  });
});

describe("pods ask for builds of Windows", () => {
  const nano = (tag: string) => `mcr.microsoft.com/windows/nanoserver:${tag}`;
  const image = (tag: string, more = {}) => ({ containers: [{ image: nano(tag) }], ...more });
  const hostProcess = { securityContext: { windowsOptions: { hostProcess: true } } };
  const selector = (build: string) => ({ nodeSelector: { "node.kubernetes.io/windows-build": build } });

  it.each<readonly [what: string, specs: readonly Fields[], names: readonly ProfileName[]]>([
    ["by an image", [image("ltsc2019")], ["ws2019"]],
    ["by the image of an init container", [{ initContainers: [{ image: nano("1809") }] }], ["ws2019"]],
    ["by a selector", [selector("10.0.17763")], ["ws2019"]],
    ["one host for what it runs besides", [image("ltsc2022"), image("ltsc2025")], ["ws2025"]],
    ["two hosts for what none runs", [image("ltsc2022"), image("ltsc2019")], ["ws2019", "ws2022"]],
    ["a selector is exact", [selector("10.0.20348"), image("ltsc2025")], ["ws2022", "ws2025"]],
    ["the host of a selector runs the image", [selector("10.0.26100"), image("ltsc2022")], ["ws2025"]],
    ["not by names without a build", [{ containers: [{ image: "registry.example/shop:1" }] }], []],
    ["not by a tag of two builds", [image("ltsc2019-ltsc2022")], []],
    ["not by HostProcess containers", [image("ltsc2019", hostProcess)], []],
    ["not by pods with a runtime of their own", [image("ltsc2019", { runtimeClassName: "hyperv" })], []],
    ["not for a build without a profile", [image("ltsc2016"), selector("10.0.14393")], []],
    ["not by what is no image", [{ containers: [{ image: 5 }, "web"], nodeSelector: "windows" }], []],
  ])("%s", (_, specs, names) => {
    expect(profilesAskedFor(specs).map(({ name }) => name)).toEqual(names);
  });
});
