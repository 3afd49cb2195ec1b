/** As whom a server is asked: each kind of credential that a kubeconfig has, as the server sees it. */
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingMessage, type ServerResponse, createServer as createPlainServer } from "node:http";
import { type Server, createServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { KubeError } from "../error.ts";
import { makeCertificate } from "#control-plane/http/self-signed.node.ts";
import { type ApiServerSource, openApiServerSource } from "./api-server-source.node.ts";
import type { ApiServerPlace } from "./kubeconfig.node.ts";

/** The time of day in all tests; certificates are good around it. */
const NOW_MS = Math.floor(performance.timeOrigin);
const IDENTITY = makeCertificate("server", ["127.0.0.1"], NOW_MS);
const AUTHORITY = base64(IDENTITY.certificate);
const CLIENT = makeCertificate("client", [], NOW_MS);

interface Asked {
  readonly authorization: string | undefined;
  /** The common name of the certificate that the client shows. */
  readonly client: string;
  readonly serverName: string | false;
}

let folder = "";
let server: Server;
let asked: Asked[];
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let sources: ApiServerSource[];

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

async function listen(listening: { listen: Server["listen"]; address: Server["address"] }): Promise<number> {
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", () => resolve()));
  return (listening.address() as AddressInfo).port;
}

let port = 0;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW_MS });
  folder = mkdtempSync(join(tmpdir(), "mullion-credentials-"));
  asked = [];
  sources = [];
  answer = (_request, response) => response.end('{"metadata": {"name": "n"}}');
  const options = {
    key: IDENTITY.key,
    cert: IDENTITY.certificate,
    requestCert: true,
    rejectUnauthorized: false,
  };
  server = createServer(options, (request, response) => {
    const socket = request.socket as TLSSocket;
    const { subject } = socket.getPeerCertificate() as Partial<ReturnType<TLSSocket["getPeerCertificate"]>>;
    asked.push({
      authorization: request.headers.authorization,
      client: String(subject?.CN ?? ""),
      serverName: (socket as { readonly servername?: string | false }).servername ?? "",
    });
    answer(request, response);
  });
  port = await listen(server);
});
afterEach(async () => {
  vi.useRealTimers();
  for (const source of sources) await source.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true });
});

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

type Fields = Readonly<Record<string, unknown>>;

/** A kubeconfig of one user, who may be none; its path. */
function kubeconfigOf(user: Fields | undefined, cluster: Fields = {}): string {
  return write(
    "config",
    JSON.stringify({
      clusters: [
        {
          name: "c",
          cluster: {
            server: `https://127.0.0.1:${port}`,
            "certificate-authority-data": AUTHORITY,
            ...cluster,
          },
        },
      ],
      users: user === undefined ? [] : [{ name: "u", user }],
      contexts: [{ name: "x", context: { cluster: "c", user: user === undefined ? "" : "u" } }],
      "current-context": "x",
    }),
  );
}

async function open(place: ApiServerPlace): Promise<ApiServerSource> {
  const source = await openApiServerSource(place);
  sources.push(source);
  return source;
}

async function ask(source: ApiServerSource): Promise<Asked | undefined> {
  await source.get("Node", { namespace: "", name: "n" });
  return asked.at(-1);
}

async function refusalOf(source: ApiServerSource): Promise<KubeError> {
  const error = await ask(source).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof KubeError) return error;
  throw new Error(`no KubeError: ${String(error)}`);
}

/** Timers go on as they are. */
function laterBy(seconds: number): void {
  vi.setSystemTime(NOW_MS + seconds * 1_000);
}

describe("the server", () => {
  it("is known by its authority, in the file or beside it, also to those who ask as nobody", async () => {
    expect(await ask(await open({ kubeconfig: kubeconfigOf({}) }))).toMatchObject({ client: "" });
    write("ca.crt", IDENTITY.certificate);
    const beside = { "certificate-authority-data": undefined, "certificate-authority": "ca.crt" };
    expect(await ask(await open({ kubeconfig: kubeconfigOf({}, beside) }))).toMatchObject({ client: "" });
    expect(await ask(await open({ kubeconfig: kubeconfigOf(undefined) }))).toMatchObject({ client: "" });
  });

  it("of another authority is told nothing, unless the file says that it may be anybody", async () => {
    const unknown = { "certificate-authority-data": base64(CLIENT.certificate) };
    const error = await refusalOf(await open({ kubeconfig: kubeconfigOf({ token: "t" }, unknown) }));
    expect(error.code).toBe("kubernetes-unreachable");
    expect(error.message).toMatch(/certificate/);
    expect(asked).toEqual([]);
    const anybody = { "certificate-authority-data": undefined, "insecure-skip-tls-verify": true };
    const source = await open({ kubeconfig: kubeconfigOf({ token: "t" }, anybody) });
    expect(await ask(source)).toMatchObject({ authorization: "Bearer t" });
  });

  it("may have a name that its address does not say", async () => {
    const kubeconfig = kubeconfigOf({}, { "tls-server-name": "localhost" });
    const error = await refusalOf(await open({ kubeconfig }));
    expect(error.message).toContain("localhost");
  });

  it("is reached through the proxy of the file", async () => {
    const proxied: string[] = [];
    const sockets: Duplex[] = [];
    const proxy = createPlainServer();
    proxy.on("connect", (request, socket) => {
      proxied.push(String(request.url));
      sockets.push(socket);
      const on = connect(port, "127.0.0.1", () => socket.write("HTTP/1.1 200 OK\r\n\r\n"));
      on.pipe(socket).pipe(on);
      on.on("error", () => socket.destroy());
      socket.on("error", () => on.destroy());
    });
    const url = `http://127.0.0.1:${await listen(proxy as unknown as Server)}`;
    const source = await open({ kubeconfig: kubeconfigOf({ token: "t" }, { "proxy-url": url }) });
    expect(await ask(source)).toMatchObject({ authorization: "Bearer t" });
    expect(proxied).toEqual([`127.0.0.1:${port}`]);
    await source.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => proxy.close(resolve));
  });
});

describe("several contexts", () => {
  it("each have their server and their user; one of them is current", async () => {
    const cluster = { server: `https://127.0.0.1:${port}`, "certificate-authority-data": AUTHORITY };
    const kubeconfig = write(
      "config",
      `apiVersion: v1
kind: Config
clusters:
- {name: here, cluster: ${JSON.stringify(cluster)}}
- {name: away, cluster: {server: "https://10.255.255.1:6443"}}
users:
- {name: alice, user: {token: of-alice}}
- {name: bob, user: {token: of-bob}}
contexts:
- {name: first, context: {cluster: here, user: alice, namespace: shop}}
- {name: second, context: {cluster: here, user: bob}}
- {name: third, context: {cluster: away, user: bob}}
- {name: nobody, context: {cluster: here, user: carol}}
current-context: second
`,
    );
    const ofContext = async (context?: string): Promise<string | undefined> =>
      (await ask(await open({ kubeconfig, context })))?.authorization;
    expect(await ofContext()).toBe("Bearer of-bob");
    expect(await ofContext("first")).toBe("Bearer of-alice");
    expect(await ofContext("nobody")).toBeUndefined();
    expect((await open({ kubeconfig, context: "third" })).address).toBe("https://10.255.255.1:6443");
    await expect(open({ kubeconfig, context: "fourth" })).rejects.toMatchObject({
      code: "kubeconfig-unusable",
      message: expect.stringContaining('for the context "fourth"') as string,
    });
  });
});

describe("a certificate of the client", () => {
  it.each<[title: string, user: () => Fields]>([
    [
      "in the file",
      () => ({
        "client-certificate-data": base64(CLIENT.certificate),
        "client-key-data": base64(CLIENT.key),
      }),
    ],
    [
      "beside it",
      () => {
        write("client.crt", CLIENT.certificate);
        write("client.key", CLIENT.key);
        return { "client-certificate": "client.crt", "client-key": "client.key" };
      },
    ],
  ])("%s is shown", async (_title, user) => {
    expect(await ask(await open({ kubeconfig: kubeconfigOf(user()) }))).toMatchObject({ client: "client" });
  });

  it("that was renewed on the disk is shown with the next request", async () => {
    const renewed = makeCertificate("renewed", [], NOW_MS);
    write("client.crt", CLIENT.certificate);
    write("client.key", CLIENT.key);
    const user = { "client-certificate": "client.crt", "client-key": "client.key" };
    const source = await open({ kubeconfig: kubeconfigOf(user) });
    expect(await ask(source)).toMatchObject({ client: "client" });
    write("client.crt", renewed.certificate);
    write("client.key", renewed.key);
    expect(await ask(source)).toMatchObject({ client: "renewed" });
  });

  it("that is missing is told, and found when it comes", async () => {
    const user = { "client-certificate": "client.crt", "client-key": "client.key" };
    const source = await open({ kubeconfig: kubeconfigOf(user) });
    const error = await refusalOf(source);
    expect(error).toMatchObject({ code: "kubeconfig-unusable", status: 0 });
    expect(error.message).toContain("client.crt");
    write("client.crt", CLIENT.certificate);
    write("client.key", CLIENT.key);
    expect(await ask(source)).toMatchObject({ client: "client" });
  });
});

describe("a token or a password", () => {
  it("stands in the file", async () => {
    expect(await ask(await open({ kubeconfig: kubeconfigOf({ token: "abc" }) }))).toMatchObject({
      authorization: "Bearer abc",
    });
    const kubeconfig = kubeconfigOf({ username: "alice", password: "secret" });
    expect(await ask(await open({ kubeconfig }))).toMatchObject({
      authorization: `Basic ${base64("alice:secret")}`,
    });
  });

  it("a file with a token is read again after a minute, and its last line may end", async () => {
    write("token", "first\n");
    const source = await open({ kubeconfig: kubeconfigOf({ tokenFile: "token" }) });
    expect((await ask(source))?.authorization).toBe("Bearer first");
    write("token", "second\r\n");
    laterBy(61);
    expect((await ask(source))?.authorization).toBe("Bearer second");
  });

  it("a file with a token that is refused is read again at once", async () => {
    write("token", "first");
    const source = await open({ kubeconfig: kubeconfigOf({ tokenFile: "token" }) });
    await ask(source);
    write("token", "second");
    answer = (_request, response) => response.writeHead(401).end();
    expect(await refusalOf(source)).toMatchObject({ code: "kubernetes-access-denied", status: 401 });
    expect(asked.at(-1)?.authorization).toBe("Bearer first");
    answer = (_request, response) => response.end('{"metadata": {"name": "n"}}');
    expect((await ask(source))?.authorization).toBe("Bearer second");
  });
});

/** A program that gives what the file `status` holds, and writes down how it was called. */
const PLUGIN = `#!/bin/sh
printf '%s %s %s\\n' "$1" "$MARK" "$KUBERNETES_EXEC_INFO" >> "$(dirname "$0")/calls"
printf '{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": %s}' "$(cat "$(dirname "$0")/status")"
`;

describe("a program that gives credentials", () => {
  const calls = (): readonly string[] =>
    existsSync(join(folder, "calls")) ? readFileSync(join(folder, "calls"), "utf8").trim().split("\n") : [];

  function plugin(status: Fields, more: Fields = {}, text = PLUGIN): string {
    chmodSync(write("plugin.sh", text), 0o700);
    write("status", JSON.stringify(status));
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: "./plugin.sh",
      args: ["get-token"],
      env: [{ name: "MARK", value: "marked" }],
      ...more,
    };
    return kubeconfigOf({ exec });
  }

  it("is called beside the kubeconfig with its arguments, once for as long as its token is good", async () => {
    const expirationTimestamp = new Date(NOW_MS + 600_000).toISOString();
    const source = await open({ kubeconfig: plugin({ token: "one", expirationTimestamp }) });
    expect((await ask(source))?.authorization).toBe("Bearer one");
    write("status", '{"token": "two"}');
    expect((await ask(source))?.authorization).toBe("Bearer one");
    const info = '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"';
    expect(calls()).toEqual([`get-token marked ${info},"spec":{"interactive":false}}`]);
    laterBy(601);
    expect((await ask(source))?.authorization).toBe("Bearer two");
    expect(calls()).toHaveLength(2);
  });

  it("is told of the cluster when it wants to know", async () => {
    await ask(await open({ kubeconfig: plugin({ token: "one" }, { provideClusterInfo: true }) }));
    const [call = ""] = calls();
    expect(JSON.parse(call.slice(call.indexOf("{")))).toMatchObject({
      spec: {
        cluster: { server: `https://127.0.0.1:${port}`, "certificate-authority-data": AUTHORITY },
        interactive: false,
      },
    });
  });

  it("may give a certificate", async () => {
    const status = { clientCertificateData: CLIENT.certificate, clientKeyData: CLIENT.key };
    expect(await ask(await open({ kubeconfig: plugin(status) }))).toMatchObject({ client: "client" });
  });

  it("whose token is refused is called again for the next request", async () => {
    const source = await open({ kubeconfig: plugin({ token: "one" }) });
    answer = (_request, response) => response.writeHead(401).end();
    expect(await refusalOf(source)).toMatchObject({ code: "kubernetes-access-denied" });
    write("status", '{"token": "two"}');
    answer = (_request, response) => response.end('{"metadata": {"name": "n"}}');
    expect((await ask(source))?.authorization).toBe("Bearer two");
  });

  it.each<[title: string, text: string, more: Fields, message: string]>([
    ["fails", "#!/bin/sh\necho 'log in first' >&2\nexit 3\n", {}, "log in first"],
    ["is not there", "", { command: "no-such-program-of-ours" }, "ENOENT"],
    ["has no name", "", { command: "" }, "No command"],
    ["writes no JSON", "#!/bin/sh\necho hello\n", {}, "JSON"],
    ["gives nothing", "#!/bin/sh\necho '{}'\n", {}, "no credentials"],
  ])("that %s is told, and tried again", async (_title, text, more, message) => {
    const source = await open({ kubeconfig: plugin({}, more, text) });
    const error = await refusalOf(source);
    expect(error.code).toBe("kubeconfig-unusable");
    expect(error.message).toContain(message);
    expect(asked).toEqual([]);
    plugin({ token: "now" });
    expect((await ask(source))?.authorization).toBe("Bearer now");
  });

  it("that hangs is given up after a minute", async () => {
    const source = await open({ kubeconfig: plugin({}, {}, "#!/bin/sh\nexec sleep 2\n") });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const refusal = refusalOf(source);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await refusal).toMatchObject({
      code: "kubeconfig-unusable",
      message: "no credentials: nothing within 60 s",
    });
  });
});

/** A token of three parts, which nobody here checks the signature of. */
function jwt(payload: Fields): string {
  const part = (value: Fields): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signature = createHash("sha256").update("any").digest("base64url");
  return `${part({ alg: "RS256" })}.${part(payload)}.${signature}`;
}

describe("OpenID Connect", () => {
  const ISSUER = "https://idp.example/";
  const now = Math.floor(NOW_MS / 1_000);
  const claims = { iss: ISSUER, aud: "mullion", sub: "alice", iat: now };

  function userWith(idToken: string): Fields {
    const config = {
      "client-id": "mullion",
      "id-token": idToken,
      "refresh-token": "of-the-file",
      "idp-issuer-url": ISSUER,
    };
    return { "auth-provider": { name: "oidc", config } };
  }

  it("a token is sent for as long as it is good", async () => {
    const token = jwt({ ...claims, exp: now + 600 });
    const source = await open({ kubeconfig: kubeconfigOf(userWith(token)) });
    expect((await ask(source))?.authorization).toBe(`Bearer ${token}`);
  });

  it("a token that has expired is renewed by its issuer", async () => {
    const renewed = jwt({ ...claims, exp: now + 600 });
    const tokens = { access_token: "a", token_type: "bearer", id_token: renewed, expires_in: 600 };
    const heard: string[] = [];
    vi.stubGlobal("fetch", (url: URL | string, init: { readonly body?: URLSearchParams }) => {
      heard.push(`${String(url)} ${init.body?.toString() ?? ""}`);
      const isDiscovery = String(url).endsWith("/.well-known/openid-configuration");
      const discovered = { issuer: ISSUER, token_endpoint: `${ISSUER}token` };
      return Promise.resolve(Response.json(isDiscovery ? discovered : tokens));
    });
    try {
      const kubeconfig = kubeconfigOf(userWith(jwt({ ...claims, exp: now - 10 })));
      expect((await ask(await open({ kubeconfig })))?.authorization).toBe(`Bearer ${renewed}`);
    } finally {
      vi.unstubAllGlobals();
    }
    expect(heard).toEqual([
      "https://idp.example/.well-known/openid-configuration ",
      expect.stringMatching(/^https:\/\/idp\.example\/token .*\brefresh_token=of-the-file\b/) as string,
    ]);
  });
});
