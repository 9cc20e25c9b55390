import { isMap } from "#base/json.ts";

/** Annotations with whole objects in them, which would bring back what is redacted. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
const REMOVED = "[removed]";
/** Fields with texts that may be secret by their name. */
const SECRET_FIELD = /password|passphrase|token$|secretkey|privatekey|authorization/i;
/** Field names that end like a secret and only name an object or a setting. `token` of an EtcdPeer is no secret. */
const PLAIN_FIELD = /^(?:automountServiceAccountToken|secretName|clusterToken|token)$/;
/** Objects deeper than this are cut: an API server accepts deep ones. */
const MOST_DEPTH = 64;

/**
 * The object for a report: without field managers, and without values that may be secret. Those are values of
 * environment variables that are not etcd's own, passwords in URLs, and data of Secrets and ConfigMaps.
 */
export function redacted(value: unknown, depth = 0): unknown {
  if (depth > MOST_DEPTH) return REMOVED;
  if (typeof value === "string") return withoutPassword(value);
  if (Array.isArray(value)) return value.map((each) => redacted(each, depth + 1));
  if (!isMap(value)) return value;
  const isData = value.kind === "Secret" || value.kind === "ConfigMap";
  const entries = Object.entries(value).map(([name, each]): [string, unknown] => {
    if (name === "managedFields" || name === LAST_APPLIED) return [name, REMOVED];
    if (isData && /^(data|stringData|binaryData)$/.test(name) && isMap(each))
      return [name, Object.fromEntries(Object.keys(each).map((key) => [key, REMOVED]))];
    if (name === "env" && Array.isArray(each)) return [name, each.map(variable)];
    if (typeof each === "string" && SECRET_FIELD.test(name) && !PLAIN_FIELD.test(name)) return [name, REMOVED];
    return [name, redacted(each, depth + 1)];
  });
  return Object.fromEntries(entries);
}

/** A variable without its value; references to Secrets have none, and stay. */
function variable(each: unknown): unknown {
  if (!isMap(each) || each.value === undefined) return each;
  return String(each.name).startsWith("ETCD_")
    ? { ...each, value: withoutPassword(String(each.value)) }
    : { ...each, value: REMOVED };
}

/** Text without the password of `https://name:password@host` and without what looks like a signed token or a key. */
export function withoutPassword(text: string): string {
  return text
    .replace(/(\/\/)[^/\s@:]{1,100}:[^/\s@]{0,200}@/g, `$1${REMOVED}@`)
    .replace(/eyJ[\w-]{1,4096}\.[\w-]{1,4096}\.[\w-]*/g, REMOVED)
    .replace(/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, REMOVED)
    .replace(
      /((?:passw(?:or)?d|passphrase|secret[-_]?key|access[-_]?key|api[-_]?key)["']?\s{0,5}[:=]\s{0,5})["']?[^\s"',}]+/gi,
      `$1${REMOVED}`,
    );
}
