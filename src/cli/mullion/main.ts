/** The executable `mullion`. Verbs are loaded when they are chosen, so that a light one starts at once. */
import { isMainThread } from "node:worker_threads";
import { packageVersion } from "../installation.ts";
import { endQuietly, processTerminal } from "./process-terminal.ts";
import { runMullion } from "./program.ts";
import type { Verbs } from "./verbs.ts";

const VERBS: Verbs = {
  trace: async (...given) => (await import("./trace.ts")).trace(...given),
  exec: async (...given) => (await import("./exec.ts")).exec(...given),
  resolve: async (...given) => (await import("./trace.ts")).resolve(...given),
  get: async (...given) => (await import("./get/get.ts")).get(...given),
  verify: async (...given) => (await import("./verify.ts")).verify(...given),
  merge: async (...given) => (await import("./merge.ts")).merge(...given),
  up: async (...given) => (await import("./cluster/up.ts")).up(...given),
  ui: async (...given) => (await import("./web/ui.ts")).ui(...given),
  shell: async (...given) => (await import("./cluster/shell.ts")).shell(...given),
  logs: async (...given) => (await import("./cluster/shell.ts")).logs(...given),
  capture: async (...given) => (await import("./cluster/capture.ts")).capture(...given),
  top: async (...given) => (await import("./cluster/top.ts")).top(...given),
  apply: async (...given) => (await import("./cluster/apply.ts")).apply(...given),
  delete: async (...given) => (await import("./cluster/apply.ts")).deleteObjects(...given),
  down: async (...given) => (await import("./cluster/down.ts")).down(...given),
  bringUp: async (...given) => (await import("./cluster/bring-up.ts")).bringUp(...given),
  node: async (...given) => (await import("./cluster/node.ts")).node(...given),
  controlPlane: async (...given) => (await import("./cluster/node.ts")).controlPlane(...given),
  pass: async (...given) => (await import("./cluster/node.ts")).pass(...given),
  demo: async (...given) => (await import("./demo.ts")).demo(...given),
  cni: {
    attach: async (...given) => (await import("./cni/cni.ts")).realCniVerbs().attach(...given),
    gc: async (...given) => (await import("./cni/cni.ts")).realCniVerbs().gc(...given),
    status: async (...given) => (await import("./cni/cni.ts")).realCniVerbs().status(...given),
    version: async (...given) => (await import("./cni/cni.ts")).realCniVerbs().version(...given),
  },
  hns: {
    serve: async (...given) => (await import("./hns/serve.ts")).serve(...given),
    get: async (...given) => (await import("./hns/get.ts")).get(...given),
    create: async (...given) => (await import("./hns/change.ts")).create(...given),
    modify: async (...given) => (await import("./hns/change.ts")).modify(...given),
    delete: async (...given) => (await import("./hns/change.ts")).deleteObjects(...given),
    watch: async (...given) => (await import("./hns/watch.ts")).watch(...given),
    dump: async (...given) => (await import("./hns/dump.ts")).dump(...given),
    restore: async (...given) => (await import("./hns/dump.ts")).restore(...given),
    check: async (...given) => (await import("./hns/check.ts")).check(...given),
    repair: async (...given) => (await import("./hns/check.ts")).repair(...given),
    fault: async (...given) => (await import("./hns/fault.ts")).fault(...given),
  },
  kube: {
    serve: async (...given) => (await import("./kube/serve.ts")).serve(...given),
  },
  programs: {
    list: async (...given) => (await import("./programs/programs.ts")).realPrograms().list(...given),
    install: async (...given) => (await import("./programs/programs.ts")).realPrograms().install(...given),
    remove: async (...given) => (await import("./programs/programs.ts")).realPrograms().remove(...given),
    run: async (...given) => (await import("./programs/programs.ts")).realPrograms().run(...given),
  },
  docker: {
    create: async (...given) => (await import("./docker/network.ts")).createNetwork(...given),
    list: async (...given) => (await import("./docker/network.ts")).listNetworks(...given),
    inspect: async (...given) => (await import("./docker/network.ts")).inspectNetworks(...given),
    remove: async (...given) => (await import("./docker/network.ts")).removeNetworks(...given),
  },
  ovn: {
    trace: async (...given) => (await import("./ovn/trace.ts")).trace(...given),
    show: async (...given) => (await import("./ovn/show.ts")).show(...given),
    list: async (...given) => (await import("./ovn/show.ts")).list(...given),
    listFlows: async (...given) => (await import("./ovn/show.ts")).listFlows(...given),
  },
  vfp: {
    ports: async (...given) => (await import("./vfp/vfp.ts")).ports(...given),
    show: async (...given) => (await import("./vfp/vfp.ts")).show(...given),
    diff: async (...given) => (await import("./vfp/vfp.ts")).diff(...given),
  },
  wine: async (...given) => (await import("./wine/wine.ts")).wine(...given),
  lint: async (...given) => (await import("./lint.ts")).lint(...given),
  doctor: async (...given) => (await import("./doctor.ts")).doctor(...given),
};

process.stdout.on("error", endQuietly);
process.stderr.on("error", endQuietly);

async function main(): Promise<void> {
  process.exitCode = await runMullion({
    argv: process.argv.slice(2),
    verbs: VERBS,
    terminal: processTerminal(),
    version: packageVersion(),
    isDebug: process.env["MULLION_DEBUG"] === "1",
  });
}

// A thread of this program reads files for doctor.
if (isMainThread) void main();
else void import("./doctor-readers.ts").then(({ serveReading }) => serveReading());
