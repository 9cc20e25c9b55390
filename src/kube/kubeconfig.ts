import { readFile } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { parse, YAMLParseError } from "yaml";
import { type Clock, systemClock } from "#base/clock.ts";
import { OperatorError } from "#base/error.ts";
import { isMap } from "#base/json.ts";
import { type Credentials, type KubeConfig, kept, type TlsMaterial } from "./credentials.ts";

// Why not KubeConfig of @kubernetes/client-node?
//   It adds 1.7 MB (undici, js-yaml, a SOCKS client) to a bundle of 2.2 MB. Its YAML errors quote lines with tokens.

// https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
type Fields = Readonly<Record<string, unknown>>;

/** One context of a kubeconfig file. Each part knows its path in the file, for messages. */
interface Chosen {
  readonly path: string;
  readonly context: Part;
  readonly cluster: Part;
  readonly user: Part;
}

class Part {
  readonly path: string;
  readonly where: string;
  readonly fields: Fields;

  constructor(path: string, where: string, fields: Fields) {
    this.path = path;
    this.where = where;
    this.fields = fields;
  }

  /** A field that is a string; undefined when absent or empty. */
  text(field: string): string | undefined {
    const value = this.fields[field];
    if (value === undefined || value === null || value === "") return undefined;
    // The message omits the value, since it may be a token of digits.
    if (typeof value !== "string")
      throw this.wrong(field, `is ${kindOf(value)}; it must be a string: put it in quotes`);
    return value;
  }

  wrong(field: string, sentence: string, cause?: unknown): OperatorError {
    return new OperatorError("InvalidConfig", `${this.path}: ${this.where}.${field} ${sentence}`, { cause });
  }
}

/**
 * Configuration from one context of a kubeconfig file. Certificates, keys and tokens in files are read again when a
 * minute old. Exec plugins and auth providers need `@kubernetes/client-node`, which is loaded only for them.
 * @param contextName overrides `current-context`
 * @throws OperatorError InvalidConfig that names file and field
 */
export async function kubeconfigFile(
  path: string,
  contextName?: string,
  clock: Clock = systemClock,
): Promise<KubeConfig> {
  const chosen = choose(path, await readYaml(path), contextName);
  refuseUnsupported(chosen);
  const usesPlugin = chosen.user.fields.exec !== undefined || chosen.user.fields["auth-provider"] !== undefined;
  const credentials = kept(clock, usesPlugin ? pluginReader(chosen) : () => readCredentials(chosen));
  await credentials(false);
  return {
    server: serverOf(chosen.cluster),
    namespace: chosen.context.text("namespace") ?? "default",
    origin: path,
    credentials,
  };
}

async function readYaml(path: string): Promise<Fields> {
  const text = await readFile(path, "utf8").catch((thrown: Error) => {
    throw new OperatorError("InvalidConfig", `${path}: ${thrown.message}`, { cause: thrown });
  });
  const parsed = parsedYaml(path, text);
  if (isMap(parsed)) return parsed;
  throw new OperatorError("InvalidConfig", `${path}: is not a kubeconfig: the top level must be a mapping`);
}

/** Parses YAML without the parser's messages and warnings: they quote lines of the file, which may contain a token. */
function parsedYaml(path: string, text: string): unknown {
  try {
    return parse(text, { logLevel: "error" });
  } catch (thrown) {
    const at = thrown instanceof YAMLParseError ? thrown.linePos?.[0] : undefined;
    const where = at === undefined ? "" : ` at line ${at.line}, column ${at.col}`;
    throw new OperatorError("InvalidConfig", `${path}: is not valid YAML${where}`);
  }
}

function choose(path: string, document: Fields, contextName: string | undefined): Chosen {
  const top = new Part(path, "kubeconfig", document);
  const name = contextName ?? top.text("current-context");
  if (name === undefined) throw top.wrong("current-context", "is not set, and no context was asked for");
  const context = named(path, document, "contexts", "context", name);
  const clusterName = context.text("cluster");
  if (clusterName === undefined) throw context.wrong("cluster", "is not set");
  const userName = context.text("user");
  const user = userName === undefined ? new Part(path, "users", {}) : named(path, document, "users", "user", userName);
  return { path, context, cluster: named(path, document, "clusters", "cluster", clusterName), user };
}

/** Field `inner` of the entry called `name` in a list of `{name, <inner>: {…}}`. */
function named(path: string, document: Fields, list: string, inner: string, name: string): Part {
  const entries = document[list];
  const entry = Array.isArray(entries) ? entries.find((each: unknown) => isMap(each) && each.name === name) : undefined;
  const fields = isMap(entry) ? entry[inner] : undefined;
  if (!isMap(fields)) throw new OperatorError("InvalidConfig", `${path}: ${list} has no entry named "${name}"`);
  return new Part(path, `${list}["${name}"].${inner}`, fields);
}

function refuseUnsupported({ cluster, user }: Chosen): void {
  if (cluster.text("proxy-url") !== undefined)
    throw cluster.wrong("proxy-url", "is set; it is not supported: set HTTPS_PROXY instead");
  for (const field of ["username", "password"]) {
    if (user.text(field) !== undefined)
      throw user.wrong(field, "is set; basic authentication is no longer in Kubernetes");
  }
  for (const field of ["as", "as-uid", "as-groups"]) {
    if (user.fields[field] !== undefined) throw user.wrong(field, "is set; impersonation is not supported");
  }
}

function serverOf(cluster: Part): string {
  const server = cluster.text("server");
  const url = server === undefined ? null : URL.parse(server);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw cluster.wrong("server", `is ${server ?? "not set"}; it must be an http or https URL`);
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

async function readCredentials({ cluster, user }: Chosen): Promise<Credentials> {
  const tls = await readTls(cluster, user);
  const token = await readToken(user);
  return token === undefined ? { tls } : { tls, token };
}

async function readTls(cluster: Part, user: Part): Promise<TlsMaterial> {
  const skip = cluster.fields["insecure-skip-tls-verify"] ?? false;
  if (typeof skip !== "boolean") throw cluster.wrong("insecure-skip-tls-verify", "must be true or false");
  const serverName = cluster.text("tls-server-name");
  const [ca, cert, key] = await Promise.all([
    readPem(cluster, "certificate-authority"),
    readPem(user, "client-certificate"),
    readPem(user, "client-key"),
  ]);
  if (skip && ca !== undefined) {
    throw cluster.wrong(
      "insecure-skip-tls-verify",
      "is true although certificate-authority is set; one of them must go",
    );
  }
  if (cert !== undefined && key === undefined)
    throw user.wrong("client-key", "is not set although client-certificate is");
  if (cert === undefined && key !== undefined)
    throw user.wrong("client-certificate", "is not set although client-key is");
  return {
    verify: !skip,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(serverName === undefined ? {} : { serverName }),
  };
}

/** PEM text from `<field>-data` (base64) or else from the file in `<field>`, in the order of client-go. */
async function readPem(part: Part, field: string): Promise<string | undefined> {
  const data = part.text(`${field}-data`);
  if (data !== undefined) return checkPem(part, `${field}-data`, Buffer.from(data, "base64").toString("utf8"));
  const file = part.text(field);
  return file === undefined ? undefined : checkPem(part, field, await readBeside(part, field, file));
}

function checkPem(part: Part, field: string, text: string): string {
  if (!text.includes("-----BEGIN ")) throw part.wrong(field, "holds no PEM block");
  return text;
}

/** Token from `tokenFile` or else `token`, in the order of client-go. */
async function readToken(user: Part): Promise<string | undefined> {
  const file = user.text("tokenFile");
  if (file === undefined) return user.text("token");
  const token = (await readBeside(user, "tokenFile", file)).trim();
  if (token === "") throw user.wrong("tokenFile", `names ${file}, which is empty`);
  return token;
}

/** Reads a file; a relative path is relative to the kubeconfig file. */
async function readBeside(part: Part, field: string, file: string): Promise<string> {
  const path = resolve(dirname(part.path), file);
  return await readFile(path, "utf8").catch((thrown: Error) => {
    throw part.wrong(field, `names a file that cannot be read: ${thrown.message}`, thrown);
  });
}

/** Credentials from an exec plugin or an auth provider. */
function pluginReader(chosen: Chosen): (fresh: boolean) => Promise<Credentials> {
  let serial = 0;
  return async (fresh) => {
    const tls = await readTls(chosen.cluster, chosen.user);
    const { KubeConfig: ForeignConfig } = await loadPlugins(chosen.user);
    if (fresh) serial += 1; // The library caches tokens by user name; a new name makes it run the plugin again.
    const foreign = new ForeignConfig();
    foreign.loadFromString(JSON.stringify(singleContext(chosen, `user-${serial}`)));
    const options: { headers?: unknown; cert?: unknown; key?: unknown } = {};
    try {
      await foreign.applyToHTTPSOptions(options as Parameters<typeof foreign.applyToHTTPSOptions>[0]);
    } catch (thrown) {
      throw chosen.user.wrong("exec", `failed: ${(thrown as Error).message}`, thrown);
    }
    return fromForeign(tls, options);
  };
}

/** Loads the library. The operator's image lacks it, since a pod uses its service account. */
async function loadPlugins(user: Part): Promise<typeof import("@kubernetes/client-node")> {
  const field = user.fields.exec === undefined ? "auth-provider" : "exec";
  return await import("@kubernetes/client-node").catch((thrown: unknown) => {
    const advice =
      "is set, which needs the npm package @kubernetes/client-node, and that is not installed here; " +
      "use a kubeconfig with a token or a client certificate, run the operator in a pod with a service account, " +
      "or install the package beside it";
    throw user.wrong(field, advice, thrown);
  });
}

function fromForeign(tls: TlsMaterial, options: { headers?: unknown; cert?: unknown; key?: unknown }): Credentials {
  const header = isMap(options.headers) ? options.headers.Authorization : undefined;
  const token = typeof header === "string" && header.startsWith("Bearer ") ? header.slice("Bearer ".length) : undefined;
  const { cert, key } = options;
  const pair = cert === undefined || key === undefined ? {} : { cert: String(cert), key: String(key) };
  return { tls: { ...tls, ...pair }, ...(token === undefined ? {} : { token }) };
}

/** A kubeconfig with only this context. Left out are the TLS fields, which `readTls` reads. */
function singleContext({ path, cluster, user }: Chosen, userName: string): Fields {
  return {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "only",
    contexts: [{ name: "only", context: { cluster: "only", user: userName } }],
    clusters: [{ name: "only", cluster: { server: cluster.text("server") } }],
    users: [{ name: userName, user: { ...user.fields, exec: withAbsoluteCommand(path, user.fields.exec) } }],
  };
}

/** Makes a command with a slash relative to the kubeconfig file; one without a slash is looked up in PATH. */
function withAbsoluteCommand(path: string, exec: unknown): unknown {
  if (!isMap(exec) || typeof exec.command !== "string") return exec;
  const relative = exec.command.includes("/") && !isAbsolute(exec.command);
  return relative ? { ...exec, command: join(dirname(resolve(path)), exec.command) } : exec;
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "a mapping" : `a ${typeof value}`;
}
