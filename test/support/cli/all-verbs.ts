/** Every verb of mullion with one function behind it, for tests of the command line alone. */
import type { GivenVerbs } from "#cli/mullion/program.ts";
import type { ExitCode } from "#cli/mullion/terminal.ts";
import type { Verbs } from "#cli/mullion/verbs.ts";

type Keep = (request: unknown) => Promise<ExitCode>;

/** What is given takes the place of `keep`. */
export function allVerbs(keep: Keep, given: GivenVerbs = {}): Verbs {
  return {
    trace: keep,
    resolve: keep,
    exec: keep,
    get: keep,
    verify: keep,
    merge: keep,
    up: keep,
    ui: keep,
    shell: keep,
    logs: keep,
    capture: keep,
    top: keep,
    apply: keep,
    delete: keep,
    down: keep,
    bringUp: keep,
    node: keep,
    controlPlane: keep,
    pass: keep,
    demo: keep,
    wine: keep,
    lint: keep,
    doctor: keep,
    ...given,
    ovn: { trace: keep, show: keep, list: keep, listFlows: keep, ...given.ovn },
    cni: { attach: keep, gc: keep, status: keep, version: keep, ...given.cni },
    docker: { create: keep, list: keep, inspect: keep, remove: keep, ...given.docker },
    hns: {
      serve: keep,
      get: keep,
      create: keep,
      modify: keep,
      delete: keep,
      watch: keep,
      dump: keep,
      restore: keep,
      check: keep,
      repair: keep,
      fault: keep,
      ...given.hns,
    },
    kube: { serve: keep, ...given.kube },
    programs: { list: keep, install: keep, remove: keep, run: keep, ...given.programs },
    vfp: { ports: keep, show: keep, diff: keep, ...given.vfp },
  };
}
