import { BlockList, isIP } from "node:net";
import { OperatorError } from "#base/error.ts";

// Proxy settings of the environment, by the rules of Go programs such as kubectl, so that the same settings work here.
// https://pkg.go.dev/golang.org/x/net/http/httpproxy#Config

// Why not Node's `proxyEnv`?
//   It does not support address ranges such as 10.0.0.0/8, which are usual in NO_PROXY for Kubernetes clients.

type Env = Readonly<Record<string, string | undefined>>;

/**
 * URL of the proxy for this server; undefined: none.
 * @param env `HTTPS_PROXY` or, for a server without TLS, `HTTP_PROXY`; `NO_PROXY`; each also in lower case
 * @throws OperatorError InvalidConfig that names the variable, but not its value, which may contain a password
 */
export function proxyFor(server: URL, env: Env): string | undefined {
  const name = server.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const value = env[name] || env[name.toLowerCase()] || "";
  if (value === "" || isLoopback(server) || isExcepted(server, env.NO_PROXY || env.no_proxy || "")) return undefined;
  const proxy = URL.parse(value.includes("://") ? value : `http://${value}`);
  if (proxy === null || !/^https?:$/.test(proxy.protocol)) {
    throw new OperatorError("InvalidConfig", `${name} names no proxy; it must be an http or https URL, or empty`);
  }
  return proxy.href;
}

function isLoopback(server: URL): boolean {
  const host = hostOf(server);
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

function isExcepted(server: URL, exceptions: string): boolean {
  return exceptions
    .split(",")
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry === "*" || (entry !== "" && matches(server, entry)));
}

/** @param entry an address, a range of addresses or a domain, with a port or without */
function matches(server: URL, entry: string): boolean {
  const host = hostOf(server);
  const [range, bits] = entry.split("/");
  if (range !== undefined && bits !== undefined) return isWithin(host, range, Number(bits));
  const [, name = entry, port] = /^(.*[^:]|\[.*\]):(\d+)$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry) ?? [];
  if (port !== undefined && port !== portOf(server)) return false;
  const wanted = name.replace(/^\[|\]$/g, "").replace(/^\*\./, ".");
  return wanted.startsWith(".")
    ? host.endsWith(wanted)
    : host === wanted || (isIP(host) === 0 && host.endsWith(`.${wanted}`));
}

function isWithin(host: string, range: string, bits: number): boolean {
  const family = isIP(range);
  if (family === 0 || isIP(host) !== family || !(bits >= 0 && bits <= (family === 4 ? 32 : 128))) return false;
  const list = new BlockList();
  list.addSubnet(range, bits, family === 4 ? "ipv4" : "ipv6");
  return list.check(host, family === 4 ? "ipv4" : "ipv6");
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

function portOf({ protocol, port }: URL): string {
  if (port !== "") return port;
  return protocol === "https:" ? "443" : "80";
}
