import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { KubeConfig as Foreign } from "@kubernetes/client-node";
import { systemClock } from "#base/clock.ts";
import { OperatorError } from "#base/error.ts";
import { KubeClient } from "#kube/client.ts";
import { type Credentials, type KubeConfig, kept } from "#kube/credentials.ts";
import { httpTransport, type Transport, TransportError } from "#kube/transport.ts";
import { clean } from "./text.ts";

// Why not src/kube/config.ts?
//   It serves a process in a pod. People have several files in KUBECONFIG, logins by plugins and OIDC, and proxies in
//   the kubeconfig; the client library of Kubernetes reads these.

type Env = Readonly<Record<string, string | undefined>>;

interface Wish {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace?: string | undefined;
}

export interface Connection {
  readonly client: KubeClient;
  readonly namespace: string;
  /** For exec, which is a WebSocket. */
  readonly config: Foreign;
}

/**
 * A client for the context of the kubeconfig, as kubectl chooses it; without one, for the ServiceAccount of the pod.
 * @param podRoot prefix of the paths of the ServiceAccount's files
 * @throws OperatorError InvalidConfig that names the file or field
 */
export function connect(wish: Wish, env: Env, version: string, podRoot = ""): Connection {
  const config = loaded(wish, env, podRoot);
  const context = config.getContextObject(config.currentContext);
  const cluster = config.getCurrentCluster();
  if (context === null || cluster === null)
    throw invalid(`the kubeconfig has no context ${JSON.stringify(config.currentContext ?? "")} with a cluster`);
  if (config.getCurrentUser()?.impersonateUser !== undefined)
    throw invalid("the user of the context has the field as; impersonation is not supported by this plugin");
  const namespace = checkedNamespace(wish.namespace, context.namespace);
  const own: KubeConfig = {
    server: serverOf(cluster.server),
    namespace,
    origin: "kubeconfig",
    credentials: kept(systemClock, () => credentialsOf(config)),
  };
  // The proxy of the kubeconfig takes precedence over that of the environment, as for kubectl.
  const proxy = cluster.proxyUrl;
  const http = httpTransport(own, proxy === undefined ? env : { HTTPS_PROXY: proxy, HTTP_PROXY: proxy });
  const transport = impatient(http, own.server);
  return {
    client: new KubeClient({
      config: own,
      userAgent: `kubectl-etcd/${version}`,
      fieldManager: "kubectl-etcd",
      transport,
    }),
    namespace,
    config,
  };
}

/** Names of the contexts, for completion. @throws OperatorError InvalidConfig */
export function contextsOf(wish: Wish, env: Env): readonly string[] {
  return loaded({ kubeconfig: wish.kubeconfig }, env)
    .getContexts()
    .map(({ name }) => name);
}

function loaded({ kubeconfig, context }: Wish, env: Env, podRoot = ""): Foreign {
  const named = kubeconfig === undefined ? (env.KUBECONFIG ?? "").split(delimiter) : [kubeconfig];
  const asked = named.filter((path) => path !== "");
  const paths = asked.length > 0 ? asked : [join(env.HOME ?? homedir(), ".kube", "config")];
  const found = kubeconfig === undefined ? paths.filter((path) => existsSync(path)) : paths;
  if (found.length === 0 && asked.length === 0 && context === undefined && isInPod(env, podRoot)) return ofPod(podRoot);
  if (found.length === 0) throw invalid(`there is no kubeconfig: ${paths.join(", ")} does not exist`);
  const config = merged(found.map(read));
  if (context !== undefined) config.setCurrentContext(context);
  return config;
}

/** Files of a pod's ServiceAccount. */
const POD_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";

function isInPod(env: Env, podRoot: string): boolean {
  return (env.KUBERNETES_SERVICE_HOST ?? "") !== "" && existsSync(`${podRoot}${POD_TOKEN}`);
}

function ofPod(podRoot: string): Foreign {
  const config = new Foreign();
  config.loadFromCluster(podRoot);
  return config;
}

function read(path: string): Foreign {
  const config = new Foreign();
  try {
    config.loadFromFile(path);
  } catch (thrown) {
    // The message of the YAML parser quotes lines of the file, which may have a token.
    const why = (thrown as NodeJS.ErrnoException).code ?? "it is not a valid kubeconfig";
    throw invalid(`${path} cannot be read: ${why}`);
  }
  return config;
}

/** The first file that names something decides, as for kubectl. */
function merged(all: readonly Foreign[]): Foreign {
  const config = new Foreign();
  const first = <T extends { readonly name: string }>(lists: readonly (readonly T[])[]): T[] => [
    ...new Map(
      lists
        .flat()
        .reverse()
        .map((each) => [each.name, each]),
    ).values(),
  ];
  config.loadFromOptions({
    // The library refuses a server without TLS, such as that of `kubectl proxy`, unless this is set.
    clusters: first(all.map((each) => each.getClusters())).map((each) =>
      each.server?.startsWith("http:") ? { ...each, skipTLSVerify: true } : each,
    ),
    users: first(all.map((each) => each.getUsers())),
    contexts: first(all.map((each) => each.getContexts())),
    currentContext: all.map((each) => each.getCurrentContext()).find((each) => each !== undefined && each !== "") ?? "",
  });
  return config;
}

function serverOf(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw invalid("the server of the cluster in the kubeconfig must be an http or https URL");
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

/** Longest name of a namespace, and its form. */
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

function checkedNamespace(wished: string | undefined, ofContext: string | undefined): string {
  // An empty namespace in the context counts as none, as for kubectl.
  const namespace = wished ?? (ofContext || "default");
  if (NAMESPACE.test(namespace)) return namespace;
  const field = wished === undefined ? "the namespace of the context" : "--namespace";
  throw invalid(`${field} is ${JSON.stringify(clean(namespace, 80))}; it must be the name of a namespace`);
}

/** Errors of a connection that an immediate retry does not mend. */
const LASTING = ["ECONNREFUSED", "ENOTFOUND"];

/** A transport that fails at once when nothing serves the address; the client would retry for its whole deadline. */
function impatient(transport: Transport, server: string): Transport {
  return {
    close: () => transport.close(),
    send: async (request) => {
      try {
        return await transport.send(request);
      } catch (thrown) {
        const code = thrown instanceof TransportError ? (thrown.cause as NodeJS.ErrnoException | undefined)?.code : "";
        if (!LASTING.includes(code ?? "")) throw thrown;
        const sentence = `The API server ${server} cannot be reached: ${(thrown as Error).message}.`;
        throw new OperatorError("KubeUnavailable", `${sentence} Is the server of the kubeconfig right?`, {
          cause: thrown,
        });
      }
    },
  };
}

async function credentialsOf(config: Foreign): Promise<Credentials> {
  const options: Record<string, unknown> & { headers?: Record<string, unknown> } = {};
  try {
    await config.applyToHTTPSOptions(options);
  } catch (thrown) {
    throw invalid(`the login of the kubeconfig failed: ${(thrown as Error).message}`);
  }
  const header = options.headers?.Authorization;
  const token = typeof header === "string" && header.startsWith("Bearer ") ? header.slice("Bearer ".length) : undefined;
  const texts = Object.entries({ ca: options.ca, cert: options.cert, key: options.key, serverName: options.servername })
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => [name, String(value)]);
  const tls = { verify: options.rejectUnauthorized !== false, ...Object.fromEntries(texts) };
  return token === undefined ? { tls } : { tls, token };
}

function invalid(message: string): OperatorError {
  return new OperatorError("InvalidConfig", message);
}
