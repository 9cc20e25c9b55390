import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#base/clock.ts";
import { ensureComponents } from "#dev/components.ts";
import { KubeClient } from "#kube/client.ts";
import { kubeconfigFile } from "#kube/config.ts";
import { OPERATOR_NAMESPACE, OPERATOR_USER } from "../../../scripts/manifests.ts";

/**
 * Time for a cold start on a busy machine: etcd takes a second, the API server with its post-start hooks five to
 * twenty.
 */
const READY_WITHIN_MS = 120_000;

/** Groups of every service account. The API server also uses them for API priority and fairness. */
const ACCOUNT_GROUPS = ["system:serviceaccounts", `system:serviceaccounts:${OPERATOR_NAMESPACE}`];

/** Users with a kubeconfig: `admin` has every right, `visitor` none, `operator` those of its service account. */
export type User = "admin" | "visitor" | "operator";

/** A real kube-apiserver over a real etcd, on loopback, without controllers, scheduler or kubelet. */
export interface ApiServer {
  /** `https://127.0.0.1:port` */
  readonly url: string;
  readonly port: number;
  /** Path of the admin's kubeconfig. */
  readonly kubeconfig: string;
  /** The admin's client; `stop` closes it. */
  readonly client: KubeClient;
  /** Writes a kubeconfig for a user, optionally for another port on loopback (a proxy). */
  kubeconfigFor(user: User, port?: number): string;
  /** A new client that `stop` closes. */
  clientFor(user: User, port?: number): Promise<KubeClient>;
  /** Kills the API server as a power cut would; etcd keeps running. */
  kill(): Promise<void>;
  /** Starts it again on the same port and waits until it is ready. */
  start(): Promise<void>;
  /** Freezes the API server: connections stay open, and no request is answered. */
  pause(): void;
  resume(): void;
  /** Ends both processes, closes the clients and deletes the data. */
  stop(): Promise<void>;
}

/**
 * @param extraArgs further flags of kube-apiserver, such as `--feature-gates=WatchList=false`
 * @param env its whole environment
 */
export async function startApiServer(extraArgs: readonly string[] = [], env: Env = {}): Promise<ApiServer> {
  const binaries = await findBinaries();
  const root = mkdtempSync(join(tmpdir(), "apiserver-"));
  const server = new LocalApiServer(root, await freePorts(3), binaries, extraArgs, env);
  try {
    await server.prepare();
    await server.start();
    return server;
  } catch (thrown) {
    await server.stop();
    throw thrown;
  }
}

type Env = Readonly<Record<string, string>>;

interface Binaries {
  readonly apiserver: string;
  readonly etcd: string;
}

async function findBinaries(): Promise<Binaries> {
  const { KUBE_APISERVER_BIN: apiserver, ETCD_BIN: etcd } = process.env;
  if (apiserver !== undefined && etcd !== undefined) return { apiserver, etcd };
  const built = await ensureComponents(["kube-apiserver", "etcd-3.6.16"], async (_text, work) => await work(() => {}));
  return { apiserver: apiserver ?? built["kube-apiserver"], etcd: etcd ?? built["etcd-3.6.16"] };
}

class LocalApiServer implements ApiServer {
  readonly port: number;
  readonly #root: string;
  readonly #etcdPorts: readonly [number, number];
  readonly #binaries: Binaries;
  readonly #extraArgs: readonly string[];
  readonly #env: Env;
  readonly #tokens: Readonly<Record<User, string>> = {
    admin: randomUUID(),
    visitor: randomUUID(),
    operator: randomUUID(),
  };
  readonly #clients: KubeClient[] = [];
  #etcd: ServerProcess | undefined;
  #apiserver: ServerProcess | undefined;
  #client: KubeClient | undefined;

  constructor(root: string, ports: readonly number[], binaries: Binaries, extraArgs: readonly string[], env: Env) {
    const [port = 0, etcdPort = 0, peerPort = 0] = ports;
    this.port = port;
    this.#root = root;
    this.#etcdPorts = [etcdPort, peerPort];
    this.#binaries = binaries;
    this.#extraArgs = extraArgs;
    this.#env = env;
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  get kubeconfig(): string {
    return this.kubeconfigFor("admin");
  }

  get client(): KubeClient {
    if (this.#client === undefined) throw new Error("the API server was not started");
    return this.#client;
  }

  /** Creates keys and tokens, and starts etcd. */
  async prepare(): Promise<void> {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
      publicKeyEncoding: { type: "spki", format: "pem" },
    });
    writeFileSync(this.#file("sa.key"), privateKey);
    writeFileSync(this.#file("sa.pub"), publicKey);
    const { admin, visitor, operator } = this.#tokens;
    const users = [
      `${admin},admin,admin,"system:masters"`,
      `${visitor},visitor,visitor`,
      `${operator},${OPERATOR_USER},operator,"${ACCOUNT_GROUPS.join(",")}"`,
    ];
    writeFileSync(this.#file("tokens.csv"), users.map((user) => `${user}\n`).join(""));
    this.#etcd = new ServerProcess(this.#binaries.etcd, this.#etcdArgs());
    await until("etcd listens", async () => (await httpStatus(`${this.#etcdUrl()}/readyz`)) === 200, this.#etcd);
  }

  async start(): Promise<void> {
    const process = new ServerProcess(this.#binaries.apiserver, this.#apiserverArgs(), this.#env);
    this.#apiserver = process;
    await until(
      "the serving certificate exists",
      () => Promise.resolve(existsSync(this.#file("certs/apiserver.crt"))),
      process,
    );
    this.#client ??= await this.clientFor("admin");
    const ready = async (): Promise<boolean> => {
      const signal = AbortSignal.timeout(5_000);
      return await this.client.raw("GET", "/readyz", { signal, deadlineMs: 1_000 }).then(isOk, () => false);
    };
    await until("the API server is ready", ready, process);
  }

  kubeconfigFor(user: User, port = this.port): string {
    const path = this.#file(`${user}-${port}.kubeconfig`);
    if (existsSync(path)) return path; // another test may be reading it
    const config = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": "local",
      contexts: [{ name: "local", context: { cluster: "local", user } }],
      clusters: [
        {
          name: "local",
          cluster: { server: `https://127.0.0.1:${port}`, "certificate-authority": "certs/apiserver.crt" },
        },
      ],
      users: [{ name: user, user: { token: this.#tokens[user] } }],
    };
    writeFileSync(path, JSON.stringify(config));
    return path;
  }

  async clientFor(user: User, port = this.port): Promise<KubeClient> {
    const config = await kubeconfigFile(this.kubeconfigFor(user, port));
    const client = new KubeClient({ config, userAgent: "test" });
    this.#clients.push(client);
    return client;
  }

  async kill(): Promise<void> {
    await this.#apiserver?.kill();
  }

  pause(): void {
    this.#apiserver?.signal("SIGSTOP");
  }

  resume(): void {
    this.#apiserver?.signal("SIGCONT");
  }

  async stop(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
    await this.#apiserver?.kill();
    await this.#etcd?.kill();
    rmSync(this.#root, { recursive: true, force: true });
  }

  #file(name: string): string {
    return join(this.#root, name);
  }

  #etcdUrl(): string {
    return `http://127.0.0.1:${this.#etcdPorts[0]}`;
  }

  #etcdArgs(): readonly string[] {
    const peerUrl = `http://127.0.0.1:${this.#etcdPorts[1]}`;
    return [
      `--data-dir=${this.#file("etcd")}`,
      `--listen-client-urls=${this.#etcdUrl()}`,
      `--advertise-client-urls=${this.#etcdUrl()}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=default=${peerUrl}`,
      "--unsafe-no-fsync", // the data is needed only during the test.
      // Ten thousand clusters with their history of the last minutes need more than the default of 2 GiB
      "--quota-backend-bytes=8589934592",
    ];
  }

  #apiserverArgs(): readonly string[] {
    return [
      `--etcd-servers=${this.#etcdUrl()}`,
      "--bind-address=127.0.0.1",
      "--advertise-address=127.0.0.1",
      `--secure-port=${this.port}`,
      `--cert-dir=${this.#file("certs")}`, // the serving certificate and its CA are created there
      `--token-auth-file=${this.#file("tokens.csv")}`,
      "--authorization-mode=RBAC",
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${this.#file("sa.pub")}`,
      `--service-account-signing-key-file=${this.#file("sa.key")}`,
      "--service-cluster-ip-range=10.0.0.0/24",
      "--disable-admission-plugins=ServiceAccount", // no controller creates the default service account
      "--endpoint-reconciler-type=none", // loopback is no valid endpoint
      ...this.#extraArgs,
    ];
  }
}

/** A child process that does not outlive this one. */
class ServerProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #log = "";

  constructor(binary: string, args: readonly string[], env: Env = {}) {
    this.#child = spawn(binary, args, { stdio: ["ignore", "ignore", "pipe"], env: { ...env } });
    running.add(this.#child);
    this.#child.stderr?.on("data", (bytes: Buffer) => {
      this.#log = (this.#log + bytes.toString()).slice(-100_000);
    });
    this.#ended = new Promise((resolve) => this.#child.once("close", resolve).once("error", resolve));
  }

  /** The end of its output. */
  get log(): string {
    return this.#log;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child.kill(signal);
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
    running.delete(this.#child);
  }
}

const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

async function until(what: string, holds: () => Promise<boolean>, process: ServerProcess): Promise<void> {
  const endMs = systemClock.monotonicMs() + READY_WITHIN_MS;
  while (!(await holds())) {
    if (process.hasEnded || systemClock.monotonicMs() > endMs) {
      throw new Error(`timed out waiting until ${what}; the log ends with:\n${process.log.slice(-3_000)}`);
    }
    await systemClock.sleep(100);
  }
}

/** Status of a plain HTTP request; undefined when no server answers. Callers retry then. */
async function httpStatus(url: string): Promise<number | undefined> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
  await answer?.arrayBuffer();
  return answer?.status;
}

function isOk(body: string): boolean {
  return body === "ok";
}

/** Ports on which nothing listens now; all are held at once, so that they differ. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  await Promise.all(servers.map((server) => new Promise<void>((done) => server.listen(0, "127.0.0.1", done))));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}
