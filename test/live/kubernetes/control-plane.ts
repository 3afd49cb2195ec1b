/** A real control plane: etcd and kube-apiserver, which can be killed and started again. */
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openApiServerSource } from "#contracts/kubernetes/server/api-server-source.node.ts";
import { findEtcd, findProgram } from "../../../tools/live-programs.ts";
import { Program, freePorts } from "./processes.ts";

const READY_MS = 120_000;
const ADMIN_TOKEN = "admin-token-of-the-live-tests";
/** kube-proxy's own account, to which Kubernetes binds the role system:node-proxier. */
const PROXY_TOKEN = "proxy-token-of-the-live-tests";
/** Somebody whom the server knows, and who may do nothing. */
const NOBODY_TOKEN = "nobody-token-of-the-live-tests";

/** How long building and starting may take in a hook. */
export const CONTROL_PLANE_TIMEOUT_MS = 3_600_000;

export class ControlPlane {
  /** kubeconfigs of an administrator, of kube-proxy, of somebody without rights, and of nobody the server knows. */
  readonly kubeconfig: string;
  readonly ofKubeProxy: string;
  readonly withoutRights: string;
  readonly unknown: string;
  private readonly folder: string;
  private readonly etcdPort: number;
  private readonly peerPort: number;
  private readonly apiPort: number;
  private readonly settings: readonly string[];
  private etcd: Program | undefined;
  private apiServer: Program | undefined;

  private constructor(folder: string, ports: readonly number[], settings: readonly string[]) {
    const [etcdPort = 0, peerPort = 0, apiPort = 0] = ports;
    this.folder = folder;
    this.settings = settings;
    this.etcdPort = etcdPort;
    this.peerPort = peerPort;
    this.apiPort = apiPort;
    this.kubeconfig = this.writeKubeconfig("admin", ADMIN_TOKEN);
    this.ofKubeProxy = this.writeKubeconfig("proxy", PROXY_TOKEN);
    this.withoutRights = this.writeKubeconfig("nobody", NOBODY_TOKEN);
    this.unknown = this.writeKubeconfig("unknown", "a-token-that-nobody-has-given");
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
    writeFileSync(join(folder, "accounts.key"), privateKey.export({ type: "pkcs1", format: "pem" }));
    const tokens = [
      `${ADMIN_TOKEN},admin,admin,system:masters`,
      `${PROXY_TOKEN},system:kube-proxy,proxy`,
      `${NOBODY_TOKEN},nobody,nobody`,
    ];
    writeFileSync(join(folder, "tokens.csv"), `${tokens.join("\n")}\n`);
  }

  /** `settings`: flags of the API server that the test is about. */
  static async start(...settings: readonly string[]): Promise<ControlPlane> {
    const folder = mkdtempSync(join(tmpdir(), "mullion-live-"));
    const plane = new ControlPlane(folder, await freePorts(3), settings);
    await plane.startEtcd();
    await plane.startApiServer();
    return plane;
  }

  private writeKubeconfig(name: string, token: string): string {
    const path = join(this.folder, `${name}.kubeconfig`);
    const cluster = {
      server: `https://127.0.0.1:${this.apiPort}`,
      "certificate-authority": "certificates/apiserver.crt",
    };
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "live", cluster }],
      users: [{ name, user: { token } }],
      contexts: [{ name: "live", context: { cluster: "live", user: name } }],
      "current-context": "live",
    };
    writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
    return path;
  }

  private get etcdUrl(): string {
    return `http://127.0.0.1:${this.etcdPort}`;
  }

  private async startEtcd(): Promise<void> {
    const peer = `http://127.0.0.1:${this.peerPort}`;
    const command = [
      findEtcd(),
      `--data-dir=${join(this.folder, "etcd")}`,
      `--listen-client-urls=${this.etcdUrl}`,
      `--advertise-client-urls=${this.etcdUrl}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
    ];
    this.etcd = new Program(command, join(this.folder, "etcd.log"));
    const isUp = (): Promise<boolean> =>
      fetch(`${this.etcdUrl}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    await this.etcd.until(isUp, READY_MS);
  }

  /** Starts the API server on the state that etcd has, and waits until it is ready. */
  async startApiServer(): Promise<void> {
    const command = [
      findProgram("kube-apiserver"),
      `--etcd-servers=${this.etcdUrl}`,
      `--cert-dir=${join(this.folder, "certificates")}`,
      "--bind-address=127.0.0.1",
      `--secure-port=${this.apiPort}`,
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${join(this.folder, "accounts.key")}`,
      `--service-account-signing-key-file=${join(this.folder, "accounts.key")}`,
      `--token-auth-file=${join(this.folder, "tokens.csv")}`,
      "--authorization-mode=RBAC",
      "--service-cluster-ip-range=10.96.0.0/16",
      // Pods of these tests run nowhere: they need no account.
      "--disable-admission-plugins=ServiceAccount",
      "--endpoint-reconciler-type=none",
      ...this.settings,
    ];
    this.apiServer = new Program(command, join(this.folder, "apiserver.log"));
    await this.apiServer.until(() => this.isReady(), READY_MS);
  }

  private async isReady(): Promise<boolean> {
    try {
      const source = await openApiServerSource({ kubeconfig: this.kubeconfig });
      try {
        await source.get("Namespace", { namespace: "", name: "kube-node-lease" });
        await source.get("Namespace", { namespace: "", name: "default" });
        return true;
      } finally {
        await source.close();
      }
    } catch {
      return false;
    }
  }

  /** Ends the API server at once, as a machine does that fails. */
  async killApiServer(): Promise<void> {
    await this.apiServer?.end("SIGKILL");
  }

  /** Makes etcd forget all versions before the present one. */
  async compact(): Promise<void> {
    const call = async (path: string, body: object): Promise<unknown> => {
      const answer = await fetch(`${this.etcdUrl}/v3/${path}`, {
        method: "POST",
        body: JSON.stringify(body),
      });
      if (!answer.ok) throw new Error(`etcd ${path}: ${await answer.text()}`);
      return answer.json();
    };
    const range = (await call("kv/range", { key: Buffer.from("x").toString("base64") })) as {
      readonly header: { readonly revision: string };
    };
    await call("kv/compaction", { revision: range.header.revision, physical: true });
  }

  async stop(): Promise<void> {
    await this.apiServer?.end("SIGTERM");
    await this.etcd?.end("SIGTERM");
    rmSync(this.folder, { recursive: true, force: true });
  }
}
